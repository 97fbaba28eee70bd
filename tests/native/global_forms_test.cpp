// Global memory by native code against the other executors: at an allocation's edges, not aligned, at addresses that
// wrap; accesses that are looked at once for all warps; and which sectors are touched for the first time.
#include <bit>
#include <random>
#include <string>
#include <vector>

#include "tests/native/agreement.h"

namespace coalesce::machine::test::global_forms {
namespace {

constexpr int64_t kBytes = 8192;  // of the buffer
constexpr uint32_t kThreads = 40;

struct Access {
  const char *load, *store;
  int64_t bytes;
};
constexpr Access kAccesses[] = {
    {"ld.global.u8 %r11, [%rd6]", "st.global.u8 [%rd6], %r1", 1},
    {"ld.global.u16 %r11, [%rd6]", "st.global.u16 [%rd6], %r1", 2},
    {"ld.global.u32 %r11, [%rd6]", "st.global.u32 [%rd6], %r1", 4},
    {"ld.global.v2.u32 {%r11, %r12}, [%rd6]", "st.global.v2.u32 [%rd6], {%r1, %r2}", 8},
    {"ld.global.v4.u32 {%r11, %r12, %r13, %r14}, [%rd6]", "st.global.v4.u32 [%rd6], {%r1, %r2, %r1, %r2}", 16}};

// How lanes' addresses %rd6 come from %rd5: side by side, the same found when it runs, one for all, by a sum of 32 bits
// that may wrap, by one of twice the distance, and by that sum in other ways.
enum Way { kSideBySide, kLoaded, kOne, kSum, kFarSum, kUnsigned, kTogether, kShifted, kMoved, kAcross, kWays };
std::string address(Way way, int64_t bytes) {
  const std::string n = std::to_string(bytes);
  switch (way) {
    case kSideBySide:
      return "mad.wide.u32 %rd6, %r1, " + n + ", %rd5;\n";
    case kLoaded:
      return "mad.wide.u32 %rd7, %r1, 4, %rd3;\nld.global.u32 %r5, [%rd7];\nmad.wide.u32 %rd6, %r5, " + n + ", %rd5;\n";
    case kOne:
      return "mov.u64 %rd6, %rd5;\n";
    case kSum:
      return "add.s32 %r5, %r1, %r4;\nmul.wide.s32 %rd7, %r5, " + n + ";\nadd.s64 %rd6, %rd5, %rd7;\n";
    case kFarSum:
      return "add.s32 %r5, %r1, %r4;\nmul.wide.s32 %rd7, %r5, " + std::to_string(2 * bytes) +
             ";\nadd.s64 %rd6, %rd5, %rd7;\n";
    case kUnsigned:
      return "add.s32 %r5, %r1, %r4;\nmad.wide.u32 %rd6, %r5, " + n + ", %rd5;\n";
    case kTogether:
      return "add.s32 %r5, %r1, %r4;\nmul.wide.s32 %rd7, %r5, 0;\nadd.s64 %rd8, %rd5, %rd7;\nmad.wide.s32 %rd6, %r5, " +
             n + ", %rd8;\n";
    case kShifted:
      return "add.s32 %r5, %r1, %r4;\ncvt.s64.s32 %rd7, %r5;\nshl.b64 %rd8, %rd7, " +
             std::to_string(std::countr_zero(static_cast<uint64_t>(bytes))) + ";\nadd.s64 %rd6, %rd8, %rd5;\n";
    case kMoved:
      return "add.s32 %r5, %r1, %r4;\ncvt.u64.u32 %rd7, %r5;\nmul.lo.u64 %rd8, %rd7, -" + n +
             ";\nmov.u64 %rd10, %rd8;\nsub.s64 %rd6, %rd5, %rd10;\n";
    default:
      return "add.s32 %r5, %r1, %r4;\nmul.wide.s32 %rd7, %r5, " + n + ";\nadd.s64 %rd6, %rd5, %rd7;\nbar.sync 0;\n";
  }
}

// The first of two rounds is in the middle of the buffer: native code learns which allocation it is. In the second one
// lanes are at `at`, those from `low` on below `high` but for one. Half of the threads' sum is left.
std::string two_rounds(const Access& a, Way way) {
  return kernel(
      ".param .u64 out, .param .u64 buffer, .param .u64 order, .param .s64 at, .param .u32 low, .param .u32 high, "
      ".param .u32 but, .param .u32 kind, .param .u32 number",
      ".reg .b32 %low, %high, %but, %kind;\nld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [buffer];\n"
      "ld.param.u64 %rd3, [order];\nld.param.s64 %rd4, [at];\nld.param.u32 %low, [low];\nld.param.u32 %high, [high];\n"
      "ld.param.u32 %but, [but];\nld.param.u32 %kind, [kind];\nld.param.u32 %r20, [number];\nmov.u32 %r1, %tid.x;\n"
      "mul.lo.u32 %r2, %r1, 7;\nmov.u32 %r10, 0;\nmov.u32 %r30, 0;\nROUND:\nsetp.eq.u32 %p9, %r30, 1;\n"
      "selp.b64 %rd8, %rd4, 2048, %p9;\nadd.s64 %rd5, %rd2, %rd8;\nselp.b32 %r4, %r20, 0, %p9;\n" +
          address(way, a.bytes) +
          "mov.u32 %r11, 3;\nsetp.ge.u32 %p1, %r1, %low;\nsetp.lt.u32 %p2, %r1, %high;\nsetp.ne.u32 %p3, %r1, %but;\n"
          "and.pred %p1, %p1, %p2;\nand.pred %p1, %p1, %p3;\nsetp.eq.u32 %p4, %high, -1;\nsetp.eq.u32 %p5, %kind, 1;\n"
          "@%p5 bra STORES;\n@%p4 bra ALL;\n@%p1 " +
          a.load + ";\nbra DONE;\nALL:\n" + a.load + ";\nbra DONE;\nSTORES:\n@%p4 bra STORE;\n@%p1 " + a.store +
          ";\nbra DONE;\nSTORE:\n" + a.store +
          ";\nDONE:\nmad.lo.u32 %r10, %r10, 31, %r11;\nadd.u32 %r30, %r30, 1;\nsetp.lt.u32 %p6, %r30, 2;\n"
          "@%p6 bra ROUND;\nmad.wide.u32 %rd9, %r1, 4, %rd1;\nst.global.u32 [%rd9], %r10;\n");
}

TEST(GlobalForms, AtTheEdges) {
  if (!native_code()) GTEST_SKIP() << "built without LLVM";
  constexpr uint32_t kAll = ~0u, kNone = ~0u;
  std::vector<uint32_t> order(kThreads);
  for (uint32_t t = 0; t < kThreads; ++t) order[t] = t;
  std::vector<uint8_t> numbers(kBytes);
  for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = static_cast<uint8_t>(k * 37 + k / 256);
  Shape shape;
  shape.block = {kThreads, 1, 1};
  Agreement agree;
  std::size_t which = 0;
  for (const Access& a : kAccesses)
    for (int way = 0; way < kWays; ++way) {
      // The middle of the buffer holds both the first lanes and, with twice the distance, the last ones.
      const auto program = agree.load(two_rounds(a, static_cast<Way>(way)));
      const int64_t w = a.bytes * (way == kFarSum ? 2 : 1), lanes = way == kOne ? 1 : kThreads, end = kBytes;
      struct Case {
        int64_t at;
        uint32_t low, high, but;
        int32_t number;
      };
      std::vector<Case> cases{{0, 0, kAll, kNone, 0},
                              {1, 0, kAll, kNone, 0},
                              {a.bytes / 2, 0, 30, kNone, 0},
                              {32 + a.bytes, 0, kAll, kNone, 0},
                              {16, 0, kAll, kNone, 0},
                              {end - lanes * w, 0, kAll, kNone, 0},
                              {end - lanes * w + a.bytes, 0, kAll, kNone, 0},
                              {-a.bytes, 0, kAll, kNone, 0},
                              {3 * a.bytes, 5, 31, kNone, 0},
                              {3 * a.bytes, 1, 40, 17, 0}};
      if (way != kOne) {
        cases.push_back({-5 * w, 5, 32, kNone, 0});
        cases.push_back({-5 * w, 4, 32, kNone, 0});
        cases.push_back({end - 27 * w, 0, 27, kNone, 0});
        cases.push_back({end - 26 * w, 0, 27, kNone, 0});
        cases.push_back({end - 27 * w, 2, 27, 9, 0});
      }
      if (way >= kSum) {
        const bool is_unsigned = way == kUnsigned || way == kMoved;
        for (const uint32_t number : {0x7fffffffu - 19, 0xffffffffu - 19}) {  // the 20 first lanes' sums do not wrap
          const auto as_signed = static_cast<int32_t>(number);
          const int64_t at = 4096 - (is_unsigned ? int64_t{number} : int64_t{as_signed}) * w;
          cases.push_back({at, 0, kAll, kNone, as_signed});
          cases.push_back({at, 0, 20, kNone, as_signed});
          cases.push_back({at, 0, 21, kNone, as_signed});
        }
        cases.push_back({4096 + 9 * w, 0, kAll, kNone, -9});
      }
      for (const Case& c : cases)
        for (const uint32_t kind : {0u, 1u}) {
          if (few_cases() && ++which % 2 == 0) continue;
          SCOPED_TRACE(std::string(kind ? a.store : a.load) + ", way " + std::to_string(way) + ", at " +
                       std::to_string(c.at) + ", lanes " + std::to_string(c.low) + " to " + std::to_string(c.high));
          agree(*program,
                {zeros<uint32_t>(kThreads), buffer(numbers), buffer(order), value(c.at), value(c.low), value(c.high),
                 value(c.but), value(kind), value(c.number)},
                shape);
          if (testing::Test::HasFailure()) return;
        }
    }
}

// Rows of three warps, `pitch` bytes apart from `at` on, by all of them or by none: looked at once. Rounds at places
// that are good come first. The number behind the branch counts how often a warp came by.
TEST(GlobalForms, RowsOfAllWarps) {
  if (!native_code()) GTEST_SKIP() << "built without LLVM";
  struct Row {
    int64_t at, pitch;
  };
  const std::vector<Row> good{{0, 128}, {0, 128}, {1024, 256}, {512, 512}, {0, 128}};
  std::vector<uint8_t> numbers(kBytes);
  for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = static_cast<uint8_t>(k * 11 + k / 256);
  Shape shape;
  shape.block = {32, 3, 1};
  shape.grid = {2, 1, 1};
  Agreement agree;
  for (const Access& a : kAccesses)
    for (const bool stores : {false, true}) {
      const int64_t row = 32 * a.bytes, end = kBytes;
      const auto program = agree.load(
          kernel(".param .u64 out, .param .u64 buffer, .param .u64 rows, .param .u32 n",
                 "ld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [buffer];\nld.param.u64 %rd3, [rows];\nld.param.u32 "
                 "%r4, [n];\n"
                 "mov.u32 %r3, %tid.x;\nmov.u32 %r2, %tid.y;\nmad.lo.u32 %r1, %r2, 32, %r3;\nmov.u32 %r10, 0;\n"
                 "mov.u32 %r15, 0;\nmov.u32 %r30, 0;\nROUND:\nmad.wide.u32 %rd10, %r30, 16, %rd3;\nld.global.u64 "
                 "%rd11, [%rd10];\n"
                 "ld.global.u64 %rd12, [%rd10+8];\nadd.s64 %rd11, %rd11, %rd2;\nbar.sync 0;\ncvt.u64.u32 %rd13, %r2;\n"
                 "mad.lo.u64 %rd5, %rd13, %rd12, %rd11;\nmad.wide.u32 %rd6, %r3, " +
                     std::to_string(a.bytes) + ", %rd5;\nsetp.ge.s32 %p1, %r1, %r4;\n@%p1 bra BEHIND;\n" +
                     (stores ? std::string("add.u32 %r2, %r2, 0;\n") + a.store : std::string(a.load)) +
                     ";\nmad.lo.u32 %r10, %r10, 31, %r11;\nBEHIND:\nadd.u32 %r15, %r15, 1;\nbar.sync 0;\n"
                     "add.u32 %r30, %r30, 1;\nsetp.lt.u32 %p6, %r30, 6;\n@%p6 bra ROUND;\nmov.u32 %r7, %ctaid.x;\n"
                     "mad.lo.u32 %r7, %r7, 96, %r1;\nmad.wide.u32 %rd9, %r7, 8, %rd1;\n"
                     "st.global.v2.u32 [%rd9], {%r10, %r15};\n"));
      for (const Row& last : {Row{0, row}, Row{1, row}, Row{a.bytes, row}, Row{32, row + 32}, Row{end - 3 * row, row},
                              Row{end - 3 * row + 32, row}, Row{512, -128}, Row{64, -128}, Row{0, 1}, Row{0, INT64_MIN},
                              Row{128, int64_t{1} << 62}}) {
        std::vector<int64_t> rows;
        for (const Row& r : good) rows.push_back(r.at), rows.push_back(r.pitch);
        rows.push_back(last.at), rows.push_back(last.pitch);
        for (const int32_t n : {96, 50}) {
          SCOPED_TRACE(std::string(stores ? a.store : a.load) + ", from " + std::to_string(last.at) + ", pitch " +
                       std::to_string(last.pitch) + ", n " + std::to_string(n));
          agree(*program, {zeros<uint32_t>(2 * 96 * 2), buffer(numbers), buffer(rows), value(n)}, shape);
          if (testing::Test::HasFailure()) return;
        }
      }
    }
}

// Pieces of a buffer that are visited in any order, at sectors and between them, by warps in different orders: how many
// sectors are touched is counted once for each.
TEST(GlobalForms, SectorsTouchedOnce) {
  if (!native_code()) GTEST_SKIP() << "built without LLVM";
  std::mt19937 random(5);
  Agreement agree;
  for (const Access& a : {kAccesses[0], kAccesses[2], kAccesses[4]}) {
    const auto program = agree.load(
        kernel(".param .u64 out, .param .u64 buffer, .param .u64 places, .param .u32 n",
               "ld.param.u64 %rd1, [out];\nld.param.u64 %rd2, [buffer];\nld.param.u64 %rd3, [places];\nld.param.u32 "
               "%r4, [n];\n"
               "mov.u32 %r3, %tid.x;\nand.b32 %r1, %r3, 31;\nshr.u32 %r2, %r3, 5;\nmov.u32 %r10, 0;\nmov.u32 %r30, "
               "0;\nROUND:\n"
               "mad.lo.u32 %r5, %r2, %r4, %r30;\nmad.wide.u32 %rd10, %r5, 4, %rd3;\nld.global.u32 %r6, [%rd10];\n"
               "cvt.u64.u32 %rd11, %r6;\nadd.u64 %rd11, %rd11, %rd2;\nmad.wide.u32 %rd6, %r1, " +
                   std::to_string(a.bytes) + ", %rd11;\n" + a.load +
                   ";\nmad.lo.u32 %r10, %r10, 31, %r11;\nadd.u32 %r30, %r30, 1;\nsetp.lt.u32 %p6, %r30, %r4;\n@%p6 bra "
                   "ROUND;\n"
                   "mad.wide.u32 %rd9, %r3, 4, %rd1;\nst.global.u32 [%rd9], %r10;\n"));
    constexpr uint32_t kVisits = 400, kWarps = 3, kRoom = 1 << 16;
    std::vector<uint32_t> places;
    for (uint32_t k = 0; k < kVisits * kWarps; ++k) {
      const auto step = static_cast<uint32_t>(k % 7 == 0 ? a.bytes : 32);
      places.push_back(static_cast<uint32_t>(random()) % ((kRoom - 512) / step) * step);
      if (k % 3 == 1) places.back() = places[k - 1];  // again
      if (k % 5 == 2) places.back() = std::min(places[k - 1] + 32u * static_cast<uint32_t>(a.bytes), kRoom - 512);
    }
    Shape shape;
    shape.block = {32 * kWarps, 1, 1};
    shape.grid = {3, 1, 1};
    const Ran r = agree(*program, {zeros<uint32_t>(96), zeros<uint8_t>(kRoom), buffer(places), value(kVisits)}, shape);
    EXPECT_EQ(r.report.fault, Fault::none) << r.message();
  }
}

}  // namespace
}  // namespace coalesce::machine::test::global_forms
