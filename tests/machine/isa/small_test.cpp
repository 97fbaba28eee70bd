// The conversions to and from tf32 and 8-bit floats, cvt.pack, and the video instructions, against references written
// another way: nearest of all the codes there are, and arithmetic on whole numbers per part.
#include <cmath>
#include <map>

#include "tests/machine/isa/harness.h"

namespace coalesce::machine::ops_test {
namespace {

double single(Raw bits) {
  const uint32_t word = static_cast<uint32_t>(bits);
  float f;
  std::memcpy(&f, &word, sizeof f);
  return f;
}
double half(Raw bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31), fraction = static_cast<int>(bits & 1023);
  const double m = exponent == 31  ? (fraction ? std::nan("") : HUGE_VAL)
                   : exponent == 0 ? std::ldexp(fraction, -24)
                                   : std::ldexp(1024 + fraction, exponent - 25);
  return bits & 0x8000 ? -m : m;
}

struct Small {
  int fraction, bias;
  Raw most;
};
const Small* small_of(const std::string& word) {
  static constexpr Small e4m3{3, 7, 0x7e}, e5m2{2, 15, 0x7b};
  return word == "e4m3x2" ? &e4m3 : word == "e5m2x2" ? &e5m2 : nullptr;
}
double decode(const Small& s, Raw code) {
  const int exponent = static_cast<int>(code >> s.fraction),
            fraction = static_cast<int>(code) & ((1 << s.fraction) - 1);
  if (code > s.most) return s.fraction == 2 && code == 0x7c ? HUGE_VAL : std::nan("");
  if (exponent == 0) return std::ldexp(fraction, 1 - s.bias - s.fraction);
  return std::ldexp((1 << s.fraction) + fraction, exponent - s.bias - s.fraction);
}
// The nearest of all finite codes; of two, the even one.
Raw encode(const Small& s, double x, bool relu) {
  if (x != x) return 0x7f;
  if (std::signbit(x) && relu) return 0;
  const double m = std::fabs(x);
  Raw best = 0;
  for (Raw code = 1; code <= s.most; ++code) {
    const double now = std::fabs(decode(s, code) - m), before = std::fabs(decode(s, best) - m);
    if (now < before || (now == before && code % 2 == 0)) best = code;
  }
  if (m > decode(s, s.most)) best = s.most;
  return best | (std::signbit(x) ? 0x80u : 0u);
}
Raw half_bits(double x) {  // exact
  if (x != x) return 0x7fff;
  const Raw sign = std::signbit(x) ? 0x8000 : 0;
  static const std::map<double, Raw> codes = [] {
    std::map<double, Raw> all;
    for (Raw bits = 0; bits <= 0x7c00; ++bits) all[half(bits)] = bits;
    return all;
  }();
  return sign | codes.at(std::fabs(x));
}

bool eight_bits(const Words& w, const Raw* in, Raw* out) {
  const bool relu = has(w, "relu");
  if (const Small* to = small_of(w[w.size() - 2])) {
    const bool pair = w.back() == "f16x2";
    const double high = pair ? half(in[0] >> 16 & 0xffff) : single(in[0]),
                 low = pair ? half(in[0] & 0xffff) : single(in[1]);
    out[0] = encode(*to, high, relu) << 8 | encode(*to, low, relu);
    return true;
  }
  const Small* from = small_of(w.back());
  if (!from) return false;
  out[0] = 0;
  for (int k = 0; k < 2; ++k) {
    const Raw code = in[0] >> (8 * k) & 0xff;
    double x = decode(*from, code & 0x7f);
    if (code & 0x80) x = -x;
    if (relu && std::signbit(x)) x = x != x ? x : 0;
    out[0] |= half_bits(x) << (16 * k);
  }
  return true;
}

bool tf32(const Words& w, const Raw* in, Raw* out) {
  const double x = single(in[0]);
  const Raw sign = in[0] & 0x80000000;
  if (x != x) {
    const Raw cut = in[0] & 0xffffe000;
    out[0] = !has(w, "rna") ? 0x7fffe000 : has(w, "satfinite") ? cut - 0x2000 : cut;
    return true;
  }
  if (has(w, "relu") && std::signbit(x)) return out[0] = 0, true;
  // The values around it with 10 bits of fraction, by their codes.
  const Raw below = in[0] & 0x7fffe000, above = below + 0x2000;
  const double m = std::fabs(x);
  Raw r = below;
  if (m != HUGE_VAL && !has(w, "rz")) {
    const double up = above == 0x7f800000 ? 0x1p128 : single(above);
    const double to_up = up - m, to_down = m - single(below);
    if (to_up < to_down || (to_up == to_down && (has(w, "rna") || (below >> 13 & 1)))) r = above;
  }
  if (has(w, "satfinite") && r == 0x7f800000) r -= 0x2000;
  out[0] = sign | r;
  return true;
}

bool pack(const Words& w, const Raw* in, Raw* out) {
  const std::string& to = w[3];
  const unsigned n = static_cast<unsigned>(std::stoi(to.substr(1)));
  const Signed least = to[0] == 's' ? -(Signed{1} << (n - 1)) : 0, most = (Signed{1} << (to[0] == 's' ? n - 1 : n)) - 1;
  const auto field = [&](Raw v) {
    const Signed x = static_cast<int32_t>(static_cast<uint32_t>(v));
    return static_cast<Raw>(x < least ? least : x > most ? most : x) & ((Raw{1} << n) - 1);
  };
  out[0] = field(in[0]) << n | field(in[1]);
  if (w.back() == "b32") out[0] |= in[2] << (2 * n);
  return true;
}

bool video(const Words& w, const Raw* in, Raw* out) {
  const std::string op = w[0].substr(0, w[0].size() - 1);
  const bool set = op == "vset", add = w.back() == "add", sat = w.back() == "sat";
  const unsigned n = w[0].back() == '2' ? 16 : 8;
  const auto read = [&](Raw word, unsigned k, const std::string& type) {
    const Signed v = static_cast<Signed>(word >> (n * k) & ((Raw{1} << n) - 1));
    return type == "s32" && v >> (n - 1) ? v - (Signed{1} << n) : v;
  };
  Signed sum = static_cast<Signed>(in[2] & 0xffffffff);
  out[0] = 0;
  for (unsigned k = 0; k < 32 / n; ++k) {
    const Signed a = read(in[0], k, w[set ? 1 : 2]), b = read(in[1], k, w[set ? 2 : 3]);
    Signed r = 0;
    if (set) {
      const std::string& c = w[3];
      r = c == "eq" ? a == b : c == "ne" ? a != b : c == "lt" ? a < b : c == "le" ? a <= b : c == "gt" ? a > b : a >= b;
    } else if (op == "vadd") {
      r = a + b;
    } else if (op == "vsub") {
      r = a - b;
    } else if (op == "vavrg") {  // of a negative sum, towards zero by half a step less
      const Signed t = a + b + (a + b < 0 ? 0 : 1);
      r = t < 0 ? -((1 - t) / 2) : t / 2;
    } else if (op == "vabsdiff") {
      r = a > b ? a - b : b - a;
    } else if (op == "vmin" || op == "vmax") {
      r = (a < b) == (op == "vmin") ? a : b;
    } else {
      return false;
    }
    sum += r;
    if (sat) {
      const Signed least = w[1] == "s32" ? -(Signed{1} << (n - 1)) : 0;
      const Signed most = (Signed{1} << (w[1] == "s32" ? n - 1 : n)) - 1;
      r = r < least ? least : r > most ? most : r;
    }
    out[0] |= (static_cast<Raw>(r) & ((Raw{1} << n) - 1)) << (n * k);
  }
  if (add) out[0] = static_cast<Raw>(sum);
  return true;
}

}  // namespace

