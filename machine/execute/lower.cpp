// Lowering: the decoded program becomes steps and slots for the interpreter.
//
// Slots are shared. Vector slots of registers that never leave their block come from a scratch pool, reused block by
// block: nothing there survives a block's end, so such registers are written without masking even in divergent code.
// Other vector slots are shared by registers whose live intervals (over the text's order) do not meet, and are written
// under the mask in divergent code. Scalars are few and small: each has its own.
#include <algorithm>
#include <map>
#include <set>

#include "machine/check/check.h"
#include "machine/execute/code.h"
#include "machine/execute/expand.h"
#include "machine/observe/traffic.h"
#include "machine/program/flatten.h"

namespace coalesce::machine {

namespace {

constexpr uint32_t kScalarBytes = 16;

uint32_t vector_bytes(Element e) { return e == Element::pred ? 64 : kLanes * std::max(2u, bytes_of(e)); }

class Lowering {
 public:
  Lowering(std::unique_ptr<Decoded> program, bool checked) : code_(std::make_unique<Code>()) {
    code_->program = std::move(program);
    code_->checked = checked;
    p_ = code_->program.get();
  }

  std::unique_ptr<Code> run() {
    homes_.resize(p_->registers.size());
    needs_vector_.resize(p_->registers.size());
    find_needs();
    allocate_scalars();
    allocate_vectors();
    code_->blocks.resize(p_->blocks.size());
    for (uint32_t b = 0; b < p_->blocks.size(); ++b)
      if (p_->blocks[b].reachable) lower_block(b);
    for (const Region& r : p_->regions) lower_region(r);
    code_->launch_bytes = launch_;
    code_->block_bytes = (block_ + 63) / 64 * 64;
    code_->warp_bytes = (warp_ + 63) / 64 * 64;
    code_->homes = std::move(homes_);
    return std::move(code_);
  }

 private:
  bool is_scalar(uint32_t r) const { return p_->registers[r].lanes != LaneClass::general; }

  bool scalar_form(const Instruction& i) const {
    return i.kind == Kind::pure && i.guard == kNone && is_scalar(i.results[0]) &&
           (i.results[1] == kNone || is_scalar(i.results[1]));
  }

  // One element of 4 bytes a lane, from or to registers of 4 bytes.
  static bool is_word(const MemoryOp& m) { return m.bytes() == 4 && m.count == 1 && m.value_bytes[0] == 4; }

  // Wavefronts of 32 words `stride` bytes apart: of which bank the first one is does not matter.
  static uint32_t wavefronts(uint32_t stride, Kind kind) {
    alignas(64) uint32_t address[kLanes];
    for (uint32_t l = 0; l < kLanes; ++l) address[l] = l * stride;
    return (kind == Kind::load ? shared_load_cost(address, ~0u, 4) : shared_store_cost(address, ~0u, 4)).wavefronts;
  }

  // Address shape of an access, from its register's class.
  AddressShape shape_of(const MemoryOp& m, Kind kind) const {
    if (kind == Kind::atomic || kind == Kind::request || m.space == AddressSpace::generic ||
        m.space == AddressSpace::local)
      return AddressShape::vector;
    if (!m.address.is_reg()) return kind == Kind::load ? AddressShape::uniform : AddressShape::vector;
    const Register& r = p_->registers[m.address.reg];
    if (r.lanes <= LaneClass::warp_uniform) return kind == Kind::load ? AddressShape::uniform : AddressShape::vector;
    if (r.lanes == LaneClass::affine && r.stride == static_cast<int64_t>(m.bytes())) return AddressShape::contiguous;
    constexpr int64_t kFar = 1 << 16;  // no two lanes further apart than shared memory can be
    if (m.space == AddressSpace::shared && r.lanes == LaneClass::affine && is_word(m) && r.stride > 0 &&
        r.stride % 4 == 0 && r.stride < kFar)
      return AddressShape::strided;
    return AddressShape::vector;
  }

  // Which scalars some vector operation reads.
  void find_needs() {
    const auto need = [&](const Value& v) {
      if (v.is_reg()) needs_vector_[v.reg] = true;
    };
    for (const BasicBlock& b : p_->blocks) {
      if (!b.reachable) continue;
      for (uint32_t k = b.first; k < b.last; ++k) {
        const Instruction& i = p_->code[k];
        if (i.kind == Kind::pure && scalar_form(i)) continue;
        for (const Value& v : i.sources) need(v);
        if (i.memory == kNone) continue;
        const MemoryOp& m = p_->memory[i.memory];
        if (shape_of(m, i.kind) == AddressShape::vector) need(m.address);
        if (i.kind != Kind::load)
          for (const Value& v : m.values) need(v);
      }
    }
  }

