// The registers of an instruction: which it reads, which it writes.
#pragma once

#include "machine/program/program.h"

namespace coalesce::machine {

// Calls `visit` with each register that it reads: its guard, its sources, an address, what it stores.
template <class Visit>
void each_read(const Decoded& p, const Instruction& i, Visit visit) {
  const auto read = [&](const Value& v) {
    if (v.is_reg()) visit(v.reg);
  };
  if (i.guard != kNone) visit(i.guard);
  for (const Value& v : i.sources) read(v);
  if (i.memory == kNone) return;
  const MemoryOp& m = p.memory[i.memory];
  read(m.address);
  if (i.kind == Kind::load) return;
  for (const Value& v : m.values) read(v);
}

// Calls visit with each register whose value is not computed from the lane's own: a loaded value, an atomic's old
// value, results of a collective.
template <class Visit>
void each_from_memory(const Decoded& p, const Instruction& i, Visit visit) {
  if (i.kind == Kind::collective)
    for (const uint32_t r : i.targets) visit(r);
  if (i.memory == kNone) return;
  const MemoryOp& m = p.memory[i.memory];
  if (m.result != kNone) visit(m.result);
  if (i.kind != Kind::load) return;
  for (const Value& v : m.values)
    if (v.is_reg()) visit(v.reg);
}

// Calls visit with each register that the instruction writes, if only in lanes that its guard permits.
template <class Visit>
void each_written(const Decoded& p, const Instruction& i, Visit visit) {
  for (const uint32_t r : i.results)
    if (r != kNone) visit(r);
  each_from_memory(p, i, visit);
  if (i.kind != Kind::function_call) return;
  for (const uint32_t r : i.targets)
    if (r != kNone) visit(r);
}

}  // namespace coalesce::machine
