// Decisions of the decoder and of code generation about a kernel, in words, for the instructions and regions that were
// executed: lane classes by rule, ranges, divergence, regions, checks left out, forms that native code has of its own.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "machine/program/program.h"
#include "native/analyse/facts.h"
#include "native/analyse/shared_access.h"

namespace coalesce::machine::test {

// Variables of other modules: none is used.
struct Symbols : SymbolTable {
  Symbol symbol(const std::string&) const override { return {true, true, 1 << 20}; }
  uint64_t function_address(const std::string&) const override { return 0; }
};

inline const char* name_of(AddressSpace s) {
  constexpr const char* kNames[] = {"generic", "global", "shared", "local", "constant", "param"};
  return kNames[static_cast<std::size_t>(s)];
}
inline const char* name_of(LaneClass c) {
  return c <= LaneClass::warp_uniform ? "uniform" : c == LaneClass::affine ? "affine" : "general";
}

// How the lanes' addresses differ, as far as executors tell.
inline std::string form_of(const Decoded& p, const MemoryOp& m) {
  if (!m.address.is_reg()) return "fixed";
  const Register& r = p.registers[m.address.reg];
  if (r.lanes <= LaneClass::warp_uniform) return "uniform";
  if (r.lanes != LaneClass::affine) return "general";
  if (r.stride < 0) return "downwards";
  if (r.element == Element::b32 && !r.range.known()) return "may wrap";
  return r.stride == int64_t{m.bytes()} ? "contiguous" : "strided";
}

class Decisions {
 public:
  explicit Decisions(std::map<std::string, uint64_t>& met) : met_(met) {}

  // `executed`: PTX lines.
  void note(const Decoded& p, const std::set<uint32_t>& executed) {
    const auto ran = [&](const Instruction& i) { return executed.contains(i.ptx_line); };
    for (const Instruction& i : p.code)
      if (ran(i)) instruction(p, i);
    for (const BasicBlock& b : p.blocks)
      if (b.first < b.last && ran(p.code[b.last - 1])) block(p, b);
    const native::Facts facts = native::find_facts(p, 192, 32 * 512);
    met("native code", !facts.regions.empty());
    for (std::size_t r = 0; r < facts.regions.size(); ++r) {
      const BasicBlock& first = p.blocks[p.regions[r].chain[0]];
      if (first.first < first.last && ran(p.code[first.first])) region(facts, facts.regions[r]);
    }
  }

 private:
  static const char* name_of(LaneClass c) {
    constexpr const char* kNames[] = {"constant", "block's", "warp's", "affine", "general"};
    return kNames[static_cast<std::size_t>(c)];
  }
  static const char* name_of(Rule r) {
    constexpr const char* kNames[] = {"other",        "add",      "sub",        "mul_low", "mul_wide",
                                      "mad_low",      "mad_wide", "shift_left", "move",    "widen_unsigned",
                                      "widen_signed", "truncate", "minus"};
    return kNames[static_cast<std::size_t>(r)];
  }
  void met(const std::string& what) { ++met_[what]; }
  void met(const std::string& what, bool yes) { ++met_[what + (yes ? "" : ": not")]; }

  void instruction(const Decoded& p, const Instruction& i) {
    if (i.kind == Kind::pure && i.results[0] != kNone) {
      const Register& out = p.registers[i.results[0]];
      LaneClass top = LaneClass::constant;
      bool known = true;
      for (const Value& v : i.sources) {
        if (!v.is_reg()) continue;
        top = std::max(top, p.registers[v.reg].lanes);
        known &= p.registers[v.reg].range.known();
      }
      const RowFacts& facts = i.pure->facts;
      const std::string rule = name_of(facts.linear.rule);
      if (i.guard == kNone && out.definitions == 1) met(rule + ": " + name_of(top) + " -> " + name_of(out.lanes));
      if (i.guard == kNone && known && facts.linear.rule != Rule::other)
        met(rule + ": range " + (out.range.known() ? "known" : "lost"));
      if (facts.bound.bound != Bound::none) {
        constexpr const char* kNames[] = {"", "mask", "shift to the right", "remainder"};
        met(kNames[static_cast<std::size_t>(facts.bound.bound)] + std::string(": range ") +
            (out.range.known() ? "known" : "lost"));
      }
      met("guarded instruction", i.guard != kNone);
      met("register of one block", out.block_local);
      met("computed once for the block", hoistable(p, i));
    }
    if (i.memory == kNone) return;
    const MemoryOp& m = p.memory[i.memory];
    if (m.space != AddressSpace::shared) return;
    const std::string what = i.kind == Kind::load    ? "shared load"
                             : i.kind == Kind::store ? "shared store"
                                                     : "shared atomic";
    met(what + " without a check", native::cannot_fault(p, m));
    if (i.kind == Kind::load) met(what + " in any order of warps", native::is_order_free(p, m));
    if (i.kind == Kind::atomic) met(what + " that the CPU has", native::is_simple_atomic(p, i));
  }

