// Predicates of which one is the logic of two others, all three of which are words of 32 lanes, not what a comparison
// of vectors has just made, and are used as vectors. From such words LLVM 19 did not come back
// (native/generate/masks.cpp).
#include <random>
#include <string>
#include <vector>

#include "tests/machine/execute/harness.h"
#include "tests/sanitized.h"

namespace coalesce::machine::test {
namespace {

constexpr uint32_t kAllOf = 96, kFirst = 42, kSecond = 75;

// p1: the thread is of the first 42; p2: of the first 75, which needs no comparison of vectors either. p3 is made of
// them by `logic`.
Ran used_with(const std::string& logic) {
  Shape s;
  s.block = {kAllOf, 1, 1};
  return run(kernel(".param .u64 out",
                    "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\n"
                    "add.s64 %rd3, %rd1, %rd2;\nsetp.lt.u32 %p1, %r1, " +
                        std::to_string(kFirst) + ";\nsetp.lt.u32 %p2, %r1, " + std::to_string(kSecond) + ";\n" + logic +
                        "selp.u32 %r2, 1, 2, %p1;\nselp.u32 %r3, 10, 20, %p2;\nselp.u32 %r4, 100, 200, %p3;\n"
                        "add.u32 %r10, %r2, %r3;\nadd.u32 %r10, %r10, %r4;\nst.global.u32 [%rd3], %r10;\n"),
             {zeros<uint32_t>(kAllOf)}, s);
}

template <class Logic>
void expect(const Ran& r, Logic logic) {
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  const auto out = r.read();
  for (uint32_t i = 0; i < kAllOf; ++i) {
    const bool p1 = i < kFirst, p2 = i < kSecond;
    ASSERT_EQ(out[i], (p1 ? 1 : 2) + (p2 ? 10 : 20) + (logic(p1, p2) ? 100 : 200)) << i;
  }
}

TEST(Masks, EitherOfTwo) {
  expect(used_with("or.pred %p3, %p1, %p2;\n"), [](bool a, bool b) { return a || b; });
}
TEST(Masks, OneOfTwo) {
  expect(used_with("xor.pred %p3, %p1, %p2;\n"), [](bool a, bool b) { return a != b; });
}
TEST(Masks, NoneOfTwo) {
  expect(used_with("or.pred %p4, %p1, %p2;\nnot.pred %p3, %p4;\n"), [](bool a, bool b) { return !a && !b; });
}
TEST(Masks, OneWithoutTheOther) {
  expect(used_with("not.pred %p4, %p2;\nor.pred %p3, %p1, %p4;\n"), [](bool a, bool b) { return a || !b; });
}
TEST(Masks, BothOrTheOther) {
  expect(used_with("and.pred %p4, %p1, %p2;\nor.pred %p3, %p4, %p2;\n"), [](bool, bool b) { return b; });
}

// Three such predicates, and ten that are made of any before them; all thirteen are used as vectors.
TEST(Masks, AnyLogicOfMany) {
  constexpr uint32_t kGiven = 3, kDerived = 10;
  const uint32_t kPrograms = kSanitized ? 3 : 12;
  constexpr uint32_t kBound[kGiven] = {kFirst, kSecond, 20};
  const std::string names[] = {"and", "or", "xor", "not"};
  std::mt19937 random(1);
  for (uint32_t k = 0; k < kPrograms; ++k) {
    std::string body =
        "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
        "mov.u32 %r10, 0;\n";
    std::vector<std::vector<bool>> p(kGiven, std::vector<bool>(kAllOf));
    for (uint32_t g = 0; g < kGiven; ++g) {
      body += "setp.lt.u32 %p" + std::to_string(g) + ", %r1, " + std::to_string(kBound[g]) + ";\n";
      for (uint32_t i = 0; i < kAllOf; ++i) p[g][i] = i < kBound[g];
    }
    for (uint32_t m = kGiven; m < kGiven + kDerived; ++m) {
      const uint32_t how = random() % 4, a = random() % m, b = random() % m;
      body += names[how] + ".pred %p" + std::to_string(m) + ", %p" + std::to_string(a) +
              (how == 3 ? "" : ", %p" + std::to_string(b)) + ";\n";
      std::vector<bool> made(kAllOf);
      for (uint32_t i = 0; i < kAllOf; ++i) {
        const bool x = p[a][i], y = p[b][i];
        made[i] = how == 0 ? x && y : how == 1 ? x || y : how == 2 ? x != y : !x;
      }
      p.push_back(made);
    }
    for (uint32_t m = 0; m < kGiven + kDerived; ++m)
      body += "selp.u32 %r2, 1, 2, %p" + std::to_string(m) + ";\nmad.lo.u32 %r10, %r10, 3, %r2;\n";
    SCOPED_TRACE(body);
    Shape s;
    s.block = {kAllOf, 1, 1};
    const Ran r = run(kernel(".param .u64 out", body + "st.global.u32 [%rd3], %r10;\n"), {zeros<uint32_t>(kAllOf)}, s);
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    const auto out = r.read();
    for (uint32_t i = 0; i < kAllOf; ++i) {
      uint32_t sum = 0;
      for (const auto& of : p) sum = sum * 3 + (of[i] ? 1 : 2);
      ASSERT_EQ(out[i], sum) << i;
    }
  }
}

}  // namespace
}  // namespace coalesce::machine::test
