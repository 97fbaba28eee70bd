// cvt to and from the small formats of matrix arithmetic: tf32, e4m3, e5m2 (two in 16 bits); the .relu and .satfinite
// forms of half and bfloat16; cvt.pack.
#include "machine/execute/ops/half.h"
#include "machine/execute/ops/rows.h"

namespace coalesce::machine {
namespace {

// An 8-bit float: 4 or 5 bits of exponent. The largest code that is a number, and the one for NaN.
struct E4m3 {
  static constexpr int kFraction = 3, kBias = 7;
  static constexpr uint32_t kMost = 0x7e, kNan = 0x7f;
};
struct E5m2 {
  static constexpr int kFraction = 2, kBias = 15;
  static constexpr uint32_t kMost = 0x7b, kNan = 0x7f;
};

// Rounded to nearest even; beyond the largest number, infinity included: that number (.satfinite, which PTX demands).
template <class F, bool kRelu>
uint32_t encode(float a) {
  if (is_nan(a)) return F::kNan;
  const bool negative = std::signbit(a);
  if (kRelu && negative) return 0;
  const double magnitude = std::fabs(static_cast<double>(a));
  uint32_t code = F::kMost;
  if (magnitude < 0x1p17) {
    int exponent;
    std::frexp(magnitude, &exponent);
    exponent = std::max(magnitude == 0 ? -1000 : exponent - 1, 1 - F::kBias);
    const uint32_t steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, F::kFraction - exponent)));
    // A carry out of the fraction goes into the exponent's field by itself; subnormals have no hidden bit to take off.
    code = (static_cast<uint32_t>(exponent + F::kBias) << F::kFraction) + steps - (1u << F::kFraction);
    code = std::min(code, F::kMost);
  }
  return code | (negative ? 0x80u : 0u);
}
template <class F>
Half decode(uint32_t code) {
  const uint32_t magnitude = code & 0x7fu;
  const uint16_t sign = static_cast<uint16_t>((code & 0x80u) << 8);
  if (F::kBias == 15) {  // half with a shorter fraction
    return Half{magnitude > 0x7c ? uint16_t{0x7fff} : static_cast<uint16_t>(code << 8)};
  }
  if (magnitude == F::kNan) return Half{0x7fff};
  const int exponent = std::max(1, static_cast<int>(magnitude >> F::kFraction));
  const uint32_t hidden = magnitude >> F::kFraction ? 1u << F::kFraction : 0;
  const uint32_t steps = (magnitude & ((1u << F::kFraction) - 1)) | hidden;
  const float value = static_cast<float>(std::ldexp(steps, exponent - F::kBias - F::kFraction));
  return Half{static_cast<uint16_t>(nearest_half(value) | sign)};
}

template <bool kRelu>
uint32_t relu_half(uint32_t bits) {
  return kRelu && (bits & 0x8000u) && (bits & 0x7fffu) <= 0x7c00u ? 0 : bits;
}

template <class F, bool kRelu>
void eight_bits(Rows& row, const Name& type) {
  const Name relu = kRelu ? ".relu" : "";
  row.rare("cvt.rn.satfinite" + relu + "." + type + ".f32",
           [](float a, float b) { return static_cast<uint16_t>(encode<F, kRelu>(a) << 8 | encode<F, kRelu>(b)); });
  row.rare("cvt.rn.satfinite" + relu + "." + type + ".f16x2", [](uint32_t a) {
    return static_cast<uint16_t>(encode<F, kRelu>(to_float(Half{static_cast<uint16_t>(a >> 16)})) << 8 |
                                 encode<F, kRelu>(to_float(Half{static_cast<uint16_t>(a)})));
  });
  row.rare("cvt.rn" + relu + ".f16x2." + type, [](uint16_t a) {
    return relu_half<kRelu>(decode<F>(a & 0xffu).bits) | relu_half<kRelu>(decode<F>(a >> 8).bits) << 16;
  });
}

// f32 with a fraction of 10 bits; the 13 bits below are zero.
enum class Tf32 { away, even, zero };
template <Tf32 kMode, bool kRelu, bool kFinite>
uint32_t to_tf32(float a) {
  if (is_nan(a) && kMode != Tf32::away) return 0x7fffe000u;  // rna cuts NaN off like numbers (measured)
  uint32_t bits = bits_of(a);
  if (kRelu && (bits >> 31)) return 0;
  if ((bits & 0x7fffffffu) < 0x7f800000u) {
    if (kMode == Tf32::away) bits += 0x1000u;
    if (kMode == Tf32::even) bits += 0xfffu + (bits >> 13 & 1u);
  }
  bits &= ~0x1fffu;
  if (kFinite && (bits & 0x7fffffffu) >= 0x7f800000u) bits -= 0x2000u;  // of NaN, too
  return bits;
}
template <Tf32 kMode>
void tf32(Rows& row, const Name& mode) {
  row.rare("cvt." + mode + ".tf32.f32", [](float a) { return to_tf32<kMode, false, false>(a); });
  // .satfinite of the others, which sm_100 has, is not provided: it could not be measured.
  if constexpr (kMode == Tf32::away)
    row.rare("cvt." + mode + ".satfinite.tf32.f32", [](float a) { return to_tf32<kMode, false, true>(a); });
  else
    row.rare("cvt." + mode + ".relu.tf32.f32", [](float a) { return to_tf32<kMode, true, false>(a); });
}

