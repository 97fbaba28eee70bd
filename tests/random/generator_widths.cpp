// The parts of Breadth::all alone: every width of memory access, all atomics with their old values, faults.
#include <algorithm>
#include <iterator>

#include "tests/random/generator_class.h"

namespace coalesce::machine::test {

namespace {

struct Width {
  const char* type;
  uint32_t bytes, count;
};
constexpr Width kWidths[] = {{"u8", 1, 1},    {"s8", 1, 1},  {"b16", 2, 1}, {"u16", 2, 1}, {"s16", 2, 1},
                             {"b32", 4, 1},   {"f32", 4, 1}, {"s32", 4, 1}, {"b64", 8, 1}, {"f64", 8, 1},
                             {"b128", 16, 1}, {"u8", 1, 2},  {"u8", 1, 4},  {"b16", 2, 2}, {"s16", 2, 4},
                             {"b32", 4, 2},   {"f32", 4, 4}, {"b64", 8, 2}};

Element element_of(const Width& w, bool to_word) {
  if (w.bytes == 16) return Element::b128;
  if (w.bytes == 8) return Element::b64;
  return w.bytes == 4 || to_word ? Element::b32 : Element::b16;
}

}  // namespace

// A load or store of any width: input (loads only), the thread's own output, its own shared and local memory.
void Generator::any_width() {
  const Width w = kWidths[turn(std::size(kWidths))];
  const uint32_t bytes = w.bytes * w.count, place = turn(5);
  const bool is_load = place == 0 || turn(2) == 0;
  // A value narrower than a register goes to a register of 16 or of 32 bits.
  const Element e = element_of(w, w.bytes < 4 && *w.type != 'b' && chance(2));
  std::string values;
  if (w.count == 1) {
    values = register_of(e, is_load);
    // A part of a real register cannot be stored.
    if (!is_load && w.bytes < 4 && values.starts_with("%f")) values[1] = 'v';
  } else {
    const uint32_t pool = e == Element::b32 ? 12 : 6, first = below(pool - w.count + 1);
    const std::string head = e == Element::b32 ? "%v" : e == Element::b64 ? "%w" : "%h";
    for (uint32_t k = 0; k < w.count; ++k) values += (k ? ", " : "{") + head + std::to_string(first + k);
    values += "}";
  }
  const std::string vector = w.count > 1 ? ".v" + std::to_string(w.count) : "",
                    own = std::to_string(bytes * below(16 / bytes));
  std::string space, at;
  switch (place) {
    case 0:
      space = chance(3) ? "" : chance(3) ? ".global.nc" : ".global";
      at = element("%rd1", any_register(), 16384 / bytes - 1, bytes);
      break;
    case 1:
      space = chance(3) ? "" : ".global";
      at = "%rd4+" + std::to_string(std::stoul(own) + 16 * below(2));
      break;
    case 2:
      line("mad.lo.u32 %t14, %me, 16, %c0");
      space = ".shared";
      at = "%t14+" + own;
      break;
    case 3:
      line("mad.lo.u32 %t14, %me, 16, %c0");
      line("cvt.u64.u32 %rd22, %t14");
      line("cvta.shared.u64 %rd22, %rd22");
      at = "%rd22+" + own;
      break;
    default:
      space = ".local";
      if (chance(2)) {
        at = "L+" + own;
      } else {
        line("and.b32 %t10, " + any_register() + ", 16");
        line("mov.u32 %t11, L");
        line("add.u32 %t10, %t10, %t11");
        line("cvt.u64.u32 %rd22, %t10");
        at = "%rd22+" + own;
      }
      break;
  }
  const bool is_volatile = chance(8) && w.bytes <= 8 && space != ".global.nc" && place != 4;
  const std::string head =
      guard() + (is_load ? "ld" : "st") + (is_volatile ? ".volatile" : "") + space + vector + "." + w.type;
  line(is_load ? head + " " + values + ", [" + at + "]" : head + " [" + at + "], " + values);
}

// A load at a place that each lane works out: of a parameter, of a parameter through a generic address, of constants,
// of input, and of a shared array that nobody writes meanwhile; one for all, in a row, by strides, downwards, anywhere,
// and with a sum that wraps.
void Generator::indexed() {
  static const char* const spaces[] = {".param", "", ".const", ".global", ".shared"};
  enum : uint32_t { kSame, kRow, kStrides, kDown, kAny, kWraps, kForms };
  const uint32_t space = turn(std::size(spaces)), size = 1u << turn(5);
  uint32_t form = turn(kForms);
  std::vector<Width> fitting;
  for (const Width& w : kWidths)
    // K is aligned to 4.
    if (const uint32_t all = w.bytes * w.count; all == (space == 2 ? std::min(size, 4u) : size)) fitting.push_back(w);
  // Small kernels have few turns left here: with the form every width has one.
  const Width w = fitting[(turn(fitting.size()) + form) % fitting.size()];
  const uint32_t room = space == 2 ? 64 : space == 3 ? 16384 : space == 4 ? 512 : kBagBytes;
  const uint32_t bytes = w.bytes * w.count, places = room / bytes;
  if (places < 64 && form == kStrides) form = kRow;
  if (places < 32 && form != kSame) form = kAny;
  // Registers of its own, so that their lane classes are those of the form.
  const auto word = [&] { return own_word(); };
  const auto wide = [&] { return own_wide(); };
  const std::string lane = word(), index = word();
  line("mov.u32 " + lane + ", %laneid");
  if (form == kSame)
    line("and.b32 " + index + ", " + uniform() + ", " + std::to_string(places - 1));
  else if (form == kStrides)
    line("shl.b32 " + index + ", " + lane + ", 1");
  else if (form == kDown)
    line("sub.u32 " + index + ", 31, " + lane);
  else if (form == kAny)
    line("and.b32 " + index + ", " + any_register() + ", " + std::to_string(places - 1));
  else
    line("mov.u32 " + index + ", " + lane);
  std::string at;
  if (space == 4) {
    const std::string start = word(), far = word();
    at = word();
    line("mov.u32 " + start + ", A");
    line("mad.lo.u32 " + (form == kWraps ? far : at) + ", " + index + ", " + std::to_string(bytes) + ", " + start);
    if (form == kWraps) {  // there and back
      const std::string further = word();
      line("add.u32 " + further + ", " + far + ", 2147483647");
      line("add.u32 " + at + ", " + further + ", -2147483647");
    }
  } else {
    std::string base = space == 3 ? "%rd1" : wide();
    if (space != 3) line("mov.u64 " + base + ", " + (space == 2 ? "K" : "bag"));
    if (space == 1) {
      const std::string generic = wide();
      line("cvta.param.u64 " + generic + ", " + base);
      base = generic;
    }
    at = wide();
    line("mad.wide.u32 " + at + ", " + index + ", " + std::to_string(bytes) + ", " + base);
  }
  const Element e = element_of(w, w.bytes < 4 && *w.type != 'b' && chance(2));
  std::string values;
  if (w.count == 1) {
    values = register_of(e, true);
  } else {
    const uint32_t pool = e == Element::b32 ? 12 : 6, first = below(pool - w.count + 1);
    const std::string head = e == Element::b32 ? "%v" : e == Element::b64 ? "%w" : "%h";
    for (uint32_t k = 0; k < w.count; ++k) values += (k ? ", " : "{") + head + std::to_string(first + k);
    values += "}";
  }
  line(guard() + "ld" + spaces[space] + (w.count > 1 ? ".v" + std::to_string(w.count) : "") + "." + w.type + " " +
       values + ", [" + at + "]");
}

std::vector<uint8_t> generated_bag() {
  std::vector<uint8_t> bag(kBagBytes);
  for (std::size_t k = 0; k < bag.size(); ++k) bag[k] = static_cast<uint8_t>(k * 151 + k / 256 * 7 + 3);
  return bag;
}

// Atomics on words of their own kind: old values are read, so their order is that of the blocks. Reductions, which have
// no order, meet only their own operation.
void Generator::any_atomic() {
  struct Atomic {
    const char* name;
    Element element;
    uint32_t operands;
  };
  static const Atomic list[] = {
      {"add.u32", Element::b32, 1},      {"min.s32", Element::b32, 1}, {"max.u32", Element::b32, 1},
      {"and.b32", Element::b32, 1},      {"or.b32", Element::b32, 1},  {"xor.b32", Element::b32, 1},
      {"exch.b32", Element::b32, 1},     {"cas.b32", Element::b32, 2}, {"inc.u32", Element::b32, 1},
      {"dec.u32", Element::b32, 1},      {"add.f32", Element::b32, 1}, {"add.noftz.f16x2", Element::b32, 1},
      {"add.u64", Element::b64, 1},      {"min.s64", Element::b64, 1}, {"max.u64", Element::b64, 1},
      {"and.b64", Element::b64, 1},      {"xor.b64", Element::b64, 1}, {"exch.b64", Element::b64, 1},
      {"cas.b64", Element::b64, 2},      {"add.f64", Element::b64, 1}, {"cas.b16", Element::b16, 2},
      {"add.noftz.f16", Element::b16, 1}};
  const Atomic& a = list[below(std::size(list))];
  const uint32_t bytes = a.element == Element::b64 ? 8 : a.element == Element::b32 ? 4 : 2;
  const bool is_shared = chance(2);
  const std::string t = pick("%t", 16);
  line("and.b32 " + t + ", " + any_register() + ", " + std::to_string((is_shared ? 256 : 512) / bytes - 1));
  std::string at, space = is_shared ? ".shared" : chance(4) ? "" : ".global";
  if (is_shared) {
    line("mov.u32 %t13, X");
    line("mad.lo.u32 %t13, " + t + ", " + std::to_string(bytes) + ", %t13");
    at = "[%t13]";
  } else {
    line("mad.wide.u32 %rd21, " + t + ", " + std::to_string(bytes) + ", %rd2");
    at = "[%rd21+512]";
  }
  std::string operands;
  for (uint32_t k = 0; k < a.operands; ++k) operands += ", " + register_of(a.element, false);
  line(guard() + "atom" + space + "." + a.name + " " + register_of(a.element, true) + ", " + at + operands);
}

// A fault, for few or all lanes.
void Generator::trouble() {
  const std::string g = "@" + condition(false) + " ";
  switch (below(7)) {
    case 0:
      return line(g + "ld.global.u32 " + varying() + ", [%rd1+1048576]");
    case 1:
      return line(g + "st.global.u32 [%rd1+-4], " + any_register());
    case 2:
      return line(g + "ld.global.u64 " + wide() + ", [%rd1+" + std::to_string(8 * below(64) + 4) + "]");
    case 3:
      line("mad.lo.u32 %t14, %me, 64, %c0");
      return line(g + "ld.shared.u32 " + varying() + ", [%t14]");
    case 4:
      return line(g + "trap");
    case 5:
      line("mul.wide.u32 %rd20, " + varying() + ", 4");
      line("add.s64 %rd20, %rd20, %rd1");
      return line(g + "ld.u32 " + varying() + ", [%rd20]");
    default:
      return line(g + "red.global.add.u32 [%rd2+2], " + any_register());
  }
}

}  // namespace coalesce::machine::test
