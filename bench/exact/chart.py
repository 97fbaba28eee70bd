#!/usr/bin/env python3
"""What run.sh measured, for the documents.

    chart.py [--docs FOLDER] FILE.jsonl    writes the plots images/exact-*.svg, the table of errors in exact.md and the
                                           section on exact sums in results/library.md into FOLDER (docs)
"""
import argparse
import json
import math
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.append(os.path.join(ROOT, "docs"))
import pages

MARKER = "bench/exact/chart.py"

COLORS = ["#b2182b", "#ef8a62", "#8073ac", "#4d9221", "#01665e", "#2166ac", "#000000"]


def svg(title, x_label, y_label, series, x_log, y_log, floor, note):
    """series: [(name, [(x, y), ...])]. With y_log, y at or under `floor` is drawn on the floor's line: "exact" if it is no speed."""
    width, height, left, bottom, top, right = 760, 420, 70, 60, 40, 190
    xs = [x for _, points in series for x, _ in points]
    ys = [max(y, floor) for _, points in series for _, y in points]
    scale = lambda v, log: math.log10(v) if log else v
    x0, x1 = scale(min(xs), x_log), scale(max(xs), x_log)
    y0, y1 = (math.floor(scale(floor, True)), math.ceil(scale(max(ys), True))) if y_log else (0, max(ys) * 1.05)
    px = lambda x: left + (scale(x, x_log) - x0) / (x1 - x0) * (width - left - right)
    py = lambda y: height - bottom - (scale(max(y, floor), y_log) - y0) / (y1 - y0) * (height - bottom - top)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">',
           f'<rect width="{width}" height="{height}" fill="#fff"/>', f'<text x="{left}" y="22" font-size="15">{title}</text>']
    ticks = range(int(y0), int(y1) + 1) if y_log else range(0, int(y1) + 1, max(1, int(y1) // 5))
    for t in ticks:
        y = 10.0 ** t if y_log else t
        name = ("exact" if 10.0 ** t <= floor < 1e-3 else f"10<tspan dy='-5' font-size='10'>{t}</tspan>") if y_log else str(t)
        out.append(f'<line x1="{left}" x2="{width - right}" y1="{py(y):.1f}" y2="{py(y):.1f}" stroke="#ddd"/>'
                   f'<text x="{left - 8}" y="{py(y) + 4:.1f}" text-anchor="end">{name}</text>')
    for x in sorted(set(xs)):
        out.append(f'<text x="{px(x):.1f}" y="{height - bottom + 18}" text-anchor="middle">2<tspan dy="-5" font-size="10">{int(math.log2(x))}</tspan></text>')
    out.append(f'<text x="{(left + width - right) / 2}" y="{height - 18}" text-anchor="middle">{x_label}</text>')
    out.append(f'<text transform="translate(16 {(top + height - bottom) / 2}) rotate(-90)" text-anchor="middle">{y_label}</text>')
    for i, (name, points) in enumerate(series):
        color = COLORS[i % len(COLORS)]
        out.append(f'<polyline fill="none" stroke="{color}" stroke-width="2" points="' + " ".join(f"{px(x):.1f},{py(y):.1f}" for x, y in sorted(points)) + '"/>')
        out += [f'<circle cx="{px(x):.1f}" cy="{py(y):.1f}" r="3" fill="{color}"/>' for x, y in points]
        out.append(f'<rect x="{width - right + 16}" y="{top + 22 * i}" width="12" height="12" fill="{color}"/>'
                   f'<text x="{width - right + 34}" y="{top + 22 * i + 11}">{name}</text>')
    out.append(f'<text x="{width - right + 16}" y="{height - bottom}" font-size="10" fill="#555">{note}</text></svg>')
    return "\n".join(out) + "\n"


SPEEDS = [("torch", "PyTorch"), ("cub_gpu_to_gpu", "CUB gpu_to_gpu"), ("cub", "CUB"), ("plain", "this library's sum"), ("exact", "exact_sum")]
ERRORS = [("one_by_one", "one by one"), ("torch", "PyTorch"), ("cub", "CUB"), ("numpy", "NumPy"), ("pairwise", "pairwise"), ("kahan", "Kahan"), ("exact", "exact_sum")]


TYPES = ["float", "double", "half", "bfloat16"]
MEASURES = [  # title, part, which cases: a length is at least the one and below the other
    ("1 GiB, nine kinds of data", "flat 1 GiB", None), ("4 GiB", "flat 4 GiB", None),
    ("4 GiB, sustained for half a second", "sustained, second half of 1 s", None), ("dot product of 2 x 512 MiB", "dot 2 x 512 MiB", None),
    ("rows of 4 to 256", "rows, 1 GiB", (0, 257)), ("rows of 1024 and more", "rows, 1 GiB", (257, 2**40)),
    ("columns of 4 to 256", "columns, 1 GiB", (0, 257)), ("columns of 1024 and more", "columns, 1 GiB", (257, 2**40))]


def span(values, text):
    """Least to most, as text(value) prints them."""
    least, most = text(min(values)), text(max(values))
    return least if least == most else f"{least} to {most}"


def error(row, name):
    return abs(row[name] - row["sum"]) / abs(row["sum"])


def errors_of(rows):
    errors = {}
    for r in rows:
        if r.get("part") == "errors":
            errors.setdefault((r["case"], r["n"]), {}).update(r)
    return errors


def error_table(errors):
    """The relative errors at the largest n of each kind of numbers."""
    largest = {}
    for case, n in errors:
        largest[case] = max(n, largest.get(case, 0))
    return pages.table(["numbers", "n"] + [name for _, name in ERRORS],
                       [[case, f"2^{int(math.log2(n))}"] + [f"{error(errors[case, n], key):.1e}" if key in errors[case, n] else "" for key, _ in ERRORS]
                        for case, n in sorted(largest.items())])


def ratio_table(rows):
    """The exact sum's speed as a share of the plain sum's."""
    lines = []
    for title, part, lengths in MEASURES:
        line = [title]
        for type in TYPES:
            found = [r["of_plain"] for r in rows if r.get("part") == part and r["type"] == type
                     and (not lengths or lengths[0] <= int(r["case"].split(" of ")[1]) < lengths[1])]
            line.append(span(found, lambda v: f"{100 * v:.0f} %") if found else "")
        lines.append(line)
    small = []
    for title, longest in (("calls of up to 2^16 elements", 2**16), ("calls of 2^18 and 2^20", 2**20)):
        line = [title]
        for type in TYPES:
            found = [r["exact"] - r["plain"] for r in rows if r.get("part", "").startswith("small") and r["type"] == type
                     and (n := int(r["case"].split()[1])) <= longest and (longest == 2**16 or n > 2**16)]
            line.append(f"at most {max(found):.1f} us more" if found else "")
        small.append(line)
    return pages.table(["exact sum / plain sum", *TYPES], [line for line in lines + small if any(line[1:])])


def peer_table(rows):
    lines = []
    for type in TYPES:
        flat = [r for r in rows if r.get("part") == "flat 1 GiB" and r["type"] == type]
        if flat:
            lines.append([type] + [span([r["bytes"] / r[key] * 1e-3 for r in flat if r.get(key)], lambda v: f"{v:.0f}") if any(r.get(key) for r in flat) else ""
                                   for key in ("plain", "exact", "cub", "cub_gpu_to_gpu")])
    return pages.table(["1 GiB, GB/s", "plain sum", "exact sum", "CUB", "CUB gpu_to_gpu"], lines)


def host_table(rows):
    """Sums on the CPU: what, by elements and data."""
    host = [r for r in rows if r.get("part") == "host"]
    kinds = list(dict.fromkeys((r["type"], r["case"]) for r in host))
    found = {(r["what"], (r["type"], r["case"])): f"{r['GB/s']:.1f}" for r in host}
    return pages.table(["on the CPU, GB/s"] + [f"{type}, {data}" for type, data in kinds],
                       [[what] + [found.get((what, kind), "") for kind in kinds] for what in dict.fromkeys(r["what"] for r in host)])


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("file")
    options.add_argument("--docs", default=os.path.join(ROOT, "docs"))
    chosen = options.parse_args()
    with open(chosen.file) as lines:
        rows = [json.loads(line) for line in lines if line.startswith("{")]
    docs = chosen.docs
    machine = next((r for r in rows if "driver" in r), next(r for r in rows if "machine" in r))
    note = machine["machine"] + (", " + machine["date"] if "date" in machine else "")

    errors = errors_of(rows)
    series = [(name, [(n, error(r, key)) for (case, n), r in errors.items() if case == "uniform" and key in r]) for key, name in ERRORS]
    if series := [(name, points) for name, points in series if points]:
        with open(f"{docs}/images/exact-errors.svg", "w") as out:
            out.write(svg("Relative error of float sums of n numbers, uniform in [0, 1)", "n", "relative error", series, True, True, 1e-9, note))
    if errors:
        pages.replace(f"{docs}/exact.md", MARKER, error_table(errors))

    speeds = {}
    for r in rows:
        if r.get("part") == "speed" and r["type"] == "float":
            speeds.setdefault(int(r["case"]), {}).update(r)
    series = [(name, [(n, r["bytes"] / r[key] * 1e-3) for n, r in speeds.items() if key in r]) for key, name in SPEEDS]
    if series := [(name, points) for name, points in series if points]:
        with open(f"{docs}/images/exact-speed.svg", "w") as out:
            out.write(svg("Speed of float sums of n numbers, one call", "n", "GB/s", series, True, True, 0.1, note))

    if any(r.get("part", "").startswith("flat") for r in rows):
        where = f"{machine['machine']}, driver {machine['driver']}, {machine['date']}" if "driver" in machine else note
        pages.replace(f"{docs}/results/library.md", MARKER,
                      f"- **Measured** on {where}: medians of nine single calls, plain and exact in turns.\n"
                      "- **Repeat**: `bench/exact/run.sh`, then `bench/exact/chart.py build/exact.jsonl`.\n\n"
                      f"{ratio_table(rows)}\n{peer_table(rows)}\n{host_table(rows)}")


if __name__ == "__main__":
    main()
