#!/usr/bin/env python3
"""Compares the estimates of `coalesce run --time` with measured times and writes docs/results/time.md, .json and .svg.

  time_page.py [--coalesce PROGRAM] [--programs FOLDER] [--jobs N] [--only PROGRAM]
  time_page.py --again           runs nothing: writes the page from docs/results/time.json
  time_page.py --residuals       prints every launch of the fit set that is off by more than 1.5

tests/truth/times.json has what was measured. FOLDER has the public programs, built as the page says; without it the lab's
experiments alone are run.
"""
import argparse
import collections
import concurrent.futures
import datetime
import json
import math
import os
import sys
import tempfile

sys.dont_write_bytecode = True
from common import ROOT, run
from pages import WIDTH, head, table
from time_causes import CAUSES, NEARLY
from time_judge import cause, dram_off, factor, is_long, judged, ladders, percent, quantile, same_launch, spearman
from time_others import OTHERS

TRUTH = os.path.join(ROOT, "tests/truth/times.json")
DEVICE = "h100"
SECONDS = 120


def name_of(launch):
    return (launch["program"], *launch["arguments"], launch["launch"])


def path_of(program, folder):
    if program.startswith("lab/"):
        return os.path.join(ROOT, program, program[4:] + ".cu")
    return os.path.join(os.path.abspath(folder), program.replace("/", "-", 1)) if folder else ""


def estimated(coalesce, program, arguments, folder, device):
    """The record's launches of one program with `--time`; a text why there are none."""
    path = path_of(program, folder)
    if not os.path.exists(path):
        return "no program"
    with tempfile.TemporaryDirectory() as where:
        file = os.path.join(where, "out.json")
        data = os.path.join(os.path.dirname(path), "data")
        if not path.endswith(".cu") and os.path.isdir(data):
            os.symlink(data, os.path.join(where, "data"))
        done = run([coalesce, "run", "-q", "--time", "--device", device, "--json", file, path, *arguments], SECONDS, cwd=where)
        if not os.path.exists(file) or not os.path.getsize(file):
            return "took too long" if done is None else done.stderr.strip()[:200]
        with open(file) as text:
            return json.load(text)["launches"]


KEPT = ("us", "low_us", "high_us", "bound_by", "registers", "registers_from", "occupancy", "dram_read_bytes", "dram_write_bytes",
        "l1_hit_sectors", "l2_hit_sectors", "roofline_us", "waits", "none")


def estimates(chosen, truth):
    """{name of a launch: its estimate, or {"none": why}}"""
    programs = collections.OrderedDict()
    for launch in truth["launches"]:
        if not chosen.only or launch["program"] in chosen.only:
            programs.setdefault((launch["program"], *launch["arguments"]), []).append(launch)
    out = {}

    def one(key):
        found = estimated(chosen.coalesce, key[0], list(key[1:]), chosen.programs, DEVICE)
        for launch in programs[key]:
            if isinstance(found, str):
                out[name_of(launch)] = {"none": found}
            elif launch["launch"] >= len(found):
                out[name_of(launch)] = {"none": "the run was stopped before this launch"}
            elif not same_launch(launch, found[launch["launch"]]):
                out[name_of(launch)] = {"none": "another launch, or other machine code, than was measured"}
            else:
                time = found[launch["launch"]].get("time") or {"none": "no estimate in the record"}
                out[name_of(launch)] = {k: time[k] for k in KEPT if k in time}
        sys.stderr.write(" ".join(map(str, key)) + (f": {found}\n" if isinstance(found, str) else "\n"))

    with concurrent.futures.ThreadPoolExecutor(chosen.jobs) as pool:
        list(pool.map(one, programs))
    return out


# ---- The page -------------------------------------------------------------------------------------------------------


def summary(rows):
    """One line of the table: factors of a list of (measured launch, estimate)."""
    factors = sorted(factor(e["us"], m["us"]) for m, e in rows)
    return [len(rows), f"{quantile(factors, .5):.2f}", f"{quantile(factors, .9):.2f}", f"{quantile(factors, .98):.2f}",
            percent(f <= 1.5 for f in factors), percent(f <= 2.5 for f in factors),
            f"{spearman([m['us'] for m, _ in rows], [e['us'] for _, e in rows]):.3f}"]


