"""Why launches of the reported set are far off, as their kernels' source says. docs/results/time.md shows it; of a kernel that
is not here, what time_judge.cause() finds in measured and estimated figures."""
CAUSES = {
    ("hec/particlefilter", "kernel_find_index"): "searches what a race has left, other data than on the GPU",
    ("hec/sc", "StreamCompaction"): "its blocks wait for flags of the blocks before",
    ("hec/simpleSpmv", "mv_dense"): "each thread walks along a row of its own",
}

# Why aims are missed by less than 5 %, as kernels of ours show.
NEARLY = """Missed by less than 5 %: four of five wrong pairs of rungs take 3 to 5 us; DRAM bytes are off below 1 MiB.
"""
