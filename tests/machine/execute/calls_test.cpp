// Functions that are inlined, recursive or called through pointers.

#include "calls.h"

#include <algorithm>
#include <iterator>

namespace coalesce::machine::test {

namespace {

// ---- Functions ---------------------------------------------------------------------------------------------------

TEST(Calls, Nested) {
  const std::vector<uint32_t> in = numbers(64, 50);
  const Ran r = run_map(function("twice", "add.u32 %r2, %r1, %r1;\n") +
                            function("next", call("twice", "%r3", "%r1") + "add.u32 %r2, %r3, 1;\n"),
                        call("next", "%r4", "%r1") + call("next", "%r2", "%r4"), in);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(r.read()[i], 2 * (2 * in[i] + 1) + 1);
}

// Early returns of some lanes inside a function: all go on together after the call.
TEST(Calls, EarlyReturnMeetsAfterTheCall) {
  const std::string clamp = ".func (.param .b32 result) clamp(.param .b32 x)\n{\n" + kRegisters +
                            "ld.param.b32 %r1, [x];\nsetp.gt.u32 %p1, %r1, 20;\n@%p1 bra BIG;\nst.param.b32 [result], "
                            "%r1;\nret;\nBIG:\nst.param.b32 [result], 20;\nret;\n}\n";
  const std::vector<uint32_t> in = numbers(64, 50);
  const Ran r = run_map(clamp, call("clamp", "%r2", "%r1"), in);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(r.read()[i], std::min(in[i], 20u));
  EXPECT_EQ(r.counters().global_store_requests, 2);  // one per warp
}

// struct { int a; int b; double c; } by value, and one returned.
TEST(Calls, StructsByValue) {
  const std::string swap =
      ".func (.param .align 8 .b8 result[16]) swap(.param .align 8 .b8 s[16])\n{\n" + kRegisters +
      "ld.param.v2.b32 {%r1, %r2}, [s];\nld.param.f64 %fd1, [s+8];\nadd.f64 %fd2, %fd1, %fd1;\nst.param.v2.b32 "
      "[result], {%r2, %r1};\nst.param.f64 [result+8], %fd2;\nret;\n}\n";
  const std::vector<uint32_t> in = numbers(64, 50);
  const Ran r = run_map(swap,
                        "cvt.rn.f64.u32 %fd1, %r1;\nadd.u32 %r3, %r1, 100;\n{\n.param .align 8 .b8 a[16];\n.param "
                        ".align 8 .b8 v[16];\nst.param.b32 [a], %r1;\nst.param.b32 [a+4], %r3;\nst.param.f64 [a+8], "
                        "%fd1;\ncall.uni (v), swap, (a);\nld.param.b32 %r4, [v];\nld.param.b32 %r5, [v+4];\n"
                        "ld.param.f64 %fd3, [v+8];\n}\ncvt.rzi.u32.f64 %r6, %fd3;\nmad.lo.u32 %r2, %r4, 1000, "
                        "%r5;\nadd.u32 %r2, %r2, %r6;\n",
                        in);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(r.read()[i], (in[i] + 100) * 1000 + in[i] + 2 * in[i]);
}

// A function that is given the address of its caller's local array.
TEST(Calls, PointerToTheCallersLocalArray) {
  const std::string fill = ".func fill(.param .b64 at, .param .b32 x)\n{\n" + kRegisters +
                           "ld.param.b64 %rd1, [at];\nld.param.b32 %r1, [x];\nst.u32 [%rd1], %r1;\nadd.u32 %r2, %r1, "
                           "7;\nst.u32 [%rd1+4], %r2;\nret;\n}\n";
  const std::vector<uint32_t> in = numbers(64, 50);
  const Ran r = run_map(fill,
                        ".local .align 4 .b8 own[8];\nmov.u64 %rd10, own;\ncvta.local.u64 %rd11, %rd10;\n{\n.param "
                        ".b64 a;\n.param .b32 b;\nst.param.b64 [a], %rd11;\nst.param.b32 [b], %r1;\ncall.uni fill, (a, "
                        "b);\n}\nld.local.u32 %r3, [own];\nld.local.u32 %r4, [own+4];\nadd.u32 %r2, %r3, %r4;\n",
                        in);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(r.read()[i], 2 * in[i] + 7);
}

// An array among the parameters, at an index that lanes do not share.
TEST(Calls, AParameterWhoseAddressIsTaken) {
  const std::string pick =
      ".func (.param .b32 result) pick(.param .align 4 .b8 s[8])\n{\n" + kRegisters +
      "ld.param.b32 %r1, [s];\nand.b32 %r3, %r1, 1;\nmov.b64 %rd1, s;\nmad.wide.u32 %rd2, %r3, 4, %rd1;\n"
      "ld.param.b32 %r2, [%rd2];\nst.param.b32 [result], %r2;\nret;\n}\n";
  const std::vector<uint32_t> in = numbers(64, 50);
  const Ran r = run_map(pick,
                        "add.u32 %r3, %r1, 100;\n{\n.param .align 4 .b8 a[8];\n.param .b32 v;\nst.param.b32 [a], %r1;\n"
                        "st.param.b32 [a+4], %r3;\ncall.uni (v), pick, (a);\nld.param.b32 %r2, [v];\n}\n",
                        in);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(r.read()[i], in[i] % 2 ? in[i] + 100 : in[i]);
}

// The predicate is the function's first register.
TEST(Calls, AReturnUnderAGuard) {
  const std::string f =
      ".func (.param .b32 result) f(.param .b32 x)\n{\n.reg .pred %p;\n.reg .b32 %r<4>;\nld.param.b32 %r1, [x];\n"
      "st.param.b32 [result], %r1;\nsetp.gt.u32 %p, %r1, 20;\n@%p ret;\nst.param.b32 [result], 7;\nret;\n}\n";
  const std::vector<uint32_t> in = numbers(64, 50);
  const Ran r = run_map(f, call("f", "%r2", "%r1"), in);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(r.read()[i], in[i] > 20 ? in[i] : 7);
}

// ---- Recursion ---------------------------------------------------------------------------------------------------

uint32_t fibonacci(uint32_t n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
const std::string kFibonacci =
    declaration("fib") + function("fib",
                                  "mov.u32 %r2, %r1;\nsetp.lt.u32 %p1, %r1, 2;\n@%p1 bra DONE;\nsub.u32 %r3, %r1, "
                                  "1;\n" +
                                      call("fib", "%r4", "%r3") + "sub.u32 %r5, %r1, 2;\n" + call("fib", "%r6", "%r5") +
                                      "add.u32 %r2, %r4, %r6;\nDONE:\n");

TEST(Recursion, Fibonacci) {
  const std::vector<uint32_t> in = numbers(64, 11);
  const Ran r = run_map(kFibonacci, call("fib", "%r2", "%r1"), in);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(r.read()[i], fibonacci(in[i]));
  EXPECT_EQ(r.counters().global_store_requests, 2);  // the lanes of a warp come back together
}

TEST(Recursion, InOneLaneOfSeveral) {
  std::vector<uint32_t> in(64);
  in[37] = 10;
  const Ran r = run_map(
      kFibonacci, "mov.u32 %r2, 5;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra SKIP;\n" + call("fib", "%r2", "%r1") + "SKIP:\n",
      in);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(r.read()[i], i == 37 ? 55u : 5u);
}

// A call that is the last on its side of a branch, here and in the function itself: lanes meet the others where it
// returns.
TEST(Recursion, ReturnsToWhereSidesMeet) {
  const auto down = [](const std::string& x) {
    return "{\n.param .b32 a;\nst.param.b32 [a], " + x + ";\ncall.uni down, (a);\n}\n";
  };
  const std::string function = ".func down(.param .b32 x)\n;\n.func down(.param .b32 x)\n{\n" + kRegisters +
                               "ld.param.b32 %r1, [x];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra DONE;\n"
                               "sub.u32 %r3, %r1, 1;\n" +
                               down("%r3") + "DONE:\nst.global.u32 [count], %r1;\nret;\n}\n";
  const Ran r = run_map(".global .u32 count;\n" + function,
                        "mov.u32 %r2, 9;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra SKIP;\n" + down("%r1") + "SKIP:\n",
                        numbers(64, 4), 1);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  EXPECT_EQ(r.read(), std::vector<uint32_t>(64, 9));
  // Two warps: the last store, and one on each of the four levels (3, 2, 1, 0).
  EXPECT_EQ(r.counters().global_store_requests, 2u * 5);
}

// Two sides call a function again and again, polling, so that they take turns: what each saved before a call is its
// own.
TEST(Recursion, SidesThatTakeTurns) {
  const std::string count =
      declaration("count") +
      function("count",
               "mov.u32 %r2, 1;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra DONE;\nmov.u32 %r8, seen;\n"
               "ld.volatile.shared.u32 %r7, [%r8];\nsub.u32 %r3, %r1, 1;\n" +
                   call("count", "%r4", "%r3") +
                   "sub.u32 %r9, %r1, %r3;\nadd.u32 %r2, %r4, %r7;\nadd.u32 %r2, %r2, %r9;\n" + "DONE:\n");
  const auto side = [](const std::string& name, const std::string& times) {
    return name + ":\nmov.u32 %r8, seen;\nld.volatile.shared.u32 %r7, [%r8];\nand.b32 %r10, %r9, 3;\n" +
           call("count", "%r11", "%r10") + "add.u32 %r2, %r2, %r11;\nadd.u32 %r9, %r9, 1;\nsetp.lt.u32 %p3, %r9, " +
           times + ";\n@%p3 bra " + name + ";\n";
  };
  std::vector<uint32_t> in(32);
  for (uint32_t i = 0; i < 32; ++i) in[i] = i;
  const Ran r = run_map(".shared .align 4 .u32 seen;\n" + count,
                        "mov.u32 %r2, 0;\nmov.u32 %r9, 0;\nmov.u32 %r8, seen;\nst.shared.u32 [%r8], 0;\nsetp.ge.u32 "
                        "%p2, %r1, 16;\n@%p2 bra B;\n" +
                            side("A", "8000") + "bra.uni END;\n" + side("B", "9603") + "END:\n",
                        in, 1);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  const auto expected = [](uint32_t times) {
    uint32_t sum = 0;
    for (uint32_t k = 0; k < times; ++k) sum += 1 + k % 4;
    return sum;
  };
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(r.read()[i], i < 16 ? expected(8000) : expected(9603)) << i;
}

// Lanes that come to one vote by different ways vote together, and each goes on to its own call.
TEST(Recursion, AfterAVoteOfSeveralSplits) {
  const std::string tree =
      declaration("tree") +
      function("tree",
               "mov.u32 %r2, 1;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra DONE;\nmov.u32 %r5, %laneid;\nand.b32 %r6, %r5, "
               "1;\nsetp.eq.u32 %p2, %r6, 0;\n@%p2 bra VOTE;\nsetp.gt.u32 %p3, %r1, 99;\n@%p3 bra DONE;\n"
               "VOTE:\nvote.sync.ballot.b32 %r7, %p2, -1;\nsub.u32 %r3, %r1, 1;\n" +
                   call("tree", "%r4", "%r3") +
                   "add.u32 %r8, %r6, %r1;\nadd.u32 %r8, %r8, %r4;\nsub.u32 %r3, %r1, 1;\n" +
                   call("tree", "%r4", "%r3") + "add.u32 %r2, %r8, %r4;\nDONE:\n");
  std::vector<uint32_t> in(32, 4);
  const Ran r = run_map(tree, call("tree", "%r2", "%r1"), in, 1);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (uint32_t i = 0; i < 32; ++i) {
    uint32_t expected = 1;
    for (uint32_t x = 1; x <= 4; ++x) expected = 2 * expected + x + i % 2;
    EXPECT_EQ(r.read()[i], expected) << i;
  }
}

// Lanes that come to one product of matrices by different ways carry it out together.
TEST(Recursion, AfterAProductOfSeveralSplits) {
  const auto sums = [](bool apart) {
    const std::string tree =
        declaration("tree") +
        function("tree",
                 "mov.u32 %r2, 1;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra DONE;\nmov.u32 %r5, %laneid;\nand.b32 %r6, "
                 "%r5, 1;\ncvt.rn.f16.u32 %h1, %r5;\nmov.b32 %r9, {%h1, %h1};\n" +
                     std::string(apart ? "setp.eq.u32 %p2, %r6, 0;\n@%p2 bra ALL;\nsetp.gt.u32 %p3, %r1, 99;\n"
                                         "@%p3 bra DONE;\nALL:\n"
                                       : "") +
                     "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r10, %r11}, {%r9, %r9}, {%r9}, {%r9, "
                     "%r9};\nsub.u32 %r3, %r1, 1;\n" +
                     call("tree", "%r4", "%r3") + "mad.lo.u32 %r2, %r4, 3, %r10;\nadd.u32 %r2, %r2, %r11;\nDONE:\n");
    const Ran r = run_map(tree, call("tree", "%r2", "%r1"), std::vector<uint32_t>(32, 3), 1);
    EXPECT_EQ(r.report.fault, Fault::none) << r.message();
    return r.read();
  };
  EXPECT_EQ(sums(true), sums(false));
  EXPECT_NE(sums(true)[3], sums(true)[9]);
}

TEST(Recursion, Mutual) {
  const auto half = [](const std::string& name, const std::string& other, const std::string& at_end) {
    return function(name, "mov.u32 %r2, " + at_end +
                              ";\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra DONE;\nsub.u32 %r3, %r1, 1;\n" +
                              call(other, "%r2", "%r3") + "DONE:\n");
  };
  const std::vector<uint32_t> in = numbers(64, 13);
  const Ran r =
      run_map(declaration("odd") + half("even", "odd", "1") + half("odd", "even", "0"), call("even", "%r2", "%r1"), in);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(r.read()[i], in[i] % 2 == 0);
}

// Each call has its own local array, and its caller's is as it was when it comes back.
TEST(Recursion, LocalArraysOfTheirOwn) {
  const std::string sum =
      "mov.u32 %r2, 0;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra DONE;\nmul.lo.u32 %r3, %r1, 3;\nand.b32 %r10, %r1, "
      "3;\nmul.wide.u32 %rd5, %r10, 4;\nmov.u64 %rd6, own;\nadd.s64 %rd7, %rd6, %rd5;\nst.local.u32 [%rd7], "
      "%r3;\nsub.u32 %r4, %r1, 1;\n" +
      call("sum", "%r5", "%r4") + "ld.local.u32 %r6, [%rd7];\nadd.u32 %r2, %r5, %r6;\nDONE:\n";
  const std::vector<uint32_t> in = numbers(64, 15);
  const Ran r = run_map(declaration("sum") + function("sum", sum, ".local .align 4 .b8 own[16];\n"),
                        call("sum", "%r2", "%r1"), in);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(r.read()[i], 3 * in[i] * (in[i] + 1) / 2);
}

// The kernel's own array has room beside the stack of its functions, of which 14 frames of 1 KiB are in use.
TEST(Recursion, BesideALargeArrayOfTheKernel) {
  const std::string sum =
      "mov.u32 %r2, 0;\nmov.u64 %rd6, own;\nst.local.u32 [%rd6+1020], %r1;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra DONE;\n"
      "sub.u32 %r4, %r1, 1;\n" +
      call("sum", "%r5", "%r4") + "ld.local.u32 %r6, [%rd6+1020];\nadd.u32 %r2, %r5, %r6;\nDONE:\n";
  const std::vector<uint32_t> in = numbers(64, 15);
  const Ran r =
      run_map(declaration("sum") + function("sum", sum, ".local .align 4 .b8 own[1024];\n"),
              ".local .align 4 .b8 large[8192];\nmov.u64 %rd9, large;\nst.local.u32 [%rd9+8188], %r1;\n" +
                  call("sum", "%r2", "%r1") + "ld.local.u32 %r7, [%rd9+8188];\nmad.lo.u32 %r2, %r7, 1000, %r2;\n",
              in);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(r.read()[i], in[i] * (in[i] + 1) / 2 + 1000 * in[i]);
}

// pair f(pair p) { if (p.a == 0) return {0, p.b}; pair t = f({p.a - 1, p.b + 1}); return {t.a + 1, t.b}; }
// Without `ret`, whose place an instruction under a guard has: f(n) = n < 5 ? 7 : f(n - 1) + 1, and one more above 9.
TEST(Recursion, AFunctionThatEndsInAGuardedInstruction) {
  const std::string head = ".func (.param .b32 result) f(.param .b32 x)\n";
  const std::string f = head + ";\n" + head + "{\n" + kRegisters +
                        "ld.param.b32 %r1, [x];\nmov.u32 %r2, 7;\nsetp.lt.u32 %p1, %r1, 5;\n@%p1 bra DONE;\n"
                        "sub.u32 %r3, %r1, 1;\n" +
                        call("f", "%r2", "%r3") +
                        "add.u32 %r2, %r2, 1;\nDONE:\nst.param.b32 [result], %r2;\nadd.u32 %r3, %r2, 1;\n"
                        "setp.gt.u32 %p2, %r1, 9;\n@%p2 st.param.b32 [result], %r3;\n}\n";
  const std::vector<uint32_t> in = numbers(64, 17);
  const Ran r = run_map(f, call("f", "%r2", "%r1"), in);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (std::size_t i = 0; i < in.size(); ++i) {
    const uint32_t n = in[i];
    EXPECT_EQ(r.read()[i], (n < 5 ? 7 : n + 3) + (n > 9 ? n - 9 : 0)) << n;
  }
}

TEST(Recursion, StructsByValue) {
  const std::string head = ".func (.param .align 4 .b8 result[8]) f(.param .align 4 .b8 p[8])\n";
  const auto call_pair = [](const std::string& a, const std::string& b) {
    return "{\n.param .align 4 .b8 a[8];\n.param .align 4 .b8 v[8];\nst.param.b32 [a], " + a +
           ";\nst.param.b32 [a+4], " + b +
           ";\ncall.uni (v), f, (a);\nld.param.b32 %r5, [v];\nld.param.b32 %r6, [v+4];\n}\n";
  };
  const std::string f = head + ";\n" + head + "{\n" + kRegisters +
                        "ld.param.b32 %r1, [p];\nld.param.b32 %r2, [p+4];\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra "
                        "GO;\nst.param.b32 [result], 0;\nst.param.b32 [result+4], %r2;\nret;\nGO:\nsub.u32 %r3, %r1, "
                        "1;\nadd.u32 %r4, %r2, 1;\n" +
                        call_pair("%r3", "%r4") +
                        "add.u32 %r5, %r5, 1;\nst.param.b32 [result], %r5;\nst.param.b32 [result+4], %r6;\nret;\n}\n";
  const std::vector<uint32_t> in = numbers(64, 23);
  const Ran r = run_map(f, call_pair("%r1", "100") + "mad.lo.u32 %r2, %r5, 1000, %r6;\n", in);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(r.read()[i], 1000 * in[i] + 100 + in[i]);
}

// void f(int* p, int n) { if (n == 0) return; *p += n; int own = 0; f(&own, n - 1); *p += own; }
TEST(Recursion, PointerToTheCallersLocalVariable) {
  const std::string head = ".func f(.param .b64 p, .param .b32 n)\n";
  const std::string call_on =
      "{\n.param .b64 a;\n.param .b32 b;\nst.param.b64 [a], %rd4;\nst.param.b32 [b], %r4;\n"
      "call.uni f, (a, b);\n}\n";
  const std::string f = head + ";\n" + head + "{\n.local .align 4 .b8 own[4];\n" + kRegisters +
                        "ld.param.b64 %rd1, [p];\nld.param.b32 %r1, [n];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 ret;\nld.u32 "
                        "%r3, [%rd1];\nadd.u32 %r3, %r3, %r1;\nst.u32 [%rd1], %r3;\nmov.u64 %rd3, own;\nst.local.u32 "
                        "[%rd3], 0;\ncvta.local.u64 %rd4, %rd3;\nsub.u32 %r4, %r1, 1;\n" +
                        call_on +
                        "ld.local.u32 %r5, [own];\nld.u32 %r7, [%rd1];\nadd.u32 %r7, %r7, %r5;\nst.u32 "
                        "[%rd1], %r7;\nret;\n}\n";
  const std::vector<uint32_t> in = numbers(64, 23);
  const Ran r = run_map(f,
                        ".local .align 4 .b8 mine[4];\nst.local.u32 [mine], 7;\nmov.u64 %rd10, mine;\ncvta.local.u64 "
                        "%rd4, %rd10;\nmov.u32 %r4, %r1;\n" +
                            call_on + "ld.local.u32 %r2, [mine];\n",
                        in);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(r.read()[i], 7 + in[i] * (in[i] + 1) / 2);
}

TEST(Recursion, WithoutEndIsAStackOverflow) {
  const std::string forever = "add.u32 %r3, %r1, 1;\n" + call("down", "%r4", "%r3") + "add.u32 %r2, %r4, 1;\n";
  const Ran r = run_map(declaration("down") + function("down", forever), call("down", "%r2", "%r1"), numbers(64, 5));
  EXPECT_EQ(r.report.fault, Fault::stack_overflow) << r.message();
  ASSERT_FALSE(r.report.diagnostics.empty());
  EXPECT_FALSE(r.message().empty());
  EXPECT_NE(r.report.diagnostics[0].ptx_line, 0u);
}

// ---- Pointers ----------------------------------------------------------------------------------------------------

const std::string kThree = function("inc", "add.u32 %r2, %r1, 1;\n") +
                           function("square", "mul.lo.u32 %r2, %r1, %r1;\n") + function("fifth", "mov.u32 %r2, 5;\n");
// Calls the function whose address is in %rd20; %r1 -> %r2.
const std::string kThrough =
    "{\n.param .b32 a;\n.param .b32 v;\nst.param.b32 [a], %r1;\nP: .callprototype (.param .b32 _) _ (.param .b32 "
    "_);\ncall (v), %rd20, (a), P;\nld.param.b32 %r2, [v];\n}\n";

TEST(Pointers, TableOfFunctions) {
  const std::vector<uint32_t> in = numbers(64, 50);
  const Ran r = run_map(kThree + ".global .align 8 .u64 table[3] = {inc, square, fifth};\n",
                        "rem.u32 %r10, %r1, 3;\nmov.u64 %rd10, table;\nmad.wide.u32 %rd11, %r10, 8, "
                        "%rd10;\nld.global.u64 %rd20, [%rd11];\n" +
                            kThrough,
                        in);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (std::size_t i = 0; i < in.size(); ++i)
    EXPECT_EQ(r.read()[i], in[i] % 3 == 0 ? in[i] + 1 : in[i] % 3 == 1 ? in[i] * in[i] : 5);
  EXPECT_EQ(r.counters().global_store_requests, 2);
}

// A virtual call as compilers make it: object -> table -> slot. The kernel builds the object.
TEST(Pointers, VirtualFunctions) {
  const std::vector<uint32_t> in = numbers(64, 50);
  const Ran r = run_map(
      kThree + ".global .align 8 .u64 table_a[2] = {inc, square};\n.global .align 8 .u64 table_b[2] = {fifth, inc};\n",
      ".local .align 8 .b8 object[16];\nand.b32 %r10, %r1, 1;\nsetp.eq.u32 %p1, %r10, 0;\nmov.u64 %rd10, "
      "table_a;\nmov.u64 %rd11, table_b;\ncvta.global.u64 %rd10, %rd10;\ncvta.global.u64 %rd11, %rd11;\nselp.b64 "
      "%rd12, "
      "%rd10, %rd11, %p1;\nst.local.u64 [object], %rd12;\nmov.u64 %rd13, object;\ncvta.local.u64 %rd14, "
      "%rd13;\nld.u64 %rd15, [%rd14];\nld.u64 %rd20, [%rd15+8];\n" +
          kThrough,
      in);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(r.read()[i], in[i] % 2 == 0 ? in[i] * in[i] : in[i] + 1);
}

TEST(Pointers, ToARecursiveFunction) {
  const std::vector<uint32_t> in = numbers(64, 9);
  const Ran r = run_map(kThree + kFibonacci,
                        "mov.u64 %rd10, fib;\nmov.u64 %rd11, inc;\nand.b32 %r10, %r1, 1;\nsetp.eq.u32 %p1, %r10, "
                        "0;\nselp.b64 %rd20, %rd10, %rd11, %p1;\n" +
                            kThrough,
                        in);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(r.read()[i], in[i] % 2 == 0 ? fibonacci(in[i]) : in[i] + 1);
}

TEST(Pointers, ToNoFunction) {
  for (const char* pointer : {"0", "12345", "-1"}) {
    const Ran r = run_map(kThree + ".global .align 8 .u64 table[1] = {inc};\n",
                          "mov.u64 %rd10, inc;\nsetp.eq.u32 %p1, %r23, 3;\nselp.b64 %rd20, " + std::string(pointer) +
                              ", %rd10, %p1;\n" + kThrough,
                          numbers(64, 50), 1);
    EXPECT_EQ(r.report.fault, Fault::invalid_pc);
    ASSERT_FALSE(r.report.diagnostics.empty());
    EXPECT_EQ(r.report.diagnostics[0].thread[0], 3u);
    EXPECT_THAT(r.message(), testing::HasSubstr("pointer to no function"));
  }
}

}  // namespace

}  // namespace coalesce::machine::test
