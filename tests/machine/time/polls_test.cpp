// Blocks that wait for what others write have no estimate, even where the machine's order of blocks leaves them nothing
// to wait for; loops that only look like it keep theirs.
#include <gtest/gtest.h>

#include "tests/machine/time/estimated.h"

namespace coalesce::machine {
namespace {

const std::string kRegisters =
    ".reg .b32 %r<9>; .reg .b64 %rd<5>; .reg .pred %p<3>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %ctaid.x;\n"
    "mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n";
// The word before the block's own is written, then its own.
std::string chained(const std::string& read) {
  return kRegisters + "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra mine;\nagain:\n" + read +
         "setp.eq.u32 %p2, %r2, 0;\n@%p2 bra again;\nmine:\nmembar.gl;\nmov.u32 %r3, 1;\nst.volatile.global.u32 "
         "[%rd3], %r3;\n";
}
std::string none(const std::string& body, uint32_t blocks = 16) { return run(body, blocks, 1, 4096).time.none; }

TEST(Polls, ChainedFlagsHaveNoEstimate) {
  for (const char* read : {"ld.volatile.global.u32 %r2, [%rd3+-4];\n", "ld.acquire.gpu.global.u32 %r2, [%rd3+-4];\n",
                           "atom.global.add.u32 %r2, [%rd3+-4], 0;\n", "atom.global.or.b32 %r2, [%rd3+-4], 0;\n",
                           "ld.volatile.global.u32 %r4, [%rd3+-4];\nand.b32 %r2, %r4, 1;\n"})
    EXPECT_EQ(none(chained(read)), "its blocks wait for words that others write") << read;
}

// Between two reads, the lanes pause in one of two ways, which depends on the launch; all of them agree on going on.
TEST(Polls, PausesOfTwoKindsHaveNone) {
  EXPECT_EQ(none(chained("ld.volatile.global.u32 %r2, [%rd3+-4];\nbra test;\n"
                         "again2:\nsetp.gt.u32 %p1, %r5, 4;\n@%p1 bra fence;\nnanosleep.u32 100;\nbra read;\n"
                         "fence:\nmembar.cta;\nread:\nld.volatile.global.u32 %r2, [%rd3+-4];\n"
                         "test:\nsetp.eq.u32 %p2, %r2, 0;\nvote.sync.any.pred %p1, %p2, -1;\n@%p1 bra again2;\n")),
            "its blocks wait for words that others write");
}

// One of the sides ends the kernel, whatever was read.
TEST(Polls, ASideThatEndsTheKernelIsNone) {
  EXPECT_EQ(none(kRegisters + "mov.u32 %r4, 0;\nagain:\nadd.u32 %r4, %r4, 1;\nsetp.gt.u32 %p1, %r4, 50;\n"
                              "@%p1 bra side;\nback:\nld.volatile.global.u32 %r2, [%rd1];\n"
                              "setp.eq.u32 %p2, %r2, 0;\n@%p2 bra again;\nret;\nside:\nst.global.u32 [%rd3], %r4;\n"),
            "");
}

TEST(Polls, ASpinLockHasNone) {
  EXPECT_EQ(
      none(kRegisters + "again:\natom.global.exch.b32 %r2, [%rd1], 1;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra again;\n"
                        "membar.gl;\nst.volatile.global.u32 [%rd1], 0;\n"),
      "its blocks wait for words that others write");
}

TEST(Polls, OneBlockWaitsForNoOther) { EXPECT_EQ(none(chained("ld.volatile.global.u32 %r2, [%rd3+-4];\n"), 1), ""); }

// A queue of work: each round takes another piece.
TEST(Polls, AQueueIsNone) {
  EXPECT_EQ(
      none(kRegisters + "again:\natom.global.add.u32 %r2, [%rd1], 1;\nsetp.lt.u32 %p1, %r2, 100;\n@%p1 bra again;\n"),
      "");
}

// A loop that counts, and that a flag may end early.
TEST(Polls, ALoopThatCountsIsNone) {
  EXPECT_EQ(
      none(kRegisters + "mov.u32 %r4, 0;\nagain:\nld.volatile.global.u32 %r2, [%rd1];\nsetp.ne.u32 %p1, %r2, 0;\n"
                        "@%p1 bra done;\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p2, %r4, 50;\n@%p2 bra again;\ndone:\n"),
      "");
}

// A list: the address is what was loaded.
TEST(Polls, AListIsNone) {
  EXPECT_EQ(
      none(kRegisters + "again:\nld.volatile.global.u64 %rd1, [%rd1];\nsetp.ne.u64 %p1, %rd1, 0;\n@%p1 bra again;\n"),
      "");
}

// Pointers that jump over those of others, until all point to the end (Wyllie's ranking of a list): each round depends
// on how far the others are. Where a thread's own word decides, nothing does.
TEST(Polls, RoundsThatOtherBlocksDecideHaveNone) {
  const auto jumps = [](const std::string& step) {
    const std::string body =
        ".reg .b32 %r<9>; .reg .b64 %rd<5>; .reg .pred %p<3>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %ctaid.x;\n"
        "shl.b32 %r1, %r1, 5;\nmov.u32 %r2, %tid.x;\nadd.u32 %r1, %r1, %r2;\nmul.wide.u32 %rd2, %r1, 4;\n"
        "add.s64 %rd3, %rd1, %rd2;\nadd.u32 %r3, %r1, 32;\nrem.u32 %r3, %r3, 512;\nmul.wide.u32 %rd2, %r3, 4;\n"
        "add.s64 %rd4, %rd1, %rd2;\nagain:\n" +
        step + "add.u32 %r4, %r4, 1;\nst.global.u32 [%rd3], %r4;\nsetp.lt.u32 %p1, %r4, 4;\n@%p1 bra again;\n";
    return run(body, 16, 32, 4096).time.none;
  };
  EXPECT_EQ(jumps("ld.global.u32 %r4, [%rd4];\nld.global.u32 %r5, [%rd3];\nmax.u32 %r4, %r4, %r5;\n"),
            "when its loops end depends on what other blocks store meanwhile");
  EXPECT_EQ(jumps("ld.global.u32 %r4, [%rd3];\n"), "");
}

// A loop around it does not make an access one that waits.
TEST(Polls, ARoundOfStoresIsNone) {
  EXPECT_EQ(none(kRegisters + "again:\nst.global.u32 [%rd3+4], %r1;\nld.volatile.global.u32 %r2, [%rd1+2048];\n"
                              "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra again;\n"),
            "");
}

}  // namespace
}  // namespace coalesce::machine
