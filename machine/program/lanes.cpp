// Lane classes: how each register varies over the lanes of a warp, with stride, range and alignment; and with them,
// which branches may divide a thread block and which blocks run divided.
//
// One monotone iteration over both: classes only rise (constant -> ... -> general), ranges only widen, blocks only
// become divergent. A register has one class, the join over its definitions. A definition in a divergent block is
// general, because lanes elsewhere may still need the previous value, unless the register never leaves its block.
//
// Affine values must be affine in the arithmetic of their width. Sums and products by constants are, modulo 2^width;
// widening 32 to 64 bits is only where the range proves that no lane wraps.
//
// What one operation does to facts: lane_facts.h.
#include <algorithm>

#include "machine/program/lane_facts.h"

namespace coalesce::machine {

namespace {

class Lanes {
 public:
  explicit Lanes(Decoded& p)
      : p_(p),
        facts_(p.registers.size()),
        seen_(p.registers.size()),
        begins_(p.registers.size()),
        grown_(p.registers.size()) {}

  void run() {
    for (const uint32_t r : p_.blocks[0].live_in) begins_[r] = true;
    for (uint32_t r = 0; r < p_.registers.size(); ++r)
      if (p_.registers[r].builtin != Builtin::none)
        facts_[r] = fact_of_builtin(p_.registers[r], p_.shape), seen_[r] = true;
    for (changed_ = true; changed_;) {
      while (changed_) {
        changed_ = false;
        for (uint32_t b = 0; b < p_.blocks.size(); ++b)
          if (p_.blocks[b].reachable)
            for (uint32_t k = p_.blocks[b].first; k < p_.blocks[b].last; ++k) visit(p_.code[k], p_.blocks[b]);
        find_divergence();
      }
      // Registers read but never written hold anything: general. What depends on them is visited again.
      for (uint32_t r = 0; r < p_.registers.size(); ++r)
        if (!seen_[r]) seen_[r] = true, facts_[r] = Fact{LaneClass::general, 0, {}, 1}, changed_ = true;
    }
    for (uint32_t r = 0; r < p_.registers.size(); ++r) {
      Register& reg = p_.registers[r];
      const Fact& f = facts_[r];
      reg.lanes = f.lanes;
      reg.stride = f.lanes == LaneClass::affine ? f.stride : 0;
      reg.range = f.range;
      reg.alignment = f.alignment;
    }
  }

 private:
  Fact of(const Value& v, unsigned bits) const {
    if (v.is_reg()) {
      Fact f = facts_[v.reg];
      if (!seen_[v.reg]) f.range = {1, 0};  // not computed yet: empty, joins as nothing
      return f;
    }
    const int64_t value = bits == 32 ? static_cast<int32_t>(v.bits) : static_cast<int64_t>(v.bits);
    return {LaneClass::constant, 0, {value, value}, alignment_of(v.bits)};
  }

  static void make_general(Fact& f) {
    f.alignment = alignment_of_all(f);
    f.lanes = LaneClass::general;
  }

  Fact pure(const Instruction& i) {
    const LinearRule& r = i.pure->facts.linear;
    const BoundRule& bound = i.pure->facts.bound;
    Fact f[4];
    const unsigned source_bits = r.rule == Rule::mul_wide || r.rule == Rule::mad_wide || r.rule == Rule::widen_signed ||
                                         r.rule == Rule::widen_unsigned
                                     ? r.bits / 2
                                     : r.bits;
    LaneClass top = LaneClass::constant;
    for (std::size_t k = 0; k < i.sources.size() && k < 4; ++k) {
      f[k] = of(i.sources[k], k == 2 && r.rule == Rule::mad_wide ? r.bits : source_bits);
      if (f[k].range.low == 1 && f[k].range.high == 0) empty_ = true;
      // Wide unsigned products read a constant factor as unsigned.
      const bool wide_factor = k < 2 && (r.rule == Rule::mul_wide || r.rule == Rule::mad_wide);
      if (wide_factor && !r.is_signed && source_bits == 32 && i.sources[k].is_constant()) {
        const int64_t unsigned_value = static_cast<uint32_t>(i.sources[k].bits);
        f[k].range = {unsigned_value, unsigned_value};
      }
      top = std::max(top, f[k].lanes);
    }
    Fact out = fact_of_result(r, f, top);
    if (r.rule == Rule::other && bound.bound != Bound::none)
      apply_bound(bound, of(i.sources[0], bound.bits), of(i.sources[1], bound.bits), &out);
    if (out.lanes == LaneClass::affine && out.stride == 0) out.lanes = LaneClass::warp_uniform;
    if (i.guard != kNone) make_general(out);
    return out;
  }

