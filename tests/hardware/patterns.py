#!/usr/bin/env python3
"""Lays what a GPU counted beside the patterns of patterns_probe.cu, for tests/truth/patterns.jsonl.

  nvcc -O3 -arch=sm_90 -cudart shared -o patterns tests/hardware/patterns_probe.cu
  patterns.py --measure ./patterns build/lib/libcoalesce_gpu.so FOLDER    runs it once for each family of instructions
  patterns.py FOLDER... > tests/truth/patterns.jsonl        (copies.jsonl: family async, measured later with more metrics)

Further arguments: the level, and the families that are wanted. Built with -Xptxas -O0, and measured with the level O0, it gives what ptxas has not rewritten: additions of 1 in
shared memory are another instruction then.

The first line is where and when; the second the patterns: each lane's element. Then one line a launch: the instruction,
which pattern, the mask of lanes, and the metrics that were read, 0 left out. A family is measured by as few metrics as it
needs: each takes passes, and a launch is run once for each pass.
"""
import datetime
import glob
import json
import os
import subprocess
import sys

GLOBAL, LOCAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum", "l1tex__t_{}_pipe_lsu_mem_local_op_{}.sum"
WAVEFRONTS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"


def pair(name, *ops):
    return [name.format(what, op) for op in ops for what in ("requests", "sectors")]


FAMILIES = {  # name: beginnings of the instructions' names, metrics
    "local": (["lst", "lld"], pair(LOCAL, "ld", "st")),
    "shared": (["sred", "satom", "sld", "sst", "ldmatrix", "stmatrix"],
               [WAVEFRONTS.format(op) for op in ("ld", "st", "atom", "ldsm", "stsm")] +
               ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum"]),
    "reduction": (["gred"], pair(GLOBAL, "red", "atom")),
    "async": (["cfrom", "cto", "cboth"], pair(GLOBAL, "ld", "ldgsts_cache_access") +
              [WAVEFRONTS.format(op) for op in ("ldgsts", "ldgsts_cache_bypass", "st")] + ["l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"]),
    "atomic": (["gatom"], pair(GLOBAL, "red", "atom")),
    "load": (["gnc", "gld", "gst"], pair(GLOBAL, "ld", "st")),
}
# Further accesses of a launch: each lane stores its result.
BESIDES = {GLOBAL.format("requests", "st"): 1, GLOBAL.format("sectors", "st"): 4}


def measure(probe, library, folder, level="O3", *families):
    os.makedirs(folder, exist_ok=True)
    for name, (instructions, metrics) in FAMILIES.items():
        if families and name not in families:
            continue
        path = os.path.join(folder, name)
        environment = {**os.environ, "LD_PRELOAD": os.path.abspath(library), "COALESCE_GPU_RECORD": path + ".jsonl",
                       "COALESCE_GPU_BATCH": "128", "COALESCE_GPU_METRICS": ",".join(metrics)}
        with open(path + ".out", "w") as out:
            subprocess.run([os.path.abspath(probe), *instructions], env=environment, stdout=out, check=True)
    card = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                          capture_output=True, text=True).stdout.splitlines()[0]
    with open(os.path.join(folder, "where.json"), "w") as out:
        json.dump({"gpu": card, "date": datetime.date.today().isoformat(), "command": "tests/hardware/patterns.py --measure",
                   "level": level}, out)


def whole_lines(path):
    """A run that was stopped leaves a last line cut short."""
    for line in open(path):
        if line.startswith("{") and line.endswith("}\n"):
            yield json.loads(line)


def main():
    if sys.argv[1:2] == ["--measure"]:
        return measure(*sys.argv[2:])
    patterns, lines = {}, []
    where = [json.load(open(os.path.join(folder, "where.json"))) for folder in sys.argv[1:]]
    for level, path in [(w["level"], path) for w, folder in zip(where, sys.argv[1:])
                        for path in sorted(glob.glob(os.path.join(folder, "*.out")))]:
        printed = list(whole_lines(path))
        record = list(whole_lines(path[:-4] + ".jsonl"))
        for note in (r["note"] for r in record if "note" in r):
            sys.exit(f"{path}: {note}")
        for pattern, launch in zip(printed, (r for r in record if "launch" in r)):
            number = lambda offsets: patterns.setdefault(tuple(o // pattern["bytes"] for o in offsets), len(patterns))
            measured = {k: v - BESIDES.get(k, 0) for k, v in launch["metrics"].items()}
            lines.append({"op": pattern["op"], **({"level": level} if level != "O3" else {}),
                          "pattern": number(pattern["offsets"]), **({"to": number(pattern["to"])} if "to" in pattern else {}),
                          "mask": pattern["mask"], "measured": {k: v for k, v in measured.items() if v}})
    print(json.dumps({k: v for k, v in where[0].items() if k != "level"}))
    print(json.dumps({"patterns": [list(p) for p in patterns]}))
    for line in lines:
        print(json.dumps(line))


if __name__ == "__main__":
    main()
