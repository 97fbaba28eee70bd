// A computing instruction as enums: the mnemonic's text is read once, when the table of instructions is made.
#pragma once

#include <cstdint>
#include <string_view>

namespace coalesce::machine::isa {

enum class Opcode : uint8_t {
  other,  // none that anything here asks about
  abs,
  add,
  and_,
  bfe,
  bfi,
  brev,
  clz,
  cnot,
  cvt,
  div,
  fma,
  lop3,
  mad,
  max,
  min,
  mov,
  mul,
  narrow,  // narrow and widen, pack and unpack: the decoder's own (ops/move.cpp)
  neg,
  not_,
  or_,
  pack,
  popc,
  prmt,
  rcp,
  rem,
  selp,
  setp,
  shf,
  shl,
  shr,
  sqrt,
  sub,
  unpack,
  widen,
  xor_,
};

enum class Type : uint8_t {
  none,
  other,  // such as f16, bf16x2, e4m3x2
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f32,
  f64,
  b16x2,
  b32x2,
  b64x2,
  b16x4,
};

unsigned bits_of(Type type);  // of one number; 0: none of those with a number's width
bool is_integer(Type type);   // bits, unsigned or signed, of 16, 32 or 64 bits
bool is_signed(Type type);    // s8 to s64

// Which part of a product is kept.
enum class Product : uint8_t { none, lo, hi, wide };
enum class Rounding : uint8_t { none, rn, rz, rm, rp, rni, rzi, rmi, rpi };
// Comparisons of setp. lo, ls, hi, hs order unsigned numbers; those with a u, and nan, hold where an operand is a NaN.
enum class Comparison : uint8_t {
  none,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  lo,
  ls,
  hi,
  hs,
  equ,
  neu,
  ltu,
  leu,
  gtu,
  geu,
  num,
  nan
};
// The ways in which setp joins the comparison with a predicate.
enum class Join : uint8_t { none, and_, or_, xor_ };

struct Operation {
  Opcode opcode = Opcode::other;
  Type type = Type::none;  // the last that is named: of the operands
  Type to = Type::none;    // where two are named: of the result
  Product product = Product::none;
  Rounding rounding = Rounding::none;
  Comparison comparison = Comparison::none;
  Join join = Join::none;
  bool left = false, wraps = false;  // shf
  bool pair = false;                 // setp p|q: the second result is the opposite
  bool modified = false;             // by a suffix that no other member names: .sat, .ftz, .approx, .cc ...

  bool is(Opcode o, Type t) const { return opcode == o && type == t; }
  // Opcode and one type, nothing else.
  bool is_plain() const {
    return !modified && to == Type::none && product == Product::none && rounding == Rounding::none &&
           comparison == Comparison::none && !pair;
  }
  bool is_plain(Opcode o, Type t) const { return is(o, t) && is_plain(); }
  // setp.<comparison>.<type> and nothing else.
  bool is_comparison() const { return opcode == Opcode::setp && join == Join::none && !modified; }
};

// The operation of an exact mnemonic of the table ("mad.lo.s32"). Cost: some 0.1 us.
Operation operation_of(std::string_view mnemonic);

}  // namespace coalesce::machine::isa