  static Slot take(uint32_t& area, uint32_t bytes, Base base) {
    area = (area + 63) / 64 * 64;
    const Slot s = area | base;
    area += bytes;
    return s;
  }
  // Scalars are packed at the front of what is left of a 64-byte line.
  Slot take_scalar(uint32_t& area, Base base) {
    area = (area + kScalarBytes - 1) / kScalarBytes * kScalarBytes;
    const Slot s = area | base;
    area += kScalarBytes;
    return s;
  }

  uint32_t& area(Base base) { return base == kLaunch ? launch_ : base == kBlock ? block_ : warp_; }

  void allocate_scalars() {
    for (uint32_t r = 0; r < p_->registers.size(); ++r) {
      const Register& reg = p_->registers[r];
      Home& h = homes_[r];
      const bool is_builtin = reg.builtin != Builtin::none;
      if (!is_scalar(r) && !is_builtin) continue;
      // What is the same for the launch is written once only if nothing computes it: parameters, dimensions.
      Base base = kWarp;
      if (reg.lanes <= LaneClass::block_uniform) base = kBlock;
      if (is_builtin && reg.lanes == LaneClass::constant) base = kLaunch;
      if (reg.builtin == Builtin::laneid ||
          (reg.builtin >= Builtin::lanemask_eq && reg.builtin <= Builtin::lanemask_gt))
        base = kLaunch;
      if (is_scalar(r)) h.scalar = take_scalar(area(base), base);
      if (reg.element == Element::pred)
        h.vector = h.scalar;
      else if (needs_vector_[r] || !is_scalar(r))
        h.vector = take(area(base), vector_bytes(reg.element), base);
      if (is_builtin) code_->builtins.push_back({r, h.scalar, h.vector});
    }
  }

  struct Interval {
    uint32_t reg, first, last;
  };

  // Slots of general registers. Positions are instruction indexes in the text's order.
  void allocate_vectors() {
    const uint32_t n = static_cast<uint32_t>(p_->registers.size());
    std::vector<uint32_t> first(n, kNone), last(n, 0);
    const auto touch = [&](uint32_t r, uint32_t at) {
      first[r] = std::min(first[r], at);
      last[r] = std::max(last[r], at);
    };
    for (const BasicBlock& b : p_->blocks) {
      if (!b.reachable) continue;
      for (uint32_t k = b.first; k < b.last; ++k) each_register(p_->code[k], [&](uint32_t r) { touch(r, k); });
      for (uint32_t r : b.live_in) touch(r, b.first);
      const auto out = [&](uint32_t s) {
        if (s == kNone) return;
        for (uint32_t r : p_->blocks[s].live_in) touch(r, b.last);
      };
      out(b.next);
      out(b.taken);
      for (uint32_t s : b.table) out(s);
    }
    std::vector<Interval> kept, scratch;
    for (uint32_t r = 0; r < n; ++r) {
      if (first[r] == kNone || is_scalar(r) || p_->registers[r].builtin != Builtin::none) continue;
      (p_->registers[r].block_local ? scratch : kept).push_back({r, first[r], last[r]});
    }
    assign(kept);
    assign(scratch);
  }

  // Linear scan: a slot is free again after the last position of its register. A register defined by the instruction
  // that last reads another may take that one's slot: operations read a lane before they write it.
  void assign(std::vector<Interval>& intervals) {
    std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) {
      return a.first != b.first ? a.first < b.first : a.reg < b.reg;
    });
    std::map<Element, std::vector<Slot>> free;
    std::vector<Interval> active;
    for (const Interval& i : intervals) {
      std::erase_if(active, [&](const Interval& a) {
        // Strictly before: memory and lane operations write results while they still read sources.
        if (a.last >= i.first) return false;
        free[p_->registers[a.reg].element].push_back(homes_[a.reg].vector);
        return true;
      });
      const Element e = p_->registers[i.reg].element;
      std::vector<Slot>& pool = free[e];
      if (pool.empty()) {
        homes_[i.reg].vector = e == Element::pred ? take_scalar(warp_, kWarp) : take(warp_, vector_bytes(e), kWarp);
      } else {
        homes_[i.reg].vector = pool.back();
        pool.pop_back();
      }
      active.push_back(i);
    }
  }