def rooflines(rows):
    return [(m, {**e, "us": e["roofline_us"]}) for m, e in rows if e.get("roofline_us")]


def accuracy(rows):
    sets = [("reported", [r for r in rows if r[0]["set"] == "report"]), ("fitted", [r for r in rows if r[0]["set"] == "fit"])]
    lines = []
    for name, mine in sets:
        long_ = [r for r in mine if is_long(r[0])]
        for what, picked in ((f"{name}, 5 us and more", long_), (f"{name}, 5 us and more: plain roofline", rooflines(long_)), (f"{name}, all", mine)):
            if picked:
                lines.append([what, *summary(picked)])
        if name == "reported" and long_:
            by_program = collections.defaultdict(list)
            for m, e in long_:
                by_program[m["program"]].append(factor(e["us"], m["us"]))
            middle = sorted(quantile(sorted(factors), .5) for factors in by_program.values())
            lines.append(["reported, 5 us and more: a program counts once", len(middle), *(f"{quantile(middle, q):.2f}" for q in (.5, .9, .98)),
                          percent(f <= 1.5 for f in middle), percent(f <= 2.5 for f in middle), ""])
    lab = [r for r in rows if r[0]["program"].startswith("lab/") and is_long(r[0])]
    if lab:
        lines.append(["the lab, 5 us and more", *summary(lab)])
    return table(["launches", "number", "median factor", "90 %", "98 %", "within 1.5", "within 2.5", "Spearman's rank"], lines)


def goals(rows):
    """What was aimed at on the reported set, and what came out."""
    return table(["aim, reported launches of 5 us and more", "aim", "obtained", ""],
                 [[what, aim, value, "met" if met else "missed"] for what, aim, value, met in judged(rows)], False)


def misses(rows, most=40):
    """By cause, then the worst of them."""
    off = sorted(((factor(e["us"], m["us"]), m, e) for m, e in rows if m["set"] == "report" and is_long(m) and factor(e["us"], m["us"]) > 1.5),
                 key=lambda r: -r[0])
    if not off:
        return ""
    seen, lines = {}, []
    for f, m, e in off:
        kernel = m["kernel"].split("<")[0]
        key = (m["program"], kernel, CAUSES.get((m["program"], kernel)) or cause(m, e))
        seen.setdefault(key, []).append((f, m, e))
    for (program, kernel, why), group in list(seen.items())[:most]:
        f, m, e = group[0]
        lines.append([program, f"`{kernel[:36]}`", len(group), f"{m['us']:.1f}", f"{e['us']:.1f}", f"{f:.1f}", why])
    return ("\n## Misses of more than 1.5\n\nThe worst launch of each kernel, and the cause: as its source says, where `gpu/time_causes.py` names it;\nafter a colon what warps wait for.\n\n"
            + table(["program", "kernel", "launches", "measured, us", "estimated, us", "factor", "cause"], lines, False)
            + (f"\n{len(seen) - most} further kernels are in [time.json](time.json).\n" if len(seen) > most else ""))


def registers(rows):
    pairs = [(e["registers"], m["registers"]) for m, e in rows if e.get("registers_from") == "liveness" and m.get("registers")]
    if not pairs:
        return ""
    off = sorted(abs(a - b) for a, b in pairs)
    return (f"- **Registers** of {len(pairs)} launches are estimated from liveness: half of them within {quantile(off, .5)}, nine of ten within "
            f"{quantile(off, .9)} registers of what ptxas gave.\n")


