// Engines of what fits the narrow range: sums of float, bfloat16 and half, products of half.
#pragma once

#include <coalesce/exact/engine.cuh>

namespace coalesce::exact {

// Sums of float, products of half.
template <class Input>
struct float_engine : float_columns<1024> {
  static constexpr int loads = Input::products ? 2 : 4;
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
  template <class Next>
  __device__ __forceinline__ void round(typename Input::vector (&flying)[loads], Next next) {
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
struct engine<elements<__nv_bfloat16>> : bfloat16_columns<1024>, settling<bfloat16_columns<1024>::most>, window {
  using columns = bfloat16_columns<1024>;
  static constexpr int loads = 4;
  float special;
  __device__ __forceinline__ void place(char* shared, int thread, long long*) { columns::place(shared, thread); }
  __device__ __forceinline__ void begin() {
    special = 0;
    pending = 0;
  }
  __device__ __forceinline__ void any(float x) {
    watch(special, x);
    add_any(x);
  }
  __device__ __forceinline__ void one(float x) {
    any(x);
    settle_after(1, *this);
  }
  __device__ __forceinline__ void vector(const uint4& v) {
    const unsigned top =
        __vmaxu2(__vmaxu2(v.x & 0x7fff7fffu, v.y & 0x7fff7fffu), __vmaxu2(v.z & 0x7fff7fffu, v.w & 0x7fff7fffu));
    if (::max(top & 0xffffu, top >> 16) >= large >> 16) {
      uint4 left = v;
#pragma unroll 1
      for (int i = 0; i < 4; ++i) {
        const float2 two = both(left.x, __nv_bfloat16());
        any(two.x);
        any(two.y);
        left = make_uint4(left.y, left.z, left.w, 0);
      }
    } else {
      elements<__nv_bfloat16>::numbers(v, [&](float x, float y) {
        add(x);
        add(y);
      });
    }
    settle_after(8, *this);
  }
  __device__ __forceinline__ bool met_special() const { return special != 0; }

  // Before the window two and two numbers are added in float, and these two again: exact where they lie within 14
  // powers of two.
  static __device__ __forceinline__ float exact_sum(float x, float y, bool& inexact) {
    float sum, back;
    asm("add.rn.f32 %0, %1, %2;" : "=f"(sum) : "f"(x), "f"(y));
    // Of |x| >= |y| or not: the larger one's part comes back exactly, so the other's must.
    asm("sub.rn.f32 %0, %1, %2;" : "=f"(back) : "f"(sum), "f"(x));
    float other;
    asm("sub.rn.f32 %0, %1, %2;" : "=f"(other) : "f"(sum), "f"(y));
    inexact = inexact || back != y || other != x;
    return sum;
  }
  __device__ __forceinline__ void empty_window() {
    int bit;
    const long long sum = take_out(bit);
    if (sum == 0) return;
#pragma unroll
    for (int i = 0; i < 7; ++i) {  // pieces of 8 bits, as elements are
      const long long piece = i < 6 ? sum >> 8 * i & 0xff : sum >> 48;
      const int at = bit - origin + 8 * i;
      column[(at >> 3) * threads] += static_cast<unsigned>(piece) << (at & 7);
    }
    pending += 2;
  }
  __device__ __forceinline__ void close() { empty_window(); }
  template <class Next>
  __device__ __forceinline__ void round(uint4 (&flying)[loads], Next next) {
    if (aside > 0) {
      --aside;
      simple_round(*this, flying, next);
      return;
    }
    const double kept = first;
    bool inexact = false;
    unsigned moved = 0;
    uint4 held_back[loads];
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      held_back[u] = flying[u];
      flying[u] = next(u);
      const uint4& v = held_back[u];
      const auto two = [&](unsigned w) {
        const float2 p = both(w, __nv_bfloat16());
        return exact_sum(p.x, p.y, inexact);
      };
      into_window(widened(exact_sum(two(v.x), two(v.y), inexact)), inexact, moved);
      into_window(widened(exact_sum(two(v.z), two(v.w), inexact)), inexact, moved);
    }
    if (!__any_sync(~0u, inexact || (moved & 0x7ff00000u) != 0)) {
      held();
      return;
    }
    first = kept;
    unsigned largest = 0;
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      const uint4& v = held_back[u];
      largest = __vmaxu2(largest, __vmaxu2(__vmaxu2(v.x & 0x7fff7fffu, v.y & 0x7fff7fffu),
                                           __vmaxu2(v.z & 0x7fff7fffu, v.w & 0x7fff7fffu)));
    }
    drain(*this, held_back, loads);
    empty_window();
    place_window(__reduce_max_sync(~0u, ::max(largest & 0xffffu, largest >> 16)) >> 7, origin);
    failed();
    settle_after(8 * loads, *this);
  }
};

// half needs no bins while it adds: all halves are multiples of 2^-24 under 2^16, so a double holds the sum of 2^13 of
// them, and an integer of 64 bits that of 2^23. An infinity or NaN goes through the double as it would through any sum.
template <>
struct engine<elements<__half>> : column_of<unsigned long long, 1, 1024>, settling<1 << 12> {
  static constexpr int most = 1 << 12;
  static constexpr range values = range::narrow;
  static constexpr int spacing = 32, origin = -24 - layout<range::narrow>::unit;
  static constexpr int loads = 4;
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
  template <class Next>
  __device__ __forceinline__ void round(uint4 (&flying)[loads], Next next) {
    simple_round(*this, flying, next);
    settle_after(8 * loads, *this);
  }
  __device__ __forceinline__ void settle() {
    const double sum = first + second;  // less than 2^29, in units of 2^-24: exact
    special = special || !(fabs(sum) < 0x1p40);
    settled += special ? 0 : static_cast<long long>(sum * 0x1p24);
    first = second = 0;
  }
  __device__ __forceinline__ bool met_special() const { return special; }
  __device__ __forceinline__ void close() {
    settle();
    *column += static_cast<unsigned long long>(settled);
    settled = 0;
  }
};

}  // namespace coalesce::exact
