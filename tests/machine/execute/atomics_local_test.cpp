// Atomics on local memory.
#include <array>
#include <string>
#include <string_view>

#include "harness.h"

namespace coalesce::machine::test {

namespace {

// At generic addresses of local memory an H100 changes each thread's own word. Thread t has 1000 + 102 t there, and the
// operands 5 + t (the last one the word itself) and 77.
TEST(AtomicOperations, LocalMemoryAsOnAnH100) {
  struct Row {
    const char* operation;  // from %r3 (%rd3) to %r2 (%rd2)
    std::array<uint64_t, 4> before, after;
  };
  const std::array<uint64_t, 4> words = {1000, 1102, 1204, 1306}, sums = {1005, 1108, 1211, 2612}, none{};
  for (const Row& row : {Row{"atom.add.u32 %r2, [%rd1], %r3;", words, sums},
                         {"atom.cas.b32 %r2, [%rd1], %r3, 77;", words, {1000, 1102, 1204, 77}},
                         {"atom.exch.b32 %r2, [%rd1], %r3;", words, {5, 6, 7, 1306}},
                         {"red.add.u32 [%rd1], %r3;", none, sums},
                         {"atom.max.s32 %r2, [%rd1], %r3;", words, words},
                         {"atom.inc.u32 %r2, [%rd1], %r3;", words, none},
                         {"atom.dec.u32 %r2, [%rd1], %r3;", words, {5, 6, 7, 1305}},
                         {"red.or.b32 [%rd1], %r3;", none, {1005, 1102, 1207, 1306}},
                         {"atom.and.b32 %r2, [%rd1], %r3;", words, {0, 6, 4, 1306}},
                         {"atom.add.u64 %rd2, [%rd1], %rd3;", words, sums},
                         {"atom.cas.b64 %rd2, [%rd1], %rd3, 77;", words, {1000, 1102, 1204, 77}},
                         {"atom.add.acq_rel.sys.u32 %r2, [%rd1], %r3;", words, sums}}) {
    SCOPED_TRACE(row.operation);
    const bool wide = std::string_view(row.operation).find("%rd3") != std::string_view::npos;
    const Ran r =
        run(kernel(".param .u64 out",
                   ".local .align 8 .b8 own[8];\nld.param.u64 %rd4, [out];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 "
                   "%rd5, %r1, 102;\nadd.u64 %rd5, %rd5, 1000;\nmov.u64 %rd6, own;\nst.local.u64 [%rd6], "
                   "%rd5;\ncvta.local.u64 %rd1, %rd6;\nadd.u32 %r3, %r1, 5;\nsetp.eq.u32 %p1, %r1, "
                   "3;\n@%p1 mov.u32 %r3, 1306;\ncvt.u64.u32 %rd3, %r3;\nmov.u32 %r2, 0;\nmov.u64 %rd2, 0;\n" +
                       std::string(row.operation) + (wide ? "" : "\ncvt.u64.u32 %rd2, %r2;") +
                       "\nld.local.u64 %rd5, [%rd6];\nmad.wide.u32 %rd4, %r1, 16, %rd4;\nst.global.v2.u64 "
                       "[%rd4], {%rd2, %rd5};\n"),
            {zeros<uint64_t>(8)}, {{1, 1, 1}, {4, 1, 1}});
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    const auto out = r.read<uint64_t>();
    for (uint32_t t = 0; t < 4; ++t) {
      EXPECT_EQ(out[2 * t], row.before[t]) << t;
      EXPECT_EQ(out[2 * t + 1], row.after[t]) << t;
    }
  }
}

}  // namespace

}  // namespace coalesce::machine::test
