#!/usr/bin/env python3
"""docs/results/library.md's tables and plots from what run.sh wrote.

    table.py FILE...        replaces what is between the markers of docs/results/library.md, writes library-*.svg beside it,
                            and prints each cell that misses an aim
"""
import json
import math
import pathlib
import re
import sys

from chart import chart

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs/results/library.md"
PEERS = ("cub", "cub-main", "thrust", "torch")
LARGE = 2**28  # bytes, from which the aims for bandwidth hold
OF_LIMIT, OF_PEER, OF_CUB_EAGER = 0.95, 0.97, 0.5

# Why a cell misses an aim: regular expressions for the aim and for its name; the first that fits. What is behind each
# docs/library-kernels.md says.
WRITTEN = "Limited by what is written: at least 95 % of a bare kernel that reads and writes as much."
CROOKED = "Limited by how rows lie: at least 95 % of a bare kernel that reads such rows by vectors."
REASONS = [
    ("in a graph", r" double ", "Doubles that stay in L2: sums with what they lost, positions of 64 bits, folded twice."),
    ("in a graph", r".", "A few per cent: the last block waits for the states of all others (CUB: for a second launch)."),
    ("eager", r".", "Eagerly: what the host takes to start one kernel, at 4 MB the kernel itself."),
    ("of a peer", r".", "Beside a peer that is at the limit, too."),
    ("of the limit", r"^\w+ (int8|half|float|double) \d+( \+1)?$", "One array of 256 MiB: the memory idles while the slowest multiprocessors end and what they leave is folded, of which the lines that the next call asks for ahead hide 1.5 us; halves: instructions, too."),
    ("of the limit", r" (uniform|power|giant)$", "Segments: where launches begin and end, beside what is written; bytes and power laws: instructions."),
    ("of the limit", r" \d+x\d+x\d+", "Axes that do not merge: not the order of reading (bare kernels 95 to 101 % of the limit in it), but 512 blocks where 528 fit, their beginnings and what they leave for each other."),
    ("of the limit", r"(16383x16385|16385x16383|x268435|x20648881|x89478485|x38347922) over 0$", "Columns whose rows begin anywhere between two lines: five rounds of two blocks of 128 registers (three spill), each with a beginning and an end."),
    ("of the limit", r"x(1|2|3|7|13|100|1000|4|8|16|32|64|128|256|512) over 0$", "Narrow matrices: multiprocessors are idle 5 % of the time, the slowest ends 8 us after the mean one, and the last fold takes 5 (clocks of all blocks; levelled by tickets a bare kernel gains 1 to 2 %); not doubles: all in float 0 to 1 % less."),
    ("of the limit", r" over 0$", "Columns by 8 bytes: a bare kernel that reads so takes 98 % of the time that sum and `max` do; `variance` all in float takes as long, and so it does with 24 bytes of state for 32."),
    ("of the limit", r" over 1$", "Short rows: states that lanes hand each other, and what is divided for each row."),
]


def key(row):
    return row["part"], row["op"], row["type"], row["shape"], row["axes"], row["offset"]


class Figures:
    def __init__(self, files):
        self.machine, self.rows, beside = {}, {}, {}
        for file in files:
            for line in open(file):
                row = json.loads(line)
                if "machine" in row:
                    self.machine = row
                elif row["library"].startswith("limit in "):  # before a program's cases and after them
                    if row["mode"] == "eager":
                        beside.setdefault((row["library"][9:], row["bytes"]), []).append(row["bytes"] / row["seconds"])
                else:
                    self.rows[(row["library"], key(row), row["mode"])] = row
        # Of all bytes the part that is written, and what the bare kernel that writes so much takes for each byte.
        # The faster of its two ways.
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

        # What the bare kernel reads in each of our programs, on its memory, over what it reads in its own.
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


