// Random programs without arithmetic: branches, loops and what ends blocks, for tests of how lanes part and meet.
#pragma once

#include <map>
#include <random>

#include "machine/program/program.h"

namespace coalesce::machine::random_programs {

// Predicates that lanes have each their own, and that are the launch's.
inline constexpr uint32_t kOwn = 0, kCommon = 1, kIndex = 2;

class Random {
 public:
  explicit Random(unsigned seed) : random_(seed) {}
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

  // Branches, loops and straight code within one another; now and then a branch to anywhere.
  Decoded program() {
    Decoded p;
    p.registers.resize(3);
    p.registers[kOwn].element = p.registers[kCommon].element = Element::pred;
    p.registers[kCommon].builtin = Builtin::parameter;
    p.registers[kIndex].element = Element::b32;
    p_ = &p;
    wild_ = below(3) == 0;
    list(3);
    p.code.emplace_back().kind = Kind::exit;
    for (auto [from, to] : jumps_) p.code[from].target = to;
    jumps_.clear();
    if (wild_)
      for (Instruction& i : p.code)
        if (i.kind == Kind::branch && below(6) == 0) i.target = below(static_cast<uint32_t>(p.code.size()));
    build_graph(p);
    find_reconvergence(p);
    find_liveness(p);
    find_lane_classes(p);
    find_regions(p);
    return p;
  }

 private:
  uint32_t here() const { return static_cast<uint32_t>(p_->code.size()); }
  Instruction& add(Kind kind) {
    p_->code.emplace_back().kind = kind;
    return p_->code.back();
  }
  uint32_t jump(bool conditional) {
    const uint32_t at = here();
    Instruction& i = add(Kind::branch);
    if (conditional) i.guard = below(4) ? kOwn : kCommon;
    return at;
  }
  void memory(Kind kind) {
    Instruction& i = add(kind);
    i.memory = static_cast<uint32_t>(p_->memory.size());
    MemoryOp& m = p_->memory.emplace_back();
    m.is_volatile = below(4) == 0;
    m.returns = below(2);
    m.width = 8;
    m.count = below(12) ? 4 : 8;
    m.address = Value::imm(0);
  }
  void step() {
    switch (below(32)) {
      case 0:
        add(Kind::barrier).guard = below(4) ? kNone : kOwn;
        if (below(4) == 0) p_->code.back().mode = static_cast<uint8_t>(BarrierMode::arrive);
        break;
      case 1:
        add(Kind::exit);
        break;
      case 2:
        memory(Kind::load);
        break;
      case 3:
        memory(Kind::atomic);
        break;
      case 4:
        add(Kind::warp_barrier).names_lanes = below(2);
        break;
      case 5:
        add(Kind::collective);
        break;
      case 6: {
        const uint32_t at = here();
        Instruction& i = add(Kind::branch_table);
        i.sources = {Value::of(kIndex)};
        i.targets = {at + 1, at + 2};
        add(Kind::store).memory = 0;
        add(Kind::nothing);
        if (p_->memory.empty()) p_->memory.emplace_back().address = Value::imm(0);
        break;
      }
      default:
        memory(Kind::store);
    }
  }
  void list(int depth) {
    for (uint32_t n = 1 + below(3); n > 0; --n) {
      const uint32_t what = depth ? below(6) : 0;
      if (here() > 30 || what < 2) {
        step();
      } else if (what < 4) {  // if, maybe with an else
        const uint32_t over = jump(true);
        list(depth - 1);
        if (below(2)) {
          const uint32_t end = jump(false);
          jumps_[over] = here();
          list(depth - 1);
          jumps_[end] = here();
        } else {
          jumps_[over] = here();
        }
      } else if (what == 4) {  // a loop that is left at its end
        const uint32_t head = here();
        list(depth - 1);
        jumps_[jump(true)] = head;
      } else {  // one that is left at its beginning
        const uint32_t head = here(), out = jump(true);
        list(depth - 1);
        jumps_[jump(false)] = head;
        jumps_[out] = here();
      }
    }
  }

  std::mt19937 random_;
  Decoded* p_ = nullptr;
  std::map<uint32_t, uint32_t> jumps_;
  bool wild_ = false;
};

}  // namespace coalesce::machine::random_programs
