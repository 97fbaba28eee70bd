#include "native/analyse/hoisted_checks.h"

#include <algorithm>

#include "machine/program/uses.h"
#include "native/analyse/shared_access.h"
#include "native/analyse/warp_affine.h"

namespace coalesce::native {

using machine::AddressSpace;
using machine::Kind;
using machine::kLanes;
namespace isa = machine::isa;

namespace {

constexpr uint32_t kFewestWarps = 2;

// The blocks of region `r` that a warp passes whose lanes are all on and stay together, in order; at a branch around
// some code the lanes go into it, at one that ends the kernel they go on. Empty: there are other ways.
std::vector<uint32_t> only_way(const Decoded& p, const RegionPlan& plan, uint32_t r) {
  const std::vector<uint32_t>& chain = p.regions[r].chain;
  std::vector<uint32_t> way;
  std::size_t left_out = 0;
  for (std::size_t k = 0; k < chain.size(); ++k) {
    const machine::BasicBlock& block = p.blocks[chain[k]];
    way.push_back(chain[k]);
    if (block.divergent) return {};
    if (!block.divergent_branch) continue;
    const uint32_t meet = k + 1 < chain.size() ? chain[k + 1] : p.regions[r].after;
    if (way.size() != k + 1 || left_out || block.reconverge != meet || block.taken == kNone || !block.table.empty() ||
        (block.taken == meet) == (block.next == meet))
      return {};
    const uint32_t inside = block.taken == meet ? block.next : block.taken;
    if (p.code[p.blocks[inside].last - 1].kind == Kind::exit) {
      ++left_out;
      continue;
    }
    if (p.blocks[inside].taken != kNone || !p.blocks[inside].table.empty() || p.blocks[inside].next != meet) return {};
    way.push_back(inside);
  }
  return way.size() + left_out == plan.blocks.size() ? way : std::vector<uint32_t>{};
}

std::optional<Order> order_of(isa::Comparison comparison) {
  switch (comparison) {
    case isa::Comparison::lt:
    case isa::Comparison::lo:
      return Order::less;
    case isa::Comparison::le:
    case isa::Comparison::ls:
      return Order::less_equal;
    case isa::Comparison::gt:
    case isa::Comparison::hi:
      return Order::greater;
    case isa::Comparison::ge:
    case isa::Comparison::hs:
      return Order::greater_equal;
    default:
      return std::nullopt;
  }
}

// The work of one analysis: follows the instructions of the way.
class Finder {
 public:
  Finder(const Registers& registers, const CheckedAffine& checked_affine, std::vector<bool> affine,
         HoistedChecks& found)
      : registers_(registers),
        p_(registers.program()),
        checked_affine_(checked_affine),
        affine_(std::move(affine)),
        found_(found),
        asked_(found.branch == kNone ? kNone : p_.code[p_.blocks[found.branch].last - 1].guard),
        tested_(asked_ == kNone) {}

  bool run() {
    for (const uint32_t b : found_.way)
      for (uint32_t k = p_.blocks[b].first; k < p_.blocks[b].last; ++k)
        if ((p_.blocks[b].divergent || !machine::hoistable(p_, p_.code[k])) && !instruction(k)) return false;
    return any_ && tested_;
  }

 private:
  using What = HoistedChecks::Action::What;

  bool is_affine(const machine::Value& v) const { return !v.is_reg() || affine_[v.reg]; }

  // False: the region has no such form.
  bool instruction(uint32_t index) {
    const Instruction& i = p_.code[index];
    switch (i.kind) {
      case Kind::nothing:
      case Kind::branch:
      case Kind::branch_table:
      case Kind::barrier:
      case Kind::exit:
        return true;
      case Kind::pure:
        return i.guard == kNone && (pure(index), true);
      case Kind::load:
      case Kind::store:
        if (i.guard != kNone) return false;
        if (is_affine_access(i)) {
          any_ = true;
          found_.actions.push_back({What::access, index});
        } else if (!cannot_fault(p_, p_.memory[i.memory])) {
          return false;
        }
        break;
      case Kind::atomic:
        if (i.guard != kNone || !is_simple_atomic(p_, i) || !cannot_fault(p_, p_.memory[i.memory])) return false;
        break;
      default:
        return false;
    }
    machine::each_from_memory(p_, i, [&](uint32_t r) { affine_[r] = false; });
    return true;
  }

