#!/usr/bin/env python3
"""Measures everything on the GPU of this computer and writes what docs/results/ says about it (./dev gpu).

  results.py [--coalesce PROGRAM] [--docs FOLDER] [--programs FOLDER] [--experiments A,B,...] [--name h200]
  results.py --again     measures nothing: writes the pages from the JSON files

Writes NAME.md, NAME.json and NAME-*.svg: every experiment of the lab, counted and measured; agreement.md and
agreement.json: the counters of memory on both sides, of the experiments (ptxas as it is, and with -Xptxas -O0) and of the
programs in the folder. Those are built beforehand with `nvcc -cudart shared -gencode
arch=compute_90,code=[sm_90,compute_90]`, each as NAME.O3 and NAME.O0 (the latter with -Xptxas -O0); a file NAME.args may
hold arguments, a file SOURCES says where all of them are from. Nothing but Python is needed; cuobjdump, where there is one, tells what ptxas made of a kernel.
"""
import argparse
import collections
import concurrent.futures
import datetime
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # nothing is left in the source tree
import agreement
import launches
from common import run, table

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LEVELS = {"O3": [], "O0": ["-X", "-Xptxas=-O0"]}


def first_line(words):
    try:
        done = subprocess.run(words, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip().splitlines()[0] if done.stdout.strip() else ""


def provenance():
    gpu = first_line(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"])
    version = run(["nvcc", "--version"])
    release = re.search(r"release ([\d.]+)", version.stdout if version else "")
    return {"gpu": gpu, "cuda": release[1] if release else "", "date": datetime.date.today().isoformat(),
            "host": f"{os.cpu_count()} cores, {platform.machine()}", "command": "gpu/results.py",
            "commit": first_line(["git", "-C", ROOT, "describe", "--always", "--dirty"])}


def source_of(experiment):
    return os.path.join(ROOT, "lab", experiment, experiment + ".cu")


def compile_ahead(coalesce, experiments, levels):
    """All programs into the command's cache, as many at a time as there are cores; one run compiles them in turn."""
    jobs = [(name, level) for level in levels for name in experiments]

    def small(job):
        return run([coalesce, "run", "-q", "--on", "gpu", *LEVELS[job[1]], source_of(job[0]), "--n", "1", "--rung", "none"], 200)  # runs nothing

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (name, level), done in zip(jobs, pool.map(small, jobs)):
            if done is None:
                sys.stderr.write(f"{name} at -{level}: took too long\n")


def names_of(coalesce, experiments):
    if experiments != ["all"]:
        return experiments
    listed = run([coalesce, "lab"]).stdout
    return [line.split()[0] for line in listed.splitlines() if line and not line.startswith(" ")]


def exported(what, words, path):
    """What a command exports; None where it failed."""
    done = run([*words[:2], "--json", path, *words[2:]], 200)
    if done is None or not os.path.exists(path) or not os.path.getsize(path):
        sys.stderr.write(f"{what}: {done.stderr if done else 'took too long'}\n")
        return None
    with open(path) as file:
        return json.load(file)


def lab(coalesce, name, folder, *more):
    """One experiment, as `coalesce lab --json` has it."""
    export = exported(name, [coalesce, "lab", name, "--color", "never", *more], os.path.join(folder, name + more[-1] + ".json"))
    return export and export["experiments"][0]


def counted_plain(coalesce, experiment, folder):
    """Rows of an experiment with `-Xptxas -O0`. Nothing is timed, so its program alone is run."""
    name = experiment["name"]
    export = exported(name + " at -O0", [coalesce, "run", "-q", "--on", "gpu", *LEVELS["O0"], source_of(name), *experiment["sizes"]],
                      os.path.join(folder, name + ".O0.json"))
    if not export:
        return []
    return list(launches.rows_of_lab(experiment, launches.measured_in_run(export, [r["name"] for r in experiment["rungs"]]), "O0"))


# ---- The experiments' page ------------------------------------------------------------------------------------------


def us(seconds):
    return f"{seconds * 1e6:.2f}" if seconds < 1e-4 else f"{seconds * 1e6:.1f}"


def bars(title, rows, unit):
    """A bar chart as SVG; rows: (name, value)."""
    height, width, left = 22, 720, 190
    most = max(value for _, value in rows)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height * len(rows) + 34}" '
           'font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="#ffffff"/>',
           f'<text x="8" y="18" font-weight="bold">{title}</text>']
    for i, (name, value) in enumerate(rows):
        y, length = 30 + i * height, (width - left - 110) * value / most
        out.append(f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{name.replace("<", "&lt;")}</text>')
        out.append(f'<rect x="{left}" y="{y + 2}" width="{length:.1f}" height="{height - 8}" fill="#2f6f8f"/>')
        out.append(f'<text x="{left + length + 6:.1f}" y="{y + 13}">{value:.4g} {unit}</text>')
    return "\n".join(out) + "\n</svg>\n"


def experiment_part(e, docs, name):
    gpu, rungs = e["gpu"], [r for r in e["rungs"] if "gpu" in r]
    part = f"## {e['name']}\n\n{e['title']} (`coalesce lab {' '.join([e['name'], *e['sizes']])} --on both`)\n\n"
    copies = any("span_seconds" in r["gpu"] for r in rungs)
    if copies:
        rows = []
        for r in rungs:
            g, row = r["gpu"], [f"`{r['name']}`", us(r["gpu"].get("span_seconds", 0))]
            for way in ("h2d", "d2h"):
                seconds, moved = g.get(way + "_seconds", 0), r.get("copies", {}).get(way, {}).get("bytes", 0)
                row += [us(seconds) if seconds else "", f"{moved / seconds * 1e-9:.1f}" if seconds else ""]
            rows.append(row)
        part += table(["rung", "the whole, us", "to device, us", "GB/s", "to host, us", "GB/s"], rows)
        plotted = [(r["name"], r["gpu"]["span_seconds"] * 1e6) for r in rungs if r["gpu"].get("span_seconds")]
    else:
        rows = []
        for r in rungs:
            g = r["gpu"]
            cold, warm, rate = g.get("cold_seconds"), g.get("warm_seconds"), g.get("effective_bytes_per_second", 0)
            rows.append([f"`{r['name']}`", us(cold["median"]) if cold else "", us(cold["spread"]) if cold else "",
                         us(warm["median"]) if warm else "", us(warm["spread"]) if warm else "",
                         f"{rate * 1e-9:.1f}" if rate else "",
                         f"{100 * rate / gpu['read_bytes_per_second']:.1f} %" if rate else "",
                         f"{100 * rate / gpu['copy_bytes_per_second']:.1f} %" if rate else "",
                         f"{g['cycles']:.1f}" if g.get("cycles") else ""])
        part += table(["rung", "cold, us", "±", "warm, us", "±", "GB/s", "of read", "of copy", "cycles a step"], rows)
        plotted = [(r["name"], r["gpu"]["cold_seconds"]["median"] * 1e6) for r in rungs if "cold_seconds" in r["gpu"]]
    if plotted:
        file = f"{name}-{e['name']}.svg"
        with open(os.path.join(docs, file), "w") as out:
            out.write(bars(f"{e['name']}: microseconds" + ("" if copies else ", cold L2"), plotted, "us"))
        part += f"\n![{e['name']}: time of each rung]({file})\n"
    if e["claims"]:
        rows = []
        for c in e["claims"]:
            unit = " " + c["unit"] if c["unit"] else ""
            value = "" if c["value"] is None else f"{c['value']:.4g} ({'measured' if c.get('measured') else 'counted'})"
            rows.append([c["text"], c["document"], "" if c["figure"] is None else f"{c['figure']:g}{unit}", value,
                         c["verdict"] + (": " + c["reason"] if c["reason"] else "")])
        part += "\n" + table(["claim", "document", "it says", "here", "verdict"], rows, False)
    return part + "\n"


def write_results(data, where, docs, name):
    experiments = data["experiments"]
    limits = experiments[0]["gpu"]
    verdicts = collections.Counter(c["verdict"] for e in experiments for c in e["claims"])
    text = (f"# The lab on an {limits['name']}\n\n"
            f"Every experiment of the lab, run natively on {where['gpu']} (CUDA {where['cuda']}, {where['host']}), "
            f"{where['date']}{agreement.tree(where)}; by `{where['command']}`; `./dev gpu` makes this page, its plots and [{name}.json]({name}.json) anew"
            + (f" (in {where['seconds']} s, agreement.md and building the experiments included)" if "seconds" in where else "") + ".\n\n"
            "Times are CUDA events around one launch, ten repetitions after one that is not counted; shown is the median, "
            "± half the distance of the quartiles. *Cold*: a buffer of twice the L2 cache was read before each. *Warm*: the "
            "program's own arrays were. Before each repetition device memory is put back as it was, so kernels that work in "
            "place do the same work each time. Clocks were left alone. *GB/s* is effective bandwidth: the bytes that an "
            "infinite cache would still have to move (`compulsory_bytes`, read and written), over the cold time; *of read* and "
            "*of copy* its share of what our own kernels reached in the same run (gpu/limits.cu):\n\n"
            + table(["limit", "measured"],
                    [["read, 1 GiB", f"{limits['read_bytes_per_second'] * 1e-9:.0f} GB/s"],
                     ["copy, 1 GiB, read and written", f"{limits['copy_bytes_per_second'] * 1e-9:.0f} GB/s"],
                     ["an empty launch after another", f"{limits['launch_following_seconds'] * 1e6:.2f} us"],
                     ["an empty launch, waited for", f"{limits['launch_waited_seconds'] * 1e6:.2f} us"]])
            + f"\nClaims: {verdicts['holds']} hold, {verdicts['does not hold']} do not hold, "
            f"{verdicts['cannot be judged here']} cannot be judged here. A share above 100 % is an array that a cache holds "
            "in spite of the flush, as it was written by the kernel itself.\n\n")
    for e in experiments:
        text += experiment_part(e, docs, name)
    with open(os.path.join(docs, name + ".md"), "w") as out:
        out.write(text.rstrip() + "\n")
    with open(os.path.join(docs, name + ".json"), "w") as out:
        json.dump({"measured": where, "lab": data}, out, separators=(",", ":"))
        out.write("\n")


def in_order(rows):
    rows.sort(key=lambda r: (0, "", "") if r["program"].startswith("lab/") else (1, r["program"], r["level"]))


def measure(chosen, where):
    """The lab's figures at -O3, and rows of all kernels. First what is timed for the page, and nothing beside it; then
    the GPU measures one program after another while the machine counts several."""
    begun = time.monotonic()
    experiments = names_of(chosen.coalesce, [e for e in chosen.experiments.split(",") if e])
    compile_ahead(chosen.coalesce, experiments, LEVELS)
    data, rows, failed, binaries = {"experiments": []}, [], [], {}

    def keep(what, more):
        for row in more:
            (failed if "failed" in row else rows).append(row)
        agreement.write(rows, failed, where, chosen.docs)  # should this be stopped, what there is remains
        sys.stderr.write(f"{time.monotonic() - begun:6.1f} s: {what}\n")

    with tempfile.TemporaryDirectory() as folder:
        for name in experiments:
            experiment = lab(chosen.coalesce, name, folder, "--on", "both")
            if experiment:
                data["experiments"].append(experiment)
                keep(f"{name} at -O3", launches.rows_of_lab(experiment, launches.measured_in_lab(experiment), "O3"))
        if data["experiments"]:
            write_results(data, where, chosen.docs, chosen.name)
        programs = launches.Programs(chosen.coalesce, folder, chosen.launches, begun + chosen.seconds)
        # Of rungs that are a matter of copies nothing is compared.
        compared = [e for e in data["experiments"] if any(launches.measured_in_lab(e).values())]
        plain = [programs.gpu.submit(counted_plain, chosen.coalesce, e, folder) for e in compared]
        foreseen = [programs.machine.submit(lab, chosen.coalesce, e["name"], folder, "--threads", str(programs.threads),
                                             "--on", "machine", "--model", "ptxas")
                    for e in compared]
        paths = []
        if chosen.programs:
            where_from = os.path.abspath(chosen.programs)
            if os.path.exists(os.path.join(where_from, "SOURCES")):
                with open(os.path.join(where_from, "SOURCES")) as sources:
                    where["sources"] = sources.read().strip()
            paths = sorted(os.path.join(where_from, f) for f in os.listdir(where_from) if f.endswith((".O0", ".O3")))
        for path, found, spent in programs.all(paths):
            name, level = launches.name_and_level(path)
            binaries[name, level] = path
            took = ", ".join(f"{side} {seconds:.1f}" for side, seconds in spent.items())
            keep(f"{name} at -{level} ({took})", found)
        for experiment, measured, model in zip(compared, plain, foreseen):
            launches.add_model(rows, experiment["name"], model.result())
            keep(f"{experiment['name']} at -O0", measured.result())
    in_order(rows)
    agreement.note_machine_code(rows, binaries)
    return data, rows, failed


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--coalesce", default=os.path.join(ROOT, "build/bin/coalesce"))
    options.add_argument("--docs", default=os.path.join(ROOT, "docs/results"))
    options.add_argument("--programs", default="")
    options.add_argument("--experiments", default="all")
    options.add_argument("--name", default="h200")
    options.add_argument("--launches", type=int, default=2, help="of each kernel of a program")
    options.add_argument("--seconds", type=float, default=330, help="begin no further run of a program after so long")
    options.add_argument("--again", action="store_true")
    chosen = options.parse_args()
    chosen.coalesce = os.path.abspath(chosen.coalesce)  # programs run in their own folders
    os.makedirs(chosen.docs, exist_ok=True)
    kept = os.path.join(chosen.docs, chosen.name + ".json")
    if chosen.again:
        saved = json.load(open(kept))
        where, data = saved["measured"], saved["lab"]
        with open(os.path.join(chosen.docs, "agreement.json")) as kept_rows:
            saved = json.load(kept_rows)
        rows, failed, compared = saved["rows"], saved["failed"], saved["measured"]
    else:
        where, begun = provenance(), time.monotonic()
        data, rows, failed = measure(chosen, where)
        where["seconds"] = round(time.monotonic() - begun)
        compared = where
    if data["experiments"]:
        write_results(data, where, chosen.docs, chosen.name)
    agreement.write(rows, failed, compared, chosen.docs)


if __name__ == "__main__":
    main()
