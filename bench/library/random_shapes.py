#!/usr/bin/env python3
"""The table of docs/results/library.md for shapes that nobody has chosen (grid.h: random_blocks), from what run.sh measured.

    random_shapes.py [--docs FOLDER] FILE...    writes its part of library.md in FOLDER (docs/results), and prints each cell
                                                below 95 % of a read of as many bytes
"""
import argparse
import json
import math
import os
import statistics
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.append(os.path.join(ROOT, "docs"))
import pages

MARKER = "bench/library/random_shapes.py"
OPS = ("sum", "argmax", "variance")
AIM, WORST = 0.95, 3


def figures(files):
    """({(op, shape, axes): (bytes, seconds)}, {(op, bytes): seconds of the read beside it}, where and when)."""
    cells, reads, machine = {}, {}, {}
    for file in files:
        with open(file) as lines:
            for row in map(json.loads, lines):
                if "machine" in row:
                    machine = row
                elif row["part"] == "random" and row["mode"] == "eager":
                    if row["op"] == "read":
                        reads[row["library"].rsplit("-", 1)[-1], row["bytes"]] = row["seconds"]
                    else:
                        cells[row["op"], row["shape"], row["axes"]] = row["bytes"], row["seconds"]
    return cells, reads, machine


def share(cells, reads, key):
    """Of a bare read of as many bytes."""
    if key not in cells:
        return None
    size, seconds = cells[key]
    read = reads.get((key[0], size // 16 * 16))
    return read and read / seconds


def page(cells, reads, machine):
    shapes = list(dict.fromkeys((shape, axes) for _, shape, axes in cells))
    found = {(op, *s): share(cells, reads, (op, *s)) for s in shapes for op in OPS}
    known = [x for x in found.values() if x]
    summary = []
    for op in OPS:
        if l := sorted(x for (o, _, _), x in found.items() if o == op and x):
            summary.append([op, len(l), sum(x >= AIM for x in l), f"{statistics.median(l):.0%}", f"{l[len(l) // 10]:.0%}", f"{l[0]:.0%}"])
    cell = lambda x: f"{x:.0%}" if x else "-"
    least = sorted((min(x for op in OPS if (x := found[op, *s])), s) for s in shapes)[:WORST]
    worst = [[f"{shape} over {axes}", f"{4 * math.prod(map(int, shape.split('x'))) / 2**20:.0f}", *(cell(found[op, shape, axes]) for op in OPS)]
             for x, (shape, axes) in least if x < AIM]
    text = [f"{len(shapes)} shapes of floats, drawn by a fixed seed: 1 to 4 axes, logarithmic extents, a random subset reduced.",
            f"Of {len(known)} cells, {sum(x >= AIM for x in known)} reach {AIM:.0%} of a read of as many bytes.", "",
            f"- **Measured** on {machine.get('machine', '?')}, driver {machine.get('driver', '?')}, {machine.get('date', '?')}.",
            "- **Repeat**: `./dev bench library --only random/`, then `bench/library/random_shapes.py`.", "",
            pages.table(["function", "cells", f"at {AIM:.0%} or more", "median", "a tenth is below", "least"], summary)]
    if worst:
        text += [f"The {len(worst)} slowest shapes:", "", pages.table(["shape", "MiB", *OPS], worst)]
    return "\n".join(text), found


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("files", nargs="+", metavar="FILE")
    options.add_argument("--docs", default=os.path.join(ROOT, "docs/results"))
    chosen = options.parse_args()
    text, found = page(*figures(chosen.files))
    pages.replace(os.path.join(chosen.docs, "library.md"), MARKER, text)
    for (op, shape, axes), x in sorted(found.items(), key=lambda item: item[1] or 0):
        if x and x < AIM:
            print(f"{op} {shape} over {axes}: {x:.0%}")


if __name__ == "__main__":
    main()
