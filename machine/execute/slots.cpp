#include "machine/execute/slots.h"

#include <algorithm>

#include "machine/isa/row.h"
#include "machine/program/uses.h"

namespace coalesce::machine {

uint32_t vector_bytes(Element e) { return e == Element::pred ? 64 : kLanes * std::max(2u, bytes_of(e)); }

bool scalar_form(const Decoded& program, const Instruction& i) {
  const auto is_scalar = [&](uint32_t r) { return program.registers[r].lanes != LaneClass::general; };
  return i.kind == Kind::pure && i.guard == kNone && is_scalar(i.results[0]) &&
         (i.results[1] == kNone || is_scalar(i.results[1]));
}

bool is_word(const MemoryOp& m) { return m.bytes() == 4 && m.count == 1 && m.value_bytes[0] == 4; }

// The shape that the address's lane class gives, for any use.
static AddressShape natural_shape(const Decoded& program, const MemoryOp& m) {
  if (!m.address.is_reg()) return AddressShape::uniform;
  const Register& r = program.registers[m.address.reg];
  if (r.lanes <= LaneClass::warp_uniform) return AddressShape::uniform;
  if (r.lanes != LaneClass::affine) return AddressShape::vector;
  if (r.stride == static_cast<int64_t>(m.bytes())) return AddressShape::contiguous;
  constexpr int64_t kFar = 1 << 16;  // no two lanes further apart than shared memory can be
  if (is_word(m) && r.stride > 0 && r.stride % 4 == 0 && r.stride < kFar) return AddressShape::strided;
  return AddressShape::vector;
}

AddressShape shape_of(const Decoded& program, const MemoryOp& m, Kind kind) {
  const AddressShape natural = m.is_row ? AddressShape::vector : natural_shape(program, m);
  return takes_shape(m.space, kind, natural) ? natural : AddressShape::vector;
}

Slots::Slots(Code& code)
    : code_(code), p_(*code.program), homes_(p_.registers.size()), needs_vector_(p_.registers.size()) {
  find_needs();
  allocate_scalars();
  allocate_vectors();
}

void Slots::finish() {
  code_.launch_bytes = launch_;
  code_.block_bytes = (block_ + 63) / 64 * 64;
  code_.warp_bytes = (warp_ + 63) / 64 * 64;
  code_.homes = std::move(homes_);
}

// Finds the scalars that vector operations read.
void Slots::find_needs() {
  const auto need = [&](const Value& v) {
    if (v.is_reg()) needs_vector_[v.reg] = true;
  };
  for (const BasicBlock& b : p_.blocks) {
    if (!b.reachable) continue;
    for (uint32_t k = b.first; k < b.last; ++k) {
      const Instruction& i = p_.code[k];
      if (i.kind == Kind::pure && scalar_form(p_, i)) continue;
      for (const Value& v : i.sources) need(v);
      if (i.memory == kNone) continue;
      const MemoryOp& m = p_.memory[i.memory];
      if (shape_of(p_, m, i.kind) == AddressShape::vector) need(m.address);
      if (i.kind != Kind::load)
        for (const Value& v : m.values) need(v);
    }
  }
}

Slot Slots::take(uint32_t& area, uint32_t bytes, Base base) {
  area = (area + 63) / 64 * 64;
  const Slot s = area | base;
  area += bytes;
  return s;
}

// Scalars are packed at the front of what is left of a 64-byte line.
Slot Slots::take_scalar(uint32_t& area, Base base) {
  area = (area + kScalarBytes - 1) / kScalarBytes * kScalarBytes;
  const Slot s = area | base;
  area += kScalarBytes;
  return s;
}

void Slots::allocate_scalars() {
  for (uint32_t r = 0; r < p_.registers.size(); ++r) {
    const Register& reg = p_.registers[r];
    Home& h = homes_[r];
    const bool is_builtin = reg.builtin != Builtin::none;
    if (!is_scalar(r) && !is_builtin) continue;
    // Values of the launch are written once only if nothing computes them: parameters, dimensions.
    Base base = kWarp;
    if (reg.lanes <= LaneClass::block_uniform) base = kBlock;
    if (is_builtin && reg.lanes == LaneClass::constant) base = kLaunch;
    if (reg.builtin == Builtin::laneid || (reg.builtin >= Builtin::lanemask_eq && reg.builtin <= Builtin::lanemask_gt))
      base = kLaunch;
    if (is_scalar(r)) h.scalar = take_scalar(area(base), base);
    if (reg.element == Element::pred)
      h.vector = h.scalar;
    else if (needs_vector_[r] || !is_scalar(r))
      h.vector = take(area(base), vector_bytes(reg.element), base);
    if (is_builtin) code_.builtins.push_back({r, h.scalar, h.vector});
  }
}

// Slots of general registers. Positions are instruction indexes in the text's order.
void Slots::allocate_vectors() {
  const uint32_t n = static_cast<uint32_t>(p_.registers.size());
  std::vector<uint32_t> first(n, kNone), last(n, 0);
  const auto touch = [&](uint32_t r, uint32_t at) {
    first[r] = std::min(first[r], at);
    last[r] = std::max(last[r], at);
  };
  for (const BasicBlock& b : p_.blocks) {
    if (!b.reachable) continue;
    for (uint32_t k = b.first; k < b.last; ++k) {
      const auto here = [&](uint32_t r) { touch(r, k); };
      each_read(p_, p_.code[k], here);
      each_written(p_, p_.code[k], here);
    }
    for (uint32_t r : b.live_in) touch(r, b.first);
    successors(b, [&](uint32_t s) {
      for (uint32_t r : p_.blocks[s].live_in) touch(r, b.last);
    });
  }
  std::vector<Interval> kept, scratch;
  for (uint32_t r = 0; r < n; ++r) {
    if (first[r] == kNone || is_scalar(r) || p_.registers[r].builtin != Builtin::none) continue;
    (p_.registers[r].block_local ? scratch : kept).push_back({r, first[r], last[r]});
  }
  assign(kept);
  assign(scratch);
}

// Linear scan: a slot is free again behind the last position of its register.
void Slots::assign(std::vector<Interval>& intervals) {
  std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) {
    return a.first != b.first ? a.first < b.first : a.reg < b.reg;
  });
  std::map<Element, std::vector<Slot>> free;
  std::vector<Interval> active;
  for (const Interval& i : intervals) {
    std::erase_if(active, [&](const Interval& a) {
      // Strictly before: memory and lane operations write results while they still read sources.
      if (a.last >= i.first) return false;
      free[p_.registers[a.reg].element].push_back(homes_[a.reg].vector);
      return true;
    });
    const Element e = p_.registers[i.reg].element;
    std::vector<Slot>& pool = free[e];
    if (pool.empty()) {
      homes_[i.reg].vector = e == Element::pred ? take_scalar(warp_, kWarp) : take(warp_, vector_bytes(e), kWarp);
    } else {
      homes_[i.reg].vector = pool.back();
      pool.pop_back();
    }
    active.push_back(i);
  }
}

Constant& Slots::constant(Element e, uint64_t bits) {
  if (e == Element::b8) e = Element::b16;
  const auto key = std::make_pair(e, bits);
  auto found = constants_.find(key);
  if (found == constants_.end()) {
    code_.constants.push_back({e, bits});
    found = constants_.emplace(key, code_.constants.size() - 1).first;
  }
  return code_.constants[found->second];
}

Slot Slots::scalar(const Value& v, Element e) {
  if (v.is_reg()) return homes_[v.reg].scalar;
  Constant& c = constant(e, v.bits);
  if (c.scalar == kNoSlot)
    c.scalar = e == Element::pred && c.vector != kNoSlot ? c.vector : take_scalar(launch_, kLaunch);
  if (e == Element::pred) c.vector = c.scalar;
  return c.scalar;
}

Slot Slots::vector(const Value& v, Element e) {
  if (v.is_reg()) return homes_[v.reg].vector;
  if (e == Element::pred) return scalar(v, e);
  Constant& c = constant(e, v.bits);
  if (c.vector == kNoSlot) c.vector = take(launch_, vector_bytes(e), kLaunch);
  return c.vector;
}

}  // namespace coalesce::machine
