// The engine of a block for arrays or long runs of doubles, or of their products.
#pragma once

#include <coalesce/detail/exact/thread_accumulator_narrow.cuh>
#include <coalesce/detail/exact/thread_accumulator_wide.cuh>

namespace coalesce::detail::exact {

// As for bfloat16 (thread_accumulator_narrow.cuh), each lane has bins of 32 bits, which the warps share and to which
// shared memory adds (red.shared). Bins lie 16 bits apart. A significand of 53 bits, shifted by up to 15, is cut into
// five pieces of 16 bits for neighbouring bins, a product's 106 bits into eight. Negative numbers have bins of their
// own. Nothing is read back, so nothing waits. The bins leave most of shared memory to the first-level cache, which
// needs room for the loads in flight.
template <int Pieces, int BinBits>
struct pieces_engine {
  using word = unsigned;
  static constexpr range values = Pieces == 5 ? range::wide : range::product;
  static constexpr int spacing = 16, pieces = Pieces, bins = (1 << BinBits) + Pieces - 1;  // of one sign
  static constexpr int sums = bins;                                                        // in a block_room
  // A bin's 32 lanes are a row of 128 bytes. The upper bits of a number's exponent and its sign become bits of its
  // first bin's address by shifts and masks, with a bit between them that is the same for all: rows begin at 16 or 32
  // KB, those of negative numbers 32 or 64 KB above. A block's other shared memory lies below.
  static constexpr int row = 128, negative = row << (BinBits + 1), base = negative / 2,
                       shared_bytes = base + negative + bins * row;
  static constexpr unsigned bin_bits = ((1u << BinBits) - 1) * row;
  static constexpr int threads = 512;
  // A lane's bin takes 2^16 pieces, were they all its own; a tile more than its share is allowed for.
  static constexpr std::int64_t most_of_block = (1 << 21) - (1 << 14);
  static constexpr bool lazy = false, fixed_shares = true, zeros_leave_traces = false;
  static constexpr bool requests_early = true;
  unsigned lane;  // the first of its bins
  char* all;
  unsigned largest;  // of the exponents

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
  __device__ __forceinline__ void begin() { largest = 0; }
  __device__ __forceinline__ bool met_special() const { return largest == 0x7ff00000u; }
  // The content of a lane's bins i of both signs.
  static __device__ __forceinline__ long long content(const char* all, int lane, int i) {
    const unsigned* const bin = reinterpret_cast<const unsigned*>(all + i * row + lane * 4);
    return static_cast<long long>(bin[0]) - static_cast<long long>(bin[negative / 4]);
  }

  // Adds a piece, and the one behind it.
  template <int Piece>
  static __device__ __forceinline__ void add_piece(unsigned bin, unsigned bits) {
    asm volatile("red.shared.add.u32 [%0+%2], %1;" ::"r"(bin), "r"(bits), "n"(Piece * row) : "memory");
  }
  template <int Piece>
  static __device__ __forceinline__ void add_pieces(unsigned bin, unsigned bits) {
    add_piece<Piece>(bin, bits & 0xffffu);
    add_piece<Piece + 1>(bin, bits >> 16);
  }
  // The hidden bit of a number with this exponent, which says as well how far the exponent of subnormals, 0, is from
  // what it means.
  static __device__ __forceinline__ unsigned hidden_bit(unsigned exponent) { return ::min(exponent, 0x00100000u); }
};

template <class Input>
struct piece_engine;

template <>
struct piece_engine<elements<double>> : pieces_engine<5, 7> {
  static constexpr int origin = 1, loads = 8;
  __device__ __forceinline__ void add(double x) {
    const unsigned exponent = exponent_bits(x), hidden = hidden_bit(exponent), upper = (high(x) & 0xfffffu) | hidden,
                   place = high(x) - hidden, shift = place >> 20 & 15;
    largest = ::max(largest, exponent);
    // The sign is shifted in from above, and so comes to its place too.
    const unsigned bin = (static_cast<unsigned>(static_cast<int>(place) >> 17) & (negative | bin_bits)) | lane;
    add_pieces<0>(bin, low(x) << shift);
    add_pieces<2>(bin, __funnelshift_l(low(x), upper, shift));
    add_piece<4>(bin, __funnelshift_l(upper, 0, shift));
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
};

template <>
struct piece_engine<products_of<double>> : pieces_engine<8, 8> {
  static constexpr int origin = 2 * layout<range::wide>::unit - layout<range::product>::unit + 2, loads = 4;
  __device__ __forceinline__ void add(const two_doubles& x) {
    using wide = unsigned long long;
    const unsigned exponent_a = exponent_bits(x.a), exponent_b = exponent_bits(x.b), hidden_a = hidden_bit(exponent_a),
                   hidden_b = hidden_bit(exponent_b), upper_a = (high(x.a) & 0xfffffu) | hidden_a,
                   upper_b = (high(x.b) & 0xfffffu) | hidden_b, place = exponent_a + exponent_b - hidden_a - hidden_b,
                   shift = place >> 20 & 15;
    largest = ::max(largest, ::max(exponent_a, exponent_b));
    const wide lowest = static_cast<wide>(low(x.a)) * low(x.b),
               middle = static_cast<wide>(low(x.a)) * upper_b + (lowest >> 32) + static_cast<wide>(upper_a) * low(x.b),
               top = static_cast<wide>(upper_a) * upper_b + (middle >> 32);
    const unsigned w0 = static_cast<unsigned>(lowest), w1 = static_cast<unsigned>(middle),
                   w2 = static_cast<unsigned>(top), w3 = static_cast<unsigned>(top >> 32);
    const unsigned bin = ((place >> 17 & bin_bits) | lane) | ((high(x.a) ^ high(x.b)) >> 15 & negative);
    add_pieces<0>(bin, w0 << shift);
    add_pieces<2>(bin, __funnelshift_l(w0, w1, shift));
    add_pieces<4>(bin, __funnelshift_l(w1, w2, shift));
    add_pieces<6>(bin, __funnelshift_l(w2, w3, shift));
  }
  __device__ __forceinline__ void vector(const two_vectors& v) {
    products_of<double>::numbers(v, [&](const two_doubles& x, const two_doubles& y) {
      add(x);
      add(y);
    });
  }
  template <class Next, class Again>
  __device__ __forceinline__ void round(two_vectors (&flying)[loads], Next next, Again) {
    simple_round(*this, flying, next);
  }
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

}  // namespace coalesce::detail::exact
