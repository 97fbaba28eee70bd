// One result's numbers in registers of one lane, without bins: what most data needs. Where that does not hold the sum
// exactly (it spans too many powers of two, or has an infinity or NaN), it says so, and the result is left to the bins.
#pragma once

#include <coalesce/detail/exact/thread_accumulator.cuh>

namespace coalesce::detail::exact {

// Windows one below the other (below_window): 2^12 halves of the first's last bit fit the second. Two hold some 75
// bits: a float fits down to 2^-50 of the largest. Three hold 107: a double fits down to 2^-54.
template <class Number>
constexpr int windows_for = sizeof(Number) == 8 ? 3 : 2;
// Rows are first tried with one less, which is half as much work: of n numbers a float then fits down to n * 2^-28 of
// the largest, a bfloat16 to n * 2^-44, a double to n * 2^-39. So of normal data one row in n^-2 * 2^28 (2^44, 2^39) or
// so fails: it is tried for rows up to a length at which few do.
template <class Number>
constexpr int windows_at_first = windows_for<Number> - 1;
template <class Input>
constexpr std::int64_t longest_at_first =
    std::is_same_v<Input, elements<__nv_bfloat16>> || sizeof(typename Input::number) == 8 ? 1 << 14 : 1 << 11;

// The windows' high words; 0: no window.
template <int Count>
struct window_places {
  unsigned place[Count] = {};

  // For numbers up to those with exponent field `field` (of a double), with `room` powers of two above.
  __device__ __forceinline__ void set(int field, int room) {
    const int exponent = ::max(field + room, 73);
    const bool off = exponent > 2040;
    place[0] = off ? 0 : static_cast<unsigned>(exponent) << 20 | 0x80000u;
#pragma unroll
    for (int i = 1; i < Count; ++i)
      place[i] = off ? 0 : place[i - 1] - (static_cast<unsigned>(below_window(i - 1)) << 20);
  }
  __device__ __forceinline__ int exponent() const { return static_cast<int>(place[Count - 1] >> 20) - 1023 - 52; }
};

// True if something was lost: a window left its place, or something was left below the last.
struct window_losses {
  unsigned moved = 0, left = 0;
  __device__ __forceinline__ bool any() const { return ((moved & place_bits) | left) != 0; }
};

template <int Count>
struct windows {
  double at[Count];
  __device__ __forceinline__ void begin(const window_places<Count>& places) {
#pragma unroll
    for (int i = 0; i < Count; ++i) at[i] = window_at(places.place[i]);
  }
  // To windows First and the next ones; returns what is left.
  template <int First, int End>
  __device__ __forceinline__ double put_to(double x, const window_places<Count>& places, window_losses& losses) {
#pragma unroll
    for (int i = First; i < End; ++i) {
      const double t = __dadd_rn(at[i], x);
      x = __dsub_rn(x, __dsub_rn(t, at[i]));
      at[i] = t;
      losses.moved |= high(t) ^ places.place[i];
    }
    return x;
  }
  __device__ __forceinline__ void put(double x, const window_places<Count>& places, window_losses& losses) {
    const double left = put_to<0, Count>(x, places, losses);
    losses.left |= high(left) | low(left);
  }
  __device__ __forceinline__ long long part(int i, const window_places<Count>& places) const {
    return content(at[i], places.place[i]);
  }
};

// The exponent field that the largest of some vectors' numbers has as a double. largest() is of patterns of bits.
__device__ __forceinline__ unsigned largest_of(const uint4& v, unsigned so_far, float) {
  const unsigned m = 0x7fffffffu;
  return ::max(::max(::max(v.x & m, v.y & m), ::max(v.z & m, v.w & m)), so_far);
}
__device__ __forceinline__ unsigned largest_of(const uint4& v, unsigned so_far, __nv_bfloat16) {
  const unsigned m = 0x7fff7fffu, w = __vmaxu2(__vmaxu2(v.x & m, v.y & m), __vmaxu2(v.z & m, v.w & m));
  return ::max(so_far, ::max(w << 16, w & 0xffff0000u));
}
__device__ __forceinline__ unsigned largest_of(const uint4& v, unsigned so_far, double) {
  return ::max(::max(v.y & 0x7fffffffu, v.w & 0x7fffffffu), so_far);
}
template <class Input>
__device__ __forceinline__ void look_at(const typename Input::vector& v, unsigned& most) {
  if constexpr (Input::products) {
    Input::numbers(v, [&](auto x, auto y) {
      most = ::max(most, ::max(high(as_double(x)) & 0x7fffffffu, high(as_double(y)) & 0x7fffffffu));
    });
  } else {
    most = largest_of(v, most, typename Input::element());
  }
}
template <class Input>
__device__ __forceinline__ int field_of(unsigned most) {
  const bool is_float = !Input::products && sizeof(typename Input::element) < 8;
  return is_float ? static_cast<int>(most >> 23) + 1023 - 127 : static_cast<int>(most >> 20);
}

// Neighbouring elements by the vectors of memory, which are aligned wherever the elements begin: element 0 is element
// `shift` of vector 0, and elements before `shift` and from `end` on are others', for which zeros stand.
template <class Input>
struct vectors_of_run {
  const Input& in;
  int shift, end;

