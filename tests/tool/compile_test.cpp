// `coalesce run` and `coalesce lab` of sources: what is compiled, kept and compiled again.
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "tests/tool/command_fixture.h"

namespace coalesce::tool {
namespace {

// A compiler that is a script: "compiles" by copying the source, which is a script itself, and notes each call.
class CompileTest : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    if (HasFatalFailure()) return;
    const fs::path nvcc = tree / "bin/nvcc";
    write(nvcc,
          "#!/bin/sh\n"
          "echo called >> " +
              (tree / "calls").string() +
              "\n"
              "for word; do\n"
              "  case $before in -o) out=$word ;; -MF) rule=$word ;; esac\n"
              "  case $word in *.cu) source=$word ;; esac\n"
              "  before=$word\n"
              "done\n"
              "if grep -q BROKEN $source; then echo 'x.cu(1): error: it is broken'; exit 2; fi\n"
              "cp $source $out; chmod +x $out\n"
              "echo \"$out: $source " +
              (tree / "header.h").string() + "\" > $rule\n");
    fs::permissions(nvcc, fs::perms::owner_all);
    setenv("PATH", ((tree / "bin").string() + ":" + old_path).c_str(), 1);
    edit(tree / "header.h", "1");
    edit(source(), text());
  }
  // Programs compiled from files as young as the compilation are not kept.
  static void edit(const fs::path& path, const std::string& content) {
    write(path, content);
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
  }
  fs::path source() const { return tree / "x.cu"; }
  std::string text() const {
    return "#!/bin/sh\ncat " + (tree / "record").string() + " " + (tree / "end").string() +
           " >> $COALESCE_RECORD\necho \"reduce $* 12  ok\"\n";
  }
  std::size_t calls() const {
    const std::string lines = read_file(tree / "calls").value_or("");
    return static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n'));
  }
};

TEST_F(CompileTest, CompilesOnceAndAgainWhenAnythingChanges) {
  for (int i = 0; i < 2; ++i) EXPECT_EQ(call({"run", source(), "5"}).out, "reduce 5 12  ok\n");
  EXPECT_EQ(calls(), 1u);
  edit(tree / "header.h", "2");
  EXPECT_EQ(call({"run", source()}).code, 0);
  EXPECT_EQ(calls(), 2u) << "a header changed";
  EXPECT_EQ(call({"run", "-X", "-DA", source()}).code, 0);
  EXPECT_EQ(calls(), 3u) << "another flag";
  edit(source(), text() + "exit 6\n");
  EXPECT_EQ(call({"run", source()}).code, 6);
  EXPECT_EQ(calls(), 4u) << "the source changed";
  edit(tree / "header.h", "1");
  edit(source(), text());
  EXPECT_EQ(call({"run", source()}).code, 0);
  EXPECT_EQ(calls(), 4u) << "as it was at first";
}

// A clang that is a script: it notes what it makes, and of what, and what it makes of the header names the header's
// content.
class PrecompiledTest : public CompileTest {
 protected:
  void SetUp() override {
    CompileTest::SetUp();
    if (HasFatalFailure()) return;
    const std::string header = (tree / "header.h").string();
    fs::create_directories(tree / "share/coalesce/include");
    write(tree / "bin/clang++-19",
          "#!/bin/sh\n"
          "kind=link\n"
          "for word; do\n"
          "  case $before in -o) out=$word ;; -MF) rule=$word ;; esac\n"
          "  case $word in *.cu) source=$word; kind=${kind%link} ;; -emit-pch) kind=header; source=/dev/null ;; esac\n"
          "  case $before$with in -include-pch) with=next ;; -Xclangnext) with=$(cat $word) ;; esac\n"
          "  before=$word\n"
          "done\n"
          "echo \"${kind:-compile} $with\" >> " +
              (tree / "calls").string() +
              "\n"
              "test \"$with\" != cut || exit 1\n"
              "case $kind in header) cat " +
              header + " > $out ;; link) cp " + source().string() +
              " $out; chmod +x $out ;; *) touch $out ;; esac\n"
              "test -z \"$rule\" || echo \"$out: $source " +
              header + "\" > $rule\n");
    fs::permissions(tree / "bin/clang++-19", fs::perms::owner_all);
  }
  // The compiler's notes of one run.
  std::string calls_of(const std::vector<std::string>& flags) {
    fs::remove(tree / "calls");
    std::vector<std::string> words = {"run", "-q", "--compiler", "clang"};
    for (const std::string& flag : flags) words.insert(words.end(), {"-X", flag});
    words.push_back(source());
    const Result result = call(words);
    EXPECT_EQ(result.code, 0) << result.err;
    return read_file(tree / "calls").value_or("");
  }
  const std::string kMakes = "header \nheader \n", kUses = "compile 1\ncompile 1\nlink \n",
                    kReads = "compile \ncompile \nlink \n";
};

TEST_F(PrecompiledTest, TheHeaderIsReadOnceForAllSources) {
  EXPECT_EQ(calls_of({}), kMakes + kUses);
  EXPECT_EQ(calls_of({}), "");
  edit(source(), text() + "#");
  EXPECT_EQ(calls_of({}), kUses);
}

