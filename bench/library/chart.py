"""Line charts as SVG: a few series of points, x logarithmic. No dependencies, so that the documents can be made anywhere."""
import math

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 150, 34, 44
COLOURS = {"limit": "#8a8a8a", "coalesce": "#c0392b", "cub": "#2471a3", "cub-main": "#1abc9c", "torch": "#b9770e", "thrust": "#7d3c98"}


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def chart(title, x_name, y_name, series, x_label):
    """series: {name: [(x, y)...]}; x_label(x): what stands under a tick. The y axis begins at 0."""
    points = [p for line in series.values() for p in line]
    low, high = (f(math.log2(x) for x, _ in points) for f in (min, max))
    top = max(y for _, y in points) * 1.05
    def place(x, y):
        across = (math.log2(x) - low) / max(high - low, 1e-9)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
           'font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
           f'<text x="{LEFT}" y="18" font-size="14">{escape(title)}</text>']
    step = 10 ** math.floor(math.log10(top))
    step = next(s for s in (step / 5, step / 2, step, 2 * step) if top / s <= 7)
    y = 0.0
    while y <= top:
        _, v = place(2**low, y)
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{v:.1f}" y2="{v:.1f}" stroke="#e4e4e4"/>'
                   f'<text x="{LEFT - 6}" y="{v + 4:.1f}" text-anchor="end">{y:g}</text>')
        y += step
    xs = sorted({x for x, _ in points})
    every = max(1, len(xs) // 9)
    for x in xs[::every]:
        h, v = place(x, 0)
        out.append(f'<text x="{h:.1f}" y="{v + 16:.1f}" text-anchor="middle">{escape(x_label(x))}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x_name)}</text>')
    out.append(f'<text x="14" y="{HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 14 {HEIGHT / 2})">{escape(y_name)}</text>')
    for i, (name, line) in enumerate(series.items()):
        colour = COLOURS.get(name, "#333")
        path = " ".join(f"{'M' if k == 0 else 'L'}{h:.1f},{v:.1f}" for k, (h, v) in enumerate(place(*p) for p in sorted(line)))
        out.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{2.5 if name == "coalesce" else 1.5}"/>')
        for p in line:
            h, v = place(*p)
            out.append(f'<circle cx="{h:.1f}" cy="{v:.1f}" r="2.2" fill="{colour}"/>')
        v = TOP + 12 + 18 * i
        out.append(f'<line x1="{WIDTH - RIGHT + 12}" x2="{WIDTH - RIGHT + 34}" y1="{v}" y2="{v}" stroke="{colour}" stroke-width="2.5"/>'
                   f'<text x="{WIDTH - RIGHT + 40}" y="{v + 4}">{escape(name)}</text>')
    return "\n".join(out + ["</svg>", ""])
