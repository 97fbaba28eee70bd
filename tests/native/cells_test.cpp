// The table of memory accesses, complete: space x form of address x width x kind x class of the value x guard x full or
// partial warp. Every cell that a program can have is executed, interpreted, plainly and as native code, and leaves
// what a model leaves (cells.h); the cells that no kernel here reaches are exactly those of unreached().
#include "tests/native/cells.h"

#include <gtest/gtest.h>

#include <set>

#include "machine/program/program.h"
#include "machine/ptx/parser.h"
#include "tests/machine/execute/harness.h"
#include "tests/native/decisions.h"
#include "tests/sanitized.h"

namespace coalesce::machine::test::cells {
namespace {

// Compiling and the plain executor take most of the time: the quick test has them for every so many-th kernel.
constexpr uint32_t kQuickly = 32;

class Table {
 public:
  void note(const Kernel& k, std::array<uint32_t, 3> block) {
    const ptx::Module module = ptx::parse(k.ptx(), "cells");
    LaunchShape shape;
    shape.block = block;
    shape.grid_below = {2, 1, 1};
    const auto p = decode(module, module.functions.front(), symbols_, shape);
    const std::string warp = block[0] % 32 ? "partial" : "full";
    for (const Instruction& i : p->code) {
      if (i.memory == kNone) continue;
      const MemoryOp& m = p->memory[i.memory];
      const std::string guard = i.guard == kNone                                         ? "no guard"
                                : p->registers[i.guard].lanes <= LaneClass::warp_uniform ? "block's guard"
                                                                                         : "lanes' guard";
      met_.insert(cell(name_of(m.space),
                       i.kind == Kind_::load    ? "load"
                       : i.kind == Kind_::store ? "store"
                                                : "atomic",
                       form_of(*p, m), std::to_string(m.count) + "x" + std::to_string(m.width),
                       i.kind == Kind_::load ? "-" : class_of(*p, m.values[0]), guard, warp));
    }
  }
  static std::string cell(const std::string& space, const std::string& kind, const std::string& form,
                          const std::string& width, const std::string& values, const std::string& guard,
                          const std::string& warp) {
    return space + " " + kind + ", " + form + ", " + width + ", " + values + ", " + guard + ", " + warp;
  }
  bool met(const std::string& c) const { return met_.contains(c); }

 private:
  using Kind_ = machine::Kind;
  static std::string class_of(const Decoded& p, const Value& v) {
    return v.is_reg() ? name_of(p.registers[v.reg].lanes) : "constant";
  }
  const Symbols symbols_;
  std::set<std::string> met_;
};

// Cells that no program has, and those that another test has.
const char* unreached(const std::string& space, const std::string& kind, const std::string& form, const Width& w,
                      const std::string& values, const std::string& guard) {
  const bool load = kind == "load", atomic = kind == "atomic", one = form == "fixed" || form == "uniform";
  if (!load && (space == "constant" || space == "param")) return "read only";
  if (atomic && space == "local") return "no such instruction";
  if (atomic && (w.count > 1 || w.bytes < 4 || w.bytes > 8)) return "atomics_test.cpp: halves, bytes and pairs";
  if (form == "fixed" && space == "generic") return "an address that cvta has made is a register's";
  if (form == "may wrap" && space != "shared" && space != "local") return "addresses of 32 bits are shared and local";
  if (!load && !atomic && one && space != "local" && space != "generic" && guard != "lanes' guard" &&
      (values == "affine" || values == "general"))
    return "stores_test.cpp: which lane's value stays";
  if (space == "param" && form == "fixed") return "a register of the launch";
  if (w.bytes <= 2 && values == "affine") return "registers of 16 bits are general";
  if (w.bytes == 16 && (values == "affine" || values == "constant")) return "registers of 128 bits are put together";
  return nullptr;
}

std::string missing(const Table& table) {
  std::string list;
  for (const char* space : {"generic", "global", "shared", "local", "constant", "param"})
    for (const char* kind : {"load", "store", "atomic"})
      for (const char* form : {"fixed", "uniform", "contiguous", "strided", "downwards", "may wrap", "general"})
        for (const Width& w : kWidths)
          for (const char* values : {"-", "constant", "uniform", "affine", "general"})
            for (const char* guard : {"no guard", "block's guard", "lanes' guard"})
              for (const char* warp : {"full", "partial"}) {
                if ((kind == std::string("load")) != (values == std::string("-"))) continue;
                const std::string cell = Table::cell(
                    space, kind, form, std::to_string(w.count) + "x" + std::to_string(w.bytes), values, guard, warp);
                const char* why = unreached(space, kind, form, w, values, guard);
                if (!why && !table.met(cell)) list += cell + "\n";
                if (why && table.met(cell)) list += cell + ": reached, though \"" + why + "\"\n";
              }
  return list;
}

// Every `one_of`-th kernel in all executors, the others interpreted, in each change in one of the two shapes.
void check(uint32_t one_of) {
  Bench interpreted(1), plain(1), compiled(1, Shape{}.max_instructions, quick_native_code());
  plain.machine().use_plain(true);
  Table table;
  uint32_t number = 0;
  for (const Place& place : kPlaces)
    for (const Kind kind : {Kind::load, Kind::store, Kind::atomic})
      for (const Width& width : kWidths)
        for (const Guard guard : kGuards) {
          const Kernel k(place, kind, width, guard);
          if (k.empty()) continue;
          SCOPED_TRACE(std::string(place.name) + ", kind " + std::to_string(static_cast<int>(kind)) + ", " +
                       std::to_string(width.count) + "x" + std::to_string(width.bytes) + ", guard " +
                       std::to_string(static_cast<int>(guard)));
          ++number;
          for (const auto& [x, y] : {std::pair{32u, 2u}, {24u, 1u}}) {
            table.note(k, {x, y, 1});
            if (few_cases() && number % one_of != 0 && number % 2 == y % 2) continue;
            Shape shape;
            shape.block = {x, y, 1};
            for (Bench* bench : {&interpreted, &plain, &compiled}) {
              if (bench == &compiled && !quick_native_code()) continue;
              if (bench != &interpreted && number % one_of != 0) continue;
              const auto program = bench->machine().load(k.ptx(), "test.ptx");
              for (const uint32_t n : {kNumber, 2 * kNumber}) {
                if (n != kNumber && guard != Guard::block) continue;
                const std::vector<uint8_t> out = k.out_after(x, y, n), buffer_after = k.buffer_after(x, y, n);
                std::vector<Argument> arguments{zeros<uint8_t>(out.size()), buffer(k.before()), value(n)};
                if (place.where == std::string("param")) arguments.push_back({false, k.before(), 16});
                const Ran r = bench->run(*program, arguments, shape, "k");
                ASSERT_EQ(r.report.fault, Fault::none) << r.message() << "\n" << k.ptx();
                const char* how = bench == &plain ? "plain" : bench == &compiled ? "native" : "interpreted";
                ASSERT_TRUE(r.buffers[0] == out) << how << ", n " << n << "\n" << k.ptx();
                ASSERT_TRUE(r.buffers[1] == buffer_after) << how << "\n" << k.ptx();
              }
            }
          }
        }
  EXPECT_EQ(missing(table), "");
  EXPECT_EQ(unsound_kernels(), 0u);
}

TEST(Cells, LeaveWhatTheModelLeaves) {
  if (kSanitized) GTEST_SKIP() << "takes a minute";
  check(kQuickly);
}
TEST(CellsNightly, LeaveWhatTheModelLeaves) { check(1); }

}  // namespace
}  // namespace coalesce::machine::test::cells
