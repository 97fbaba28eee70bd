// Engines of numbers that are doubles: sums of double, products of float, bfloat16 and double.
#pragma once

#include <coalesce/detail/exact/thread_accumulator.cuh>

namespace coalesce::detail::exact {

// Numbers that are doubles and go straight to the bins. Products of floats lie within 20 bins.
template <class Input, class Columns, int Loads>
struct columns_engine : Columns, settling<Columns::most> {
  static constexpr int loads = Loads;
  static constexpr bool lazy = false, fixed_shares = true;
  static constexpr bool requests_early = Loads > 2;
  __device__ __forceinline__ void start() { this->zero(); }
  unsigned largest;  // of all high words, without sign
  __device__ __forceinline__ void place(char* shared, int thread, long long*) { Columns::place(shared, thread); }
  __device__ __forceinline__ void begin() {
    largest = 0;
    this->pending = 0;
  }
  __device__ __forceinline__ void take(double x) {
    largest = ::max(largest, high(x) & 0x7fffffffu);
    // An infinity's bin exists only where the bins are found modulo something.
    if (Columns::spacing == 16 || largest < 0x7ff00000u) this->add(x);
  }
  __device__ __forceinline__ void one(double x) {
    take(x);
    this->settle_after(1, *this);
  }
  __device__ __forceinline__ void vector(const typename Input::vector& v) {
    Input::numbers(v, [&](double x, double y) {
      take(x);
      take(y);
    });
  }
  template <class Next, class Again>
  __device__ __forceinline__ void round(typename Input::vector (&flying)[loads], Next next, Again) {
    simple_round(*this, flying, next);
    this->settle_after(Input::width * loads, *this);
  }
  __device__ __forceinline__ bool met_special() const { return largest >= 0x7ff00000u; }
  __device__ __forceinline__ void close() {}
};
template <>
struct engine<products_of<float>> : columns_engine<products_of<float>, double_columns<22, 20, 768>, 2> {};
template <>
struct engine<products_of<__nv_bfloat16>>
    : columns_engine<products_of<__nv_bfloat16>, bfloat16_product_columns<768>, 2> {};
// One result for a thread or a warp; arrays and long runs have double_pieces (below).
template <>
struct engine<elements<double>> : columns_engine<elements<double>, double_columns<0, 66, 384>, 8> {};

// Products of doubles. Away from the ends of the range a product is the sum of two doubles, a*b rounded and its error,
// and both go to the bins. Near the ends it is an integer of 106 bits, which goes to limbs that the threads share.
template <>
struct engine<products_of<double>> : double_columns<0, 66, 384>, settling<double_columns<0, 66, 384>::most> {
  using columns = double_columns<0, 66, 384>;
  static constexpr range values = range::product;
  static constexpr int origin = columns::origin + layout<range::wide>::unit - layout<range::product>::unit;
  static constexpr int loads = 4;
  static constexpr bool lazy = false, fixed_shares = true;
  static constexpr bool requests_early = true;
  __device__ __forceinline__ void start() { this->zero(); }
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
  template <class Next, class Again>
  __device__ __forceinline__ void round(two_vectors (&flying)[loads], Next next, Again) {
    simple_round(*this, flying, next);
    settle_after(4 * loads, *this);
  }
  __device__ __forceinline__ bool met_special() const { return special; }
  __device__ __forceinline__ void close() {}
};

}  // namespace coalesce::detail::exact
