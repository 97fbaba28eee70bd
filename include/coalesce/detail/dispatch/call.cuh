// The ways in which every reduction can be called, over one array or two: checks, then the kernel.
//
// A Rule says which accumulator and projection belong to a function:
//   template <class T, class R> auto accumulator() const;   for elements of type T and results of type R
//   projection                                              a member, or a type of no state
//   needs_elements                                          whether there is no result for no elements
#pragma once

#include <coalesce/detail/dispatch/dispatch.cuh>
#include <coalesce/detail/segments/segments.cuh>
#include <type_traits>
#include <utility>

namespace coalesce::detail {

inline status check_out(const void* out, std::int64_t results, std::size_t size, std::size_t alignment) {
  if (results == 0) return {};
  if (!out) return refuse("out is null: pass device memory for one value per result");
  if (reinterpret_cast<std::uintptr_t>(out) % alignment != 0)
    return refuse("out is not aligned to its type: offset it by whole values");
  std::int64_t bytes = 0;
  if (!multiply(results, static_cast<std::int64_t>(size), bytes))
    return refuse("the results' bytes do not fit in 63 bits");
  return {};
}

inline status nothing_to_reduce() {
  return refuse(
      "there is nothing to reduce, and this function has no result for that: call it for one element or more");
}

// A whole array.
template <class A, class Source>
status reduce_array(const A& a, const Source& in, std::int64_t count, bool needs_elements, typename A::result* out,
                    span first, span second, cudaStream_t stream, workspace* work) {
  require_accumulator<A>();
  using result = typename A::result;
  if (count == 0 && needs_elements) return nothing_to_reduce();
  if (const status s = check_out(out, 1, sizeof(result), alignof(result)); !s) return s;
  const span written = bytes_of(out, sizeof(result));
  if (const status s = check_apart(first, written); !s) return s;
  if (const status s = check_apart(second, written); !s) return s;
  if constexpr (!std::is_same_v<A, typename of_few<A>::type>) {
    if (count < few) return launch_array(of_few<A>::from(a), in, out, count, stream, work);
  }
  return launch_array(a, in, out, count, stream, work);
}

// Axes of a view.
template <class A, class Source>
status reduce_view(const A& a, const Source& in, const reduction_layout& layout, bool needs_elements,
                   typename A::result* out, span first, span second, cudaStream_t stream, workspace* work) {
  require_accumulator<A>();
  using result = typename A::result;
  if (layout.kept_count == 0) return {};
  if (layout.reduced_count == 0 && needs_elements) return nothing_to_reduce();
  if (const status s = check_out(out, layout.kept_count, sizeof(result), alignof(result)); !s) return s;
  const span written = bytes_of(out, layout.kept_count * sizeof(result));
  if (const status s = check_apart(first, written); !s) return s;
  if (const status s = check_apart(second, written); !s) return s;
  return reduce_layout(a, in, out, layout, stream, work);
}

template <class T>
status check_input(const T* in, std::int64_t count, span& bytes) {
  bytes = {};
  if (const status s = check_array(in, count, "the input is null: pass device memory"); !s) return s;
  bytes = bytes_of(in, count * sizeof(T));
  return {};
}

// `count` segments of `in`, not none of them. Only the device has the number of elements, so results upon the first one
// are refused, and results upon others alone are not found.
template <class T, class O, class R>
status check_segments(const T* in, const O* offsets, std::int64_t count, R* out) {
  static_assert(
      std::is_integral_v<O> && (sizeof(O) == 4 || sizeof(O) == 8),
      "coalesce: segments are given by offsets of 32 or 64 bits: one more than there are segments, ascending");
  if (const status s = check_array(offsets, count < 0 ? count : count + 1, "the offsets are null: pass device memory");
      !s)
    return s;
  if (!in) return refuse("the input is null: pass device memory");
  if (!aligned(in)) return refuse("the input is not aligned to its element type: offset it by whole elements");
  if (const status s = check_out(out, count, sizeof(R), alignof(R)); !s) return s;
  const span written = bytes_of(out, count * sizeof(R));
  if (const status s = check_apart(bytes_of(in, sizeof(T)), written); !s) return s;
  return check_apart(bytes_of(offsets, (count + 1) * sizeof(O)), written);
}

// A result on the host is a variable, not a pointer to one.
template <class Result>
inline constexpr bool is_variable =
    std::is_lvalue_reference_v<Result> && !std::is_pointer_v<std::remove_reference_t<Result>> &&
    !std::is_const_v<std::remove_reference_t<Result>>;

// call(out, workspace) with memory for a result that is copied to `result` and waited for.
template <class Result, class Call>
status to_host(Result&& result, cudaStream_t stream, workspace* work, Call&& call) {
  using R = std::remove_reference_t<Result>;
  static_assert(is_variable<Result>,
                "coalesce: a function named *_host writes to a variable of the host: give `x`, not `&x` (to device "
                "memory writes the one without _host)");
  static_assert(sizeof(R) <= workspace::result_bytes,
                "coalesce: results returned to the host have up to 256 bytes: write larger ones to device memory");
  if constexpr (!is_variable<Result>) {
    return {};
  } else {
    device_facts device;
    if (const status s = current_device(device); !s) return s;
    if (const status s = find_workspace(stream, device.device, 0, work); !s) return s;
    // The call may need more memory than there is yet, and `work` then move: the result stays where it was, and is
    // kept.
    R* const there = static_cast<R*>(work->result());
    if (const status s = call(there, work); !s) return s;
    if (const cudaError_t error = cudaMemcpyAsync(&result, there, sizeof(R), cudaMemcpyDeviceToHost, stream);
        error != cudaSuccess)
      return error;
    return cudaStreamSynchronize(stream);
  }
}

// One input. `Rule`'s state (a predicate, a number of degrees of freedom) is given with each call.
template <class Rule>
struct reduction {
  template <class T, class R>
  static status array_of(const Rule& rule, const T* in, std::int64_t count, R* out, cudaStream_t stream,
                         workspace* work) {
    span bytes;
    if (const status s = check_input(in, count, bytes); !s) return s;
    using source = array<T, typename Rule::projection_type>;
    return reduce_array(rule.template accumulator<typename source::element, R>(), source{in, rule.projection()}, count,
                        Rule::needs_elements, out, bytes, {}, stream, work);
  }
  template <class T, class R>
  static status view_of(const Rule& rule, const view<T>& in, axes reduced, R* out, cudaStream_t stream,
                        workspace* work) {
    using source = array<T, typename Rule::projection_type>;
    const auto a = rule.template accumulator<typename source::element, R>();
    span bytes;
    reduction_layout layout;
    const order wanted = decltype(a)::indexed ? order::indexed : order::free;
    if (const status s = canonical(in, reduced, wanted, layout, bytes); !s) return s;
    return reduce_view(a, source{in.data, rule.projection()}, layout, Rule::needs_elements, out, bytes, {}, stream,
                       work);
  }
  template <class T, class O, class R>
  static status segments_of(const Rule& rule, const T* in, const O* offsets, std::int64_t count, R* out,
                            cudaStream_t stream, workspace* work) {
    using source = array<T, typename Rule::projection_type>;
    const auto a = rule.template accumulator<typename source::element, R>();
    if (count == 0) return {};
    if (const status s = check_segments(in, offsets, count, out); !s) return s;
    if constexpr (sizeof(O) == 4) {  // then no segment has more elements than that
      using smaller = of_few<std::remove_const_t<decltype(a)>>;
      return launch_segments(smaller::from(a), source{in, rule.projection()}, offsets, count, out, stream, work);
    }
    return launch_segments(a, source{in, rule.projection()}, offsets, count, out, stream, work);
  }
};

// A function of the library without parameters of its own.
template <class Rule>
struct function {
  // All `count` elements; one result.
  template <class T, class R>
  status operator()(const T* in, std::int64_t count, R* out, cudaStream_t stream = nullptr,
                    workspace* work = nullptr) const {
    return reduction<Rule>::array_of(Rule(), in, count, out, stream, work);
  }
  // The axes `reduced` of a view; a result for each index of the other axes, row-major.
  template <class T, class R>
  status operator()(const view<T>& in, axes reduced, R* out, cudaStream_t stream = nullptr,
                    workspace* work = nullptr) const {
    return reduction<Rule>::view_of(Rule(), in, reduced, out, stream, work);
  }
  // Each of `segments` segments, segment s being elements offsets[s] ... offsets[s + 1] - 1 (offsets ascend; in device
  // memory, like all else). Of an empty segment: the result of nothing; for min, max, norm_inf the other end of the
  // range, for argmin and argmax -1. Positions count from the segment's begin.
  template <class T, class O, class R>
  status operator()(const T* in, const O* offsets, std::int64_t segments, R* out, cudaStream_t stream = nullptr,
                    workspace* work = nullptr) const {
    return reduction<Rule>::segments_of(Rule(), in, offsets, segments, out, stream, work);
  }
};

// The same with the result on the host: waits for the stream.
template <class Rule>
struct host_function {
  template <class T, class Result>
  status operator()(const T* in, std::int64_t count, Result&& result, cudaStream_t stream = nullptr,
                    workspace* work = nullptr) const {
    return to_host(std::forward<Result>(result), stream, work, [&](auto* out, workspace* with) {
      return reduction<Rule>::array_of(Rule(), in, count, out, stream, with);
    });
  }
};

}  // namespace coalesce::detail
