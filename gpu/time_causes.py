"""Why launches of the reported set are far off, as their kernels' source says. docs/results/time.md shows it; of a kernel that
is not here, what time_judge.cause() finds in measured and estimated figures."""
SUMS = "sums of real numbers in shared memory are loops that warps wait for"
CAUSES = {
    ("hec/atomicCAS", "atomicMinDerived"): "all threads swap one word in a loop; one after the other, hardly any does",
    ("hec/wyllie", "wyllie"): "threads read what other threads store meanwhile, so its loop has other turns",
    ("hec/expdist", "reduce_cross_term"): SUMS,
    ("hec/expdist", "distance"): SUMS,
    ("hec/atomicPerf", "SingleRangeAtomicOnSharedMem"): SUMS,
    ("hec/atomicPerf", "BlockRangeAtomicOnGlobalMem"): "all blocks add to the same few lines",
    ("hec/atomicPerf", "WarpRangeAtomicOnGlobalMem"): "all blocks add to the same line",
    ("hec/michalewicz", "eval"): "all threads swap one word in a loop; one after the other, hardly any does",
}
