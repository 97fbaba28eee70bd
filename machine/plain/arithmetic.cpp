// Arithmetic of atomics and of bulk reductions, on the bits of one element in memory.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "machine/plain/run.h"

namespace coalesce::machine::plain {

namespace {

uint64_t integer_result(const MemoryForm& m, uint64_t old, uint64_t a, uint64_t b) {
  if (m.what >= Arithmetic::arrive) return mbarrier_result(m.what, old, a);
  const unsigned bits = 8 * m.width, unused = 64 - bits;
  const auto less = [&](uint64_t x, uint64_t y) {
    if (m.number != Number::is_signed) return x < y;
    return static_cast<int64_t>(x << unused) < static_cast<int64_t>(y << unused);
  };
  switch (m.what) {
    case Arithmetic::add:
      return old + a;
    case Arithmetic::min:
      return less(a, old) ? a : old;
    case Arithmetic::max:
      return less(old, a) ? a : old;
    case Arithmetic::inc:
      return old >= a ? 0 : old + 1;
    case Arithmetic::dec:
      return old == 0 || old > a ? a : old - 1;
    case Arithmetic::and_:
      return old & a;
    case Arithmetic::or_:
      return old | a;
    case Arithmetic::xor_:
      return old ^ a;
    case Arithmetic::exch:
      return a;
    default:
      return old == a ? b : old;
  }
}

// Sums of single precision flush subnormal numbers in global memory, not in shared memory (docs/results/operations.md).
float flushed(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

template <class Word, class Real>
uint64_t real_result(Arithmetic what, uint64_t old_bits, uint64_t bits, bool flushes) {
  const auto of = [](uint64_t v) {
    const Word word = static_cast<Word>(v);
    Real r;
    std::memcpy(&r, &word, sizeof r);
    return r;
  };
  const Real old = of(old_bits), a = of(bits);
  Real r = a;
  if (what == Arithmetic::add) {
    r = old + a;
    if constexpr (sizeof(Real) == 4) {
      if (flushes) r = flushed(flushed(old) + flushed(a));
      if (std::isnan(r)) return 0x7fffffff;
    }
  }
  if (what == Arithmetic::min) r = std::fmin(old, a);
  if (what == Arithmetic::max) r = std::fmax(old, a);
  Word word;
  std::memcpy(&word, &r, sizeof word);
  return word;
}

// Real numbers of 16 bits with so many digits (the hidden one, too); the smallest is 2^least.
struct Narrow {
  int digits, least;
  uint64_t infinity;
};
double real_of(const Narrow& n, uint64_t bits) {
  const uint64_t size = bits & 0x7fff, ones = uint64_t{1} << (n.digits - 1);
  const int exponent = static_cast<int>(size >> (n.digits - 1));
  const double part = static_cast<double>((size & (ones - 1)) + (exponent ? ones : 0));
  const double r = size > n.infinity    ? NAN
                   : size == n.infinity ? INFINITY
                                        : std::ldexp(part, n.least + std::max(exponent - 1, 0));
  return bits & 0x8000 ? -r : r;
}
// The nearest, of two the even one. A sum of two such numbers, as a double, is exact or far from the middle of two.
uint64_t nearest(const Narrow& n, double v) {
  if (std::isnan(v)) return 0x7fff;
  const uint64_t sign = std::signbit(v) ? 0x8000 : 0;
  if (v == 0 || std::isinf(v)) return sign | (v == 0 ? 0 : n.infinity);
  const int last = std::max(std::ilogb(v) - (n.digits - 1), n.least);
  const auto units = static_cast<uint64_t>(std::nearbyint(std::ldexp(std::fabs(v), -last)));
  return sign | std::min((static_cast<uint64_t>(last - n.least) << (n.digits - 1)) + units, n.infinity);
}

// Halves, one or two in a word. Of a number and a NaN, the extreme is the number; -0 is below +0.
uint64_t half_result(const MemoryForm& m, uint64_t old, uint64_t a) {
  if (m.what == Arithmetic::exch) return a;
  const Narrow n =
      m.number == Number::f16 || m.number == Number::f16x2 ? Narrow{11, -24, 0x7c00} : Narrow{8, -133, 0x7f80};
  uint64_t both = 0;
  for (uint32_t k = 0; k < m.width; k += 2) {
    const double x = real_of(n, old >> 8 * k & 0xffff), y = real_of(n, a >> 8 * k & 0xffff);
    const bool first = std::isnan(y) || x < y || (x == y && std::signbit(x));  // x is the smaller one
    const double low = first && !std::isnan(x) ? x : y, high = std::isnan(x) || (first && !std::isnan(y)) ? y : x;
    both |= nearest(n, m.what == Arithmetic::add ? x + y : m.what == Arithmetic::min ? low : high) << 8 * k;
  }
  return both;
}

}  // namespace

uint64_t updated(const MemoryForm& m, Space space, uint64_t old, uint64_t a, uint64_t b) {
  switch (m.number) {
    case Number::f16:
    case Number::f16x2:
    case Number::bf16:
    case Number::bf16x2:
      return half_result(m, old, a);
    case Number::f32:
      return real_result<uint32_t, float>(m.what, old, a, space == Space::global);
    case Number::f64:
      return real_result<uint64_t, double>(m.what, old, a, false);
    default:
      return integer_result(m, old, a, b);
  }
}

}  // namespace coalesce::machine::plain