  template <class Visit>
  void each_register(const Instruction& i, Visit visit) const {
    if (i.guard != kNone) visit(i.guard);
    for (const Value& v : i.sources)
      if (v.is_reg()) visit(v.reg);
    for (uint32_t r : i.results)
      if (r != kNone) visit(r);
    if (i.memory != kNone) {
      const MemoryOp& m = p_->memory[i.memory];
      if (m.address.is_reg()) visit(m.address.reg);
      for (const Value& v : m.values)
        if (v.is_reg()) visit(v.reg);
      if (m.result != kNone) visit(m.result);
    }
  }

  Constant& constant(Element e, uint64_t bits) {
    if (e == Element::b8) e = Element::b16;
    const auto key = std::make_pair(e, bits);
    auto found = constants_.find(key);
    if (found == constants_.end()) {
      code_->constants.push_back({e, bits});
      found = constants_.emplace(key, code_->constants.size() - 1).first;
    }
    return code_->constants[found->second];
  }
  Slot scalar_slot(const Value& v, Element e) {
    if (v.is_reg()) return homes_[v.reg].scalar;
    Constant& c = constant(e, v.bits);
    if (c.scalar == kNoSlot)
      c.scalar = e == Element::pred && c.vector != kNoSlot ? c.vector : take_scalar(launch_, kLaunch);
    if (e == Element::pred) c.vector = c.scalar;
    return c.scalar;
  }
  Slot vector_slot(const Value& v, Element e) {
    if (v.is_reg()) return homes_[v.reg].vector;
    if (e == Element::pred) return scalar_slot(v, e);
    Constant& c = constant(e, v.bits);
    if (c.vector == kNoSlot) c.vector = take(launch_, vector_bytes(e), kLaunch);
    return c.vector;
  }

  void push(Step s) { code_->steps.push_back(s); }

  // After a scalar definition: the vector form, where something reads it.
  void expand(uint32_t r) {
    const Home& h = homes_[r];
    if (!is_scalar(r) || h.vector == kNoSlot || h.vector == h.scalar) return;
    code_->expands.push_back(std::make_unique<Expand>(Expand{p_->registers[r].stride}));
    Step s;
    s.run = expand_handler(p_->registers[r].element, p_->registers[r].stride == 0);
    s.dst[0] = h.vector;
    s.src[0] = h.scalar;
    s.many = Many::all;
    s.extra = code_->expands.back().get();
    push(s);
  }

  void push_guarded(Step s, const Instruction& i) {
    if (i.guard == kNone) return push(s);
    code_->guards.push_back(std::make_unique<Guarded>());
    Guarded& g = *code_->guards.back();
    g.inner = s;
    g.predicate = homes_[i.guard].vector != kNoSlot ? homes_[i.guard].vector : homes_[i.guard].scalar;
    g.negated = i.guard_negated;
    g.tally = i.counts ? i.guard_tally : kNone;
    Step outer;
    outer.run = guarded_handler();
    outer.extra = &g;
    push(outer);
  }

  void lower_instruction(const Instruction& i, uint32_t index, const BasicBlock& block) {
    switch (i.kind) {
      case Kind::pure:
        return lower_pure(i, block);
      case Kind::load:
      case Kind::store:
      case Kind::atomic:
      case Kind::request:
        return lower_memory(i, index);
      case Kind::nothing:
        if (!code_->checked || static_cast<Nothing>(i.mode) == Nothing::nothing) return;
        {
          Step s;
          s.run = checked_event;
          s.extra = &i;
          return push_guarded(s, i);
        }
      case Kind::branch:
      case Kind::branch_table:
      case Kind::exit:
      case Kind::barrier:
        return;  // a block's end is no step
      case Kind::function_call:
      case Kind::function_return:
        return;
      case Kind::call:
        if (static_cast<Callee>(i.mode) == Callee::function) return lower_save(index, block);
        return lower_lanes(i, index);
      default:
        return lower_lanes(i, index);
    }
  }

