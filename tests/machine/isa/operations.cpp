#include "tests/machine/isa/operations.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace coalesce::machine::operations {
namespace {

// Half and bfloat16 read as each other's odd values; single and double have their own.
constexpr uint16_t kHalves[] = {0,      0x8000, 1,      0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00, 0x3800, 0x3c01, 0x7bff,
                                0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 0xffff, 0x7fff, 0x3f80, 0xbf80, 0x7f80, 0xff80,
                                0x7fc0, 0x7f81, 0x0080, 0x007f, 0x7f7f, 0xff7f, 0x00ff, 0x4248, 0x5640, 0xfffe};
constexpr uint32_t kWords[] = {0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000, 0x807fffff,
                               0x3f800000, 0xbf800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
                               0x7f800001, 0xffc12345, 0xffffffff, 0x7fffffff, 0x4f000000, 0xcf000000, 0x4f7fffff,
                               0x4f800000, 0x5f000000, 0x33800000, 0x3f000000, 0x7e800001, 0x477ff000, 0x38800000,
                               0x3fc00000, 0x40200000, 0xbf000000, 0x3f7fffff, 0x3f800001, 0x00000020, 0x0000001f,
                               0x000000ff, 0x00010000, 0x7c00fc00, 0x80007fff, 0x00013c00, 0x7f80ff80, 0x7fc00001,
                               0x80018001, 0x7e000400, 0x00ff8000, 0x20000400, 0x1ffff800};
constexpr uint64_t kLongs[] = {0,
                               0x8000000000000000,
                               1,
                               0x8000000000000001,
                               0x000fffffffffffff,
                               0x0010000000000000,
                               0x800fffffffffffff,
                               0x3ff0000000000000,
                               0xbff0000000000000,
                               0x7fefffffffffffff,
                               0xffefffffffffffff,
                               0x7ff0000000000000,
                               0xfff0000000000000,
                               0x7ff8000000000000,
                               0x7ff0000000000001,
                               0xfff8123456789abc,
                               0xffffffffffffffff,
                               0x7fffffffffffffff,
                               0x41e0000000000000,
                               0x41efffffffe00000,
                               0x43e0000000000000,
                               0x43f0000000000000,
                               0x43efffffffffffff,
                               0x47efffffe0000000,
                               0x47efffffefffffff,
                               0x3810000000000000,
                               0x36a0000000000000,
                               0x40effc0000000000,
                               0x3e60000000000000,
                               0x3ff8000000000000,
                               0xbfe0000000000000,
                               0x3ff0000000000001,
                               0x3fefffffffffffff,
                               0x00000000ffffffff,
                               0x0000000080000000,
                               0xffffffff80000000,
                               0x0000000100000000,
                               0x7ff00000ffffffff,
                               0x0000000000000040,
                               0x000000000000003f};

uint64_t mixed(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

Raw special(Element e, uint64_t n) {
  if (e == Element::b16) return kHalves[n % std::size(kHalves)];
  if (e == Element::b32) return kWords[n % std::size(kWords)];
  return kLongs[n % std::size(kLongs)];
}
uint64_t specials(Element e) {
  return e == Element::b16 ? std::size(kHalves) : e == Element::b32 ? std::size(kWords) : std::size(kLongs);
}

}  // namespace

size_t file_bytes(Element e) {
  switch (e) {
    case Element::pred:
      return 1;
    case Element::b16:
      return 2;
    case Element::b32:
      return 4;
    case Element::b64:
      return 8;
    case Element::b128:
      return 16;
    default:
      return 0;
  }
}

Raw cut(Raw value, Element e) {
  if (e == Element::pred) return value & 1;
  return file_bytes(e) == 16 ? value : value & ((Raw{1} << (8 * file_bytes(e))) - 1);
}

Raw operand(Element e, uint32_t k, uint32_t i, bool sweep) {
  const uint64_t r = mixed(i * 0x100000001b3u + k * 0x10001u + static_cast<uint64_t>(e));
  if (e == Element::pred) return r >> 17 & 1;
  if (sweep && e == Element::b16) return i & 0xffffu;
  // Pairs of specials: source 0 runs through the list slowly, the others fast.
  const uint64_t n = specials(e);
  if (!sweep && i < n * n) {
    if (k == 0) return special(e, i / n);
    if (k == 1) return special(e, i);
    if (r & 0x100) return special(e, r >> 32);
  }
  const unsigned bits = static_cast<unsigned>(8 * file_bytes(e));
  const uint64_t v = r >> 8;
  switch (r % 7) {
    case 0:
      return special(e, v);
    case 1:
      return cut(Raw{0} - v % 70, e);
    case 2:
      return v % 70;
    case 3:
      return Raw{1} << (v % bits);
    case 4:  // floats around 1, whose sums and products round in every way
      if (e == Element::b16) return 0x3800 + v % 0x1000 + (r >> 63) * 0x8000;
      if (e == Element::b32) return 0x3e000000 + v % 0x03000000 + (r >> 63) * 0x80000000u;
      return 0x3fc0000000000000 + v % 0x0060000000000000 + ((r >> 7 & 1) << 63);
    default:
      return cut(Raw{mixed(r)} << 64 | mixed(r + 1), e);
  }
}

std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const auto& family : all_pure())
    for (const PureOp& op : family) {
      const std::string_view name = op.mnemonic;
      if (name.starts_with("pack.") || name.starts_with("unpack.") || name.starts_with("widen.") ||
          name.starts_with("narrow.") || name == "video")
        continue;
      const auto add = [&](int immediate) { all.push_back({&op, immediate, "k" + std::to_string(all.size())}); };
      if (name == "lop3.b32") {
        for (int table : {0x00, 0x1e, 0x80, 0x96, 0xca, 0xd8, 0xe8, 0xfe}) add(table);
      } else {
        add(-1);
      }
    }
  return all;
}