  void block(const Decoded& p, const BasicBlock& b) {
    const Instruction& last = p.code[b.last - 1];
    if (last.kind == Kind::branch && b.taken != kNone && b.next != kNone) met("branch parts lanes", b.divergent_branch);
    met("block of parted lanes", b.divergent);
    met("block begins with a wait", b.waits);
    met("warps one by one", p.needs_general_mode);
    if (b.divergent_branch) met("lanes meet again", b.reconverge != kNone);
  }

  void region(const native::Facts& facts, const native::RegionFacts& r) {
    met("region is native", r.plan.native);
    if (!r.plan.native) return;
    met("code may begin at the region", r.may_begin);
    met("lanes exit in the region", r.plan.exits);
    met("region has work for each warp", r.plan.has_work);
    bool nested = false, two_sided = false;
    for (const native::Scope& s : r.plan.scopes) {
      nested |= s.parent != kNone;
      two_sided |= !s.two_sided.empty();
    }
    met("scopes in the region", !r.plan.scopes.empty());
    met("scopes within scopes", nested);
    met("branch with work on both sides", two_sided);
    met("several warps at once", r.warps_at_once > 1);
    met("tiles", !r.tiles.empty());
    met("hoisted checks", r.hoisted.has_value());
    if (r.hoisted) {
      met("hoisted checks behind a branch", r.hoisted->branch != kNone);
      for (const auto& a : r.hoisted->actions)
        if (a.what == native::HoistedChecks::Action::What::test)
          met(std::string("hoisted test ") + (a.order < native::Order::greater ? "below " : "above ") +
              (a.is_signed ? "signed" : "unsigned"));
    }
    constexpr const char* kIdle[] = {"none", "below", "product below", "periodic", "masked"};
    met(std::string("idle warps: ") + kIdle[static_cast<std::size_t>(r.idle.form)]);
    bool affine = false;
    for (const bool is : facts.checked_affine.is) affine |= is;
    met("address affine unless it wraps", affine);
  }

  std::map<std::string, uint64_t>& met_;
};

// Every decision that a program can bring about.
inline std::vector<std::string> all_decisions() {
  std::vector<std::string> all;
  const std::vector<std::string> kept{"constant -> constant", "block's -> block's", "warp's -> warp's",
                                      "affine -> affine", "general -> general"};
  for (const char* rule : {"add", "sub", "mul_low", "mul_wide", "mad_low", "mad_wide", "shift_left", "move",
                           "widen_unsigned", "widen_signed", "truncate", "minus"}) {
    for (const std::string& classes : kept) all.push_back(std::string(rule) + ": " + classes);
    for (const char* range : {"known", "lost"})
      if (rule != std::string("minus") || range == std::string("known"))  // of -2^31 alone
        all.push_back(std::string(rule) + ": range " + range);
  }
  for (const char* rule :
       {"mul_low", "mul_wide", "mad_low", "mad_wide", "shift_left", "widen_unsigned", "widen_signed", "other"})
    all.push_back(std::string(rule) + ": affine -> general");
  for (const char* classes : {"constant -> constant", "block's -> block's", "warp's -> warp's", "general -> general"})
    all.push_back(std::string("other: ") + classes);
  all.push_back("sub: affine -> warp's");
  for (const char* bound : {"mask", "shift to the right", "remainder"})
    for (const char* range : {"known", "lost"}) all.push_back(std::string(bound) + ": range " + range);
  for (const char* form : {"none", "below", "product below", "periodic", "masked"})
    all.push_back(std::string("idle warps: ") + form);
  for (const char* order : {"below ", "above "})
    for (const char* sign : {"signed", "unsigned"}) all.push_back(std::string("hoisted test ") + order + sign);
  for (const char* question : {"guarded instruction",
                               "register of one block",
                               "computed once for the block",
                               "shared load without a check",
                               "shared store without a check",
                               "shared atomic without a check",
                               "shared load in any order of warps",
                               "shared atomic that the CPU has",
                               "branch parts lanes",
                               "block of parted lanes",
                               "block begins with a wait",
                               "warps one by one",
                               "native code",
                               "region is native",
                               "code may begin at the region",
                               "lanes exit in the region",
                               "region has work for each warp",
                               "scopes in the region",
                               "scopes within scopes",
                               "branch with work on both sides",
                               "several warps at once",
                               "tiles",
                               "hoisted checks",
                               "hoisted checks behind a branch",
                               "address affine unless it wraps"})
    for (const char* answer : {"", ": not"}) all.push_back(std::string(question) + answer);
  all.push_back("lanes meet again");
  return all;
}

}  // namespace coalesce::machine::test
