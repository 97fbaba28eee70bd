#!/usr/bin/env python3
"""Writes docs/results/scale.md from what was measured of ranks, streams and files. Sections that nothing is given for
stay as they are; so does the line above them that names their machine."""
import argparse
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "results", "scale.md")


def rows(path, what=None):
    with open(path) as file:
        found = [json.loads(line) for line in file if line.startswith("{")]
    return [r for r in found if what in (None, r["what"])]


def table(head, lines):
    return ["| " + " | ".join(head) + " |", "|" + "|".join(["---"] + ["---:"] * (len(head) - 1)) + "|"] + [
        "| " + " | ".join(map(str, line)) + " |" for line in lines] + [""]


def streams(path):
    sources = {}
    for r in rows(path):
        if r["what"] == "pinned" and r["pieces"] == 4 and r["piece_mib"] == 64:
            sources.setdefault(f"pinned, pieces of {r['piece_mib']} MiB", {})[r["type"]] = (r["exact_gb_s"], r["copy_gb_s"])
        elif r["what"] == "pageable" and r["threads"] in (1, 8):
            for source, key in (("pageable", "pageable_gb_s"), ("mapped file", "mapped_gb_s")):
                sources.setdefault(f"{source}, {r['threads']} thread{'s' * (r['threads'] > 1)}", {})[r["type"]] = (r[key], r["copy_gb_s"])
    return ["## Exact sums of 2 GiB in host memory, GB/s", "",
            "The plain copy is of the same bytes, from pinned memory.", "",
            *table(["source", "float", "plain copy"], [
                [source, f"{of['float'][0]:.1f}", f"{of['float'][1]:.1f}"]
                for source, of in sources.items()])]


def one_rank(nccl):
    return ["## Exact sums over one rank, us", "", "The bits equal those of the local sum.", "",
            *table(["elements", "local", "with NCCL", "local, in a graph", "with NCCL, in a graph"],
                   [[f"{r['count']} {r['type']}", *(f"{r[key]:.1f}" for key in ("local_us", "nccl_us", "graph_local_us", "graph_nccl_us"))]
                    for r in rows(nccl, "nccl") if r["count"] != 1 << 20 and (r["count"], r["type"]) != (1024, "double")]),
            "## Addition of the ranks' accumulators on a device, us", "",
            *table(["ranks", "float", "double"], [
                [r["ranks"], f"{r['us']:.1f}", f"{d['us']:.1f}"] for r in rows(nccl, "fold") for d in rows(nccl, "fold")
                if r["type"] == "float" and d["type"] == "double" and r["ranks"] == d["ranks"] and r["ranks"] in (1, 1024)])]


def several(path):
    found = rows(path, "ranks")
    if any(r["bits"] != r["exact"] for r in found if r["method"] == "coalesce"):
        sys.exit("error: bits differ")
    pairs = [(r, o) for r in found for o in found if r["method"] == "coalesce" and o["method"] != "coalesce"
             and all(r[key] == o[key] for key in ("count", "ranks", "even"))]
    return ["## Sums of 2^27 floats over GPUs", "", "An integer sum on the CPU gives the exact sums' bits, too.", "",
            *table(["GPUs", "split", "coalesce", "us", "CUB + NCCL", "us"],
                   [[r["ranks"], "even" if r["even"] else "uneven", r["bits"], f"{r['us']:.1f}", o["bits"], f"{o['us']:.1f}"]
                    for r, o in pairs if r["count"] == 1 << 27 and (r["ranks"] != 2 or r["even"])])]


def summaries(path):
    found = rows(path, "summary")
    if not all(r["same"] for r in found):
        sys.exit("error: statistics differ")
    return ["## Statistics over GPUs, us", "", "A loop on the CPU gives the same.", "",
            *table(["elements", "GPUs", "calls", "a graph"],
                   [[f"{r['count']} {r.get('type', 'float')}", r["ranks"], f"{r['us']:.1f}", f"{r['graph_us']:.1f}"] for r in found if r["even"] and r["ranks"] != 2 and r.get("type", "float") == "float"])]


def started(path):
    """What starting costs, which is within the times."""
    found = {(r["what"], r["ranks"]): 1e3 * r["seconds"] for r in rows(path) if r["what"].startswith("start") and r.get("threads", 1) == 1}
    if ("start of true by mpirun", 4) not in found:
        return ""
    return (f" Starts within: {found['start', 1]:.0f} ms of one rank, {found['start', 4]:.0f} of four; "
            f"`mpirun`: {found['start of true by mpirun', 4] / 1e3:.1f} s.")


