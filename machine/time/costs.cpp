#include "machine/time/costs.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "machine/program/merge.h"
#include "machine/program/uses.h"
#include "machine/time/schedule.h"

namespace coalesce::machine {

namespace {

using isa::Opcode;
using isa::Type;

// A subroutine or a sequence of ptxas: instructions that it issues (read from its output for sm_90), slots
// of the pipe that holds it up and cycles until its result is there (measured on an H100, gpu/limits: the pipe's rate
// over the sequence's, its latency).
struct Sequence {
  Pipe pipe;
  float slots, held, latency;
  bool branches = false;
  operator InstructionCost() const { return {pipe, slots, latency, held, branches}; }
};
// A division of f32 asks the special unit twice: for the reciprocal and whether the quotient is an ordinary case.
constexpr Sequence kDivide32{Pipe::special, 10, 2.15F, 58, true}, kDivideFull{Pipe::special, 7, 1.26F, 41.5F};
constexpr Sequence kDivideFast{Pipe::special, 3, 1, 32.7F};
constexpr Sequence kReciprocal32{Pipe::special, 8, 1.7F, 77, true}, kRoot32{Pipe::special, 8, 1.56F, 56, true};
constexpr Sequence kDivide64{Pipe::fp64, 13, 13, 125, true}, kReciprocal64{Pipe::fp64, 8, 8, 74, true},
    kRoot64{Pipe::fp64, 14, 14, 93, true};
constexpr Sequence kLeast64{Pipe::fp64, 4, 4, 25.5F};
constexpr Sequence kDivideInteger32{Pipe::alu, 15, 15, 134}, kDivideInteger64{Pipe::alu, 60, 60, 300, true};
constexpr Sequence kProduct64{Pipe::alu, 4, 4, 12.5F}, kLeastInteger64{Pipe::alu, 4, 4, 12.4F},
    kField{Pipe::alu, 5, 5, 16.4F};
constexpr Sequence kSine{Pipe::special, 2, 1, 23.3F};

InstructionCost conversion(const isa::Operation& o, const Limits& l) {
  const auto latency = [](const Limit& limit) { return static_cast<float>(limit.value); };
  const auto is_real = [](Type t) { return t == Type::f32 || t == Type::f64; };
  const bool from_half = o.type == Type::other, to_half = o.to == Type::other;
  if (!is_real(o.type) && !is_real(o.to) && !from_half && !to_half)
    return isa::bits_of(o.type) >= 32 && !isa::is_signed(o.type) ? InstructionCost{}
                                                                 : InstructionCost{Pipe::alu, 1, latency(l.lat_alu)};
  if ((from_half && o.to == Type::f32) || (to_half && o.type == Type::f32)) return {Pipe::fp32, 1, latency(l.lat_fp32)};
  if (isa::is_integer(o.type) && isa::bits_of(o.type) <= 32 && o.to == Type::f32)
    return {Pipe::alu, 1, latency(l.lat_alu)};
  return {Pipe::special, 1, latency(l.lat_convert)};
}

InstructionCost computing(const PureOp& op, const Limits& l) {
  const isa::Operation& o = op.operation;
  const auto of = [](Pipe pipe, const Limit& latency, float slots = 1) {
    // A sequence is a chain: each waits for the one before.
    return InstructionCost{pipe, slots, static_cast<float>(latency.value) * std::max(1.0F, slots)};
  };
  const bool wide = isa::bits_of(o.type) == 64;
  const bool f64 = o.type == Type::f64, f32 = o.type == Type::f32;
  const bool rounded = o.rounding != isa::Rounding::none;
  const std::string_view name = op.mnemonic;
  switch (o.opcode) {
    case Opcode::mov:
    case Opcode::pack:
    case Opcode::unpack:
    case Opcode::narrow:
    case Opcode::widen:
      return {};
    case Opcode::cvt:
      return conversion(o, l);
    case Opcode::abs:
    case Opcode::neg:
      if (f32 || f64) return {};  // operands of the next instruction have it
      break;
    case Opcode::div:
    case Opcode::rem:
      if (f64) return kDivide64;
      if (f32) return rounded ? kDivide32 : name.starts_with("div.full") ? kDivideFull : kDivideFast;
      return wide ? kDivideInteger64 : kDivideInteger32;
    case Opcode::sqrt:
      if (f64) return kRoot64;
      return rounded ? InstructionCost(kRoot32) : of(Pipe::special, l.lat_special);
    case Opcode::rcp:
      if (f64 && rounded) return kReciprocal64;
      return rounded ? InstructionCost(kReciprocal32) : of(Pipe::special, l.lat_special);
    case Opcode::popc:
    case Opcode::clz:
    case Opcode::brev:
      return of(Pipe::special, l.lat_convert, wide ? 2 : 1);
    case Opcode::bfe:
      return kField;
    case Opcode::selp:
      if (wide) return {Pipe::alu, 2, static_cast<float>(l.lat_alu.value)};
      break;
    case Opcode::min:
    case Opcode::max:
      if (f64) return kLeast64;
      if (wide) return kLeastInteger64;
      break;
    case Opcode::mul:
    case Opcode::mad:
    case Opcode::fma:
      if (f64) return of(Pipe::fp64, l.lat_fp64);
      if (f32) return of(Pipe::fp32, l.lat_fp32);
      if (!isa::is_integer(o.type)) return of(Pipe::half, l.lat_half);
      if (wide && o.product != isa::Product::wide) return kProduct64;
      return of(Pipe::alu, l.lat_mul, o.product == isa::Product::lo ? 1 : 2);
    default:
      break;
  }
  if (f64) return of(Pipe::fp64, l.lat_fp64);
  if (f32) {
    if (name.starts_with("sin") || name.starts_with("cos")) return kSine;
    for (const std::string_view special : {"ex2", "lg2", "tanh", "rsqrt"})
      if (name.starts_with(special)) return of(Pipe::special, l.lat_special);
    return of(o.opcode == Opcode::add || o.opcode == Opcode::sub ? Pipe::fp32 : Pipe::alu, l.lat_fp32);
  }
  if (o.type == Type::other && o.opcode != Opcode::other) return of(Pipe::half, l.lat_half);
  if (o.opcode == Opcode::add || o.opcode == Opcode::sub)
    return {Pipe::fp32, wide ? 2.0F : 1.0F, static_cast<float>(l.lat_alu.value) * (wide ? 1.5F : 1)};
  if (o.opcode == Opcode::shl || o.opcode == Opcode::shr)
    return {Pipe::alu, wide ? 2.0F : 1.0F, static_cast<float>(l.lat_alu.value)};
  return of(Pipe::alu, l.lat_alu, wide ? 2 : 1);
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

constexpr double kOfALine = 8;  // instructions in a line of code
// Registers that ptxas lets loads have where a thread needs fewer: with more, a multiprocessor holds fewer threads (of
// 400 kernels that it compiled for sm_90, 60 have exactly as many).
constexpr uint32_t kCommonRegisters = 32;

// Words of 32 bits that a number takes of a thread's registers. None: predicates, and integers that are the same for
// all threads of a block, which ptxas keeps in registers of the warp.
uint8_t register_words(const Register& r, bool is_lanes) {
  if (r.builtin != Builtin::none || (r.lanes <= LaneClass::block_uniform && !is_lanes)) return 0;
  switch (r.element) {
    case Element::b8:
    case Element::b16:
    case Element::b32:
      return 1;
    case Element::b64:
      return 2;
    case Element::b128:
      return 4;
    default:
      return 0;
  }
}

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
  std::vector<InstructionCost> costs_;  // by instruction
  std::unordered_map<uint32_t, std::vector<uint32_t>>
      joined_;             // by its first member: an access that ptxas makes of several
  std::vector<bool> led_;  // by instruction: another member
  double issued_ = 0;      // by the entries so far
  std::unordered_map<uint32_t, std::vector<uint32_t>> turned_;  // by register: the turns' own
  ThreadRegisters registers_;
};

Builder::Builder(const Decoded& program, const Limits& limits) : p_(program), l_(limits) {
  const double rates[kPipes] = {l_.issue.value,   l_.fp32.value,    l_.alu.value,    l_.fp64.value,  l_.half.value,
                                l_.special.value, l_.shuffle.value, l_.tensor.value, l_.issue.value, l_.issue.value};
  std::copy(std::begin(rates), std::end(rates), c_.pipe_rate);
  c_.register_count = static_cast<uint32_t>(p_.registers.size());
  registers_.most = p_.known_registers ? p_.known_registers : std::max(kCommonRegisters, p_.live_registers);
  // Results of memory and of real arithmetic lie in the lanes' registers even where they are the same for all of them.
  std::vector<bool> of_lanes(p_.registers.size());
  for (const Instruction& i : p_.code) {
    const bool is_integer = i.kind == Kind::pure && i.pure && isa::is_integer(i.pure->operation.type);
    const bool is_fixed = i.kind == Kind::load && (p_.memory[i.memory].space == AddressSpace::constant ||
                                                   p_.memory[i.memory].space == AddressSpace::param);
    if (!is_integer && !is_fixed) each_written(p_, i, [&](uint32_t r) { of_lanes[r] = true; });
  }
  for (uint32_t r = 0; r < p_.registers.size(); ++r)
    registers_.words.push_back(register_words(p_.registers[r], of_lanes[r]));
  costs_.resize(p_.code.size());
  led_.resize(p_.code.size());
  for (JoinedAccess& j : joined_accesses(p_)) {
    for (std::size_t n = 1; n < j.members.size(); ++n) led_[j.members[n]] = true;
    joined_.emplace(j.members.front(), std::move(j.members));
  }
  for (const BasicBlock& block : p_.blocks)
    for (uint32_t k = block.first; k < block.last; ++k) {
      if (!joins_product(p_, p_.code[k], block) && !led_[k]) costs_[k] = cost_of(p_, p_.code[k], l_);
      c_.slots += static_cast<double>(costs_[k].slots);
    }
}

uint32_t Builder::of_turn(uint32_t reg, uint32_t turn) {
  std::vector<uint32_t>& own = turned_[reg];
  while (own.size() <= turn) {
    own.push_back(c_.register_count++);
    registers_.words.push_back(registers_.words[reg]);
  }
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
      Scheduled s{.cost = costs_[k], .keeps = costs_[k].branches ? Keeps::all : what_keeps(i)};
      if (i.memory != kNone) s.space = p_.memory[i.memory].space;
      each_read(p_, i, [&](uint32_t r) {
        if (p_.registers[r].builtin == Builtin::none) s.reads.push_back(reads(r));
      });
      const auto writes = [&](uint32_t r) {
        written.insert(r);
        s.writes.push_back(turning.contains(r) && !final_turn ? of_turn(r, link.turn) : r);
      };
      // Results of joined loads are there when the one load is that ptxas makes of them.
      const auto leads = joined_.find(k);
      if (leads != joined_.end())
        for (const uint32_t member : leads->second) each_written(p_, p_.code[member], writes);
      else if (!led_[k])
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
  registers_.in = p_.blocks[out.chain.links.front().block].live_in;
  registers_.out.clear();
  successors(p_.blocks[out.chain.links.back().block], [&](uint32_t s) {
    registers_.out.insert(registers_.out.end(), p_.blocks[s].live_in.begin(), p_.blocks[s].live_in.end());
  });
  for (const uint32_t k : schedule(code, l_, registers_)) {
    Costs::Entry e{.cost = code[k].cost,
                   .instruction = places[k].first,
                   .line = static_cast<uint32_t>(issued_ / kOfALine),
                   .link = places[k].second};
    issued_ += static_cast<double>(e.cost.slots);
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
  c_.lines = static_cast<uint32_t>(issued_ / kOfALine) + 1;
  return std::move(c_);
}

}  // namespace

Costs find_costs(const Decoded& p, const Limits& l) { return Builder(p, l).build(); }

}  // namespace coalesce::machine
