// Messages of invalid loads and stores: which bytes, of which memory, by which lanes, where.
#include <tuple>

#include "harness.h"

namespace coalesce::machine::test {

namespace {

// Lane l reads in[l * scale + offset bytes]; 32 elements of 4 bytes are there. Line 17 of the text is the load.
constexpr uint32_t kFaultLine = 17;
std::string faulty(const std::string& operation, const std::string& scale, const std::string& offset) {
  return kernel(".param .u64 in", "ld.param.u64 %rd1, [in];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, " + scale +
                                      ";\nadd.s64 %rd3, %rd1, %rd2;\nadd.s64 %rd4, %rd3, " + offset + ";\n" +
                                      operation);
}
const std::string kLoad = "ld.global.u32 %r2, [%rd4];\n";

const Diagnostic& only(const Ran& r) {
  EXPECT_EQ(r.report.diagnostics.size(), 1u);
  return r.report.diagnostics.at(0);
}

TEST(MemoryFaults, PastTheEnd) {
  const Ran r = run(faulty(kLoad, "4", "12"), {zeros<uint32_t>(32)});
  EXPECT_EQ(r.report.fault, Fault::illegal_address);
  const Diagnostic& d = only(r);
  EXPECT_EQ(d.fault, Fault::illegal_address);
  EXPECT_THAT(d.message, testing::HasSubstr("load of 4 bytes at 0x"));
  EXPECT_THAT(d.message, testing::HasSubstr("0 bytes past the end of allocation #"));
  EXPECT_THAT(d.message, testing::HasSubstr("cudaMalloc"));
  EXPECT_THAT(d.message, testing::HasSubstr("128 bytes"));
  EXPECT_EQ(d.ptx_line, kFaultLine);
  EXPECT_EQ(d.kernel, "k");
  EXPECT_EQ(d.lanes, 1u << 29);
  EXPECT_EQ(d.thread, (std::array<uint32_t, 3>{29, 0, 0}));
  EXPECT_EQ(d.warp, 0u);
  EXPECT_EQ(d.block, (std::array<uint32_t, 3>{0, 0, 0}));
}

// Warp 1 faults at the load, warp 0 later, where its second block of code would store: warps run one after the other,
// so that is the block's first fault, and what warp 0 has added by then it has added once.
TEST(MemoryFaults, TheFirstWarpsLaterFaultComesFirst) {
  const Ran r = run(kernel(".param .u64 in",
                           "ld.param.u64 %rd1, [in];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %r1;\nbar.sync 0;\n"
                           "add.u32 %r2, %r2, 1;\nshr.u32 %r3, %r1, 5;\nmul.wide.u32 %rd2, %r3, 1048576;\n"
                           "add.s64 %rd3, %rd1, %rd2;\nld.global.u32 %r4, [%rd3];\nadd.u32 %r5, %r1, 1;\n"
                           "setp.ne.u32 %p1, %r2, %r5;\n@%p1 bra END;\nst.global.u32 [%rd3+2097152], %r4;\nEND:\n"),
                    {zeros<uint32_t>(32)}, {.block = {64, 1, 1}});
  EXPECT_EQ(r.report.fault, Fault::illegal_address);
  EXPECT_EQ(only(r).warp, 0u);
  EXPECT_THAT(only(r).ptx_text, testing::HasSubstr("st.global.u32 [%rd3+2097152]"));
}

// check: warps that run side by side branch on shared memory that nothing has written.
TEST(MemoryFaults, ABranchOnWhatNothingHasWritten) {
  for (const bool written : {false, true}) {
    Machine m(*find_device("h200"), {.threads = 1, .progress = {}, .output = {}, .check = true});
    const auto program = m.load(
        kernel("",
               ".shared .align 4 .b32 s[64];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, s;\nmad.lo.u32 %r3, %r1, 4, %r2;\n" +
                   std::string(written ? "st.shared.u32 [%r3], %r1;\n" : "") +
                   "ld.shared.u32 %r4, [%r3];\nsetp.eq.u32 %p1, %r4, 5;\n@%p1 bra ON;\nadd.u32 %r5, %r1, 1;\n"
                   "st.shared.u32 [%r3], %r5;\nON:\n"),
        "test.ptx");
    LaunchConfig config;
    config.block = {64, 1, 1};
    const LaunchReport report = m.launch(*program, "k", config);
    const bool named = std::ranges::any_of(report.diagnostics, [](const Diagnostic& d) {
      return d.ptx_text.find("bra ON") != std::string::npos || render(d, false).find("bra ON") != std::string::npos;
    });
    EXPECT_EQ(named, !written) << (report.diagnostics.empty() ? "" : render(report.diagnostics[0], false));
  }
}

// A kernel without shared memory: its first word is behind the end, and the one before it is before the beginning.
TEST(MemoryFaults, OfNoSharedMemory) {
  for (const auto& [address, words] :
       {std::pair{"0", "0 bytes of shared memory (by 4)"}, {"-4", "0 bytes of shared memory, 4 before its start"}}) {
    const Ran r = run(kernel("", "mov.u32 %r1, " + std::string(address) + ";\nst.shared.u32 [%r1], 1;\n"), {});
    EXPECT_EQ(r.report.fault, Fault::illegal_address);
    EXPECT_THAT(only(r).message, testing::HasSubstr(words));
  }
}

TEST(MemoryFaults, FarPastTheEndAndStrided) {
  const Ran r = run(faulty(kLoad, "8", "0"), {zeros<uint32_t>(32)});
  EXPECT_THAT(only(r).message, testing::HasSubstr("0 bytes past the end of"));
  EXPECT_EQ(only(r).lanes, 1u << 16);
  const Ran far = run(faulty(kLoad, "4", "1128"), {zeros<uint32_t>(32)});
  EXPECT_THAT(only(far).message, testing::HasSubstr("1000 bytes past the end of allocation #"));
  EXPECT_EQ(only(far).lanes, 1u);
}

TEST(MemoryFaults, BeforeTheStart) {
  const Ran r = run(faulty("st.global.u32 [%rd4], %r1;\n", "4", "-8"), {zeros<uint32_t>(32)});
  EXPECT_EQ(r.report.fault, Fault::illegal_address);
  EXPECT_THAT(only(r).message, testing::HasSubstr("store of 4 bytes at 0x"));
  EXPECT_THAT(only(r).message, testing::HasSubstr("8 bytes before the start of allocation #"));
  EXPECT_EQ(only(r).lanes, 1u);
}

TEST(MemoryFaults, HalfInAndHalfOut) {
  const Ran r = run(faulty("ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd4];\n", "16", "0"), {zeros<uint8_t>(24)});
  EXPECT_THAT(only(r).message, testing::HasSubstr("load of 16 bytes"));
  EXPECT_THAT(only(r).message, testing::HasSubstr("reaches 8 bytes past the end of"));
  EXPECT_EQ(only(r).lanes, 2u);
}

TEST(MemoryFaults, Misaligned) {
  for (const auto& [operation, bytes, offset] : {std::tuple{"ld.global.u32 %r2, [%rd4];\n", "4", "2"},
                                                 {"ld.global.u16 %h1, [%rd4];\n", "2", "1"},
                                                 {"st.global.u64 [%rd4], %rd1;\n", "8", "4"},
                                                 {"ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd4];\n", "16", "8"},
                                                 {"ld.global.v2.u16 {%h1, %h2}, [%rd4];\n", "4", "2"},
                                                 {"ld.u32 %r2, [%rd4];\n", "4", "1"}}) {
    SCOPED_TRACE(operation);
    const Ran r = run(faulty(operation, "16", offset), {zeros<uint8_t>(1024)});
    EXPECT_EQ(r.report.fault, Fault::misaligned_address);
    EXPECT_THAT(only(r).message, testing::HasSubstr(std::string("not a multiple of ") + bytes));
    EXPECT_EQ(only(r).ptx_line, kFaultLine);
    EXPECT_EQ(only(r).lanes, 1u);
  }
}

TEST(MemoryFaults, NullPointer) {
  for (const char* scale : {"0", "4", "12"}) {
    const Ran r = run(faulty(kLoad, scale, "0"), {value<uint64_t>(0)});
    EXPECT_EQ(r.report.fault, Fault::illegal_address);
    EXPECT_THAT(only(r).message, testing::HasSubstr("null pointer"));
  }
  const Ran member = run(faulty(kLoad, "0", "16"), {value<uint64_t>(0)});
  EXPECT_THAT(only(member).message, testing::HasSubstr("null pointer + 16"));
}

// p[lane - 8] of a null pointer goes round the end of the address space; lanes elsewhere may be right.
TEST(MemoryFaults, BeforeNull) {
  const Ran all = run(faulty(kLoad, "4", "-32"), {value<uint64_t>(0)});
  EXPECT_EQ(all.report.fault, Fault::illegal_address);
  for (const char* operation : {"ld.global.u32 %r3, [%rd6];\n", "ld.u32 %r3, [%rd6];\n", "st.global.u32 [%rd6], %r1;\n",
                                "atom.global.add.u32 %r3, [%rd6], 1;\nst.global.u32 [%rd3], %r3;\n"}) {
    SCOPED_TRACE(operation);
    // The second block goes where the first was right to go, but from null.
    const Ran second =
        run(kernel(".param .u64 in",
                   "ld.param.u64 %rd1, [in];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmul.wide.u32 "
                   "%rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nsub.s64 %rd4, %rd2, 64;\nsetp.eq.u32 %p1, "
                   "%r2, 0;\nselp.b64 %rd6, %rd3, %rd4, %p1;\n" +
                       std::string(operation)),
            {zeros<uint32_t>(32)}, {{2, 1, 1}, {32, 1, 1}});
    EXPECT_EQ(second.report.fault, Fault::illegal_address);
    EXPECT_EQ(only(second).block[0], 1u);
    EXPECT_EQ(only(second).lanes, 1u);
    // Lane 5 alone goes 4 bytes before null.
    const Ran one = run(kernel(".param .u64 in",
                               "ld.param.u64 %rd1, [in];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 "
                               "%rd3, %rd1, %rd2;\nsetp.eq.u32 %p1, %r1, 5;\nselp.b64 %rd6, -4, %rd3, %p1;\n" +
                                   std::string(operation)),
                        {zeros<uint32_t>(32)});
    EXPECT_EQ(one.report.fault, Fault::illegal_address);
    EXPECT_EQ(only(one).lanes, 1u << 5);
  }
}

TEST(MemoryFaults, BeforeNullForAllLanes) {
  const Ran r = run(kernel(".param .u64 in, .param .u64 by",
                           "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [by];\nmov.u32 %r3, 0;\nLOOP:\n"
                           "ld.global.u32 %r2, [%rd1];\nadd.s64 %rd1, %rd2, -4;\nadd.u32 %r3, %r3, "
                           "1;\nsetp.lt.u32 %p1, %r3, 2;\n@%p1 bra LOOP;\n"),
                    {zeros<uint32_t>(1), value<uint64_t>(0)});
  EXPECT_EQ(r.report.fault, Fault::illegal_address);
  EXPECT_EQ(only(r).ptx_line, 16u);
}

TEST(MemoryFaults, UseAfterFree) {
  Bench bench(1);
  const uint64_t at = bench.machine().memory().allocate(4096, Origin::device, "cudaMalloc")->base;
  bench.machine().memory().release(at);
  const Ran r = bench.run(faulty(kLoad, "4", "256"), {value(at)}, {}, "k");
  EXPECT_EQ(r.report.fault, Fault::illegal_address);
  EXPECT_THAT(only(r).message, testing::HasSubstr("256 bytes into allocation #"));
  EXPECT_THAT(only(r).message, testing::HasSubstr("freed"));
}

TEST(MemoryFaults, SharedOutOfBoundsAndMisaligned) {
  const auto body = [](const std::string& operation) {
    return kernel("",
                  ".shared .align 8 .b8 s[128];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, s;\nmad.lo.u32 %r3, %r1, 4, "
                  "%r2;\n" +
                      operation);
  };
  const Ran past = run(body("st.shared.u32 [%r3+8], %r1;\n"), {});
  EXPECT_EQ(past.report.fault, Fault::illegal_address);
  EXPECT_THAT(only(past).message, testing::HasSubstr("128 bytes of shared memory"));
  EXPECT_EQ(only(past).lanes, 1u << 30);
  const Ran before = run(body("ld.shared.u32 %r4, [%r3+-4];\n"), {});
  EXPECT_EQ(before.report.fault, Fault::illegal_address);
  EXPECT_THAT(only(before).message, testing::HasSubstr("128 bytes of shared memory, 4 before its start"));
  EXPECT_EQ(only(before).lanes, 1u);
  const Ran odd = run(body("ld.shared.u64 %rd1, [%r3];\n"), {});
  EXPECT_EQ(odd.report.fault, Fault::misaligned_address);
  EXPECT_EQ(only(odd).lanes, 2u);
}

// The block, warp and thread are those of the first lane that goes wrong; blocks before it have run.
// Addresses of 32 bits, which are no place in global memory: of lanes anywhere, side by side, and in one place.
TEST(MemoryFaults, GlobalAddressesOf32Bits) {
  for (const char* const address : {"mul.lo.u32 %r3, %r1, %r1;\nshl.b32 %r3, %r3, 4;\n", "shl.b32 %r3, %r1, 2;\n",
                                    "shl.b32 %r3, %r1, 3;\n", "mov.u32 %r3, 4096;\n"})
    for (const char* const access : {"ld.global.u32 %r2, [%r3+4096];\n", "st.global.u32 [%r3+4096], %r1;\n"}) {
      const Ran r = run(kernel(".param .u64 out", "mov.u32 %r1, %tid.x;\n" + std::string(address) + access +
                                                      "ld.param.u64 %rd1, [out];\nst.global.u32 [%rd1], %r2;\n"),
                        {zeros<uint32_t>(1)});
      EXPECT_EQ(r.report.fault, Fault::illegal_address) << address << access;
    }
}

// cp.async copies from global memory: a generic address of shared memory is none, whatever part of it is asked for.
TEST(MemoryFaults, AsynchronousCopiesOfSharedMemory) {
  for (const char* const bytes : {"", ", 16", ", 3"}) {
    const Ran r = run(kernel(".param .u64 out",
                             ".shared .align 16 .b8 s[64];\nmov.u32 %r2, s;\nmov.u64 %rd2, s;\ncvta.shared.u64 %rd3, "
                             "%rd2;\ncp.async.ca.shared.global [%r2+16], [%rd3], 16" +
                                 std::string(bytes) + ";\ncp.async.wait_all;\n"),
                      {zeros<uint32_t>(1)});
    EXPECT_EQ(r.report.fault, Fault::illegal_address) << bytes << r.message();
  }
}

TEST(MemoryFaults, NamesBlockWarpAndThread) {
  const Ran r =
      run(kernel(".param .u64 out",
                 "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nmov.u32 %r3, "
                 "%ctaid.x;\nmad.lo.u32 %r4, %r2, 16, %r1;\nmad.lo.u32 %r4, %r3, 64, %r4;\nmad.wide.u32 %rd2, "
                 "%r4, 4, %rd1;\nst.global.u32 [%rd2], %r4;\n"),
          {zeros<uint32_t>(3 * 64 + 37)}, {{5, 1, 1}, {16, 4, 1}});
  EXPECT_EQ(r.report.fault, Fault::illegal_address);
  const Diagnostic& d = only(r);
  EXPECT_EQ(d.block, (std::array<uint32_t, 3>{3, 0, 0}));
  EXPECT_EQ(d.warp, 1u);
  EXPECT_EQ(d.lanes, 1u << 5);
  EXPECT_EQ(d.thread, (std::array<uint32_t, 3>{5, 2, 0}));
  for (uint32_t i = 0; i < 3 * 64; ++i) EXPECT_EQ(r.read()[i], i);
}

// Addresses no program should have: every one a fault with words, none a crash.
TEST(MemoryFaults, WildAddresses) {
  const std::string edge = std::to_string(kSharedWindow), functions = std::to_string(kFunctionWindow);
  for (const std::string& operation :
       {std::string("ld.global.u32 %r9, [18446744073709551612];\n"), std::string("ld.shared.u32 %r9, [4294967292];\n"),
        std::string("ld.shared.u32 %r9, [%rd9+-4];\n"), std::string("ld.local.u32 %r9, [%rd9+-4];\n"),
        "mov.u64 %rd9, " + edge + ";\nld.u32 %r9, [%rd9+-4];\n", "mov.u64 %rd9, " + edge + ";\nld.u32 %r9, [%rd9+8];\n",
        "mov.u64 %rd9, " + edge + ";\nld.global.u32 %r9, [%rd9];\n",
        "mov.u64 %rd9, " + functions + ";\nld.u32 %r9, [%rd9];\n",
        "mov.u64 %rd9, " + functions + ";\nst.u32 [%rd9], 1;\n",
        "mov.u64 %rd9, " + functions + ";\natom.add.u32 %r9, [%rd9], 1;\n",
        std::string("mov.u64 %rd9, -8;\nld.const.u32 %r9, [%rd9];\n")}) {
    SCOPED_TRACE(operation);
    const Ran r = run(kernel(".param .u64 out",
                             ".local .align 4 .b8 own[8];\n.shared .align 4 .b8 s[8];\nmov.u64 %rd9, "
                             "0;\n" +
                                 operation + "st.shared.u32 [s], %r9;\n"),
                      {zeros<uint32_t>(1)});
    EXPECT_EQ(r.report.fault, Fault::illegal_address);
    EXPECT_THAT(only(r).message, testing::HasSubstr("4 bytes at 0x"));
  }
}

TEST(MemoryFaults, SourcePlace) {
  const std::string ptx = module(
      ".visible .entry k(.param .u64 in)\n{\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n.loc 1 41 3\nld.param.u64 %rd1, "
      "[in];\n.loc 1 42 7\nld.global.u32 %r1, [%rd1+512];\n.loc 1 43 1\nret;\n}\n.file 1 \"dir/sum.cu\"\n");
  const Ran r = run(ptx, {zeros<uint32_t>(32)});
  const Diagnostic& d = only(r);
  EXPECT_THAT(d.place.file, testing::EndsWith("dir/sum.cu"));
  EXPECT_EQ(d.place.line, 42u);
  EXPECT_EQ(d.place.column, 7u);
  EXPECT_EQ(d.ptx_line, 11u);
}

// The places to which code was inlined, the nearest first; a chain ends after 64 of them.
TEST(MemoryFaults, ChainsOfInlinedPlaces) {
  for (const uint32_t depth : {1u, 3u, 64u, 70u}) {
    std::string ptx =
        ".visible .entry k(.param .u64 in)\n{\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n.loc 1 1000 1\n"
        "ld.param.u64 %rd1, [in];\n";
    for (uint32_t d = 0; d < depth; ++d)  // the code at line 1001 + d was inlined at line 1000 + d
      ptx += ".loc 1 " + std::to_string(1001 + d) + " 2, function_name f, inlined_at 1 " + std::to_string(1000 + d) +
             (d == 0 ? " 1" : " 2") + "\nadd.u32 %r2, %r2, 1;\n";
    ptx += "ld.global.u32 %r1, [%rd1+512];\nret;\n}\n.file 1 \"sum.cu\"\n";
    const Ran r = run(module(ptx), {zeros<uint32_t>(32)});
    const Diagnostic& d = only(r);
    EXPECT_EQ(d.place.line, 1000 + depth);
    ASSERT_EQ(d.inlined_at.size(), std::min(depth, 64u));
    for (uint32_t k = 0; k < d.inlined_at.size(); ++k) EXPECT_EQ(d.inlined_at[k].line, 1000 + depth - 1 - k) << k;
  }
}

// Code of a toolkit's header counts at the user's line that called it; where all is in the toolkit, at its own.
TEST(Lines, OfAToolkitsHeaderCountAtTheirCall) {
  const auto lines = [](const char* caller) {
    const Ran r = run(module(std::string(".visible .entry k(.param .u64 in)\n{\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n"
                                         ".loc 1 41 3\nld.param.u64 %rd1, [in];\nld.global.u32 %r1, [%rd1];\n"
                                         ".loc 2 7 1, function_name f, inlined_at 1 41 3\n"
                                         "atom.global.add.u32 %r2, [%rd1], 1;\n"
                                         ".loc 3 9 1, function_name f, inlined_at 2 7 1\n"
                                         "st.global.u32 [%rd1+4], %r2;\n.loc 1 43 1\nret;\n}\n.file 1 \"") +
                             caller +
                             "\"\n.file 2 \"/usr/local/cuda/include/atomic.hpp\"\n"
                             ".file 3 \"/opt/x/targets/x86_64-linux/include/more.hpp\"\n"),
                      {zeros<uint32_t>(32)});
    std::vector<std::string> all;
    for (const LineCounters& l : r.report.lines)
      all.push_back(l.place.file.substr(l.place.file.rfind('/') + 1) + ':' + std::to_string(l.place.line) + ' ' +
                    std::to_string(l.counters.global_load_requests) +
                    std::to_string(l.counters.global_atomic_requests) +
                    std::to_string(l.counters.global_store_requests));
    return all;
  };
  EXPECT_THAT(lines("/home/a/sum.cu"), testing::ElementsAre("sum.cu:41 111", "sum.cu:43 000"));
  EXPECT_THAT(lines("/usr/local/cuda/samples/sum.cu"),
              testing::ElementsAre("more.hpp:9 001", "atomic.hpp:7 010", "sum.cu:41 100", "sum.cu:43 000"));
}

TEST(MemoryFaults, StoreToParameters) {
  const Ran r = run(kernel(".param .u64 out",
                           "mov.b64 %rd1, out;\ncvta.param.u64 %rd2, %rd1;\nld.u64 %rd3, [%rd2];\nst.global.u32 "
                           "[%rd3], 5;\nst.u32 [%rd2], 1;\n"),
                    {zeros<uint32_t>(1)});
  EXPECT_EQ(r.read()[0], 5u);
  EXPECT_EQ(r.report.fault, Fault::illegal_address);
  EXPECT_THAT(only(r).message, testing::HasSubstr("read-only"));
}

}  // namespace

}  // namespace coalesce::machine::test
