// mov, predicate logic, and the internal instructions by which the decoder changes a register's width:
//   widen.b32.b16 (zero-extend), narrow.b16.b32 (truncate): destination first, all pairs of 16, 32, 64
//   pack.b32.b16x2 d, lo, hi      unpack.b32.b16x2 lo, hi, s      (likewise b64.b32x2, b128.b64x2)
//   pack.b64.b16x4 d, e0, e1, e2, e3
//   unpack.b64.b16x4.lo e0, e1, s and unpack.b64.b16x4.hi e2, e3, s
#include "machine/execute/ops/rows.h"

namespace coalesce::machine {
namespace {

template <class To, class From>
void resize(Rows& row, const Name& pair) {
  row((sizeof(To) > sizeof(From) ? "widen." : "narrow.") + pair, [](From a) { return static_cast<To>(a); });
}

template <class Whole, class Half>
void pair(Rows& row, const Name& type) {
  constexpr unsigned kShift = 8 * sizeof(Half);
  row("pack." + type, [](Half low, Half high) { return static_cast<Whole>(low | static_cast<Whole>(high) << kShift); });
  row("unpack." + type, [](Whole a) { return Two<Half, Half>{static_cast<Half>(a), static_cast<Half>(a >> kShift)}; });
}

}  // namespace

void move_rows(Rows& row) {
  for (const char* type : {"b16", "u16", "s16", "f16", "bf16"}) {
    row("mov." + Name(type), [](uint16_t a) { return a; });
  }
  for (const char* type : {"b32", "u32", "s32", "f32", "f16x2", "bf16x2"}) {
    row("mov." + Name(type), [](uint32_t a) { return a; });
  }
  for (const char* type : {"b64", "u64", "s64", "f64"}) {
    row("mov." + Name(type), [](uint64_t a) { return a; });
  }
  row("mov.b128", [](uint128_t a) { return a; });
  row("mov.pred", [](bool a) { return a; });

  row("and.pred", [](bool a, bool b) { return a && b; });
  row("or.pred", [](bool a, bool b) { return a || b; });
  row("xor.pred", [](bool a, bool b) { return a != b; });
  row("not.pred", [](bool a) { return !a; });

  resize<uint32_t, uint16_t>(row, "b32.b16");
  resize<uint64_t, uint16_t>(row, "b64.b16");
  resize<uint64_t, uint32_t>(row, "b64.b32");
  resize<uint16_t, uint32_t>(row, "b16.b32");
  resize<uint16_t, uint64_t>(row, "b16.b64");
  resize<uint32_t, uint64_t>(row, "b32.b64");

  pair<uint32_t, uint16_t>(row, "b32.b16x2");
  pair<uint64_t, uint32_t>(row, "b64.b32x2");
  pair<uint128_t, uint64_t>(row, "b128.b64x2");
  row("pack.b64.b16x4", [](uint16_t a, uint16_t b, uint16_t c, uint16_t d) {
    return uint64_t{a} | uint64_t{b} << 16 | uint64_t{c} << 32 | uint64_t{d} << 48;
  });
  row("unpack.b64.b16x4.lo",
      [](uint64_t a) { return Two<uint16_t, uint16_t>{static_cast<uint16_t>(a), static_cast<uint16_t>(a >> 16)}; });
  row("unpack.b64.b16x4.hi", [](uint64_t a) {
    return Two<uint16_t, uint16_t>{static_cast<uint16_t>(a >> 32), static_cast<uint16_t>(a >> 48)};
  });
}

}  // namespace coalesce::machine
