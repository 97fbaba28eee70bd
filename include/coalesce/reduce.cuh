// Reductions of arrays in device memory at the speed of memory, one launch each.
//
//   coalesce::sum(in, count, out);                     // all of an array, result at out in device memory
//   coalesce::sum(coalesce::view(in, {rows, columns}), {1}, out, stream);   // over the axes named: one for each row
//   coalesce::sum(in, offsets, segments, out);         // of segment i: elements offsets[i] ... offsets[i + 1] - 1
//   float total;
//   coalesce::sum_host(in, count, total);              // to the host; waits for the stream
//
// and so for every function in the table below. All return a coalesce::status and run on a stream; further parameters,
// in this order: the stream (default: the null stream) and a workspace (default: one that belongs to the stream).
//
// The result's type is that of `out`. Accumulated are: integers in 64 bits; half, bfloat16 and float in float within a
// tile and in double across tiles; double in double with what was lost kept beside. Bounds:
// detail/accumulators/sum.cuh.
//
// The same call with the same arguments gives the same bits, every time, on devices with as many multiprocessors. What
// the bits depend on, for each function:
//   elements    on the elements alone: not on their order, their address, the shape, the device, the library's version
//   positions   on the elements and where they stand
//   launch      on the elements, where they stand, their address modulo 16 bytes, the shape, the device's number of
//               multiprocessors and the library's version; never on the run
//   operation   as `elements` if the operation is exact whatever the order (integers, min, max); else as `launch`
//
//   reproducible      of integers   of floating-point elements
//   sum               elements      launch (exact_sum: elements)
//   mean              elements      launch (exact_mean: elements)
//   dot               elements      launch (exact_dot: elements)
//   sum_of_squares    elements      launch (exact_sum_of_squares: elements)
//   norm2             elements      launch (exact_norm2: elements)
//   norm1             elements      launch
//   prod              elements      launch
//   variance          launch        launch
//   stddev            launch        launch
//   stats             launch        launch; count, min and max: elements
//   logsumexp         -             launch
//   min               elements      elements, but which of -0 and +0: launch
//   max               elements      elements, but which of -0 and +0: launch
//   norm_inf          elements      elements
//   argmin            positions     positions
//   argmax            positions     positions
//   any               elements      elements
//   all               elements      elements
//   count_if          elements      elements
//   reduce            operation     operation
//   transform_reduce  operation     operation
//   ordered_reduce    operation     operation, and always on where the elements stand
//
// Nothing (no elements): sum, norms, dot, count_if 0; prod 1; any false, all true; mean, variance, stddev NaN;
// logsumexp -inf; stats says count 0. min, max, argmin, argmax and norm_inf refuse it.
//
// NaN: propagates. In coalesce::nan_ignoring NaNs are left out as if they were not there.
#pragma once

#include <coalesce/detail/dispatch/call.cuh>
#include <coalesce/detail/dispatch/rules.cuh>

