// Lane classes: how each register varies over the lanes of a warp, with stride, range and alignment; and with them,
// which branches may divide a thread block and which blocks run divided.
//
// One monotone iteration over both: classes only rise (constant -> ... -> general), ranges only widen, blocks only
// become divergent. A register has one class, the join over its definitions. A definition in a divergent block is
// general, because lanes elsewhere may still need the previous value, unless the register never leaves its block.
//
// Affine values must be affine in the arithmetic of their width. Sums and products by constants are, modulo 2^width;
// widening 32 to 64 bits is only where the range proves that no lane wraps.
#include <algorithm>
#include <bit>
#include <utility>

#include "machine/program/program.h"

namespace coalesce::machine {

namespace {

struct Fact {  // what is known of one value
  LaneClass lanes = LaneClass::constant;
  int64_t stride = 0;
  Range range;
  uint32_t alignment = 1;
};

__extension__ using Wide = __int128;
constexpr uint32_t kMaxAlignment = 1u << 30;

// The range [low, high] as a signed value of `bits`; unknown when it does not fit.
Range fit(Wide low, Wide high, unsigned bits) {
  const Wide limit = Wide{1} << (bits - 1);
  if (low < -limit || high >= limit) return {};
  return {static_cast<int64_t>(low), static_cast<int64_t>(high)};
}

uint32_t alignment_of(uint64_t v) {
  return v == 0 ? kMaxAlignment : static_cast<uint32_t>(std::min<uint64_t>(kMaxAlignment, v & (~v + 1)));
}

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
      if (p_.registers[r].builtin != Builtin::none) facts_[r] = of_builtin(p_.registers[r]), seen_[r] = true;
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
  Fact of_builtin(const Register& r) const {
    const auto& block = p_.shape.block;
    const auto& grid = p_.shape.grid_below;
    const bool flat = block[1] == 1 && block[2] == 1, rows = block[0] % kLanes == 0;
    const auto upto = [](uint64_t n) { return fit(0, static_cast<Wide>(n) - 1, 64); };
    const auto exactly = [](uint64_t n) { return Fact{LaneClass::constant, 0, fit(n, n, 64), alignment_of(n)}; };
    switch (r.builtin) {
      case Builtin::tid_x:
        if (flat || rows) return {LaneClass::affine, 1, upto(block[0]), rows ? 32u : 1u};
        return {LaneClass::general, 0, upto(block[0]), 1};
      case Builtin::tid_y:
        if (block[1] == 1) return exactly(0);
        return {rows ? LaneClass::warp_uniform : LaneClass::general, 0, upto(block[1]), 1};
      case Builtin::tid_z:
        if (block[2] == 1) return exactly(0);
        return {rows ? LaneClass::warp_uniform : LaneClass::general, 0, upto(block[2]), 1};
      case Builtin::ntid_x:
        return exactly(block[0]);
      case Builtin::ntid_y:
        return exactly(block[1]);
      case Builtin::ntid_z:
        return exactly(block[2]);
      case Builtin::ctaid_x:
        return {LaneClass::block_uniform, 0, upto(grid[0]), 1};
      case Builtin::ctaid_y:
        return {LaneClass::block_uniform, 0, upto(grid[1]), 1};
      case Builtin::ctaid_z:
        return {LaneClass::block_uniform, 0, upto(grid[2]), 1};
      case Builtin::nctaid_x:
        return {LaneClass::constant, 0, fit(1, grid[0], 64), 1};
      case Builtin::nctaid_y:
        return {LaneClass::constant, 0, fit(1, grid[1], 64), 1};
      case Builtin::nctaid_z:
        return {LaneClass::constant, 0, fit(1, grid[2], 64), 1};
      case Builtin::laneid:
        return {LaneClass::affine, 1, upto(kLanes), kMaxAlignment};
      case Builtin::warpid:
        return {LaneClass::warp_uniform, 0, upto((uint64_t{block[0]} * block[1] * block[2] + kLanes - 1) / kLanes), 1};
      case Builtin::smid:
        return {LaneClass::block_uniform, 0, upto(1u << 16), 1};
      case Builtin::lanemask_eq:
      case Builtin::lanemask_le:
      case Builtin::lanemask_lt:
      case Builtin::lanemask_ge:
      case Builtin::lanemask_gt:
        return {LaneClass::general, 0, {}, 1};
      default:
        return {LaneClass::constant, 0, {}, 1};
    }
  }

  Fact of(const Value& v, unsigned bits) const {
    if (v.is_reg()) {
      Fact f = facts_[v.reg];
      if (!seen_[v.reg]) f.range = {1, 0};  // not computed yet: empty, joins as nothing
      return f;
    }
    const int64_t value = bits == 32 ? static_cast<int32_t>(v.bits) : static_cast<int64_t>(v.bits);
    return {LaneClass::constant, 0, {value, value}, alignment_of(v.bits)};
  }

