// Instructions that change nothing the machine models: hints, fences, groups of asynchronous operations.
#include "machine/program/flatten/opcodes.h"

namespace coalesce::machine::flattening {

void nothing(Builder& b) { b.emit_nothing(); }

// Launches run one after the other: a wait for those before has nothing to wait for; `check` looks at it.
void grid_control(Builder& b) { b.emit_nothing(b.m->has("wait") ? Nothing::grid_wait : Nothing::nothing); }

// The groups are of what is done when it is issued; `check` looks at them.
void groups(Builder& b, Nothing commit, Nothing wait) {
  const auto& ops = b.in->operands;
  if (ops.size() != b.m->has("wait_group")) return b.wrong_number();
  Instruction& i = b.emit_nothing(b.m->has("commit_group") ? commit : wait);
  if (!ops.empty() && ops[0].kind == ptx::Operand::Kind::integer) i.sources = {Value::imm(ops[0].bits)};
}

// Execution is sequentially consistent within a block, so fences do nothing; `check` looks at them.
void fence(Builder& b) {
  const bool names_map = b.m->has("acquire") && b.m->suffixes.size() > 1 && b.m->suffixes[1].starts_with("tensormap::");
  if (b.in->operands.size() != (names_map ? 2u : 0u)) return b.wrong_number();
  Nothing what = Nothing::nothing;  // of a proxy: between ways to memory that are one here
  if (b.m->has("cta")) what = Nothing::block_fence;
  if (b.m->has("gl") || b.m->has("gpu") || b.m->has("sys") || b.m->has("cluster")) what = Nothing::device_fence;
  if (!b.m->suffixes.empty() && b.m->suffixes[0].starts_with("proxy"))
    what = b.m->suffixes.size() < 2 || b.m->suffixes[1] != "async" ? Nothing::nothing
           : b.m->suffixes.size() == 2                             ? Nothing::proxy_fence
           : b.m->has("global")                                    ? Nothing::proxy_fence_global
                                                                   : Nothing::proxy_fence_shared;
  b.emit_nothing(what);
}

}  // namespace coalesce::machine::flattening
