// claims.toml: the file, the language of its expressions, and verdicts.
#include "tool/figures/claims.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <regex>
#include <stdexcept>

#include "tool/command/cache.h"
#include "tool/command/experiment_run.h"
#include "tool/figures/error.h"
#include "tool/figures/experiment_source.h"

namespace coalesce::tool {
namespace {

using testing::HasSubstr;

double number(const std::string& expression) {
  return evaluate(expression, [](const Name& name) -> double {
    if (name.quantity == "figure") return 15;
    if (name.rung == "a<1>" && name.step == 2) return 7;
    return name.rung == "a" ? 6 : 2;
  });
}

TEST(Expression, Precedence) {
  EXPECT_EQ(number("1 + 2 * 3"), 7);
  EXPECT_EQ(number("(1 + 2) * 3"), 9);
  EXPECT_EQ(number("10 - 4 - 3"), 3);
  EXPECT_EQ(number("12 / 3 / 2"), 2);
  EXPECT_EQ(number("-2 * -3"), 6);
  EXPECT_EQ(number("1 + 1 == 2"), 1);
  EXPECT_EQ(number("1 < 2 and 2 < 1 or 1 <= 1"), 1);
  EXPECT_EQ(number("0 and 0 or 0"), 0);
  EXPECT_EQ(number("3 != 3"), 0);
  EXPECT_EQ(number("2.5e1"), 25);
}

TEST(Expression, Names) {
  EXPECT_EQ(number("a.x / b.x"), 3);
  EXPECT_EQ(number("figure >= a.x"), 1);
  EXPECT_EQ(number("'a<1>'.step[2].x"), 7);
  EXPECT_EQ(number("android.x + organ.x"), 4) << "names that begin like operators";
}

TEST(Expression, Mistakes) {
  for (const char* text : {"", "1 +", "(1", "1 2", "a", "a.", "a.step", "a.step[0].x", "a.step[1.5].x", "a.step[1]",
                           "'a.x", "1 / 0", "1 = 1", "a.x < < 1", "and"}) {
    EXPECT_THROW(number(text), std::invalid_argument) << text;
  }
  EXPECT_THROW(number(std::string(100000, '(')), std::invalid_argument);
  EXPECT_THROW(number(std::string(100000, '-') + "1"), std::invalid_argument);
}

const std::string kHead = "options = [\"n\"]\n[[claim]]\ntext = \"t\"\ndocument = \"d\"\n";

std::string complaint(const std::string& text) {
  try {
    parse_claims(text, "claims.toml");
  } catch (const Error& error) {
    EXPECT_EQ(error.code, Exit::environment);
    return error.what();
  }
  return "";
}

TEST(Claims, MistakesNameTheLine) {
  EXPECT_EQ(complaint(kHead + "holds = \"1\"\n"), "");
  EXPECT_THAT(complaint(kHead + "holds = \n"), HasSubstr("claims.toml:5: "));
  const std::string chart = kHead + "holds = \"1\"\n[chart]\nbefore = \"a\"\nafter = \"b\"\n";
  EXPECT_EQ(complaint(chart + "measure = \"moved_bytes\"\n"), "");
  EXPECT_THAT(complaint(chart + "measure = \"bytes\"\n"), HasSubstr("'measure' is one of moved_bytes, "));
  EXPECT_THAT(complaint(chart), HasSubstr("'measure' is one of"));
  EXPECT_THAT(complaint("order = \"first\"\n"), HasSubstr("'order' takes a whole number"));
  EXPECT_THAT(complaint(kHead + "hold = \"1\"\n"), HasSubstr("claims.toml:5: unknown key 'hold'"));
  EXPECT_THAT(complaint(kHead + "holds = 1\n"), HasSubstr("claims.toml:5: 'holds' takes text"));
  EXPECT_THAT(complaint(kHead + "holds = \"1\"\nfigure = \"x\"\n"),
              HasSubstr("claims.toml:6: 'figure' takes a number"));
  EXPECT_THAT(complaint(kHead + "holds = \"a.secters > 1\"\n"), HasSubstr("no quantity is called 'secters'"));
  EXPECT_THAT(complaint(kHead + "holds = \"a.step[1].h2d_calls\"\n"), HasSubstr("no quantity is called 'h2d_calls'"));
  EXPECT_THAT(complaint(kHead + "value = \"a.sectors >\"\nholds = \"1\"\n"), HasSubstr("claims.toml:5: "));
  EXPECT_THAT(complaint(kHead), HasSubstr("either 'holds' or 'needs'"));
  EXPECT_THAT(complaint(kHead + "needs = \"luck\"\n"), HasSubstr("claims.toml:5: 'needs'"));
  EXPECT_THAT(complaint("[[claim]]\nholds = \"1\"\n"), HasSubstr("a claim needs 'text' and 'document'"));
  EXPECT_THAT(complaint("claim = 3\n"), HasSubstr("claims are written as [[claim]]"));
  EXPECT_THAT(complaint("separate = true\n"), HasSubstr("go together"));
}

std::vector<Rung> ladder() {
  std::vector<Rung> rungs(2);
  rungs[0].name = "slow";
  rungs[0].counters.global_load_sectors = 80;
  rungs[0].steps.resize(1);
  rungs[0].steps[0].conflict_degree = 2;
  rungs[1].name = "fast";
  rungs[1].counters.global_load_sectors = 10;
  return rungs;
}

Claim judged(const std::string& more, const std::vector<Rung>& rungs = ladder(), bool defaults = true) {
  return judge(parse_claims(kHead + more, "claims.toml").rows.at(0), rungs, defaults);
}

TEST(Claims, Verdicts) {
  const std::string ratio = "figure = 8\nvalue = \"slow.global_load_sectors / fast.global_load_sectors\"\n";
  const Claim holds = judged(ratio + "holds = \"value == figure\"\n");
  EXPECT_EQ(holds.verdict, Verdict::holds);
  EXPECT_EQ(holds.value, 8);
  EXPECT_EQ(judged(ratio + "holds = \"value > figure\"\n").verdict, Verdict::does_not_hold);
  EXPECT_EQ(judged("holds = \"slow.step[1].conflict_degree == 2\"\n").verdict, Verdict::holds);

  const Claim time = judged(ratio + "needs = \"time\"\n");
  EXPECT_EQ(time.verdict, Verdict::cannot_be_judged);
  EXPECT_EQ(time.value, 8) << "what was counted is said all the same";
  EXPECT_THAT(time.reason, HasSubstr("GPU"));
}

TEST(Claims, WhatCannotBeJudgedSaysWhy) {
  EXPECT_THAT(judged("holds = \"gone.sectors > 1\"\n").reason, HasSubstr("no rung called gone"));
  EXPECT_THAT(judged("holds = \"slow.step[2].conflict_degree > 1\"\n").reason, HasSubstr("has no step 2"));
  EXPECT_THAT(judged("holds = \"slow.h2d_calls > 1\"\n").reason, HasSubstr("not counted apart"));
  EXPECT_THAT(judged("holds = \"slow.sectors / slow.barriers > 1\"\n").reason, HasSubstr("division by zero"));
  EXPECT_THAT(judged("holds = \"value > 1\"\n").reason, HasSubstr("has no value"));
  EXPECT_THAT(judged("holds = \"1\"\ndefaults_only = true\n", ladder(), false).reason, HasSubstr("default sizes"));
  std::vector<Rung> wrong = ladder();
  wrong[1].result = Rung::Result::wrong;
  const Claim claim = judged("holds = \"fast.sectors > 1\"\n", wrong);
  EXPECT_EQ(claim.verdict, Verdict::cannot_be_judged);
  EXPECT_THAT(claim.reason, HasSubstr("fast is wrong"));
}

// Every experiment that there is: a title, claims that can be read, and no figure claimed in vain.
TEST(Claims, OfAllExperiments) {
  const auto experiments = find_experiments(COALESCE_SOURCE_DIR "/lab");
  EXPECT_EQ(experiments.size(), 12u);
  for (const Experiment& e : experiments) {
    EXPECT_FALSE(e.title.empty()) << e.name;
    const auto text = read_file(e.source.parent_path() / "claims.toml");
    ASSERT_TRUE(text) << e.name;
    const ClaimFile file = parse_claims(*text, e.name);
    EXPECT_FALSE(file.rows.empty()) << e.name;
    for (const ClaimRule& row : file.rows)
      EXPECT_TRUE(!row.claim.figure || !row.claim.value_expression.empty() || !row.needs.empty()) << row.claim.text;
  }
}

TEST(Source, TitlesAndComments) {
  EXPECT_EQ(title_of("// One thing, and\n// another. And more.\ncode"), "One thing, and another");
  EXPECT_EQ(title_of("// One thing.\n\n// Two."), "One thing");
  EXPECT_EQ(title_of("code"), "");
  const std::string source =
      "// Rung 1. It loads. Twice.\n// Counters: two\n// requests.\ntemplate <int N>\n__global__ void first(int* p) {\n"
      "  second(p);\n}\n\n// Rung host. Copies.\nvoid second(int* p) {}\n";
  EXPECT_EQ(comment_of(source, "first").changed, "It loads. Twice.");
  EXPECT_EQ(comment_of(source, "first").expected, "two requests.");
  EXPECT_EQ(comment_of(source, "second").changed, "Copies.");
  EXPECT_EQ(comment_of(source, "third").changed, "");
  EXPECT_EQ(comment_of("__global__ void first() {}", "first").changed, "");
}

// A GPU's figures stand in docs/results/h200.md, which is generated; a copy would fall behind.
TEST(Claims, NotesHoldNoMeasuredFigures) {
  const std::regex figure(R"([0-9](\.[0-9]+)? ?(us|ms|GB/s|cycles|times))");
  for (const Experiment& experiment : find_experiments(COALESCE_SOURCE_DIR "/lab")) {
    const auto path = experiment.source.parent_path() / "claims.toml";
    const auto text = read_file(path);
    ASSERT_TRUE(text) << path;
    for (const ClaimRule& row : parse_claims(*text, path.string()).rows)
      EXPECT_FALSE(std::regex_search(row.claim.note, figure)) << path << ": " << row.claim.note;
  }
}

}  // namespace
}  // namespace coalesce::tool
