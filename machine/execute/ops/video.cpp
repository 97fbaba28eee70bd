// The video instructions on 2 halfwords or 4 bytes at once: vadd vsub vavrg vabsdiff vmin vmax vset, with all three
// types signed or all unsigned (vabsdiff: also of signed operands), without a mask or selectors: what intrinsics make.
// All others: video_any.cpp.
//
// The result per part is cut to its size, or clamped with .sat; with .add the parts are added to c in 32 bits.
#include "machine/execute/ops/rows.h"

namespace coalesce::machine {
namespace {

enum class End { cut, saturated, added };
struct Add {
  static constexpr const char* kName = "vadd";
  static int32_t of(int32_t a, int32_t b) { return a + b; }
};
struct Sub {
  static constexpr const char* kName = "vsub";
  static int32_t of(int32_t a, int32_t b) { return a - b; }
};
struct Average {
  static constexpr const char* kName = "vavrg";
  static int32_t of(int32_t a, int32_t b) { return (a + b + (a + b >= 0 ? 1 : 0)) >> 1; }
};
struct Difference {
  static constexpr const char* kName = "vabsdiff";
  static int32_t of(int32_t a, int32_t b) { return a < b ? b - a : a - b; }
};
struct Least {
  static constexpr const char* kName = "vmin";
  static int32_t of(int32_t a, int32_t b) { return std::min(a, b); }
};
struct Most {
  static constexpr const char* kName = "vmax";
  static int32_t of(int32_t a, int32_t b) { return std::max(a, b); }
};

template <int kBits, bool kSigned>
int32_t part(uint32_t word, int at) {
  const uint32_t bits = word >> at & ((1u << kBits) - 1);
  return kSigned ? static_cast<int32_t>(bits << (32 - kBits)) >> (32 - kBits) : static_cast<int32_t>(bits);
}

template <class F, int kBits, bool kSources, bool kResult, End kEnd>
uint32_t parts(uint32_t a, uint32_t b, uint32_t c) {
  constexpr uint32_t kMask = (1u << kBits) - 1;
  constexpr int32_t kLow = kResult ? -(1 << (kBits - 1)) : 0, kHigh = (1 << (kResult ? kBits - 1 : kBits)) - 1;
  uint32_t d = kEnd == End::added ? c : 0;
  for (int at = 0; at < 32; at += kBits) {
    const int32_t r = F::of(part<kBits, kSources>(a, at), part<kBits, kSources>(b, at));
    if (kEnd == End::added)
      d += static_cast<uint32_t>(r);
    else
      d |= (static_cast<uint32_t>(kEnd == End::saturated ? std::clamp(r, kLow, kHigh) : r) & kMask) << at;
  }
  return d;
}

template <class F, int kBits, bool kSources, bool kResult>
void ends(Rows& row) {
  const Name name =
      Name(F::kName) + (kBits == 16 ? "2" : "4") + (kResult ? ".s32" : ".u32") + (kSources ? ".s32.s32" : ".u32.u32");
  row.rare(name,
           [](uint32_t a, uint32_t b, uint32_t c) { return parts<F, kBits, kSources, kResult, End::cut>(a, b, c); });
  row.rare(name + ".sat", [](uint32_t a, uint32_t b, uint32_t c) {
    return parts<F, kBits, kSources, kResult, End::saturated>(a, b, c);
  });
  row.rare(name + ".add",
           [](uint32_t a, uint32_t b, uint32_t c) { return parts<F, kBits, kSources, kResult, End::added>(a, b, c); });
}
template <class F>
void arithmetic(Rows& row) {
  ends<F, 16, false, false>(row);
  ends<F, 16, true, true>(row);
  ends<F, 8, false, false>(row);
  ends<F, 8, true, true>(row);
}

template <int kBits, bool kSigned, class F>
void compare(Rows& row, const Name& name, F) {
  const Name head = Name("vset") + (kBits == 16 ? "2" : "4") + (kSigned ? ".s32.s32" : ".u32.u32") + "." + name;
  static constexpr auto kCount = [](uint32_t a, uint32_t b, auto put) {
    for (int at = 0; at < 32; at += kBits)
      if (F{}(part<kBits, kSigned>(a, at), part<kBits, kSigned>(b, at))) put(at);
  };
  row.rare(head, [](uint32_t a, uint32_t b, uint32_t) {
    uint32_t d = 0;
    kCount(a, b, [&](int at) { d |= 1u << at; });
    return d;
  });
  row.rare(head + ".add", [](uint32_t a, uint32_t b, uint32_t c) {
    kCount(a, b, [&](int) { ++c; });
    return c;
  });
}
template <int kBits, bool kSigned>
void compares(Rows& row) {
  compare<kBits, kSigned>(row, "eq", [](int32_t a, int32_t b) { return a == b; });
  compare<kBits, kSigned>(row, "ne", [](int32_t a, int32_t b) { return a != b; });
  compare<kBits, kSigned>(row, "lt", [](int32_t a, int32_t b) { return a < b; });
  compare<kBits, kSigned>(row, "le", [](int32_t a, int32_t b) { return a <= b; });
  compare<kBits, kSigned>(row, "gt", [](int32_t a, int32_t b) { return a > b; });
  compare<kBits, kSigned>(row, "ge", [](int32_t a, int32_t b) { return a >= b; });
}

}  // namespace

void video_rows(Rows& row) {
  arithmetic<Add>(row);
  arithmetic<Sub>(row);
  arithmetic<Average>(row);
  arithmetic<Difference>(row);
  arithmetic<Least>(row);
  arithmetic<Most>(row);
  ends<Difference, 16, true, false>(row);
  ends<Difference, 8, true, false>(row);
  compares<16, false>(row);
  compares<16, true>(row);
  compares<8, false>(row);
  compares<8, true>(row);
}

}  // namespace coalesce::machine
