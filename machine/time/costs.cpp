#include "machine/time/costs.h"

#include <algorithm>

#include "machine/program/uses.h"
#include "machine/time/schedule.h"

namespace coalesce::machine {

namespace {

using isa::Opcode;
using isa::Type;

// Instructions of the hardware that a subroutine or a sequence of ptxas has (read from its output for sm_90).
// The figures give the throughput that was measured on an H100.
constexpr float kDivide32 = 10, kDivide64 = 12, kIntegerDivide32 = 15, kIntegerDivide64 = 60, kRoot32 = 8, kRoot64 = 12;
constexpr float kFewer = 1;

InstructionCost computing(const PureOp& op, const Limits& l) {
  const isa::Operation& o = op.operation;
  const auto of = [](Pipe pipe, const Limit& latency, float slots = 1) {
    // A sequence is a chain: each waits for the one before.
    return InstructionCost{pipe, slots, static_cast<float>(latency.value) * std::max(1.0F, slots)};
  };
  const bool wide = isa::bits_of(o.type) == 64;
  const bool f64 = o.type == Type::f64 || o.to == Type::f64, f32 = o.type == Type::f32;
  const std::string_view name = op.mnemonic;
  switch (o.opcode) {
    case Opcode::mov:
    case Opcode::pack:
    case Opcode::unpack:
    case Opcode::narrow:
    case Opcode::widen:
      return {};
    case Opcode::cvt: {
      const bool floating = f64 || f32 || o.to == Type::f32 || o.to == Type::other || o.type == Type::other;
      if (!floating)
        return isa::bits_of(o.type) >= 32 && !isa::is_signed(o.type) ? InstructionCost{} : of(Pipe::alu, l.lat_alu);
      return of(f64 ? Pipe::special : Pipe::convert, l.lat_convert, f64 ? 2 : kFewer);
    }
    case Opcode::div:
    case Opcode::rem:
      if (f64) return of(Pipe::fp64, l.lat_fp64, kDivide64);
      if (f32) return of(Pipe::fp32, l.lat_fp32, o.modified ? 3 : kDivide32);
      return of(Pipe::alu, l.lat_alu, wide ? kIntegerDivide64 : kIntegerDivide32);
    case Opcode::sqrt:
    case Opcode::rcp:
      if (f64) return of(Pipe::fp64, l.lat_fp64, kRoot64);
      return o.modified ? of(Pipe::special, l.lat_special) : of(Pipe::fp32, l.lat_fp32, kRoot32);
    case Opcode::popc:
    case Opcode::clz:
    case Opcode::brev:
      return of(Pipe::convert, l.lat_convert, wide ? 2 : 1);
    case Opcode::mul:
    case Opcode::mad:
    case Opcode::fma:
      if (f64) return of(Pipe::fp64, l.lat_fp64);
      if (f32) return of(Pipe::fp32, l.lat_fp32);
      if (isa::is_integer(o.type))
        return of(Pipe::alu, l.lat_mul,
                  o.product == isa::Product::hi             ? 2
                  : wide && o.product != isa::Product::wide ? 3
                                                            : 1);
      return of(Pipe::half, l.lat_half);
    default:
      break;
  }
  if (f64) return of(Pipe::fp64, l.lat_fp64);
  if (f32) {
    for (const std::string_view special : {"ex2", "lg2", "sin", "cos", "tanh", "rsqrt"})
      if (name.starts_with(special)) return of(Pipe::special, l.lat_special);
    return of(o.opcode == Opcode::add || o.opcode == Opcode::sub ? Pipe::fp32 : Pipe::alu, l.lat_fp32);
  }
  if (o.type == Type::other && o.opcode != Opcode::other) return of(Pipe::half, l.lat_half);
  if (o.opcode == Opcode::add || o.opcode == Opcode::sub) return of(Pipe::fp32, l.lat_alu, wide ? 2 : 1);
  return of(Pipe::alu, l.lat_alu, wide && o.opcode != Opcode::selp ? 2 : 1);
}

// A 64-bit sum with a product or a shifted number that this block has made: one instruction with it, as in addresses.
bool joins_product(const Decoded& p, const Instruction& i, const BasicBlock& block) {
  if (i.kind != Kind::pure || !i.pure || i.pure->operation.opcode != Opcode::add ||
      isa::bits_of(i.pure->operation.type) != 64 || i.pure->operation.type == Type::f64)
    return false;
  for (uint32_t k = block.first; k < block.last; ++k) {
    const Instruction& before = p.code[k];
    if (before.kind != Kind::pure || !before.pure || before.results[0] == kNone) continue;
    const isa::Operation& o = before.pure->operation;
    if (!(o.opcode == Opcode::mul && o.product == isa::Product::wide) && o.opcode != Opcode::shl) continue;
    for (const Value& v : i.sources)
      if (v.is_reg() && v.reg == before.results[0]) return true;
  }
  return false;
}

}  // namespace

InstructionCost cost_of(const Decoded& p, const Instruction& i, const Limits& l) {
  const auto lat = [](const Limit& limit) { return static_cast<float>(limit.value); };
  if (!i.counts && i.memory == kNone) return {};
  switch (i.kind) {
    case Kind::pure:
      return i.pure ? computing(*i.pure, l) : InstructionCost{};
    case Kind::load:
    case Kind::store:
    case Kind::atomic:
      // At a known address it is an operand of the instruction that needs it.
      if (p.memory[i.memory].space == AddressSpace::constant || p.memory[i.memory].space == AddressSpace::param)
        return p.memory[i.memory].address.is_reg() ? InstructionCost{Pipe::memory, 1, lat(l.lat_constant)}
                                                   : InstructionCost{};
      return {Pipe::memory, 1, lat(l.lat_l1)};
    case Kind::shuffle:
    case Kind::reduce_lanes:
      return {Pipe::shuffle, 1, lat(l.lat_shuffle)};
    case Kind::vote:
    case Kind::match:
    case Kind::active_mask:
    case Kind::elect:
      return {Pipe::alu, 1, 3 * lat(l.lat_alu)};
    case Kind::collective:
      return {Pipe::tensor, 1, 2 * lat(l.lat_special)};
    case Kind::barrier:
      return {Pipe::barrier, 1, lat(l.lat_alu)};
    case Kind::branch:
    case Kind::branch_table:
    case Kind::exit:
    case Kind::function_call:
    case Kind::function_return:
      return {Pipe::alu, 1, 2 * lat(l.lat_alu)};
    case Kind::clock:
      return {Pipe::alu, 1, 5 * lat(l.lat_alu)};
    case Kind::nothing: {
      const auto what = static_cast<Nothing>(i.mode);
      if (what == Nothing::device_fence) return {Pipe::alu, 1, lat(l.fence_cycles)};
      return {what == Nothing::block_fence ? Pipe::alu : Pipe::none, 1, lat(l.lat_alu)};
    }
    default:
      return {Pipe::alu, 1, lat(l.lat_alu)};
  }
}

Costs find_costs(const Decoded& p, const Limits& l) {
  Costs c;
  c.blocks.resize(p.blocks.size());
  c.entry_of.assign(p.code.size(), kNone);
  const double rates[kPipes] = {l.issue.value,  l.fp32.value,    l.alu.value,     l.fp64.value,
                                l.half.value,   l.special.value, l.convert.value, l.shuffle.value,
                                l.tensor.value, l.issue.value,   l.issue.value};
  std::copy(std::begin(rates), std::end(rates), c.pipe_rate);
  std::vector<InstructionCost> costs;
  for (uint32_t b = 0; b < p.blocks.size(); ++b) {
    const BasicBlock& block = p.blocks[b];
    costs.clear();
    for (uint32_t k = block.first; k < block.last; ++k) {
      costs.push_back(cost_of(p, p.code[k], l));
      if (joins_product(p, p.code[k], block)) costs.back() = {};
    }
    c.blocks[b].first = static_cast<uint32_t>(c.entries.size());
    for (const uint32_t k : schedule(p, block, costs, l)) {
      const uint32_t index = block.first + k;
      const Instruction& i = p.code[index];
      Costs::Entry e;
      e.cost = costs[k];
      c.slots += static_cast<double>(e.cost.slots);
      e.instruction = index;
      e.first_read = static_cast<uint32_t>(c.registers.size());
      each_read(p, i, [&](uint32_t r) {
        if (p.registers[r].builtin == Builtin::none) c.registers.push_back(r);
      });
      e.first_write = static_cast<uint32_t>(c.registers.size());
      e.reads = e.first_write - e.first_read;
      each_written(p, i, [&](uint32_t r) { c.registers.push_back(r); });
      e.writes = static_cast<uint32_t>(c.registers.size()) - e.first_write;
      c.entry_of[index] = static_cast<uint32_t>(c.entries.size());
      c.entries.push_back(e);
    }
    c.blocks[b].last = static_cast<uint32_t>(c.entries.size());
  }
  return c;
}

}  // namespace coalesce::machine
