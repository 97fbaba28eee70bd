#!/usr/bin/env python3
"""The cases of tests/hardware/tensors_probe.cu, a line each (tensors.h)."""
import random

WIDTHS = [1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4]
SPAN = {0: 256, 1: 32, 2: 64, 3: 128, 4: 128, 5: 128, 6: 128}
REAL = [6, 7, 8, 9, 10, 11, 12]
random.seed(29)


def line(**fields):
    words = []
    for name, value in fields.items():
        if isinstance(value, (list, tuple)):
            value = ",".join(str(v) for v in value)
        words.append(f"{name}={value}")
    print(" ".join(words))


def tensor(width, rank, unit=16, limit=60000, least=1):
    """Dimensions and strides, within `limit` bytes."""
    while True:
        dims = [random.randint(least, 70 if rank < 3 else 20)] + [random.randint(1, 40 if rank < 3 else 9) for _ in range(rank - 1)]
        strides = []
        size = dims[0] * width
        for k in range(rank - 1):
            size = (size + unit - 1) // unit * unit + unit * random.choice([0, 0, 0, 1, 3])
            strides.append(size)
            size *= dims[k + 1]
        if size <= limit:
            return dims, strides


def boxed(width, rank, swizzle, limit=16384 - 1024, unit=16):
    """A box whose rows, padded to the swizzle's span, fit."""
    while True:
        inner = random.choice([n for n in range(unit, SPAN[swizzle] + 1, unit) if n // width <= 256])
        box = [inner // width] + [random.choice([1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17]) for _ in range(rank - 1)]
        rows = 1
        for b in box[1:]:
            rows *= b
        if rows * max(inner, SPAN[swizzle] if swizzle else 0) <= limit and max(box) <= 256:
            return box


def place(dims, box, width, inside=False):
    """Coordinates of a box that lies in part outside of the tensor, most often. A row begins at a multiple of 16 bytes."""
    at = []
    for d, b in zip(dims, box):
        at.append(random.randint(0, max(0, d - b)) if inside else random.randint(-b + 1, d - 1) if random.random() < 0.6 else random.randint(0, max(0, d - 1)))
    at[0] = at[0] * width // 16 * 16 // width
    return at


def case(op, type_, rank, swizzle=0, **more):
    width = WIDTHS[type_]
    inside = more.pop("inside", False)
    limit = 16384 if op not in ("load", "multicast", "prefetch") else 60000
    dims, strides = tensor(width, rank, limit=limit, least=16 // width)
    box = boxed(width, rank, swizzle)
    fields = dict(op=op, type=type_, dims=dims)
    if strides:
        fields["strides"] = strides
    fields.update(box=box, at=place(dims, box, width, inside), swizzle=swizzle, to=more.pop("to", 0), **more)
    line(**fields)


def first():
    # Every type and swizzle; where the tile lies decides the pattern.
    for type_ in range(13):
        for swizzle in range(4):
            case("load", type_, 2, swizzle)
    for swizzle in range(4):
        for to in (0, 128, 256, 384, 512, 640, 1024, 1152):
            line(op="load", type=2, dims=[64, 40], strides=[256], box=[min(SPAN[swizzle], 128) // 4, 17], at=[4, 3], swizzle=swizzle, to=to)
    # Rows shorter than the swizzle's span.
    for swizzle in (1, 2, 3):
        for inner in range(16, SPAN[swizzle] + 1, 16):
            line(op="load", type=0, dims=[200, 40], strides=[208], box=[inner, 13], at=[16, 3], swizzle=swizzle, to=0)
    for swizzle in (4, 5, 6):
        line(op="load", type=2, dims=[64, 40], strides=[256], box=[32, 17], at=[4, 3], swizzle=swizzle, to=0)


def ranks():
    for rank in range(1, 6):
        for k in range(12):
            case("load", random.randrange(13), rank, random.randrange(4), to=128 * random.choice([0, 0, 1, 5]), l2=random.randrange(4))
    for type_ in REAL:
        case("load", type_, random.randint(1, 4), random.randrange(4), fill=1)
    for k in range(24):  # steps
        rank = random.randint(2, 5)
        case("load", random.randrange(13), rank, random.randrange(4), steps=[random.randint(1, 3)] + [random.randint(1, 5) for _ in range(rank - 1)])
    for k in range(6):
        case("load", random.randrange(13), random.randint(1, 5), random.randrange(4), base=16 * random.randint(1, 7))
    for mask in (1, 2, 5, 15, 8, 10):
        case("multicast", random.randrange(13), random.randint(1, 4), random.randrange(4), mask=mask, to=128 * random.choice([0, 3]))
    for rank in (1, 3, 5):
        case("prefetch", 7, rank)


def interleaved():
    for interleave in (1, 2):
        for rank in (3, 4, 5):
            for k in range(5):
                for op in ("load", "store"):
                    type_ = random.choice([0, 1, 2, 6, 7])
                    width, unit = WIDTHS[type_], 16 * interleave
                    swizzle = 1 if interleave == 2 else random.randrange(4)
                    dims = [random.randint(1, 3) * unit // width + random.choice([0, 0, 3])] + [random.randint(2, 8) for _ in range(rank - 1)]
                    strides, size = [], unit
                    for d in dims[1:]:
                        strides.append(size)
                        size *= d
                    if k == 0:
                        strides[-1] += 2 * unit
                    box = [random.choice([1, 1, 2, 3]) * unit // width] + [random.choice([1, 2, 3, 4]) for _ in range(rank - 1)]
                    fields = dict(op=op, type=type_, dims=dims, strides=strides, box=box, at=place(dims, box, width), swizzle=swizzle, to=0, interleave=interleave)
                    if k == 4:
                        fields["steps"] = [1] + [random.randint(1, 3) for _ in range(rank - 1)]
                    line(**fields)


def stores():
    for type_ in range(13):
        case("store", type_, 2, type_ % 4)
    for rank in range(1, 6):
        for k in range(6):
            case("store", random.randrange(13), rank, random.randrange(4), to=128 * random.choice([0, 0, 1, 5]))
    for k in range(8):
        rank = random.randint(2, 5)
        case("store", random.randrange(13), rank, random.randrange(4), steps=[1] + [random.randint(1, 4) for _ in range(rank - 1)])
    for type_ in range(13):
        for op in ("add", "min", "max", "inc", "dec", "and", "or", "xor"):
            case(op, type_, 2, random.randrange(4), data="small")
            if op in ("add", "min", "max") and type_ in (1, 2, 3, 4, 5, 6, 9, 7):
                case(op, type_, 1, 0)


def im2col():
    for k in range(40):
        rank = 3 + k % 3
        type_ = random.choice([0, 1, 2, 6, 7, 9])
        width = WIDTHS[type_]
        swizzle = random.randrange(4)
        channels = random.randint(1, min(SPAN[swizzle], 64) // 16) * 16 // width
        dims = [random.choice([channels, channels + 5, 2 * channels])] + [random.randint(3, 9) for _ in range(rank - 2)] + [random.randint(1, 4)]
        strides, size = [], (dims[0] * width + 15) // 16 * 16
        for d in dims[1:]:
            strides.append(size)
            size *= d
        if size > (16384 if k >= 34 else 60000):
            continue
        lower = [random.randint(-2, 1) for _ in range(rank - 2)]
        upper = [random.randint(-2, 1) for _ in range(rank - 2)]
        pixels = random.choice([1, 5, 16, 33, 64])
        at = [random.choice([0, 0, 16 // width])] + [random.randint(l, max(l, d - 1 + u)) for d, l, u in zip(dims[1:], lower, upper)] + [random.randint(0, dims[-1] - 1)]
        fields = dict(op="store" if k >= 34 else "load", im2col=1, type=type_, dims=dims, strides=strides, lower=lower, upper=upper, channels=channels, pixels=pixels, at=at, swizzle=swizzle, to=0)
        if k < 34:
            fields["offsets"] = [random.randint(0, 3) for _ in range(rank - 2)]
        if k % 5 == 4:
            fields["steps"] = [1] + [random.randint(1, 2) for _ in range(rank - 2)] + [1]
        line(**fields)


def wrong():
    """One thing wrong with each, or just not yet."""
    good = dict(op="load", type=7, dims=[64, 32], strides=[256], box=[32, 8], at=[0, 0], swizzle=0, to=0)
    changes = [
        dict(type=13), dict(type=14), dict(type=15), dict(type=16), dict(dims=[], strides=[], box=[], at=[]),
        dict(dims=[8] * 6, strides=[32, 256, 2048, 16384, 131072], box=[4] * 6, at=[0] * 6),
        dict(base=8), dict(base=16), dict(base=4), dict(dims=[0, 32]), dict(dims=[64, 0]), dict(dims=[1 << 32, 32]), dict(dims=[(1 << 32) + 1, 32]),
        dict(strides=[24]), dict(strides=[0]), dict(strides=[16]), dict(strides=[1 << 40]), dict(strides=[(1 << 40) - 16]),
        dict(strides=[240]), dict(box=[0, 8]), dict(box=[32, 0]), dict(box=[256, 8]), dict(box=[257, 8]), dict(box=[260, 8]), dict(box=[32, 257]),
        dict(box=[3, 8]), dict(box=[2, 8]), dict(box=[6, 8]), dict(box=[256, 256]), dict(box=[64, 256]), dict(steps=[0, 1]), dict(steps=[1, 0]), dict(steps=[9, 1]), dict(steps=[1, 9]), dict(steps=[1, 8]),
        dict(box=[32, 8], swizzle=1), dict(box=[8, 8], swizzle=1), dict(box=[32, 8], swizzle=2), dict(box=[36, 8], swizzle=3),
        dict(swizzle=7), dict(swizzle=4), dict(swizzle=5), dict(swizzle=6), dict(interleave=3), dict(interleave=1), dict(interleave=2), dict(l2=4), dict(fill=2),
        dict(fill=1), dict(fill=1, type=2), dict(fill=1, type=0, box=[32, 8]), dict(steps=[2, 1]),
        dict(interleave=1, dims=[16, 8, 8], strides=[16, 128], box=[4, 8, 1], at=[0, 0, 0], steps=[1, 1, 1]),
        dict(interleave=2, dims=[16, 8, 8], strides=[32, 256], box=[8, 8, 1], at=[0, 0, 0], steps=[1, 1, 1]),
        dict(interleave=2, dims=[16, 8, 8], strides=[32, 256], box=[8, 8, 1], at=[0, 0, 0], steps=[1, 1, 1], swizzle=1),
        dict(interleave=2, dims=[16, 8, 8], strides=[48, 256], box=[8, 8, 1], at=[0, 0, 0], steps=[1, 1, 1], swizzle=1),
        dict(interleave=2, dims=[16, 8, 8], strides=[32, 256], box=[8, 8, 1], at=[0, 0, 0], steps=[1, 1, 1], swizzle=1, base=16),
        dict(interleave=1, dims=[16, 8, 8], strides=[16, 128], box=[5, 8, 1], at=[0, 0, 0], steps=[1, 1, 1]),
        dict(dims=[64, 32, 4], strides=[256, 128], box=[32, 4, 2], at=[0, 0, 0], steps=[1, 1, 1]),
    ]
    for change in changes:
        line(**{**good, **change}, run=0)
    pixels = dict(op="load", im2col=1, type=7, dims=[16, 8, 8, 2], strides=[64, 512, 4096], lower=[-1, -1], upper=[-1, -1], channels=16, pixels=32, at=[0, -1, -1, 0], offsets=[0, 0], swizzle=0, to=0)
    changes = [
        dict(), dict(dims=[16, 8], strides=[64], lower=[], upper=[], at=[0, 0], offsets=[]), dict(channels=0), dict(channels=257), dict(channels=256), dict(channels=3), dict(pixels=0), dict(pixels=1025),
        dict(lower=[-129, 0]), dict(lower=[128, 0]), dict(upper=[-129, 0]), dict(upper=[128, 0]), dict(lower=[-128, -128]), dict(upper=[-8, -1]), dict(upper=[-9, -1]), dict(upper=[-12, -12]), dict(steps=[1, 9, 1, 1]),
        dict(dims=[16, 8, 8, 2, 2], strides=[64, 512, 4096, 8192], lower=[-17, 0, 0], upper=[0, 0, 0], at=[0] * 5, offsets=[0] * 3),
        dict(dims=[16, 8, 8, 2, 2], strides=[64, 512, 4096, 8192], lower=[-16, 0, 0], upper=[15, 0, 0], at=[0] * 5, offsets=[0] * 3),
        dict(dims=[16, 8, 2], strides=[64, 512], lower=[-32768], upper=[0], at=[0] * 3, offsets=[0]),
        dict(dims=[16, 8, 2], strides=[64, 512], lower=[-32769], upper=[0], at=[0] * 3, offsets=[0]),
        dict(swizzle=1, channels=16), dict(swizzle=2, channels=16),
    ]
    for change in changes:
        line(**{**pixels, **change}, run=0)


def plain():
    for op in ("bulk", "bulkstore", "bulkadd"):
        for at, count in ((0, 4), (4, 4), (4, 8), (0, 8), (8, 64), (12, 64), (28, 256), (4, 1000), (0, 2048)):
            line(op=op, type=2, dims=[4096], box=[count], at=[at], to=128, data="small")


def faults():
    """Tiles at addresses that a copy may not have."""
    for op in ("load", "store"):
        line(op=op, type=7, dims=[64, 32], strides=[256], box=[8, 8], at=[3, 0], swizzle=0, to=0)
        for swizzle, to in ((0, 16), (0, 64), (0, 8), (3, 64), (3, 128), (1, 16)):
            line(op=op, type=7, dims=[64, 32], strides=[256], box=[8, 8], at=[0, 0], swizzle=swizzle, to=to)


def sliced(op, interleave, rank, swizzle, type_, im2col=False, **more):
    """A tensor of slices of 16 or 32 bytes: a coordinate of dimension 0 is a slice; the box of dimension rank - 2 is one."""
    width, unit = WIDTHS[type_], 16 * interleave
    loads = op in ("load", "multicast", "prefetch")
    while True:
        dims = [random.randint(1, 24)] + [random.randint(1, 7) for _ in range(rank - 1)]
        strides, size = [], unit * random.choice([1, dims[0], dims[0] + 1])
        for d in dims[1:]:
            strides.append(size)
            size = size * d + unit * random.choice([0, 0, 1])
        last = (dims[0] - 1) * unit + sum((d - 1) * s for d, s in zip(dims[1:], strides)) + unit
        step = max(16 // width, 1)
        box = [random.choice([1, 1, 2, 3, 4]) * step] + [random.randint(1, 5) for _ in range(rank - 1)]
        steps = [random.randint(1, 3) for _ in range(rank)] if random.random() < 0.3 else [1] * rank
        rows = 1
        for k in range(1, rank):
            rows *= 1 if k == rank - 2 else -(-box[k] // steps[k])
        to = 128 * random.choice([0, 0, 1, 3, 5])
        if last <= (60000 if loads else 16384) and box[0] * unit * rows + to <= 16384 - 256:
            break
    at = [random.randint(-b + 1 if loads else 0, d - 1) if random.random() < 0.6 else random.randint(0, max(0, d - b)) for d, b in zip(dims, box)]
    fields = dict(op=op, type=type_, dims=dims, strides=strides, box=box, at=at, swizzle=swizzle, to=to, interleave=interleave)
    if im2col:
        del fields["box"]
        lower, upper = ([random.randint(-2, 1) for _ in range(rank - 2)] for _ in range(2))
        at[1:-1] = [random.randint(l, max(l, d - 1 + u)) for d, l, u in zip(dims[1:], lower, upper)]
        fields.update(im2col=1, lower=lower, upper=upper, channels=step * random.choice([1, 2, 4]), pixels=random.choice([1, 5, 16, 33]), offsets=[random.randint(0, 3) for _ in range(rank - 2)])
    if steps != [1] * rank:
        fields["steps"] = steps
    fields.update(more)
    line(**fields)


def slices():
    for interleave, swizzles in ((1, (0, 1, 2, 3)), (2, (1,))):
        for type_ in range(13):
            for rank in (3, 4, 5):
                for swizzle in swizzles if type_ in (0, 7) else (random.choice(swizzles),):
                    sliced("load", interleave, rank, swizzle, type_)
            if type_ in REAL:
                sliced("load", interleave, random.randint(3, 5), random.choice(swizzles), type_, fill=1)
            for _ in range(2):
                sliced("store", interleave, random.randint(3, 5), random.choice(swizzles), type_)
            for op in random.sample(("add", "min", "max", "and", "or", "xor", "inc", "dec"), 3):
                sliced(op, interleave, random.randint(3, 5), random.choice(swizzles), type_, data="small")
        for mask in (1, 5, 15, 8):
            sliced("multicast", interleave, random.randint(3, 5), random.choice(swizzles), 6, mask=mask)
        for base in (32, 64, 96):
            sliced("load", interleave, random.randint(3, 5), random.choice(swizzles), 1, base=base)
        for k in range(3):
            sliced("prefetch", interleave, 3 + k, swizzles[0], 7)
        for k in range(30):
            sliced("load", interleave, 3 + k % 3, random.choice(swizzles), random.choice([0, 1, 2, 6, 7, 9]), im2col=True)
    for swizzle in (0, 2, 3):
        for rank in (3, 4):
            sliced("load", 2, rank, swizzle, 6)
            sliced("store", 2, rank, swizzle, 6)
    for interleave in (1, 2):
        for to in (16, 32, 64):
            line(op="load", type=6, dims=[8, 4, 4], strides=[128, 512], box=[8, 2, 2], at=[0, 0, 0], swizzle=1, to=to, interleave=interleave)
        for k in range(3):
            at = [0, 0, 0]
            at[k] = -1
            line(op="store", type=6, dims=[8, 4, 4], strides=[256, 1024], box=[8, 2, 2], at=at, swizzle=1, to=0, interleave=interleave)


def wrong_slices():
    """Asks the driver: one thing wrong with each, then any mixture."""
    for interleave in (1, 2):
        unit = 16 * interleave
        good = dict(op="load", type=7, dims=[8, 6, 4, 3], strides=[8 * unit, 48 * unit, 192 * unit], box=[8, 2, 2, 2], at=[0] * 4, steps=[1] * 4, swizzle=1, to=0, interleave=interleave)
        changes = [dict(swizzle=s) for s in range(4)] + [dict(type=t) for t in range(13)] + [dict(box=[b, 2, 2, 2], swizzle=s) for b in (1, 2, 4, 6, 12, 16, 20, 32, 36, 64, 128, 252, 256, 257) for s in (0, 1, 3)]
        changes += [dict(box=[4, b, 2, 2]) for b in (0, 1, 16, 255, 256, 257)] + [dict(box=[4, 2, b, 2]) for b in (0, 1, 16, 255, 256, 257)] + [dict(box=[256, b, 1, 1]) for b in (2, 8, 56, 57, 58, 64, 228, 229)]
        changes += [dict(box=[256, 1, b, 1]) for b in (8, 56, 57, 58, 228, 229)] + [dict(box=[256, 1, 1, b]) for b in (8, 14, 15, 28, 29, 56, 57, 58, 228, 229)]
        changes += [dict(strides=[s, 48 * unit, 192 * unit]) for s in (0, 8, 16, 32, 48, 64, 7 * unit, 9 * unit)] + [dict(strides=[8 * unit, s, 192 * unit]) for s in (16, 32, 48, 47 * unit, 49 * unit)]
        changes += [dict(base=b) for b in (4, 8, 16, 32, 48)] + [dict(steps=[a, b, 1, 1]) for a in (0, 1, 2, 8, 9) for b in (0, 1, 8, 9)] + [dict(fill=1), dict(fill=1, type=2), dict(dims=[0, 6, 4, 3]), dict(dims=[1, 1, 1, 1])]
        for change in changes:
            line(**{**good, **change}, run=0)
        for rank in (1, 2, 3, 5):
            line(op="load", type=7, dims=[8] * rank, strides=[unit * 8 ** k for k in range(1, rank)] or [], box=[8] + [2] * (rank - 1), at=[0] * rank, swizzle=1, to=0, interleave=interleave, run=0)
        pixels = dict(op="load", im2col=1, type=7, dims=[8, 8, 8, 2], strides=[8 * unit, 64 * unit, 512 * unit], lower=[-1, -1], upper=[-1, -1], channels=8, pixels=32, at=[0] * 4, offsets=[0, 0], swizzle=1, to=0, interleave=interleave)
        changes = [dict(swizzle=s) for s in range(4)] + [dict(channels=c, swizzle=s) for c in (1, 2, 4, 6, 8, 12, 16, 32, 64, 252, 256, 257) for s in (0, 1, 3)] + [dict(channels=256, pixels=p) for p in (56, 57, 58, 228, 229, 1024)] + [dict(pixels=p) for p in (0, 1024, 1025)]
        for change in changes:
            line(**{**pixels, **change}, run=0)
    for _ in range(500):
        interleave, rank, type_ = random.choice([1, 2]), random.choice([3, 3, 4, 5]), random.randrange(13)
        unit, width = 16 * interleave, WIDTHS[type_]
        line(op="load", type=type_, dims=[random.choice([1, 8, 64, 256]) for _ in range(rank)], strides=[random.choice([unit, unit, 16, 8 * unit, 24, 4096]) * 8**k for k in range(rank - 1)], box=[random.choice([16, 16, 32, 64, 8, 24, 128, 256]) // width or 1] + [random.choice([1, 2, 8, 16, 60]) for _ in range(rank - 1)], at=[0] * rank, steps=[random.choice([1, 1, 1, 2, 8]) for _ in range(rank)], swizzle=random.choice([0, 1, 1, 2, 3]), fill=random.choice([0, 0, 0, 1]), base=random.choice([0, 0, 0, 16, 32]), to=0, interleave=interleave, run=0)


for part in (first, ranks, interleaved, stores, im2col, plain, wrong, faults, slices, wrong_slices):
    part()
