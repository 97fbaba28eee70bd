#include "machine/check/uninitialised.h"

#include <algorithm>

#include "machine/execute/block.h"
#include "machine/program/uses.h"

namespace coalesce::machine {

namespace {
// The widest alignment, within which a structure may have padding.
constexpr uint64_t kAlignment = 16;
}  // namespace

Uninitialised::Uninitialised(BlockState& s, Locator& locator, bool& shadows)
    : s_(s), check_(s.check), locator_(locator), shadows_(shadows), registers_(s.warps.size()) {}

void Uninitialised::begin() {
  const Decoded& p = check_.program();
  shadows_ = false;
  for (UndefinedRegisters& undefined : registers_) {
    undefined.clear();
    for (const uint32_t r : p.blocks[0].live_in) undefined.unset(r, p.registers[r].element);
    shadows_ = shadows_ || undefined.any();
  }
}

// Whether an element of which no byte is written may be padding: it lies within 16 bytes of written ones, and beside
// what is wider, or the same instruction reads written elements, too.
bool Uninitialised::may_be_padding(const Access& a, const Target& t, uint64_t at) const {
  if (!t.written->any(at / kAlignment * kAlignment, kAlignment)) return false;
  return t.written->widest > a.op->width || check_.addresses.may_read_padding(a.window) ||
         t.written->any(t.at, a.bytes);
}

Carried& Uninitialised::carried(const Target& t) {
  if (t.space == AddressSpace::global) return check_.carried;
  return t.space == AddressSpace::shared ? t.home->shared_carried : s_.local_carried;
}

bool Uninitialised::meets(const Access& a, const Warp& w) const {
  if (!shadows_) return false;
  const UndefinedRegisters& undefined = registers_[w.index];
  return undefined.any() &&
         std::ranges::any_of(a.op->values, [&](const Value& v) { return undefined.of(v) != nullptr; });
}

// Marks the register that a load of an element fills.
void Uninitialised::load(const Access& a, const Target& t, uint32_t element) {
  const Value& v = a.op->values[element];
  if (!v.is_reg()) return;
  UndefinedRegisters& undefined = registers_[t.warp];
  const uint64_t at = t.at + element * a.op->width;
  if (!t.written || t.written->all(at, a.op->width)) {
    if (shadows_) undefined.define(v.reg, 1u << t.lane);
    return;
  }
  uint64_t bits = 0;
  for (uint32_t b = 0; b < a.op->width && b < 8; ++b)
    if (!t.written->get(at + b)) bits |= uint64_t{0xff} << (8 * b);
  if (a.op->sign_extend && a.op->width < 8 && bits >> (8 * a.op->width - 1) & 1)
    bits |= ~uint64_t{0} << (8 * a.op->width);
  UndefinedBits& u = undefined.make(v.reg);
  u.bits[t.lane] = bits;
  // An undefined value that has been stored there comes from where that was read.
  const uint64_t place = (t.space == AddressSpace::global ? t.address : t.at) + element * a.op->width;
  const uint32_t from = carried(t).find(place + lowest(bits) / 8), origin = from == kNone ? a.instruction : from;
  if (u.origin != origin) u.computed = false;
  u.origin = origin;
  const uint32_t me = 1u << t.lane;
  u.excused = may_be_padding(a, t, at) ? u.excused | me : u.excused & ~me;
  shadows_ = true;
  if (from == kNone) check_.findings.read_undefined(s_.seen(Hazard::uninitialised, a, t));
}

// An element that is undefined goes to global memory, where others see it: a use, unless it is padding that is copied
// along. Elsewhere it stays what it is.
void Uninitialised::store(const Access& a, const Target& t, uint32_t element) {
  const UndefinedBits* u = registers_[t.warp].of(a.op->values[element]);
  const uint64_t width = std::min<uint64_t>(a.op->width, 8),
                 all = width == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * width)) - 1;
  const uint64_t bits = u ? u->bits[t.lane] & all : 0;
  if (!bits) return;
  const bool beside = u->origin == kUnset && a.op->count > 1;  // a member of what is stored whole
  const bool padding = !u->computed && (bits != all || beside || (u->excused >> t.lane & 1));
  if (t.space == AddressSpace::global && !padding)
    return check_use(a.op->values[element], 1u << t.lane, a.instruction, t.warp, "what is stored to global memory");
  Written* written = t.written;
  if (!written && t.space == AddressSpace::global && t.allocation->origin == Origin::variable) {
    shadow_of(*t.allocation).follow(t.allocation->size);
    written = &shadow_of(*t.allocation).written;
  }
  if (!written) return;
  if (padding) written->widest = kAlignment;
  const uint64_t place = (t.space == AddressSpace::global ? t.address : t.at) + element * a.op->width;
  for (uint64_t b = 0; b < width; ++b) {
    if ((bits >> (8 * b) & 0xff) != 0xff) continue;
    written->reset(t.at + element * a.op->width + b, 1);
    carried(t).note(place + b, u->origin);
  }
}