  static LaneClass higher(LaneClass a, LaneClass b) { return std::max(a, b); }

  Fact pure(const Instruction& i) {
    const LinearRule& r = i.pure->facts.linear;
    const BoundRule& bound = i.pure->facts.bound;
    Fact f[4], out;
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
      top = higher(top, f[k].lanes);
    }
    out.lanes = top;
    const auto known = [&](int n) {
      for (int k = 0; k < n; ++k)
        if (!f[k].range.known()) return false;
      return true;
    };
    const auto product = [&](const Range& a, const Range& b, Wide* low, Wide* high) {
      const Wide c[] = {Wide{a.low} * b.low, Wide{a.low} * b.high, Wide{a.high} * b.low, Wide{a.high} * b.high};
      *low = *std::min_element(c, c + 4);
      *high = *std::max_element(c, c + 4);
    };
    // stride of a product: only one factor may vary, and the other must be a known constant
    const auto scaled = [&](const Fact& a, const Fact& b, int64_t* stride) {
      const Fact& varying = a.lanes == LaneClass::affine ? a : b;
      const Fact& factor = a.lanes == LaneClass::affine ? b : a;
      if (varying.lanes != LaneClass::affine) return *stride = 0, true;
      if (factor.range.low != factor.range.high) return false;
      const Wide s = Wide{varying.stride} * factor.range.low;
      if (s < -(Wide{1} << 40) || s > (Wide{1} << 40)) return false;
      *stride = static_cast<int64_t>(s);
      return true;
    };
    const bool affine = top == LaneClass::affine;
    const auto lost = [&] {
      if (affine) out.lanes = LaneClass::general;
    };
    switch (r.rule) {
      case Rule::add:
      case Rule::sub: {
        const int sign = r.rule == Rule::add ? 1 : -1;
        if (known(2)) {
          out.range = sign > 0
                          ? fit(Wide{f[0].range.low} + f[1].range.low, Wide{f[0].range.high} + f[1].range.high, r.bits)
                          : fit(Wide{f[0].range.low} - f[1].range.high, Wide{f[0].range.high} - f[1].range.low, r.bits);
        }
        out.alignment = std::min(f[0].alignment, f[1].alignment);
        if (affine) out.stride = f[0].stride + sign * f[1].stride;
        break;
      }
      case Rule::mul_low:
      case Rule::mul_wide:
      case Rule::mad_low:
      case Rule::mad_wide: {
        const bool wide = r.rule == Rule::mul_wide || r.rule == Rule::mad_wide;
        const bool adds = r.rule == Rule::mad_low || r.rule == Rule::mad_wide;
        // Wide products read their factors with the signedness of the type: right only where the range says so.
        const auto proven = [&](const Fact& a) { return a.range.known() && (r.is_signed || a.range.low >= 0); };
        bool ok = scaled(f[0], f[1], &out.stride);
        if (wide && (f[0].lanes == LaneClass::affine || f[1].lanes == LaneClass::affine))
          ok = ok && proven(f[0]) && proven(f[1]);
        if (f[0].range.known() && f[1].range.known() && (!wide || (proven(f[0]) && proven(f[1])))) {
          Wide low, high;
          product(f[0].range, f[1].range, &low, &high);
          out.range = fit(low, high, r.bits);
          if (adds) {
            if (out.range.known() && f[2].range.known())
              out.range = fit(Wide{out.range.low} + f[2].range.low, Wide{out.range.high} + f[2].range.high, r.bits);
            else
              out.range = {};
          }
        }
        out.alignment =
            static_cast<uint32_t>(std::min<uint64_t>(kMaxAlignment, uint64_t{f[0].alignment} * f[1].alignment));
        if (adds) {
          out.alignment = std::min(out.alignment, f[2].alignment);
          if (f[2].lanes == LaneClass::affine) out.stride += f[2].stride;
        }
        if (!ok) lost();
        break;
      }
      case Rule::shift_left: {
        const bool by_constant = f[1].range.low == f[1].range.high && f[1].range.low >= 0 && f[1].range.low < 32;
        if (!by_constant) {
          lost();
          break;
        }
        const int64_t factor = int64_t{1} << f[1].range.low;
        if (f[0].range.known()) out.range = fit(Wide{f[0].range.low} * factor, Wide{f[0].range.high} * factor, r.bits);
        out.alignment =
            static_cast<uint32_t>(std::min<uint64_t>(kMaxAlignment, uint64_t{f[0].alignment} << f[1].range.low));
        const Wide s = Wide{f[0].stride} * factor;
        if (affine && (s > (Wide{1} << 40) || s < -(Wide{1} << 40)))
          lost();
        else
          out.stride = static_cast<int64_t>(s);
        break;
      }
      case Rule::minus:
        if (known(1)) out.range = fit(-Wide{f[0].range.high}, -Wide{f[0].range.low}, r.bits);
        out.stride = -f[0].stride;
        out.alignment = f[0].alignment;
        break;
      case Rule::move:
        out = f[0];
        break;
      case Rule::widen_signed:
      case Rule::widen_unsigned: {
        const bool proven = f[0].range.known() && (r.rule == Rule::widen_signed || f[0].range.low >= 0);
        out.stride = f[0].stride;
        out.alignment = f[0].alignment;
        if (proven)
          out.range = f[0].range;
        else
          lost();
        break;
      }
      case Rule::truncate:
        out.stride = f[0].stride;
        out.alignment = f[0].alignment;
        if (known(1)) out.range = fit(f[0].range.low, f[0].range.high, r.bits);
        break;
      case Rule::other:
        lost();
        bounded(bound, i, &out);
        break;
    }
    if (out.lanes == LaneClass::affine && out.stride == 0) out.lanes = LaneClass::warp_uniform;
    if (i.guard != kNone) out.lanes = LaneClass::general;
    return out;
  }

