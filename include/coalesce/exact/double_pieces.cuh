// What a block adds an array or a long run of doubles, or of their products, with.
#pragma once

#include <coalesce/exact/engines_narrow.cuh>
#include <coalesce/exact/engines_wide.cuh>

namespace coalesce::exact {

// As for bfloat16 (engines_narrow.cuh), bins of 32 bits for each lane, which the warps share and to which shared memory
// adds by itself. Bins lie 16 bits apart, and a significand of 53 bits, shifted by up to 15, is cut into five pieces of
// 16 bits for as many neighbouring bins; negative numbers have bins of their own. Nothing is read back, so nothing
// waits, and the bins take so little of shared memory that the rest, which is the first-level cache, has room for all
// that is requested.
struct double_pieces {
  using word = unsigned;
  static constexpr range values = range::wide;
  static constexpr int spacing = 16, origin = 1, pieces = 5, bins = 128 + pieces - 1;  // of one sign
  // A bin's 32 lanes are a row of 128 bytes. A number's sign and the upper seven bits of its exponent become bits 15
  // and 13 to 7 of its first bin's address by a shift and a mask, since bit 14 is the same for all: rows begin at 16
  // KB, those of negative numbers 32 KB above. A block's other shared memory lies below.
  static constexpr int row = 128, base = 1 << 14, negative = 1 << 15, shared_bytes = base + negative + bins * row;
  static constexpr int threads = 512;
  // A lane's bin takes 2^16 pieces, were they all its own; a tile more than its share is allowed for.
  static constexpr std::int64_t most_of_block = (1 << 21) - (1 << 14);
  static constexpr bool lazy = false, fixed_shares = true, zeros_leave_traces = false;
  static constexpr bool requests_early = true;
  unsigned lane;  // the first of its bins
  char* all;

  static __device__ __forceinline__ char* first(char* shared) {
    return shared + (base - static_cast<unsigned>(__cvta_generic_to_shared(shared)));
  }
  __device__ __forceinline__ void place(char* shared, int thread, long long*) {
    lane = base | thread % 32 * 4;
    all = first(shared);
  }
  __device__ __forceinline__ void start() {
    for (unsigned i = threadIdx.x; i < bins * row / 16; i += blockDim.x) {
      reinterpret_cast<uint4*>(all)[i] = make_uint4(0, 0, 0, 0);
      reinterpret_cast<uint4*>(all + negative)[i] = make_uint4(0, 0, 0, 0);
    }
  }
  // What a lane's bins i of both signs hold together.
  static __device__ __forceinline__ long long content(const char* all, int lane, int i) {
    const unsigned* const bin = reinterpret_cast<const unsigned*>(all + i * row + lane * 4);
    return static_cast<long long>(bin[0]) - static_cast<long long>(bin[negative / 4]);
  }

