#include "machine/time/costs.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

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

namespace {

class Builder {
 public:
  Builder(const Decoded& program, const Limits& limits);
  Costs build();

 private:
  Costs::Run run(Chain chain);
  // The register that the turn has for one that the loop writes; of the last turn it is the program's own.
  uint32_t of_turn(uint32_t reg, uint32_t turn);

  const Decoded& p_;
  const Limits& l_;
  Costs c_;
  std::vector<InstructionCost> costs_;                          // by instruction
  std::unordered_map<uint32_t, std::vector<uint32_t>> turned_;  // by register: the turns' own
};

Builder::Builder(const Decoded& program, const Limits& limits) : p_(program), l_(limits) {
  const double rates[kPipes] = {l_.issue.value,  l_.fp32.value,    l_.alu.value,     l_.fp64.value,
                                l_.half.value,   l_.special.value, l_.convert.value, l_.shuffle.value,
                                l_.tensor.value, l_.issue.value,   l_.issue.value};
  std::copy(std::begin(rates), std::end(rates), c_.pipe_rate);
  c_.register_count = static_cast<uint32_t>(p_.registers.size());
  costs_.resize(p_.code.size());
  for (const BasicBlock& block : p_.blocks)
    for (uint32_t k = block.first; k < block.last; ++k) {
      if (!joins_product(p_, p_.code[k], block)) costs_[k] = cost_of(p_, p_.code[k], l_);
      c_.slots += static_cast<double>(costs_[k].slots);
    }
}

uint32_t Builder::of_turn(uint32_t reg, uint32_t turn) {
  std::vector<uint32_t>& own = turned_[reg];
  while (own.size() <= turn) own.push_back(c_.register_count++);
  return own[turn];
}

Costs::Run Builder::run(Chain chain) {
  // A register that a turn of the loop writes for sure is another one in each turn.
  std::unordered_set<uint32_t> turning, written;
  if (chain.turns > 1)
    for (const Link& link : chain.links)
      for (uint32_t k = p_.blocks[link.block].first; k < p_.blocks[link.block].last; ++k)
        each_written(p_, p_.code[k], [&](uint32_t r) {
          if (!link.optional && p_.code[k].guard == kNone) turning.insert(r);
        });
  std::vector<Scheduled> code;
  std::vector<std::pair<uint32_t, uint32_t>> places;  // instruction and link of each
  for (uint32_t n = 0; n < chain.links.size(); ++n) {
    const Link& link = chain.links[n];
    if (n == 0 || link.turn != chain.links[n - 1].turn) written.clear();
    const bool final_turn = link.turn + 1 == chain.turns;
    const auto reads = [&](uint32_t r) {
      if (!turning.contains(r)) return r;
      if (written.contains(r)) return final_turn ? r : of_turn(r, link.turn);
      return link.turn == 0 ? r : of_turn(r, link.turn - 1);
    };
    const BasicBlock& block = p_.blocks[link.block];
    for (uint32_t k = block.first; k < block.last; ++k) {
      const Instruction& i = p_.code[k];
      Scheduled s{.cost = costs_[k], .keeps = what_keeps(i)};
      if (i.memory != kNone) s.space = p_.memory[i.memory].space;
      each_read(p_, i, [&](uint32_t r) {
        if (p_.registers[r].builtin == Builtin::none) s.reads.push_back(reads(r));
      });
      const auto writes = [&](uint32_t r) {
        written.insert(r);
        s.writes.push_back(turning.contains(r) && !final_turn ? of_turn(r, link.turn) : r);
      };
      each_written(p_, i, writes);
      if (i.kind == Kind::collective)
        for (const uint32_t r : i.targets) writes(r);
      // Inside of the chain a predicate or nothing stands for a branch, and what only counts turns happens once.
      const bool counts = std::find(chain.counts.begin(), chain.counts.end(), k) != chain.counts.end();
      if (i.kind == Kind::branch && n + 1 < chain.links.size()) s.cost = {}, s.keeps = Keeps::free;
      if (counts && !final_turn) s.cost = {};
      code.push_back(std::move(s));
      places.emplace_back(k, n);
    }
  }
  Costs::Run out{.chain = std::move(chain), .first = static_cast<uint32_t>(c_.entries.size())};
  for (const uint32_t k : schedule(code, l_)) {
    Costs::Entry e{.cost = code[k].cost, .instruction = places[k].first, .link = places[k].second};
    e.first_read = static_cast<uint32_t>(c_.registers.size());
    e.reads = static_cast<uint32_t>(code[k].reads.size());
    c_.registers.insert(c_.registers.end(), code[k].reads.begin(), code[k].reads.end());
    e.first_write = static_cast<uint32_t>(c_.registers.size());
    e.writes = static_cast<uint32_t>(code[k].writes.size());
    c_.registers.insert(c_.registers.end(), code[k].writes.begin(), code[k].writes.end());
    c_.entries.push_back(e);
  }
  out.last = static_cast<uint32_t>(c_.entries.size());
  return out;
}

Costs Builder::build() {
  Chains chains = find_chains(p_);
  for (std::size_t b = 0; b < p_.blocks.size(); ++b) {
    c_.once.push_back(run(std::move(chains.once[b])));
    c_.unrolled.push_back(chains.unrolled[b].links.empty() ? Costs::Run{} : run(std::move(chains.unrolled[b])));
  }
  return std::move(c_);
}

}  // namespace

Costs find_costs(const Decoded& p, const Limits& l) { return Builder(p, l).build(); }

}  // namespace coalesce::machine
