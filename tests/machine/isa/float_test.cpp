// Floating point against 113-bit arithmetic: the exact result (or one rounded to odd, which rounds further without
// harm) is taken apart as an integer and rounded to the format at hand by one routine that serves all formats and
// modes.
#include <cmath>

#include "tests/machine/isa/harness.h"

namespace coalesce::machine::ops_test {
namespace {

__extension__ using Quad = __float128;

struct Format {
  int precision;  // bits of the significand, the hidden one included
  int least;      // exponent of the smallest normal number
  Raw infinity;
  Raw nan;
};
constexpr Format kHalf{11, -14, 0x7c00, 0x7fff};
constexpr Format kBfloat{8, -126, 0x7f80, 0x7fff};
constexpr Format kSingle{24, -126, 0x7f800000, 0x7fffffff};
constexpr Format kDouble{53, -1022, 0x7ff0000000000000, 0x7ff8000000000000};
const Format* format_of(const std::string& word) {
  if (word == "f16" || word == "f16x2") return &kHalf;
  if (word == "bf16" || word == "bf16x2") return &kBfloat;
  if (word == "f32") return &kSingle;
  if (word == "f64") return &kDouble;
  return nullptr;
}
Raw sign_of(const Format& f) { return (f.infinity << 1) & ~f.infinity & ~(f.infinity - 1); }
Raw magnitude(const Format& f, Raw bits) { return bits & (sign_of(f) - 1); }
bool nan_bits(const Format& f, Raw bits) { return magnitude(f, bits) > f.infinity; }
bool subnormal(const Format& f, Raw bits) {
  return magnitude(f, bits) != 0 && magnitude(f, bits) < (Raw{1} << (f.precision - 1));
}
Raw flushed(const Format& f, Raw bits) { return subnormal(f, bits) ? bits & sign_of(f) : bits & (2 * sign_of(f) - 1); }

Quad two_to(int n) {
  Quad r = 1;
  for (; n > 0; --n) r *= 2;
  for (; n < 0; ++n) r /= 2;
  return r;
}
Quad decode(const Format& f, Raw bits) {
  const Raw m = magnitude(f, bits);
  const bool negative = (bits & sign_of(f)) != 0;
  Quad value;
  if (m > f.infinity) return __builtin_nan("");
  if (m == f.infinity)
    value = __builtin_inf();
  else {
    const int exponent = static_cast<int>(m >> (f.precision - 1));
    const Raw fraction = m & ((Raw{1} << (f.precision - 1)) - 1);
    const Raw significand = exponent == 0 ? fraction : fraction | Raw{1} << (f.precision - 1);
    value = static_cast<Quad>(significand) * two_to(f.least - f.precision + 1 + std::max(exponent, 1) - 1);
  }
  return negative ? -value : value;
}

Raw quad_bits(Quad x) {
  Raw bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}
Raw encode(const Format& f, Quad x, const std::string& mode) {
  if (x != x) return f.nan;
  const Raw bits = quad_bits(x);
  const bool negative = (bits >> 127) != 0;
  const Raw sign = negative ? sign_of(f) : 0;
  const int biased = static_cast<int>(bits >> 112 & 0x7fff);
  if (biased == 0x7fff) return sign | f.infinity;
  if (biased == 0) return sign;  // zero: nothing here is as small as a subnormal of 128 bits
  const Raw m = (bits & ((Raw{1} << 112) - 1)) | Raw{1} << 112;
  const int e = biased - 16383;
  const int normal = std::max(e, f.least);
  const int shift = normal - (f.precision - 1) - (e - 112);
  const Raw n = shift > 113 ? 0 : m >> shift;
  const Raw rest = shift > 113 ? 1 : m & ((Raw{1} << shift) - 1);
  const Raw half = shift > 113 ? 2 : Raw{1} << (shift - 1);
  bool up = false;
  if (mode == "rn") up = rest > half || (rest == half && (n & 1));
  if (mode == "rp") up = rest != 0 && !negative;
  if (mode == "rm") up = rest != 0 && negative;
  Raw r = n + (up ? 1 : 0) + (static_cast<Raw>(normal - f.least) << (f.precision - 1));
  if (r >= f.infinity)
    r = mode == "rn" || up || (mode == "rp" && !negative) || (mode == "rm" && negative) ? f.infinity : f.infinity - 1;
  return sign | r;
}

Quad odd_sum(Quad a, Quad b) {
  const Quad s = a + b, part = s - a, rest = (a - (s - part)) + (b - part);
  Raw bits = quad_bits(s);
  if ((rest > 0 || rest < 0) && !(bits & 1)) bits += (rest > 0) == (s > 0) ? Raw{1} : ~Raw{0};
  Quad r;
  std::memcpy(&r, &bits, sizeof(r));
  return r;
}
bool negative(Quad a) { return quad_bits(a) >> 127 != 0; }
Quad sum(Quad a, Quad b, const std::string& mode) {
  const Quad s = odd_sum(a, b);
  if (s == 0 && mode == "rm" && (negative(a) || negative(b))) return -Quad{0};
  return s;
}
// Newton's iteration, cut to 56 bits, whose square is exact in 113; then the last bit says whether anything is left.
Quad square_root(Quad a) {
  if (!(a > 0) || a > two_to(2000)) return a < 0 ? Quad(__builtin_nan("")) : a;
  Quad x = a > 1 ? a : 1;
  while (x * x > a * 4) x /= 2;
  for (int k = 0; k < 12; ++k) x = (x + a / x) / 2;
  Raw bits = quad_bits(x) & ~((Raw{1} << 57) - 1);
  Quad r;
  std::memcpy(&r, &bits, sizeof(r));
  while (r * r > a) bits -= Raw{1} << 57, std::memcpy(&r, &bits, sizeof(r));
  for (Raw next = bits + (Raw{1} << 57);; next += Raw{1} << 57) {
    Quad y;
    std::memcpy(&y, &next, sizeof(y));
    if (y * y > a) break;
    bits = next, r = y;
  }
  if (r * r != a) bits |= 1;
  std::memcpy(&r, &bits, sizeof(r));
  return r;
}

std::string mode_of(const Words& w) {
  for (const char* mode : {"rz", "rm", "rp"}) {
    if (has(w, mode)) return mode;
  }
  return "rn";
}

Raw saturated(const Format& f, Raw bits) {
  const Quad x = decode(f, bits);
  return x > 0 ? encode(f, x < 1 ? x : Quad{1}, "rn") : 0;
}

bool arithmetic(const Words& w, const Format& f, const Raw* raw, Raw& out) {
  const std::string& op = w[0];
  const bool ftz = has(w, "ftz");
  const std::string mode = mode_of(w);
  Raw in[3];
  for (int k = 0; k < 3; ++k) in[k] = ftz ? flushed(f, raw[k]) : raw[k] & (2 * sign_of(f) - 1);
  const Quad a = decode(f, in[0]), b = decode(f, in[1]), c = decode(f, in[2]);
  if (op == "min" || op == "max") {
    const bool absolute = has(w, "xorsign");
    const Quad x = absolute && negative(a) ? -a : a, y = absolute && negative(b) ? -b : b;
    if (has(w, "NaN") ? a != a || b != b : a != a && b != b) {
      out = f.nan;
    } else if (a != a || b != b) {
      out = encode(f, a != a ? y : x, "rn");
    } else {
      const bool x_less = x < y || (x == y && negative(x));
      out = encode(f, x_less == (op == "min") ? x : y, "rn");
    }
    if (absolute && !nan_bits(f, out)) out = magnitude(f, out) | ((in[0] ^ in[1]) & sign_of(f));
    return true;
  }
  if (op == "abs" || op == "neg") {
    out = nan_bits(f, in[0]) ? f.nan : op == "abs" ? magnitude(f, in[0]) : in[0] ^ sign_of(f);
    return true;
  }
  Quad r;
  if (op == "add")
    r = sum(a, b, mode);
  else if (op == "sub")
    r = sum(a, -b, mode);
  else if (op == "mul")
    r = a * b;
  else if (op == "fma" || op == "mad")
    r = sum(a * b, c, mode);
  else if (op == "div")
    r = a / b;
  else if (op == "rcp")
    r = 1 / a;
  else if (op == "sqrt")
    r = square_root(a);
  else
    return false;
  out = encode(f, r, mode);
  // .ftz judges the result rounded with an unlimited exponent: here, 24 binades further up.
  if (ftz && magnitude(f, encode(f, r * two_to(24), mode)) < Raw{25} << (f.precision - 1)) out &= sign_of(f);
  if (has(w, "sat")) out = saturated(f, out);
  if (has(w, "relu") && !nan_bits(f, out) && (out & sign_of(f))) out = 0;
  return true;
}

Quad value(const std::string& t, Raw bits, bool ftz) {
  if (const Format* f = format_of(t))
    return decode(*f, ftz && f != &kDouble && f != &kBfloat ? flushed(*f, bits) : bits);
  const unsigned n = static_cast<unsigned>(std::stoi(t.substr(1)));
  const Raw low = bits & ((Raw{1} << n) - 1);
  return t[0] == 's' && (low >> (n - 1)) ? static_cast<Quad>(low) - two_to(static_cast<int>(n))
                                         : static_cast<Quad>(low);
}
bool compare(const std::string& op, Quad a, Quad b) {
  const bool nan = a != a || b != b;
  if (op == "num") return !nan;
  if (op == "nan") return nan;
  if (nan) return op.size() == 3;
  if (op == "lo" || op == "hi") return op == "lo" ? a < b : a > b;
  if (op == "ls" || op == "hs") return op == "ls" ? a <= b : a >= b;
  const std::string o = op.substr(0, 2);
  return o == "eq" ? a == b : o == "ne" ? a != b : o == "lt" ? a < b : o == "le" ? a <= b : o == "gt" ? a > b : a >= b;
}

Quad to_whole(Quad x, const std::string& mode) {
  if (x != x || x >= two_to(112) || x <= -two_to(112)) return x;
  Quad t = static_cast<Quad>(static_cast<Signed>(x));
  const Quad rest = x - t, half = Quad{1} / 2;
  if (mode == "rmi" && rest < 0) t -= 1;
  if (mode == "rpi" && rest > 0) t += 1;
  if (mode == "rni" && (rest > half || (rest == half && (static_cast<Signed>(t) & 1)))) t += 1;
  if (mode == "rni" && (rest < -half || (rest == -half && (static_cast<Signed>(t) & 1)))) t -= 1;
  return t == 0 && negative(x) ? -Quad{0} : t;
}

}  // namespace

bool float_reference(const Words& w, const Raw* in, Raw* out) {
  const Format* f = format_of(w.back());
  if (f == nullptr || (f != &kSingle && f != &kDouble)) return false;
  if (w[0] == "testp") {
    const Quad x = decode(*f, in[0]);
    const bool infinite = magnitude(*f, in[0]) == f->infinity, nan = x != x;
    out[0] = w[1] == "finite"       ? !infinite && !nan
             : w[1] == "infinite"   ? infinite
             : w[1] == "number"     ? !nan
             : w[1] == "notanumber" ? nan
             : w[1] == "subnormal"  ? subnormal(*f, in[0])
                                    : !nan && !infinite && !subnormal(*f, in[0]);
    return true;
  }
  if (w[0] == "copysign") {
    out[0] = magnitude(*f, in[1]) | (in[0] & sign_of(*f));
    return true;
  }
  return arithmetic(w, *f, in, out[0]);
}

bool half_reference(const Words& w, const Raw* in, Raw* out) {
  const std::string& t = w.back();
  const bool pair_bar = t == "f16x2|" || t == "bf16x2|";
  const Format* f = format_of(pair_bar ? t.substr(0, t.size() - 1) : t);
  if (w[0] == "cvt" && t == "f32" && w.size() > 3) {  // to pairs, and .relu
    const std::string& to = w[w.size() - 2];
    if (format_of(to) == nullptr || (!to.ends_with("x2") && !has(w, "relu") && !has(w, "satfinite"))) return false;
    const Format& g = *format_of(to);
    const auto one = [&](Raw a) {
      Raw r = encode(g, decode(kSingle, a), mode_of(w));
      if (has(w, "satfinite") && magnitude(g, r) == g.infinity) --r;
      return has(w, "relu") && !nan_bits(g, r) && (r & sign_of(g)) ? Raw{0} : r;
    };
    out[0] = to.ends_with("x2") ? one(in[0]) << 16 | one(in[1]) : one(in[0]);
    return true;
  }
  if (f == nullptr || f->precision > 11 || w[0] == "mov" || w[0] == "cvt" || w[0] == "selp" || w[0] == "slct")
    return false;
  const bool pair = t.find("x2") != std::string::npos;
  // fma.rn.oob: 0 where a factor is the pattern 7ff7 with either sign, as measured of all operands.
  const auto one = [&](const Raw* operands, Raw& r) {
    const bool nothing = has(w, "oob") && ((operands[0] & 0x7fff) == 0x7ff7 || (operands[1] & 0x7fff) == 0x7ff7);
    return nothing ? (r = 0, true) : arithmetic(w, *f, operands, r);
  };
  if (!pair) return one(in, out[0]);
  out[0] = 0;
  for (unsigned k = 0; k < 2; ++k) {
    const Raw part[3] = {in[0] >> (16 * k) & 0xffff, in[1] >> (16 * k) & 0xffff, in[2] >> (16 * k) & 0xffff};
    Raw r = 0;
    if (w[0] == "set" || w[0] == "setp") {
      const bool ftz = has(w, "ftz");
      const bool yes = compare(w[1], value(f == &kHalf ? "f16" : "bf16", part[0], ftz),
                               value(f == &kHalf ? "f16" : "bf16", part[1], ftz));
      if (pair_bar) {
        out[k] = yes;
        continue;
      }
      r = !yes ? 0 : has(w, "u32") ? 0xffff : encode(*f, 1, "rn");
    } else if (!one(part, r)) {
      return false;
    }
    out[0] |= r << (16 * k);
  }
  return true;
}

bool compare_reference(const Words& w, const Raw* in, Raw* out) {
  const std::string& op = w[0];
  if (op == "selp") {
    out[0] = in[2] ? in[0] : in[1];
    return true;
  }
  if (op == "slct") {
    out[0] = value(w.back(), in[2], has(w, "ftz")) >= 0 ? in[0] : in[1];
    return true;
  }
  std::string t = w.back();
  if (t.back() == '|') t.pop_back();
  if ((op != "set" && op != "setp") || t.ends_with("x2")) return false;
  if (t[0] == 'b' && t != "bf16") t[0] = 'u';
  const bool yes = compare(w[1], value(t, in[0], has(w, "ftz")), value(t, in[1], has(w, "ftz")));
  const bool c = in[2] & 1;
  const auto join = [&](bool a) { return has(w, "and") ? a && c : has(w, "or") ? a || c : has(w, "xor") ? a != c : a; };
  out[0] = join(yes);
  out[1] = join(!yes);
  if (op == "set") out[0] = !yes ? 0 : w[w.size() - 2] == "f32" ? 0x3f800000 : 0xffffffff;
  return true;
}

bool convert_reference(const Words& w, const Raw* in, Raw* out) {
  if (w[0] != "cvt" || w.size() < 3 || w[w.size() - 2].ends_with("x2") || has(w, "relu") || has(w, "satfinite"))
    return false;
  if (has(w, "pack") || has(w, "tf32") || w.back().ends_with("x2")) return false;
  const std::string& from = w.back();
  const std::string& to = w[w.size() - 2];
  const bool ftz = has(w, "ftz"), sat = has(w, "sat");
  const Format* source = format_of(from);
  // .ftz speaks of single precision alone
  Quad x = value(from, in[0], ftz && source == &kSingle && to != "f16");  // to half, it has no effect
  std::string whole;
  for (const char* mode : {"rni", "rzi", "rmi", "rpi"}) {
    if (has(w, mode)) whole = mode;
  }
  if (!whole.empty()) x = to_whole(x, whole);
  if (const Format* f = format_of(to)) {
    out[0] = encode(*f, x, mode_of(w));
    if (x != x && source == &kDouble && f != &kDouble) {  // what of sign and payload fits, quiet (measured)
      const int cut = 53 - f->precision;
      const Raw fraction = ((in[0] & ((Raw{1} << 52) - 1)) >> cut) | Raw{1} << (f->precision - 2);
      out[0] = (in[0] >> 63 ? sign_of(*f) : 0) | f->infinity | fraction;
    }
    if (w.size() == 3 && to == "f32" && from == "f32") out[0] = in[0] & 0xffffffff;  // moves bits, likewise measured
    if (w.size() == 3 && to == "f32" && from == "bf16") out[0] = (in[0] & 0xffff) << 16;
    if (ftz && f == &kSingle) out[0] = flushed(*f, out[0]);
    if (sat) out[0] = saturated(*f, out[0]);
    return true;
  }
  const unsigned n = static_cast<unsigned>(std::stoi(to.substr(1)));
  const bool is_signed = to[0] == 's';
  const Quad least = is_signed ? -two_to(static_cast<int>(n) - 1) : Quad{0};
  const Quad most = two_to(static_cast<int>(n) - (is_signed ? 1 : 0)) - 1;
  if (x != x) {
    out[0] = from == "f64" || n == 64 ? Raw{1} << (n - 1) : 0;
  } else if (source != nullptr || sat) {
    out[0] = static_cast<Raw>(static_cast<Signed>(x < least ? least : x > most ? most : x));
  } else {
    out[0] = static_cast<Raw>(static_cast<Signed>(x));
  }
  // 8 bits in a 16-bit element: extended
  out[0] = static_cast<Raw>(static_cast<Signed>(value(to, out[0], false)));
  return true;
}

TEST(OpsFloat, Arithmetic) { check_rows(float_reference, 180); }
TEST(OpsFloat, Half) { check_rows(half_reference, 180); }
TEST(OpsFloat, Compare) { check_rows(compare_reference, 1000, 6); }
TEST(OpsFloat, Convert) { check_rows(convert_reference, 800, 12); }

// All 2^16 values through every conversion from a half, and back to the same bits.
TEST(OpsFloat, EveryHalfThereAndBack) {
  for (const char* name : {"f16", "bf16"}) {
    const std::string n = name;
    const PureOp& widen = *find_pure("cvt.f32." + n);
    const PureOp& back = *find_pure("cvt.rn." + n + ".f32");
    const Format& f = *format_of(n);
    for (uint32_t base = 0; base < 0x10000; base += kLanes) {
      Bench there(widen), again(back);
      for (uint32_t lane = 0; lane < kLanes; ++lane) there.put(0, lane, Element::b16, base + lane);
      widen.full(there.step, there.context);
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const Raw single = there.get(4, lane, Element::b32);
        const bool moved = &f == &kBfloat && nan_bits(f, base + lane);  // NaN keep their bits
        ASSERT_TRUE(single == (moved ? Raw{base + lane} << 16 : encode(kSingle, decode(f, base + lane), "rn")))
            << n << " " << base + lane;
        again.put(0, lane, Element::b32, single);
      }
      back.full(again.step, again.context);
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const Raw want = nan_bits(f, base + lane) ? f.nan : Raw{base + lane};
        ASSERT_TRUE(again.get(4, lane, Element::b16) == want) << n << " " << base + lane;
      }
    }
  }
}

}  // namespace coalesce::machine::ops_test
