#!/usr/bin/env python3
"""Measures everything on the GPU of this computer and writes what docs/results/ says about it (./dev gpu).

  results.py [--coalesce PROGRAM] [--docs FOLDER] [--programs FOLDER] [--experiments A,B,...] [--name h200]
  results.py --again     measures nothing: writes the pages from the JSON files

Writes NAME.md, NAME.json and NAME-*.svg: every experiment of the lab, counted and measured; and agreement.md,
agreement.json, agreement.svg: the memory counters of both sides, for the experiments (at -O3 and with -Xptxas -O0) and
for the programs in the folder. Build these programs beforehand with `nvcc -cudart shared -gencode
arch=compute_90,code=[sm_90,compute_90]`, each as NAME.O3 and NAME.O0 (the latter with -Xptxas -O0). A file NAME.args may
hold arguments; a file SOURCES names the programs' sources. Needs only Python; cuobjdump, if present, shows what ptxas made
of a kernel.
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
from common import ROOT, run
from pages import bars, table

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


PLOTTED = ("reduce", "transpose")


def essential(data):
    """What the page needs of the lab's export."""
    def rung(r):
        gpu = {k: v for k, v in r["gpu"].items() if k != "counters"}
        for kind in ("cold_seconds", "warm_seconds"):
            if kind in gpu:
                gpu[kind] = {k: gpu[kind][k] for k in ("median", "spread")}
        return {"name": r["name"], "gpu": gpu, **({"copies": r["copies"]} if "copies" in r else {})}

    claims = ("text", "document", "figure", "unit", "value", "measured", "verdict", "reason")
    return {"experiments": [{"name": e["name"], "gpu": {k: v for k, v in e["gpu"].items() if k != "notes"},
                             "rungs": [rung(r) for r in e["rungs"] if "gpu" in r],
                             "claims": [{k: c[k] for k in claims if k in c} for c in e["claims"]]}
                            for e in data["experiments"]]}


def times(experiments):
    """Table rows of the rungs: timed kernels, chains of accesses, copies."""
    timed, chains, copied = [], [], []
    for e in experiments:
        for r in e["rungs"]:
            g, name = r["gpu"], f"`{r['name']}`"
            if "span_seconds" in g:
                row = [name, us(g["span_seconds"])]
                for way in ("h2d", "d2h"):
                    seconds, moved = g.get(way + "_seconds", 0), r.get("copies", {}).get(way, {}).get("bytes", 0)
                    row.append(f"{moved / seconds * 1e-9:.1f}" if seconds else "")
                copied.append(row)
            elif g.get("cycles"):
                chains.append([name, f"{g['cycles']:.1f}"])
            elif "cold_seconds" in g:
                rate = g.get("effective_bytes_per_second", 0)
                share = rate / e["gpu"]["read_bytes_per_second"]
                rated = share >= 0.005  # the others move next to nothing
                timed.append([e["name"], name, us(g["cold_seconds"]["median"]), f"{rate * 1e-9:.0f}" if rated else "",
                              f"{100 * share:.0f}%" if rated else ""])
    return timed, chains, copied


def failing_claims(experiments):
    rows = []
    for e in experiments:
        for c in e["claims"]:
            if c["verdict"] == "holds":
                continue
            unit = " " + c["unit"] if c["unit"] else ""
            value = "" if c["value"] is None else f"{c['value']:.4g} ({'measured' if c.get('measured') else 'counted'})"
            rows.append([e["name"], c["text"], "" if c["figure"] is None else f"{c['figure']:g}{unit}", value,
                         c["verdict"] + (": " + c["reason"] if c["reason"] else "")])
    return rows


def write_results(data, where, docs, name):
    data = essential(data)
    experiments = data["experiments"]
    limits = experiments[0]["gpu"]
    verdicts = collections.Counter(c["verdict"] for e in experiments for c in e["claims"])
    timed, chains, copied = times(experiments)
    spread = max(t["spread"] / t["median"] for e in experiments for r in e["rungs"]
                 for t in (r["gpu"].get("cold_seconds"), r["gpu"].get("warm_seconds")) if t)
    text = (f"# The lab on an {limits['name']}\n\n"
            f"Of the documents' claims {verdicts['holds']} hold and {verdicts['does not hold']} do not hold; "
            f"{verdicts['cannot be judged here']} cannot be judged.\n\n"
            f"- **Measured** on {where['gpu']} (CUDA {where['cuda']}, {where['host']}), {where['date']}{agreement.tree(where)}.\n"
            "- **Repeat:** `./dev gpu`. It writes this page, its plots and "
            f"[{name}.json]({name}.json); `gpu/results.py --again` writes the page from the JSON.\n"
            f"- **Times** are CUDA events around one launch: the median of ten. Half the distance of the quartiles is at most {100 * spread:.0f} %. "
            "Each repetition starts from the same device memory; clocks are left alone.\n"
            "- **Caches** are cold: a buffer of twice the L2 cache is read first. The JSON has times with warm caches.\n"
            "- **GB/s**: compulsory bytes over the time. **Of read**: the share of what a bare kernel reads (gpu/limits.cu).\n\n"
            + table(["limit", "measured"],
                    [["read, 1 GiB", f"{limits['read_bytes_per_second'] * 1e-9:.0f} GB/s"],
                     ["copy, 1 GiB, read and written", f"{limits['copy_bytes_per_second'] * 1e-9:.0f} GB/s"],
                     ["an empty launch after another", f"{limits['launch_following_seconds'] * 1e6:.2f} us"],
                     ["an empty launch, waited for", f"{limits['launch_waited_seconds'] * 1e6:.2f} us"]]))
    for e in experiments:
        plotted = [(r["name"], r["gpu"]["cold_seconds"]["median"] * 1e6) for r in e["rungs"] if "cold_seconds" in r["gpu"]]
        if e["name"] in PLOTTED and plotted:
            file = f"{name}-{e['name']}.svg"
            with open(os.path.join(docs, file), "w") as out:
                out.write(bars(f"{e['name']}: microseconds, cold L2", plotted, "us"))
            text += f"\n![{e['name']}: time of each rung]({file})\n"
    if timed:
        text += "\n## Times\n\n" + table(["experiment", "rung", "us", "GB/s", "of read"], timed)
    if chains:
        text += "\n## Latency\n\n" + table(["chain", "cycles a step"], chains)
    if copied:
        text += "\n## Copies\n\n" + table(["copies", "in all, us", "to device, GB/s", "to host, GB/s"], copied)
    if failing := failing_claims(experiments):
        text += "\n## Claims that do not hold\n\n" + table(["experiment", "claim", "it says", "here", "verdict"], failing, False)
    with open(os.path.join(docs, name + ".md"), "w") as out:
        out.write(text)
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
        # Rungs about copies have no counters to compare.
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
