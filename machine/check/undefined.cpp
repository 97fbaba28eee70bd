#include "machine/check/undefined.h"

#include <algorithm>
#include <cstring>

#include "machine/execute/block.h"
#include "machine/isa/row.h"

namespace coalesce::machine {

namespace {

uint64_t low_bits(unsigned n) { return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1; }
unsigned width_of(Element e) { return e == Element::pred ? 1 : 8 * bytes_of(e); }
// From the lowest undefined bit on: where carries go.
uint64_t upwards(uint64_t u) { return u ? ~((u & (~u + 1)) - 1) : 0; }
// Bits above `n` are copies of the one below.
uint64_t extended(uint64_t u, unsigned n) {
  return n && n < 64 && u >> (n - 1) & 1 ? u | ~low_bits(n) : u & low_bits(n);
}

struct Input {
  uint64_t bits = 0, value = 0;  // undefined; those that are known
};

// Where a bit of the result is undefined: if the inputs' undefined bits can make it 0 and 1. `table`: by the bits a b
// c.
uint64_t by_truth_table(const Input& a, const Input& b, const Input& c, uint32_t table) {
  uint64_t one = 0, zero = 0;
  for (uint32_t k = 0; k < 8; ++k) {
    const auto may_be = [](const Input& o, uint32_t bit) { return o.bits | (bit ? o.value : ~o.value); };
    (table >> k & 1 ? one : zero) |= may_be(a, k >> 2 & 1) & may_be(b, k >> 1 & 1) & may_be(c, k & 1);
  }
  return one & zero;
}

uint64_t permuted(const Input& a, const Input& b, const Input& how) {
  if (how.bits) return ~uint64_t{0};
  uint64_t r = 0;
  for (unsigned k = 0; k < 4; ++k) {
    const uint64_t s = how.value >> (4 * k) & 15;
    uint64_t byte = ((s & 4 ? b.bits : a.bits) >> (8 * (s & 3))) & 0xff;
    if (s & 8) byte = byte & 0x80 ? 0xff : 0;
    r |= byte << (8 * k);
  }
  return r;
}

// Undefined bits of result `k`. Where nothing better is known, all of them.
uint64_t result_bits(const Instruction& i, unsigned k, const Input* o, const Decoded& p) {
  using isa::Opcode;
  const isa::Operation& op = i.pure->operation;
  const uint64_t all = ~uint64_t{0};
  const unsigned from = isa::bits_of(op.type), to = isa::bits_of(op.to);
  const bool integer = from != 0 && op.type != isa::Type::f32 && op.type != isa::Type::f64;
  const unsigned first = i.sources[0].is_reg() ? width_of(p.registers[i.sources[0].reg].element) : from;
  switch (op.opcode) {
    case Opcode::mov:
    case Opcode::narrow:
    case Opcode::widen:
      return o[0].bits;
    case Opcode::pack: {
      uint64_t r = 0;
      const unsigned each = 64 / (i.sources.size() == 2 ? 2u : 4u);
      const unsigned part = width_of(p.registers[i.results[0]].element) == 32 ? 16 : each;
      for (unsigned s = 0; s < i.sources.size(); ++s) r |= (o[s].bits & low_bits(part)) << (part * s);
      return r;
    }
    case Opcode::unpack: {
      const unsigned part = width_of(i.pure->result[0]);
      const bool upper = i.pure->mnemonic.ends_with(".hi");
      return o[0].bits >> (part * (k + (upper ? 2 : 0)));
    }
    case Opcode::not_:
      return o[0].bits;
    case Opcode::and_:
      return by_truth_table(o[0], o[1], {}, 0xc0);
    case Opcode::or_:
      return by_truth_table(o[0], o[1], {}, 0xfc);
    case Opcode::xor_:
      return by_truth_table(o[0], o[1], {}, 0x3c);
    case Opcode::lop3:
      return op.modified || o[3].bits ? all : by_truth_table(o[0], o[1], o[2], static_cast<uint32_t>(o[3].value));
    case Opcode::shl:
      return o[1].bits ? all : o[1].value >= from ? 0 : o[0].bits << o[1].value;
    case Opcode::shr: {
      if (o[1].bits) return all;
      const unsigned by = static_cast<unsigned>(std::min<uint64_t>(o[1].value, from));
      const uint64_t u = o[0].bits & low_bits(from);
      if (!isa::is_signed(op.type)) return by >= 64 ? 0 : u >> by;
      return extended(by >= from ? (u >> (from - 1) & 1) : u >> by, by >= from ? 1 : from - by);
    }
    case Opcode::add:
    case Opcode::sub:
    case Opcode::neg:
      return integer && !op.modified ? upwards(o[0].bits | o[1].bits) : all;
    case Opcode::mul:
    case Opcode::mad:
      if (!integer || op.modified || op.product == isa::Product::hi) return all;
      if ((!o[0].bits && !(o[0].value & low_bits(from))) || (!o[1].bits && !(o[1].value & low_bits(from))))
        return upwards(o[2].bits);
      return upwards(o[0].bits | o[1].bits | o[2].bits);
    case Opcode::selp:
      if (o[2].bits & 1) return o[0].bits | o[1].bits | (o[0].value ^ o[1].value);
      return o[2].value & 1 ? o[0].bits : o[1].bits;
    case Opcode::setp:
      if (op.join == isa::Join::none && integer &&
          (op.comparison == isa::Comparison::eq || op.comparison == isa::Comparison::ne)) {
        const uint64_t known = ~(o[0].bits | o[1].bits) & low_bits(from);
        if ((o[0].value ^ o[1].value) & known) return 0;
      }
      return all;
    case Opcode::bfe: {
      if (o[1].bits | o[2].bits) return all;
      const unsigned at = static_cast<unsigned>(o[1].value & 255), n = static_cast<unsigned>(o[2].value & 255);
      const uint64_t u = at >= 64 ? 0 : (o[0].bits & low_bits(from)) >> at;
      return isa::is_signed(op.type) ? extended(u, std::min(n, from)) : u & low_bits(n);
    }
    case Opcode::bfi: {
      if (o[2].bits | o[3].bits) return all;
      const unsigned at = static_cast<unsigned>(o[2].value & 255), n = static_cast<unsigned>(o[3].value & 255);
      const uint64_t field = at >= 64 ? 0 : low_bits(n) << at;
      return (o[1].bits & ~field) | (at >= 64 ? 0 : (o[0].bits << at) & field);
    }
    case Opcode::prmt:
      return op.modified ? all : permuted(o[0], o[1], o[2]);
    case Opcode::brev: {
      uint64_t r = 0;
      for (unsigned b = 0; b < from; ++b) r |= (o[0].bits >> b & 1) << (from - 1 - b);
      return r;
    }
    case Opcode::cvt: {
      if (!integer || to == 0 || op.to == isa::Type::f32 || op.to == isa::Type::f64 || op.modified) return all;
      const uint64_t u = o[0].bits & low_bits(std::min(from, first));
      const uint64_t r = isa::is_signed(op.type) ? extended(u, from) : u;
      return isa::is_signed(op.to) ? extended(r & low_bits(to), to) : r & low_bits(to);
    }
    default:
      return all;
  }
}

// Structures are packed and taken apart by whole bytes: a shift by other numbers multiplies or divides, and a
// conversion from or to a real number computes.
bool copies(const Instruction& i) {
  const isa::Operation& op = i.pure->operation;
  const auto real = [](isa::Type t) { return t == isa::Type::f32 || t == isa::Type::f64 || t == isa::Type::other; };
  switch (op.opcode) {
    case isa::Opcode::selp:
      return true;
    case isa::Opcode::shl:
    case isa::Opcode::shr:
      return i.sources[1].is_constant() && i.sources[1].bits % 8 == 0;
    case isa::Opcode::cvt:
      return !real(op.type) && !real(op.to);
    default:
      return i.pure->facts.moves;
  }
}

}  // namespace

uint64_t value_of(const Value& v, uint32_t lane, const Decoded& p, const Warp& w) {
  if (!v.is_reg()) return v.bits;
  const Code& code = w.owner->code();
  const Register& r = p.registers[v.reg];
  const Home& home = code.homes[v.reg];
  if (r.element == Element::pred) {
    const Slot at = home.vector != kNoSlot ? home.vector : home.scalar;
    return at == kNoSlot ? 0 : *w.at<uint32_t>(at) >> lane & 1;
  }
  const std::size_t bytes = std::max(2u, bytes_of(r.element)), read = std::min<std::size_t>(bytes, 8);
  uint64_t value = 0;
  if (home.vector != kNoSlot && r.lanes == LaneClass::general) {
    std::memcpy(&value, w.at<std::byte>(home.vector) + lane * bytes, read);
  } else if (home.scalar != kNoSlot) {
    std::memcpy(&value, w.at<std::byte>(home.scalar), read);
    value += static_cast<uint64_t>(r.stride) * lane;
    value &= low_bits(static_cast<unsigned>(8 * read));
  } else if (home.vector != kNoSlot) {
    std::memcpy(&value, w.at<std::byte>(home.vector) + lane * bytes, read);
  }
  return value;
}

void UndefinedRegisters::clear() {
  if (count_ != 0) of_.clear();
  count_ = 0;
}

UndefinedBits& UndefinedRegisters::make(uint32_t reg) {
  if (of_.size() <= reg) of_.resize(reg + 1);
  if (!of_[reg]) {
    of_[reg] = std::make_unique<UndefinedBits>();
    ++count_;
  }
  return *of_[reg];
}

void UndefinedRegisters::unset(uint32_t reg, Element e) {
  UndefinedBits& u = make(reg);
  u.bits.fill(low_bits(width_of(e)));
  u.origin = kUnset;
}

void UndefinedRegisters::settle(uint32_t reg) {
  if (of(reg) && of(reg)->lanes() == 0) {
    of_[reg].reset();
    --count_;
  }
}

void UndefinedRegisters::define(uint32_t reg, uint32_t mask) {
  if (!of(reg)) return;
  for (uint32_t m = mask; m; m &= m - 1) of_[reg]->bits[lowest(m)] = 0;
  settle(reg);
}

void UndefinedRegisters::keep(const std::vector<uint32_t>& live, uint32_t mask) {
  for (uint32_t r = 0; r < of_.size(); ++r)
    if (of_[r] && !std::ranges::binary_search(live, r)) define(r, mask);
}

void UndefinedRegisters::set(uint32_t reg, uint32_t mask, const std::array<uint64_t, 32>& bits,
                             const UndefinedBits* from, bool computed) {
  uint32_t some = 0;
  for (uint32_t m = mask; m; m &= m - 1) some |= uint32_t{bits[lowest(m)] != 0} << lowest(m);
  if (!some) return define(reg, mask);
  const uint32_t origin = from->origin, excused = from->excused;  // may be the register itself
  computed = computed || from->computed;
  UndefinedBits& u = make(reg);
  for (uint32_t m = mask; m; m &= m - 1) u.bits[lowest(m)] = bits[lowest(m)];
  u.origin = origin;
  u.excused = (u.excused & ~mask) | (excused & mask);
  u.computed = computed;
}

void UndefinedRegisters::compute(const Instruction& i, const Decoded& p, const Warp& w, uint32_t mask) {
  const UndefinedBits* from = nullptr;
  for (const Value& v : i.sources)
    if (!from) from = of(v);
  if (!from) {
    for (const uint32_t r : i.results)
      if (r != kNone) define(r, mask);
    return;
  }
  std::array<uint64_t, 32> bits[2]{};
  for (uint32_t m = mask; m; m &= m - 1) {
    const uint32_t l = lowest(m);
    Input o[4];
    uint64_t any = 0;
    for (std::size_t k = 0; k < i.sources.size() && k < 4; ++k) {
      if (const UndefinedBits* u = of(i.sources[k])) o[k].bits = u->bits[l];
      any |= o[k].bits;
    }
    if (!any) continue;
    for (std::size_t k = 0; k < i.sources.size() && k < 4; ++k)
      o[k].value = value_of(i.sources[k], l, p, w) & ~o[k].bits;
    for (unsigned k = 0; k < 2; ++k)
      if (i.results[k] != kNone)
        bits[k][l] = result_bits(i, k, o, p) & low_bits(width_of(p.registers[i.results[k]].element));
  }
  const UndefinedBits keep = *from;
  for (unsigned k = 0; k < 2; ++k)
    if (i.results[k] != kNone) set(i.results[k], mask, bits[k], &keep, !copies(i));
}

void UndefinedRegisters::exchange(const LaneOp& op, const Decoded& p, const Warp& w) {
  const Instruction& i = *op.instruction;
  const auto define_all = [&] {
    for (const uint32_t r : i.results)
      if (r != kNone) define(r, w.active);
  };
  const UndefinedBits* from = nullptr;
  for (const Value& v : i.sources)
    if (!from) from = of(v);
  if (i.kind != Kind::shuffle) {
    if (!from || (from->lanes() & w.active) == 0) return define_all();
    std::array<uint64_t, 32> bits{};
    const bool ballot = i.kind == Kind::vote && static_cast<VoteMode>(i.mode) == VoteMode::ballot;
    for (uint32_t m = w.active; m; m &= m - 1) bits[lowest(m)] = ballot ? from->lanes() & w.active : ~uint64_t{0};
    const UndefinedBits keep = *from;
    for (const uint32_t r : i.results)
      if (r != kNone) set(r, w.active, bits, &keep, true);
    return;
  }
  const UndefinedBits* value = of(i.sources[0]);
  UndefinedBits keep;
  if (value) keep = *value;
  std::array<uint64_t, 32> bits{};
  uint32_t absent = 0;
  const uint32_t *b = w.at<uint32_t>(op.sources[1]), *bounds = w.at<uint32_t>(op.sources[2]);
  for (uint32_t m = w.active; m; m &= m - 1) {
    const uint32_t l = lowest(m);
    const uint32_t segment = bounds[l] >> 8 & 31, clamp = bounds[l] & 31, by = b[l] & 31;
    const uint32_t last = (l & segment) | (clamp & ~segment);
    uint32_t j = l ^ by;
    bool inside = j <= last;
    switch (static_cast<ShuffleMode>(i.mode)) {
      case ShuffleMode::up:
        j = l - by;
        inside = static_cast<int32_t>(j) >= static_cast<int32_t>(last);
        break;
      case ShuffleMode::down:
        j = l + by;
        inside = j <= last;
        break;
      case ShuffleMode::idx:
        j = (l & segment) | (by & ~segment);
        inside = j <= last;
        break;
      default:
        break;
    }
    j = inside ? j & 31 : l;
    if (w.active >> j & 1) {
      bits[l] = value ? keep.bits[j] : 0;
    } else {
      bits[l] = low_bits(32);
      absent |= 1u << l;
    }
  }
  if (absent) {
    keep.origin = op.index;
    keep.computed = true;
    keep.excused = 0;
  }
  if (i.results[1] != kNone) define(i.results[1], w.active);
  (void)p;
  if (i.results[0] != kNone) set(i.results[0], w.active, bits, &keep, false);
}

}  // namespace coalesce::machine
