#!/usr/bin/env python3
"""PyTorch on the cases that `limit --list` prints: lines of JSON as bench.h writes them.

    torch_reductions.py CASES [--only REGEX] [--seconds S]

The three modes are those of bench.h; see there. What PyTorch's own accumulators make of the values is its affair.
"""
import argparse
import json
import re
import statistics
import sys
import time

import torch

TYPES = {"int8": torch.int8, "half": torch.float16, "float": torch.float32, "double": torch.float64}
OPS = {
    "sum": lambda x, axes: torch.sum(x, axes),
    "max": lambda x, axes: torch.amax(x, axes),
    "argmax": lambda x, axes: torch.argmax(x, axes[0] if len(axes) == 1 else None),
    "argmin": lambda x, axes: torch.argmin(x, axes[0] if len(axes) == 1 else None),
    "variance": lambda x, axes: torch.var(x, axes, correction=0),
}
REPEATS = 7


def between_events(work):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    seconds = []
    for _ in range(REPEATS):
        begin.record()
        work()
        end.record()
        end.synchronize()
        seconds.append(begin.elapsed_time(end) * 1e-3)
    return statistics.median(seconds)


def graph_of(calls):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            call()
    graph.replay()
    return graph


def measure(case, memory, other, report):
    item = torch.empty((), dtype=TYPES[case["type"]]).element_size()
    shape = [int(extent) for extent in case["shape"].split("x")]
    axes = [int(axis) for axis in case["axes"].split(",")] if case["axes"] else [0]
    count = 1
    for extent in shape:
        count *= extent
    typed = memory.view(TYPES[case["type"]])
    areas = max(1, min(32, typed.numel() // (count + case["offset"])))
    apart = typed.numel() // areas // (64 // item) * (64 // item)
    inputs = [typed[area * apart + case["offset"] :][:count].view(shape) for area in range(areas)]
    op = OPS[case["op"]]
    call = lambda area=0: op(inputs[area], axes)
    call()
    torch.cuda.synchronize()
    once = between_events(call)
    if once > 200e-6:
        report(case, "eager", between_events(call))
        return
    calls = min(200, int(200e-6 / once) + 10)
    report(case, "eager", between_events(lambda: [call() for _ in range(calls)]) / calls)
    graph = graph_of([call] * calls)
    report(case, "graph", between_events(graph.replay) / calls)
    del graph
    apart_graph = graph_of([lambda area=area: call(area) for area in range(areas)])
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    seconds = []
    for _ in range(REPEATS):
        other.fill_(1)
        begin.record()
        apart_graph.replay()
        end.record()
        end.synchronize()
        seconds.append(begin.elapsed_time(end) * 1e-3)
    report(case, "cold", statistics.median(seconds) / areas)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("cases")
    arguments.add_argument("--only", default="")
    arguments.add_argument("--seconds", type=float, default=1e9)
    options = arguments.parse_args()
    started = time.monotonic()
    memory = torch.empty(2**32 + 4096, dtype=torch.int8, device="cuda")
    other = torch.empty(2**28, dtype=torch.int8, device="cuda")
    filled_as = None
    left_out = 0

    def report(case, mode, seconds):
        row = {"library": "torch", **{k: case[k] for k in ("part", "op", "type", "shape", "axes", "offset", "bytes")}}
        print(json.dumps({**row, "mode": mode, "seconds": float(f"{seconds:.4g}")}), flush=True)

    for line in open(options.cases):
        case = json.loads(line)
        name = "/".join([case["part"], case["op"], case["type"], case["shape"]]) + (f"/axis{case['axes']}" if case["axes"] else "")
        if not re.search(options.only, name + ("/offset" if case["offset"] else "")):
            continue
        if time.monotonic() - started > options.seconds:
            left_out += 1
            continue
        if filled_as != case["type"]:  # finite values of that type
            filled_as = case["type"]
            typed = memory.view(TYPES[filled_as])
            for part in typed.split(2**27):
                part.copy_(torch.randint(-128, 128, part.shape, device="cuda", dtype=torch.int8))
        try:
            measure(case, memory, other, report)
        except RuntimeError as error:  # out of memory, or what PyTorch does not do
            print(f"torch: {name}: {str(error).splitlines()[0]}", file=sys.stderr)
    if left_out:
        print(f"torch: {left_out} cases left out after {options.seconds:g} seconds", file=sys.stderr)


if __name__ == "__main__":
    main()
