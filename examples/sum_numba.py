"""Sums floats with Numba: neighbouring threads add neighbouring pairs in shared memory, a tree whose strides grow.

Run it: coalesce run --lines python3 sum_numba.py
"""
import numpy as np
from numba import cuda, float32

BLOCK = 256


@cuda.jit(lineinfo=True)
def sums_of_blocks(values, sums):
    tile = cuda.shared.array(BLOCK, float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    tile[t] = values[i]
    cuda.syncthreads()
    stride = 1
    while stride < BLOCK:
        k = 2 * stride * t
        if k < BLOCK:
            tile[k] += tile[k + stride]
        cuda.syncthreads()
        stride *= 2
    if t == 0:
        sums[cuda.blockIdx.x] = tile[0]


values = np.arange(64 * BLOCK, dtype=np.float32) % 7
sums = cuda.device_array(64, dtype=np.float32)
sums_of_blocks[64, BLOCK](cuda.to_device(values), sums)
got, right = float(sums.copy_to_host().sum()), float(values.sum())
assert got == right, (got, right)
print("sum:", got)
