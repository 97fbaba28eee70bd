// One thread's exact addition: into a column of integers of its own in shared memory, column[bin * threads], which no
// other thread touches and where no two lanes share a bank. A bin stands for a range of exponents. Adding a number
// reads a bin, adds the shifted significand and writes the bin back: no branch, no atomic, no order.
//
// Bits count from 2^unit of the range (format.hpp): a number with exponent field e has its last bit at bit max(e, 1).
#pragma once

#include <coalesce/detail/exact/total.hpp>

namespace coalesce::detail::exact {

using namespace coalesce::exact;

// The conversion as PTX has it: under -ftz (-use_fast_math) the operator would flush subnormals.
__device__ __forceinline__ double widened(float x) {
  double wide;
  asm("cvt.f64.f32 %0, %1;" : "=d"(wide) : "f"(x));
  return wide;
}

// `Bins` bins of Word, bin i worth 2^(origin + i * spacing).
template <class Word, int Bins, int Threads>
struct column_of {
  using word = Word;
  static constexpr int bins = Bins, threads = Threads, sums = Bins;
  static constexpr bool zeros_leave_traces = false;  // whether adding -0 changes bins
  static constexpr int shared_bytes = Bins * Threads * static_cast<int>(sizeof(Word));
  Word* column;

  __device__ __forceinline__ void place(char* shared, int thread) { column = reinterpret_cast<Word*>(shared) + thread; }
  __device__ __forceinline__ void zero() {
#pragma unroll 8
    for (int i = 0; i < Bins; ++i) column[i * Threads] = 0;
  }
  __device__ __forceinline__ void need_bins() { zero(); }
};

// float: 16 bins of 64 bits, each for 16 exponents. The FP64 unit does sign, shift and subnormals: x + 1.5 * 2^k has x
// in its last bits, in units of the bin's, and a difference of bits is that integer.
template <int Threads>
struct float_columns : column_of<unsigned long long, 16, Threads> {
  static constexpr range values = range::narrow;
  static constexpr int spacing = 16, origin = 0;
  static constexpr int most = 1 << 23;  // numbers between two settle()

  __device__ __forceinline__ void add(float x) {
    // 1.5 * 2^(16 * bin + 1): last bit 2^(16 * bin - 51), which is the bin's of x * 2^99.
    unsigned magic;  // (x >> 3 & 0x0f000000) | 0x40080000
    asm("lop3.b32 %0, %1, %2, %3, 0xea;"
        : "=r"(magic)
        : "r"(__float_as_uint(x) >> 3), "r"(0x0f000000u), "r"(0x40080000u));
    const double sum = __fma_rn(widened(x), 0x1p99, __hiloint2double(static_cast<int>(magic), 0));
    constexpr unsigned per_byte = (1u << 24) / (Threads * 8);  // of `magic`, from bin to bin
    unsigned long long* bin = reinterpret_cast<unsigned long long*>(reinterpret_cast<char*>(this->column) +
                                                                    (magic / per_byte - 0x40080000u / per_byte));
    *bin += static_cast<unsigned long long>(__double_as_longlong(sum)) - (static_cast<unsigned long long>(magic) << 32);
  }
  __device__ __forceinline__ void settle() {}
};

// bfloat16: a significand of 8 bits fits 32-bit bins, each for 8 exponents: half the traffic to shared memory. FP32
// does sign, shift and subnormals. Three bins more than there are exponents take the carries.
template <int Threads>
struct bfloat16_columns : column_of<unsigned, 35, Threads> {
  static constexpr range values = range::narrow;
  static constexpr int spacing = 8, origin = 16;  // a bfloat16's last bit lies 16 bits above the float's that it is
  static constexpr int most = 1 << 15;

  // Numbers of bin i are less than 2^(8i - 119), with last bits from 2^(8i - 134) on: times 2^(124 - 8i) they are less
  // than 2^5, with last bits from 2^-10 on, as 1.5 * 2^13 has.
  __device__ __forceinline__ void add(float x) {
    const unsigned block = __float_as_uint(x) & 0x7c000000u, start = 0x46400000u;
    float sum;
    asm("fma.rn.f32 %0, %1, %2, %3;"
        : "=f"(sum)
        : "f"(x), "f"(__uint_as_float((251u << 23) - block)), "f"(__uint_as_float(start)));
    unsigned* bin = this->column + (block >> 26) * Threads;
    *bin += __float_as_uint(sum) - start;
  }
  __device__ __forceinline__ void settle() {
    int carry = 0;
#pragma unroll 7
    for (int i = 0; i < 35; ++i) {
      const int sum = static_cast<int>(this->column[i * Threads]) + carry;
      carry = sum >> 8;
      this->column[i * Threads] = static_cast<unsigned>(i < 34 ? sum & 255 : sum);
    }
  }
};

// Products of two bfloat16: doubles of 16 bits. As for float, bins for 16 exponents each; 33 of them reach from 2^-271
// to 2^257, and are found by the exponent modulo 1024: 0, infinities and NaN go to some bin too.
template <int Threads>
struct bfloat16_product_columns : column_of<unsigned long long, 33, Threads> {
  static constexpr range values = range::wide;
  static constexpr int first_block = 47;  // exponent field / 16
  static constexpr int spacing = 16, origin = 16 * first_block - 15 + 52;
  static constexpr int most = 1 << 23;

