// The cases that the random kernels of executors_test.cpp bring to the executors: memory instructions that were
// executed, by space, form of address, kind, width, lanes of the value, guard and full or partial warps; and what was
// decided about the rest (decisions.h). A combination that a program can have and no kernel has fails the test; the
// generator has to be extended then.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "machine/program/program.h"
#include "machine/ptx/parser.h"
#include "tests/machine/execute/harness.h"
#include "tests/native/decisions.h"
#include "tests/random/generator.h"
#include "tests/sanitized.h"

namespace coalesce::machine::test {
namespace {

class Coverage {
 public:
  void add(const GeneratedKernel& k) {
    const uint32_t block = k.block[0] * k.block[1] * k.block[2];
    const uint32_t threads = block * k.grid[0] * k.grid[1] * k.grid[2];
    Shape setup;
    setup.grid = k.grid;
    setup.block = k.block;
    const Ran r = bench_.run(k.ptx,
                             {zeros<uint8_t>(std::size_t{threads} * kOutBytesPerThread),
                              in_,
                              zeros<uint32_t>(kAccWords),
                              value(37),
                              value(1000003),
                              {false, generated_bag(), kBagAlignment}},
                             setup, "k");
    std::set<uint32_t> executed;
    for (const LineCounters& l : r.report.lines)
      if (l.counters.instructions > 0) executed.insert(l.ptx_line);
    const ptx::Module module = ptx::parse(k.ptx, "generated");
    LaunchShape shape;
    shape.block = k.block;
    shape.grid_below = {4, 2, 1};
    for (const ptx::Function& f : module.functions) {
      if (!f.is_entry) continue;
      const auto p = decode(module, f, symbols_, shape);
      for (const Instruction& i : p->code)
        if (i.memory != kNone && executed.contains(i.ptx_line)) note(*p, i, block % kLanes != 0);
      decisions_.note(*p, executed);
    }
  }

  // The cases of `wanted` that did not occur.
  std::string missing(const std::vector<std::string>& wanted) const {
    std::string list;
    for (const std::string& cell : wanted)
      if (!met_.contains(cell)) list += cell + "\n";
    return list;
  }

 private:
  void note(const Decoded& p, const Instruction& i, bool partial) {
    const MemoryOp& m = p.memory[i.memory];
    const std::string what = std::string(name_of(m.space)) + (i.kind == Kind::load    ? " load"
                                                              : i.kind == Kind::store ? " store"
                                                                                      : " atomic");
    const std::string width = std::to_string(m.count) + "x" + std::to_string(m.width);
    ++met_[what + ", " + form_of(p, m)];
    ++met_[what + ", " + width];
    ++met_[what + ", " + form_of(p, m) + ", " + std::to_string(m.bytes()) + " bytes"];
    ++met_[what + (i.guard != kNone ? ", guarded" : ", not guarded") + (partial ? ", partial warp" : ", full warps")];
    if (i.kind != Kind::load)
      for (const Value& v : m.values)
        if (v.kind != Value::Kind::none)
          ++met_[what + " of " + (v.is_reg() ? name_of(p.registers[v.reg].lanes) : "constant") + " values"];
  }

  Bench bench_{1};
  const Argument in_ = buffer(generated_input(Breadth::all));
  const Symbols symbols_;
  std::map<std::string, uint64_t> met_;
  Decisions decisions_{met_};
};

// Every cell that a program can have.
std::vector<std::string> cells() {
  std::vector<std::string> all;
  const std::vector<std::string> widths{"1x1", "1x2", "1x4", "1x8", "1x16", "2x1",
                                        "4x1", "2x2", "4x2", "2x4", "4x4",  "2x8"};
  const std::map<std::string, std::vector<std::string>> forms{
      // Kernels' only fixed addresses of global memory would be variables, which these have none of.
      {"global load", {"uniform", "contiguous", "strided", "downwards", "general"}},
      {"global store", {"contiguous", "strided", "general"}},
      {"global atomic", {"uniform", "general"}},
      {"shared load", {"uniform", "contiguous", "strided", "downwards", "may wrap", "general"}},
      {"shared store", {"contiguous", "strided", "general"}},
      {"shared atomic", {"uniform", "general"}},
      {"local load", {"fixed", "uniform", "general"}},
      {"local store", {"fixed", "uniform", "general"}},
      {"generic load", {"uniform", "contiguous", "strided", "downwards", "general"}},
      {"generic store", {"strided", "general"}},
      {"generic atomic", {"uniform", "general"}},
      {"constant load", {"fixed", "uniform", "contiguous", "general"}},
      {"param load", {"uniform", "contiguous", "strided", "downwards", "general"}}};
  for (const auto& [what, list] : forms) {
    for (const std::string& form : list) all.push_back(what + ", " + form);
    for (const char* guard : {", guarded", ", not guarded"})
      for (const char* warp : {", partial warp", ", full warps"}) all.push_back(what + guard + warp);
    if (what.ends_with("load") || what.ends_with("store"))
      for (const std::string& w : widths) {
        const bool fits = !what.starts_with("constant") || w == "1x1" || w == "1x2" || w == "1x4" || w == "2x1" ||
                          w == "4x1" || w == "2x2";  // the array of constants is aligned to 4 bytes
        if (fits) all.push_back(what + ", " + w);
      }
    if (!what.ends_with("load"))
      for (const char* lanes : {"uniform", "affine", "general"}) all.push_back(what + " of " + lanes + " values");
  }
  // Parameters, where an executor once took what it did not know for lane 0's: every form by every size.
  for (const char* what : {"param load", "generic load", "global load"})
    for (const char* form : {"uniform", "contiguous", "strided", "downwards", "general"})
      for (const char* bytes : {"1", "2", "4", "8", "16"})
        all.push_back(std::string(what) + ", " + form + ", " + bytes + " bytes");
  return all;
}

TEST(DecisionCoverage, OfRandomKernelsIsComplete) {
  if (kSanitized) GTEST_SKIP() << "runs fewer kernels";
  Coverage coverage;
  for (uint64_t seed = 1; seed <= 3000; ++seed) coverage.add(generate_kernel(seed, Breadth::small));
  for (uint64_t seed = 1; seed <= 100; ++seed) coverage.add(generate_kernel(seed, Breadth::all));
  EXPECT_EQ(coverage.missing(cells()), "");
  EXPECT_EQ(coverage.missing(all_decisions()), "");
}

}  // namespace
}  // namespace coalesce::machine::test