  static __device__ __forceinline__ int shift_of(const Input& in) {
    return (Input::width - in.before()) & (Input::width - 1);
  }
  __device__ __forceinline__ int count() const { return (end + Input::width - 1) / Input::width; }
  __device__ __forceinline__ typename Input::vector operator()(int i) const {
    constexpr int width = Input::width;
    typename Input::vector v{};
    const int first = i * width;
    if (first >= shift && first + width <= end) {
      v = in.load(first - shift);
    } else if (i < count()) {
      v = in.part(first - shift, ::max(shift - first, 0), ::min(end - first, width));
    }
    return v;
  }
};

// A lane's sum of one result, in Windows windows: part 0 * 2^(40 + 32) + part 1 * 2^32 + part 2, or part 0 * 2^40 +
// part 1, or part 0, times 2^exponent(). Sums of lanes that were placed alike are added part by part.
template <class Input, int Windows>
struct lane_windows {
  static constexpr int parts = Windows;
  window_places<parts> places;
  window_losses losses;
  windows<parts> sum;

  __device__ __forceinline__ void begin() {
    places = {};
    losses = {};
    sum.begin(places);
  }
  static __device__ __forceinline__ void look(const typename Input::vector& v, unsigned& most) {
    look_at<Input>(v, most);
  }
  __device__ __forceinline__ void place(unsigned most, int room) {
    places.set(field_of<Input>(most), room);
    sum.begin(places);
  }
  // Calls body(x) for each number to add to windows.
  template <class Body>
  static __device__ __forceinline__ void numbers(const typename Input::vector& v, Body body) {
    const auto one_by_one = [&] {
      Input::numbers(v, [&](auto x, auto y) {
        body(as_double(x));
        body(as_double(y));
      });
    };
    if constexpr (std::is_same_v<Input, elements<__nv_bfloat16>>) {
      bool inexact = false;  // four are added in float first
      const auto two = [&](unsigned w) {
        const float2 p = both(w, __nv_bfloat16());
        return exact_pair(p.x, p.y, inexact);
      };
      const float x = exact_pair(two(v.x), two(v.y), inexact), y = exact_pair(two(v.z), two(v.w), inexact);
      if (inexact) {
        one_by_one();
      } else {
        body(widened(x));
        body(widened(y));
      }
    } else {
      one_by_one();
    }
  }
  __device__ __forceinline__ void vector(const typename Input::vector& v) {
    numbers(v, [&](double x) { sum.put(x, places, losses); });
  }
  // The same by all lanes of a warp at once: the last window is passed over where none has anything for it.
  __device__ __forceinline__ void vector_of_warp(const typename Input::vector& v) {
    double left[Input::width] = {};
    int count = 0;
    unsigned some = 0;
    numbers(v, [&](double x) {
      const double rest = sum.template put_to<0, parts - 1>(x, places, losses);
      some |= high(rest) | low(rest);
      left[count++] = rest;
    });
    if (!__any_sync(~0u, some != 0)) return;
#pragma unroll
    for (double x : left) {
      const double rest = sum.template put_to<parts - 1, parts>(x, places, losses);
      losses.left |= high(rest) | low(rest);
    }
  }
  __device__ __forceinline__ bool failed() const { return losses.any(); }
  __device__ __forceinline__ bool close(long long (&part)[parts]) {
#pragma unroll
    for (int i = 0; i < parts; ++i) part[i] = sum.part(i, places);
    return !losses.any();
  }
  __device__ __forceinline__ int exponent() const { return places.exponent(); }
  // The sum as a double, where there is one window, or that it was not held.
  __device__ __forceinline__ bool value(double& all) const {
    all = __dsub_rn(sum.at[0], window_at(places.place[0]));
    return !losses.any();
  }
};

// bfloat16 have 8 bits: the smallest of all numbers but 0 may lie 2^-40 / n below the largest, and doubles still hold
// the sum of n of them. So they are added without looking back, and that all lay so close together is seen in the end.
template <>
struct lane_windows<elements<__nv_bfloat16>, 1> {
  static constexpr int parts = 1;
  static constexpr int slack = 2;  // powers of two that a number may lie above those that were looked at
  double first, second;
  unsigned most, least;  // of two bits' patterns each; least: less 1, so that 0 is none
  int top, unit;         // the largest exponent field; the sum's last bit, as an exponent

