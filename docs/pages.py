#!/usr/bin/env python3
"""What the scripts that write docs/results/ share: tables, plots, and the generated part of a page.

    pages.py PAGE NAME <TEXT     puts standard input between `<!-- begin: NAME -->` and the next `<!-- end -->` of PAGE
"""
import math
import pathlib
import sys


def table(titles, rows, numbers=True):
    """A Markdown table without the columns that are empty in every row. Numbers: right-aligns all columns but the first."""
    keep = [c for c in range(len(titles)) if c == 0 or any(row[c] != "" for row in rows)]
    lines = ["| " + " | ".join(titles[c] for c in keep) + " |",
             "|" + "|".join("---:" if numbers and c else "---" for c in keep) + "|"]
    lines += ["| " + " | ".join(str(row[c]) for c in keep) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def replace(page, name, text):
    """Puts text between the markers of a page; exits with an error where the page has no such markers."""
    page = pathlib.Path(page)
    begin, end = f"<!-- begin: {name} -->\n", "<!-- end -->"
    head, found, rest = page.read_text().partition(begin)
    if not found or end not in rest:
        sys.exit(f"error: {page} has no '{begin.strip()}' ... '{end}'")
    page.write_text(head + begin + text.strip("\n") + "\n" + rest[rest.index(end):])


# ---- Plots: SVG without dependencies --------------------------------------------------------------------------------

WIDTH = 720
COLOURS = ["#c0392b", "#2471a3", "#b9770e", "#1abc9c", "#7d3c98", "#8a8a8a"]


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def head(height, title):
    return [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
            'font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="#ffffff"/>',
            f'<text x="8" y="18" font-weight="bold">{escape(title)}</text>']


def bars(title, rows, unit, most=None):
    """A bar chart; rows: (name, value). The axis begins at 0 and ends at `most`, by default the largest value."""
    row, left = 22, 190
    most = most or max(value for _, value in rows)
    out = head(row * len(rows) + 34, title)
    for i, (name, value) in enumerate(rows):
        y, length = 30 + i * row, (WIDTH - left - 110) * value / most
        out.append(f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{escape(name)}</text>')
        out.append(f'<rect x="{left}" y="{y + 2}" width="{length:.1f}" height="{row - 8}" fill="#2f6f8f"/>')
        out.append(f'<text x="{left + length + 6:.1f}" y="{y + 13}">{value:.4g} {unit}</text>')
    return "\n".join(out) + "\n</svg>\n"


def groups(title, names, series, unit):
    """Grouped bars on a logarithmic axis; series: {name: [a value for each of `names`, or None]}."""
    row, left, gap = 14, 190, 8
    values = [v for line in series.values() for v in line if v]
    low, high = (f(math.log10(v)) for f, v in ((math.floor, min(values)), (math.ceil, max(values))))
    place = lambda v: left + (WIDTH - left - 80) * (math.log10(v) - low) / (high - low)
    block = row * len(series) + gap
    out = head(block * len(names) + 56, title)
    bottom = 34 + block * len(names)
    for tick in range(low, high + 1):
        x = place(10.0 ** tick)
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="30" y2="{bottom}" stroke="#e4e4e4"/>'
                   f'<text x="{x:.1f}" y="{bottom + 14}" text-anchor="middle">{10.0 ** tick:g}</text>')
    for i, name in enumerate(names):
        out.append(f'<text x="{left - 8}" y="{34 + i * block + (block - gap) / 2 + 4:.1f}" text-anchor="end">{escape(name)}</text>')
        for k, line in enumerate(series.values()):
            if line[i]:
                y, x = 34 + i * block + k * row, place(line[i])
                out.append(f'<rect x="{left}" y="{y}" width="{x - left:.1f}" height="{row - 2}" fill="{COLOURS[k]}"/>'
                           f'<text x="{x + 4:.1f}" y="{y + 10}" font-size="10">{line[i]:.4g}</text>')
    for k, name in enumerate(series):
        x = WIDTH - 90 * (len(series) - k)
        out.append(f'<rect x="{x}" y="8" width="12" height="12" fill="{COLOURS[k]}"/><text x="{x + 18}" y="18">{escape(name)}</text>')
    out.append(f'<text x="{WIDTH - 8}" y="{bottom + 14}" text-anchor="end">{escape(unit)}</text>')
    return "\n".join(out) + "\n</svg>\n"


def lines(title, x_name, y_name, series, x_label):
    """A line chart, x logarithmic, y from 0; series: {name: [(x, y)...]}; x_label(x) names a tick."""
    height, left, right, top_space, bottom = 300, 56, 150, 34, 44
    points = [p for line in series.values() for p in line]
    low, high = (f(math.log2(x) for x, _ in points) for f in (min, max))
    top = max(y for _, y in points) * 1.05

    def place(x, y):
        across = (math.log2(x) - low) / max(high - low, 1e-9)
        return left + across * (WIDTH - left - right), height - bottom - y / top * (height - top_space - bottom)

    out = head(height, title)
    step = 10 ** math.floor(math.log10(top))
    step = next(s for s in (step / 5, step / 2, step, 2 * step) if top / s <= 7)
    for k in range(int(top / step) + 1):
        _, v = place(2**low, k * step)
        out.append(f'<line x1="{left}" x2="{WIDTH - right}" y1="{v:.1f}" y2="{v:.1f}" stroke="#e4e4e4"/>'
                   f'<text x="{left - 6}" y="{v + 4:.1f}" text-anchor="end">{k * step:g}</text>')
    xs = sorted({x for x, _ in points})
    for x in xs[::max(1, len(xs) // 9)]:
        h, v = place(x, 0)
        out.append(f'<text x="{h:.1f}" y="{v + 16:.1f}" text-anchor="middle">{escape(x_label(x))}</text>')
    out.append(f'<text x="{(left + WIDTH - right) / 2}" y="{height - 8}" text-anchor="middle">{escape(x_name)}</text>')
    out.append(f'<text x="14" y="{height / 2}" text-anchor="middle" transform="rotate(-90 14 {height / 2})">{escape(y_name)}</text>')
    for i, (name, line) in enumerate(series.items()):
        colour = COLOURS[i % len(COLOURS)]
        path = " ".join(f"{'M' if k == 0 else 'L'}{h:.1f},{v:.1f}" for k, (h, v) in enumerate(place(*p) for p in sorted(line)))
        out.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for p in line:
            h, v = place(*p)
            out.append(f'<circle cx="{h:.1f}" cy="{v:.1f}" r="2.2" fill="{colour}"/>')
        v = top_space + 12 + 18 * i
        out.append(f'<line x1="{WIDTH - right + 12}" x2="{WIDTH - right + 34}" y1="{v}" y2="{v}" stroke="{colour}" stroke-width="2.5"/>'
                   f'<text x="{WIDTH - right + 40}" y="{v + 4}">{escape(name)}</text>')
    return "\n".join(out) + "\n</svg>\n"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    replace(sys.argv[1], sys.argv[2], sys.stdin.read())
