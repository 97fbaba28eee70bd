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

// One result for a thread or a warp; arrays and long runs have shared_bins (below).
template <>
struct engine<elements<__nv_bfloat16>> : bfloat16_columns<768>, settling<bfloat16_columns<768>::most> {
  using columns = bfloat16_columns<768>;
  static constexpr int loads = 4;
  static constexpr bool lazy = false, fixed_shares = true;
  static constexpr bool requests_early = true;
  __device__ __forceinline__ void start() { this->zero(); }
  unsigned special;  // two bfloat16: NaN for good from the first infinity or NaN on
  __device__ __forceinline__ void place(char* shared, int thread, long long*) { columns::place(shared, thread); }
  __device__ __forceinline__ void begin() {
    special = 0;
    pending = 0;
  }
  __device__ __forceinline__ void two(unsigned x) {
    asm("fma.rn.bf16x2 %0, %1, %2, %0;" : "+r"(special) : "r"(x), "r"(0u));
    const float2 p = both(x, __nv_bfloat16());
    add(p.x);
    add(p.y);
  }
  __device__ __forceinline__ void one(float x) {
    two(__float_as_uint(x) >> 16);
    settle_after(2, *this);
  }
  __device__ __forceinline__ void vector(const uint4& v) {
    two(v.x);
    two(v.y);
    two(v.z);
    two(v.w);
  }
  template <class Next, class Again>
  __device__ __forceinline__ void round(uint4 (&flying)[loads], Next next, Again) {
    simple_round(*this, flying, next);
    settle_after(8 * loads, *this);
  }
  __device__ __forceinline__ bool met_special() const { return (special & 0x7fff7fffu) != 0; }
  __device__ __forceinline__ void close() {}
};

// bfloat16 of a block: a bin of 32 bits for each sign and exponent and lane, which the warps share. A number's upper 9
// bits say which bin, by a mask and no shift (a bin's 32 lanes are 128 bytes, and the exponent begins at bit 7); what
// the bin gets is the significand, by the addition that shared memory does by itself. As a bin has one exponent,
// nothing is shifted, and no two lanes of a warp ever meet in a bank. Infinities and NaN have bins too.
struct shared_bins {
  using word = unsigned;
  static constexpr range values = range::narrow;
  static constexpr int bins = 256, threads = 512, loads = 8, shared_bytes = 2 * bins * 128;
  static constexpr int origin = 16;  // the last bit of exponent 0: a bfloat16's lies 16 bits above a float's
  static constexpr std::int64_t most_of_block = 1 << 28;  // 2^24 for a lane's bin, were there a lane's for each
  static constexpr bool lazy = false, fixed_shares = true, zeros_leave_traces = false;
  static constexpr bool requests_early = true;
  unsigned lane;  // the first of its bins
  unsigned* all;

  __device__ __forceinline__ void place(char* shared, int thread, long long*) {
    all = reinterpret_cast<unsigned*>(shared);
    lane = static_cast<unsigned>(__cvta_generic_to_shared(shared)) + thread % 32 * 4;
  }
  __device__ __forceinline__ void begin() {}
  __device__ __forceinline__ void start() {
    for (unsigned i = threadIdx.x; i < 2 * bins * 32; i += blockDim.x) all[i] = 0;
  }
  static __device__ __forceinline__ void add(unsigned bin, unsigned significand) {
    asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(bin), "r"(significand) : "memory");
  }
  __device__ __forceinline__ void two(unsigned x) {
    // The hidden bit, which exponent 0 has not.
    const unsigned significands = (x & 0x007f007fu) | __vminu2(x & 0x7f807f80u, 0x00800080u);
    add((x & 0xff80u) + lane, significands & 0xffffu);
    add((x >> 16 & 0xff80u) + lane, significands >> 16);
  }
  __device__ __forceinline__ void vector(const uint4& v) {
    two(v.x);
    two(v.y);
    two(v.z);
    two(v.w);
  }
  template <class Next, class Again>
  __device__ __forceinline__ void round(uint4 (&flying)[loads], Next next, Again) {
    simple_round(*this, flying, next);
  }
};

// What a block adds an array or a long run with.
template <class Input>
struct run_engine_of {
  using type = engine<Input>;
};
template <>
struct run_engine_of<elements<__nv_bfloat16>> {
  using type = shared_bins;
};
template <class Input>
using run_engine = typename run_engine_of<Input>::type;
template <class Engine>
constexpr bool shares_bins = false;
template <>
constexpr bool shares_bins<shared_bins> = true;

// half needs no bins while it adds: all halves are multiples of 2^-24 under 2^16, so a double holds the sum of 2^13 of
// them, and an integer of 64 bits that of 2^23. An infinity or NaN goes through the double as it would through any sum.
template <>
struct engine<elements<__half>> : column_of<unsigned long long, 1, 1024>, settling<1 << 12> {
  static constexpr int most = 1 << 12;
  static constexpr range values = range::narrow;
  static constexpr int spacing = 32, origin = -24 - layout<range::narrow>::unit;
  static constexpr int loads = 4;
  static constexpr bool lazy = true, fixed_shares = false;
  static constexpr bool requests_early = true;
  __device__ __forceinline__ void start() {}
  double first, second;
  long long settled;
  bool special, used_bins = false;  // whether this thread's bin is in use
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
