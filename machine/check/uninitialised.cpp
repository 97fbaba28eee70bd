// Reads of what nothing has written, and the uses of what they have read.
//
// Each byte of memory has a bit: whether it is written. A store of undefined bits leaves its bytes as unwritten as they
// were where they come from; a byte of which some bits are known counts as written.
#include <algorithm>

#include "machine/check/check.h"
#include "machine/execute/block.h"

namespace coalesce::machine {

namespace {
// The widest alignment, within which a structure may have padding.
constexpr uint64_t kAlignment = 16;
}  // namespace

// Marks the register that a load of an element fills.
void BlockCheck::load_undefined(const Access& a, const Target& t, uint32_t element) {
  const Value& v = a.op->values[element];
  if (!v.is_reg()) return;
  UndefinedRegisters& undefined = warps_[t.warp].undefined;
  const uint64_t at = t.at + element * a.op->width;
  if (!t.written || t.written->all(at, a.op->width)) {
    if (shadows) undefined.define(v.reg, 1u << t.lane);
    return;
  }
  uint64_t bits = 0;
  for (uint32_t b = 0; b < a.op->width && b < 8; ++b)
    if (!t.written->get(at + b)) bits |= uint64_t{0xff} << (8 * b);
  if (a.op->sign_extend && a.op->width < 8 && bits >> (8 * a.op->width - 1) & 1)
    bits |= ~uint64_t{0} << (8 * a.op->width);
  UndefinedBits& u = undefined.make(v.reg);
  u.bits[t.lane] = bits;
  if (u.origin != a.instruction) u.computed = false;
  u.origin = a.instruction;
  const uint32_t me = 1u << t.lane;
  u.excused = t.written->any(at / kAlignment * kAlignment, kAlignment) ? u.excused | me : u.excused & ~me;
  shadows = true;
  check_.read_undefined(seen(Hazard::uninitialised, a, t));
}

// An element that is undefined goes to global memory, where others see it: a use, unless it is padding that is copied
// along. Elsewhere it stays what it is.
void BlockCheck::store_undefined(const Access& a, const Target& t, uint32_t element) {
  const UndefinedBits* u = warps_[t.warp].undefined.of(a.op->values[element]);
  const uint64_t width = std::min<uint64_t>(a.op->width, 8),
                 all = width == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * width)) - 1;
  const uint64_t bits = u ? u->bits[t.lane] & all : 0;
  if (!bits) return;
  const bool padding = !u->computed && (bits != all || (u->excused >> t.lane & 1));
  if (t.space == AddressSpace::global && !padding)
    return check_use(a.op->values[element], 1u << t.lane, a.instruction, t.warp, "what is stored to global memory");
  for (uint64_t b = 0; t.written && b < width; ++b)
    if ((bits >> (8 * b) & 0xff) == 0xff) t.written->reset(t.at + element * a.op->width + b, 1);
}

void BlockCheck::check_written(const Access& a, const Warp& w, const Target& t) {
  const Kind kind = check_.rule(a.instruction).kind;
  if (kind == Kind::load) {
    if (!t.written && !shadows) return;
    for (uint32_t k = 0; k < a.op->count; ++k) load_undefined(a, t, k);
    return;
  }
  if (kind == Kind::atomic && t.written && a.op->op != AtomicOp::exch && !t.written->any(t.at, a.op->width))
    check_.found(seen(Hazard::uninitialised, a, t));
  if (t.written) t.written->set(t.at, a.bytes);
  if (!shadows) return;
  if (kind == Kind::store) {
    for (uint32_t k = 0; k < a.op->count; ++k) store_undefined(a, t, k);
    return;
  }
  for (const Value& v : a.op->values) check_use(v, 1u << t.lane, a.instruction, t.warp, "an operand of an atomic");
  if (a.op->result != kNone) warps_[w.index].undefined.define(a.op->result, 1u << t.lane);
}

// Reports what lanes of `mask` use of an undefined value, which is taken for known from there on.
void BlockCheck::check_use(const Value& v, uint32_t mask, uint32_t instruction, uint32_t warp, const char* use) {
  UndefinedRegisters& undefined = warps_[warp].undefined;
  const UndefinedBits* u = undefined.of(v);
  if (!u) return;
  for (uint32_t m = mask & u->lanes(); m; m &= m - 1) {
    LaunchCheck::Seen s{Hazard::uninitialised, instruction};
    s.warp = warp;
    s.lane = lowest(m);
    s.block = block_;
    s.origin = u->origin;
    s.note = use;
    check_.found(s);
  }
  undefined.define(v.reg, mask);
}

void BlockCheck::forget_results(const Instruction& i, const Warp& w) {
  UndefinedRegisters& undefined = warps_[w.index].undefined;
  for (const uint32_t r : i.results)
    if (r != kNone) undefined.define(r, w.active);
  if (i.memory == kNone) return;
  for (const Value& v : check_.launch().program->memory[i.memory].values)
    if (v.is_reg() && i.kind == Kind::load) undefined.define(v.reg, w.active);
}

void BlockCheck::computes(uint32_t instruction, Warp& w) {
  const Decoded& p = *check_.launch().program;
  const Instruction& i = p.code[instruction];
  uint32_t mask = w.active;
  if (i.guard != kNone) {
    check_use(Value::of(i.guard), mask, instruction, w.index, "whether an instruction is carried out");
    for (uint32_t m = mask; m; m &= m - 1)
      if ((value_of(Value::of(i.guard), lowest(m), p, w) != 0) == i.guard_negated) mask &= ~(1u << lowest(m));
  }
  if (i.kind == Kind::pure) return warps_[w.index].undefined.compute(i, p, w, mask);
  if (i.memory == kNone && !i.names_lanes && i.kind != Kind::shuffle) forget_results(i, w);
}

void BlockCheck::decides(uint32_t instruction, uint32_t mask, Warp& w) {
  const Instruction& i = check_.launch().program->code[instruction];
  if (i.guard != kNone) check_use(Value::of(i.guard), mask, instruction, w.index, "where a branch goes");
  if (i.kind == Kind::branch_table) check_use(i.sources[0], mask, instruction, w.index, "where a branch goes");
}

void BlockCheck::enters(uint32_t block, Warp& w) {
  WarpState& s = warps_[w.index];
  for (std::size_t k = 0; k < s.passed.size(); ++k) {
    const Skip& skip = check_.skips()[k];
    if (block == skip.branch)
      s.passed[k] = 1;
    else if (block == skip.after && s.passed[k] == 1)
      s.passed[k] = 2;
  }
  for (std::size_t k = 0; k < s.lanes_passed.size(); ++k) {
    const Skip& skip = check_.lane_skips()[k];
    auto& [came, went] = s.lanes_passed[k];
    if (block == skip.branch) {
      came |= w.active;
    } else if (block == skip.after) {
      went |= came & w.active;
      came &= ~w.active;
    }
  }
  if (!s.undefined.any()) return;
  s.undefined.keep(check_.launch().program->blocks[block].live_in, w.active);
  if (!s.undefined.any()) shadows = std::ranges::any_of(warps_, [](const WarpState& o) { return o.undefined.any(); });
}

}  // namespace coalesce::machine