  template <int Piece>
  static __device__ __forceinline__ void add_piece(unsigned bin, unsigned bits) {
    asm volatile("red.shared.add.u32 [%0+%2], %1;" ::"r"(bin), "r"(bits), "n"(Piece * row) : "memory");
  }
  // A number's words are its lower and upper 32 bits, the upper with the hidden bit, if it has one, in the place of
  // sign and exponent; `place` has its sign and max(exponent, 1) - 1 where doubles have sign and exponent, and behind
  // that anything. They say which five bins, and how far the significand is shifted there.
  static __device__ __forceinline__ unsigned hidden_of(double x) { return ::min(high(x) & 0x7ff00000u, 0x00100000u); }
  static __device__ __forceinline__ unsigned upper_of(double x, unsigned hidden) {
    return (high(x) & 0xfffffu) | hidden;
  }
  __device__ __forceinline__ unsigned bin_of(unsigned place) const {
    return (static_cast<unsigned>(static_cast<int>(place) >> 17) & (negative | 127 * row)) | lane;
  }
  static __device__ __forceinline__ void add_words(unsigned bin, unsigned lower, unsigned upper, unsigned place) {
    const unsigned shift = place >> 20 & 15;
    const unsigned w0 = lower << shift, w1 = __funnelshift_l(lower, upper, shift),
                   w2 = __funnelshift_l(upper, 0, shift);
    add_piece<0>(bin, w0 & 0xffffu);
    add_piece<1>(bin, w0 >> 16);
    add_piece<2>(bin, w1 & 0xffffu);
    add_piece<3>(bin, w1 >> 16);
    add_piece<4>(bin, w2);
  }
};

template <class Input>
struct piece_engine;

template <>
struct piece_engine<elements<double>> : double_pieces {
  static constexpr int loads = 8;
  unsigned largest;  // of the exponents
  __device__ __forceinline__ void begin() { largest = 0; }
  __device__ __forceinline__ void add(double x) {
    const unsigned hidden = hidden_of(x), place = high(x) - hidden;
    largest = ::max(largest, exponent_bits(x));
    add_words(bin_of(place), low(x), upper_of(x, hidden), place);
  }
  __device__ __forceinline__ void vector(const uint4& v) {
    elements<double>::numbers(v, [&](double x, double y) {
      add(x);
      add(y);
    });
  }
  template <class Next, class Again>
  __device__ __forceinline__ void round(uint4 (&flying)[loads], Next next, Again) {
    simple_round(*this, flying, next);
  }
  __device__ __forceinline__ bool met_special() const { return largest == 0x7ff00000u; }
};

// Products, as in engine<products_of<double>>: a product and its error are two numbers. What is not goes to bins that
// count for nothing, so that nothing branches, and to the limbs when the round has been added.
template <>
struct piece_engine<products_of<double>> : double_pieces {
  using columns = engine<products_of<double>>;
  static constexpr range values = range::product;
  static constexpr int origin = columns::origin, loads = 4;
  static constexpr std::int64_t most_of_block = double_pieces::most_of_block / 2;
  static constexpr unsigned nowhere = bins * row;  // between the bins of both signs
  long long* rare;
  bool special;
  __device__ __forceinline__ void place(char* shared, int thread, long long* limbs) {
    double_pieces::place(shared, thread, limbs);
    rare = limbs;
  }
  __device__ __forceinline__ void begin() { special = false; }
  // Whether that was all: a product that is two numbers, or 0.
  __device__ __forceinline__ bool add(const two_doubles& x) const {
    constexpr unsigned hidden = 0x00100000u;
    const double p = __dmul_rn(x.a, x.b), rest = __fma_rn(x.a, x.b, -p);
    const bool two = columns::is_sum_of_two(exponent_bits(p));
    const unsigned hidden_rest = hidden_of(rest), place = high(p) - hidden, place_rest = high(rest) - hidden_rest;
    const unsigned bin = two ? bin_of(place) : lane + nowhere, bin_rest = two ? bin_of(place_rest) : lane + nowhere;
    add_words(bin, low(p), upper_of(p, hidden), place);
    add_words(bin_rest, low(rest), upper_of(rest, hidden_rest), place_rest);
    return two || (p == 0 && (x.a == 0 || x.b == 0));
  }
  __device__ __forceinline__ void add_other(const two_doubles& x) {
    const double p = __dmul_rn(x.a, x.b);
    if (!columns::is_sum_of_two(exponent_bits(p))) special = columns::take_other(x.a, x.b, p, rare) || special;
  }
  template <class Next, class Again>
  __device__ __forceinline__ void round(two_vectors (&flying)[loads], Next next, Again again) {
    bool all = true;
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      const two_vectors v = flying[u];
      flying[u] = next(u);
      request_now<piece_engine>();
      products_of<double>::numbers(v, [&](const two_doubles& x, const two_doubles& y) {
        all = add(x) && all;
        all = add(y) && all;
      });
    }
    if (__all_sync(~0u, all)) return;
#pragma unroll 1
    for (int u = 0; u < loads; ++u) {
      products_of<double>::numbers(again(u), [&](const two_doubles& x, const two_doubles& y) {
        add_other(x);
        add_other(y);
      });
    }
  }
  __device__ __forceinline__ bool met_special() const { return special; }
};

template <class Input>
constexpr bool shares_bins<piece_engine<Input>> = true;
template <>
struct run_engine_of<elements<double>> {
  using type = piece_engine<elements<double>>;
};
template <>
struct run_engine_of<products_of<double>> {
  using type = piece_engine<products_of<double>>;
};

}  // namespace coalesce::exact