void Uninitialised::check_written(const Access& a, const Warp& w, const Target& t) {
  const Kind kind = check_.rule(a.instruction).kind;
  if (kind == Kind::load) {
    if (!t.written && !shadows_) return;
    for (uint32_t k = 0; k < a.op->count; ++k) load(a, t, k);
    return;
  }
  if (kind == Kind::atomic && t.written && a.op->op != AtomicOp::exch && !t.written->any(t.at, a.op->width))
    check_.findings.add(s_.seen(Hazard::uninitialised, a, t));
  if (t.written) t.written->set(t.at, a.bytes);
  if (!shadows_) return;
  if (kind == Kind::store) {
    for (uint32_t k = 0; k < a.op->count; ++k) store(a, t, k);
    return;
  }
  for (const Value& v : a.op->values) check_use(v, 1u << t.lane, a.instruction, t.warp, "an operand of an atomic");
  if (a.op->result != kNone) registers_[w.index].define(a.op->result, 1u << t.lane);
}

void Uninitialised::move(const BulkPart& part, uint32_t instruction, uint32_t lane, Warp& w) {
  MemoryOp op;
  Access a;
  a.op = &op;
  a.instruction = instruction;
  a.window = s_.windows();
  a.bytes = 1;
  Target from, to;
  from.warp = to.warp = w.index;
  from.lane = to.lane = lane;
  if (!locator_.find(a, w, part.from, part.bytes, from) || !from.written || from.written->all(from.at, part.bytes))
    return;
  if (!locator_.find(a, w, part.to, part.bytes, to) || !to.written) return;
  for (uint64_t b = 0; b < part.bytes; b += kAlignment) {
    const uint64_t piece = std::min(kAlignment, part.bytes - b);
    if (from.written->any(from.at + b, piece)) to.written->copy(to.at + b, *from.written, from.at + b, piece);
  }
  to.written->widest = kAlignment;
}

void Uninitialised::check_use(const Value& v, uint32_t mask, uint32_t instruction, uint32_t warp, const char* use) {
  UndefinedRegisters& undefined = registers_[warp];
  const UndefinedBits* u = undefined.of(v);
  if (!u) return;
  for (uint32_t m = mask & u->lanes(); m; m &= m - 1) {
    Seen s{Hazard::uninitialised, instruction};
    s.warp = warp;
    s.lane = lowest(m);
    s.block = s_.block;
    s.origin = u->origin;
    s.note = use;
    check_.findings.add(s);
  }
  undefined.define(v.reg, mask);
}

void Uninitialised::forget_results(const Instruction& i, const Warp& w) {
  UndefinedRegisters& undefined = registers_[w.index];
  each_written(check_.program(), i, [&](uint32_t r) {
    if (r != kNone) undefined.define(r, w.active);
  });
}

void Uninitialised::computes(uint32_t instruction, Warp& w) {
  const Decoded& p = check_.program();
  const Instruction& i = p.code[instruction];
  uint32_t mask = w.active;
  if (i.guard != kNone) {
    check_use(Value::of(i.guard), mask, instruction, w.index, "whether an instruction is carried out");
    for (uint32_t m = mask; m; m &= m - 1)
      if ((value_of(Value::of(i.guard), lowest(m), p, w) != 0) == i.guard_negated) mask &= ~(1u << lowest(m));
  }
  if (i.kind == Kind::pure) return registers_[w.index].compute(i, p, w, mask);
  if (i.memory == kNone && !i.names_lanes && i.kind != Kind::shuffle) forget_results(i, w);
  if (i.kind != Kind::call || static_cast<Callee>(i.mode) != Callee::function) return;
  while (p.code[instruction].kind != Kind::function_call) ++instruction;
  forget_results(p.code[instruction], w);
}

void Uninitialised::decides(uint32_t instruction, uint32_t mask, Warp& w) {
  const Instruction& i = check_.program().code[instruction];
  if (i.guard != kNone) check_use(Value::of(i.guard), mask, instruction, w.index, "where a branch goes");
  if (i.kind == Kind::branch_table) check_use(i.sources[0], mask, instruction, w.index, "where a branch goes");
}

void Uninitialised::enters(uint32_t block, Warp& w) {
  UndefinedRegisters& undefined = registers_[w.index];
  if (!undefined.any()) return;
  undefined.keep(check_.program().blocks[block].live_in, w.active);
  if (!undefined.any()) shadows_ = std::ranges::any_of(registers_, &UndefinedRegisters::any);
}

void Uninitialised::lanes(const LaneOp& op, Warp& w) {
  const Instruction& i = *op.instruction;
  const Decoded& p = check_.program();
  if (shadows_ || (i.kind == Kind::shuffle && w.active != ~0u)) {
    registers_[w.index].exchange(op, p, w);
    if (!shadows_ && registers_[w.index].any()) {
      shadows_ = true;
      Seen s{Hazard::uninitialised, op.index};
      s.block = s_.block;
      s.warp = w.index;
      s.lane = lowest(w.active);
      check_.findings.read_undefined(s);
    }
  }
}

}  // namespace coalesce::machine