  __device__ __forceinline__ void add(double x) {
    const unsigned block = static_cast<unsigned>(__double2hiint(x)) & 0x7f000000u;
    const unsigned magic = (block + ((37u << 20) | 0x80000u)) & 0x7fffffffu;  // 37 = 52 - 15: last bits are the bin's
    const double sum = __dadd_rn(x, __hiloint2double(static_cast<int>(magic), 0));
    unsigned long long* bin = this->column + (((block >> 24) + 64 - first_block) & 63) * Threads;
    *bin += static_cast<unsigned long long>(__double_as_longlong(sum)) - (static_cast<unsigned long long>(magic) << 32);
  }
  __device__ __forceinline__ void settle() {}
};

// double: bins of 64 bits that lie 32 bits apart; a number's 53 bits, shifted by up to 31, touch two. FirstLimb and
// Bins leave out what cannot occur: doubles need bins 0 ... 65, products of two float or bfloat16 only 22 ... 41.
// A number with exponent field e lies at place max(e, 1) - 1: subnormals have no hidden bit and the exponent of 1, and
// the difference of field and hidden bit says both.
template <int FirstLimb, int Bins, int Threads>
struct double_columns : column_of<unsigned long long, Bins, Threads> {
  static constexpr range values = range::wide;
  static constexpr int spacing = 32, origin = 32 * FirstLimb + 1;
  static constexpr bool zeros_leave_traces = true;
  static constexpr int most = 960;  // a bin takes 1023 numbers of 52 bits and what is left from before

  __device__ __forceinline__ void add(double x) {
    const unsigned low = static_cast<unsigned>(__double2loint(x)), high = static_cast<unsigned>(__double2hiint(x));
    const unsigned sign = static_cast<unsigned>(static_cast<int>(high) >> 31), field = high & 0x7ff00000u;
    const unsigned hidden = ::min(field, 0x00100000u), place = field - hidden, position = place >> 20;
    const unsigned upper = ((high & 0xfffffu) | hidden) ^ sign, lower = low ^ sign;
    // Negative numbers are flipped, ones shifted in from both ends, and 1 is added at the end of the lowest word. (The
    // shifts take their distance modulo 32.)
    const unsigned w0 = __funnelshift_l(sign, lower, position), w1 = __funnelshift_l(lower, upper, position),
                   w2 = __funnelshift_l(upper, sign, position);
    // 0 alone lies below the first limb, and may go to any.
    const int limb =
        FirstLimb == 0 ? static_cast<int>(place >> 25) : ::max(static_cast<int>(place >> 25), FirstLimb) - FirstLimb;
    constexpr int bytes = Threads * static_cast<int>(sizeof(unsigned long long));
    unsigned long long* bin =
        reinterpret_cast<unsigned long long*>(reinterpret_cast<char*>(this->column) + limb * bytes);
    const unsigned long long v0 = bin[0] + w0 + (high >> 31);
    const unsigned long long v1 = bin[Threads] + (static_cast<unsigned long long>(w2) << 32 | w1);
    bin[0] = v0;
    bin[Threads] = v1;
  }
  __device__ __forceinline__ void settle() {
    long long carry = 0;
    constexpr int batch = Bins % 11 == 0 ? 11 : 10;
    static_assert(Bins % batch == 0, "bins are carried in batches");
    for (int i = 0; i < Bins; i += batch) {
      long long v[batch];
#pragma unroll
      for (int j = 0; j < batch; ++j) v[j] = static_cast<long long>(this->column[(i + j) * Threads]);
#pragma unroll
      for (int j = 0; j < batch; ++j) {
        const long long sum = v[j] + carry;
        const bool last = i + j == Bins - 1;
        carry = sum >> 32;
        this->column[(i + j) * Threads] = static_cast<unsigned long long>(last ? sum : sum & 0xffffffffll);
      }
    }
  }
};

}  // namespace coalesce::detail::exact