  // Numbers masked, shifted to the right or divided by a constant.
  void bounded(const BoundRule& b, const Instruction& i, Fact* out) const {
    if (b.bound == Bound::none) return;
    Fact x = of(i.sources[0], b.bits), by = of(i.sources[1], b.bits);
    if (b.bound == Bound::mask && x.range.low == x.range.high && x.range.known()) std::swap(x, by);
    if (!by.range.known() || by.range.low != by.range.high) return;
    const int64_t n = by.range.low;
    const bool positive = x.range.known() && x.range.low >= 0;
    switch (b.bound) {
      case Bound::mask:
        if (n >= 0)
          out->range = {0, positive ? std::min(n, x.range.high) : n};
        else if (positive)
          out->range = {0, x.range.high};
        out->alignment = std::max(x.alignment, by.alignment);
        break;
      case Bound::shift_right:
        if (n < 1 || n >= b.bits) break;
        if (positive || (b.is_signed && x.range.known()))
          out->range = {x.range.low >> n, x.range.high >> n};
        else if (!b.is_signed)
          out->range = {0, static_cast<int64_t>((~uint64_t{0} >> (64 - b.bits)) >> n)};
        break;
      default:  // remainder
        if (n > 0 && (positive || !b.is_signed)) out->range = {0, n - 1};
        break;
    }
  }

  void join(uint32_t r, Fact f, const BasicBlock& block) {
    Fact& old = facts_[r];
    // Whoever reads it before it is written finds 0.
    if (begins_[r] && f.range.known())
      f.range = {std::min<int64_t>(f.range.low, 0), std::max<int64_t>(f.range.high, 0)};
    if (block.divergent) {
      if (!p_.registers[r].block_local)
        f.lanes = LaneClass::general;
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
    now.lanes = higher(old.lanes, f.lanes);
    if (now.lanes == LaneClass::affine) {
      if (old.stride != f.stride) now.lanes = LaneClass::general;
    }
    if (now.lanes != LaneClass::affine) now.stride = 0;
    now.alignment = std::min(old.alignment, f.alignment);
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
          f.range = {};
          f.alignment = 1;
          if (f.lanes == LaneClass::affine) f.lanes = LaneClass::general;
          join(i.results[1], f, block);
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
        if (m.address.is_reg() && !seen_[m.address.reg]) return;
        if (a <= LaneClass::warp_uniform && i.guard == kNone) {
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
        if (i.names_lanes && i.sources.back().is_reg()) {
          const uint32_t mask = i.sources.back().reg;
          if (!seen_[mask]) return;
          if (facts_[mask].lanes > LaneClass::warp_uniform) f.lanes = LaneClass::general;
        }
        break;
      case Kind::barrier:
        f.lanes = LaneClass::block_uniform;
        break;
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
        if (s != kNone && s != block.reconverge) todo.push_back(s);
      };
      push(block.next);
      push(block.taken);
      for (uint32_t t : block.table) push(t);
      std::vector<bool> seen(p_.blocks.size());
      while (!todo.empty()) {
        const uint32_t s = todo.back();
        todo.pop_back();
        if (seen[s]) continue;
        seen[s] = true;
        BasicBlock& inside = p_.blocks[s];
        inside.divergent = true;
        const auto on = [&](uint32_t t) {
          if (t != kNone && t != block.reconverge) todo.push_back(t);
        };
        on(inside.next);
        on(inside.taken);
        for (uint32_t t : inside.table) on(t);
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
