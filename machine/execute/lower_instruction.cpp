// One instruction becomes steps.
#include <algorithm>

#include "machine/execute/expand.h"
#include "machine/execute/lowering.h"
#include "machine/execute/matrices.h"
#include "machine/execute/observer.h"
#include "machine/isa/row.h"
#include "machine/observe/traffic.h"

namespace coalesce::machine {

namespace {

// Wavefronts of 32 words `stride` bytes apart: of which bank the first one is does not matter.
uint32_t wavefronts(uint32_t stride, Kind kind) {
  alignas(64) uint32_t address[kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) address[l] = l * stride;
  return (kind == Kind::load ? shared_load_cost(address, ~0u, 4) : shared_store_cost(address, ~0u, 4)).wavefronts;
}

}  // namespace

void Lowering::lower_instruction(const Instruction& i, uint32_t index, const BasicBlock& block) {
  at_ = index;
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
        s.run = observed_event;
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

void Lowering::lower_pure(const Instruction& i, const BasicBlock& block) {
  Step s;
  const bool scalar = scalar_form(*p_, i);
  for (std::size_t k = 0; k < i.sources.size() && k < 4; ++k)
    s.src[k] = scalar ? slots_.scalar(i.sources[k], i.pure->source[k]) : slots_.vector(i.sources[k], i.pure->source[k]);
  bool masked = i.guard != kNone;
  for (int k = 0; k < 2; ++k) {
    const uint32_t r = i.results[static_cast<std::size_t>(k)];
    if (r == kNone) continue;
    s.dst[k] = scalar ? slots_.of(r).scalar : slots_.of(r).vector;
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

void Lowering::lower_memory(const Instruction& i, uint32_t index) {
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
  a.shape = shape_of(*p_, m, i.kind);
  if (a.shape == AddressShape::strided) {
    a.stride = static_cast<uint32_t>(p_->registers[m.address.reg].stride);
    a.wavefronts = wavefronts(a.stride, i.kind);
  }
  const Element address = m.address.is_reg() ? p_->registers[m.address.reg].element : Element::b64;
  a.address_is_64 = address == Element::b64;
  a.address = a.shape == AddressShape::vector ? slots_.vector(m.address, address) : slots_.scalar(m.address, address);
  const bool load = i.kind == Kind::load;
  if (load) a.scalar_results = true;
  for (std::size_t k = 0; k < m.values.size(); ++k) {
    const Value& v = m.values[k];
    if (v.kind == Value::Kind::none) continue;
    if (load && is_scalar(v.reg)) {
      a.values[k] = slots_.of(v.reg).scalar;
    } else {
      a.values[k] =
          load ? slots_.of(v.reg).vector
               : slots_.vector(v, v.is_reg() ? p_->registers[v.reg].element : element_of_bytes(m.value_bytes[k]));
      a.scalar_results = false;
    }
  }
  // A load's results are all scalars or all vectors: a scalar one among vectors is read back below.
  if (load && !a.scalar_results)
    for (std::size_t k = 0; k < m.values.size(); ++k)
      if (m.values[k].is_reg() && is_scalar(m.values[k].reg))
        a.values[k] = slots_.spare_vector(p_->registers[m.values[k].reg].element);
  a.plain = a.words && !a.counts_requests && m.space == AddressSpace::shared &&
            (a.shape == AddressShape::contiguous || (a.shape == AddressShape::uniform && a.scalar_results));
  if (m.result != kNone) a.result = slots_.of(m.result).vector;
  Step s;
  s.run = memory_handler(m, i.kind, a.shape);
  if (i.kind != Kind::atomic &&
      (m.space == AddressSpace::global || m.space == AddressSpace::shared || m.space == AddressSpace::constant))
    s.many = Many::active;
  s.extra = &a;
  if (code_->checked && i.kind != Kind::request) {
    a.unchecked = s.run;
    s.run = observed_access;
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
      copy.dst[0] = slots_.of(v.reg).scalar;
      copy.src[0] = a.values[k];
      push(copy);
    }
    expand(v.reg);
  }
}

// Saves, before a call, the registers that are live at its return, except those that the callee writes.
void Lowering::lower_save(uint32_t index, const BasicBlock& block) {
  uint32_t k = index;
  while (p_->code[k].kind != Kind::function_call) ++k;
  const std::vector<uint32_t>& written = p_->code[k].targets;
  code_->saves.push_back(std::make_unique<SaveOp>());
  SaveOp& op = *code_->saves.back();
  op.instruction = index;
  for (uint32_t r : p_->blocks[block.next].live_in)
    if (std::find(written.begin(), written.end(), r) == written.end() && slots_.of(r).vector != kNoSlot)
      op.items.push_back({slots_.of(r).vector, p_->registers[r].element});
  Step s;
  s.run = save_handler();
  s.extra = &op;
  push(s);
}

void Lowering::lower_lanes(const Instruction& i, uint32_t index) {
  code_->lane_ops.push_back(std::make_unique<LaneOp>());
  LaneOp& op = *code_->lane_ops.back();
  op.instruction = &i;
  op.index = index;
  for (const Value& v : i.sources) {
    const Element e = v.is_reg()                                                    ? p_->registers[v.reg].element
                      : i.kind == Kind::vote && op.sources.empty()                  ? Element::pred
                      : i.kind == Kind::match && op.sources.empty() && (i.mode & 2) ? Element::b64
                                                                                    : Element::b32;
    op.sources.push_back(slots_.vector(v, e));
  }
  for (std::size_t k = 0; k < 2; ++k)
    if (i.results[k] != kNone) {
      op.scalar[k] = is_scalar(i.results[k]);
      op.results[k] = op.scalar[k] ? slots_.of(i.results[k]).scalar : slots_.of(i.results[k]).vector;
    }
  if (i.kind == Kind::collective) {
    op.matrix = &p_->matrices[i.matrix];
    for (const uint32_t r : i.targets) op.targets.push_back(slots_.of(r).vector);
  }
  Step s;
  s.run = op.matrix ? matrix_handler(*op.matrix) : lane_handler(i);
  s.extra = &op;
  if (code_->checked && (i.names_lanes || i.kind == Kind::shuffle || i.kind == Kind::warp_barrier)) {
    op.unchecked = s.run;
    s.run = observed_lanes;
  }
  push_guarded(s, i);
  for (uint32_t r : i.results)
    if (r != kNone) expand(r);
}

// After a scalar definition: the vector form, where something reads it.
void Lowering::expand(uint32_t r) {
  const Home& h = slots_.of(r);
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

void Lowering::push_guarded(Step s, const Instruction& i) {
  if (i.guard == kNone) return push(s);
  code_->guards.push_back(std::make_unique<Guarded>());
  Guarded& g = *code_->guards.back();
  g.inner = s;
  g.predicate = slots_.of(i.guard).vector != kNoSlot ? slots_.of(i.guard).vector : slots_.of(i.guard).scalar;
  g.negated = i.guard_negated;
  g.tally = i.counts ? i.guard_tally : kNone;
  Step outer;
  outer.run = guarded_handler();
  outer.extra = &g;
  push(outer);
}

}  // namespace coalesce::machine
