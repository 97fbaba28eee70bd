#!/usr/bin/env python3
"""docs/results/library.md's tables and plots from what run.sh measured.

    table.py [--docs FOLDER] FILE...    writes the generated part of library.md and library-*.svg into FOLDER
                                        (docs/results), and prints each cell that misses an aim
"""
import argparse
import json
import math
import os
import re
import statistics
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.append(os.path.join(ROOT, "docs"))
import pages

MARKER = "bench/library/table.py"
PEERS = ("cub", "cub-main", "thrust", "torch")
LARGE = 2**28  # bytes; the aims for bandwidth hold from here on
OF_LIMIT, OF_PEER, OF_CUB_EAGER = 0.95, 0.97, 0.5

# Why a cell misses an aim: regular expressions for the aim and for the cell's name; the first that fits applies.
# docs/internals/library-kernels.md explains the causes.
WRITTEN = "The results' stores: at least 95 % of a bare kernel that reads and writes as much."
CROOKED = "Rows that begin at any alignment: at least 95 % of a bare kernel that reads such rows by vectors."
REASONS = [
    ("in a graph", r" double ", "Doubles in L2: compensated sums, 64-bit positions, two folds."),
    ("in a graph", r".", "The last block waits for the states of all others; CUB waits for a second launch."),
    ("eager", r".", "The host's time to start one kernel; at 4 MB the kernel's."),
    ("of a peer", r".", "The peer reaches the limit, too."),
    ("of the limit", r"^\w+ (int8|half|float|double) \d+( \+1)?$", "One array of 256 MiB: the memory idles while the last multiprocessors end and the last block folds; halves: also instructions."),
    ("of the limit", r" (uniform|power|giant)$", "Segments: begin and end of launches, stores of results; bytes and power laws: also instructions."),
    ("of the limit", r" \d+x\d+x\d+", "Axes that do not merge: the beginnings of blocks and the fold of their states."),
    ("of the limit", r"(16383x16385|16385x16383|x268435|x20648881|x89478485|x38347922) over 0$", "Columns at any alignment: five rounds of two blocks, each with a beginning and an end."),
    ("of the limit", r"x(1|2|3|7|13|100|1000|4|8|16|32|64|128|256|512) over 0$", "Narrow matrices: the slowest multiprocessor ends after the mean one, then comes the last fold."),
    ("of the limit", r" over 0$", "Columns read by 8 bytes: a bare kernel that reads so is as slow."),
    ("of the limit", r" over 1$", "Short rows: exchange of states between lanes, and a division for each row."),
]


def key(row):
    return row["part"], row["op"], row["type"], row["shape"], row["axes"], row["offset"]


