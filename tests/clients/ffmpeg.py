"""ffmpeg's CUDA filters on frames that ffmpeg makes, against their definitions, written here with NumPy.

The definitions are those of libavfilter's vf_*_cuda.cu. Where a filter truncates a product of floats, both neighbours of
the exact value are right.
"""
import os
import subprocess
import tempfile

import numpy as np

WIDTH, HEIGHT, FRAMES = 126, 96, 5
SOURCE = f"testsrc2=size={WIDTH}x{HEIGHT}:rate=5:duration=1,noise=alls=40:all_seed=7"
ROUNDING = 1e-4  # of a level: float32's 2^-24, twice, times 255 levels


def planes(data, width, height, count=3):
    """[frame][plane] as arrays of int32; a fourth plane is alpha."""
    sizes = [(height, width), (height // 2, width // 2), (height // 2, width // 2), (height, width)][:count]
    frames, at = [], 0
    while at < len(data):
        frame = []
        for rows, columns in sizes:
            frame.append(np.frombuffer(data, np.uint8, rows * columns, at).reshape(rows, columns).astype(np.int32))
            at += rows * columns
        frames.append(frame)
    return frames


def at(plane, y, x):
    """Texels of a texture that repeats its border."""
    return plane[np.clip(y, 0, plane.shape[0] - 1)][:, np.clip(x, 0, plane.shape[1] - 1)]


def positions(source, wanted):
    scale = np.float32(source) / np.float32(wanted)
    return (np.arange(wanted, dtype=np.float32) + np.float32(0.5)) * scale, scale


def nearest(plane, width, height):
    x, _ = positions(plane.shape[1], width)
    y, _ = positions(plane.shape[0], height)
    return at(plane, np.floor(y).astype(int), np.floor(x).astype(int))


def between(plane, y, x):
    """Linear filter of integers, bit by bit as an H100 was measured: weights in 256ths, halves upwards."""
    def place(coordinate, size):
        whole = np.floor((coordinate.astype(float) - 0.5) * 256 + 0.5).astype(int)
        texel, part = whole >> 8, whole & 255
        return np.clip(texel, 0, size - 1), np.where((texel < 0) | (texel >= size - 1), 0, part)

    (column, right), (row, low) = place(x, plane.shape[1]), place(y, plane.shape[0])
    right, low = right[None, :], low[:, None]
    far = (right * low + 128) >> 8
    near = ((256 - right) * (256 - low) + 128) >> 8
    weights = {(0, 0): near, (1, 0): right - far, (0, 1): 256 - right - near, (1, 1): far}
    return (sum(at(plane, row + b, column + a) * w for (a, b), w in weights.items()) + 128) >> 8


def smaller(plane, width, height):
    """Mean of four places around each, as far away as the scale asks for."""
    x, across = positions(plane.shape[1], width)
    y, down = positions(plane.shape[0], height)
    weights = [np.clip(np.float32(0.5) * (scale - np.float32(1)), np.float32(0), np.float32(1)) for scale in (across, down)]
    dx, dy = (w / (np.float32(0.5) + w) for w in weights)
    total = sum(between(plane, y + b, x + a) for a in (-dx, dx) for b in (-dy, dy))
    return (total + 2) >> 2


def deinterlaced(before, now, after, parity):
    """yadif for frames whose top field comes first; `parity`: 0 keeps the even rows."""
    rows, columns = now.shape
    y, x = np.arange(rows), np.arange(columns)

    def texel(plane, down, right=0):
        return at(plane, y + down, x + right)

    up, low = ({k: texel(now, row, k) for k in range(-4, 5)} for row in (-1, 1))

    def score(k):  # of an edge that leans by k columns
        return sum(abs(up[k + j] - low[j - k]) for j in (-1, 0, 1))

    best, least = (up[0] + low[0]) // 2, score(0)
    for side in (-1, 1):
        better = np.ones(now.shape, bool)
        for k in (side, 2 * side):
            better = better & (score(k) < least)
            best = np.where(better, (up[k] + low[-k]) // 2, best)
            least = np.where(better, score(k), least)
    first, second = (now, after) if parity == 1 else (before, now)
    middle = {k: (texel(first, k) + texel(second, k)) // 2 for k in (-2, 0, 2)}
    above, below = texel(now, -1), texel(now, 1)
    change = abs(texel(first, 0) - texel(second, 0))
    for frame in (before, after):
        change = np.maximum(change, (abs(texel(frame, -1) - above) + abs(texel(frame, 1) - below)) // 2)
    p0, p2, p4 = middle[-2], middle[0], middle[2]
    most = np.maximum(np.maximum(p2 - below, p2 - above), np.minimum(p0 - above, p4 - below))
    least_ = np.minimum(np.minimum(p2 - below, p2 - above), np.maximum(p0 - above, p4 - below))
    change = np.maximum(np.maximum(change, least_), -most)
    best = np.clip(best, middle[0] - change, middle[0] + change)
    return np.where((y % 2 == parity)[:, None], now, best)


def yadif(frames, mode):
    """Modes 2 and 3 do as 0 and 1: Debian's kernel is handed their 2 as a bool and looks at its lowest bit."""
    found = []
    for k, frame in enumerate(frames):
        before, after = frames[max(k - 1, 0)], frames[min(k + 1, len(frames) - 1)]
        for parity in ((0, 1) if mode & 1 else (0,)):
            found.append([deinterlaced(b, n, a, parity) for b, n, a in zip(before, frame, after)])
    return found


def most_typical(frames):
    """The frame whose histograms, chroma's four times, are nearest to the mean of all."""
    histograms = [np.concatenate([np.bincount(p.ravel(), minlength=256) * (1 if k == 0 else 4) for k, p in enumerate(f)]) for f in frames]
    mean = np.mean(histograms, axis=0)
    return [frames[int(np.argmin([((h - mean) ** 2).sum() for h in histograms]))]]


def laid_over(frames, x, y, size):
    found = []
    for frame in frames:
        small = [nearest(p, size // (2 if k else 1), size // (2 if k else 1)) for k, p in enumerate(frame)]
        frame = [p.copy() for p in frame]
        for k, (p, s) in enumerate(zip(frame, small)):
            top, left = (y // 2, x // 2) if k else (y, x)
            p[top:top + s.shape[0], left:left + s.shape[1]] = s
        found.append(frame)
    return found


def blurred(plane):
    """A linear filter at a texel's corner: the mean of four."""
    y, x = np.arange(plane.shape[0]), np.arange(plane.shape[1])
    return sum(at(plane, y + b, x + a) for a in (-1, 0) for b in (-1, 0)) / 4.0


def keyed(frames, u, v, similarity):
    """[frame][plane] of pairs: the least and the greatest right value."""
    found = []
    for frame in frames:
        soft = [blurred(p) for p in frame]
        away = np.sqrt(((soft[1] - u) ** 2 + (soft[2] - v) ** 2) / (255.0 ** 2 * 2))
        rows, columns = away.shape
        total, count = np.zeros(away.shape), np.zeros(away.shape)
        for a in (-1, 0, 1):
            for b in (-1, 0, 1):
                to = (slice(max(-a, 0), rows - max(a, 0)), slice(max(-b, 0), columns - max(b, 0)))
                of = (slice(max(a, 0), rows - max(-a, 0)), slice(max(b, 0), columns - max(-b, 0)))
                total[to] += away[of]
                count[to] += 1
        mean = (total / count).repeat(2, 0).repeat(2, 1)
        alpha = [np.where(mean < similarity + shift, 0, 255) for shift in (1e-6, -1e-6)]
        found.append([(np.floor(p - ROUNDING), np.floor(p + ROUNDING)) for p in soft] + [alpha])
    return found


def scaled(of, width, height):
    return lambda frames: [[of(p, width // (2 if k else 1), height // (2 if k else 1)) for k, p in enumerate(f)] for f in frames]


# Filter, what follows the upload, size and planes of the result, definition.
FILTERS = [
    ("scale_cuda, nearest, smaller", "scale_cuda=84:60:interp_algo=nearest", (84, 60, 3), scaled(nearest, 84, 60)),
    ("scale_cuda, nearest, larger", "scale_cuda=250:130:interp_algo=nearest", (250, 130, 3), scaled(nearest, 250, 130)),
    ("scale_cuda, bilinear", "scale_cuda=84:60:interp_algo=bilinear", (84, 60, 3), scaled(smaller, 84, 60)),
    *((f"yadif_cuda, mode {m}", f"yadif_cuda=mode={m}", (WIDTH, HEIGHT, 3), lambda frames, m=m: yadif(frames, m)) for m in range(4)),
    ("overlay_cuda", "split[a][b];[b]scale_cuda=40:40:interp_algo=nearest[c];[a][c]overlay_cuda=x=16:y=24", (WIDTH, HEIGHT, 3),
     lambda frames: laid_over(frames, 16, 24, 40)),
    ("thumbnail_cuda", f"thumbnail_cuda=n={FRAMES}", (WIDTH, HEIGHT, 3), most_typical),
    ("chromakey_cuda", "chromakey_cuda=color=0x00a0b0:yuv=1:similarity=0.1", (WIDTH, HEIGHT, 4),
     lambda frames: keyed(frames, 0xa0, 0xb0, 0.1)),
]


def judged(got, wanted):
    """Null: right."""
    if len(got) != len(wanted):
        return f"{len(got)} frames for {len(wanted)}"
    for k, (frame, right) in enumerate(zip(got, wanted)):
        for plane, value in zip(frame, right):
            least, most = value if isinstance(value, (tuple, list)) else (value, value)
            wrong = np.count_nonzero((plane < np.minimum(least, most)) | (plane > np.maximum(least, most)))
            if wrong:
                return f"frame {k}: {wrong} of {plane.size} values are wrong"
    return None


def run(coalesce):
    """{filter: [pass, fail or skip, why]}"""
    try:
        known = subprocess.run(["ffmpeg", "-hide_banner", "-filters"], capture_output=True, text=True).stdout
    except FileNotFoundError:
        return {"ffmpeg": ["skip", "ffmpeg is not installed"]}
    with tempfile.TemporaryDirectory() as folder:
        source, out = os.path.join(folder, "in.yuv"), os.path.join(folder, "out.yuv")
        subprocess.run(["ffmpeg", "-loglevel", "error", "-f", "lavfi", "-i", SOURCE, "-pix_fmt", "yuv420p", "-f", "rawvideo", source], check=True)
        with open(source, "rb") as file:
            frames = planes(file.read(), WIDTH, HEIGHT)
        outcomes = {}
        for name, text, (width, height, count), definition in FILTERS:
            if f" {name.split(',')[0]} " not in known:
                outcomes[name] = ["skip", "this ffmpeg does not have it"]
                continue
            form = "yuva420p" if count == 4 else "yuv420p"
            done = subprocess.run(
                [coalesce, "run", "-q", "ffmpeg", "-y", "-loglevel", "error", "-init_hw_device", "cuda=c", "-filter_hw_device", "c", "-f", "rawvideo",
                 "-pix_fmt", "yuv420p", "-s", f"{WIDTH}x{HEIGHT}", "-r", "5", "-i", source, "-filter_complex",
                 f"hwupload_cuda,{text},hwdownload,format={form}", "-fps_mode", "passthrough", "-f", "rawvideo", out],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
            lines = done.stderr.strip().splitlines()
            if os.path.exists(out) and os.path.getsize(out) and not lines:
                with open(out, "rb") as file:
                    why = judged(planes(file.read(), width, height, count), definition(frames))
                # ffmpeg 5.1 frees the device, and then calls it in thumbnail_cuda's end: the order of its own references.
                if why is None and done.returncode:
                    why = f"right, then ffmpeg ends with {done.returncode}"
            else:
                why = (lines or ["no output"])[0][:200]
            outcomes[name] = ["fail", why] if why else ["pass", ""]
            if os.path.exists(out):
                os.unlink(out)
        return outcomes
