#include "machine/check/provenance.h"

#include <algorithm>

#include "machine/program/uses.h"

namespace coalesce::machine {

namespace {

constexpr Root kSeveral{Root::Kind::several, 0};

// The root of a sum, or of a value that is the one or the other.
Root join(Root a, Root b) {
  if (a.kind == Root::Kind::none) return b;
  if (b.kind == Root::Kind::none || a == b) return a;
  return kSeveral;
}

class Roots {
 public:
  Roots(const Decoded& p, const std::vector<Pointer>& pointers, const std::function<uint32_t(uint64_t)>& variable)
      : p_(p), pointers_(pointers), variable_(variable), of_(p.registers.size()), writers_(p.registers.size()) {
    for (const Instruction& i : p.code) each_written(p, i, [&](uint32_t r) { writers_[r] += !updates(i, r); });
    for (uint32_t r = 0; r < of_.size(); ++r) {
      if (pointers[r] == Pointer::of_allocation) of_[r] = {Root::Kind::parameter, r};
      if (pointers[r] == Pointer::elsewhere) of_[r] = kSeveral;
    }
    // Joins only go up, three steps a register.
    for (bool again = true; again;) {
      again = false;
      for (const Instruction& i : p.code) again = step(i) || again;
    }
  }
  Root of(const Value& v) const {
    if (v.is_reg()) return of_[v.reg];
    return v.array == kNone ? Root{} : Root{Root::Kind::array, v.array};
  }
  Root of(const MemoryOp& m) const {
    return join(of(m.address), m.array == kNone ? Root{} : Root{Root::Kind::array, m.array});
  }

 private:
  // A pointer that moves on: the register is computed from itself.
  static bool updates(const Instruction& i, uint32_t r) {
    return i.kind == Kind::pure &&
           std::ranges::any_of(i.sources, [&](const Value& v) { return v.is_reg() && v.reg == r; });
  }

  bool raise(uint32_t r, Root to) {
    if (r == kNone || p_.registers[r].builtin != Builtin::none) return false;
    const Root now = join(of_[r], to);
    if (now == of_[r]) return false;
    of_[r] = now;
    return true;
  }

  bool step(const Instruction& i) {
    Root root;
    if (i.kind == Kind::pure) {
      root = of_pure(i);
    } else if (i.kind == Kind::shuffle || i.kind == Kind::call) {
      for (const Value& v : i.sources)
        if (of(v).kind != Root::Kind::none) root = kSeveral;
    }
    bool changed = false;
    each_written(p_, i, [&](uint32_t r) {
      if (pointers_[r] != Pointer::no) return;  // it is known what it loads
      // A value from memory, or through a call, may be any pointer.
      const bool any = i.memory != kNone || i.kind == Kind::function_call || i.kind == Kind::call;
      const bool pointer = p_.registers[r].element == Element::b64;
      Root to = any && pointer ? kSeveral : root;
      const bool one = writers_[r] == 1 && !p_.has_calls;
      const bool gives =
          i.kind == Kind::load || (i.kind == Kind::call && static_cast<Callee>(i.mode) == Callee::malloc);
      if (any && pointer && gives && one) to = {Root::Kind::loaded, r};
      if (!any && to.kind == Root::Kind::loaded && (!one || (i.guard != kNone && !updates(i, r)))) to = kSeveral;
      changed = raise(r, to) || changed;
    });
    return changed;
  }

  Root of_pure(const Instruction& i) const {
    using isa::Opcode;
    const auto source = [&](std::size_t k) { return k < i.sources.size() ? of(i.sources[k]) : Root{}; };
    // A constant that is taken as it is may be the address of a variable.
    const auto taken = [&](std::size_t k) {
      const bool address = k < i.sources.size() && i.sources[k].is_constant() && i.sources[k].array == kNone &&
                           may_be_address(i.sources[k].bits);
      if (!address) return source(k);
      const uint32_t number = variable_(i.sources[k].bits);
      return number == kNone ? kSeveral : Root{Root::Kind::variable, number};
    };
    switch (i.pure->operation.opcode) {
      case Opcode::mov:
      case Opcode::cvt:
      case Opcode::widen:
      case Opcode::narrow:
        return taken(0);
      case Opcode::selp:
      case Opcode::min:
      case Opcode::max:
        return join(taken(0), taken(1));
      case Opcode::add:
      case Opcode::or_:
        return source(0).kind != Root::Kind::none && source(1).kind != Root::Kind::none ? kSeveral
                                                                                        : join(source(0), source(1));
      case Opcode::sub:
        if (source(1).kind == Root::Kind::none) return source(0);
        return source(0) == source(1) && source(0).kind != Root::Kind::several ? Root{} : kSeveral;
      case Opcode::mad:
      case Opcode::fma:
        if (source(0).kind == Root::Kind::none && source(1).kind == Root::Kind::none) return source(2);
        return kSeveral;
      default: {
        // Masks, packs, bits of pointers ...: no telling.
        for (std::size_t k = 0; k < i.sources.size(); ++k)
          if (source(k).kind != Root::Kind::none) return kSeveral;
        return {};
      }
    }
  }

  const Decoded& p_;
  const std::vector<Pointer>& pointers_;
  const std::function<uint32_t(uint64_t)>& variable_;
  std::vector<Root> of_;
  std::vector<uint32_t> writers_;  // of each register: instructions
};

}  // namespace

std::vector<Root> find_roots(const Decoded& p, const std::vector<Pointer>& pointers,
                             const std::function<uint32_t(uint64_t)>& variable) {
  const Roots roots(p, pointers, variable);
  std::vector<Root> all;
  for (const MemoryOp& m : p.memory) {
    const Root r = roots.of(m);
    all.push_back(r.kind == Root::Kind::several ? Root{} : r);
  }
  return all;
}

}  // namespace coalesce::machine
