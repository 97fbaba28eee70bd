// Exact sums on the GPU: the real-number result, rounded once to nearest even. The bits depend on the elements and on
// nothing else: not on their order, the grid, the device, how they are cut into ranges; and coalesce/host/exact.hpp has
// the same on the CPU.
//
//   coalesce::exact_sum(in, count, out);                     // an array
//   coalesce::exact_sum(view, axes{0}, out, stream);         // columns, rows, any axes
//   coalesce::exact_sum(in, offsets, segments, out);         // ragged segments
//
// out: device memory for float, double, __half or __nv_bfloat16.
// In the same ways exact_mean, exact_sum_of_squares, exact_norm2 and, with two arrays or views, exact_dot. Elements:
// __half, __nv_bfloat16, float, double. Products are not rounded. The mean is the exact sum / count, rounded once;
// norm2 the root of the exact sum of squares, rounded once. `*_host`: one result, returned to the host; waits for the
// stream.
//
// Special values: any NaN, or infinities of both signs: NaN. Infinities of one sign: that one. A result beyond the
// range of out's type: the infinity it rounds to; partial sums beyond the range do no harm. Only -0: -0. Nothing at
// all: +0, and its mean is NaN. Subnormal elements and results count, whatever -ftz says.
//
//   reproducible           of floating-point elements (words: coalesce/reduce.cuh)
//   exact_sum              elements
//   exact_mean             elements
//   exact_dot              elements, in their pairs
//   exact_sum_of_squares   elements
//   exact_norm2            elements
//   exact_accumulator      elements, however they were added and merged; so are the bytes that it stores
//
// Needs a device that has 227 KB of shared memory for a block.
#pragma once

#include <coalesce/detail/exact/exact_accumulator.cuh>

namespace coalesce {

inline constexpr detail::exact::function<exact::reading::sum, false> exact_sum{};
inline constexpr detail::exact::function<exact::reading::mean, false> exact_mean{};
inline constexpr detail::exact::function<exact::reading::sum, true> exact_sum_of_squares{};
inline constexpr detail::exact::function<exact::reading::root, true> exact_norm2{};
inline constexpr detail::exact::dot_function exact_dot{};

inline constexpr detail::exact::to_host<detail::exact::function<exact::reading::sum, false>> exact_sum_host{};
inline constexpr detail::exact::to_host<detail::exact::function<exact::reading::mean, false>> exact_mean_host{};
inline constexpr detail::exact::to_host<detail::exact::function<exact::reading::sum, true>> exact_sum_of_squares_host{};
inline constexpr detail::exact::to_host<detail::exact::function<exact::reading::root, true>> exact_norm2_host{};
inline constexpr detail::exact::to_host<detail::exact::dot_function> exact_dot_host{};

}  // namespace coalesce