class Figures:
    def __init__(self, files):
        self.machine, self.rows, beside = {}, {}, {}
        for file in files:
            with open(file) as lines:
                found = [json.loads(line) for line in lines]
            for row in found:
                if "machine" in row:
                    self.machine = row
                elif row["library"].startswith("limit in "):  # before a program's cases and after them
                    if row["mode"] == "eager":
                        beside.setdefault((row["library"][9:], row["bytes"]), []).append(row["bytes"] / row["seconds"])
                else:
                    self.rows[(row["library"], key(row), row["mode"])] = row
        # For each written share of all bytes: seconds a byte of the bare kernel that writes as much, the faster of its two
        # ways.
        mixed = {}
        for (l, k, m), r in self.rows.items():
            if r["part"] == "mixed" and "+" in r["shape"] and m == "eager":
                share, pace = int(r["shape"].split("+")[1]) / r["bytes"], r["seconds"] / r["bytes"]
                mixed[share] = min(pace, mixed.get(share, pace))
        self.mixed = sorted(mixed.items())
        # The fastest bare kernel that reads crooked rows of a matrix, in bytes per second.
        self.crooked = {}
        for (l, k, m), r in self.rows.items():
            if k[1].startswith("crooked") and m == "eager":
                self.crooked[k[3], k[4]] = max(r["bytes"] / r["seconds"], self.crooked.get((k[3], k[4]), 0))
        self.limits = sorted((r["bytes"], r["bytes"] / r["seconds"]) for (l, k, m), r in self.rows.items()
                             if l == "limit" and r["op"] == "read" and m == "eager")

        # The rate of the bare kernel within each of our programs, on the program's memory, over its rate in a program
        # of its own.
        measured = dict(self.limits)
        self.beside = {(program, bytes): sum(rates) / len(rates) / measured[bytes] for (program, bytes), rates in beside.items() if bytes in measured}

    def pace(self, case, row):
        """The last of these, for the case's program and the size measured there that is nearest."""
        program, size = f"float-{case[1]}" if case[2] == "float" else case[2], 2**30 if row["bytes"] >= 2**29 else 2**28
        return self.beside.get((program, size), 1)

    def bare(self, bytes):
        """Bytes per second of the bare read kernel, at the measured size that is nearest from below (or as good as there)."""
        return max((b, rate) for b, rate in self.limits if b <= max(bytes + 64, self.limits[0][0]))[1]

    def limit(self, case, row):
        """The same in the case's own program."""
        return self.bare(row["bytes"]) * self.pace(case, row)

    def limit_of(self, case, row):
        """The same of a kernel that also writes as much as the case must: between two measured shares as on a line."""
        if case[0] == "ragged":
            bare = self.rows.get(("limit", ("mixed", *case[1:]), "eager"))
            return bare and bare["bytes"] / bare["seconds"] * self.pace(case, row)
        if (case[3], case[4]) in self.crooked:
            return self.crooked[case[3], case[4]] * self.pace(case, row)
        read, part = 1 / self.limit(case, row), written(case, row) / row["bytes"]
        points = [(0, 1 / self.bare(2**30))] + self.mixed
        for (a, x), (b, y) in zip(points, points[1:]):
            if a <= part <= b:
                return 1 / (read * (x + (y - x) * (part - a) / (b - a)) / points[0][1])
        return None

    def seconds(self, library, case, mode="eager"):
        row = self.rows.get((library, case, mode))
        return row["seconds"] if row else None

    def cases(self, part):
        return [(k, r) for (l, k, m), r in self.rows.items() if l == "coalesce" and k[0] == part and m == "eager"]

    def best_peer(self, case, mode="eager"):
        found = [(s, p) for p in PEERS if (s := self.seconds(p, case, mode)) is not None]
        return min(found) if found else (None, "")


def name(case):
    part, op, type, shape, axes, offset = case
    return f"{op} {type} {shape}" + (f" over {axes}" if axes else "") + (f" +{offset}" if offset else "")


def extents(case):
    return [int(x) for x in case[3].split("x")] if re.fullmatch(r"[\dx]+", case[3]) else [0]


def written(case, row):
    return row["bytes"] - 4 * math.prod(extents(case)) if case[0] in ("matrix", "nd") else 0


def percent(values):
    return f"{min(values):.0%} to {max(values):.0%}" if values else ""


SHAPES = [("whole arrays", "flat", ""), ("rows", "matrix", "1"), ("columns", "matrix", "0"), ("axes that do not merge", "nd", None),
          ("ragged segments", "ragged", None)]


def bandwidth_table(figures):
    """Large cells: a row for each shape and function (of ragged segments, each element type), with least and most of its cells."""
    rows = []
    for title, part, axes in SHAPES:
        found = {}
        for case, row in figures.cases(part):
            if row["bytes"] >= LARGE - 64 and axes in (None, case[4]):
                found.setdefault(case[1] + (f" {case[2]}" if part == "ragged" else ""), []).append((case, row))
        for op, cells in sorted(found.items()):
            rates = [(case, row, row["bytes"] / row["seconds"]) for case, row in cells]
            of_peer = [peer / row["seconds"] for case, row in cells if (peer := figures.best_peer(case)[0])]
            bare = [rate / limit for case, row, rate in rates if (limit := figures.limit_of(case, row))]
            rows.append([title, op, len(cells), percent([rate / figures.limit(case, row) for case, row, rate in rates]), percent(bare),
                         f"{min(of_peer):.2f}" if of_peer else "", f"{statistics.median(of_peer):.2f}" if of_peer else ""])
    return pages.table(["shape", "function", "cells", "of the read limit", "of a bare kernel with such results",
                        "times the best peer: least", "median"], rows)


