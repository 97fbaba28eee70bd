#!/usr/bin/env python3
"""Measures the launches that estimates of time are judged by, on the GPU of this computer, and writes tests/truth/times.json,
then docs/results/time.md, .json and .svg anew (./dev gpu --time).

  time_measure.py --programs FOLDER [--coalesce PROGRAM] [--only PROGRAM] [--jobs N] [--no-estimates]

Measured are the programs that tests/truth/times.json names, with the arguments that it names. The lab's are compiled here.
FOLDER has the public ones, "hec/popcount" as hec-popcount, built from the sources that docs/results/time.md names with `nvcc
-cudart shared -O3 -gencode arch=compute_90,code=[sm_90,compute_90]`; a program that is not there is named and left out.
Needs ncu, and nvcc for the lab. Cost: some five seconds a program, and the estimates' time.
"""
import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import times
from common import ROOT, run

TRUTH = os.path.join(ROOT, "tests/truth/times.json")
METRICS = [name for name, _ in times.METRICS.values()] + [times.COMPUTE, times.MEMORY, *times.SHARES.values(),
                                                          "sm__warps_active.avg.pct_of_peak_sustained_active",
                                                          "launch__shared_mem_per_block_static", "launch__shared_mem_per_block_dynamic"]
# Three launches of each kernel and sixteen of a program stand for the rest, as each begins with empty caches.
NCU = ["--clock-control", "none", "--cache-control", "all", "--csv", "--page", "raw", "--print-units", "base",
       "--kernel-name-base", "demangled", "--kernel-id", ":::1|2|3", "-c", "16", "--metrics", ",".join(METRICS)]
NVCC = ["-cudart", "shared", "-O3", "-std=c++17", "-gencode", "arch=compute_90,code=[sm_90,compute_90]", "-I", os.path.join(ROOT, "include")]
SECONDS = 60


def programs_of(truth, only):
    """[(program, arguments)], each once, in the file's order."""
    return list(dict.fromkeys((launch["program"], tuple(launch["arguments"])) for launch in truth["launches"]
                              if not only or launch["program"] in only))


def built(program, folder, where):
    """The program's path, or a text why there is none."""
    if not program.startswith("lab/"):
        path = os.path.join(os.path.abspath(folder), program.replace("/", "-", 1))
        return (path, None) if os.path.exists(path) else (None, "not in the folder")
    path = os.path.join(where, program.replace("/", "-"))
    if not os.path.exists(path):
        done = run(["nvcc", *NVCC, "-o", path, os.path.join(ROOT, program, program[4:] + ".cu")], 300)
        if done is None or done.returncode:
            return None, "nvcc: " + (done.stderr.strip()[:200] if done else "took too long")
    return path, None


def measured(program, arguments, chosen, where):
    """The program's rows of times.json, or a text why there are none."""
    path, missing = built(program, chosen.programs, where)
    if missing:
        return missing
    data = os.path.join(os.path.dirname(path), "data")
    if os.path.isdir(data) and not os.path.exists(os.path.join(where, "data")):
        os.symlink(data, os.path.join(where, "data"))
    log, record = os.path.join(where, "ncu.csv"), os.path.join(where, "record.json")
    for file in (log, record):
        if os.path.exists(file):
            os.remove(file)
    if run([chosen.ncu, *NCU, "--log-file", log, path, *arguments], SECONDS, cwd=where) is None:
        return "took too long under ncu"
    if run([chosen.coalesce, "run", "-q", "--json", record, path, *arguments], SECONDS, cwd=where) is None:
        return "took too long on the machine"
    try:
        with open(log, errors="replace") as text, open(record) as counted:
            rows = list(times.launches_of(program.replace("/", "-", 1), list(arguments), times.measured_rows(text.read()), json.load(counted)["launches"]))
    except (OSError, ValueError) as error:
        return f"no figures: {error}"
    return rows or "no launch on both sides"


def gpu():
    """(name, driver) of the first GPU; None: there is none."""
    done = run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"])
    first = done.stdout.splitlines()[:1] if done and done.returncode == 0 else []
    return tuple(part.strip() for part in first[0].split(",")) if first else None


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--programs", default="")
    options.add_argument("--coalesce", default=os.path.join(ROOT, "build/bin/coalesce"))
    options.add_argument("--ncu", default="ncu")
    options.add_argument("--truth", default=TRUTH)
    options.add_argument("--only", action="append")
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options.add_argument("--no-estimates", action="store_true")
    chosen = options.parse_args()
    chosen.coalesce = os.path.abspath(chosen.coalesce)
    device = gpu()
    if not device:
        sys.exit("error: nvidia-smi names no GPU on this computer\nhint: gpu/time_page.py writes the page from what is measured")
    if not shutil.which(chosen.ncu):
        sys.exit(f"error: no program {chosen.ncu}\nhint: Nsight Compute has it; --ncu PATH names it")
    with open(chosen.truth) as file:
        truth = json.load(file)
    rows = []
    with tempfile.TemporaryDirectory() as where:
        for program, arguments in programs_of(truth, chosen.only):
            found = measured(program, arguments, chosen, where)
            sys.stderr.write(f"{program} {' '.join(arguments)}: {found if isinstance(found, str) else f'{len(found)} launches'}\n")
            rows += [] if isinstance(found, str) else found
    if not rows:
        sys.exit("error: nothing was measured")
    for row in rows:
        row["set"] = times.set_of(row["program"], truth["reported"])
    commit = run(["git", "-C", ROOT, "describe", "--always", "--dirty"])
    truth |= {"device": device[0], "driver": device[1], "date": datetime.date.today().isoformat(), "commit": commit.stdout.strip() if commit else "",
              "launches": rows}
    with open(chosen.truth, "w") as out:
        times.write(truth, out)
    print(f"{len(rows)} launches of {len({row['program'] for row in rows})} programs are in {os.path.relpath(chosen.truth)}")
    if not chosen.no_estimates:
        sys.exit(subprocess.run([sys.executable, os.path.join(ROOT, "gpu/time_page.py"), "--coalesce", chosen.coalesce, "--truth", chosen.truth,
                                 "--jobs", str(chosen.jobs), *(["--programs", chosen.programs] if chosen.programs else [])]).returncode)


if __name__ == "__main__":
    main()
