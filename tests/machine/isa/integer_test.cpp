// Integer arithmetic against 128-bit integers, bits against loops over single bits.
#include <map>

#include "tests/machine/isa/harness.h"

namespace coalesce::machine::ops_test {
namespace {

struct Kind {
  unsigned bits = 0;
  bool is_signed = false;
};
Kind kind_of(const std::string& word) {
  static const std::map<std::string, Kind> kinds = {{"u8", {8, false}},   {"s8", {8, true}},   {"b16", {16, false}},
                                                    {"u16", {16, false}}, {"s16", {16, true}}, {"b32", {32, false}},
                                                    {"u32", {32, false}}, {"s32", {32, true}}, {"b64", {64, false}},
                                                    {"u64", {64, false}}, {"s64", {64, true}}};
  const auto found = kinds.find(word);
  return found == kinds.end() ? Kind{} : found->second;
}
// The number that the low bits of `raw` mean.
Signed number(Raw raw, unsigned bits, bool is_signed) {
  const Raw low = raw & ((Raw{1} << bits) - 1);
  return is_signed && (low >> (bits - 1) & 1) ? static_cast<Signed>(low) - (Signed{1} << bits)
                                              : static_cast<Signed>(low);
}
Signed clamp32(Signed a) { return a > INT32_MAX ? Signed{INT32_MAX} : a < INT32_MIN ? Signed{INT32_MIN} : a; }
// The upper half of a product that may need 128 bits unsigned.
Signed product_high(Signed a, Signed b, unsigned bits, bool is_signed) {
  if (is_signed) return (a * b) >> bits;
  return static_cast<Signed>(static_cast<Raw>(a) * static_cast<Raw>(b) >> bits);
}

}  // namespace

bool integer_reference(const Words& w, const Raw* in, Raw* out) {
  const std::string& op = w[0];
  const Kind kind = kind_of(w.back());
  const std::string& t = w.back();
  if (op == "dp4a" || op == "dp2a") {
    const bool a_signed = w[w.size() - 2] == "s32", b_signed = t == "s32";
    Signed sum = static_cast<Signed>(in[2]);
    for (unsigned k = 0; k < (op == "dp4a" ? 4u : 2u); ++k) {
      const unsigned a_bits = op == "dp4a" ? 8 : 16;
      const unsigned byte = k + (op == "dp2a" && w[1] == "hi" ? 2 : 0);
      sum += number(in[0] >> (a_bits * k), a_bits, a_signed) * number(in[1] >> (8 * byte), 8, b_signed);
    }
    out[0] = static_cast<Raw>(sum);
    return true;
  }
  if (t == "u16x2" || t == "s16x2") {
    out[0] = 0;
    for (unsigned k = 0; k < 2; ++k) {
      const Signed a = number(in[0] >> (16 * k), 16, t[0] == 's'), b = number(in[1] >> (16 * k), 16, t[0] == 's');
      Signed r = op == "add" ? a + b : op == "min" ? std::min(a, b) : std::max(a, b);
      if (has(w, "relu")) r = std::max<Signed>(r, 0);
      out[0] |= (static_cast<Raw>(r) & 0xffff) << (16 * k);
    }
    return op == "add" || op == "min" || op == "max";
  }
  if (kind.bits < 16 || t[0] == 'b' || has(w, "cc")) return false;
  const unsigned n = kind.bits;
  const Signed a = number(in[0], n, kind.is_signed), b = number(in[1], n, kind.is_signed),
               c = number(in[2], n, kind.is_signed);
  Signed r = 0;
  const bool high = has(w, "hi"), wide = has(w, "wide");
  if (op == "add")
    r = a + b;
  else if (op == "sub")
    r = a - b;
  else if (op == "mul" && w.size() == 3)
    r = high ? product_high(a, b, n, kind.is_signed) : static_cast<Signed>(static_cast<Raw>(a) * static_cast<Raw>(b));
  else if (op == "mad" && w.size() >= 3) {
    const Signed addend = wide ? static_cast<Signed>(in[2]) : c;
    const Signed p = high ? number(static_cast<Raw>(product_high(a, b, n, kind.is_signed)), n, kind.is_signed)
                          : static_cast<Signed>(static_cast<Raw>(a) * static_cast<Raw>(b));
    r = static_cast<Signed>(static_cast<Raw>(p) + static_cast<Raw>(addend));
  } else if (op == "mul24" || op == "mad24") {
    const Signed p = number(in[0], 24, kind.is_signed) * number(in[1], 24, kind.is_signed);
    r = number(static_cast<Raw>(high ? p >> 16 : p), 32, kind.is_signed) + (op == "mad24" ? c : 0);
  } else if (op == "sad")
    r = c + (a > b ? a - b : b - a);
  else if (op == "div")
    r = b == 0 ? -1 : a / b;
  else if (op == "rem")
    r = b == 0 ? -1 : a % b;
  else if (op == "abs")
    r = a < 0 ? -a : a;
  else if (op == "neg")
    r = -a;
  else if (op == "min")
    r = std::min(a, b);
  else if (op == "max")
    r = std::max(a, b);
  else
    return false;
  if (has(w, "sat")) r = clamp32(r);
  if (has(w, "relu")) r = std::max<Signed>(r, 0);
  out[0] = static_cast<Raw>(r);
  return true;
}

bool carry_reference(const Words& w, const Raw* in, Raw* out) {
  const std::string& op = w[0];
  const Kind kind = kind_of(w.back());
  const bool writes = has(w, "cc");
  const bool reads = op == "addc" || op == "subc" || op == "madc";
  if ((kind.bits < 32 && op != "madc") || (!writes && !reads)) return false;
  const unsigned n = kind.bits;
  const Raw end = Raw{1} << n;
  Raw x = in[0], y = in[1];
  Raw carry = reads ? in[2] : 0;
  if (op[0] == 'm') {
    const Signed a = number(in[0], n, kind.is_signed), b = number(in[1], n, kind.is_signed);
    x = (has(w, "hi") ? static_cast<Raw>(product_high(a, b, n, kind.is_signed))
                      : static_cast<Raw>(a) * static_cast<Raw>(b)) %
        end;
    y = in[2];
    carry = reads ? in[3] : 0;
  }
  if (op == "sub" || op == "subc") {  // what is taken away, as the number that brings it to a multiple of 2^n
    const Raw borrow = reads ? 1 - carry : 0;
    out[0] = x + end - y - borrow;
    out[1] = x >= y + borrow;
  } else {
    out[0] = x + y + carry;
    out[1] = out[0] >= end;
  }
  return true;
}

bool bit_reference(const Words& w, const Raw* in, Raw* out) {
  const std::string& op = w[0];
  const std::string& t = op == "prmt" ? w[1] : w.back();
  const Kind kind = kind_of(t);
  if (kind.bits < 16) return false;
  const unsigned n = kind.bits, msb = n - 1;
  const auto bit = [](Raw a, unsigned k) { return static_cast<unsigned>(a >> k & 1); };
  const auto build = [&](auto f) {
    out[0] = 0;
    for (unsigned k = 0; k < n; ++k) out[0] |= Raw{f(k) != 0} << k;
    return true;
  };
  const uint32_t c32 = static_cast<uint32_t>(in[2]), b32 = static_cast<uint32_t>(in[1]);
  if (op == "and") return build([&](unsigned k) { return bit(in[0], k) + bit(in[1], k) == 2; });
  if (op == "or") return build([&](unsigned k) { return bit(in[0], k) + bit(in[1], k) > 0; });
  if (op == "xor") return build([&](unsigned k) { return bit(in[0], k) + bit(in[1], k) == 1; });
  if (op == "not") return build([&](unsigned k) { return !bit(in[0], k); });
  if (op == "cnot") return build([&](unsigned k) { return k == 0 && in[0] == 0; });
  if (op == "shl") return build([&](unsigned k) { return k >= b32 && bit(in[0], k - b32); });
  if (op == "shr") {
    const unsigned fill = kind.is_signed ? bit(in[0], msb) : 0;
    return build([&](unsigned k) { return uint64_t{k} + b32 > msb ? fill : bit(in[0], k + b32); });
  }
  if (op == "lop3")
    return build([&](unsigned k) { return bit(in[3], bit(in[0], k) * 4 + bit(in[1], k) * 2 + bit(in[2], k)); });
  if (op == "shf") {
    const uint32_t shift = w[2] == "clamp" ? std::min(c32, 32u) : c32 % 32;
    const Raw both = in[1] << 32 | in[0];
    return build([&](unsigned k) { return bit(both, w[1] == "l" ? k + 32 - shift : k + shift); });
  }
  if (op == "prmt") {
    const Raw bytes = in[1] << 32 | in[0];
    unsigned select[4];
    const std::string mode = w.size() > 2 ? w[2] : "";
    const unsigned m = c32 & 3;
    for (unsigned k = 0; k < 4; ++k) {
      if (mode.empty())
        select[k] = c32 >> (4 * k) & 15;
      else if (mode == "f4e")
        select[k] = m + k;
      else if (mode == "b4e")
        select[k] = (m + 8 - k) % 8;
      else if (mode == "rc8")
        select[k] = m;
      else if (mode == "ecl")
        select[k] = std::max(m, k);
      else if (mode == "ecr")
        select[k] = std::min(m, k);
      else
        select[k] = (m % 2) * 2 + k % 2;
    }
    return build([&](unsigned k) { return bit(bytes, (select[k / 8] & 7) * 8 + ((select[k / 8] & 8) ? 7 : k % 8)); });
  }
  if (op == "popc" || op == "clz") {
    unsigned ones = 0, zeros = 0;
    for (unsigned k = 0; k < n; ++k) ones += bit(in[0], k);
    while (zeros < n && !bit(in[0], msb - zeros)) ++zeros;
    out[0] = op == "popc" ? ones : zeros;
    return true;
  }
  if (op == "bfind") {
    const unsigned sign = kind.is_signed ? bit(in[0], msb) : 0;
    out[0] = ~Raw{0};
    for (unsigned k = 0; k < n; ++k) {
      if (bit(in[0], k) != sign) out[0] = has(w, "shiftamt") ? msb - k : k;
    }
    return true;
  }
  if (op == "brev") return build([&](unsigned k) { return bit(in[0], msb - k); });
  if (op == "bfe") {
    // 64 bits wide, hardware takes all of position and length.
    const uint64_t mask = msb == 63 ? 0xffffffffu : 255u;
    const uint64_t position = b32 & mask, length = c32 & mask;
    const unsigned sign = !kind.is_signed || length == 0
                              ? 0
                              : bit(in[0], static_cast<unsigned>(std::min<uint64_t>(position + length - 1, msb)));
    return build([&](unsigned k) {
      return k < length && position + k <= msb ? bit(in[0], static_cast<unsigned>(position) + k) : sign;
    });
  }
  if (op == "bfi") {
    const uint32_t mask = msb == 63 ? 0xffffffffu : 255u;
    const uint32_t position = c32 & mask, length = static_cast<uint32_t>(in[3]) & mask;
    return build(
        [&](unsigned k) { return k >= position && k - position < length ? bit(in[0], k - position) : bit(in[1], k); });
  }
  if (op == "fns") {
    const unsigned base = b32 & 31;
    const int64_t offset = static_cast<int32_t>(c32);
    std::vector<unsigned> set;  // positions in the direction of search
    for (int at = static_cast<int>(base); at >= 0 && at < 32; at += offset >= 0 ? 1 : -1) {
      if (bit(in[0], static_cast<unsigned>(at))) set.push_back(static_cast<unsigned>(at));
    }
    const uint64_t nth = static_cast<uint64_t>(offset < 0 ? -offset : offset);
    out[0] = ~Raw{0};
    if (offset == 0 && bit(in[0], base)) out[0] = base;
    if (offset != 0 && nth <= set.size()) out[0] = set[nth - 1];
    return true;
  }
  const uint32_t a32 = static_cast<uint32_t>(in[0]);
  if (op == "bmsk") {
    const bool clamp = w[1] == "clamp";
    const unsigned from = a32 % 32, width = b32 % 32;
    return build(
        [&](unsigned k) { return !(clamp && a32 >= 32) && k >= from && (k < from + width || (clamp && b32 >= 32)); });
  }
  if (op == "szext") {
    if (w[1] == "clamp" && b32 >= 32) return build([&](unsigned k) { return bit(in[0], k); });
    const unsigned width = b32 % 32;
    if (width == 0) return build([](unsigned) { return 0u; });
    return build([&](unsigned k) { return k < width ? bit(in[0], k) : kind.is_signed ? bit(in[0], width - 1) : 0; });
  }
  return false;
}

bool move_reference(const Words& w, const Raw* in, Raw* out) {
  const std::string& op = w[0];
  const std::string& last = w.back();
  if (last == "pred") {
    out[0] = op == "and"   ? in[0] & in[1]
             : op == "or"  ? in[0] | in[1]
             : op == "xor" ? in[0] ^ in[1]
             : op == "not" ? in[0] ^ 1
                           : in[0];
    return true;
  }
  if (op == "mov" || op == "narrow") {
    out[0] = in[0];
    return true;
  }
  if (op == "widen") {
    const Kind from = kind_of(last);
    out[0] = static_cast<Raw>(number(in[0], from.bits, from.is_signed));
    return true;
  }
  const std::map<std::string, unsigned> parts = {{"b16x2", 16}, {"b32x2", 32}, {"b64x2", 64}, {"b16x4", 16}};
  if (op == "pack") {
    const unsigned bits = parts.at(last);
    out[0] = 0;
    for (unsigned k = 0; k < (last == "b16x4" ? 4u : 2u); ++k) out[0] |= in[k] << (k * bits);
    return true;
  }
  if (op == "unpack") {
    const unsigned bits = parts.at(w[2]);
    for (unsigned k = 0; k < 2; ++k) out[k] = in[0] >> (bits * (k + (last == "hi" ? 2 : 0)));
    return true;
  }
  return false;
}

TEST(OpsInteger, Arithmetic) { check_rows(integer_reference, 90, 64); }
TEST(OpsInteger, Carry) { check_rows(carry_reference, 48, 64); }
TEST(OpsInteger, Bits) { check_rows(bit_reference, 60, 64); }
TEST(OpsInteger, Moves) { check_rows(move_reference, 30); }

// The quotient by way of double, at its hardest: dividends just below, at and above multiples of the divisor.
TEST(OpsInteger, DivisionNextToMultiples) {
  const PureOp& div = *find_pure("div.u32");
  const PureOp& rem = *find_pure("rem.u32");
  std::mt19937 random(11);
  Bench bench(div);
  for (int round = 0; round < 20000; ++round) {
    uint32_t a[kLanes], b[kLanes];
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      b[lane] = std::max(1u, static_cast<uint32_t>(random()) >> (random() % 32));
      const uint32_t q = static_cast<uint32_t>(random()) %
                         (UINT32_MAX / b[lane] + 1ull > UINT32_MAX ? UINT32_MAX : UINT32_MAX / b[lane] + 1);
      a[lane] = q * b[lane] + (random() % 3 - 1);
      bench.put(0, lane, Element::b32, a[lane]);
      bench.put(1, lane, Element::b32, b[lane]);
    }
    div.full(bench.step, bench.context);
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      ASSERT_EQ(static_cast<uint32_t>(bench.get(4, lane, Element::b32)), a[lane] / b[lane]);
    rem.full(bench.step, bench.context);
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      ASSERT_EQ(static_cast<uint32_t>(bench.get(4, lane, Element::b32)), a[lane] % b[lane]);
  }
}

}  // namespace coalesce::machine::ops_test