def small_table(figures):
    rows = []
    for case, row in figures.cases("flat"):
        if case[1] == "sum" and case[2] == "float" and not case[5] and row["bytes"] <= 2**24:
            rows.append([case[3]] + [f"{s * 1e6:.1f}" if (s := figures.seconds(library, case, mode)) else ""
                                     for library in ("coalesce", "cub", "torch") for mode in ("eager", "graph")])
    return pages.table(["floats", "coalesce, us", "in a graph", "CUB", "in a graph", "PyTorch", "in a graph"], rows)


def moving_table(figures):
    copy = max(r["bytes"] / r["seconds"] for (l, k, m), r in figures.rows.items() if l == "limit" and r["op"] == "copy" and 2**30 <= r["bytes"] <= 2**31)
    found = {}
    for case, row in figures.cases("moving"):
        kind = "elements of 1 to 16 bytes" if case[1] != "copy" else "rows of 1000 bytes and more" if extents(case)[-1] >= 1000 else "shorter rows"
        found.setdefault((case[1], kind), []).append((case, row))
    rows = []
    for (op, what), cells in sorted(found.items()):
        rates = [row["bytes"] / row["seconds"] for _, row in cells]
        bare = [rate / (p["bytes"] / p["seconds"]) for (case, _), rate in zip(cells, rates) if (p := figures.rows.get(("pieces", case, "eager")))]
        twice = [same / row["seconds"] for case, row in cells if (same := figures.seconds("cudaMemcpy2D", case))]
        rows.append([op, what, len(cells), percent([rate / copy for rate in rates]), percent(bare),
                     f"{min(twice):.2f} to {max(twice):.2f}" if twice else ""])
    return pages.table(["function", "shape", "cells", f"of cudaMemcpy's {copy / 1e12:.2f} TB/s", "of a bare kernel with such pieces",
                        "times cudaMemcpy2D"], rows)


def misses(figures):
    """Cells that do not reach an aim: (case, which aim, what was measured)."""
    found = []
    for part in ("flat", "matrix", "nd", "ragged"):
        for case, row in figures.cases(part):
            peer, who = figures.best_peer(case)
            if row["bytes"] >= LARGE - 64:
                share = row["bytes"] / row["seconds"] / figures.limit(case, row)
                if share < OF_LIMIT:
                    found.append((case, "of the limit", f"{share:.0%} of the read limit"))
                if peer and peer / row["seconds"] < OF_PEER:
                    found.append((case, "of a peer", f"{peer / row['seconds']:.2f} of {who}"))
            elif part == "flat" and 2**16 <= row["bytes"] <= 2**22:
                cub = figures.seconds("cub", case)
                if cub and row["seconds"] / cub > OF_CUB_EAGER:
                    found.append((case, "eager", f"eagerly {row['seconds'] / cub:.2f} of CUB's time"))
            graph, cub = figures.seconds("coalesce", case, "graph"), figures.seconds("cub", case, "graph")
            if graph and cub and graph > cub * 1.03:  # two measurements of one kernel differ by so much
                found.append((case, "in a graph", f"in a graph {graph / cub:.2f} of CUB's time"))
    return found


def reasons(figures, missing):
    """Rows (cause, cells) of what misses an aim; "unknown" is last."""
    cells = {}
    for case, aim, what in missing:
        row = figures.rows[("coalesce", case, "eager")]
        limit = figures.limit_of(case, row)
        why = next((text for aims, cases, text in REASONS if re.search(aims, aim) and re.search(cases, name(case))), "unknown")
        if aim == "of the limit" and limit and row["bytes"] / row["seconds"] >= OF_LIMIT * limit:
            why = CROOKED if (case[3], case[4]) in figures.crooked else WRITTEN
        cells.setdefault(why, []).append(case[1])
    order = dict.fromkeys([WRITTEN, CROOKED] + [text for _, _, text in REASONS] + ["unknown"])
    return [[why, len(cells[why]), ", ".join(sorted(set(cells[why])))] for why in order if why in cells]


