// The first condition of a region: what it says of warps that have nothing to do, and of checks that one look at the
// corners replaces: every comparison, in every way that lanes may go.
#include "tests/native/analyse/decoded.h"

namespace coalesce::native::test {
namespace {

using IdleForm = IdleWarps::Form;

struct Comparison {
  const char *name, *opposite;
  bool below;  // holds for numbers below another
  bool is_equality;
};
constexpr Comparison kComparisons[] = {
    {"lt", "ge", true, false}, {"le", "gt", true, false},  {"gt", "le", false, false}, {"ge", "lt", false, false},
    {"lo", "hs", true, false}, {"ls", "hi", true, false},  {"hi", "ls", false, false}, {"hs", "lo", false, false},
    {"eq", "ne", false, true}, {"ne", "eq", false, false},
};

// Lanes go into the code for which `name` holds, however the branch says so.
std::string enter(const std::string& name, const std::string& opposite, const std::string& type,
                  const std::string& operands, int way) {
  const std::string skip = "setp." + opposite + "." + type + " %p1, " + operands + ";\n@%p1 bra NEXT;\n";
  const std::string unless = "setp." + name + "." + type + " %p1, " + operands + ";\n@!%p1 bra NEXT;\n";
  const std::string go = "setp." + name + "." + type + " %p1, " + operands + ";\n@%p1 bra WORK;\n";
  return way == 0 ? skip : way == 1 ? unless : go;
}

// The code behind a question, and what comes after it: in the text it stands behind that where lanes branch to it.
std::string laid_out(const std::string& question, const std::string& work, const std::string& after) {
  if (question.find("bra WORK") == question.npos) return question + work + "NEXT:\n" + after;
  return question + "NEXT:\n" + after + "bra LAST;\nWORK:\n" + work + "bra NEXT;\nLAST:\n";
}

Analysed tree_step(const std::string& question, const std::string& work = "") {
  return {R"(
    .shared .align 4 .b32 s[256];
    mov.u32 %r1, %tid.x;
    ld.param.u32 %r2, [n];
    shl.b32 %r3, %r1, 2;
    mov.u32 %r4, s;
    add.u32 %r5, %r4, %r3;
    st.shared.u32 [%r5], %r1;
    bar.sync 0;
    )" + laid_out(question, work + "ld.shared.u32 %r6, [%r5];\nadd.u32 %r6, %r6, 1;\nst.shared.u32 [%r5], %r6;\n",
                  "bar.sync 0;\n"),
          {256, 1, 1}};
}
const IdleWarps* idle_in(const Analysed& k) {
  const RegionFacts* r = k.region([](const RegionFacts& f) { return f.idle.form != IdleForm::none; });
  return r ? &r->idle : nullptr;
}