  void lower_pure(const Instruction& i, const BasicBlock& block) {
    Step s;
    const bool scalar = scalar_form(i);
    for (std::size_t k = 0; k < i.sources.size() && k < 4; ++k)
      s.src[k] = scalar ? scalar_slot(i.sources[k], i.pure->source[k]) : vector_slot(i.sources[k], i.pure->source[k]);
    bool masked = i.guard != kNone;
    for (int k = 0; k < 2; ++k) {
      const uint32_t r = i.results[static_cast<std::size_t>(k)];
      if (r == kNone) continue;
      s.dst[k] = scalar ? homes_[r].scalar : homes_[r].vector;
      if (block.divergent && !p_->registers[r].block_local) masked = true;
    }
    s.run = scalar ? i.pure->scalar : masked ? i.pure->masked : i.pure->full;
    s.extra = i.pure->extra;
    s.many = scalar ? Many::all : i.pure->many ? Many::active : Many::no;
    push_guarded(s, i);
    if (scalar)
      for (uint32_t r : i.results)
        if (r != kNone) expand(r);
  }

  void lower_memory(const Instruction& i, uint32_t index) {
    const MemoryOp& m = p_->memory[i.memory];
    code_->accesses.push_back(std::make_unique<Access>());
    Access& a = *code_->accesses.back();
    a.op = &m;
    a.instruction = index;
    a.site = m.site;
    a.window = i.memory;
    a.bytes = static_cast<uint8_t>(m.bytes());
    a.words = is_word(m);
    a.counts_requests = m.site != kNone && p_->sites[m.site].dynamic_requests;
    a.offset = m.offset;
    a.shape = shape_of(m, i.kind);
    if (a.shape == AddressShape::strided) {
      a.stride = static_cast<uint32_t>(p_->registers[m.address.reg].stride);
      a.wavefronts = wavefronts(a.stride, i.kind);
    }
    const Element address = m.address.is_reg() ? p_->registers[m.address.reg].element : Element::b64;
    a.address_is_64 = address == Element::b64;
    a.address = a.shape == AddressShape::vector ? vector_slot(m.address, address) : scalar_slot(m.address, address);
    const bool load = i.kind == Kind::load;
    if (load) a.scalar_results = true;
    for (std::size_t k = 0; k < m.values.size(); ++k) {
      const Value& v = m.values[k];
      if (v.kind == Value::Kind::none) continue;
      if (load && is_scalar(v.reg)) {
        a.values[k] = homes_[v.reg].scalar;
      } else {
        a.values[k] =
            load ? homes_[v.reg].vector
                 : vector_slot(v, v.is_reg() ? p_->registers[v.reg].element : element_of_bytes(m.value_bytes[k]));
        a.scalar_results = false;
      }
    }
    // A load's results are all scalars or all vectors: a scalar one among vectors is read back below.
    if (load && !a.scalar_results)
      for (std::size_t k = 0; k < m.values.size(); ++k)
        if (m.values[k].is_reg() && is_scalar(m.values[k].reg))
          a.values[k] = take(warp_, vector_bytes(p_->registers[m.values[k].reg].element), kWarp);
    a.plain = a.words && !a.counts_requests && m.space == AddressSpace::shared &&
              (a.shape == AddressShape::contiguous || (a.shape == AddressShape::uniform && a.scalar_results));
    if (m.result != kNone) a.result = homes_[m.result].vector;
    Step s;
    s.run = memory_handler(m, i.kind);
    if (i.kind != Kind::atomic &&
        (m.space == AddressSpace::global || m.space == AddressSpace::shared || m.space == AddressSpace::constant))
      s.many = Many::active;
    s.extra = &a;
    if (code_->checked && i.kind != Kind::request) {
      a.unchecked = s.run;
      s.run = checked_access;
      s.many = Many::no;
    }
    choose_movers(a, i.kind);
    if (i.kind == Kind::atomic) a.atomic = atomic_lane(m);
    push_guarded(s, i);
    if (!load) return;
    for (std::size_t k = 0; k < m.values.size(); ++k) {
      const Value& v = m.values[k];
      if (!v.is_reg() || !is_scalar(v.reg)) continue;
      if (!a.scalar_results) {
        Step copy;
        copy.run = collapse_handler(p_->registers[v.reg].element);
        copy.dst[0] = homes_[v.reg].scalar;
        copy.src[0] = a.values[k];
        push(copy);
      }
      expand(v.reg);
    }
  }

