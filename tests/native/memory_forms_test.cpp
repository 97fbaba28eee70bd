// Accesses and operations between lanes that native code carries out itself, and those that it must not.
#include <set>
#include <sstream>

#include "tests/native/emitted.h"

namespace coalesce::machine::test::memory_forms {
namespace {

struct Moves {
  const char *suffix, *registers;
  uint32_t bytes;
};
constexpr Moves kMoves[] = {{"u8", "%h11", 1},
                            {"s8", "%h11", 1},
                            {"u16", "%h11", 2},
                            {"u32", "%r11", 4},
                            {"f32", "%f11", 4},
                            {"u64", "%rd11", 8},
                            {"f64", "%fd11", 8},
                            {"v2.u8", "{%h11, %h12}", 2},
                            {"v4.u8", "{%h11, %h12, %h13, %h14}", 4},
                            {"v2.u16", "{%h11, %h12}", 4},
                            {"v4.u16", "{%h11, %h12, %h13, %h14}", 8},
                            {"v2.u32", "{%r11, %r12}", 8},
                            {"v4.u32", "{%r11, %r12, %r13, %r14}", 16},
                            {"v2.u64", "{%rd11, %rd12}", 16}};

// %rd40: one place, %rd41 to 45: places 1 to 16 bytes apart, %rd46: anywhere; %r40, %r41 to 45, %r46 in shared memory;
// %p1: of the lanes.
std::string places() {
  std::string text =
      "ld.param.u64 %rd40, [in];\nmov.u32 %r1, %tid.x;\nmul.lo.u32 %r2, %r1, %r1;\nand.b32 %r2, %r2, 127;\n"
      "mad.wide.u32 %rd46, %r2, 16, %rd40;\nmov.u32 %r40, s;\nmad.lo.u32 %r46, %r2, 16, %r40;\n"
      "setp.gt.u32 %p1, %r2, 40;\nld.param.u32 %r3, [n];\n";
  for (int k = 0; k < 5; ++k) {
    const std::string reg = std::to_string(41 + k), step = std::to_string(1 << k);
    text += "mad.wide.u32 %rd" + reg + ", %r1, " + step + ", %rd40;\n" + "mad.lo.u32 %r" + reg + ", %r1, " + step +
            ", %r40;\n";
  }
  return text;
}

std::string text_of(const std::vector<std::string>& all) {
  std::string text = ".shared .align 16 .b8 s[4096];\n" + places();
  for (const std::string& one : all) text += one + "\n";
  return kernel(".param .u64 in, .param .u32 n", text);
}

// Those that the interpreter carries out.
std::vector<std::string> left(const std::vector<std::string>& all) {
  const std::string ptx = text_of(all);
  const Emitted e = emitted(ptx, {64, 1, 1}, "x86-64-v3");
  EXPECT_EQ(e.error, "");
  std::vector<std::string> found;
  std::istringstream in(ptx);
  std::string line;
  const std::set<std::string> ours(all.begin(), all.end());
  for (uint32_t number = 1; std::getline(in, line); ++number)
    if (e.interpreted.contains(number) && ours.contains(line)) found.push_back(line);
  return found;
}

std::string step_register(const Moves& m) {
  int k = 0;
  while (1u << k != m.bytes) ++k;
  return std::to_string(41 + k);
}

std::string access(const std::string& kind, const std::string& space, const Moves& m, const std::string& at) {
  const std::string name = kind + "." + space + "." + m.suffix + " ";
  return kind.starts_with("ld") ? name + m.registers + ", [" + at + "];" : name + "[" + at + "], " + m.registers + ";";
}

TEST(MemoryForms, OfGlobalMemory) {
  if (!can_emit()) GTEST_SKIP() << "built without LLVM";
  std::vector<std::string> all;
  for (const Moves& m : kMoves)
    for (const char* kind : {"ld", "st"}) {
      for (const std::string& at : {std::string("%rd40"), "%rd" + step_register(m), std::string("%rd46")})
        for (const char* guard : {"", "@%p1 "}) all.push_back(guard + access(kind, "global", m, at));
      all.push_back(access(kind + std::string(".volatile"), "global", m, "%rd40"));
    }
  EXPECT_EQ(left(all), std::vector<std::string>{});
}

// Under a mask LLVM might move a load; one that waits for other blocks must stay where it is.
TEST(MemoryForms, OfMemoryThatOthersWrite) {
  if (!can_emit()) GTEST_SKIP() << "built without LLVM";
  std::vector<std::string> interpreted;
  for (const Moves& m : kMoves)
    for (const std::string& at : {"%rd" + step_register(m), std::string("%rd46")})
      interpreted.push_back("@%p1 " + access("ld.volatile", "global", m, at));
  EXPECT_EQ(left(interpreted), interpreted);
}

TEST(MemoryForms, OfSharedMemory) {
  if (!can_emit()) GTEST_SKIP() << "built without LLVM";
  std::vector<std::string> all;
  for (const Moves& m : kMoves)
    for (const char* kind : {"ld", "st"}) {
      std::vector<std::string> at{"%r40", "%r" + step_register(m), "%r46"};
      if (m.bytes >= 4 && m.bytes < 16) at.push_back("%r45");  // 16 bytes apart
      for (const std::string& one : at)
        for (const char* guard : {"", "@%p1 "}) all.push_back(guard + access(kind, "shared", m, one));
    }
  EXPECT_EQ(left(all), std::vector<std::string>{});
  // There is no closed form of what they cost, or they cannot all be aligned.
  const std::vector<std::string> others{"ld.shared.u8 %h11, [%r42];", "st.shared.u64 [%r43], %rd11;"};
  EXPECT_EQ(left(others), others);
}

TEST(MemoryForms, OfAtomicsOnWordsOfSharedMemory) {
  if (!can_emit()) GTEST_SKIP() << "built without LLVM";
  std::vector<std::string> all;
  for (const char* op :
       {"add.u32", "min.u32", "max.u32", "min.s32", "max.s32", "and.b32", "or.b32", "xor.b32", "exch.b32"})
    for (const char* value : {"7", "%r3", "%r1", "%r2"})
      for (const char* guard : {"", "@%p1 "}) {
        all.push_back(std::string(guard) + "atom.shared." + op + " %r11, [%r46], " + value + ";");
        if (std::string(op) != "exch.b32")
          all.push_back(std::string(guard) + "red.shared." + op + " [%r46], " + value + ";");
      }
  EXPECT_EQ(left(all), std::vector<std::string>{});
}

TEST(MemoryForms, BetweenLanes) {
  if (!can_emit()) GTEST_SKIP() << "built without LLVM";
  std::vector<std::string> all;
  for (const char* mode : {"up", "down", "bfly", "idx"})
    for (const char* how : {"1, 0", "3, 31", "2, 0x181f", "7, 0x1c1f"}) {
      all.push_back("shfl.sync." + std::string(mode) + ".b32 %r11, %r2, " + how + ", -1;");
      all.push_back("shfl.sync." + std::string(mode) + ".b32 %r11|%p11, %r2, " + how + ", -1;");
    }
  for (const char* mode : {"all", "any", "uni"})
    all.push_back("vote.sync." + std::string(mode) + ".pred %p11, %p1, -1;");
  all.push_back("vote.sync.ballot.b32 %r11, %p1, -1;");
  all.push_back("activemask.b32 %r11;");
  EXPECT_EQ(left(all), std::vector<std::string>{});
  // Distances that are not known, and companions that differ, are left to the interpreter.
  const std::vector<std::string> others{"shfl.sync.idx.b32 %r11, %r2, %r3, 31, -1;",
                                        "shfl.sync.down.b32 %r11, %r2, 1, %r2, -1;",
                                        "vote.sync.any.pred %p11, %p1, %r46;"};
  EXPECT_EQ(left(others), others);
}

}  // namespace
}  // namespace coalesce::machine::test::memory_forms
