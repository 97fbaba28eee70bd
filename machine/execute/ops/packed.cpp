// Several small integers in one register: pairs of 16 bits (add min max), and dot products dp4a, dp2a.
#include "machine/execute/ops/rows.h"

namespace coalesce::machine {
namespace {

template <class T, class F>
void pairs(Rows& row, const Name& mnemonic, F) {
  row(mnemonic, [](uint32_t a, uint32_t b) {
    const uint16_t low = static_cast<uint16_t>(F{}(static_cast<T>(a), static_cast<T>(b)));
    const uint16_t high = static_cast<uint16_t>(F{}(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));
    return low | static_cast<uint32_t>(high) << 16;
  });
}

template <class T>
void pair_arithmetic(Rows& row, const Name& t) {
  pairs<T>(row, "add." + t, [](T a, T b) { return a + b; });
  pairs<T>(row, "min." + t, [](T a, T b) { return b < a ? b : a; });
  pairs<T>(row, "max." + t, [](T a, T b) { return a < b ? b : a; });
}

template <class A, class B>
uint32_t dot4(uint32_t a, uint32_t b, uint32_t c) {
  for (uint32_t k = 0; k < 32; k += 8) {
    c += static_cast<uint32_t>(int32_t{static_cast<A>(a >> k)} * int32_t{static_cast<B>(b >> k)});
  }
  return c;
}
// A has two 16-bit parts, b four bytes of which the lower or upper two take part.
template <class A, class B, uint32_t kFrom>
uint32_t dot2(uint32_t a, uint32_t b, uint32_t c) {
  for (uint32_t k = 0; k < 2; ++k) {
    c += static_cast<uint32_t>(int32_t{static_cast<A>(a >> (16 * k))} * int32_t{static_cast<B>(b >> (kFrom + 8 * k))});
  }
  return c;
}

template <class A4, class B4, class A2>
void dot_products(Rows& row, const Name& types) {
  row("dp4a." + types, [](uint32_t a, uint32_t b, uint32_t c) { return dot4<A4, B4>(a, b, c); });
  row("dp2a.lo." + types, [](uint32_t a, uint32_t b, uint32_t c) { return dot2<A2, B4, 0>(a, b, c); });
  row("dp2a.hi." + types, [](uint32_t a, uint32_t b, uint32_t c) { return dot2<A2, B4, 16>(a, b, c); });
}

}  // namespace

void packed_rows(Rows& row) {
  pair_arithmetic<uint16_t>(row, "u16x2");
  pair_arithmetic<int16_t>(row, "s16x2");
  pairs<int16_t>(row, "min.relu.s16x2", [](int16_t a, int16_t b) { return std::max<int16_t>(0, std::min(a, b)); });
  pairs<int16_t>(row, "max.relu.s16x2", [](int16_t a, int16_t b) { return std::max<int16_t>(0, std::max(a, b)); });
  dot_products<uint8_t, uint8_t, uint16_t>(row, "u32.u32");
  dot_products<uint8_t, int8_t, uint16_t>(row, "u32.s32");
  dot_products<int8_t, uint8_t, int16_t>(row, "s32.u32");
  dot_products<int8_t, int8_t, int16_t>(row, "s32.s32");
}

}  // namespace coalesce::machine
