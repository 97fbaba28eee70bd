// Engines of numbers that are doubles: sums of double, products of float, bfloat16 and double.
#pragma once

#include <coalesce/exact/engine.cuh>

namespace coalesce::exact {

// Numbers that are doubles go straight to the bins: products of float and bfloat16.
template <class Input>
struct product_engine : double_columns<22, 20, 768>, settling<double_columns<22, 20, 768>::most> {
  using columns = double_columns<22, 20, 768>;
  static constexpr int loads = 2;
  unsigned largest;  // of all high words, without sign
  __device__ __forceinline__ void place(char* shared, int thread, long long*) { columns::place(shared, thread); }
  __device__ __forceinline__ void begin() {
    largest = 0;
    pending = 0;
  }
  __device__ __forceinline__ void take(double x) {
    largest = ::max(largest, static_cast<unsigned>(__double2hiint(x)) & 0x7fffffffu);
    if (largest < 0x7ff00000u) add(x);  // an infinity's bin does not exist here
  }
  __device__ __forceinline__ void one(double x) {
    take(x);
    settle_after(1, *this);
  }
  __device__ __forceinline__ void vector(const typename Input::vector& v) {
    Input::numbers(v, [&](double x, double y) {
      take(x);
      take(y);
    });
  }
  template <class Next>
  __device__ __forceinline__ void round(typename Input::vector (&flying)[loads], Next next) {
    simple_round(*this, flying, next);
    settle_after(Input::width * loads, *this);
  }
  __device__ __forceinline__ bool met_special() const { return largest >= 0x7ff00000u; }
  __device__ __forceinline__ void close() {}
};
template <>
struct engine<products_of<float>> : product_engine<products_of<float>> {};
template <>
struct engine<products_of<__nv_bfloat16>> : product_engine<products_of<__nv_bfloat16>> {};

// Products of doubles. Away from the ends of the range a product is the sum of two doubles, a*b rounded and its error,
// and both go to the bins. Near the ends it is an integer of 106 bits, which goes to limbs that the threads share.
template <>
struct engine<products_of<double>> : double_columns<0, 66, 384>, settling<double_columns<0, 66, 384>::most> {
  using columns = double_columns<0, 66, 384>;
  static constexpr range values = range::product;
  static constexpr int origin = layout<range::wide>::unit - layout<range::product>::unit;
  static constexpr int loads = 3;
  long long* rare;
  bool special;
  __device__ __forceinline__ void place(char* shared, int thread, long long* limbs) {
    columns::place(shared, thread);
    rare = limbs;
  }
  __device__ __forceinline__ void begin() {
    special = false;
    pending = 0;
  }
  __device__ __noinline__ static bool take_rare(double a, double b, long long* limb) {  // true: an infinity or NaN
    const unsigned long long x = to_bits(a), y = to_bits(b);
    const int ex = static_cast<int>(x >> 52 & 0x7ff), ey = static_cast<int>(y >> 52 & 0x7ff);
    if (ex == 0x7ff || ey == 0x7ff) return true;
    constexpr unsigned long long fraction = (1ull << 52) - 1;
    const unsigned long long mx = (x & fraction) | (ex != 0 ? 1ull << 52 : 0),
                             my = (y & fraction) | (ey != 0 ? 1ull << 52 : 0);
    const unsigned long long low = mx * my, high = __umul64hi(mx, my);
    const bool negative = (x ^ y) >> 63;
    const int position = ::max(ex, 1) + ::max(ey, 1) + 2 * layout<range::wide>::unit - layout<range::product>::unit;
    const unsigned part[4] = {static_cast<unsigned>(low), static_cast<unsigned>(low >> 32), static_cast<unsigned>(high),
                              static_cast<unsigned>(high >> 32)};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const long long digit = negative ? -static_cast<long long>(part[i]) : static_cast<long long>(part[i]);
      if (digit != 0) deposit(limb, digit, 0, position + 32 * i);
    }
    return false;
  }
  __device__ __forceinline__ void take(const two_doubles& x) {
    const double p = __dmul_rn(x.a, x.b);
    const unsigned field = static_cast<unsigned>(__double2hiint(p)) & 0x7ff00000u;
    if (field - (64u << 20) < (1959u << 20)) {
      add(p);
      add(__fma_rn(x.a, x.b, -p));
    } else if (x.a != 0 && x.b != 0) {
      special = take_rare(x.a, x.b, rare) || special;
    } else {
      special = special || p != 0;  // 0 * infinity
    }
  }
  __device__ __forceinline__ void one(const two_doubles& x) {
    take(x);
    settle_after(2, *this);
  }
  __device__ __forceinline__ void vector(const two_vectors& v) {
    products_of<double>::numbers(v, [&](const two_doubles& x, const two_doubles& y) {
      take(x);
      take(y);
    });
  }
  template <class Next>
  __device__ __forceinline__ void round(two_vectors (&flying)[loads], Next next) {
    simple_round(*this, flying, next);
    settle_after(4 * loads, *this);
  }
  __device__ __forceinline__ bool met_special() const { return special; }
  __device__ __forceinline__ void close() {}
};

