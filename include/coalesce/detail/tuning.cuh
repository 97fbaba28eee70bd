// The sizes by which kernels are chosen and launches shaped, measured on an H200 (docs/internals/library-kernels.md).
// No kernel's result depends on them.
#pragma once

#include <cstdint>

namespace coalesce::detail {

// Elements of a reduction that fit a position of 32 bits.
inline constexpr std::int64_t few = 0xffffffff;

namespace tuning {

// Bytes of a row. Up to the first one lane has it, in shared memory; up to the second several lanes there; up to the
// third lanes of a warp without shared memory, where there are enough rows of that length; longer ones are shared by
// blocks.
inline constexpr std::int64_t longest_row_of_lane = 768, longest_shared_row = 6144, longest_row_of_warp = 32768;
inline constexpr std::int64_t longest_row_with_positions = 640;  // of a lane: a search takes long where few warps fit
inline constexpr std::int64_t short_row = 4096, fewest_short_rows = 256, fewest_rows_of_warps = 16384;

// Bytes of one array up to which half of the blocks that fit are best, and up to which it fits in L2.
inline constexpr std::int64_t near_bytes = 6 << 20, in_l2_bytes = 32 << 20;

// Bytes for each multiprocessor from which a matrix is read by few blocks, each long.
inline constexpr std::int64_t large_share = 1 << 20;

// Bytes of all columns of all rows of a short middle axis that a block takes to shared memory.
inline constexpr std::int64_t longest_shared_middle = 16384, longest_shared_middle_of_few_rows = 4096;

// Rows that a thread loads all at once; rows from which columns are long, and elements from which a matrix is worth it.
inline constexpr std::int64_t most_few_rows = 16, long_column = 1024, least_of_long_columns = 1 << 18;
inline constexpr std::int64_t large_of_long_columns = 1 << 24;
// Rows up to which a thread with one column takes several columns, and from which it takes vectors that begin anywhere.
inline constexpr std::int64_t short_column = 32, rows_of_vectors = 128;
// Vectors in which rows begin alike again: up to so many a matrix is always read as one array; large ones up to so
// many.
inline constexpr std::int64_t short_period = 32, longest_period = 256, period_of_1024_threads = 128;
// Large states, or periods from so many vectors on, make one block of a multiprocessor worth it, from so many vectors a
// thread on.
inline constexpr std::int64_t period_of_large = 16, vectors_of_large = 32;

// Bytes of a row or of neighbouring columns from which two reduced axes have kernels of their own, and rows.
inline constexpr std::int64_t least_nested_bytes = 128, fewest_nested_rows = 4;
// Bytes of a row up to which they have it, too, where vectors along it are aligned. Results from which on these rows go
// through shared memory, a lane for each.
inline constexpr std::int64_t longest_nested_row = 256, fewest_shared_nested = 1 << 17;
// Columns after which runs of them that make one result, and vectors, begin together: a tile has so many. Rows from
// which on.
inline constexpr std::int64_t longest_runs = 252, fewest_rows_of_runs = 32;

}  // namespace tuning
}  // namespace coalesce::detail
