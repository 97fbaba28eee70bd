// Engines of what fits the narrow range: sums of float, bfloat16 and half, products of half.
#pragma once

#include <coalesce/detail/exact/thread_accumulator.cuh>

namespace coalesce::detail::exact {

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

// bfloat16 and float of a block: a bin of one or two words of 32 bits for each sign and exponent and lane, which the
// warps share. A number's upper 9 bits say which bin, by a mask and no shift (a bin's 32 lanes are 128 bytes, and a
// bfloat16's exponent begins at bit 7); what the bin gets is the significand, by the addition that shared memory does
// by itself. As a bin has one exponent, nothing is shifted, and no two lanes of a warp ever use the same bank. A float
// is a bfloat16 and 16 bits more, which go to the bin's second word. Infinities and NaN have bins too.
//
// With fewer Lanes than a warp has some share a word, and wait for each other where their exponents are the same.
template <class T, int Lanes = 32>
struct shared_bins {
  using word = unsigned;
  static constexpr range values = range::narrow;
  static constexpr int words = sizeof(T) / 2, bins = 512, threads = 512, loads = 8, origin = 0;
  // The second words lie behind all first ones. Where bins begin at a multiple of 64 KB a bin's address is put together
  // by one operation; a block's other shared memory lies below.
  static constexpr bool aligned = Lanes == 32;
  static constexpr int row = Lanes * 4, plane = bins * row, bytes = words * plane,
                       shared_bytes = aligned ? bytes + plane - 1024 : bytes;
  // A lane's word takes 2^24 significands of 8 bits, or 2^16 of 16, were they all its own; a chunk of tiles more than
  // its share is allowed for.
  static constexpr std::int64_t most_of_block = (words == 1 ? 1 << 28 : (1 << 21) - (1 << 14)) / 32 * Lanes;
  static constexpr bool lazy = false, fixed_shares = true, zeros_leave_traces = false;
  static constexpr bool requests_early = true;
  static constexpr int sums = 0;  // of bins in a block_room
  unsigned lane;                  // the first of its bins
  uint4* all;

  static __device__ __forceinline__ char* first(char* shared) {
    return aligned ? shared + (0u - static_cast<unsigned>(__cvta_generic_to_shared(shared))) % plane : shared;
  }
  __device__ __forceinline__ void place(char* shared, int thread, long long*) {
    all = reinterpret_cast<uint4*>(first(shared));
    lane = static_cast<unsigned>(__cvta_generic_to_shared(all)) + thread % Lanes * 4;
  }
  __device__ __forceinline__ void begin() {}
  __device__ __forceinline__ void start() {
#pragma unroll 8
    for (unsigned i = threadIdx.x; i < bytes / 16; i += blockDim.x) all[i] = make_uint4(0, 0, 0, 0);
  }
  template <int Plane>
  static __device__ __forceinline__ void add(unsigned bin, unsigned bits) {
    asm volatile("red.shared.add.u32 [%0+%2], %1;" ::"r"(bin), "r"(bits), "n"(Plane * plane) : "memory");
  }
  __device__ __forceinline__ unsigned bin_of(unsigned x) const {
    return aligned ? (x & 0xff80u) | lane : (x & 0xff80u) / 128 * row + lane;
  }
  // Two bfloat16, or the upper halves of two floats.
  __device__ __forceinline__ void two(unsigned x, unsigned& first, unsigned& second) {
    // The hidden bit, which exponent 0 has not.
    const unsigned significands = (x & 0x007f007fu) | __vminu2(x & 0x7f807f80u, 0x00800080u);
    first = bin_of(x);
    second = bin_of(x >> 16);
    add<0>(first, significands & 0xffffu);
    add<0>(second, significands >> 16);
  }
  __device__ __forceinline__ void numbers(unsigned x, unsigned y) {
    unsigned first, second;
    if constexpr (words == 2) {
      two(__byte_perm(x, y, 0x7632), first, second);
      add<1>(first, x & 0xffffu);
      add<1>(second, y & 0xffffu);
    } else {
      two(x, first, second);
      two(y, first, second);
    }
  }
  __device__ __forceinline__ void vector(const uint4& v) {
    numbers(v.x, v.y);
    numbers(v.z, v.w);
  }
  template <class Next, class Again>
  __device__ __forceinline__ void round(uint4 (&flying)[loads], Next next, Again) {
    simple_round(*this, flying, next);
  }
};

// The engine of a block for an array or a long run.
template <class Input>
struct run_engine_of {
  using type = engine<Input>;
};
template <>
struct run_engine_of<elements<__nv_bfloat16>> {
  using type = shared_bins<__nv_bfloat16>;
};
template <>
struct run_engine_of<elements<float>> {
  using type = shared_bins<float>;
};
template <class Input>
using run_engine = typename run_engine_of<Input>::type;
template <class Engine>
constexpr bool shares_bins = false;
template <class T, int Lanes>
constexpr bool shares_bins<shared_bins<T, Lanes>> = true;

// The engine for small arrays, whose sum is mostly in registers: with as little shared memory as possible, because a
// launch that asks for more takes longer to start.
template <class Input>
struct little_engine_of {
  using type = run_engine<Input>;
};
template <>
struct little_engine_of<elements<__nv_bfloat16>> {
  using type = shared_bins<__nv_bfloat16, 4>;
};
template <>
struct little_engine_of<elements<float>> {
  using type = shared_bins<float, 4>;
};

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

}  // namespace coalesce::detail::exact
