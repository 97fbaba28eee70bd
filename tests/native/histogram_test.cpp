// Atomics on a histogram in shared memory, on which native code has lanes of whole warps follow one another in line
// (native/generate/atomics.cpp) and counts their wavefronts sixteen at a time. What the bins' numbers are bounded by
// says whether the loads beside them may be looked at once for all warps (ahead.cpp): a mask, a shift, a remainder; or
// nothing.
#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "tests/machine/execute/harness.h"
#include "tests/sanitized.h"

namespace coalesce::machine::test {
namespace {

constexpr uint32_t kBins = 64, kGrid = 3, kPerBlock = 160, kTurns = 7;

struct Bin {
  std::string ptx;  // from %r10, what was loaded, to %r11, a number of bytes
  std::function<uint32_t(uint32_t)> of;
};
const Bin kBin[] = {{"shl.b32 %r11, %r10, 2;\nand.b32 %r11, %r11, 252;\n", [](uint32_t v) { return v % 64; }},
                    {"shr.u32 %r11, %r10, 26;\nshl.b32 %r11, %r11, 2;\n", [](uint32_t v) { return v >> 26; }},
                    {"rem.u32 %r11, %r10, 61;\nmul.lo.u32 %r11, %r11, 4;\n", [](uint32_t v) { return v % 61; }},
                    {"and.b32 %r11, %r10, 1984;\ndiv.u32 %r11, %r11, 64;\nshl.b32 %r11, %r11, 2;\n",
                     [](uint32_t v) { return v / 64 % 32; }},
                    {"and.b32 %r11, %r10, 0;\nadd.u32 %r11, %r11, 28;\n", [](uint32_t) { return 7u; }}};

struct Change {
  std::string name;
  std::function<uint32_t(uint32_t, uint32_t)> of;
};
const Change kChanges[] = {
    {"add.u32", [](uint32_t a, uint32_t b) { return a + b; }},
    {"add.s32", [](uint32_t a, uint32_t b) { return a + b; }},
    {"min.u32", [](uint32_t a, uint32_t b) { return std::min(a, b); }},
    {"max.u32", [](uint32_t a, uint32_t b) { return std::max(a, b); }},
    {"min.s32", [](uint32_t a, uint32_t b) { return static_cast<int32_t>(a) < static_cast<int32_t>(b) ? a : b; }},
    {"max.s32", [](uint32_t a, uint32_t b) { return static_cast<int32_t>(a) < static_cast<int32_t>(b) ? b : a; }},
    {"and.b32", [](uint32_t a, uint32_t b) { return a & b; }},
    {"or.b32", [](uint32_t a, uint32_t b) { return a | b; }},
    {"xor.b32", [](uint32_t a, uint32_t b) { return a ^ b; }},
    {"exch.b32", [](uint32_t, uint32_t b) { return b; }},
};

// Each block: bins begin with their number, then all its threads' numbers of each round, times 7 or as they are, change
// one. A thread's old values come to a sum of their own, if they are asked for.
std::string histogram(const Bin& bin, const std::string& change, bool old, bool same) {
  const std::string operand = same ? "12345" : "%r13";
  return kernel(
      ".param .u64 out, .param .u64 in",
      ".shared .align 4 .b8 bins[256];\nld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [in];\nmov.u32 %r1, %tid.x;\n"
      "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, bins;\nsetp.ge.u32 %p1, %r1, 64;\n@%p1 bra FILLED;\nshl.b32 %r4, %r1, 2;\n"
      "add.u32 %r4, %r4, %r3;\nst.shared.u32 [%r4], %r1;\nFILLED:\nbar.sync 0;\nmov.u32 %r20, 0;\nmov.u32 %r5, 0;\n"
      "LOOP:\nmad.lo.u32 %r6, %r2, " +
          std::to_string(kTurns) + ", %r5;\nmad.lo.u32 %r6, %r6, " + std::to_string(kPerBlock) +
          ", %r1;\nmul.wide.u32 %rd3, %r6, 4;\nadd.s64 %rd3, %rd2, %rd3;\nld.global.u32 %r10, [%rd3];\n" + bin.ptx +
          "add.u32 %r11, %r11, %r3;\nmul.lo.u32 %r13, %r10, 7;\n" +
          (old ? "atom.shared." + change + " %r12, [%r11], " + operand + ";\nmad.lo.u32 %r20, %r20, 3, %r12;\n"
           : change == "exch.b32" ? "atom.shared." + change + " %r12, [%r11], " + operand + ";\n"
                                  : "red.shared." + change + " [%r11], " + operand + ";\n") +
          "add.u32 %r5, %r5, 1;\nsetp.lt.u32 %p2, %r5, " + std::to_string(kTurns) +
          ";\n@%p2 bra LOOP;\nbar.sync 0;\nand.b32 %r7, %r1, 63;\nshl.b32 %r7, %r7, 2;\nadd.u32 %r7, %r7, %r3;\n"
          "ld.shared.u32 %r8, [%r7];\nadd.u32 %r20, %r20, %r8;\nmad.lo.u32 %r9, %r2, " +
          std::to_string(kPerBlock) +
          ", %r1;\nmul.wide.u32 %rd4, %r9, 4;\nadd.s64 %rd4, %rd1, %rd4;\nst.global.u32 [%rd4], %r20;\n");
}

TEST(Histogram, EveryChangeOfEveryBin) {
  std::vector<uint32_t> in(kGrid * kTurns * kPerBlock);
  for (uint32_t i = 0; i < in.size(); ++i) in[i] = i * 2654435761u ^ i >> 3;
  Shape s;
  s.grid = {kGrid, 1, 1};
  s.block = {kPerBlock, 1, 1};
  uint32_t turn = 0;
  for (const Bin& bin : kBin)
    for (const Change& change : kChanges)
      for (const bool old : {false, true})
        for (const bool same : {false, true}) {
          if (turn++ % (few_cases() ? 29 : 7) != 0) continue;  // each change, bin and way comes with some others
          SCOPED_TRACE(change.name + (old ? ", old values" : "") + (same ? ", one operand" : "") + "\n" + bin.ptx);
          std::vector<uint32_t> expected;
          uint64_t wavefronts = 0;
          for (uint32_t b = 0; b < kGrid; ++b) {
            std::array<uint32_t, kBins> bins{};
            for (uint32_t k = 0; k < kBins; ++k) bins[k] = k;
            std::array<uint32_t, kPerBlock> sums{};
            for (uint32_t round = 0; round < kTurns; ++round)
              for (uint32_t w = 0; w < kPerBlock; w += 32) {
                std::array<uint32_t, 32> on_bank{};
                for (uint32_t t = w; t < w + 32; ++t) {
                  const uint32_t v = in[(b * kTurns + round) * kPerBlock + t];
                  uint32_t& word = bins[bin.of(v)];
                  ++on_bank[bin.of(v) % 32];
                  if (old) sums[t] = sums[t] * 3 + word;
                  word = change.of(word, same ? 12345 : v * 7);
                }
                wavefronts += *std::ranges::max_element(on_bank);
              }
            for (uint32_t t = 0; t < kPerBlock; ++t) expected.push_back(sums[t] + bins[t % kBins]);
          }
          s.in_order = true;  // old values, and operations that do not commute
          const Ran r = run(histogram(bin, change.name, old, same), {zeros<uint32_t>(expected.size()), buffer(in)}, s);
          ASSERT_EQ(r.report.fault, Fault::none) << r.message();
          ASSERT_EQ(r.read(), expected);
          ASSERT_EQ(r.counters().shared_atomic_wavefronts, wavefronts);
        }
}

}  // namespace
}  // namespace coalesce::machine::test