  void join(uint32_t r, Fact f, const BasicBlock& block) {
    Fact& old = facts_[r];
    // A register that is read before it is written holds 0, in every block and lane.
    if (begins_[r]) {
      if (f.lanes > LaneClass::warp_uniform)
        make_general(f);
      else
        f.lanes = LaneClass::warp_uniform;
      if (f.range.known()) f.range = {std::min<int64_t>(f.range.low, 0), std::max<int64_t>(f.range.high, 0)};
    }
    if (block.divergent) {
      if (!p_.registers[r].block_local)
        make_general(f);
      else if (f.lanes < LaneClass::warp_uniform)
        f.lanes = LaneClass::warp_uniform;
    }
    if (!seen_[r]) {
      seen_[r] = true;
      old = f;
      changed_ = true;
      return;
    }
    Fact now = old;
    now.lanes = std::max(old.lanes, f.lanes);
    if (now.lanes == LaneClass::affine) {
      if (old.stride != f.stride) now.lanes = LaneClass::general;
    }
    if (now.lanes != LaneClass::affine) now.stride = 0;
    now.alignment = now.lanes == LaneClass::general ? std::min(alignment_of_all(old), alignment_of_all(f))
                                                    : std::min(old.alignment, f.alignment);
    if (old.range.known()) {
      if (!f.range.known())
        now.range = {};
      else
        now.range = {std::min(old.range.low, f.range.low), std::max(old.range.high, f.range.high)};
      if (!(now.range == old.range) && ++grown_[r] > 3) now.range = {};  // a loop widens it: give up at once
    }
    if (now.lanes != old.lanes || now.stride != old.stride || !(now.range == old.range) ||
        now.alignment != old.alignment) {
      old = now;
      changed_ = true;
    }
  }

  void visit(const Instruction& i, const BasicBlock& block) {
    empty_ = false;
    Fact f;
    f.lanes = LaneClass::general;
    switch (i.kind) {
      case Kind::pure: {
        f = pure(i);
        if (empty_) return;  // a source has no value yet on any path seen: come back later
        join(i.results[0], f, block);
        if (i.results[1] != kNone) {
          join(i.results[1], f, block);  // rows of two results are not linear: nothing but the class is known of either
          // One step computes both: as scalars or as vectors, once for the block or for each warp.
          const auto above = [&](uint32_t r, LaneClass c) { return facts_[r].lanes > c; };
          for (LaneClass c : {LaneClass::affine, LaneClass::block_uniform}) {
            if (above(i.results[0], c) == above(i.results[1], c)) continue;
            f.lanes = c == LaneClass::affine ? LaneClass::general : LaneClass::warp_uniform;
            for (uint32_t r : i.results) join(r, f, block);
          }
        }
        return;
      }
      case Kind::load: {
        const MemoryOp& m = p_.memory[i.memory];
        const LaneClass a = m.address.is_reg() ? facts_[m.address.reg].lanes : LaneClass::constant;
        if (a <= LaneClass::warp_uniform && i.guard == kNone && !m.is_row) {
          // Warp-uniform, never more: each warp loads for itself, when it comes there. Local memory differs by lane.
          if (m.space != AddressSpace::local && m.space != AddressSpace::generic) f.lanes = LaneClass::warp_uniform;
        }
        for (const Value& v : m.values)
          if (v.is_reg()) join(v.reg, f, block);
        return;
      }
      case Kind::atomic:
        if (const uint32_t r = p_.memory[i.memory].result; r != kNone) join(r, f, block);
        return;
      case Kind::vote:
      case Kind::active_mask:
      case Kind::reduce_lanes:
      case Kind::clock:
        f.lanes = i.guard == kNone ? LaneClass::warp_uniform : LaneClass::general;
        // Lanes that name different companions get different answers.
        if (i.names_lanes && i.sources.back().is_reg() && facts_[i.sources.back().reg].lanes > LaneClass::warp_uniform)
          f.lanes = LaneClass::general;
        break;
      case Kind::barrier:
        f.lanes = LaneClass::block_uniform;
        break;
      case Kind::collective:
        for (const uint32_t r : i.targets) join(r, f, block);
        return;
      default:
        break;
    }
    for (uint32_t r : i.results)
      if (r != kNone) join(r, f, block);
  }

  void find_divergence() {
    for (uint32_t b = 0; b < p_.blocks.size(); ++b) {
      BasicBlock& block = p_.blocks[b];
      if (!block.reachable || block.divergent_branch) continue;
      const Instruction& last = p_.code[block.last - 1];
      uint32_t deciding = kNone;
      if (last.kind == Kind::branch && block.taken != kNone) deciding = last.guard;
      if (last.kind == Kind::branch_table && last.sources[0].is_reg()) deciding = last.sources[0].reg;
      if (deciding == kNone || !seen_[deciding] || facts_[deciding].lanes <= LaneClass::block_uniform) continue;
      block.divergent_branch = true;
      changed_ = true;
      std::vector<uint32_t> todo;
      const auto push = [&](uint32_t s) {
        if (s != block.reconverge) todo.push_back(s);
      };
      successors(block, push);
      std::vector<bool> seen(p_.blocks.size());
      while (!todo.empty()) {
        const uint32_t s = todo.back();
        todo.pop_back();
        if (seen[s]) continue;
        seen[s] = true;
        BasicBlock& inside = p_.blocks[s];
        inside.divergent = true;
        successors(inside, push);
      }
    }
  }

  Decoded& p_;
  std::vector<Fact> facts_;
  std::vector<bool> seen_;
  std::vector<bool> begins_;  // live where the kernel begins
  std::vector<uint8_t> grown_;
  bool changed_ = false, empty_ = false;
};

}  // namespace

void find_lane_classes(Decoded& p) { Lanes(p).run(); }

}  // namespace coalesce::machine
