#!/usr/bin/env python3
"""PyTorch's sums of the arrays that `exact_float errors` has left in this folder; lines of JSON. Removes the arrays."""
import glob
import json
import os
import time

import numpy
import torch

for name in sorted(glob.glob("errors_*.bin")):
    kind, count = name[len("errors_"):-len(".bin")].rsplit("_", 1)
    x = torch.from_numpy(numpy.fromfile(name, dtype=numpy.float32)).cuda()
    print(json.dumps({"part": "errors", "case": kind, "n": int(count), "torch": float(x.sum()), "numpy": float(numpy.fromfile(name, dtype=numpy.float32).sum())}))
    os.remove(name)

x = torch.rand(1 << 28, device="cuda")
for k in range(10, 29, 3):
    times = []
    for _ in range(12):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        x[:1 << k].sum()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    print(json.dumps({"part": "speed", "type": "float", "case": str(1 << k), "bytes": 4 << k, "torch": sorted(times[2:])[5], "version": torch.__version__}))
