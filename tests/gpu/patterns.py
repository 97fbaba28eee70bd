#!/usr/bin/env python3
"""Lays what a GPU counted beside the patterns of patterns_probe.cu, for tests/truth/patterns.jsonl.

  nvcc -O3 -arch=sm_90 -cudart shared -o patterns tests/gpu/patterns_probe.cu
  LD_PRELOAD=build/lib/libcoalesce_gpu.so COALESCE_GPU_RECORD=record.jsonl COALESCE_GPU_COUNTERS=1 \
    COALESCE_GPU_METRICS=$(tests/gpu/patterns.py --metrics) ./patterns > printed.jsonl
  tests/gpu/patterns.py printed.jsonl record.jsonl > tests/truth/patterns.jsonl

One line a launch: the pattern as printed, and "measured": the counters that are not 0, by our names and, for what we
have no counter of, by CUPTI's.
"""
import json
import sys

# What the launches do besides the instruction in question: the store of the result.
BESIDES = {"global_store_requests": 1, "global_store_sectors": 4, "global_store_lines": 1}
# Counters that say nothing about memory.
LEFT_OUT = {"instructions", "thread_instructions", "branches", "divergent_branches"}
METRICS = [
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_stsm.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts_cache_access.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_access.sum",
    "smsp__inst_executed_op_ldgsts.sum",
    "smsp__inst_executed_op_ldsm.sum",
    "smsp__sass_inst_executed_op_ldgsts_cache_bypass.sum",
    "l1tex__t_requests_pipe_tex_mem_texture.sum",
    "smsp__sass_sectors_mem_local.sum",
    "smsp__sass_sectors_mem_global.sum",
]


def launches(path):
    for line in open(path):
        entry = json.loads(line)
        if "note" in entry:
            sys.exit(f"{path}: {entry['note']}")
        if "launch" in entry:
            yield entry


def main():
    if sys.argv[1:] == ["--metrics"]:
        print(",".join(METRICS))
        return
    printed, record = sys.argv[1:]
    patterns = [json.loads(line) for line in open(printed) if line.startswith("{")]
    measured = list(launches(record))
    if len(patterns) != len(measured):
        sys.exit(f"{len(patterns)} patterns, but {len(measured)} launches")
    for pattern, launch in zip(patterns, measured):
        counters = {k: v for k, v in launch["counters"].items() if k not in LEFT_OUT}
        for name, value in BESIDES.items():
            counters[name] -= value
        counters.update(launch.get("metrics", {}))
        pattern["measured"] = {k: v for k, v in counters.items() if v}
        print(json.dumps(pattern))


if __name__ == "__main__":
    main()
