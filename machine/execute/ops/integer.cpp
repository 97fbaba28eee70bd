// Integer arithmetic: add sub mul mad mul24 mad24 sad div rem abs neg min max, in 16, 32 and 64 bits.
#include "machine/execute/ops/rows.h"

namespace coalesce::machine {
namespace {

// The type of twice the width and the same signedness.
template <class T>
struct Twice;
template <>
struct Twice<uint16_t> {
  using Type = uint32_t;
};
template <>
struct Twice<int16_t> {
  using Type = int32_t;
};
template <>
struct Twice<uint32_t> {
  using Type = uint64_t;
};
template <>
struct Twice<int32_t> {
  using Type = int64_t;
};
template <>
struct Twice<uint64_t> {
  using Type = uint128_t;
};
template <>
struct Twice<int64_t> {
  using Type = int128_t;
};
template <class T>
using Wide = typename Twice<T>::Type;

// Arithmetic modulo 2^n is done in `Work`: unsigned, and no narrower than int, so that nothing overflows.
template <class T>
using Work = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <class T>
T add(T a, T b) {
  return static_cast<T>(static_cast<Work<T>>(a) + static_cast<Work<T>>(b));
}
template <class T>
T sub(T a, T b) {
  return static_cast<T>(static_cast<Work<T>>(a) - static_cast<Work<T>>(b));
}
template <class T>
T low(T a, T b) {
  return static_cast<T>(static_cast<Work<T>>(a) * static_cast<Work<T>>(b));
}
template <class T>
Wide<T> wide(T a, T b) {
  return static_cast<Wide<T>>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b));
}
template <class T>
T high(T a, T b) {
  return static_cast<T>(wide(a, b) >> (8 * sizeof(T)));
}
template <class T>
T magnitude(T a) {
  return a < T{0} ? sub(T{0}, a) : a;
}

// Saturation of .sat.s32 forms.
int32_t clamp32(int64_t a) { return static_cast<int32_t>(std::clamp<int64_t>(a, INT32_MIN, INT32_MAX)); }

// Division by zero: PTX leaves the value open; hardware gives all ones for quotient and remainder. The most negative
// number divided by -1 wraps to itself, remainder 0. Up to 32 bits the quotient comes from a division in double, which
// vectorises and is exact: a/b lies at least 1/b below the next integer and 1/b > (a/b) 2^-53.
template <class T>
T quotient(T a, T b) {
  const T divisor = b == T{0} ? T{1} : b;
  T q;
  if constexpr (sizeof(T) == 8) {
    if constexpr (std::is_signed_v<T>) {
      q = b == T{-1} ? sub(T{0}, a) : a / (b == T{-1} ? T{1} : divisor);
    } else {
      q = a / divisor;
    }
  } else {
    // |a/b| <= 2^31 for signed: INT_MIN / -1 goes through int64 and wraps
    q = static_cast<T>(static_cast<int64_t>(static_cast<double>(a) / static_cast<double>(divisor)));
  }
  return b == T{0} ? static_cast<T>(~T{0}) : q;
}
template <class T>
T remainder(T a, T b) {
  const T r = sub(a, low(quotient(a, b), b));
  return b == T{0} ? static_cast<T>(~T{0}) : r;
}

template <class T>
void common(Rows& row, const Name& t) {
  row("add." + t, [](T a, T b) { return add(a, b); });
  row("sub." + t, [](T a, T b) { return sub(a, b); });
  row("mul.lo." + t, [](T a, T b) { return low(a, b); });
  row("mul.hi." + t, [](T a, T b) { return high(a, b); });
  row("mad.lo." + t, [](T a, T b, T c) { return add(low(a, b), c); });
  row("mad.hi." + t, [](T a, T b, T c) { return add(high(a, b), c); });
  row("sad." + t, [](T a, T b, T c) { return add(c, a < b ? sub(b, a) : sub(a, b)); });
  row("div." + t, [](T a, T b) { return quotient(a, b); });
  row("rem." + t, [](T a, T b) { return remainder(a, b); });
  row("min." + t, [](T a, T b) { return b < a ? b : a; });
  row("max." + t, [](T a, T b) { return a < b ? b : a; });
  if constexpr (std::is_signed_v<T>) {
    row("abs." + t, [](T a) { return magnitude(a); });
    row("neg." + t, [](T a) { return sub(T{0}, a); });
  }
  if constexpr (sizeof(T) < 8) {
    row("mul.wide." + t, [](T a, T b) { return wide(a, b); });
    row("mad.wide." + t, [](T a, T b, Wide<T> c) { return add(wide(a, b), c); });
  }
}

// The low 24 bits as a number.
template <class T>
int64_t bits24(T a) {
  if constexpr (std::is_signed_v<T>) return static_cast<int32_t>(static_cast<uint32_t>(a) << 8) >> 8;
  return a & 0xffffffu;
}
template <class T>
T low24(T a, T b) {
  return static_cast<T>(bits24(a) * bits24(b));
}
template <class T>
T high24(T a, T b) {  // the most significant 32 of the product's 48 bits
  return static_cast<T>(bits24(a) * bits24(b) >> 16);
}
template <class T>
void products24(Rows& row, const Name& t) {
  row("mul24.lo." + t, [](T a, T b) { return low24(a, b); });
  row("mul24.hi." + t, [](T a, T b) { return high24(a, b); });
  row("mad24.lo." + t, [](T a, T b, T c) { return add(low24(a, b), c); });
  row("mad24.hi." + t, [](T a, T b, T c) { return add(high24(a, b), c); });
}

}  // namespace

void integer_rows(Rows& row) {
  common<uint16_t>(row, "u16");
  common<int16_t>(row, "s16");
  common<uint32_t>(row, "u32");
  common<int32_t>(row, "s32");
  common<uint64_t>(row, "u64");
  common<int64_t>(row, "s64");
  products24<uint32_t>(row, "u32");
  products24<int32_t>(row, "s32");
  row("add.sat.s32", [](int32_t a, int32_t b) { return clamp32(int64_t{a} + b); });
  row("sub.sat.s32", [](int32_t a, int32_t b) { return clamp32(int64_t{a} - b); });
  row("mad.hi.sat.s32", [](int32_t a, int32_t b, int32_t c) { return clamp32(int64_t{high(a, b)} + c); });
  row("mad24.hi.sat.s32", [](int32_t a, int32_t b, int32_t c) { return clamp32(int64_t{high24(a, b)} + c); });
  row("min.relu.s32", [](int32_t a, int32_t b) { return std::max(0, std::min(a, b)); });
  row("max.relu.s32", [](int32_t a, int32_t b) { return std::max(0, std::max(a, b)); });
}

}  // namespace coalesce::machine
