// mbarrier.* and cp.async.mbarrier.arrive: atomics on an object's 64 bits, which are not counted.
#include "machine/plain/decoder.h"
#include "machine/plain/run.h"

namespace coalesce::machine::plain {

// An object's bits apart, changed, and together again.
uint64_t mbarrier_result(Arithmetic what, uint64_t old, uint64_t operand) {
  if (what == Arithmetic::look) return old;
  if (what == Arithmetic::init) return operand * ((1u << 20) + 1);
  int64_t pending = static_cast<int64_t>(old % (1u << 20)), expected = static_cast<int64_t>(old >> 20 & 0xfffff);
  int64_t bytes = static_cast<int64_t>(old >> 40 & 0x1fffff);
  uint64_t phase = old >> 61 & 1;
  const auto n = static_cast<int64_t>(operand & 0xffffffff);
  if (what == Arithmetic::arrive || what == Arithmetic::drop) pending -= n;
  if (what == Arithmetic::drop) expected -= n;
  if (what == Arithmetic::expect || what == Arithmetic::arrive_expect) bytes += n;
  if (what == Arithmetic::complete) bytes -= n;
  if (what == Arithmetic::arrive_expect) pending -= 1;
  pending &= 0xfffff, expected &= 0xfffff, bytes &= 0x1fffff;
  if (pending == 0 && bytes == 0) pending = expected, phase ^= 1;
  return static_cast<uint64_t>(pending | expected << 20 | bytes << 40) | phase << 61;
}

// A wait: whether the object has left the phase of a state, or of that parity.
void run_mbarrier(Warp& w, Frame& f, const Op& op, uint32_t on) {
  Op look = op;
  Dest scratch;
  scratch.at = 0;
  look.out = {scratch};
  run_atomic(w, f, look, on);
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (!(on >> l & 1)) continue;
    const uint64_t now = f.cells[l] >> 61 & 1, before = value(w, op.in[1], l) >> (op.mode ? 0 : 61) & 1;
    put_predicate(f, op.out[0], l, now != before);
  }
}

void Decoder::mbarrier() {
  for (std::string_view w : words_->rest) {
    bool known = false;
    for (std::string_view k :
         {"init",     "inval",         "expect_tx",  "complete_tx", "arrive",          "arrive_drop", "test_wait",
          "try_wait", "pending_count", "noComplete", "parity",      "release",         "relaxed",     "acquire",
          "cta",      "cluster",       "shared",     "shared::cta", "shared::cluster", "b64",         "async",
          "mbarrier", "noinc"})
      known = known || w == k;
    if (!known) return unknown();
  }
  const bool copies = words_->opcode == "cp";
  if (has("inval") || (copies && !has("noinc"))) return nothing();
  MemoryForm m;
  m.width = 8;
  const auto finish = [&](const ptx::Operand& where) {
    m.place = place(where);
    m.place.space = Space::shared;
    m.place.counted = false;
    op_->memory = m;
    op_->run = run_atomic;
  };
  if (copies) {
    m.what = Arithmetic::arrive;
    op_->in = {constant(1)};
    return finish(operand(0));
  }
  if (has("pending_count")) {
    op_->row = find_pure("and.b64");
    op_->in = {source(operand(1), 8), constant(0xfffff)};
    op_->out = {dest(operand(0))};
    op_->run = run_row;
    return;
  }
  if (has("test_wait") || has("try_wait")) {
    if (operands() < 3 || operands() > (has("try_wait") ? 4u : 3u)) return unknown();
    m.what = Arithmetic::look;
    op_->mode = has("parity");
    op_->in = {constant(0), source(operand(2), op_->mode ? 4 : 8)};
    op_->out = {dest(operand(0))};
    op_->polls = true;
    finish(operand(1));
    op_->run = run_mbarrier;
    return;
  }
  const bool arrives = has("arrive") || has("arrive_drop");
  const std::size_t at = arrives && operand(0).kind != ptx::Operand::Kind::address ? 1 : 0;
  if (operands() < at + 1 || operands() > at + 2 || ((!arrives || has("expect_tx")) && operands() != at + 2) ||
      (has("arrive_drop") && has("expect_tx")))
    return unknown();
  m.what = has("init")                   ? Arithmetic::init
           : has("complete_tx")          ? Arithmetic::complete
           : has("arrive_drop")          ? Arithmetic::drop
           : arrives && has("expect_tx") ? Arithmetic::arrive_expect
           : has("expect_tx")            ? Arithmetic::expect
                                         : Arithmetic::arrive;
  op_->in = {operands() > at + 1 ? source(operand(at + 1), 4) : constant(1)};
  if (at == 1 && operand(0).kind != ptx::Operand::Kind::sink) op_->out = {dest(operand(0))};
  finish(operand(at));
}

}  // namespace coalesce::machine::plain
