#!/usr/bin/env python3
"""Writes docs/results/scale.md from what tests/hardware/scale.cu measured.

usage: scale_page.py STREAMS.jsonl NCCL.jsonl DATE   (outputs of `scale streams` and `scale nccl`)
"""
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def rows(path):
    with open(path) as file:
        return [json.loads(line) for line in file if line.strip()]


def table(head, lines):
    return ["| " + " | ".join(head) + " |", "|" + "|".join(["---"] + ["---:"] * (len(head) - 1)) + "|"] + [
        "| " + " | ".join(line) + " |" for line in lines]


def main():
    streams, nccl, date = rows(sys.argv[1]), rows(sys.argv[2]), sys.argv[3]
    device = next(r["name"] for r in streams if r["what"] == "device")
    if next(r["name"] for r in nccl if r["what"] == "device") != device:
        sys.exit("error: two devices")
    if not all(r["same"] for r in nccl if "same" in r):
        sys.exit("error: bits differ")
    version = next(r["version"] for r in nccl if r["what"] == "nccl_version")
    lines = [
        "# Streams and ranks on a GPU", "",
        f"- **Measured** on {device}, {date}, NCCL {version}: medians of `tests/hardware/scale.cu`.",
        "- **Repeat:** `scale streams`, `scale nccl` (built as that file says), then `tests/hardware/scale_page.py`.", "",
        "## Exact sums of 2 GiB in host memory", "",
        "The plain copy is of the same bytes from pinned memory, measured beside the sum.", ""]
    found = []
    for r in streams:
        if r["what"] == "pinned":
            found.append([f"{r['type']}, pinned, {r['pieces']} pieces of {r['piece_mib']} MiB", f"{r['exact_gb_s']:.1f}", f"{r['copy_gb_s']:.1f}"])
        elif r["what"] == "pageable":
            for source, key in (("pageable", "pageable_gb_s"), ("mapped file", "mapped_gb_s")):
                found.append([f"{r['type']}, {source}, {r['threads']} thread{'s' if r['threads'] > 1 else ''}", f"{r[key]:.1f}", f"{r['copy_gb_s']:.1f}"])
    lines += table(["source", "exact sum, GB/s", "plain copy, GB/s"], found)
    lines += ["", "## Exact sums over one rank", "", "The bits equal those of the local sum.", ""]
    lines += table(["elements", "local, us", "with NCCL, us", "local, in a graph, us", "with NCCL, in a graph, us"],
                   [[f"{r['count']} {r['type']}", f"{r['local_us']:.1f}", f"{r['nccl_us']:.1f}", f"{r['graph_local_us']:.1f}",
                     f"{r['graph_nccl_us']:.1f}"] for r in nccl if r["what"] == "nccl"])
    lines += ["", "## Addition of the ranks' accumulators on a device", ""]
    lines += table(["ranks", "float, us", "double, us"],
                   [[str(r["ranks"]), f"{r['us']:.1f}", f"{d['us']:.1f}"] for r in nccl for d in nccl
                    if r["what"] == d["what"] == "fold" and r["type"] == "float" and d["type"] == "double" and r["ranks"] == d["ranks"]])
    with open(os.path.join(ROOT, "docs", "results", "scale.md"), "w") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