// Below a number of the block, or 0: nothing else makes all warps idle behind the first that is.
TEST(IdleWarps, OfEveryComparison) {
  struct Number {
    const char* text;
    IdleForm below, zero;
  };
  for (const Number& number : {Number{"mov.u32 %r9, %r1;\n", IdleForm::below, IdleForm::below},
                               Number{"mov.s32 %r9, %r1;\n", IdleForm::below, IdleForm::below},
                               Number{"mov.b32 %r9, %r1;\n", IdleForm::below, IdleForm::below},
                               Number{"mul.lo.u32 %r9, %r1, %r2;\n", IdleForm::product_below, IdleForm::product_below},
                               Number{"mul.lo.s32 %r9, %r2, %r1;\n", IdleForm::product_below, IdleForm::product_below},
                               Number{"rem.u32 %r9, %r1, %r2;\n", IdleForm::none, IdleForm::periodic},
                               Number{"rem.s32 %r9, %r1, %r2;\n", IdleForm::none, IdleForm::periodic},
                               Number{"and.b32 %r9, %r1, %r2;\n", IdleForm::none, IdleForm::masked},
                               Number{"rem.u32 %r9, %r2, %r1;\n", IdleForm::none, IdleForm::none},
                               Number{"or.b32 %r9, %r1, %r2;\n", IdleForm::none, IdleForm::none},
                               Number{"mul.hi.u32 %r9, %r1, %r2;\n", IdleForm::none, IdleForm::none},
                               Number{"mul.lo.u32 %r9, %r1, %r1;\n", IdleForm::none, IdleForm::none},
                               Number{"and.b32 %r9, %r1, %r3;\n", IdleForm::none, IdleForm::none}})
    for (const Comparison& c : kComparisons)
      for (const char* const type : {"u32", "s32", "b32"})
        for (const char* const with : {"%r2", "0", "1", "%r3"})
          for (const int way : {0, 1, 2}) {
            const bool equality = c.name[0] == 'e' || c.name[0] == 'n',
                       is_unsigned = c.name[0] == 'h' || c.name[1] == 'o' || c.name[1] == 's';
            if ((*type == 'b' && !equality) || (*type == 's' && is_unsigned)) continue;
            const bool of_block = *with != '%' || with[2] == '2', zero = *with == '0';
            const IdleForm wanted = c.is_equality         ? (zero ? number.zero : IdleForm::none)
                                    : c.below && of_block ? number.below
                                                          : IdleForm::none;
            const std::string question =
                number.text + enter(c.name, c.opposite, type, std::string("%r9, ") + with, way);
            const Analysed k = tree_step(question);
            const IdleWarps* found = idle_in(k);
            ASSERT_EQ(found ? found->form : IdleForm::none, wanted) << question;
            if (!found) continue;
            EXPECT_EQ(found->equals_zero, c.is_equality) << question;
            EXPECT_EQ(found->head, k.program().regions[1].chain.front()) << question;
            const bool has_factor = wanted != IdleForm::below;
            EXPECT_EQ(found->factor.is_reg(), has_factor) << question;
            if (has_factor) EXPECT_TRUE(k.facts().registers.is_block_level(found->factor)) << question;
          }
}

// The condition is all that the warps have to do beside what lanes skip, and nobody else reads it.
TEST(IdleWarps, OnlyWhereNothingElseIsDone) {
  const auto form = [](const std::string& question, const std::string& work = "") {
    const IdleWarps* found = idle_in(tree_step(question, work));
    return found != nullptr;
  };
  const std::string rem = "rem.u32 %r9, %r1, %r2;\n", ask = "setp.ne.u32 %p1, %r9, 0;\n@%p1 bra NEXT;\n";
  EXPECT_TRUE(form(rem + ask));
  EXPECT_TRUE(form(rem + "add.u32 %r8, %r1, 1;\n" + ask)) << "which nobody reads";
  EXPECT_FALSE(form(rem + "ld.shared.u32 %r8, [%r5];\n" + ask));
  EXPECT_FALSE(form(rem + "setp.lt.u32 %p2, %r1, 5;\n@%p2 mov.u32 %r8, 1;\n" + ask));
  EXPECT_FALSE(form(rem + ask, "add.u32 %r7, %r9, 1;\nst.shared.u32 [%r5], %r7;\n"));
  EXPECT_FALSE(form(rem + ask, "st.shared.u32 [%r5], %r9;\n"));
  EXPECT_FALSE(form(rem + "shl.b32 %r8, %r1, 2;\n" + ask, "st.shared.u32 [%r8], %r1;\n"));
  EXPECT_FALSE(form(rem + ask, "@%p1 st.shared.u32 [%r5], %r1;\n"));
  EXPECT_TRUE(form("setp.ge.u32 %p1, %r1, %r2;\n@%p1 bra NEXT;\n", "@%p1 st.shared.u32 [%r5], %r1;\n"))
      << "a warp that is sent there has asked";
}

// in[i] to out[i], i = threadIdx.x + n, where lanes go into the code for which `name` holds.
std::string moving(const std::string& before, const std::string& work = "") {
  return "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\n"
         "add.u32 %r3, %r2, %r1;\nmul.wide.u32 %rd3, %r3, 4;\nadd.u64 %rd4, %rd1, %rd3;\nadd.u64 %rd6, %rd2, %rd3;\n" +
         laid_out(before, work + "ld.global.u32 %r5, [%rd4];\nst.global.u32 [%rd6], %r5;\n", "");
}

