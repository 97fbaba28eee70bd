#!/usr/bin/env python3
"""Holds estimates of time to what was measured: tests/truth/times.json has the times, tests/truth/estimates.json the error that
estimates had when they were last improved. An error that grows is a failure.

  times_test.py COALESCE [--write]

A few experiments: some small, some whose arrays do not fit in L2. --write: keeps the error that there is now.
"""
import json
import math
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TRUTH = os.path.join(ROOT, "tests/truth/times.json")
KEPT = os.path.join(ROOT, "tests/truth/estimates.json")
RUNS = {("lab/reduce", "--n", "1024"), ("lab/reduce", "--n", "65536"), ("lab/transpose", "--n", "128"),
        ("lab/square_sum", "--n", "65536"), ("lab/matmul", "--n", "64"), ("lab/matmul", "--n", "256"),
        ("lab/reduce", "--n", "4194304"), ("lab/reverse", "--n", "16777216")}
# The rungs that a learner is shown first, in the right order: experiment, size, the slower rung, the faster one.
ORDER = ("lab/matmul", "--n", "256", "naive", "tiled")
# Estimates are the same on every computer but for compilers, whose releases order instructions differently.
ROOM = 1.01


def estimates(coalesce, program, arguments):
    source = os.path.join(ROOT, program, program[4:] + ".cu")
    done = subprocess.run([coalesce, "run", "-q", "--time", "--device", "h100", "--compiler", "clang", "--json", "-", source,
                           *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=900, check=False)
    if done.returncode != 0:
        sys.exit(f"{program} {' '.join(arguments)} ended with {done.returncode}: {done.stderr.decode()}")
    return json.loads(done.stdout)["launches"]


def errors(coalesce):
    """Factors by which estimates are off."""
    with open(TRUTH, encoding="utf-8") as file:
        launches = json.load(file)["launches"]
    runs = {}
    for launch in launches:
        key = (launch["program"], *launch["arguments"])
        if key in RUNS:
            runs.setdefault(key, []).append(launch)
    factors = []
    for key, measured in runs.items():
        found = estimates(coalesce, key[0], key[1:])
        if key == ORDER[:3]:
            slower, faster = (next(l["time"]["us"] for l in found if l["kernel"].startswith(rung + "(")) for rung in ORDER[3:])
            if slower <= faster:
                sys.exit(f"{key}: {ORDER[3]} takes {slower:.1f} us, {ORDER[4]} {faster:.1f}: not as measured")
        for launch in measured:
            time = found[launch["launch"]]["time"]
            if launch["grid"] != found[launch["launch"]]["grid"]:
                sys.exit(f"{key}: launch {launch['launch']} is not the one that was measured")
            if "us" in time:
                factors.append(math.exp(abs(math.log(time["us"] / launch["us"]))))
    return sorted(factors)


def main():
    factors = errors(sys.argv[1])
    # The mean of the logarithms notices each launch, the other two those in the middle and the worst.
    now = {"launches": len(factors), "mean": round(math.exp(sum(map(math.log, factors)) / len(factors)), 4),
           "median": round(factors[len(factors) // 2], 4), "nine of ten": round(factors[len(factors) * 9 // 10], 4)}
    if "--write" in sys.argv:
        with open(KEPT, "w", encoding="utf-8") as file:
            json.dump(now, file, indent=1)
            file.write("\n")
    with open(KEPT, encoding="utf-8") as file:
        kept = json.load(file)
    print(f"now {now}, kept {kept}")
    if now["launches"] < kept["launches"]:
        sys.exit("fewer launches have an estimate")
    for what in ("mean", "median", "nine of ten"):
        if now[what] > kept[what] * ROOM:
            sys.exit(f"estimates are worse than they were: {what} {now[what]}, was {kept[what]}")


if __name__ == "__main__":
    main()
