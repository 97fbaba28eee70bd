#!/usr/bin/env python3
"""Measures `coalesce run --time` beside `coalesce run`, for docs/time.md: the least wall time of ROUNDS runs each, taken in
turns, and the memory of the program's process. Two minutes.
usage: cost.py [COALESCE [ROUNDS]]"""
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OWN = "bench/time/programs.cu"
RUNS = [(OWN, "matvec 2048"), (OWN, "kmeans 4096"), (OWN, "kmeans 65536"), (OWN, "nbody 16384"), (OWN, "sort 1048576"), (OWN, "launches 10000"),
        ("bench/histogram.cu", "--n 16777216"), ("lab/reduce/reduce.cu", "--n 4000000"), ("lab/transpose/transpose.cu", "--n 4096"),
        ("lab/matmul/matmul.cu", "--n 512")]


def once(command):
    """Seconds, and MiB at most."""
    begun = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"error: {' '.join(command)} ended with status {status}")
    return time.monotonic() - begun, used.ru_maxrss // 1024


def main():
    coalesce = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build/bin/coalesce")
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    print("| program | `run` | `run --time` | times | MiB, `run` and `--time` |\n|---|---:|---:|---:|---|")
    for source, words in RUNS:
        ways = [[coalesce, "run", "-q", "--compiler", "clang", *option, os.path.join(ROOT, source), *words.split()] for option in ([], ["--time"])]
        for way in ways * 2:
            once(way)  # compiles the program, and kernels to native code
        runs = [[once(way) for way in ways] for _ in range(rounds)]
        (a, m), (b, n) = (tuple(map(min, zip(*(r[k] for r in runs)))) for k in (0, 1))
        print(f"| `{os.path.basename(source)} {words}` | {a:.3f} s | {b:.3f} s | {b / a:.2f} | {m} and {n} |", flush=True)


if __name__ == "__main__":
    main()
