// mbarrier.*: each is an atomic on the object's 64 bits in shared memory (isa/mbarrier.h). They are not counted as
// accesses: hardware has a unit of its own for them. A wait that fails returns at once; the loop around it polls.
#include "machine/isa/mbarrier.h"

#include "machine/program/flatten/opcodes.h"

namespace coalesce::machine::flattening {

namespace {

// Replaces the object by what `op` makes of it; its old bits go to `old`.
void update(Builder& b, const ptx::Operand& where, AtomicOp op, Value operand, uint32_t old, Order order) {
  MemoryOp m = b.address(where);
  m.space = AddressSpace::shared;
  m.op = op;
  m.width = 8;
  m.is_volatile = true;
  m.order = order;
  if (b.m->has("cta")) m.scope = Scope::block;  // not where the text names none: other blocks arrive so, too
  m.returns = order == Order::acquire;
  m.values[0] = operand;
  m.value_bytes[0] = 8;
  m.result = old;
  const uint32_t index = b.add_uncounted(m);
  b.emit(Kind::atomic).memory = index;
}

}  // namespace

void mbarrier(Builder& b) {
  const auto& ops = b.in->operands;
  const std::string_view what = b.m->suffixes.empty() ? "" : b.m->suffixes[0];
  for (std::string_view s : b.m->suffixes)
    if (s != what && s != "expect_tx" && s != "noComplete" && s != "parity" && s != "release" && s != "relaxed" &&
        s != "acquire" && s != "cta" && s != "cluster" && s != "shared" && s != "shared::cta" &&
        s != "shared::cluster" && s != "b64")
      return b.unknown();
  // The operand, moved to where the object has that count.
  const auto moved = [&](Value v, unsigned by) {
    if (v.is_constant()) return Value::imm(v.bits << by);
    return by ? b.compute("shl.b64", {v, Value::imm(by)}) : v;
  };
  const auto both = [&](Value low, Value high) {
    return low.is_constant() && high.is_constant() ? Value::imm(low.bits | high.bits)
                                                   : b.compute("or.b64", {low, high});
  };
  // Counts and sizes are unsigned and have 32 bits.
  const auto count = [&](std::size_t k) {
    if (k >= ops.size()) return Value::imm(1);
    const Value v = b.value(ops[k], Element::b32);
    return v.is_constant() ? Value::imm(v.bits & 0xffffffff) : b.fitted(v, Element::b64);
  };
  if (what == "init" && ops.size() == 2) {
    const Value n = count(1);
    return update(b, ops[0], AtomicOp::exch, both(n, moved(n, kMbarrierExpected)), kNone, Order::weak);
  }
  if (what == "inval" && ops.size() == 1) return nothing(b);
  if (what == "expect_tx" && ops.size() == 2)
    return update(b, ops[0], AtomicOp::mbarrier, moved(count(1), kMbarrierBytes), kNone, Order::relaxed);
  if (what == "complete_tx" && ops.size() == 2) {
    const Value n = count(1);
    const Value less = n.is_constant() ? Value::imm(0 - n.bits) : b.compute("sub.s64", {Value::imm(0), n});
    return update(b, ops[0], AtomicOp::mbarrier, moved(less, kMbarrierBytes), kNone, Order::release);
  }
  if (what == "pending_count" && ops.size() == 2) {
    const Value state = b.value(ops[1], Element::b64);
    const uint32_t r = b.result(ops[0], Element::b64, false);
    b.emit_pure("and.b64", {r}, {state, Value::imm(kMbarrierCount)}, true);
    return b.finish_results();
  }
  if (what == "arrive" || what == "arrive_drop") {
    const bool expects = b.m->has("expect_tx");
    const bool has_state = !ops.empty() && ops[0].kind != ptx::Operand::Kind::address;
    const std::size_t at = has_state ? 1 : 0;
    if (ops.size() < at + 1 || ops.size() > at + 2 || (expects && (ops.size() != at + 2 || what == "arrive_drop")))
      return b.unknown();
    const Value arrivals = expects ? Value::imm(1) : count(at + 1);
    Value change = arrivals;
    if (what == "arrive_drop") change = both(change, moved(arrivals, kMbarrierExpected));
    if (expects) change = both(change, moved(count(at + 1), kMbarrierBytes));
    const uint32_t old = has_state ? b.result(ops[0], Element::b64, false) : kNone;
    update(b, ops[at], AtomicOp::mbarrier, change, old, b.m->has("relaxed") ? Order::relaxed : Order::release);
    return b.finish_results();
  }
  if ((what == "test_wait" || what == "try_wait") && (ops.size() == 3 || (what == "try_wait" && ops.size() == 4))) {
    const bool parity = b.m->has("parity");
    const Value phase = parity ? moved(count(2), kMbarrierPhase) : b.value(ops[2], Element::b64);
    const uint32_t now = b.new_register(Element::b64);
    update(b, ops[1], AtomicOp::mbarrier, Value::imm(0), now, Order::acquire);
    b.out.code.back().counts = false;
    const Value differ = b.compute("xor.b64", {Value::of(now), phase});
    const Value bit = b.compute("and.b64", {differ, Value::imm(uint64_t{1} << kMbarrierPhase)});
    const uint32_t r = b.result(ops[0], Element::pred, false);
    b.emit_pure("setp.ne.u64", {r}, {bit, Value::imm(0)}, true);
    return b.finish_results();
  }
  b.unknown();
}

// cp.async.mbarrier.arrive{.noinc}.shared.b64 [object]: copies are done when they are issued, so it arrives at once.
// Without .noinc the object expects one arrival more before, which leaves it as it was.
void copies_arrive(Builder& b) {
  if (b.in->operands.size() != 1) return b.unknown();
  const bool expects = !b.m->has("noinc");
  Instruction& i = expects ? b.emit_nothing(Nothing::copies_arrive) : b.emit(Kind::nothing);
  i.mode = static_cast<uint8_t>(Nothing::copies_arrive);
  if (!expects) i.counts = false;
  const MemoryOp object = b.address(b.in->operands[0]);
  i.sources = {object.address, Value::imm(static_cast<uint64_t>(object.offset))};
  if (expects) return;
  update(b, b.in->operands[0], AtomicOp::mbarrier, Value::imm(1), kNone, Order::release);
}

}  // namespace coalesce::machine::flattening