bool small_reference(const Words& w, const Raw* in, Raw* out) {
  if (w.size() < 3) return false;
  if (w[0] == "cvt" && has(w, "pack")) return pack(w, in, out);
  if (w[0] == "cvt" && has(w, "tf32")) return tf32(w, in, out);
  if (w[0] == "cvt") return eight_bits(w, in, out);
  return w[0].size() > 4 && w[0][0] == 'v' && video(w, in, out);
}

TEST(OpsSmall, Rows) { check_rows(small_reference, 140); }

// All codes of the 8-bit formats, and all halves into them.
TEST(OpsSmall, EightBitsExhaustively) {
  for (const char* name :
       {"cvt.rn.f16x2.e4m3x2", "cvt.rn.relu.f16x2.e4m3x2", "cvt.rn.f16x2.e5m2x2", "cvt.rn.relu.f16x2.e5m2x2",
        "cvt.rn.satfinite.e4m3x2.f16x2", "cvt.rn.satfinite.relu.e5m2x2.f16x2", "cvt.rn.satfinite.e5m2x2.f16x2",
        "cvt.rn.satfinite.relu.e4m3x2.f16x2"}) {
    const PureOp* op = find_pure(name);
    ASSERT_NE(op, nullptr) << name;
    const Words words = split(name);
    for (uint32_t bits = 0; bits < 0x10000; bits += kSanitized ? 7 : 1) {
      const Raw in[4] = {op->source[0] == Element::b32 ? bits | Raw{bits ^ 0x8001} << 16 : bits};
      Raw want[2] = {};
      ASSERT_TRUE(small_reference(words, in, want));
      Bench bench(*op);
      bench.put(0, 0, op->source[0], in[0]);
      op->scalar(bench.step, bench.context);
      ASSERT_EQ(static_cast<uint64_t>(bench.get(4, 0, op->result[0])), static_cast<uint64_t>(want[0]))
          << name << " of " << bits;
    }
  }
}

}  // namespace coalesce::machine::ops_test