TEST(HoistedChecks, OfEveryComparison) {
  for (const Comparison& c : kComparisons)
    for (const char* const type : {"u32", "s32", "b32"})
      for (const char* const with : {"%r1", "77", "%r2"})
        for (const int way : {0, 1, 2}) {
          const std::string name = c.name;
          const bool equality = name == "eq" || name == "ne",
                     is_unsigned = name[0] == 'h' || name == "lo" || name == "ls";
          if ((*type == 'b' && !equality) || (*type == 's' && is_unsigned)) continue;
          const std::string question = enter(c.name, c.opposite, type, std::string("%r3, ") + with, way);
          const Analysed k(moving(question), {128, 1, 1});
          const HoistedChecks* found = k.hoisted();
          ASSERT_EQ(found != nullptr, !equality && std::string(with) != "%r2") << question;
          if (!found) continue;
          ASSERT_NE(found->branch, kNone);
          EXPECT_EQ(found->branch_taken, way == 2) << question;
          const std::string tested = way == 0 ? c.opposite : c.name;
          const Order order = tested == "lt" || tested == "lo"   ? Order::less
                              : tested == "le" || tested == "ls" ? Order::less_equal
                              : tested == "gt" || tested == "hi" ? Order::greater
                                                                 : Order::greater_equal;
          int tests = 0;
          for (const HoistedChecks::Action& a : found->actions) {
            if (a.what != HoistedChecks::Action::What::test) continue;
            ++tests;
            EXPECT_EQ(a.order, order) << question;
            EXPECT_EQ(a.is_signed, *type == 's') << question;
          }
          EXPECT_EQ(tests, 1) << question;
        }
}

// All that accesses and the question need is computed for the corners, and nothing else.
TEST(HoistedChecks, ActionsAreWhatTheyNeed) {
  const Analysed k(
      moving("and.b32 %r6, %r3, 3;\nmul.lo.u32 %r7, %r2, %r1;\nsetp.ge.u32 %p1, %r3, %r1;\n@%p1 bra NEXT;\n"),
      {128, 1, 1});
  ASSERT_NE(k.hoisted(), nullptr);
  std::vector<std::string> actions;
  for (const HoistedChecks::Action& a : k.hoisted()->actions) {
    const Instruction& i = k.program().code[a.instruction];
    actions.push_back(i.pure ? std::string(i.pure->mnemonic) : i.kind == machine::Kind::load ? "load" : "store");
  }
  EXPECT_EQ(actions, (std::vector<std::string>{"mov.b32", "add.u32", "mul.wide.u32", "add.u64", "add.u64",
                                               "setp.ge.u32", "load", "store"}));
}

