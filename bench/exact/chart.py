#!/usr/bin/env python3
"""chart.py FILE.jsonl [DOCS]: from what run.sh measured, the plots docs/images/exact-*.svg and the tables in docs/exact.md
and docs/results/exact.md (between their lines `<!-- table NAME -->` and `<!-- end -->`). Needs nothing but Python."""
import json
import math
import re
import sys

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


def main():
    rows = [json.loads(line) for line in open(sys.argv[1]) if line.startswith("{")]
    docs = sys.argv[2] if len(sys.argv) > 2 else "docs"
    machine = next((r for r in rows if "driver" in r), next(r for r in rows if "machine" in r))
    note = machine["machine"] + (", " + machine["date"] if "date" in machine else "")
    tables = {}

    errors = {}
    for r in rows:
        if r.get("part") == "errors":
            errors.setdefault((r["case"], r["n"]), {}).update(r)
    # In units of the last place of the result (float): 0.5 is what rounding alone may cost.
    def error(r, name):
        return abs(r[name] - r["sum"]) / abs(r["sum"])
    series = []
    for key, name in ERRORS:
        points = [(n, error(r, key)) for (case, n), r in errors.items() if case == "uniform" and key in r]
        if points:
            series.append((name, points))
    if series:
        open(f"{docs}/images/exact-errors.svg", "w").write(
            svg("Relative error of float sums of n numbers, uniform in [0, 1)", "n", "relative error", series, True, True, 1e-9, note))
        table = ["| numbers | n | " + " | ".join(name for _, name in ERRORS) + " |", "| --- | ---: |" + " ---: |" * len(ERRORS)]
        for (case, n), r in sorted(errors.items()):
            cells = [f"{error(r, key):.1e}" if key in r else "-" for key, _ in ERRORS]
            table.append(f"| {case} | 2^{int(math.log2(n))} | " + " | ".join(cells) + " |")
        tables["errors"] = table

    speeds = {}
    for r in rows:
        if r.get("part") == "speed" and r["type"] == "float":
            speeds.setdefault(int(r["case"]), {}).update(r)
    series = [(name, [(n, r["bytes"] / r[key] * 1e-3) for n, r in speeds.items() if key in r]) for key, name in SPEEDS]
    series = [(name, points) for name, points in series if points]
    if series:
        open(f"{docs}/images/exact-speed.svg", "w").write(
            svg("Speed of float sums of n numbers, one call", "n", "GB/s", series, True, True, 0.1, note))

    def comparison(parts, extra=()):
        found = [r for r in rows if r.get("part") in parts]
        table = ["| elements | data | plain sum | exact sum | exact / plain | CUB | CUB gpu_to_gpu |", "| --- | --- | ---: | ---: | ---: | ---: | ---: |"]
        for r in found:
            gb = lambda us: f"{r['bytes'] / us * 1e-3:.0f} GB/s" if us else "-"
            table.append(f"| {r['type']} | {r['case']} | {gb(r['plain'])} | {gb(r['exact'])} | {100 * r['of_plain']:.1f} % | {gb(r.get('cub'))} | {gb(r.get('cub_gpu_to_gpu'))} |")
        return table
    tables["flat"] = comparison(["flat 1 GiB"])
    tables["large"] = comparison(["flat 4 GiB"])
    tables["sustained"] = comparison(["sustained, second half of 1 s"])
    tables["dot"] = comparison(["dot 2 x 512 MiB"])
    small = {}
    for r in rows:
        if r.get("part", "").startswith("small"):
            data, n = r["case"].split()
            small.setdefault((data, int(n)), {})[r["type"]] = r
    types = ["half", "bfloat16", "float", "double"]
    tables["small"] = ["| data | n | " + " | ".join(types) + " |", "| --- | ---: |" + " ---: |" * 4] + [
        f"| {data} | {n} | " + " | ".join(f"{by[t]['exact']:.1f} / {by[t]['plain']:.1f} us" if t in by else "-" for t in types) + " |" for (data, n), by in sorted(small.items())]
    for shape in ("rows", "columns"):
        found = {}
        for r in rows:
            if r.get("part") == f"{shape}, 1 GiB":
                found.setdefault(int(r["case"].split(" of ")[1]), {})[r["type"]] = r
        tables[shape] = ["| length | " + " | ".join(types) + " |", "| ---: |" + " ---: |" * 4] + [
            f"| {n} | " + " | ".join(f"{100 * by[t]['of_plain']:.0f} %" if t in by else "-" for t in types) + " |" for n, by in sorted(found.items())]
    host = [r for r in rows if r.get("part") == "host"]
    if host:
        tables["host"] = ["| elements | data | | GB/s | GB per second of processor time |", "| --- | --- | --- | ---: | ---: |"] + [
            f"| {r['type']} | {r['case']} | {r['what']} | {r['GB/s']:.2f} | {r['GB per processor second']:.2f} |" for r in host]

    for page in ("exact.md", "results/exact.md"):
        text = open(f"{docs}/{page}").read()
        for name, lines in tables.items():
            if len(lines) > 2:
                text = re.sub(rf"(<!-- table {name} -->\n).*?(<!-- end -->)", lambda m: m.group(1) + "\n".join(lines) + "\n" + m.group(2), text, flags=re.S)
        open(f"{docs}/{page}", "w").write(text)


main()