namespace coalesce {
#define COALESCE_FUNCTION(name, ...)                     \
  inline constexpr detail::function<__VA_ARGS__> name{}; \
  inline constexpr detail::host_function<__VA_ARGS__> name##_host{};

// The functions without parameters of their own, NaN propagating and ignored.
#define COALESCE_FUNCTIONS(ignore)                                                                \
  COALESCE_FUNCTION(sum, detail::sum_rule<detail::the_total, detail::as_it_is, ignore>)           \
  COALESCE_FUNCTION(mean, detail::sum_rule<detail::over_count, detail::as_it_is, ignore>)         \
  COALESCE_FUNCTION(norm1, detail::sum_rule<detail::the_total, detail::absolute, ignore>)         \
  COALESCE_FUNCTION(norm2, detail::sum_rule<detail::square_root, detail::squared, ignore>)        \
  COALESCE_FUNCTION(sum_of_squares, detail::sum_rule<detail::the_total, detail::squared, ignore>) \
  COALESCE_FUNCTION(prod, detail::product_rule<ignore>)                                           \
  COALESCE_FUNCTION(min, detail::extreme_rule<detail::smaller, detail::as_it_is, ignore>)         \
  COALESCE_FUNCTION(max, detail::extreme_rule<detail::larger, detail::as_it_is, ignore>)          \
  COALESCE_FUNCTION(norm_inf, detail::extreme_rule<detail::larger, detail::absolute, ignore>)     \
  COALESCE_FUNCTION(argmin, detail::position_rule<detail::smaller, ignore>)                       \
  COALESCE_FUNCTION(argmax, detail::position_rule<detail::larger, ignore>)                        \
  COALESCE_FUNCTION(stats, detail::statistics_rule<ignore>)                                       \
  COALESCE_FUNCTION(logsumexp, detail::logarithm_rule<ignore>)                                    \
  COALESCE_FUNCTION(variance, detail::moment_rule<detail::the_variance, ignore>)                  \
  COALESCE_FUNCTION(stddev, detail::moment_rule<detail::the_deviation, ignore>)

COALESCE_FUNCTIONS(false)
// True if an element is not 0; true if all are. NaN is not 0.
COALESCE_FUNCTION(any, detail::truth_rule<detail::is_positive, detail::not_zero>)
COALESCE_FUNCTION(all, detail::truth_rule<detail::is_count, detail::not_zero>)

namespace nan_ignoring {
COALESCE_FUNCTIONS(true)
}

#undef COALESCE_FUNCTIONS
#undef COALESCE_FUNCTION

// The number of elements for which `predicate(x)` (device code, trivially copyable) holds. out: std::int64_t or another
// integer.
template <class T, class Predicate, class R>
status count_if(const T* in, std::int64_t count, Predicate predicate, R* out, cudaStream_t stream = nullptr,
                workspace* work = nullptr) {
  using rule = detail::count_rule<Predicate>;
  return detail::reduction<rule>::array_of(rule{predicate}, in, count, out, stream, work);
}
template <class T, class Predicate, class R>
status count_if(const view<T>& in, axes reduced, Predicate predicate, R* out, cudaStream_t stream = nullptr,
                workspace* work = nullptr) {
  using rule = detail::count_rule<Predicate>;
  return detail::reduction<rule>::view_of(rule{predicate}, in, reduced, out, stream, work);
}
template <class T, class O, class Predicate, class R>
status count_if(const T* in, const O* offsets, std::int64_t segments, Predicate predicate, R* out,
                cudaStream_t stream = nullptr, workspace* work = nullptr) {
  using rule = detail::count_rule<Predicate>;
  return detail::reduction<rule>::segments_of(rule{predicate}, in, offsets, segments, out, stream, work);
}
template <class T, class Predicate, class Result>
status count_if_host(const T* in, std::int64_t count, Predicate predicate, Result&& result,
                     cudaStream_t stream = nullptr, workspace* work = nullptr) {
  return detail::to_host(std::forward<Result>(result), stream, work,
                         [&](auto* out, workspace* with) { return count_if(in, count, predicate, out, stream, with); });
}

// `operation(a, b)`: device code, associative and commutative, on values of out's type; `init` is combined with the
// elements once, and is the result where there are none. Any trivially copyable type.
template <class T, class R, class Operation, class Projection>
status transform_reduce(const T* in, std::int64_t count, R* out, Operation operation, Projection projection, R init,
                        cudaStream_t stream = nullptr, workspace* work = nullptr) {
  using rule = detail::operation_rule<R, Operation, Projection>;
  return detail::reduction<rule>::array_of(rule{operation, projection, init}, in, count, out, stream, work);
}
template <class T, class R, class Operation, class Projection>
status transform_reduce(const view<T>& in, axes reduced, R* out, Operation operation, Projection projection, R init,
                        cudaStream_t stream = nullptr, workspace* work = nullptr) {
  using rule = detail::operation_rule<R, Operation, Projection>;
  return detail::reduction<rule>::view_of(rule{operation, projection, init}, in, reduced, out, stream, work);
}
template <class T, class R, class Operation>
status reduce(const T* in, std::int64_t count, R* out, Operation operation, R init, cudaStream_t stream = nullptr,
              workspace* work = nullptr) {
  return transform_reduce(in, count, out, operation, detail::as_it_is(), init, stream, work);
}
template <class T, class R, class Operation>
status reduce(const view<T>& in, axes reduced, R* out, Operation operation, R init, cudaStream_t stream = nullptr,
              workspace* work = nullptr) {
  return transform_reduce(in, reduced, out, operation, detail::as_it_is(), init, stream, work);
}
template <class T, class Result, class R, class Operation, class Projection>
status transform_reduce_host(const T* in, std::int64_t count, Result&& result, Operation operation,
                             Projection projection, R init, cudaStream_t stream = nullptr, workspace* work = nullptr) {
  return detail::to_host(std::forward<Result>(result), stream, work, [&](auto* out, workspace* with) {
    return transform_reduce(in, count, out, operation, projection, init, stream, with);
  });
}
template <class T, class Result, class R, class Operation>
status reduce_host(const T* in, std::int64_t count, Result&& result, Operation operation, R init,
                   cudaStream_t stream = nullptr, workspace* work = nullptr) {
  return detail::to_host(std::forward<Result>(result), stream, work, [&](auto* out, workspace* with) {
    return reduce(in, count, out, operation, init, stream, with);
  });
}

// The same for operations that are associative but do not commute (a product of matrices, "the last one that is not
// null"): elements are combined in their order. A whole array, or segments. Slower: all elements go through shared
// memory.
template <class T, class R, class Operation>
status ordered_reduce(const T* in, std::int64_t count, R* out, Operation operation, R init,
                      cudaStream_t stream = nullptr, workspace* work = nullptr) {
  using source = detail::array<T>;
  detail::span bytes;
  if (const status s = detail::check_input(in, count, bytes); !s) return s;
  if (const status s = detail::check_out(out, 1, sizeof(R), alignof(R)); !s) return s;
  if (const status s = detail::check_apart(bytes, detail::bytes_of(out, sizeof(R))); !s) return s;
  const detail::any_operation<T, R, Operation, true> a{operation, init};
  return detail::launch_segments(a, source{in, {}}, detail::equal_segments{count}, 1, out, stream, work);
}
template <class T, class O, class R, class Operation>
status ordered_reduce(const T* in, const O* offsets, std::int64_t segments, R* out, Operation operation, R init,
                      cudaStream_t stream = nullptr, workspace* work = nullptr) {
  using rule = detail::operation_rule<R, Operation, detail::as_it_is, true>;
  return detail::reduction<rule>::segments_of(rule{operation, {}, init}, in, offsets, segments, out, stream, work);
}
template <class T, class Result, class R, class Operation>
status ordered_reduce_host(const T* in, std::int64_t count, Result&& result, Operation operation, R init,
                           cudaStream_t stream = nullptr, workspace* work = nullptr) {
  return detail::to_host(std::forward<Result>(result), stream, work, [&](auto* out, workspace* with) {
    return ordered_reduce(in, count, out, operation, init, stream, with);
  });
}
// Segments, in any order. transform_reduce has no segments: the call would look like that of two inputs.
template <class T, class O, class R, class Operation>
status reduce(const T* in, const O* offsets, std::int64_t segments, R* out, Operation operation, R init,
              cudaStream_t stream = nullptr, workspace* work = nullptr) {
  using rule = detail::operation_rule<R, Operation, detail::as_it_is>;
  return detail::reduction<rule>::segments_of(rule{operation, {}, init}, in, offsets, segments, out, stream, work);
}

namespace detail {

template <class T, class U, class Projection, class A>
status reduce_two(const A& a, const T* first, const U* second, std::int64_t count, Projection projection,
                  typename A::result* out, cudaStream_t stream, workspace* work) {
  span bytes, more;
  if (const status s = check_input(first, count, bytes); !s) return s;
  if (const status s = check_input(second, count, more); !s) return s;
  return reduce_array(a, arrays<T, U, Projection>{first, second, projection}, count, false, out, bytes, more, stream,
                      work);
}
template <class T, class U, class Projection, class A>
status reduce_two(const A& a, const view<T>& first, const view<U>& second, axes reduced, Projection projection,
                  typename A::result* out, cudaStream_t stream, workspace* work) {
  span bytes, more;
  reduction_layout layout;
  if (const status s = canonical(first, second, reduced, order::free, layout, bytes, more); !s) return s;
  return reduce_view(a, arrays<T, U, Projection>{first.data, second.data, projection}, layout, false, out, bytes, more,
                     stream, work);
}
template <class T, class U, class O, class Projection, class A>
status reduce_two(const A& a, const T* first, const U* second, const O* offsets, std::int64_t count,
                  Projection projection, typename A::result* out, cudaStream_t stream, workspace* work) {
  if (count == 0) return {};
  if (const status s = check_segments(first, offsets, count, out); !s) return s;
  if (const status s = check_segments(second, offsets, count, out); !s) return s;
  return launch_segments(a, arrays<T, U, Projection>{first, second, projection}, offsets, count, out, stream, work);
}
template <class T, class U, class Projection>
using projected = typename arrays<T, U, Projection>::element;

}  // namespace detail

// Two inputs: `projection(x, y)` of elements at the same position.
template <class T, class U, class R, class Operation, class Projection>
status transform_reduce(const T* first, const U* second, std::int64_t count, R* out, Operation operation,
                        Projection projection, R init, cudaStream_t stream = nullptr, workspace* work = nullptr) {
  const detail::any_operation<detail::projected<T, U, Projection>, R, Operation> a{operation, init};
  return detail::reduce_two(a, first, second, count, projection, out, stream, work);
}
template <class T, class U, class R, class Operation, class Projection>
status transform_reduce(const view<T>& first, const view<U>& second, axes reduced, R* out, Operation operation,
                        Projection projection, R init, cudaStream_t stream = nullptr, workspace* work = nullptr) {
  const detail::any_operation<detail::projected<T, U, Projection>, R, Operation> a{operation, init};
  return detail::reduce_two(a, first, second, reduced, projection, out, stream, work);
}
template <class T, class U, class Result, class R, class Operation, class Projection>
status transform_reduce_host(const T* first, const U* second, std::int64_t count, Result&& result, Operation operation,
                             Projection projection, R init, cudaStream_t stream = nullptr, workspace* work = nullptr) {
  return detail::to_host(std::forward<Result>(result), stream, work, [&](auto* out, workspace* with) {
    return transform_reduce(first, second, count, out, operation, projection, init, stream, with);
  });
}

// The sum of x * y; products of halves and floats are exact.
template <class T, class U, class R>
status dot(const T* first, const U* second, std::int64_t count, R* out, cudaStream_t stream = nullptr,
           workspace* work = nullptr) {
  const detail::sum<detail::projected<T, U, detail::multiplied>, R> a;
  return detail::reduce_two(a, first, second, count, detail::multiplied(), out, stream, work);
}
template <class T, class U, class R>
status dot(const view<T>& first, const view<U>& second, axes reduced, R* out, cudaStream_t stream = nullptr,
           workspace* work = nullptr) {
  const detail::sum<detail::projected<T, U, detail::multiplied>, R> a;
  return detail::reduce_two(a, first, second, reduced, detail::multiplied(), out, stream, work);
}
template <class T, class U, class O, class R>
status dot(const T* first, const U* second, const O* offsets, std::int64_t segments, R* out,
           cudaStream_t stream = nullptr, workspace* work = nullptr) {
  const detail::sum<detail::projected<T, U, detail::multiplied>, R> a;
  return detail::reduce_two(a, first, second, offsets, segments, detail::multiplied(), out, stream, work);
}
template <class T, class U, class Result>
status dot_host(const T* first, const U* second, std::int64_t count, Result&& result, cudaStream_t stream = nullptr,
                workspace* work = nullptr) {
  return detail::to_host(std::forward<Result>(result), stream, work,
                         [&](auto* out, workspace* with) { return dot(first, second, count, out, stream, with); });
}

}  // namespace coalesce