def plot(rows):
    """Estimate against measurement, both logarithmic."""
    left, top, size = 60, 34, 460
    values = [v for m, e in rows for v in (m["us"], e["us"])]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    place = lambda v: (math.log10(v) - low) / (high - low) * size
    out = head(top + size + 46, "Estimated against measured time of a launch, us")
    for tick in range(low, high + 1):
        at = place(10.0 ** tick)
        out.append(f'<line x1="{left + at:.1f}" x2="{left + at:.1f}" y1="{top}" y2="{top + size}" stroke="#e4e4e4"/>'
                   f'<line x1="{left}" x2="{left + size}" y1="{top + size - at:.1f}" y2="{top + size - at:.1f}" stroke="#e4e4e4"/>'
                   f'<text x="{left + at:.1f}" y="{top + size + 16}" text-anchor="middle">{10.0 ** tick:g}</text>'
                   f'<text x="{left - 6}" y="{top + size - at + 4:.1f}" text-anchor="end">{10.0 ** tick:g}</text>')
    for off in (1 / 1.5, 1, 1.5):
        shift = math.log10(off) / (high - low) * size
        x1, x2 = max(0, -shift), min(size, size - shift)
        out.append(f'<line x1="{left + x1:.1f}" y1="{top + size - x1 - shift:.1f}" x2="{left + x2:.1f}" y2="{top + size - x2 - shift:.1f}" '
                   f'stroke="{"#555" if off == 1 else "#bbb"}"/>')
    colours = {"fit": "#8a8a8a", "report": "#c0392b"}
    for which in ("fit", "report"):
        out += [f'<circle cx="{left + place(m["us"]):.1f}" cy="{top + size - place(e["us"]):.1f}" r="2.4" fill="{colours[which]}" fill-opacity="0.6"/>'
                for m, e in rows if m["set"] == which]
    for k, (which, text) in enumerate((("report", "reported"), ("fit", "fitted"))):
        out.append(f'<circle cx="{left + size + 24}" cy="{top + 14 + 20 * k}" r="4" fill="{colours[which]}"/>'
                   f'<text x="{left + size + 34}" y="{top + 18 + 20 * k}">{text}</text>')
    out.append(f'<text x="{left + size / 2}" y="{top + size + 36}" text-anchor="middle">measured</text>'
               f'<text x="16" y="{top + size / 2}" text-anchor="middle" transform="rotate(-90 16 {top + size / 2})">estimated</text>')
    assert left + size + 100 < WIDTH
    return "\n".join(out) + "\n</svg>\n"


def page(truth, rows, without, where):
    report = [r for r in rows if r[0]["set"] == "report" and is_long(r[0])]
    factors = sorted(factor(e["us"], m["us"]) for m, e in report)
    right, pairs = ladders(rows)
    public = {m["program"] for m, _ in rows if not m["program"].startswith("lab/")}
    text = (f"# How long a launch takes: estimate and measurement\n\n"
            f"Half of {len(report)} reported launches of 5 us and more are estimated within a factor of {quantile(factors, .5):.2f}, "
            f"nine of ten within {quantile(factors, .9):.2f}.\n\n"
            f"- **Measured** on {truth['device']} (driver {truth['driver']}), {truth['date']}, by `{truth['how']}`, which empties the caches before each launch.\n"
            f"- **Estimated** by `coalesce run --time --device {DEVICE}`, {where['date']}{', commit ' + where['commit'] if where.get('commit') else ''}, without a GPU.\n"
            + (f"- **Earlier estimates**, by commit {where['older']['commit']}: {where['older']['launches']} launches that the newest run did not reach.\n" if where.get("older") else "")
            + "".join(f"- **Estimated again**, by commit {a['commit']} on {a['date']}: {', '.join(a['programs'])}.\n" for a in where.get("again", []))
            + f"- **Launches:** {len(rows)} of the lab and of {len(public)} public programs"
            f"{' (' + truth['sources'] + ')' if truth.get('sources') else ''}.\n"
            "- **A program counts once** by the median of its launches' factors.\n"
            f"- **Sets:** reported are {len(truth['reported'])} programs that nobody had looked at; a hash of the seed {truth['seed']} and the name chose "
            "them from HeCBench. All others may be tuned on.\n"
            + (f"- **Left out:** {len(truth['left_out'])} more of them, as no launch of theirs was estimated in time.\n" if truth.get("left_out") else "") +
            "- **Factor:** the larger of estimate and measurement over the smaller.\n"
            f"- **The lab's ladders:** of {pairs} pairs of rungs that differ by more than 20 %, {right} are in the right order.\n"
            + registers(rows)
            + "- **Repeat:** `gpu/time_page.py --programs FOLDER`; the programs are built with `nvcc -cudart shared -O3 -gencode "
            "arch=compute_90,code=[sm_90,compute_90]` and their makefiles' options. `--again` writes the page from [time.json](time.json).\n\n"
            "![Estimated against measured](time.svg)\n\n" + accuracy(rows) + "\n" + goals(rows)
            + "\n\"Bound by\" is compared with Nsight's section Speed of Light: the busier of SM and memory, and of memory the unit whose share memory's is; "
            "latency if none reaches 60 %. Latency, atomics and the launch itself count as one there.\n"
            + "\n" + NEARLY
            + misses(rows)
            + "\n## What others publish\n\nOther programs, other GPUs and other measures of error, so the figures cannot be compared one to one.\n\n"
            + table(["tool", "error", "speed", "source"], OTHERS, False))
    if without:
        text += ("\n## No estimate\n\n" + table(["why", "launches"], collections.Counter(why for _, why in without).most_common(12), True))
    return text