TEST_F(PrecompiledTest, AChangedHeaderIsReadAgainAndItsProgramsAreCompiledAgain) {
  EXPECT_EQ(calls_of({}), kMakes + kUses);
  edit(tree / "header.h", "2");
  EXPECT_EQ(calls_of({}), kMakes + "compile 2\ncompile 2\nlink \n");
}

TEST_F(PrecompiledTest, OtherFlagsHaveAHeaderOfTheirOwnFromTheSecondSourceOn) {
  EXPECT_EQ(calls_of({"-DA"}), kReads);
  edit(source(), text() + "#");
  EXPECT_EQ(calls_of({"-DA"}), kMakes + kUses);
  EXPECT_EQ(calls_of({"-DB"}), kReads);
}

// The script fails with a header that is not one digit, as clang does with one that was cut short.
TEST_F(PrecompiledTest, ADamagedHeaderIsMadeAgain) {
  EXPECT_EQ(calls_of({}), kMakes + kUses);
  for (const auto& entry : fs::directory_iterator(tree / "cache/coalesce"))
    if (fs::exists(entry.path() / "header")) write(entry.path() / "header", "cut");
  edit(source(), text() + "#");
  EXPECT_EQ(calls_of({}), "compile cut\nlink cut\nlink cut\n" + kReads);
  edit(source(), text() + "##");
  EXPECT_EQ(calls_of({}), kMakes + kUses);
}

TEST_F(PrecompiledTest, FlagsThatBringFilesHaveNone) {
  for (const std::string flag : {"-include", "--include"})
    for (int i = 0; i < 2; ++i) {
      edit(source(), text() + std::string(static_cast<std::size_t>(i), '#'));
      EXPECT_EQ(calls_of({flag, (tree / "header.h").string()}), kReads) << flag;
    }
}

TEST_F(CompileTest, TheCompilersOwnMessageAndOne) {
  edit(source(), "BROKEN");
  const Result result = call({"run", source()});
  EXPECT_EQ(result.code, 125);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err.find("x.cu(1): error: it is broken\nerror: "), 0u) << result.err;
  EXPECT_EQ(call({"run", (tree / "none.cu").string()}).code, 125);
}

TEST_F(CompileTest, TheLab) {
  fs::create_directories(tree / "share/coalesce/lab/sums");
  edit(tree / "share/coalesce/lab/sums/sums.cu", text());
  const Result list = call({"lab"});
  EXPECT_EQ(list.code, 0);
  EXPECT_EQ(list.out.find("sums"), 0u);
  const Result ladder = call({"lab", "sums", "--n", "7", "--block", "64"});
  EXPECT_EQ(ladder.code, 0) << ladder.err;
  EXPECT_THAT(ladder.out, HasSubstr("\nreduce "));
  EXPECT_THAT(ladder.out, HasSubstr(" ok\n"));
  EXPECT_THAT(call({"lab", "sums", "--markdown"}).out, HasSubstr("| reduce |"));
  const auto json = nlohmann::json::parse(call({"lab", "all", "--json", "-"}).out);
  EXPECT_EQ(json["schema"], "coalesce.lab/1");
  EXPECT_EQ(json["experiments"][0]["name"], "sums");
  EXPECT_EQ(json["experiments"][0]["rungs"][0]["name"], "reduce");
  EXPECT_EQ(json["experiments"][0]["rungs"][0]["launches"], 2);
  EXPECT_EQ(json["experiments"][0]["rungs"][0]["counters"]["global_load_sectors"], 160);
  EXPECT_THAT(call({"lab", "sums", "--csv"}).out, HasSubstr("\nsums,reduce,ok,2,4x1x1,"));
  EXPECT_EQ(call({"lab", "sums", "--stride", "2"}).code, 2) << "it has no such option";
  EXPECT_EQ(call({"lab", "sums", "--on", "gpu"}).code, 3);
  EXPECT_EQ(call({"lab", "sums", "--on", "moon"}).code, 2);
  edit(tree / "share/coalesce/lab/sums/claims.toml",
       "options = [\"n\", \"block\"]\n[[claim]]\ntext = \"it loads\"\n"
       "document = \"me\"\nfigure = 160\nvalue = \"reduce.global_load_sectors\"\nholds = \"value == figure\"\n");
  EXPECT_THAT(call({"lab", "sums"}).out, HasSubstr("holds: it loads (me)\n  claimed 160, counted 160\n"));
  edit(tree / "share/coalesce/lab/sums/claims.toml", "options = [\"n\"\n");
  const Result broken = call({"lab", "sums"});
  EXPECT_EQ(broken.code, 3);
  EXPECT_THAT(broken.err, HasSubstr("claims.toml:"));
  fs::remove(tree / "share/coalesce/lab/sums/claims.toml");
  EXPECT_EQ(call({"lab", "summs"}).code, 2);
  edit(tree / "share/coalesce/lab/sums/sums.cu", text() + "echo reduce 1 wrong\n");
  EXPECT_EQ(call({"lab", "sums"}).code, 1);
}

}  // namespace
}  // namespace coalesce::tool
