// Bits: and or xor not cnot lop3 shl shr shf prmt popc clz bfind fns brev bfe bfi bmsk szext.
#include <bit>

#include "machine/execute/ops/rows.h"

namespace coalesce::machine {
namespace {

// Shift amounts are unsigned 32-bit; amounts of the width or more give 0 (or all sign bits).
template <class T>
T shift_left(T a, uint32_t n) {
  constexpr uint32_t kBits = 8 * sizeof(T);
  using Work = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  return n < kBits ? static_cast<T>(static_cast<Work>(a) << (n & (kBits - 1))) : T{0};
}
template <class T>
T shift_right(T a, uint32_t n) {
  constexpr uint32_t kBits = 8 * sizeof(T);
  if constexpr (std::is_signed_v<T>) return static_cast<T>(a >> (n < kBits ? n : kBits - 1));
  return n < kBits ? static_cast<T>(a >> (n & (kBits - 1))) : T{0};
}

template <class T>
void logic(Rows& row, const Name& t) {
  row("and." + t, [](T a, T b) { return static_cast<T>(a & b); });
  row("or." + t, [](T a, T b) { return static_cast<T>(a | b); });
  row("xor." + t, [](T a, T b) { return static_cast<T>(a ^ b); });
  row("not." + t, [](T a) { return static_cast<T>(~a); });
  row("cnot." + t, [](T a) { return static_cast<T>(a == 0 ? 1 : 0); });
  row("shl." + t, [](T a, uint32_t n) { return shift_left(a, n); });
}
template <class T>
void shifts_right(Rows& row, const Name& t) {
  row("shr." + t, [](T a, uint32_t n) { return shift_right(a, n); });
}

// Any function of three bits: bit 4a+2b+c of the table.
uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t d = 0;
  for (uint32_t term = 0; term < 8; ++term) {
    const uint32_t product = ((term & 4) ? a : ~a) & ((term & 2) ? b : ~b) & ((term & 1) ? c : ~c);
    d |= product & (0u - (table >> term & 1u));
  }
  return d;
}

uint32_t funnel(uint32_t low, uint32_t high, uint32_t left) {  // the upper half of high:low << left, left in 0..32
  return static_cast<uint32_t>(((uint64_t{high} << 32 | low) << left) >> 32);
}
uint32_t funnel_right(uint32_t low, uint32_t high, uint32_t right) {
  return static_cast<uint32_t>((uint64_t{high} << 32 | low) >> right);
}

// Byte k of the eight bytes b:a, with bit 3 of the selector replicating that byte's sign.
uint32_t pick(uint64_t bytes, uint32_t selector) {
  const uint32_t byte = static_cast<uint32_t>(bytes >> (8 * (selector & 7u))) & 0xffu;
  return (selector & 8u) ? ((byte & 0x80u) ? 0xffu : 0u) : byte;
}
uint32_t permute(uint32_t a, uint32_t b, uint32_t selectors) {
  const uint64_t bytes = uint64_t{b} << 32 | a;
  return pick(bytes, selectors) | pick(bytes, selectors >> 4) << 8 | pick(bytes, selectors >> 8) << 16 |
         pick(bytes, selectors >> 12) << 24;
}
// The special modes: selector nibbles for the control value 0..3, from the table of prmt in the PTX ISA.
template <uint32_t k0, uint32_t k1, uint32_t k2, uint32_t k3>
uint32_t permute_mode(uint32_t a, uint32_t b, uint32_t control) {
  const uint32_t n = control & 3u;
  return permute(a, b, n == 0 ? k0 : n == 1 ? k1 : n == 2 ? k2 : k3);
}

template <class T>
uint32_t count(T a) {
  return static_cast<uint32_t>(std::popcount(a));
}
template <class T>
uint32_t leading_zeros(T a) {
  return static_cast<uint32_t>(std::countl_zero(a));
}
template <class T>
uint32_t find(T a) {  // the highest bit that is not a sign bit
  using U = std::make_unsigned_t<T>;
  const U u = static_cast<U>(a < T{0} ? ~a : a);
  return static_cast<uint32_t>(8 * sizeof(T) - 1) - leading_zeros(u);  // none: -1
}
template <class T>
T reverse(T a) {
  T r = a;
  constexpr T kAll = static_cast<T>(~T{0});
  for (uint32_t half = 4 * sizeof(T); half > 0; half /= 2) {
    const T mask = static_cast<T>(kAll / ((T{1} << half) + 1));  // runs of `half` ones, every second run
    r = static_cast<T>((r >> half & mask) | (r & mask) << half);
  }
  return r;
}

// PTX takes 8 bits of a field's position and length; of the 64-bit forms, which ptxas builds from shifts, hardware
// takes all 32 (measured: docs/results/agreement.md).
template <class T>
uint32_t field_operand(uint32_t a) {
  return sizeof(T) == 4 ? a & 0xffu : a;
}
template <class T>
T extract(T a, uint32_t b, uint32_t c) {
  using U = std::make_unsigned_t<T>;
  constexpr uint32_t kBits = 8 * sizeof(T);
  const uint32_t position = field_operand<T>(b), length = field_operand<T>(c);
  if constexpr (std::is_unsigned_v<T>) {
    const U field = shift_right<U>(a, position);
    return length >= kBits ? field : field & (shift_left<U>(1, length) - 1);
  } else {
    // Beyond the top bit the field continues with the sign, which is where the field's own top bit is taken from.
    const T field = shift_right<T>(a, position);
    const uint32_t unused = length >= kBits ? 0 : kBits - length;
    const T extended =
        static_cast<T>(shift_left<U>(static_cast<U>(field), unused & (kBits - 1))) >> (unused & (kBits - 1));
    return length == 0 ? T{0} : extended;
  }
}
template <class T>
T insert(T a, T into, uint32_t c, uint32_t d) {
  constexpr uint32_t kBits = 8 * sizeof(T);
  const uint32_t position = field_operand<T>(c), length = field_operand<T>(d);
  const T ones = length >= kBits ? ~T{0} : shift_left<T>(1, length) - 1;
  const T mask = shift_left(ones, position);
  return (into & ~mask) | (shift_left(a, position) & mask);
}

uint32_t find_nth(uint32_t mask, uint32_t base, int32_t offset) {
  base &= 31u;  // PTX: undefined above 31
  if (offset == 0) return (mask >> base & 1u) ? base : ~0u;
  uint32_t left = offset > 0 ? static_cast<uint32_t>(offset) : 0u - static_cast<uint32_t>(offset);
  for (int32_t at = static_cast<int32_t>(base); at >= 0 && at < 32; at += offset > 0 ? 1 : -1) {
    if ((mask >> at & 1u) && --left == 0) return static_cast<uint32_t>(at);
  }
  return ~0u;
}

template <bool kClamp>
uint32_t bit_mask(uint32_t a, uint32_t b) {
  const uint32_t position = a & 31u, width = b & 31u;
  const bool to_the_top = position + width >= 32 || (kClamp && b >= 32);
  const uint32_t from = kClamp && a >= 32 ? 0u : ~0u << position;
  return from & (to_the_top ? ~0u : ~(~0u << ((position + width) & 31u)));
}
template <class T, bool kClamp>
T extend(T a, uint32_t b) {
  const uint32_t n = b & 31u;
  const uint32_t unused = (32 - n) & 31u;
  const T value = static_cast<T>(static_cast<uint32_t>(a) << unused) >> unused;
  if (kClamp && b >= 32) return a;
  return n == 0 ? T{0} : value;
}

template <class T>
void counting(Rows& row, const Name& bits) {
  using S = std::make_signed_t<T>;
  constexpr uint32_t kTop = 8 * sizeof(T) - 1;
  row("popc.b" + bits, [](T a) { return count(a); });
  row("clz.b" + bits, [](T a) { return leading_zeros(a); });
  row("brev.b" + bits, [](T a) { return reverse(a); });
  row("bfind.u" + bits, [](T a) { return find(a); });
  row("bfind.s" + bits, [](S a) { return find(a); });
  row("bfind.shiftamt.u" + bits, [](T a) { return find(a) == ~0u ? ~0u : kTop - find(a); });
  row("bfind.shiftamt.s" + bits, [](S a) { return find(a) == ~0u ? ~0u : kTop - find(a); });
  row("bfe.u" + bits, [](T a, uint32_t b, uint32_t c) { return extract(a, b, c); });
  row("bfe.s" + bits, [](S a, uint32_t b, uint32_t c) { return extract(a, b, c); });
  row("bfi.b" + bits, [](T a, T b, uint32_t c, uint32_t d) { return insert(a, b, c, d); });
}

}  // namespace