TOO_LONG = {"took too long", "the run was stopped before this launch"}


def keep(found, saved):
    """Puts saved estimates in place of those that took too long; returns how many, and whose."""
    kept = {tuple(k): e for k, e in saved["estimates"] if "us" in e and found.get(tuple(k), {}).get("none") in TOO_LONG}
    found.update(kept)
    return {"commit": saved["where"]["commit"], "launches": len(kept)} if kept else None


def write(truth, found, where, docs):
    rows, without = [], []
    for launch in truth["launches"]:
        e = found.get(name_of(launch))
        if e and "us" in e:
            rows.append((launch, e))
        elif e:
            without.append((launch, e.get("none", "").splitlines()[0][:80].replace("|", "/")))
    with open(os.path.join(docs, "time.md"), "w") as out:
        out.write(page(truth, rows, without, where))
    with open(os.path.join(docs, "time.svg"), "w") as out:
        out.write(plot(rows))
    with open(os.path.join(docs, "time.json"), "w") as out:
        head_ = {"schema": "coalesce.time_page/1", "where": where}
        out.write(json.dumps(head_, separators=(",", ":"))[:-1] + ',"estimates":[\n')
        out.write(",\n".join(json.dumps([list(k), e], separators=(",", ":")) for k, e in found.items()) + "\n]}\n")
    return rows


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--coalesce", default=os.path.join(ROOT, "build/bin/coalesce"))
    options.add_argument("--docs", default=os.path.join(ROOT, "docs/results"))
    options.add_argument("--truth", default=TRUTH)
    options.add_argument("--programs", default="")
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--only", action="append")
    options.add_argument("--again", action="store_true")
    options.add_argument("--residuals", action="store_true")
    options.add_argument("--keep", action="store_true", help="of other programs than --only, and of those that take too long, the estimates of docs/results/time.json")
    chosen = options.parse_args()
    chosen.coalesce = os.path.abspath(chosen.coalesce)
    with open(chosen.truth) as file:
        truth = json.load(file)
    if chosen.again or chosen.residuals:
        with open(os.path.join(chosen.docs, "time.json")) as file:
            saved = json.load(file)
        found, where = {tuple(k): e for k, e in saved["estimates"]}, saved["where"]
    else:
        found = estimates(chosen, truth)
        done = run(["git", "-C", ROOT, "describe", "--always", "--dirty"])
        where = {"date": datetime.date.today().isoformat(), "commit": done.stdout.strip() if done else ""}
        if chosen.keep:
            with open(os.path.join(chosen.docs, "time.json")) as file:
                saved = json.load(file)
            older = keep(found, saved)
            if chosen.only:
                found = {**{tuple(k): e for k, e in saved["estimates"]}, **found}
                where = {**saved["where"], "again": saved["where"].get("again", []) + [{**where, "programs": sorted(chosen.only)}]}
            elif older:
                where["older"] = older
    rows = write(truth, found, where, chosen.docs)
    if chosen.residuals:
        for m, e in sorted((r for r in rows if r[0]["set"] == "fit"), key=lambda r: -factor(r[1]["us"], r[0]["us"])):
            if factor(e["us"], m["us"]) > 1.5:
                print(f"{factor(e['us'], m['us']):.2f} {m['us']:.1f} us measured {e['us']:.1f} said | {' '.join(map(str, name_of(m)))} {m['kernel'][:40]} "
                      f"{m['grid']} {m['block']} | measured {m['bound_by']} said {e.get('bound_by')} | dram off {dram_off(m, e)} | regs {m['registers']} "
                      f"said {e.get('registers')} | {cause(m, e)}")


if __name__ == "__main__":
    main()
