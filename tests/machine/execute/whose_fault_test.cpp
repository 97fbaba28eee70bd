// Whose a fault is: its block, warp, lanes and thread, for each way to fault and each way in which warps come to it.
#include "prologue.h"

namespace coalesce::machine::test {
namespace whose_fault {
namespace {

constexpr std::array<uint32_t, 3> kGrid = {3, 2, 2}, kBlock = {8, 4, 2};
constexpr uint32_t kThreads = 64, kBlocks = 12, kFirst = 7, kLane = 5, kOther = 9;

struct How {
  const char* instruction;
  Fault fault;
  bool all;  // names all lanes that run it, not the first
};
constexpr How kHow[] = {
    {"st.global.u32 [%rd5], %r1;", Fault::illegal_address, false},
    {"ld.global.u32 %r7, [%rd5];", Fault::illegal_address, false},
    {"ld.global.v2.u16 {%h7, %h8}, [%rd5];", Fault::illegal_address, false},
    {"st.u32 [%rd5], %r1;", Fault::illegal_address, false},
    {"atom.global.add.u32 %r7, [%rd5], 1;", Fault::illegal_address, false},
    {"red.global.add.u32 [%rd5], 1;", Fault::illegal_address, false},
    {"st.global.u32 [%rd6], %r1;", Fault::misaligned_address, false},
    {"ld.global.u64 %rd7, [%rd6];", Fault::misaligned_address, false},
    {"atom.global.add.u32 %r7, [%rd6], 1;", Fault::misaligned_address, false},
    {"st.shared.u32 [%r9], %r1;", Fault::illegal_address, false},
    {"ld.shared.u32 %r7, [%r9];", Fault::illegal_address, false},
    {"st.local.u32 [%r9], %r1;", Fault::illegal_address, false},
    {"@%p1 trap;", Fault::trap, true},
};

struct Way {
  const char *name, *before, *after;
};
constexpr Way kWays[] = {
    {"whole warps", "", ""},
    {"lanes that branch", "@!%p1 bra PAST;\n", "PAST:\n"},
    {"the other side", "@!%p1 bra FAR;\nbra ON;\nFAR:\nadd.u32 %r8, %r1, 1;\nbra PAST;\nON:\n", "PAST:\n"},
    {"behind a barrier", "bar.sync 0;\n", ""},
    {"a warp that another one has waited for",
     "setp.ge.u32 %p4, %r1, 32;\n@%p4 bra SET;\nPOLL:\nld.volatile.shared.u32 %r8, [S];\nsetp.eq.u32 %p5, %r8, 0;\n"
     "@%p5 bra POLL;\nbra GO;\nSET:\nst.volatile.shared.u32 [S], 1;\nGO:\n",
     ""},
    {"lanes of a warp that have waited for each other",
     "setp.ne.u32 %p4, %r5, 7;\n@%p4 bra FREE;\nTAKE:\natom.shared.cas.b32 %r11, [S], 0, 1;\nsetp.eq.u32 %p4, %r11, "
     "0;\n@%p4 bra HAVE;\n"
     "bra TAKE;\nHAVE:\natom.shared.exch.b32 %r11, [S], 0;\nFREE:\nbar.warp.sync -1;\n",
     ""},
};

std::string text_of(const How& how, const Way& way) {
  return kernel(".param .u64 out",
                ".shared .align 4 .b32 S[4];\n.local .align 4 .b8 own[16];\nld.param.u64 %rd1, [out];\n"
                "mov.u32 %r2, %tid.x;\nmov.u32 %r3, %tid.y;\nmov.u32 %r4, %tid.z;\nmad.lo.u32 %r3, %r4, 4, %r3;\n"
                "mad.lo.u32 %r1, %r3, 8, %r2;\nmov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ctaid.y;\nmov.u32 %r4, %ctaid.z;\n"
                "mad.lo.u32 %r3, %r4, 2, %r3;\nmad.lo.u32 %r5, %r3, 3, %r2;\nmad.lo.u32 %r6, %r5, 64, %r1;\n"
                "mad.wide.u32 %rd3, %r6, 4, %rd1;\nst.local.u32 [own], %r1;\n"
                "setp.eq.u32 %p1, %r1, 37;\nsetp.eq.u32 %p2, %r1, 41;\nor.pred %p1, %p1, %p2;\n"
                "setp.ge.u32 %p3, %r5, 7;\nand.pred %p1, %p1, %p3;\nselp.u64 %rd5, 64, %rd3, %p1;\n"
                "selp.u64 %rd6, 2, 0, %p1;\nand.b64 %rd8, %rd3, -8;\nadd.u64 %rd6, %rd6, %rd8;\n"
                "and.b32 %r9, %r1, 3;\nshl.b32 %r9, %r9, 2;\nselp.u32 %r9, 1000000, %r9, %p1;\n" +
                    std::string(way.before) + how.instruction + "\n" + way.after + "st.global.u32 [%rd3], %r1;\n");
}

// Each way to fault in whole warps; of the others every fourth.
TEST(WhoseFault, IsSaidOfEachWayToFault) {
  static_assert(kBlocks == kGrid[0] * kGrid[1] * kGrid[2] && kThreads == kBlock[0] * kBlock[1] * kBlock[2]);
  Shape s;
  s.grid = kGrid;
  s.block = kBlock;
  s.in_order = true;  // a store that faults beside others of its warp: which of these come before is nobody's promise
  constexpr uint32_t kThread = 32 + kLane;
  for (const Way& way : kWays)
    for (const How& how : kHow) {
      if (&way != kWays && (&how - kHow + (&way - kWays)) % 4 != 0) continue;
      SCOPED_TRACE(std::string(way.name) + ": " + how.instruction);
      const Ran r = run(text_of(how, way), {zeros<uint64_t>(kThreads * kBlocks)}, s);
      EXPECT_EQ(r.report.fault, how.fault) << r.message();
      ASSERT_EQ(r.report.diagnostics.size(), 1u);
      const Diagnostic& d = r.report.diagnostics[0];
      EXPECT_EQ(d.block, (std::array<uint32_t, 3>{kFirst % 3, kFirst / 3 % 2, kFirst / 6}));
      EXPECT_EQ(d.warp, 1u);
      EXPECT_EQ(d.lanes, how.all ? 1u << kLane | 1u << kOther : 1u << kLane);
      EXPECT_EQ(d.thread, (std::array<uint32_t, 3>{kThread % 8, kThread / 8 % 4, kThread / 32}));
      EXPECT_THAT(d.ptx_text, testing::HasSubstr(how.instruction));
      for (uint32_t t = 0; t < kFirst * kThreads; ++t) ASSERT_EQ(r.read()[t], t % kThreads) << t;
    }
}

}  // namespace
}  // namespace whose_fault
}  // namespace coalesce::machine::test
