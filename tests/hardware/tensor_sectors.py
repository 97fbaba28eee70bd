"""The sectors that bulk copies move, as Nsight counts them on an H100 (`tma`): the rule, and a check of it.

    python3 tests/hardware/tensor_sectors.py

A row of a box (a bulk copy without a tensor is one row) is cut where its place in shared memory passes a multiple of 128
bytes, and where it enters or leaves the tensor; the tensor's end counts up to a multiple of 16 bytes. A part within the
tensor moves the sectors of global memory that it touches. A part outside moves, in a load, the sectors of shared memory
that it fills, in a store none. Rows lie one after the other in shared memory, at least a swizzle's span apart. In
interleaved tensors slices of 16 or 32 bytes take the elements' place: a row is one slice where the box leaves some out,
pixels that follow each other along dimension 0 are one row, and rows lie side by side. A load to several blocks
(multicast) moves the sectors for each; it is cut at lines of global memory, too, and a part costs at least two sectors,
or three where it fills, rounds (tf32), or has a unit that the tensor ends in. Cases and figures:
tests/truth/tensor_sectors.txt.
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
    for name in ("type", "to", "base", "swizzle", "im2col", "channels", "pixels", "interleave"):
        case[name] = int(case.get(name, 0))
    case["steps"] = case["steps"] or [1] * len(case["dims"])
    return case, int(sectors)


def pixel_rows(case):
    """The same for pixels (im2col)."""
    rank, sliced = len(case["dims"]), case["interleave"] != 0
    now, left, first = list(case["at"]), case["pixels"], 0 if sliced else 1
    offsets = [0] * first + (case["offsets"] or [0] * (rank - 2)) + [0] * 2
    highest = [case["dims"][first + k] - 1 + case["upper"][k] for k in range(rank - 2)]
    while left > 0:
        run = min(left, highest[0] - now[0] + 1) if sliced and case["steps"][0] == 1 else 1
        yield [c + offset for c, offset in zip(now, offsets)], run if sliced else case["channels"]
        left -= run
        now[0] += run - 1 if sliced else 0
        for k in range(rank - 2):
            now[first + k] += case["steps"][first + k]
            if now[first + k] <= highest[k]:
                break
            now[first + k] = case["lower"][k]
        else:
            now[-1] += case["steps"][-1]


def rows(case):
    """Coordinates and elements of each row, in the order of shared memory."""
    if case["im2col"]:
        yield from pixel_rows(case)
        return
    rank, at, steps, box = len(case["dims"]), case["at"], list(case["steps"]), list(case["box"])
    if case["interleave"]:
        box[rank - 2] = 1
    else:
        steps[0] = 1
    elements = box[0] if steps[0] == 1 else 1
    counts = [-(-size // step) for size, step in zip(box, steps)]
    if steps[0] == 1:
        counts[0] = 1
    for place in itertools.product(*[range(n) for n in reversed(counts)]):
        yield [at[k] + place[rank - 1 - k] * steps[k] for k in range(rank)], elements


def touched(first, end):
    return (end - 1) // SECTOR - first // SECTOR + 1


def sectors(case):
    plain, loads = case["op"].startswith("bulk"), case["op"] in ("load", "bulk", "multicast")
    several, rounds = case["op"] == "multicast", case["type"] in (11, 12)
    element = 16 * case["interleave"] or WIDTHS[case["type"]]
    shared, moved = case["to"], 0
    for at, elements in [(case["at"], case["box"][0])] if plain else rows(case):
        first, length = at[0] * element, elements * element
        end = first + length if plain else -(-case["dims"][0] * element // UNIT) * UNIT
        within = plain or all(0 <= c < size for c, size in zip(at[1:], case["dims"][1:]))
        address = case["base"] + first + sum(c * stride for c, stride in zip(at[1:], case["strides"]))
        cuts = {0, length} | {k for k in range(0, length, UNIT) if (shared + k) % LINE == 0}
        if within:
            cuts |= {k for k in (-first, end - first) if 0 < k < length}
        if within and several:
            cuts |= {k for k in range(max(-first, 0), min(end - first, length), UNIT) if (address + k) % LINE == 0}
        cuts = sorted(cuts)
        for low, high in zip(cuts, cuts[1:]):
            inside = within and 0 <= first + low < end
            part = touched(address + low, address + high) if inside else touched(shared + low, shared + high) if loads else 0
            if several:
                changes = not inside or rounds or first + low < case["dims"][0] * element < min(first + high, end)
                part = max(part, 3 if changes else 2)
            moved += part
        shared += length if case["interleave"] else max(length, SPAN[case["swizzle"]])
    return moved * (bin(int(case["mask"])).count("1") if several else 1)


def main():
    lines = [line for line in TRUTH.read_text().splitlines() if line and line[0] != "#"]
    wrong = [line for line in lines if sectors(read(line)[0]) != read(line)[1]]
    for line in wrong:
        print(f"{line}, by the rule {sectors(read(line)[0])}")
    print(f"{len(lines)} cases, {len(wrong)} differ from the rule")
    return 1 if wrong or len(lines) < 300 else 0


if __name__ == "__main__":
    sys.exit(main())