def plots(figures):
    flat = {}
    for library in ("coalesce", "cub", "torch", "limit"):
        op = "read" if library == "limit" else "sum"
        points = [(r["bytes"], r["bytes"] / r["seconds"] / 1e12) for (l, k, m), r in figures.rows.items()
                  if l == library and k[0] == "flat" and k[1] == op and k[2] == "float" and not k[5]
                  and (m == "cold" or (m == "eager" and (l, k, "cold") not in figures.rows))]
        if points:
            flat[library] = sorted(points)
    sizes = lambda x: next(f"{x / 2**s:g} {n}" for s, n in ((30, "GiB"), (20, "MiB"), (10, "KiB"), (0, "B")) if x >= 2**s)
    if "coalesce" in flat:
        yield "flat", "Sum of a whole array of floats, cold", pages.lines("Sum of a whole array of floats, cold", "array", "TB/s", flat, sizes)
    for axis, what in (("1", "rows"), ("0", "columns")):
        lines = {}
        for library in ("coalesce", "cub", "torch"):
            points = [(e[0], r["bytes"] / r["seconds"] / 1e12) for (l, k, m), r in figures.rows.items()
                      if l == library and k[0] == "matrix" and k[1] == "sum" and k[4] == axis and m == "eager"
                      and (e := extents(k))[0] & (e[0] - 1) == 0]
            if points:
                lines[library] = sorted(points)
        if "coalesce" in lines:
            title = f"Sums of the {what} of 2^28 floats"
            yield what, title, pages.lines(title, "rows", "TB/s", lines, lambda x: f"2^{x.bit_length() - 1}")


def page(figures, missing, pictures):
    m = figures.machine
    large = [(c, r) for part in ("flat", "matrix", "nd", "ragged") for c, r in figures.cases(part) if r["bytes"] >= LARGE - 64]
    under = {c for c, aim, _ in missing if aim == "of the limit"}
    slower = sum(aim == "of a peer" for _, aim, _ in missing)
    text = [f"Of {len(large)} cells of 256 MiB and more, {len(large) - len(under)} reach {OF_LIMIT:.0%} of the read limit.",
            f"{slower or 'No'} cell is slower than {OF_PEER} of the best peer." if slower < 2 else f"{slower} cells are slower than {OF_PEER} of the best peer.", "",
            f"- **Measured** on {m.get('machine', '?')}, driver {m.get('driver', '?')}, {m.get('date', '?')}."]
    if shares := figures.beside.values():
        text.append(f"- **Read limit**: a kernel that only reads, in the same program and on the same memory. The programs' limits are {min(shares):.1%} to {max(shares):.1%} of a program of its own.")
    text += ["- **Bytes** are those that a call must read and those of its results.", "- **Peers**: " + ", ".join(p for p in PEERS if any(l == p for l, _, _ in figures.rows)) + ".",
             "- **Repeat**: `./dev bench library`, then `bench/library/table.py build/library.jsonl`.", ""]
    text += [f"![{title}](library-{file}.svg)\n" for file, title, _ in pictures]
    text += ["## Large arrays", "", bandwidth_table(figures), "## Sums of small arrays", "", small_table(figures)]
    if figures.cases("moving"):
        text += ["## transpose, reverse, copy", "", moving_table(figures)]
    text += ["## Aims that cells miss", "",
             f"From 256 MiB: at least {OF_LIMIT:.0%} of the read limit and {OF_PEER} of the best peer. From 64 KiB to 4 MiB: at most {OF_CUB_EAGER} of CUB's time eagerly. In a graph: not slower than CUB.", "",
             pages.table(["cause", "cells", "functions"], reasons(figures, missing), False) if missing else "No cell misses one."]
    return "\n".join(text)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("files", nargs="+", metavar="FILE")
    options.add_argument("--docs", default=os.path.join(ROOT, "docs/results"))
    chosen = options.parse_args()
    figures = Figures(chosen.files)
    missing = misses(figures)
    pictures = list(plots(figures))
    for file, _, svg in pictures:
        with open(os.path.join(chosen.docs, f"library-{file}.svg"), "w") as out:
            out.write(svg)
    pages.replace(os.path.join(chosen.docs, "library.md"), MARKER, page(figures, missing, pictures))
    for case, _, what in missing:
        print(f"{name(case)}: {what}")


if __name__ == "__main__":
    main()