  void pure(uint32_t index) {
    const Instruction& i = p_.code[index];
    const uint32_t result = i.results[0];
    if (asked_ != kNone && std::ranges::count(i.results, asked_) != 0) tested_ = test(index);
    const bool keeps =
        keeps_warp_affine(
            registers_, i, [&](const machine::Value& v) { return is_affine(v); }, [](uint32_t) { return true; }) &&
        (registers_.is_scalar(result) || checked_affine_.is[result]);
    for (const uint32_t r : i.results)
      if (r != kNone) affine_[r] = keeps;
    if (keeps) found_.actions.push_back({What::affine, index});
  }

  // A comparison by order of what is affine over lanes and warps with a value of the block.
  bool test(uint32_t index) {
    const Instruction& i = p_.code[index];
    if (i.results[1] != kNone) return false;
    const isa::Operation& op = i.pure->operation;
    if (!op.is_comparison() || op.pair || (op.type != isa::Type::s32 && op.type != isa::Type::u32)) return false;
    const machine::Value& a = i.sources[0];
    if (!a.is_reg() || !registers_.is_scalar(a.reg) || !affine_[a.reg] || !registers_.is_block_level(i.sources[1]))
      return false;
    const std::optional<Order> order = order_of(op.comparison);
    if (!order) return false;
    const HoistedChecks::Action action{What::test, index, *order, op.type == isa::Type::s32};
    found_.actions.push_back(action);
    return true;
  }

  // True for an access of global memory by consecutive lanes, affine over warps.
  bool is_affine_access(const Instruction& i) const {
    const MemoryOp& m = p_.memory[i.memory];
    if (m.space != AddressSpace::global || m.is_volatile || m.width > 8 || (m.count & (m.count - 1)) != 0 ||
        m.bytes() > 16 || m.site == kNone || !m.address.is_reg() || !affine_[m.address.reg] ||
        p_.registers[m.address.reg].element != Element::b64)
      return false;
    int64_t stride;
    return checked_affine_.stride_of(registers_, m.address, &stride) && stride == int64_t{m.bytes()};
  }

  const Registers& registers_;
  const Decoded& p_;
  const CheckedAffine& checked_affine_;
  std::vector<bool> affine_;  // by register, at the instruction that is looked at
  HoistedChecks& found_;
  const uint32_t asked_;  // the predicate of the branch
  bool any_ = false, tested_;
};

}  // namespace

std::optional<HoistedChecks> find_hoisted_checks(const Registers& registers, const CheckedAffine& checked_affine,
                                                 const std::vector<bool>& warp_affine, const RegionPlan& plan,
                                                 uint32_t r) {
  const Decoded& p = registers.program();
  HoistedChecks found;
  found.way = only_way(p, plan, r);
  if (found.way.empty() || registers.warps() < kFewestWarps || registers.threads() % kLanes != 0) return std::nullopt;
  for (std::size_t k = 0; k < found.way.size() && found.branch == kNone; ++k) {
    const uint32_t b = found.way[k];
    if (!p.blocks[b].divergent_branch) continue;
    found.branch = b;
    const uint32_t next = k + 1 < found.way.size() ? found.way[k + 1] : p.regions[r].after;
    found.branch_taken = p.blocks[b].taken == next;
  }
  if (!Finder(registers, checked_affine, warp_affine, found).run()) return std::nullopt;
  return found;
}

}  // namespace coalesce::native
