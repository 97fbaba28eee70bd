#!/usr/bin/env python3
"""Start-up of an empty program, with NVIDIA's runtime linked in (nvcc's default) and shared; a small launch by the runtime's
API and by the driver's. Writes a part of speed.md.

    launches.py COALESCE --docs FOLDER
"""
import argparse
import datetime
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.append(os.path.join(ROOT, "docs"))
import pages

STARTS = 21
TARGETS = {"linked in": 60, "shared": 28}  # milliseconds


def seconds(words):
    began = time.monotonic()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - began


def cpu():
    with open("/proc/cpuinfo") as file:
        return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))


def row(what, target, unit, values, most):
    middle = statistics.median(values)
    return [what, f"{target} {unit}".strip(), f"{middle:.3g} {unit}".strip(), "yes" if middle <= most else "no"]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("coalesce")
    options.add_argument("--docs", required=True)
    chosen = options.parse_args()
    nvcc = shutil.which("nvcc", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin")
    if nvcc is None:
        print("error: the default-built program needs nvcc", file=sys.stderr)
        return 3
    source = os.path.join(ROOT, "bench/empty.cu")
    with tempfile.TemporaryDirectory() as folder:
        run = [chosen.coalesce, "run", "-q"]
        programs = {}
        for runtime, words in (("linked in", []), ("shared", ["-cudart", "shared"])):
            programs[runtime] = os.path.join(folder, runtime.replace(" ", "_"))
            subprocess.run([nvcc, *words, "-o", programs[runtime], source], check=True)
        starts = {runtime: [] for runtime in programs}
        for n in range(STARTS + 1):  # in turns; the first round fills caches
            for runtime, program in programs.items():
                took = seconds([*run, program])
                if n:
                    starts[runtime].append(took * 1e3)
        launches = os.path.join(folder, "launches")
        subprocess.run([nvcc, "-O2", "-cudart", "shared", "-o", launches, os.path.join(ROOT, "bench/launches/launches.cu")], check=True)
        said = subprocess.run([*run, launches], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    pairs = [tuple(map(float, line.split())) for line in said.splitlines()]
    runtime, driver = [a for a, _ in pairs], [b for _, b in pairs]
    rows = [row(f"start, runtime {name}", TARGETS[name], "ms", values, TARGETS[name])
            for name, values in starts.items()]
    rows.append(row("launch by the runtime", 15, "us", runtime, 15))
    rows.append(row("launch by the driver", 15, "us", driver, 15))
    rows.append(row("driver / runtime", 1.1, "", [b / a for a, b in pairs], 1.1))
    machine = f"{os.cpu_count()} cores of an {cpu()}, {datetime.date.today():%-d %B %Y}"
    load = os.getloadavg()[0]
    disturbed = "" if load < 1.5 else f"**Disturbed:** load {load:.1f}.\n\n"
    pages.replace(os.path.join(chosen.docs, "speed.md"), "./dev bench launches",
                  f"{disturbed}- **Measured** on {machine}.\n- **Repeat**: `./dev bench launches`.\n\n"
                  + pages.table(["what", "at most", "median", "met"], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
