#!/usr/bin/env python3
"""tests/truth/triton.txt from what an H100 gave.

    triton_truth.py LAUNCHES NCU.csv NAMES...

LAUNCHES are the lines of triton_launch.py; NCU.csv is ncu's raw page of one launch each, in the order of the names; NAMES are the
kernels that tests/triton keeps. A counter is kept where ncu's column is there.
"""
import csv
import io
import os
import re
import sys

HEADER = os.path.join(os.path.dirname(__file__), "../../machine/observe/counters.h")
# Counters that PTX does not fix: a compiler's instructions, registers that it spills, requests that it joins, divides or switches off.
FREE = re.compile(r"instructions|branches|local|shuffles|barriers|shared_\w+_requests|_ideal")
PTX = os.path.join(os.path.dirname(__file__), "../triton")
# Instructions for which ncu has columns of their own, or which the driver's compiler makes of others.
APART = {"shared": ("ldmatrix", "stmatrix", "cp.async.c", "tensormap"), "global_atomic": ("tensormap",)}


def fixed(counter, ptx):
    return not FREE.search(counter) and not any(counter.startswith(c) and w in ptx for c, words in APART.items() for w in words)


def main():
    with open(HEADER) as file:
        names = dict(re.findall(r"X\((\w+),[^\n]*\"((?:l1tex|smsp)__[\w.]+)\"", file.read()))
    with open(sys.argv[1]) as file:
        lines = {line.split()[0]: line.split("#")[0].split() for line in file if " digest=" in line}
    with open(sys.argv[2]) as file:
        rows = [r for r in csv.reader(io.StringIO(file.read())) if len(r) > 10]
    launches = [dict(zip(rows[0], r)) for r in rows[1:] if r[0].isdigit()]
    assert len(launches) == len(lines), (len(launches), len(lines))
    for (name, words), counted in zip(sorted(lines.items()), launches):
        if name in sys.argv[3:]:
            with open(f"{PTX}/{name}.ptx") as file:
                ptx = file.read()
            if not name.startswith("matmul"):  # bits that PTX leaves open
                words = [w for w in words if not w.startswith("digest=")]
            print(*words, *[f"{n}={int(float(counted[m].replace(',', '')))}" for n, m in names.items() if m in counted and fixed(n, ptx)])


if __name__ == "__main__":
    main()
