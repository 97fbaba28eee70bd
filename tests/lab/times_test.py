#!/usr/bin/env python3
"""Holds estimates of time to what was measured: tests/truth/times.json has the times, tests/truth/estimates.json the error that
estimates had when they were last improved. An error that grows is a failure.

  times_test.py COALESCE [--all] [--write]

Without --all: small launches of a few experiments. --write: keeps the error that there is now.
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
QUICK = {("lab/reduce", "--n", "1024"), ("lab/reduce", "--n", "65536"), ("lab/transpose", "--n", "128"),
         ("lab/square_sum", "--n", "65536"), ("lab/matmul", "--n", "64")}
# Estimates are the same on every computer but for compilers, whose releases order instructions differently.
ROOM = 1.01


def estimates(coalesce, program, arguments):
    source = os.path.join(ROOT, program, program[4:] + ".cu")
    done = subprocess.run([coalesce, "run", "-q", "--time", "--device", "h100", "--compiler", "clang", "--json", "-", source,
                           *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=900, check=False)
    if done.returncode != 0:
        sys.exit(f"{program} {' '.join(arguments)} ended with {done.returncode}: {done.stderr.decode()}")
    return json.loads(done.stdout)["launches"]


def errors(coalesce, everything):
    """Factors by which estimates are off."""
    with open(TRUTH, encoding="utf-8") as file:
        launches = json.load(file)["launches"]
    runs = {}
    for launch in launches:
        key = (launch["program"], *launch["arguments"])
        if launch["program"].startswith("lab/") and (everything or key in QUICK):
            runs.setdefault(key, []).append(launch)
    factors = []
    for key, measured in runs.items():
        found = estimates(coalesce, key[0], key[1:])
        for launch in measured:
            time = found[launch["launch"]]["time"]
            if launch["grid"] != found[launch["launch"]]["grid"]:
                sys.exit(f"{key}: launch {launch['launch']} is not the one that was measured")
            if "us" in time:
                factors.append(math.exp(abs(math.log(time["us"] / launch["us"]))))
    return sorted(factors)


def main():
    everything, write = "--all" in sys.argv, "--write" in sys.argv
    factors = errors(sys.argv[1], everything)
    now = {"launches": len(factors), "median": round(factors[len(factors) // 2], 4),
           "nine of ten": round(factors[len(factors) * 9 // 10], 4)}
    name = "all" if everything else "quick"
    with open(KEPT, encoding="utf-8") as file:
        kept = json.load(file)
    if write:
        kept[name] = now
        with open(KEPT, "w", encoding="utf-8") as file:
            json.dump(kept, file, indent=1)
            file.write("\n")
    print(f"{name}: now {now}, kept {kept.get(name)}")
    before = kept[name]
    if now["launches"] < before["launches"]:
        sys.exit("fewer launches have an estimate")
    for what in ("median", "nine of ten"):
        if now[what] > before[what] * ROOM:
            sys.exit(f"estimates are worse than they were: {what} {now[what]}, was {before[what]}")


if __name__ == "__main__":
    main()