  // Before a call: what is live where it comes back, but for what the callee is to write.
  void lower_save(uint32_t index, const BasicBlock& block) {
    uint32_t k = index;
    while (p_->code[k].kind != Kind::function_call) ++k;
    const std::vector<uint32_t>& written = p_->code[k].targets;
    code_->saves.push_back(std::make_unique<SaveOp>());
    SaveOp& op = *code_->saves.back();
    op.instruction = index;
    for (uint32_t r : p_->blocks[block.next].live_in)
      if (std::find(written.begin(), written.end(), r) == written.end() && homes_[r].vector != kNoSlot)
        op.items.push_back({homes_[r].vector, p_->registers[r].element});
    Step s;
    s.run = save_handler();
    s.extra = &op;
    push(s);
  }

  void lower_lanes(const Instruction& i, uint32_t index) {
    code_->lane_ops.push_back(std::make_unique<LaneOp>());
    LaneOp& op = *code_->lane_ops.back();
    op.instruction = &i;
    op.index = index;
    for (const Value& v : i.sources) {
      const Element e = v.is_reg()                                   ? p_->registers[v.reg].element
                        : i.kind == Kind::vote && op.sources.empty() ? Element::pred
                                                                     : Element::b32;
      op.sources.push_back(vector_slot(v, e));
    }
    for (std::size_t k = 0; k < 2; ++k)
      if (i.results[k] != kNone) {
        op.scalar[k] = is_scalar(i.results[k]);
        op.results[k] = op.scalar[k] ? homes_[i.results[k]].scalar : homes_[i.results[k]].vector;
      }
    Step s;
    s.run = code_->checked && i.kind == Kind::warp_barrier ? checked_warp_barrier : lane_handler(i);
    s.extra = &op;
    push_guarded(s, i);
    for (uint32_t r : i.results)
      if (r != kNone) expand(r);
  }

  void lower_region(const Region& region) {
    std::vector<Stream> streams;
    std::vector<Saved> saved;
    std::set<uint32_t> once;
    const std::vector<uint32_t>& live = p_->blocks[region.chain.front()].live_in;
    const auto save = [&](uint32_t r) {
      if (!std::binary_search(live.begin(), live.end(), r) || !once.insert(r).second) return;
      const Home& h = homes_[r];
      saved.push_back({h.scalar & ~3u, kScalarBytes});
      if (h.vector != kNoSlot && h.vector != h.scalar)
        saved.push_back({h.vector & ~3u, vector_bytes(p_->registers[r].element)});
    };
    for (uint32_t b : region.chain) {
      Stream s{static_cast<uint32_t>(code_->steps.size()), 0};
      for (uint32_t k = p_->blocks[b].first; k < p_->blocks[b].last; ++k) {
        const Instruction& i = p_->code[k];
        if (!hoistable(*p_, i)) continue;
        lower_instruction(i, k, p_->blocks[b]);
        for (uint32_t r : i.results)
          if (r != kNone) save(r);
      }
      s.last = static_cast<uint32_t>(code_->steps.size());
      streams.push_back(s);
    }
    code_->blocks[region.chain.back()].ends_region = true;
    code_->together.push_back(together(region));
    code_->hoisted.push_back(std::move(streams));
    code_->saved.push_back(std::move(saved));
  }

  // Atomics, reads of what others may write and calls happen in order: one warp after the other.
  bool has_order(uint32_t b) const {
    const BasicBlock& block = p_->blocks[b];
    bool any = code_->blocks[b].polls;
    for (uint32_t k = block.first; k < block.last; ++k) {
      const Kind kind = p_->code[k].kind;
      any = any || kind == Kind::atomic || kind == Kind::call || kind == Kind::clock;
    }
    return any;
  }

  // The blocks at the region's beginning that its warps can run together.
  std::vector<Together> together(const Region& region) const {
    std::vector<Together> blocks;
    for (std::size_t k = 0; k < region.chain.size(); ++k) {
      const uint32_t b = region.chain[k];
      const BasicBlock& block = p_->blocks[b];
      if (block.divergent || has_order(b)) break;
      blocks.push_back({b});
      if (k + 1 == region.chain.size() || (code_->blocks[b].end != EndKind::jump && !block.divergent_branch)) break;
      if (!block.divergent_branch) continue;
      const uint32_t next = region.chain[k + 1];
      if (code_->blocks[b].end != EndKind::branch || block.reconverge != next) break;
      if (block.taken != next && block.next != next) break;
      const uint32_t beside = block.taken == next ? block.next : block.taken;
      const BlockCode& side = code_->blocks[beside];
      if (p_->blocks[beside].divergent && !p_->blocks[beside].waits && side.end == EndKind::jump && side.next == next &&
          !has_order(beside))
        blocks.back().beside = beside;
    }
    return blocks;
  }