  __device__ __forceinline__ void begin() {
    first = second = 0;
    most = 0;
    least = ~0u;
  }
  static __device__ __forceinline__ void look(const uint4& v, unsigned& largest) {
    look_at<elements<__nv_bfloat16>>(v, largest);
  }
  __device__ __forceinline__ void place(unsigned largest, int room) {
    top = static_cast<int>(largest >> 23) + slack;
    unit = top - 127 + room - 52;
  }
  __device__ __forceinline__ void two(unsigned w) {
    const unsigned magnitudes = w & 0x7fff7fffu;
    most = __vmaxu2(most, magnitudes);
    least = __vminu2(least, __vadd2(magnitudes, ~0u));
    const float2 p = both(w, __nv_bfloat16());
    first = __dadd_rn(first, widened(p.x));
    second = __dadd_rn(second, widened(p.y));
  }
  __device__ __forceinline__ void vector(const uint4& v) {
    two(v.x);
    two(v.y);
    two(v.z);
    two(v.w);
  }
  __device__ __forceinline__ bool holds() const {
    const int largest = static_cast<int>(::max(most & 0xffffu, most >> 16) >> 7);
    const int smallest = static_cast<int>((::min(least & 0xffffu, least >> 16) + 1) >> 7);
    return largest <= ::min(top, 254) && ::max(smallest, 1) - 127 - 7 >= unit;
  }
  __device__ __forceinline__ bool close(long long (&part)[parts]) {
    const bool all = holds();
    const double scale = __hiloint2double((1023 - unit) << 20, 0);
    part[0] = all ? static_cast<long long>((first + second) * scale) : 0;
    return all;
  }
  __device__ __forceinline__ int exponent() const { return unit; }
  __device__ __forceinline__ bool value(double& sum) const {
    sum = first + second;
    return holds();
  }
};

// Floats that lie close together, added as doubles as soon as they come; that the sums are exact is seen afterwards,
// from the largest and the smallest of a lane's numbers. No place has to be found for windows before, so nothing waits
// for the last number that was requested. Of 16 normal numbers all but one in 2^20 or so lie close enough.
struct close_sum {
  double first, second;
  unsigned most, least;  // twice the numbers' patterns, without sign; least: less 1, so that 0 is none

  __device__ __forceinline__ void begin() {
    first = second = 0;
    most = 0;
    least = ~0u;
  }
  __device__ __forceinline__ void one(unsigned bits, double& to) {
    most = ::max(most, bits + bits);
    least = ::min(least, bits + bits - 1);
    to = __dadd_rn(to, widened(__uint_as_float(bits)));
  }
  __device__ __forceinline__ void vector(const uint4& v) {
    one(v.x, first);
    one(v.y, second);
    one(v.z, first);
    one(v.w, second);
  }
  // The sum of all lanes, of up to `each` numbers for each lane.
  __device__ __forceinline__ window_sum of_warp(int each) const {
    const int field = ::max(static_cast<int>(most >> 24), 1), last = ::max(static_cast<int>(least >> 24), 1) - 150;
    const int bits = 32 - __clz(each - 1);
    // A lane's sums are less than 2^(end + bits), and multiples of 2^last. As integers of 62 bits 32 of them fit.
    const int end = field - 126, unit = __reduce_max_sync(~0u, end) + bits + 5 - 62;
    const bool held = field < 255 && end + bits <= last + 53 && last >= unit;
    const double scale = __hiloint2double((1023 - unit) << 20, 0);
    const long long part[1] = {warp_sum(held ? static_cast<long long>((first + second) * scale) : 0)};
    return total_of(part, unit, __any_sync(~0u, !held));
  }
};

// Halves are multiples of 2^-24 below 2^16: a double holds the sum of 2^13 of them.
template <int Windows>
struct lane_windows<elements<__half>, Windows> {
  static constexpr int parts = 1;
  double first, second;
  long long settled;
  int pending;
  bool special;

  __device__ __forceinline__ void begin() {
    first = second = 0;
    settled = 0;
    pending = 0;
    special = false;
  }
  static __device__ __forceinline__ void look(const uint4&, unsigned&) {}
  __device__ __forceinline__ void place(unsigned, int) {}
  __device__ __forceinline__ void vector(const uint4& v) {
    elements<__half>::numbers(v, [&](float x, float y) {
      first = __dadd_rn(first, widened(x));
      second = __dadd_rn(second, widened(y));
    });
    if (++pending == 512) settle();
  }
  __device__ __forceinline__ void vector_of_warp(const uint4& v) { vector(v); }
  __device__ __forceinline__ bool failed() const { return special; }
  __device__ __forceinline__ void settle() {
    const double sum = first + second;
    special = special || !(fabs(sum) < 0x1p40);
    settled += special ? 0 : static_cast<long long>(sum * 0x1p24);
    first = second = 0;
    pending = 0;
  }
  __device__ __forceinline__ bool close(long long (&part)[parts]) {
    settle();
    part[0] = settled;
    return !special;
  }
  __device__ __forceinline__ int exponent() const { return -24; }
  __device__ __forceinline__ bool value(double& all) const {
    all = first + second;
    return fabs(all) < 0x1p40;
  }
};

}  // namespace coalesce::detail::exact
