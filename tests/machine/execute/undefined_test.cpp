// `check` beside the executor: a value that nothing has written, in one lane, is found where that lane uses it, in
// whatever way the block's warps run; and not where other lanes do, or nobody.
#include <map>

#include "prologue.h"

namespace coalesce::machine::test {
namespace undefined_uses {
namespace {

struct Use {
  const char *name, *text;
  bool uses;
};
// %r5: the value, 0 or 1 where it is known; %p1: it is not.
constexpr Use kUses[] = {
    {"a branch", "setp.eq.u32 %p2, %r5, 0;\n@%p2 bra E;\nadd.u32 %r10, %r10, 1;\nE:\n", true},
    {"a branch with two sides",
     "setp.ne.u32 %p2, %r5, 0;\n@!%p2 bra TWO;\nadd.u32 %r10, %r10, 1;\nbra E;\nTWO:\nadd.u32 %r10, %r10, 2;\nE:\n",
     true},
    {"a branch around what has an order", "setp.eq.u32 %p2, %r5, 0;\n@%p2 bra E;\nmov.u32 %r6, %clock;\nE:\n", true},
    {"a table", "T: .branchtargets X, Y;\nbrx.idx %r5, T;\nX:\nadd.u32 %r10, %r10, 1;\nY:\nadd.u32 %r10, %r10, 1;\n",
     true},
    {"a branch inside an if",
     "setp.gt.u32 %p3, %r1, 1;\n@!%p3 bra E;\nsetp.eq.u32 %p2, %r5, 0;\n@%p2 bra E;\nadd.u32 %r10, %r10, 1;\nE:\n",
     true},
    {"a loop's end", "L:\nadd.u32 %r10, %r10, 1;\nadd.u32 %r5, %r5, 1;\nsetp.lt.u32 %p2, %r5, 3;\n@%p2 bra L;\n", true},
    {"a guard", "setp.eq.u32 %p2, %r5, 0;\n@%p2 add.u32 %r10, %r10, 1;\n", true},
    {"what is stored", "add.u32 %r10, %r10, %r5;\n", true},
    {"an address", "mov.u32 %r6, S;\nmad.lo.u32 %r6, %r5, 4, %r6;\nld.shared.u32 %r6, [%r6];\n", true},
    {"an atomic", "red.shared.add.u32 [%r4], %r5;\n", true},
    {"nothing", "add.u32 %r6, %r5, 1;\n", false},
    {"a product with zero", "mul.lo.u32 %r6, %r5, 0;\nadd.u32 %r10, %r10, %r6;\n", false},
    {"bits that are cut off", "and.b32 %r6, %r5, 0;\nadd.u32 %r10, %r10, %r6;\n", false},
    {"others only", "@%p1 bra E;\nadd.u32 %r10, %r10, %r5;\nE:\n", false},
    {"before it is written again", "mov.u32 %r5, 1;\nadd.u32 %r10, %r10, %r5;\n", false},
};

// Lanes of the diagnoses, by warps.
std::map<uint32_t, uint32_t> found_lanes(const std::string& text, uint32_t count, bool* other) {
  Machine m(*find_device("h200"), {.threads = 1, .progress = {}, .output = {}, .check = true});
  const uint64_t out = m.memory().allocate(4 * count, Origin::device, "cudaMalloc")->base;
  m.wrote(out, 4 * count);
  const LaunchReport r =
      m.launch(*m.load(text, "test.ptx"), "k", {{1, 1, 1}, {count, 1, 1}, 0, false, value(out).bytes});
  EXPECT_EQ(r.fault, Fault::none);
  std::map<uint32_t, uint32_t> lanes;
  for (const Diagnostic& d : r.diagnostics) {
    *other = *other || d.hazard != Hazard::uninitialised;
    lanes[d.warp] |= d.lanes;
  }
  return lanes;
}

TEST(UndefinedUses, AreFoundInEveryMode) {
  for (const Use& use : kUses)
    for (const uint32_t who : {3u, 31u, 32u, 70u, 99u})
      for (const bool apart : {false, true}) {
        const std::string number = std::to_string(who);
        // `apart`: a barrier of its own makes each warp run by itself from there on.
        const std::string text = kernel(
            ".param .u64 out", ".shared .align 4 .b32 S[128];\n.shared .align 4 .b32 A;\n" + kPrologue +
                                   "mov.u32 %r10, 0;\nmov.u32 %r3, S;\nmov.u32 %r4, A;\nmad.lo.u32 %r3, %r1, 4, %r3;\n"
                                   "setp.eq.u32 %p1, %r1, " +
                                   number +
                                   ";\nand.b32 %r7, %r1, 1;\n@!%p1 st.shared.u32 [%r3], %r7;\n"
                                   "setp.ne.u32 %p4, %r1, 0;\n@!%p4 st.shared.u32 [%r4], 0;\nbar.sync 0;\n" +
                                   (apart ? "setp.lt.u32 %p5, %r1, 64;\n@%p5 bra ONE;\nbar.sync 1, 64;\nONE:\n" : "") +
                                   "ld.shared.u32 %r5, [%r3];\n" + use.text + kStore);
        bool other = false;
        const auto lanes = found_lanes(text, 100, &other);
        const std::string what = std::string(use.name) + ", thread " + number + (apart ? ", apart" : "");
        EXPECT_FALSE(other) << what;
        if (use.uses)
          EXPECT_EQ(lanes, (std::map<uint32_t, uint32_t>{{who / 32, 1u << who % 32}})) << what;
        else
          EXPECT_TRUE(lanes.empty()) << what;
      }
}

}  // namespace
}  // namespace undefined_uses
}  // namespace coalesce::machine::test
