"""The sectors that bulk copies move, as Nsight counts them on an H100 (`tma`): the rule, and a check of it.

    python3 tests/hardware/tensor_sectors.py

A row of a box (a bulk copy without a tensor is one row) is cut where its place in shared memory passes a multiple of 128
bytes, and where it enters or leaves the tensor; the tensor's end counts up to a multiple of 16 bytes. A part within the
tensor moves the sectors of global memory that it touches. A part outside moves, in a load, the sectors of shared memory
that it fills, in a store none. Rows lie one after the other in shared memory, at least a swizzle's span apart. No rule is
known for copies to several blocks and for interleaved tensors. Cases and figures: tests/truth/tensor_sectors.txt.
"""

import itertools
import pathlib
import sys

TRUTH = pathlib.Path(__file__).resolve().parent.parent / "truth/tensor_sectors.txt"
WIDTHS = [1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4]
SPAN = [0, 32, 64, 128]
LINE, SECTOR, UNIT = 128, 32, 16


def read(line):
    text, sectors = line.split(" : ")
    case = {name: value for name, value in (word.split("=") for word in text.split())}
    for name in ("dims", "strides", "box", "steps", "at", "lower", "upper", "offsets"):
        case[name] = [int(n) for n in case.get(name, "").split(",") if n]
    for name in ("type", "to", "base", "swizzle", "im2col", "channels", "pixels"):
        case[name] = int(case.get(name, 0))
    case["steps"] = case["steps"] or [1] * len(case["dims"])
    return case, int(sectors)


def rows(case):
    """Coordinates from dimension 1 on of each row, in the order of shared memory."""
    rank, at, steps = len(case["dims"]), case["at"], case["steps"]
    if not case["im2col"]:
        counts = [-(-case["box"][k] // steps[k]) for k in range(1, rank)]
        for place in itertools.product(*[range(n) for n in reversed(counts)]):
            yield [at[k] + place[rank - 1 - k] * steps[k] for k in range(1, rank)]
        return
    now, offsets = list(at), case["offsets"] or [0] * (rank - 2)
    for _ in range(case["pixels"]):
        yield [now[k] + (offsets[k - 1] if k + 1 < rank else 0) for k in range(1, rank)]
        for k in range(1, rank):
            now[k] += steps[k]
            if k + 1 == rank or now[k] <= case["dims"][k] - 1 + case["upper"][k - 1]:
                break
            now[k] = case["lower"][k - 1]


def touched(first, end):
    return (end - 1) // SECTOR - first // SECTOR + 1


def sectors(case):
    plain, loads = case["op"].startswith("bulk"), case["op"] in ("load", "bulk")
    width = WIDTHS[case["type"]]
    length = (case["channels"] if case["im2col"] else case["box"][0]) * width
    first = case["at"][0] * width
    end = first + length if plain else -(-case["dims"][0] * width // UNIT) * UNIT
    shared, moved = case["to"], 0
    for row in [[]] if plain else rows(case):
        within = plain or all(0 <= c < size for c, size in zip(row, case["dims"][1:]))
        address = case["base"] + first + sum(c * stride for c, stride in zip(row, case["strides"]))
        cuts = {0, length} | {k for k in range(0, length, UNIT) if (shared + k) % LINE == 0}
        if within:
            cuts |= {k for k in (-first, end - first) if 0 < k < length}
        cuts = sorted(cuts)
        for low, high in zip(cuts, cuts[1:]):
            if within and 0 <= first + low < end:
                moved += touched(address + low, address + high)
            elif loads:
                moved += touched(shared + low, shared + high)
        shared += max(length, SPAN[case["swizzle"]])
    return moved


def main():
    lines = [line for line in TRUTH.read_text().splitlines() if line and line[0] != "#"]
    wrong = [line for line in lines if sectors(read(line)[0]) != read(line)[1]]
    for line in wrong:
        print(f"{line}, by the rule {sectors(read(line)[0])}")
    print(f"{len(lines)} cases, {len(wrong)} differ from the rule")
    return 1 if wrong or len(lines) < 300 else 0


if __name__ == "__main__":
    sys.exit(main())
