#!/usr/bin/env python3
"""Sectors of atomics whose lanes are scattered over several lines of global memory, for tests/truth/scattered.jsonl.

  nvcc -arch=sm_90 -cudart shared -o scattered tests/gpu/scattered_probe.cu
  scattered.py --measure ./scattered build/lib/libcoalesce_gpu.so FOLDER    runs it; 30 ms a pattern on an H200; may be stopped
  scattered.py FOLDER > tests/truth/scattered.jsonl

The first line is where and when; each other one has a pattern's mask of lanes, their byte offsets and the sectors that
were measured. Kept are the patterns about sets, and the first of those in which a lane waits for another than its word's,
and as many in which none does.
"""
import collections
import datetime
import json
import os
import random
import struct
import subprocess
import sys

METRIC = "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum"
KEPT = 300


def patterns():
    """(mask, offsets): pairs of lanes on one word beside pairs in one sector, words at random, bytes of a histogram."""
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
    return bits + made


def measure(probe, library, folder):
    os.makedirs(folder, exist_ok=True)
    file, record = os.path.join(folder, "patterns"), os.path.join(folder, "record.jsonl")
    with open(file, "wb") as out:
        for mask, offsets in patterns():
            out.write(struct.pack("<33I", mask, *offsets))
    card = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                          capture_output=True, text=True).stdout.splitlines()
    with open(os.path.join(folder, "where.json"), "w") as out:
        json.dump({"gpu": card[0], "date": datetime.date.today().isoformat(), "command": "tests/gpu/scattered.py --measure"}, out)
    subprocess.run([os.path.abspath(probe), file], check=True, env={
        **os.environ, "LD_PRELOAD": os.path.abspath(library), "COALESCE_GPU_RECORD": record, "COALESCE_GPU_BATCH": "128",
        "COALESCE_GPU_LAUNCHES": "1000000", "COALESCE_GPU_METRICS": METRIC})


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
    sectors = [launch["metrics"][METRIC] for launch in read if "launch" in launch]
    kept = {True: 0, False: 0}
    for number, ((mask, offsets), measured) in enumerate(zip(patterns(), sectors)):
        hindered = measured != unhindered(mask, offsets)
        kept[hindered] += number >= 36
        if number < 36 or kept[hindered] <= KEPT // 2:
            print(json.dumps({"op": "gred32", "mask": f"{mask:08x}", "offsets": offsets, "sectors": measured}))


if __name__ == "__main__":
    main()
