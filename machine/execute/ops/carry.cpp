// Extended precision: add.cc addc sub.cc subc mad.cc madc, with the carry flag as a predicate.
//
// PTX keeps the carry in an implicit register; here it is an operand: instructions ending in .cc write it as their
// second result, addc, subc and madc read it as their last source. Others leave it alone.
//
// All instructions set and read one flag: the carry out of the highest bit of a sum. a - b is the sum
// a + ~b + 1, so the flag is 1 after a subtraction that did not borrow; subc is a + ~b + flag. PTX's manual calls the
// flag after sub.cc a borrow. Compilers take it for the carry: nvcc's 128-bit division has addc after subc.cc.
#include "machine/execute/ops/rows.h"

namespace coalesce::machine {
namespace {

template <class U>
Two<U, bool> sum(U a, U b, bool carry) {
  const U partial = a + b;
  const U total = partial + U{carry};
  return {total, partial < a || total < partial};
}
template <class T, bool kHigh>
std::make_unsigned_t<T> product(T a, T b) {
  using Wide = std::conditional_t<std::is_signed_v<T>, std::conditional_t<sizeof(T) == 8, int128_t, int64_t>,
                                  std::conditional_t<sizeof(T) == 8, uint128_t, uint64_t>>;
  using U = std::make_unsigned_t<T>;
  if constexpr (kHigh)
    return static_cast<U>((static_cast<Wide>(a) * static_cast<Wide>(b)) >> (8 * sizeof(T)));
  else
    return static_cast<U>(a) * static_cast<U>(b);
}

template <class T, bool kHigh>
void multiply_add(Rows& row, const Name& part, const Name& t) {
  using U = std::make_unsigned_t<T>;
  row("mad" + part + ".cc" + t, [](T a, T b, U c) { return sum<U>(product<T, kHigh>(a, b), c, false); });
  row("madc" + part + t, [](T a, T b, U c, bool carry) { return sum<U>(product<T, kHigh>(a, b), c, carry).first; });
  row("madc" + part + ".cc" + t, [](T a, T b, U c, bool carry) { return sum<U>(product<T, kHigh>(a, b), c, carry); });
}

template <class T>
void with_carry(Rows& row, const Name& t) {
  using U = std::make_unsigned_t<T>;
  row("add.cc" + t, [](U a, U b) { return sum<U>(a, b, false); });
  row("addc" + t, [](U a, U b, bool carry) { return sum<U>(a, b, carry).first; });
  row("addc.cc" + t, [](U a, U b, bool carry) { return sum<U>(a, b, carry); });
  row("sub.cc" + t, [](U a, U b) { return sum<U>(a, static_cast<U>(~b), true); });
  row("subc" + t, [](U a, U b, bool carry) { return sum<U>(a, static_cast<U>(~b), carry).first; });
  row("subc.cc" + t, [](U a, U b, bool carry) { return sum<U>(a, static_cast<U>(~b), carry); });
  multiply_add<T, false>(row, ".lo", t);
  multiply_add<T, true>(row, ".hi", t);
}

}  // namespace

void carry_rows(Rows& row) {
  with_carry<uint32_t>(row, ".u32");
  with_carry<int32_t>(row, ".s32");
  with_carry<uint64_t>(row, ".u64");
  with_carry<int64_t>(row, ".s64");
  // ptxas takes madc of 16 bits, too, which PTX does not have; a card adds no flag that a rule describes.
}

}  // namespace coalesce::machine