TEST(HoistedChecks, OfOneWayOnly) {
  const std::string skip = "setp.ge.u32 %p1, %r3, %r1;\n@%p1 bra NEXT;\n";
  const std::string leave = "setp.ge.u32 %p2, %r3, 99;\n@%p2 bra END;\n", end = "bra DONE;\nEND:\nret;\nDONE:\n";
  struct Row {
    const char* why;
    std::string text;
    bool hoisted;
  };
  for (const Row& row : {
           Row{"straight", moving(""), true},
           Row{"around all", moving(skip), true},
           Row{"leaving", moving(leave) + end, true},
           Row{"around all, and code behind", moving(skip) + "mov.u32 %r9, %r3;\n", true},
           Row{"leaving, and around the rest", moving(leave + skip) + end, false},
           Row{"one within the other", moving(skip, "setp.ge.u32 %p2, %r3, 55;\n@%p2 bra NEXT;\n"), false},
           Row{"two sides",
               moving("setp.ge.u32 %p1, %r3, %r1;\n@%p1 bra A;\nmov.u32 %r6, 1;\nbra B;\nA:\nmov.u32 %r6, "
                      "2;\nB:\n"),
               false},
           Row{"a loop within", moving(skip, "L:\nadd.u32 %r9, %r9, 1;\nsetp.lt.u32 %p2, %r9, %r3;\n@%p2 bra L;\n"),
               false},
           Row{"one after the other",
               moving(
                   "setp.ge.u32 %p1, %r3, %r1;\n@%p1 bra A;\nmov.u32 %r6, 1;\nA:\nsetp.ge.u32 %p2, %r3, 3;\n@%p2 bra "
                   "NEXT;\n"),
               false},
           Row{"a question of several",
               moving("setp.ge.u32 %p2, %r3, 5;\nsetp.ge.and.u32 %p1, %r3, %r1, %p2;\n@%p1 bra NEXT;\n"), false},
           Row{"a pair", moving("setp.ge.u32 %p1|%p2, %r3, %r1;\n@%p1 bra NEXT;\n"), false},
           Row{"asked under a guard",
               moving("setp.lt.u32 %p2, %r2, 5;\n@%p2 setp.ge.u32 %p1, %r3, %r1;\n@%p1 bra NEXT;\n"), false},
           Row{"asked of real numbers", moving("setp.ge.f32 %p1, %r3, %r1;\n@%p1 bra NEXT;\n"), false},
           Row{"no question of its own", moving("@%p3 bra NEXT;\n"), false},
           Row{"a guarded load", moving("setp.lt.u32 %p2, %r2, 5;\n@%p2 ld.global.u32 %r5, [%rd4];\n"), false},
           Row{"a guarded move", moving("setp.lt.u32 %p2, %r2, 5;\n@%p2 mov.u32 %r5, 1;\n"), false},
           Row{"a load that other lanes' address",
               moving("mul.lo.u32 %r6, %r3, %r3;\nmul.wide.u32 %rd8, %r6, 4;\nadd.u64 %rd9, %rd1, %rd8;\nld.global.u32 "
                      "%r7, [%rd9];\n"),
               false},
           Row{"an index that warps load",
               moving(".shared .align 4 .b32 c[4];\nld.shared.u32 %r6, [c];\nadd.u32 %r7, %r3, "
                      "%r6;\nmul.wide.u32 %rd8, %r7, 4;\nadd.u64 %rd9, %rd1, %rd8;\n"
                      "ld.global.u32 %r8, [%rd9];\n"),
               false},
           Row{"a vote", moving("setp.lt.u32 %p2, %r2, 5;\nvote.sync.any.pred %p3, %p2, -1;\n"), false},
           Row{"volatile", moving("ld.volatile.global.u32 %r7, [%rd4];\n"), false},
           Row{"bytes", moving("ld.global.u8 %r7, [%rd4];\n"), false},
           Row{"nothing to hoist", "mov.u32 %r2, %tid.x;\nmov.u32 %r3, %r2;\n", false},
       }) {
    const Analysed k(row.text, {128, 1, 1});
    EXPECT_EQ(k.hoisted() != nullptr, row.hoisted) << row.why;
  }
  // Elements of up to 16 bytes, one behind the other.
  for (const auto& [type, bytes, words] : {std::tuple{"u8 %r5", 1, true},
                                           {"u16 %r5", 2, true},
                                           {"u32 %r5", 4, true},
                                           {"u64 %rd9", 8, true},
                                           {"v2.u32 {%r5, %r6}", 8, true},
                                           {"v4.u32 {%r5, %r6, %r7, %r8}", 16, true},
                                           {"v2.u64 {%rd9, %rd10}", 16, true},
                                           {"v4.u64 {%rd9, %rd10, %rd11, %rd12}", 32, false}})
    for (const int step : {bytes, 2 * bytes}) {
      const Analysed k(
          "ld.param.u64 %rd1, [in];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\nadd.u32 %r3, %r2, %r1;\n"
          "mul.wide.u32 %rd3, %r3, " +
              std::to_string(step) + ";\nadd.u64 %rd4, %rd1, %rd3;\nld.global." + type + ", [%rd4];\n",
          {128, 1, 1});
      EXPECT_EQ(k.hoisted() != nullptr, words && step == bytes) << type << " at a step of " << step;
    }
}

}  // namespace
}  // namespace coalesce::native::test