std::string kernel_text(const Subject& s) {
  const PureOp& op = *s.op;
  std::string mnemonic(op.mnemonic);
  const bool pair = mnemonic.ends_with('|');
  if (pair) mnemonic.pop_back();
  const bool carry_in = mnemonic.starts_with("addc.") || mnemonic.starts_with("subc.") || mnemonic.starts_with("madc.");
  const bool carry_out = op.results == 2 && !pair;
  const auto bits = [](Element e) { return std::to_string(8 * file_bytes(e)); };
  const auto reg = [&](const std::string& head, size_t k) { return "%" + head + std::to_string(k); };
  std::string t = ".visible .entry " + s.name + "(";
  for (int k = 0; k < 4; ++k) t += ".param .u64 i" + std::to_string(k) + ", ";
  t += ".param .u64 o0, .param .u64 o1)\n{\n  .reg .b64 %p<6>, %at;\n  .reg .b32 %t, %n, %m, %c;\n  .reg .b16 %b;\n";
  const auto declare = [&](const std::string& r, Element e) {
    t += "  .reg ." + (e == Element::pred ? std::string("pred") : "b" + bits(e)) + " " + r + ";\n";
  };
  for (size_t k = 0; k < op.sources; ++k) declare(reg("s", k), op.source[k]);
  for (size_t k = 0; k < op.results; ++k) declare(reg("d", k), op.result[k]);
  t += "  mov.u32 %t, %ctaid.x;\n  mov.u32 %n, %ntid.x;\n  mov.u32 %m, %tid.x;\n  mad.lo.u32 %t, %t, %n, %m;\n";
  const auto where = [&](const std::string& param, Element e) {
    t += "  ld.param.u64 %p0, [" + param + "];\n  mad.wide.u32 %at, %t, " + std::to_string(file_bytes(e)) + ", %p0;\n";
  };
  const size_t loaded = op.sources - (s.immediate >= 0 ? 1u : 0u);
  for (size_t k = 0; k < loaded; ++k) {
    where("i" + std::to_string(k), op.source[k]);
    if (op.source[k] == Element::pred)
      t += "  ld.global.u8 %b, [%at];\n  setp.ne.u16 " + reg("s", k) + ", %b, 0;\n";
    else
      t += "  ld.global.b" + bits(op.source[k]) + " " + reg("s", k) + ", [%at];\n";
  }
  if (carry_in) {  // the condition code from a predicate
    t += "  selp.b32 %c, 1, 0, " + reg("s", loaded - 1) + ";\n";
    t += "  add.cc.u32 %c, %c, -1;\n";
  }
  t += "  " + mnemonic + " " + reg("d", 0) + (pair ? "|%d1" : "");
  const size_t written = loaded - (carry_in ? 1u : 0u);
  for (size_t k = 0; k < written; ++k) t += ", " + reg("s", k);
  if (s.immediate >= 0) t += ", " + std::to_string(s.immediate);
  t += ";\n";
  if (carry_out) {
    t += "  addc.u32 %c, 0, 0;\n";
    t += "  setp.ne.u32 %d1, %c, 0;\n";
  }
  for (size_t k = 0; k < op.results; ++k) {
    where("o" + std::to_string(k), op.result[k]);
    if (op.result[k] == Element::pred)
      t += "  selp.u16 %b, 1, 0, " + reg("d", k) + ";\n  st.global.u8 [%at], %b;\n";
    else
      t += "  st.global.b" + bits(op.result[k]) + " [%at], " + reg("d", k) + ";\n";
  }
  return t + "  ret;\n}\n";
}

Outcome evaluate(const Subject& s, uint32_t i, bool sweep) {
  alignas(64) std::byte slots[6][64] = {};
  Context context{};
  for (auto& base : context.base) base = slots[0];
  context.active = 1;
  Step step{};
  const PureOp& op = *s.op;
  step.extra = op.extra;
  Outcome o{};
  const auto slot = [](uint32_t k) { return static_cast<Slot>(k * sizeof(slots[0])) | kWarp; };
  for (uint32_t k = 0; k < op.sources; ++k) {
    step.src[k] = slot(k);
    o.in[k] =
        s.immediate >= 0 && k + 1 == op.sources ? static_cast<Raw>(s.immediate) : operand(op.source[k], k, i, sweep);
    const Raw stored = op.source[k] == Element::pred && o.in[k] ? Raw{0xffffffffu} : o.in[k];
    std::memcpy(slots[k], &stored, sizeof stored);
  }
  for (uint32_t k = 0; k < op.results; ++k) step.dst[k] = slot(4 + k);
  op.scalar(step, context);
  for (uint32_t k = 0; k < op.results; ++k) {
    Raw r;
    std::memcpy(&r, slots[4 + k], sizeof r);
    o.out[k] = cut(r, op.result[k]);
  }
  return o;
}

}  // namespace coalesce::machine::operations