// double: a second window takes what the first leaves, t = a + x; x - (t - a).
template <>
struct engine<elements<double>> : double_columns<0, 66, 384>, settling<double_columns<0, 66, 384>::most>, window {
  using columns = double_columns<0, 66, 384>;
  static constexpr int loads = 8;
  double second = 0, second_start = 0;
  unsigned largest;  // of all high words, without sign

  __device__ __forceinline__ void place(char* shared, int thread, long long*) { columns::place(shared, thread); }
  __device__ __forceinline__ void begin() {
    largest = 0;
    pending = 0;
  }
  __device__ __forceinline__ bool met_special() const { return largest >= 0x7ff00000u; }
  __device__ __forceinline__ void direct(double x) {
    largest = ::max(largest, static_cast<unsigned>(__double2hiint(x)) & 0x7fffffffu);
    add(x);
  }
  __device__ __forceinline__ void one(double x) {
    direct(x);
    settle_after(1, *this);
  }
  __device__ __forceinline__ void vector(const uint4& v) {
    elements<double>::numbers(v, [&](double x, double y) {
      direct(x);
      direct(y);
    });
  }
  __device__ __forceinline__ void empty_windows() {
    add(__dsub_rn(first, first_start));
    add(__dsub_rn(second, second_start));
    pending += 2;
  }
  // After a failure: windows for numbers up to that with high word `largest_high`, in any lane.
  __device__ __forceinline__ void place_windows(unsigned largest_high) {
    empty_windows();
    // 2^14 above the largest number: so many of them fit. Not so low that the second window would be subnormal.
    const int exponent = ::max(static_cast<int>(__reduce_max_sync(~0u, largest_high) >> 20) + 14, 41);
    failed();
    const bool off = exponent > 2040;
    first = first_start = __hiloint2double(off ? 0 : exponent << 20 | 0x80000, 0);
    second = second_start =
        __hiloint2double(off ? 0 : (exponent - 40) << 20 | 0x80000, 0);  // 2^12 halves of the first's last bit
  }
  __device__ __forceinline__ void windowed(double x, double y, unsigned& moved, unsigned& left) {
    const double t0 = __dadd_rn(first, x), l0 = __dsub_rn(x, __dsub_rn(t0, first));
    const double u0 = __dadd_rn(second, l0), r0 = __dsub_rn(l0, __dsub_rn(u0, second));
    first = __dadd_rn(t0, y);
    const double l1 = __dsub_rn(y, __dsub_rn(first, t0));
    second = __dadd_rn(u0, l1);
    const double r1 = __dsub_rn(l1, __dsub_rn(second, u0));
    moved |= (high(t0) ^ high(first_start)) | (high(first) ^ high(first_start));
    moved |= (high(u0) ^ high(second_start)) | (high(second) ^ high(second_start));
    left |= high(r0) | low(r0);
    left |= high(r1) | low(r1);
  }
  template <class Next>
  __device__ __forceinline__ void round(uint4 (&flying)[loads], Next next) {
    const auto take = [&](double x, double y) {
      direct(x);
      direct(y);
    };
    if (aside > 0) {
      --aside;
#pragma unroll
      for (int u = 0; u < loads; ++u) {
        const uint4 v = flying[u];
        flying[u] = next(u);
        elements<double>::numbers(v, take);
      }
      settle_after(2 * loads, *this);
      return;
    }
    const double kept = first, kept_second = second;
    unsigned moved = 0, left = 0;
    uint4 held_back[loads];
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      held_back[u] = flying[u];
      flying[u] = next(u);
      elements<double>::numbers(held_back[u], [&](double x, double y) { windowed(x, y, moved, left); });
    }
    if (!__any_sync(~0u, ((moved & 0x7ff00000u) | left) != 0)) {
      held();
      return;
    }
    first = kept;
    second = kept_second;
    unsigned most_high = 0;
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      elements<double>::numbers(held_back[u], [&](double x, double y) {
        most_high = ::max(most_high, ::max(static_cast<unsigned>(__double2hiint(x)) & 0x7fffffffu,
                                           static_cast<unsigned>(__double2hiint(y)) & 0x7fffffffu));
        take(x, y);
      });
    }
    place_windows(most_high);
    settle_after(2 * loads, *this);
  }
  __device__ __forceinline__ void close() {
    empty_windows();
    first = first_start;
    second = second_start;
  }
};

}  // namespace coalesce::exact
