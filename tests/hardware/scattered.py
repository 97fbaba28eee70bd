#!/usr/bin/env python3
"""Sectors of atomics whose lanes are scattered over several lines of global memory, for tests/truth/scattered.jsonl.

  nvcc -arch=sm_90 -cudart shared -o scattered tests/hardware/scattered_probe.cu
  scattered.py --measure ./scattered build/lib/libcoalesce_gpu.so FOLDER    runs it; 30 ms a pattern on an H200; may be stopped
  scattered.py FOLDER > tests/truth/scattered.jsonl

The first line is where and when; each other one has an instruction, a pattern's mask of lanes, their byte offsets and the
sectors that were measured. Kept are the patterns about sets; those that tell whether a pass is a line or half of one; and of
the rest the first in which a lane waits for another than its word's, and as many in which none does.
"""
import collections
import datetime
import json
import os
import random
import struct
import subprocess
import sys

METRICS = ["l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum"]
KERNELS = ["gred32", "gcas32", "gcas64", "gcas128", "gexch128"]  # as the probe has them; bits of a word at the end
KEPT = 300
EACH = 40
SETS = 0x3ab5, 0x15da  # machine/observe/traffic.cpp


def sectors_of(mask, offsets, word, part):
    """The rule of docs/counters.md: sectors of all passes if one takes lanes of `part` aligned bytes."""
    waiting, total = collections.defaultdict(list), 0
    for lane in range(32):
        if mask >> lane & 1:
            waiting[tuple(bin(offsets[lane] // 128 & bits).count("1") % 2 for bits in SETS)].append(offsets[lane])
    for lanes in waiting.values():
        while lanes:
            first = {}
            for i, at in enumerate(lanes):
                first.setdefault(at % 128 // word, i)
            going = {i for i in first.values() if lanes[i] // part == lanes[0] // part}
            total += len({lanes[i] // 32 for i in going})
            lanes = [at for i, at in enumerate(lanes) if i not in going]
    return total


def telling():
    """(instruction, mask, offsets) of which whole lines and halves of lines as passes give different sums."""
    source = random.Random(11)
    for name in KERNELS[1:]:
        word, found = int(name[4 if name[1] == "c" else 5:]) // 8, 0
        while found < EACH:
            lines = source.sample(range(32), source.choice((2, 3, 4, 8)))
            words = source.choice((2, 4, 8, 128 // word))
            offsets = [source.choice(lines) * 128 + source.sample(range(0, 128, 128 // words), 1)[0] // word * word for _ in range(32)]
            mask = sum(1 << lane for lane in source.sample(range(32), source.choice((8, 16, 32))))
            if sectors_of(mask, offsets, word, 128) != sectors_of(mask, offsets, word, 64):
                found += 1
                yield name, mask, offsets


def patterns():
    """(instruction, mask, offsets): about sets; about what a pass is; pairs of lanes on one word beside pairs in one sector,
    words at random, bytes of a histogram."""
    source = random.Random(7)
    made = []

    def add(lanes):
        mask, offsets = 0, [0] * 32
        for lane, offset in lanes.items():
            mask |= 1 << lane
            offsets[lane] = offset
        made.append((mask, offsets))

    def some(count):
        return source.sample(range(32), count)

    for _ in range(1500):
        i, j, k, l = some(4)
        s, t = source.sample(range(32), 2) if source.random() < .5 else source.sample(range(128), 2)
        w = source.randrange(8)
        a, b = source.sample(range(8), 2)
        add({i: s * 32 + w * 4, j: s * 32 + w * 4, k: t * 32 + a * 4, l: t * 32 + b * 4})
    for lines in (8, 32):
        for _ in range(1200):
            sectors = source.sample(range(lines * 4), 30)
            i, j, k, l = some(4)
            w = source.randrange(8)
            a, b = source.sample(range(8), 2)
            lanes = {i: sectors[0] * 32 + w * 4, j: sectors[0] * 32 + w * 4, k: sectors[1] * 32 + a * 4, l: sectors[1] * 32 + b * 4}
            for lane, sector in zip([x for x in range(32) if x not in lanes], sectors[2:]):
                lanes[lane] = sector * 32 + source.randrange(8) * 4
            add(lanes)
    for lines in (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 32):
        for _ in range(350):
            chosen = source.sample(range(32), lines)
            add({lane: source.choice(chosen) * 128 + source.randrange(32) * 4 for lane in range(32)})
    for count in (3, 4, 5, 6, 8, 10, 12, 16, 20, 24):
        for _ in range(150):
            add({lane: source.randrange(64) * 4 if source.random() < .5 else source.randrange(256) * 4 for lane in some(count)})
    for _ in range(1500):
        add({lane: source.randrange(256) * 4 for lane in range(32)})
    source.shuffle(made)
    # Which bits of a line's number choose its set: lanes of lines 0 and 2^bit ^ c, that go apart where both share one.
    bits = []
    for bit in range(5, 14):
        for c in range(4):
            line = (1 << bit ^ c) * 128
            bits.append((1 << 0 | 1 << 7 | 1 << 20 | 1 << 29, [{0: line, 7: 4, 20: line + 4, 29: 4}.get(i, 0) for i in range(32)]))
    return [("gred32", *each) for each in bits], list(telling()), [("gred32", *each) for each in made]


def measure(probe, library, folder):
    os.makedirs(folder, exist_ok=True)
    file, record = os.path.join(folder, "patterns"), os.path.join(folder, "record.jsonl")
    with open(file, "wb") as out:
        for name, mask, offsets in sum(patterns(), []):
            out.write(struct.pack("<34I", KERNELS.index(name), mask, *offsets))
    card = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                          capture_output=True, text=True).stdout.splitlines()
    with open(os.path.join(folder, "where.json"), "w") as out:
        json.dump({"gpu": card[0], "date": datetime.date.today().isoformat(), "command": "tests/hardware/scattered.py --measure"}, out)
    subprocess.run([os.path.abspath(probe), file], check=True, env={
        **os.environ, "LD_PRELOAD": os.path.abspath(library), "COALESCE_GPU_RECORD": record, "COALESCE_GPU_BATCH": "128",
        "COALESCE_GPU_LAUNCHES": "1000000", "COALESCE_GPU_METRICS": ",".join(METRICS)})


def unhindered(mask, offsets):
    """Sectors if lanes waited for none but those on their own word."""
    lanes_on = collections.Counter(o for i, o in enumerate(offsets) if mask >> i & 1)
    most = collections.Counter()
    for word, lanes in lanes_on.items():
        most[word // 32] = max(most[word // 32], lanes)
    return sum(most.values())


def main():
    if sys.argv[1:2] == ["--measure"]:
        return measure(*sys.argv[2:5])
    folder = sys.argv[1]
    with open(os.path.join(folder, "where.json")) as where:
        print(json.dumps(json.load(where)))
    with open(os.path.join(folder, "record.jsonl")) as record:
        read = [json.loads(line) for line in record if line.endswith("}\n")]
    sectors = [sum(launch["metrics"].values()) for launch in read if "launch" in launch]
    kept = {True: 0, False: 0}
    chosen, telling_, rest = patterns()
    for number, ((name, mask, offsets), measured) in enumerate(zip(chosen + telling_ + rest, sectors)):
        hindered = measured != unhindered(mask, offsets)
        always = number < len(chosen) + len(telling_)
        kept[hindered] += not always
        if always or kept[hindered] <= KEPT // 2:
            print(json.dumps({"op": name, "mask": f"{mask:08x}", "offsets": offsets, "sectors": measured}))


if __name__ == "__main__":
    main()
