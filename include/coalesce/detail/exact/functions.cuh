// The functions of exact.cuh: what they refuse, and how they call the dispatch. Host code.
#pragma once

#include <coalesce/detail/exact/dispatch.cuh>

namespace coalesce::detail::exact {

inline reduction_layout one_run(std::int64_t count) {
  reduction_layout layout;
  layout.reduced_count = count;
  if (count > 0) {
    layout.reduced_rank = 1;
    layout.reduced[0] = {count, 1, 1, 1};
  }
  return layout;
}

template <class T>
constexpr bool has_format = std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16> || std::is_same_v<T, float> ||
                            std::is_same_v<T, double>;

template <class T, class R>
constexpr void require_formats() {
  static_assert(has_format<T>,
                "coalesce: exact sums are of __half, __nv_bfloat16, float or double: convert other elements first; "
                "integers' plain sums are exact");
  static_assert(
      has_format<R>,
      "coalesce: an exact sum is rounded to __half, __nv_bfloat16, float or double: point out to one of these");
}

// A function of one array: its elements (dot false), or their squares.
template <reading How, bool Squares>
struct function {
  template <class T>
  static auto input(const T* data) {
    if constexpr (Squares)
      return products_of<T>{data, data};
    else
      return elements<T>{data};
  }
  template <class T, class R>
  status operator()(const T* in, std::int64_t count, R* out, cudaStream_t stream = nullptr,
                    workspace* work = nullptr) const {
    require_formats<T, R>();
    detail::span bytes;
    if (const status s = detail::check_input(in, count, bytes); !s) return s;
    if (const status s = checked_out(out, 1, bytes, {}); !s) return s;
    return start_layout(input(in), result_to<R>{out, How}, one_run(count), stream, work);
  }
  template <class T, class R>
  status operator()(const view<T>& in, axes reduced, R* out, cudaStream_t stream = nullptr,
                    workspace* work = nullptr) const {
    require_formats<T, R>();
    detail::span bytes, again;
    reduction_layout layout;
    const status s = Squares ? canonical(in, in, reduced, order::free, layout, bytes, again)
                             : canonical(in, reduced, order::free, layout, bytes);
    if (!s) return s;
    if (const status t = checked_out(out, layout.kept_count, bytes, {}); !t) return t;
    return start_layout(input(in.data), result_to<R>{out, How}, layout, stream, work);
  }
  // Ragged: out[s] is of in[offsets[s]] ... in[offsets[s + 1] - 1]. `offsets` is in device memory and has segments + 1
  // entries.
  template <class T, class Offset, class R, class = std::enable_if_t<std::is_integral_v<Offset>>>
  status operator()(const T* in, const Offset* offsets, std::int64_t segments, R* out, cudaStream_t stream = nullptr,
                    workspace* work = nullptr) const {
    require_formats<T, R>();
    if (const status s = detail::check_array(offsets, segments < 0 ? -1 : segments + 1,
                                             "offsets is null: pass device memory with one more offset than segments");
        !s)
      return s;
    if (segments == 0) return {};
    if (!in) return detail::refuse("the input is null: pass device memory");
    if (const status s = checked_out(out, segments, detail::bytes_of(offsets, (segments + 1) * sizeof(Offset)),
                                     detail::bytes_of(in, sizeof(T)));
        !s)
      return s;
    return start_segments(input(in), result_to<R>{out, How}, offsets, segments, stream, work);
  }

  template <class R>
  static status checked_out(const R* out, std::int64_t results, detail::span first, detail::span second) {
    if (const status s = detail::check_out(out, results, sizeof(R), alignof(R)); !s) return s;
    const detail::span written = detail::bytes_of(out, static_cast<std::uint64_t>(results) * sizeof(R));
    if (const status s = detail::check_apart(first, written); !s) return s;
    return detail::check_apart(second, written);
  }
};

struct dot_function {
  template <class T, class R>
  status operator()(const T* a, const T* b, std::int64_t count, R* out, cudaStream_t stream = nullptr,
                    workspace* work = nullptr) const {
    require_formats<T, R>();
    detail::span first, second;
    if (const status s = detail::check_input(a, count, first); !s) return s;
    if (const status s = detail::check_input(b, count, second); !s) return s;
    if (const status s = function<reading::sum, false>::checked_out(out, 1, first, second); !s) return s;
    return start_layout(products_of<T>{a, b}, result_to<R>{out, reading::sum}, one_run(count), stream, work);
  }
  template <class T, class R>
  status operator()(const view<T>& a, const view<T>& b, axes reduced, R* out, cudaStream_t stream = nullptr,
                    workspace* work = nullptr) const {
    require_formats<T, R>();
    detail::span first, second;
    reduction_layout layout;
    if (const status s = canonical(a, b, reduced, order::free, layout, first, second); !s) return s;
    if (const status s = function<reading::sum, false>::checked_out(out, layout.kept_count, first, second); !s)
      return s;
    return start_layout(products_of<T>{a.data, b.data}, result_to<R>{out, reading::sum}, layout, stream, work);
  }
};

// The same with the result on the host: waits for the stream.
template <class Function>
struct to_host {
  template <class T, class Result>
  status operator()(const T* in, std::int64_t count, Result&& result, cudaStream_t stream = nullptr,
                    workspace* work = nullptr) const {
    return detail::to_host(std::forward<Result>(result), stream, work,
                           [&](auto* out, workspace* with) { return Function()(in, count, out, stream, with); });
  }
  template <class T, class Result>
  status operator()(const T* a, const T* b, std::int64_t count, Result&& result, cudaStream_t stream = nullptr,
                    workspace* work = nullptr) const {
    return detail::to_host(std::forward<Result>(result), stream, work,
                           [&](auto* out, workspace* with) { return Function()(a, b, count, out, stream, with); });
  }
};

}  // namespace coalesce::detail::exact
