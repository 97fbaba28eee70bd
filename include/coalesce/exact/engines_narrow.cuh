// Engines of what fits the narrow range: sums of float, bfloat16 and half, products of half.
#pragma once

#include <coalesce/exact/engine.cuh>

namespace coalesce::exact {

// Sums of float, products of half.
template <class Input>
struct float_engine : float_columns<1024> {
  static constexpr int loads = Input::products ? 2 : 4;
  static constexpr bool lazy = false, fixed_shares = true;
  static constexpr bool requests_early = false;
  __device__ __forceinline__ void start() { this->zero(); }
  float special;
  __device__ __forceinline__ void place(char* shared, int thread, long long*) {
    float_columns<1024>::place(shared, thread);
  }
  __device__ __forceinline__ void begin() { special = 0; }
  __device__ __forceinline__ void one(float x) {
    watch(special, x);
    this->add(x);
  }
  __device__ __forceinline__ void vector(const typename Input::vector& v) {
    Input::numbers(v, [&](float x, float y) {
      one(x);
      one(y);
    });
  }
  template <class Next, class Again>
  __device__ __forceinline__ void round(typename Input::vector (&flying)[loads], Next next, Again) {
    simple_round(*this, flying, next);
  }
  __device__ __forceinline__ bool met_special() const { return special != 0; }
  __device__ __forceinline__ void close() {}
};
template <>
struct engine<elements<float>> : float_engine<elements<float>> {};
template <>
struct engine<products_of<__half>> : float_engine<products_of<__half>> {};

template <>
struct engine<elements<__nv_bfloat16>> : bfloat16_columns<768>, settling<bfloat16_columns<768>::most>, trials {
  using columns = bfloat16_columns<768>;
  static constexpr int loads = 4;
  static constexpr bool lazy = true, fixed_shares = false;
  static constexpr bool requests_early = true;
  __device__ __forceinline__ void start() {}
  double first;
  unsigned place_first;  // the same in all lanes of a warp; 0: nowhere
  unsigned special;      // two bfloat16: NaN for good from the first infinity or NaN that went to the bins
  long long* limb;
  __device__ __forceinline__ void place(char* shared, int thread, long long* limbs) {
    columns::place(shared, thread);
    limb = limbs;
    first = 0;
    place_first = 0;
  }
  __device__ __forceinline__ void begin() {
    special = 0;
    pending = 0;
  }
  __device__ __forceinline__ void need_bins() {
    if (used_bins) return;
    used_bins = true;
    zero();
  }
  __device__ __forceinline__ void two(unsigned x) {
    asm("fma.rn.bf16x2 %0, %1, %2, %0;" : "+r"(special) : "r"(x), "r"(0u));
    const float2 p = both(x, __nv_bfloat16());
    add(p.x);
    add(p.y);
  }
  __device__ __forceinline__ void one(float x) {
    need_bins();
    two(__float_as_uint(x) >> 16);
    settle_after(2, *this);
  }
  __device__ __forceinline__ void vector(const uint4& v) {
    two(v.x);
    two(v.y);
    two(v.z);
    two(v.w);
  }
  __device__ __forceinline__ bool met_special() const { return (special & 0x7fff7fffu) != 0; }