def over_mpi(path):
    sums = rows(path, "sum")
    if not sums:
        return []
    wanted = rows(path, "exact")[0]["value"]
    by = {(r["method"], r["ranks"]): r for r in sums}
    ours = {r["bits"] for r in sums if r["method"] == "coalesce"}
    if len(ours) != 1:
        sys.exit("error: bits differ")
    lines = [[count, by["MPI_SUM", count]["bits"], f"{by['MPI_SUM', count]['relative_error']:.0e}", by["coalesce", count]["bits"],
              f"{by['coalesce', count]['relative_error']:.0e}"] for method, count in by if method == "coalesce" and count not in (1, 8)]
    text = ["## Sums of 2^24 floats over MPI ranks", "", "MPI_SUM adds what a loop over floats gives on each rank.", "",
            *table(["ranks", "MPI_SUM", "error", "coalesce", "error"], lines)]
    for r in rows(path, "numpy"):
        text += [f"`numpy.sum` (NumPy {r['version']}) gives {r['bits']}, error {abs(r['value'] - wanted) / abs(wanted):.0e}.", ""]
    beside = {}
    for r in rows(path, "beside"):
        beside.setdefault(r["method"], {})[r["kind"]] = r
    if beside:
        if any(len({of[kind]["bits"] for of in beside.values()}) != 1 for kind in beside["coalesce"]):
            sys.exit("error: ReproBLAS has other bits")
        cpu_of = beside["coalesce"]["normal"].get("cpu")
        text += [f"One thread{' of an ' + cpu_of if cpu_of else ''}, GB/s of CPU time, equal bits.", "",
                 *table(["", *beside["coalesce"]], [[name, *(f"{r['bytes'] / r['seconds'] / 1e9:.1f}" for r in of.values())]
                                                    for name, of in beside.items()])]
    return text


def steps_of(path):
    steps = rows(path, "step")
    return ["## Adding accumulators over MPI ranks, us", "", "MPI_Allreduce takes the bitwise or of as many bytes.", "",
            *table(["accumulators", "ranks", "bytes", "MPI_Allreduce", "coalesce"], [
                [f"{r['count']} {r['type']}", r["ranks"], r["bytes"], f"{r['mpi_us']:.1f}", f"{r['us']:.1f}"]
                for r in steps if r["ranks"] == 4 and r["type"] == "float" and r["count"] in (1, 16, 16384)])] if steps else []


def files_of(path, built):
    files = rows(path, "file")
    if not files:
        return []
    kinds = list(dict.fromkeys(r["kind"] for r in files))
    rates = {}
    for r in [r for r in rows(path, "read") if r["threads"] == 2] + [r for r in files if r["ranks"] != 2]:
        name = f"sum, {r['ranks']} x {r['threads']}" if r["what"] == "file" else f"reading, {r.get('way', 'copied')}, 1 x {r['threads']}"
        rates.setdefault(name, {})[r["kind"]] = r["bytes"] / r["seconds"] / 1e9
    return ["## A file in the page cache on two cores, GB/s", "",
            f"Exact sums of {' or '.join(dict.fromkeys(str(r['bytes'] >> 30) for r in files))} GiB floats, ranks x threads{f', built for {built}' if built else ''}." +
            started(path), "",
            *table(["", *kinds], [[name, *(f"{of[kind]:.1f}" for kind in kinds)] for name, of in rates.items()])]


def sections(lines):
    """Title -> lines; what stands before the first title: under ""."""
    found, title = {"": []}, ""
    for line in lines:
        if line.startswith("## "):
            title = line
        found.setdefault(title, []).append(line)
    return found


def options():
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("date")
    asked.add_argument("--streams", help="output of `scale streams` (scale.cu)")
    asked.add_argument("--nccl", help="output of `scale nccl` of the same device")
    asked.add_argument("--gpus", help="output of ranks.cu")
    asked.add_argument("--summaries", help="output of summaries.cu on the same devices")
    asked.add_argument("--cpu", help="output of bench/ranks/ranks.py, of all its parts or of some")
    asked.add_argument("--built", help="COALESCE_MARCH of the command that --cpu measured, where it was not native")
    given = asked.parse_args()
    if (given.streams is None) != (given.nccl is None) or (given.gpus is None) != (given.summaries is None):
        asked.error("--streams and --nccl belong together, and so do --gpus and --summaries")
    return given


def main():
    given = options()
    with open(PAGE) as file:
        page = sections(file.read().splitlines())
    fresh, machines = [], {}
    if given.streams:
        device = rows(given.streams, "device")[0]["name"]
        if rows(given.nccl, "device")[0]["name"] != device:
            sys.exit("error: two devices")
        if not all(r["same"] for r in rows(given.nccl) if "same" in r):
            sys.exit("error: bits differ")
        version = rows(given.nccl, "nccl_version")[0]["version"]
        machines["- **One GPU**"] = f"{device}, {given.date}, NCCL {version}: medians of `tests/hardware/scale.cu`."
        fresh += streams(given.streams) + one_rank(given.nccl)
    if given.gpus:
        of = rows(given.gpus, "devices")[0]
        machines["- **Several**"] = f"{of['count']} {of['name']}, {given.date}: medians of `tests/hardware/ranks.cu` and `summaries.cu`."
        fresh += several(given.gpus) + summaries(given.summaries)
    if given.cpu:
        of = rows(given.cpu, "machine")[0]
        machines["- **CPU**"] = f"{of['cpu']}, {of['mpi'].replace('mpirun ', '')}, {given.date}: medians of `bench/ranks/ranks.py`."
        fresh += over_mpi(given.cpu) + steps_of(given.cpu) + files_of(given.cpu, given.built)
    page.update({title: lines for title, lines in sections(fresh).items() if title})
    page[""] = [f"{name}: {machines[name]}" if (name := line.split(":")[0]) in machines else line for line in page[""]]
    with open(PAGE, "w") as file:
        file.write("\n".join("\n".join(lines).rstrip() + "\n" for lines in page.values()))


if __name__ == "__main__":
    main()