def markdown(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---" * 1 + "|---:" * (len(head) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def rate(bytes, seconds):
    return f"{bytes / seconds / 1e12:.2f}" if seconds else ""


def name(case):
    part, op, type, shape, axes, offset = case
    return f"{op} {type} {shape}" + (f" over {axes}" if axes else "") + (f" +{offset}" if offset else "")


def extents(case):
    return [int(x) for x in case[3].split("x")] if re.fullmatch(r"[\dx]+", case[3]) else [0]


def written(case, row):
    return row["bytes"] - 4 * math.prod(extents(case)) if case[0] in ("matrix", "nd") else 0


def bandwidth_table(figures, cases):
    rows = []
    for case, row in cases:
        seconds, bytes = row["seconds"], row["bytes"]
        peer, who = figures.best_peer(case)
        limit = figures.limit_of(case, row)
        rows.append([name(case), rate(bytes, seconds), f"{bytes / seconds / figures.limit(case, row):.0%}",
                     f"{bytes / seconds / limit:.0%}" if limit else "",
                     f"{rate(bytes, peer)} {who}" if peer else "", f"{peer / seconds:.2f}" if peer else ""])
    return markdown(["case", "TB/s", "of the read limit", "of the limit with such results", "best peer, TB/s", "times as fast"], rows)


def small_table(figures):
    rows = []
    for case, row in figures.cases("flat"):
        if case[1] in ("sum", "argmax") and case[2] == "float" and not case[5] and row["bytes"] <= 2**24:
            cells = [name(case)]
            for library in ("coalesce", "cub", "thrust", "torch", "empty kernel"):
                cells += [f"{s * 1e6:.1f}" if (s := figures.seconds(library, case, m)) else "" for m in ("eager", "graph", "cold")[: 1 if library in ("thrust", "empty kernel") else 3]]
            rows.append(cells)
    return markdown(["case, us", "eager", "graph", "cold", "CUB eager", "graph", "cold", "Thrust eager", "PyTorch eager", "graph", "cold", "an empty kernel eager"], rows)


def moving_table(figures):
    copy = max(r["bytes"] / r["seconds"] for (l, k, m), r in figures.rows.items() if l == "limit" and r["op"] == "copy" and 2**30 <= r["bytes"] <= 2**31)
    rows = []
    for case, row in figures.cases("moving"):
        same = figures.seconds("cudaMemcpy2D", case)
        pieces = figures.rows.get(("pieces", case, "eager"))
        rows.append([name(case), rate(row["bytes"], row["seconds"]), f"{row['bytes'] / row['seconds'] / copy:.0%}",
                     f"{row['bytes'] / row['seconds'] / (pieces['bytes'] / pieces['seconds']):.0%}" if pieces else "",
                     rate(row["bytes"], same), f"{same / row['seconds']:.2f}" if same else ""])
    return markdown(["case", "TB/s", f"of cudaMemcpy's {copy / 1e12:.2f}", "of a bare kernel with such pieces",
                     "cudaMemcpy2D, TB/s", "times as fast"], rows)


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
    """Why: lines of text, one for each reason, with its cells. Those without one are last, and there are to be none."""
    cells = {}
    for case, aim, what in missing:
        row = figures.rows[("coalesce", case, "eager")]
        limit = figures.limit_of(case, row)
        why = next((text for aims, cases, text in REASONS if re.search(aims, aim) and re.search(cases, name(case))), "not known")
        if aim == "of the limit" and limit and row["bytes"] / row["seconds"] >= OF_LIMIT * limit:
            why = CROOKED if (case[3], case[4]) in figures.crooked else WRITTEN
            what += f", {row['bytes'] / row['seconds'] / limit:.0%} of the bare kernel"
        cells.setdefault(why, []).append(f"{name(case)} ({what.replace(' of the read limit', '').replace('in a graph ', '').replace(' time', '')})")
    order = [WRITTEN, CROOKED] + [text for _, _, text in REASONS] + ["not known"]
    return [f"- **{why}** {len(cells[why])}: " + "; ".join(cells[why]) + "." for why in dict.fromkeys(order) if why in cells]


def plots(figures):
    flat = {}
    for library in ("limit", "coalesce", "cub", "torch"):
        op = "read" if library == "limit" else "sum"
        points = [(r["bytes"], r["bytes"] / r["seconds"] / 1e12) for (l, k, m), r in figures.rows.items()
                  if l == library and k[0] == "flat" and k[1] == op and k[2] == "float" and not k[5]
                  and (m == "cold" or (m == "eager" and (l, k, "cold") not in figures.rows))]
        if points:
            flat[library] = sorted(points)
    sizes = lambda x: next(f"{x / 2**s:g} {n}" for s, n in ((30, "GiB"), (20, "MiB"), (10, "KiB"), (0, "B")) if x >= 2**s)
    yield "flat", chart("Sum of a whole array of floats, cold", "array", "TB/s", flat, sizes)
    for axis in ("0", "1"):
        for op in ("sum", "argmin", "variance"):
            lines = {}
            for library in ("coalesce", "cub", "cub-main", "torch"):
                points = [(e[0], r["bytes"] / r["seconds"] / 1e12) for (l, k, m), r in figures.rows.items()
                          if l == library and k[0] == "matrix" and k[1] == op and k[4] == axis and m == "eager"
                          and (e := extents(k))[0] & (e[0] - 1) == 0]
                if points:
                    lines[library] = sorted(points)
            if "coalesce" in lines:
                title = f"{op} of 2^28 floats over the {'rows (axis 0)' if axis == '0' else 'columns (axis 1)'}"
                yield f"{op}-axis{axis}", chart(title, "rows", "TB/s", lines, lambda x: f"2^{x.bit_length() - 1}")


def main():
    figures = Figures(sys.argv[1:] or sys.exit(__doc__))
    m = figures.machine
    missing = misses(figures)
    text = [f"{m.get('machine', '?')}, driver {m.get('driver', '?')}, {m.get('date', '?')}, `./dev bench library`.", ""]
    if shares := figures.beside.values():
        text += [f"The bare read in the library's programs, on their memory, before and after their cases, of what it takes in its own: {min(shares):.1%} to {max(shares):.1%}.", ""]
    pictures = dict(plots(figures))
    for file, svg in pictures.items():
        (DOCUMENT.parent / f"library-{file}.svg").write_text(svg)
    text += [f"![{file}](library-{file}.svg)" for file in pictures] + [""]
    large = lambda part: sorted(((c, r) for c, r in figures.cases(part) if r["bytes"] >= LARGE - 64), key=lambda cr: (cr[0][1], cr[0][4], extents(cr[0])))
    text += ["## Whole arrays", "", bandwidth_table(figures, large("flat")), "", "## Small arrays", "", small_table(figures), ""]
    text += ["## Matrices of 2^28 floats", "", bandwidth_table(figures, large("matrix")), "", "## More axes", "", bandwidth_table(figures, large("nd")), ""]
    if figures.cases("ragged"):
        text += ["## Ragged segments", "", bandwidth_table(figures, large("ragged")), ""]
    text += ["## transpose, reverse, copy", "", moving_table(figures), ""]
    counts = {}
    for case, aim, _ in missing:
        counts[(case[1], aim)] = counts.get((case[1], aim), 0) + 1
    aims = f"At least {OF_LIMIT:.0%} of the read limit and {OF_PEER} of the best peer from 256 MiB on; at most {OF_CUB_EAGER} of CUB's time eagerly from 64 KiB to 4 MiB; in a graph not slower than CUB."
    text += ["## Aims that are missed", "", aims, "",
             markdown(["function, aim", "cells"], [[f"{op}, {aim}", str(n)] for (op, aim), n in sorted(counts.items())]) if missing else "None.", ""]
    text += reasons(figures, missing)
    begin, end = "<!-- begin: bench/library/table.py -->\n", "<!-- end -->"
    document = DOCUMENT.read_text()
    head, rest = document.split(begin)
    DOCUMENT.write_text(head + begin + "\n".join(text) + "\n" + rest[rest.index(end):])
    for case, _, what in missing:
        print(f"{name(case)}: {what}")


if __name__ == "__main__":
    main()