  // For numbers up to that with exponent field `field`, 2^16 of them. The last bit is not below a bfloat16's.
  __device__ __forceinline__ void place_window(unsigned most) {
    const unsigned field = __reduce_max_sync(~0u, ::max(most & 0xffffu, most >> 16)) >> 7;
    const int exponent = ::max(static_cast<int>(field) + (1023 - 127 + 16), lowest);
    place_first = static_cast<unsigned>(exponent) << 20 | 0x80000u;
    first = window_at(place_first);
  }
  static constexpr int lowest = 1023 + 52 + layout<range::narrow>::unit + origin;
  __device__ __forceinline__ window_sum parts() {
    if (place_first == 0) return {0, 0, 0, 0};
    return two_parts(0, warp_sum(content(first, place_first)), 1, static_cast<int>(place_first >> 20) - 1075);
  }
  // To the limbs.
  __device__ __forceinline__ void empty_window() {
    const window_sum sum = parts();
    if (threadIdx.x % 32 == 0) deposit<range::narrow>(limb, sum);
    first = window_at(place_first);
  }
  __device__ __forceinline__ void close() { empty_window(); }
  // Whether a number fits the window; then it is in it.
  __device__ __forceinline__ bool fits(double x) {
    const double t = __dadd_rn(first, x);
    const bool holds = ((high(t) ^ place_first) & place_bits) == 0 && __dsub_rn(t, first) == x;
    first = holds ? t : first;
    return holds;
  }
  __device__ __forceinline__ void outside(float x) {
    asm("fma.rn.bf16x2 %0, %1, %2, %0;" : "+r"(special) : "r"(__float_as_uint(x) >> 16), "r"(0u));
    if (fabsf(x) < INFINITY) deposit_number(limb, widened(x), layout<range::narrow>::unit);
  }
  static __device__ __forceinline__ void look(const uint4& v, unsigned& most) {
    most = __vmaxu2(
        most, __vmaxu2(__vmaxu2(v.x & 0x7fff7fffu, v.y & 0x7fff7fffu), __vmaxu2(v.z & 0x7fff7fffu, v.w & 0x7fff7fffu)));
  }
  template <class Next, class Again>
  __device__ __forceinline__ void round(uint4 (&flying)[loads], Next next, Again again) {
    if (aside > 0) {
      --aside;
      simple_round(*this, flying, next);
      settle_after(8 * loads, *this);
      return;
    }
    if (place_first == 0) {
      unsigned most = 0;
#pragma unroll
      for (int u = 0; u < loads; ++u) look(flying[u], most);
      place_window(most);
    }
    const double kept = first;
    bool inexact = false;
    unsigned moved = 0;
    const auto put = [&](float x) {
      const double wide = widened(x), t = __dadd_rn(first, wide);
      inexact = inexact || __dsub_rn(t, first) != wide;
      first = t;
      moved |= high(t) ^ place_first;
    };
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      const uint4 v = flying[u];
      flying[u] = next(u);
      request_now<engine>();
      const auto sum = [&](unsigned w) {
        const float2 p = both(w, __nv_bfloat16());
        return exact_pair(p.x, p.y, inexact);
      };
      put(exact_pair(sum(v.x), sum(v.y), inexact));
      put(exact_pair(sum(v.z), sum(v.w), inexact));
    }
    if (!__any_sync(~0u, inexact || (moved & place_bits) != 0)) {
      held();
      return;
    }
    // Once more, number by number.
    first = kept;
    uint4 back[loads];
#pragma unroll
    for (int u = 0; u < loads; ++u) back[u] = again(u);
    unsigned most = 0, others = 0, bit = 1;
    const auto each = [&](auto body) {
      bit = 1;
      in_turn(back, [&](const uint4& v) {
        elements<__nv_bfloat16>::numbers(v, [&](float x, float y) {
          body(x);
          bit <<= 1;
          body(y);
          bit <<= 1;
        });
      });
    };
    each([&](float x) { others |= fits(widened(x)) ? 0 : bit; });
    const unsigned many = __reduce_add_sync(~0u, static_cast<unsigned>(__popc(others)));
    if (many == 0) return;
    if (many <= few_of_round && failures == 0) {
      each([&](float x) {
        if ((others & bit) != 0) outside(x);
      });
      used_limbs = true;
      ++failures;
      return;
    }
    in_turn(back, [&](const uint4& v) { look(v, most); });
    first = kept;
    need_bins();
    in_turn(back, [&](const uint4& v) { vector(v); });
    empty_window();
    place_window(most);
    failed();
    settle_after(8 * loads, *this);
  }
};

// half needs no bins while it adds: all halves are multiples of 2^-24 under 2^16, so a double holds the sum of 2^13 of
// them, and an integer of 64 bits that of 2^23. An infinity or NaN goes through the double as it would through any sum.
template <>
struct engine<elements<__half>> : column_of<unsigned long long, 1, 1024>, settling<1 << 12>, trials {
  static constexpr int most = 1 << 12;
  static constexpr range values = range::narrow;
  static constexpr int spacing = 32, origin = -24 - layout<range::narrow>::unit;
  static constexpr int loads = 4;
  static constexpr bool lazy = true, fixed_shares = false;
  static constexpr bool requests_early = true;
  __device__ __forceinline__ void start() {}
  double first, second;
  long long settled;
  bool special;
  __device__ __forceinline__ void place(char* shared, int thread, long long*) { column_of::place(shared, thread); }
  __device__ __forceinline__ void begin() {
    first = second = 0;
    settled = 0;
    special = false;
    pending = 0;
  }
  __device__ __forceinline__ void one(float x) {
    first += widened(x);
    settle_after(1, *this);
  }
  __device__ __forceinline__ void vector(const uint4& v) {
    elements<__half>::numbers(v, [&](float x, float y) {
      first += widened(x);
      second += widened(y);
    });
  }
  __device__ __forceinline__ void need_bins() {
    if (!used_bins) zero();
    used_bins = true;
  }
  template <class Next, class Again>
  __device__ __forceinline__ void round(uint4 (&flying)[loads], Next next, Again) {
    simple_round(*this, flying, next);
    settle_after(8 * loads, *this);
  }
  __device__ __forceinline__ window_sum parts() {
    settle();
    return two_parts(warp_sum(settled >> 32), warp_sum(settled & 0xffffffffll), 32, -24);
  }
  __device__ __forceinline__ void settle() {
    const double sum = first + second;  // less than 2^29, in units of 2^-24: exact
    special = special || !(fabs(sum) < 0x1p40);
    settled += special ? 0 : static_cast<long long>(sum * 0x1p24);
    first = second = 0;
  }
  __device__ __forceinline__ bool met_special() {
    settle();
    return special;
  }
  __device__ __forceinline__ void close() {
    settle();
    *column += static_cast<unsigned long long>(settled);
    settled = 0;
  }
};

}  // namespace coalesce::exact