  void lower_block(uint32_t b) {
    const BasicBlock& block = p_->blocks[b];
    BlockCode& c = code_->blocks[b];
    const auto stream = [&](bool with_hoisted) {
      Stream s{static_cast<uint32_t>(code_->steps.size()), 0};
      for (uint32_t k = block.first; k < block.last; ++k)
        if (with_hoisted || !hoistable(*p_, p_->code[k])) lower_instruction(p_->code[k], k, block);
      s.last = static_cast<uint32_t>(code_->steps.size());
      return s;
    };
    c.general = stream(true);
    c.lockstep = block.divergent ? c.general : stream(false);
    for (uint32_t k = block.first; k < block.last; ++k)
      if (const Instruction& i = p_->code[k]; i.memory != kNone && i.kind != Kind::store) {
        const MemoryOp& m = p_->memory[i.memory];
        c.polls = c.polls || (i.kind == Kind::load ? m.is_volatile : m.returns);
      }
    c.divergent = block.divergent;
    c.divergent_branch = block.divergent_branch;
    c.taken = block.taken;
    c.next = block.next;
    c.reconverge = block.reconverge;
    c.waits = block.waits;
    if (block.waits) {
      const Value& mask = p_->code[block.first].sources.back();
      c.waits_for_any = p_->code[block.first].kind == Kind::warp_barrier;
      c.wait_mask_is_vector = mask.is_reg() && !is_scalar(mask.reg);
      c.wait_mask = c.wait_mask_is_vector ? homes_[mask.reg].vector : scalar_slot(mask, Element::b32);
    }
    const Instruction& last = p_->code[block.last - 1];
    if (last.kind == Kind::function_call) {
      c.end = EndKind::call;
      c.taken = last.target;
    }
    if (last.kind == Kind::function_return) c.end = EndKind::ret;
    switch (last.kind) {
      case Kind::branch:
        if (last.guard == kNone || block.taken == kNone) break;
        c.end = EndKind::branch;
        c.predicate = homes_[last.guard].scalar != kNoSlot ? homes_[last.guard].scalar : homes_[last.guard].vector;
        c.negated = last.guard_negated;
        break;
      case Kind::branch_table:
        c.end = EndKind::table;
        c.table = &block.table;
        c.predicate = vector_slot(last.sources[0], Element::b32);
        break;
      case Kind::exit:
        c.end = EndKind::exit;
        break;
      case Kind::barrier:
        c.end = EndKind::barrier;
        c.barrier = &last;
        c.barrier_id_slot = vector_slot(last.sources[0], Element::b32);
        c.barrier_count_slot = vector_slot(last.sources[1], Element::b32);
        if (last.results[0] != kNone) {
          const uint32_t r = last.results[0];
          c.barrier_predicate = vector_slot(last.sources[2], Element::pred);
          c.barrier_result_scalar = is_scalar(r);
          c.barrier_result = is_scalar(r) ? homes_[r].scalar : homes_[r].vector;
          const std::size_t before = code_->steps.size();
          expand(r);
          if (code_->steps.size() > before) {
            c.barrier_expand = code_->steps.back();
            code_->steps.pop_back();
          }
        }
        break;
      default:
        break;
    }
  }

  std::unique_ptr<Code> code_;
  Decoded* p_ = nullptr;
  std::vector<Home> homes_;
  std::vector<bool> needs_vector_;
  std::map<std::pair<Element, uint64_t>, std::size_t> constants_;
  uint32_t launch_ = 0, block_ = 0, warp_ = 0;
};

}  // namespace

std::unique_ptr<Code> lower(std::unique_ptr<Decoded> program, bool checked) {
  return Lowering(std::move(program), checked).run();
}

const Code& scatter(const Code& code) {
  std::call_once(code.scattered_once, [&] {
    auto p = std::make_unique<Decoded>(*code.program);
    make_general(*p);
    code.scattered = lower(std::move(p), code.checked);
  });
  return *code.scattered;
}

}  // namespace coalesce::machine
