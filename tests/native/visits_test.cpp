// Native code skips warps without active lanes in a region: `if (threadIdx.x < n)`, `if (threadIdx.x * n < m)`, `if
// (threadIdx.x % n == 0)` between two barriers, with n growing from round to round.
#include <functional>
#include <string>

#include "tests/machine/execute/harness.h"
#include "tests/sanitized.h"

namespace coalesce::machine::test {
namespace {

struct SkipCase {
  std::string ptx;                               // sets %p1 from %r1, the thread, and %r2, n
  bool skips;                                    // those for which %p1 holds skip
  std::function<bool(uint32_t, uint32_t)> goes;  // on into the code between
};

constexpr uint32_t kSkipRounds = 12;
uint32_t number(const std::string& next, uint32_t round) {
  return next == "shl.b32 %r2, %r2, 1;\n"         ? 1u << round
         : next == "shl.b32 %r2, %r2, 3;\n"       ? (round < 11 ? 1u << 3 * round : 0)
         : next == "mad.lo.u32 %r2, %r2, 2, 1;\n" ? (2u << round) - 1
                                                  : 1 + 43 * round;
}

int32_t as_signed(uint32_t v) { return static_cast<int32_t>(v); }

std::vector<SkipCase> skip_cases() {
  std::vector<SkipCase> all{
      {"setp.lt.s32 %p1, %r1, %r2;\n", false, [](uint32_t t, uint32_t n) { return as_signed(t) < as_signed(n); }},
      {"setp.ge.s32 %p1, %r1, %r2;\n", true, [](uint32_t t, uint32_t n) { return as_signed(t) < as_signed(n); }},
      {"setp.ls.u32 %p1, %r1, %r2;\n", false, [](uint32_t t, uint32_t n) { return t <= n; }},
      {"setp.hi.u32 %p1, %r1, %r2;\n", true, [](uint32_t t, uint32_t n) { return t <= n; }},
      {"setp.gt.s32 %p1, %r1, %r2;\n", false, [](uint32_t t, uint32_t n) { return as_signed(t) > as_signed(n); }},
      {"setp.ne.s32 %p1, %r1, %r2;\n", true, [](uint32_t t, uint32_t n) { return t == n; }},
      {"setp.eq.s32 %p1, %r1, %r2;\n", true, [](uint32_t t, uint32_t n) { return t != n; }},
      {"mul.lo.u32 %r3, %r2, %r1;\nsetp.ge.u32 %p1, %r3, 256;\n", true,
       [](uint32_t t, uint32_t n) { return t * n < 256; }},
      {"mul.lo.s32 %r3, %r1, %r2;\nsetp.le.s32 %p1, %r3, 100;\n", false,
       [](uint32_t t, uint32_t n) { return as_signed(t * n) <= 100; }},
      {"mul.lo.u32 %r3, %r1, %r2;\nsetp.eq.u32 %p1, %r3, 0;\n", false,
       [](uint32_t t, uint32_t n) { return t * n == 0; }}};
  const auto remainder = [](uint32_t t, uint32_t n) { return n == 0 || t % n != 0; };
  all.push_back({"rem.u32 %r3, %r1, %r2;\nsetp.ne.s32 %p1, %r3, 0;\n", true,
                 [=](uint32_t t, uint32_t n) { return !remainder(t, n); }});
  all.push_back({"rem.u32 %r3, %r1, %r2;\nsetp.eq.s32 %p1, %r3, 0;\n", false,
                 [=](uint32_t t, uint32_t n) { return !remainder(t, n); }});
  all.push_back({"rem.u32 %r3, %r1, %r2;\nsetp.eq.s32 %p1, %r3, 0;\n", true, remainder});
  all.push_back({"and.b32 %r3, %r1, %r2;\nsetp.ne.s32 %p1, %r3, 0;\n", true,
                 [](uint32_t t, uint32_t n) { return (t & n) == 0; }});
  return all;
}

// x[tid] = 3 x[tid] + n for those that go on, `kSkipRounds` times; threads from `leave` on are gone before.
void check(const SkipCase& q, const std::string& next, std::array<uint32_t, 3> block, uint32_t leave) {
  const uint32_t threads = block[0] * block[1];
  const std::string body =
      ".shared .align 4 .b32 x[1024];\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r4, %tid.y;\n"
      "mov.u32 %r5, %ntid.x;\nmad.lo.u32 %r6, %r4, %r5, %r1;\nmul.wide.u32 %rd2, %r6, 4;\nadd.s64 %rd1, %rd1, %rd2;\n"
      "shl.b32 %r7, %r6, 2;\nmov.u32 %r8, x;\nadd.u32 %r7, %r8, %r7;\nst.shared.u32 [%r7], %r6;\n"
      "setp.ge.u32 %p3, %r6, " +
      std::to_string(leave) + ";\n@%p3 exit;\nmov.u32 %r2, 1;\nmov.u32 %r9, 0;\nbar.sync 0;\nLOOP:\n" + q.ptx +
      (q.skips ? "@%p1" : "@!%p1") +
      " bra SKIP;\nld.shared.u32 %r10, [%r7];\nmad.lo.u32 %r10, %r10, 3, %r2;\nst.shared.u32 [%r7], %r10;\nSKIP:\n"
      "bar.sync 0;\n" +
      next +
      "add.u32 %r9, %r9, 1;\nsetp.lt.u32 %p2, %r9, 12;\n@%p2 bra LOOP;\n"
      "ld.shared.u32 %r10, [%r7];\nst.global.u32 [%rd1], %r10;\n";
  const Ran r = run(kernel(".param .u64 out", body), {zeros<uint32_t>(threads)}, Shape{.block = block});
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  const std::vector<uint32_t> results = r.read();
  for (uint32_t i = 0; i < threads; ++i) {
    uint32_t x = i < leave ? i : 0;
    for (uint32_t round = 0; round < kSkipRounds && i < leave; ++round) {
      const uint32_t n = number(next, round);
      if (q.goes(i % block[0], n)) x = 3 * x + n;
    }
    ASSERT_EQ(results[i], x) << q.ptx << next << "thread " << i << " of " << threads << ", " << leave;
  }
}

TEST(Visits, EveryThreadGoesOnWhereItShould) {
  const std::vector<SkipCase> all = skip_cases();
  for (const SkipCase& q : all) {
    const std::string next[] = {"shl.b32 %r2, %r2, 1;\n", "mad.lo.u32 %r2, %r2, 2, 1;\n", "add.u32 %r2, %r2, 43;\n"};
    check(q, next[few_cases() ? (&q - all.data()) % 3 : 0], {512, 1, 1}, 512);
    if (few_cases()) continue;  // each is compiled, which is what takes time
    check(q, next[1 + (&q - all.data()) % 2], {512, 1, 1}, 512);
    check(q, "shl.b32 %r2, %r2, 3;\n", {256, 1, 1}, 256);  // products wrap
    check(q, "shl.b32 %r2, %r2, 1;\n", {200, 1, 1}, 200);
    check(q, "shl.b32 %r2, %r2, 1;\n", {512, 1, 1}, 100);
    check(q, "shl.b32 %r2, %r2, 1;\n", {64, 4, 1}, 256);
  }
}

}  // namespace
}  // namespace coalesce::machine::test