void bit_rows(Rows& row) {
  logic<uint16_t>(row, "b16");
  logic<uint32_t>(row, "b32");
  logic<uint64_t>(row, "b64");
  for (const char* kind : {"b", "u"}) {
    shifts_right<uint16_t>(row, Name(kind) + "16");
    shifts_right<uint32_t>(row, Name(kind) + "32");
    shifts_right<uint64_t>(row, Name(kind) + "64");
  }
  shifts_right<int16_t>(row, "s16");
  shifts_right<int32_t>(row, "s32");
  shifts_right<int64_t>(row, "s64");
  counting<uint32_t>(row, "32");
  counting<uint64_t>(row, "64");

  row("lop3.b32", [](uint32_t a, uint32_t b, uint32_t c, uint32_t table) { return lop3(a, b, c, table); });
  row("shf.l.clamp.b32", [](uint32_t a, uint32_t b, uint32_t c) { return funnel(a, b, std::min(c, 32u)); });
  row("shf.l.wrap.b32", [](uint32_t a, uint32_t b, uint32_t c) { return funnel(a, b, c & 31u); });
  row("shf.r.clamp.b32", [](uint32_t a, uint32_t b, uint32_t c) { return funnel_right(a, b, std::min(c, 32u)); });
  row("shf.r.wrap.b32", [](uint32_t a, uint32_t b, uint32_t c) { return funnel_right(a, b, c & 31u); });

  row("prmt.b32", [](uint32_t a, uint32_t b, uint32_t c) { return permute(a, b, c); });
  row("prmt.b32.f4e",
      [](uint32_t a, uint32_t b, uint32_t c) { return permute_mode<0x3210, 0x4321, 0x5432, 0x6543>(a, b, c); });
  row("prmt.b32.b4e",
      [](uint32_t a, uint32_t b, uint32_t c) { return permute_mode<0x5670, 0x6701, 0x7012, 0x0123>(a, b, c); });
  row("prmt.b32.rc8",
      [](uint32_t a, uint32_t b, uint32_t c) { return permute_mode<0x0000, 0x1111, 0x2222, 0x3333>(a, b, c); });
  row("prmt.b32.ecl",
      [](uint32_t a, uint32_t b, uint32_t c) { return permute_mode<0x3210, 0x3211, 0x3222, 0x3333>(a, b, c); });
  row("prmt.b32.ecr",
      [](uint32_t a, uint32_t b, uint32_t c) { return permute_mode<0x0000, 0x1110, 0x2210, 0x3210>(a, b, c); });
  row("prmt.b32.rc16",
      [](uint32_t a, uint32_t b, uint32_t c) { return permute_mode<0x1010, 0x3232, 0x1010, 0x3232>(a, b, c); });

  row.rare("fns.b32", [](uint32_t mask, uint32_t base, int32_t offset) { return find_nth(mask, base, offset); });
  row("bmsk.clamp.b32", [](uint32_t a, uint32_t b) { return bit_mask<true>(a, b); });
  row("bmsk.wrap.b32", [](uint32_t a, uint32_t b) { return bit_mask<false>(a, b); });
  row("szext.clamp.u32", [](uint32_t a, uint32_t b) { return extend<uint32_t, true>(a, b); });
  row("szext.wrap.u32", [](uint32_t a, uint32_t b) { return extend<uint32_t, false>(a, b); });
  row("szext.clamp.s32", [](int32_t a, uint32_t b) { return extend<int32_t, true>(a, b); });
  row("szext.wrap.s32", [](int32_t a, uint32_t b) { return extend<int32_t, false>(a, b); });
}

}  // namespace coalesce::machine