// Half and bfloat16 with .relu (negative: +0) and .satfinite (the largest number instead of infinity).
template <class T, Round R, bool kRelu, bool kFinite>
uint32_t to_sixteen(float a) {
  uint32_t bits = round_to<T, R>(a).bits;
  constexpr uint32_t kInfinity = std::is_same_v<T, Half> ? 0x7c00 : 0x7f80;
  if (kFinite && (bits & 0x7fffu) == kInfinity) bits -= 1;
  if (kRelu && (bits & 0x8000u)) bits = 0;  // NaN has no sign here
  return bits;
}
template <class T, Round R, bool kRelu, bool kFinite>
void sixteen_bits(Rows& row, const Name& type) {
  const auto put = [&](const Name& flags) {
    const Name head = Name("cvt.") + name_of(R) + flags + "." + type;
    row.rare(head + ".f32", [](float a) { return static_cast<uint16_t>(to_sixteen<T, R, kRelu, kFinite>(a)); });
    row.rare(head + "x2.f32", [](float a, float b) {
      return to_sixteen<T, R, kRelu, kFinite>(a) << 16 | to_sixteen<T, R, kRelu, kFinite>(b);
    });
  };
  put(Name(kRelu ? ".relu" : "") + (kFinite ? ".satfinite" : ""));
  if (kRelu && kFinite) put(".satfinite.relu");  // both orders are written
}
template <class T>
void sixteen(Rows& row, const Name& type) {
  sixteen_bits<T, Round::rn, false, true>(row, type);
  sixteen_bits<T, Round::rn, true, true>(row, type);
  sixteen_bits<T, Round::rz, true, false>(row, type);
  sixteen_bits<T, Round::rz, false, true>(row, type);
  sixteen_bits<T, Round::rz, true, true>(row, type);
}

// d = c : a : b, where a and b are clamped to kBits bits each and c gives the bits above.
template <int kBits, bool kSigned>
uint32_t packed(uint32_t a, uint32_t b, uint32_t c) {
  constexpr int64_t kLow = kSigned ? -(int64_t{1} << (kBits - 1)) : 0;
  constexpr int64_t kHigh = (int64_t{1} << (kSigned ? kBits - 1 : kBits)) - 1;
  constexpr uint32_t kMask = (1u << kBits) - 1;
  const auto field = [&](uint32_t v) {
    return static_cast<uint32_t>(std::clamp<int64_t>(static_cast<int32_t>(v), kLow, kHigh)) & kMask;
  };
  const uint32_t both = field(a) << kBits | field(b);
  return kBits == 16 ? both : both | c << (2 * kBits % 32);
}
template <int kBits>
void packs(Rows& row, const Name& bits) {
  row.rare("cvt.pack.sat.u" + bits + ".s32.b32",
           [](uint32_t a, uint32_t b, uint32_t c) { return packed<kBits, false>(a, b, c); });
  row.rare("cvt.pack.sat.s" + bits + ".s32.b32",
           [](uint32_t a, uint32_t b, uint32_t c) { return packed<kBits, true>(a, b, c); });
}

}  // namespace

void convert_small_rows(Rows& row) {
  eight_bits<E4m3, false>(row, "e4m3x2");
  eight_bits<E4m3, true>(row, "e4m3x2");
  eight_bits<E5m2, false>(row, "e5m2x2");
  eight_bits<E5m2, true>(row, "e5m2x2");
  tf32<Tf32::away>(row, "rna");
  tf32<Tf32::even>(row, "rn");
  tf32<Tf32::zero>(row, "rz");
  sixteen<Half>(row, "f16");
  sixteen<Bfloat>(row, "bf16");
  row.rare("cvt.pack.sat.u16.s32", [](uint32_t a, uint32_t b) { return packed<16, false>(a, b, 0); });
  row.rare("cvt.pack.sat.s16.s32", [](uint32_t a, uint32_t b) { return packed<16, true>(a, b, 0); });
  packs<8>(row, "8");
  packs<4>(row, "4");
  packs<2>(row, "2");
}

}  // namespace coalesce::machine
