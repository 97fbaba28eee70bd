"""Why launches of the reported set are far off, as their kernels' source says. docs/results/time.md shows it; of a kernel that
is not here, what time_judge.cause() finds in measured and estimated figures."""
CAUSES = {
    ("hec/particlefilter", "kernel_find_index"): "searches what a race has left, other data than on the GPU",
    ("hec/is", "rank_gpu_kernel_3"): "atomics at places that random keys give",
    ("hec/sc", "StreamCompaction"): "its blocks wait for flags of the blocks before",
    ("hec/simpleSpmv", "mv_dense"): "each thread walks along a row of its own",
}
