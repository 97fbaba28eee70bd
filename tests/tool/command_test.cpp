// The command as a whole, in an installed tree made for the test: the real executable, and in place of a CUDA program a
// script that writes a record as our CUDA runtime would. Exit codes, streams and files are what is tested here.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/tool/fixture.h"
#include "tool/command/cache.h"

namespace coalesce::tool {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class CommandTest : public testing::Test {
 protected:
  void SetUp() override {
    const fs::path real = fs::path(COALESCE_BINARY_DIR) / "bin/coalesce";
    ASSERT_TRUE(fs::exists(real)) << real << " is not built";
    std::string pattern = testing::TempDir() + "coalesce-command-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    tree = pattern;
    fs::create_directories(tree / "bin");
    fs::create_directories(tree / "lib/coalesce");
    fs::copy_file(real, tree / "bin/coalesce");
    write(tree / "lib/coalesce/libcudart.so.13", "");
    const Values values = {{"global_load_requests", 10},
                           {"global_load_sectors", 80},
                           {"global_load_bytes_requested", 1280},
                           {"compulsory_bytes", 2560}};
    record = kHeader + kernel_text(0, "_Z6reducePi") +
             launch_text(0, values, R"(,"lines":[["a.cu",41,7,)" + counters_text(values, false) + "]]") +
             launch_text(0, values);
    write(tree / "record", record);
    write(tree / "end", kEnd);
  }
  void TearDown() override {
    setenv("PATH", old_path.c_str(), 1);
    if (!tree.empty()) fs::remove_all(tree);
  }
  static void write(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

  fs::path script(const std::string& text) {
    const fs::path path = tree / "app";
    write(path, "#!/bin/sh\n" + text);
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  // A program that launches twice, prints, and ends with this code.
  fs::path program(int code = 0) {
    const std::string dir = tree.string();
    return script("cat " + dir + "/record " + dir +
                  "/end >> \"$COALESCE_RECORD\"\necho to stdout \"$@\"\necho to stderr >&2\nexit " +
                  std::to_string(code) + "\n");
  }

  struct Result {
    int code = -1;
    std::string out, err;
  };
  pid_t start(const std::vector<std::string>& arguments) {
    const pid_t child = fork();
    if (child != 0) return child;
    const auto to = [&](const char* name, int descriptor) {
      dup2(open((tree / name).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), descriptor);
    };
    to("out", 1), to("err", 2);
    setenv("XDG_CACHE_HOME", (tree / "cache").c_str(), 1);
    for (const char* name :
         {"COALESCE_DEVICE", "COALESCE_THREADS", "COALESCE_MAX_INSTRUCTIONS", "COALESCE_ENGINE", "COALESCE_MODEL"})
      unsetenv(name);
    std::vector<char*> words;
    const std::string self = (tree / "bin/coalesce").string();
    words.push_back(const_cast<char*>(self.c_str()));
    for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execv(words[0], words.data());
    _exit(126);
  }
  Result finish(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    Result result;
    if (WIFEXITED(status)) result.code = WEXITSTATUS(status);
    result.out = read_file(tree / "out").value_or("");
    result.err = read_file(tree / "err").value_or("");
    return result;
  }
  Result call(const std::vector<std::string>& arguments) { return finish(start(arguments)); }

  fs::path tree;
  std::string record;
  const std::string old_path = std::getenv("PATH");
};

TEST_F(CommandTest, PassesOutputAndCodeThroughAndPrintsATable) {
  const Result result = call({"run", program(7), "--json", "an argument"});
  EXPECT_EQ(result.code, 7);
  EXPECT_EQ(result.out, "to stdout --json an argument\n") << "what follows the program is the program's";
  EXPECT_THAT(result.err, HasSubstr("to stderr\n"));
  EXPECT_THAT(result.err, HasSubstr("\nreduce "));
  EXPECT_THAT(result.err, HasSubstr("reduce, a.cu:41: Loads move 2.0 times the bytes that they need (8.0"));
  EXPECT_THAT(result.err, Not(HasSubstr("\x1b")));
}

TEST_F(CommandTest, UsageErrorsSendToTheHelpThatHelps) {
  const std::string app = program().string();
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"run", "--threads", "many", app}, "hint: coalesce run --help\n"},
      {{"run", "--on", "mars", app}, "error: --on: takes one of machine, gpu, both, auto, not 'mars'\n"},
      {{"banks", "--width", "3"}, "hint: coalesce banks --help\n"},
      {{"run", "--json"}, "error: --json needs a value: FILE\n"},
      {{"compare", "a.json"}, "error: missing: measured\n"},
      {{"saxpy.cu"}, "hint: to run it: coalesce run saxpy.cu\n"},
      {{app}, "hint: to run it: coalesce run "},
      {{"compare", "none.json", "none.json"}, "cannot read 'none.json': No such file or directory\n"}};
  for (const auto& [arguments, message] : cases) {
    const Result result = call(arguments);
    EXPECT_EQ(result.code, 2) << message;
    EXPECT_THAT(result.err, HasSubstr(message));
  }
  EXPECT_THAT(call({"run", "none.cu"}).err, HasSubstr("cannot read 'none.cu': No such file or directory\n"));
}

TEST_F(CommandTest, QuietPrintsOnlyWhatTheProgramPrints) {
  const Result result = call({"run", "-q", program()});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "to stderr\n");
}

TEST_F(CommandTest, JsonOnStandardOutputIsNothingButJson) {
  const Result result = call({"run", "--json", "-", "--lines", program()});
  EXPECT_EQ(result.code, 0);
  const auto all = nlohmann::json::parse(result.out);
  EXPECT_EQ(all["launches"].size(), 2u);
  EXPECT_EQ(all["launches"][1]["lines"][0]["line"], 41);
  EXPECT_THAT(result.err, HasSubstr("to stdout"));
}

TEST_F(CommandTest, AnUnwritableExportIsFoundBeforeTheRun) {
  const Result result = call({"run", "--json", (tree / "none/x.json").string(), program()});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "") << "the program must not have run";
  EXPECT_THAT(result.err, HasSubstr("error: --json cannot write"));
}

// An hour's counting is not lost to a full disk: the table is printed, the other exports are written.
TEST_F(CommandTest, AFullDiskLosesOneExportOnly) {
  const std::string html = (tree / "x.html").string();
  const Result result = call({"run", "--json", "/dev/full", "--html", html, program()});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr("\nreduce "));
  EXPECT_THAT(result.err, HasSubstr("error: --json cannot write '/dev/full': No space left on device"));
  EXPECT_THAT(read_file(html).value_or(""), HasSubstr("</html>"));
  const Result checked = call({"check", "--json", "/dev/full", program()});
  EXPECT_EQ(checked.code, 3);
  EXPECT_THAT(checked.err, HasSubstr("no hazards in 2 launches of 1 kernel\n"));
}

TEST_F(CommandTest, ABudgetThatIsExceededIsFour) {
  const std::string budget = (tree / "budget").string();
  EXPECT_EQ(call({"run", "--write-budget", budget, program()}).code, 0);
  const Result kept = call({"run", "--budget", budget, program()});
  EXPECT_EQ(kept.code, 0);
  EXPECT_THAT(kept.err, HasSubstr("budget kept: 9 requirements\n"));
  const Result exceeded = call({"run", "--budget", budget, "--require", "load_excess <= 1.5", program()});
  EXPECT_EQ(exceeded.code, 4);
  EXPECT_THAT(exceeded.err, HasSubstr("load_excess <= 1.5        2    1.5\n"));
  EXPECT_THAT(exceeded.err, HasSubstr("budget exceeded: 1 of 10 requirements\n"));
  const Result quiet = call({"run", "-q", "--require", "load_excess <= 1.5", program()});
  EXPECT_EQ(quiet.code, 4);
  EXPECT_THAT(quiet.err, HasSubstr("load_excess <= 1.5        2    1.5\n")) << "a failure says why";
  EXPECT_THAT(quiet.err, Not(HasSubstr("excess    moved")));
  EXPECT_EQ(call({"run", "--require", "load_excess <= 1.5", program(7)}).code, 7)
      << "the program's own failure says more";
  EXPECT_EQ(call({"run", "--require", "nonsense", program()}).code, 2);
  EXPECT_EQ(call({"run", "--budget", "none", program()}).code, 2);
}

TEST_F(CommandTest, WhatCiReadsIsWritten) {
  const std::string sarif = (tree / "sarif").string(), junit = (tree / "junit").string();
  const Result result = call({"run", "--sarif", sarif, "--junit", junit, "--format", "github", program()});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(nlohmann::json::parse(*read_file(sarif))["runs"][0]["results"][0]["ruleId"], "loads");
  EXPECT_THAT(*read_file(junit), HasSubstr("tests=\"2\" failures=\"0\""));
  EXPECT_THAT(result.err, HasSubstr("\n::warning file="));
  EXPECT_THAT(result.err, HasSubstr("a.cu,line=41,title=Loads move more"));
  EXPECT_THAT(call({"run", "-q", "--format", "gcc", program()}).err,
              HasSubstr("a.cu:41: warning: reduce: Loads move 2.0 times"));
  const Result checked = call({"check", "-q", "--sarif", "-", program()});
  EXPECT_EQ(checked.code, 0);
  EXPECT_EQ(nlohmann::json::parse(checked.out)["runs"][0]["results"].size(), 0u);
  for (const char* where : {"gpu", "both"})
    EXPECT_EQ(call({"run", "--on", where, "--sarif", sarif, program()}).code, 2) << where;
  EXPECT_EQ(call({"run", "--sarif", "-", "--json", "-", program()}).code, 2);
}

TEST_F(CommandTest, WithoutALaunchNothingWasChecked) {
  write(tree / "record", kHeader);
  const Result result = call({"check", "--json", (tree / "j").string(), program()});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr("nothing was checked: no kernel was launched\n"));
  EXPECT_THAT(result.err, Not(HasSubstr("no hazards")));
  EXPECT_EQ(nlohmann::json::parse(*read_file(tree / "j"))["exit_code"], 3);
  EXPECT_EQ(call({"check", program(7)}).code, 7) << "the program's own failure says more";
}

TEST_F(CommandTest, ProgramsThatNeverUseCudaAreAnError) {
  const Result result = call({"run", script("exit 0\n")});
  EXPECT_EQ(result.code, 125);
  EXPECT_THAT(result.err, HasSubstr("error: "));
  EXPECT_EQ(call({"run", script("exit 9\n")}).code, 9) << "its own failure says more";
}

TEST_F(CommandTest, AFaultThatTheProgramIgnoresIsFour) {
  record.replace(record.find("\"fault\":\"\""), 10, "\"fault\":\"illegal_address\"");
  write(tree / "record", record);
  const Result result = call({"run", program()});
  EXPECT_EQ(result.code, 4);
  EXPECT_THAT(result.err, HasSubstr("ended with illegal_address"));
  EXPECT_EQ(call({"run", program(3)}).code, 3);
}

TEST_F(CommandTest, DeathBySignalIs128PlusAndKeepsWhatFinished) {
  const std::string dir = tree.string();
  const Result result = call(
      {"run", "--json", (tree / "j").string(), script("cat " + dir + "/record >> $COALESCE_RECORD\nkill -SEGV $$\n")});
  EXPECT_EQ(result.code, 128 + SIGSEGV);
  EXPECT_EQ(nlohmann::json::parse(*read_file(tree / "j"))["launches"].size(), 2u);
  EXPECT_THAT(result.err, HasSubstr("warning:"));
}

TEST_F(CommandTest, AnInterruptionReachesTheProgramAndTheJsonIsWritten) {
  const std::string dir = tree.string();
  const pid_t child =
      start({"run", "--json", (tree / "j").string(),
             script("cat " + dir + "/record >> $COALESCE_RECORD\ntouch " + dir + "/ready\nexec sleep 60\n")});
  for (int i = 0; i < 500 && !fs::exists(tree / "ready"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_TRUE(fs::exists(tree / "ready"));
  kill(child, SIGINT);
  EXPECT_EQ(finish(child).code, 130);
  EXPECT_EQ(nlohmann::json::parse(*read_file(tree / "j"))["launches"].size(), 2u);
}

TEST_F(CommandTest, TheEnvironmentOfTheProgram) {
  const Result result =
      call({"run", "--device", "a100", "--threads", "3", "--max-instructions", "99", "-q", "--engine", "interpreter",
            "--model", "ptxas",
            script("echo $LD_LIBRARY_PATH $COALESCE_DEVICE $COALESCE_THREADS "
                   "$COALESCE_MAX_INSTRUCTIONS $COALESCE_PROGRESS $COALESCE_COLOR $COALESCE_ENGINE $COALESCE_MODEL\n"
                   "exit 1\n")});
  EXPECT_THAT(result.out, testing::StartsWith((tree / "lib/coalesce").string()));
  EXPECT_THAT(result.out, HasSubstr(" a100 3 99 0 0 interpreter ptxas\n"));
}

TEST_F(CommandTest, WhatOnlyTheMachineCountsIsCountedThere) {
  const std::string app = script("echo $COALESCE_DEVICE\nexit 1\n").string();
  EXPECT_EQ(call({"run", "-q", "--on", "auto", "--lines", app}).out, "h200\n");
  const Result refused = call({"run", "-q", "--on", "gpu", "--lines", app});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("hint: --on machine"));
}

TEST_F(CommandTest, NativeCodeNeedsItsLibrary) {
  const std::string app = script("echo $COALESCE_ENGINE\nexit 1\n").string();
  const Result without = call({"run", "-q", "--engine", "native", app});
  EXPECT_EQ(without.code, 3);
  EXPECT_THAT(without.err, HasSubstr("error: no libcoalesce_native.so"));
  EXPECT_THAT(without.err, HasSubstr("hint: --engine auto"));
  EXPECT_EQ(call({"run", "-q", "--engine", "auto", app}).out, "auto\n") << "makes do without";
  EXPECT_EQ(call({"run", "-q", app}).out, "auto\n") << "the default";
  write(tree / "lib/coalesce/libcoalesce_native.so", "");
  EXPECT_EQ(call({"run", "-q", "--engine", "native", app}).out, "native\n");
}

TEST_F(CommandTest, TheRecordIsRemoved) {
  const Result result = call({"run", "-q", script("echo $COALESCE_RECORD\nexit 1\n")});
  EXPECT_FALSE(fs::exists(result.out.substr(0, result.out.find('\n'))));
}

TEST_F(CommandTest, UsageErrorsAreTwoWithOneErrorLine) {
  const std::string app = program();
  const std::vector<std::vector<std::string>> wrong = {{},
                                                       {"rum", app},
                                                       {"run"},
                                                       {"run", "--bogus", app},
                                                       {"run", "--device", "gtx1", app},
                                                       {"run", "--metrics", "gld_transaction", app},
                                                       {"run", "--filter", "(", app},
                                                       {"run", "--threads", "-3", app},
                                                       {"run", "--threads", "100000", app},
                                                       {"run", "--max-instructions", "18446744073709551616", app},
                                                       {"run", "--json", "", app},
                                                       {"run", "--output", "", app},
                                                       {"check", "--json", "", app},
                                                       {"run", "--color", "pink", app},
                                                       {"run", "--engine", "steam", app},
                                                       {"run", "--json"},
                                                       {"lab", "reduce", "--n", "-5"},
                                                       {"lab", "reduce", "--n", "1.5"},
                                                       {"lab", "reduce", "--block", "0"},
                                                       {"lab", "--bogus"},
                                                       {"lab", "--html", ""},
                                                       {"banks", "--strid", "3"},
                                                       {"banks", "3"},
                                                       {"counters", "sectors"},
                                                       {"completion", "bash", "zsh"},
                                                       {"completion", "tcsh"}};
  for (const auto& arguments : wrong) {
    const Result result = call(arguments);
    const std::string shown = testing::PrintToString(arguments);
    EXPECT_EQ(result.code, 2) << shown;
    EXPECT_EQ(result.out, "") << shown;
    EXPECT_EQ(result.err.find("error: "), 0u) << shown << result.err;
    EXPECT_LE(std::count(result.err.begin(), result.err.end(), '\n'), 2) << result.err;
  }
}

TEST_F(CommandTest, UsageErrorsSayWhatWouldDo) {
  const std::string app = program();
  EXPECT_THAT(call({"run", "--threads", "many", app}).err,
              HasSubstr("takes a whole number from 0 to 1024, not 'many'"));
  EXPECT_THAT(call({"banks", "--strid", "3"}).err, HasSubstr("did you mean --stride?"));
  EXPECT_THAT(call({"run", "--json", "", app}).err, HasSubstr("needs the name of a file"));
}

TEST_F(CommandTest, AfterTwoDashesComesTheProgram) {
  const Result result = call({"run", "-q", "--", program(5), "--", "-q"});
  EXPECT_EQ(result.code, 5) << result.err;
  EXPECT_EQ(result.out, "to stdout -- -q\n");
}

TEST_F(CommandTest, WhatCannotBePrintedIsAnError) {
  for (const char* command : {"counters", "banks", "--help", "completion bash"}) {
    const std::string self = (tree / "bin/coalesce").string() + " " + command;
    EXPECT_EQ(WEXITSTATUS(std::system((self + " > /dev/full 2> " + (tree / "err").string()).c_str())), 3) << command;
    EXPECT_THAT(read_file(tree / "err").value_or(""), StartsWith("error: cannot write to standard output")) << command;
    EXPECT_EQ(WEXITSTATUS(std::system((self + " >&- 2> /dev/null").c_str())), 3) << command;
  }
}

TEST_F(CommandTest, MetricsFilterCsvOutput) {
  EXPECT_THAT(call({"run", "--metrics", "gld_transactions", program()}).err, HasSubstr("Kernel: reduce(int*)\n"));
  EXPECT_THAT(call({"run", "--filter", "nothing_like_it", program()}).err,
              HasSubstr("No kernel matches --filter 'nothing_like_it'; those that were launched do not: reduce(int*)"));
  const Result csv = call({"run", "--csv", "-o", "-", program()});
  EXPECT_EQ(csv.out.find("launch,kernel,"), 0u);
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 3);
  EXPECT_THAT(call({"run", "--lines", program()}).err, HasSubstr("\na.cu:41 "));
}

TEST_F(CommandTest, WithoutARuntimeBesideItTheInstallationIsBroken) {
  fs::remove(tree / "lib/coalesce/libcudart.so.13");
  EXPECT_EQ(call({"run", program()}).code, 3);
}

TEST_F(CommandTest, WithoutACompilerASourceIsAnEnvironmentError) {
  write(tree / "x.cu", "int main() {}\n");
  setenv("PATH", (tree / "bin").c_str(), 1);
  const Result result = call({"run", (tree / "x.cu").string()});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr("hint: "));
}

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

TEST_F(CommandTest, HelpAndVersion) {
  for (const char* command : {"run", "lab", "counters", "completion"}) {
    const Result result = call({command, "--help"});
    EXPECT_EQ(result.code, 0);
    EXPECT_THAT(result.out, HasSubstr("Examples:")) << command;
  }
  EXPECT_THAT(call({"--version"}).out, HasSubstr("coalesce "));
}

TEST_F(CommandTest, CompletionScriptsAreValidShell) {
  const Result bash = call({"completion", "bash"});
  for (const char* word : {"--metrics", "--json", "h200", "lab"}) EXPECT_THAT(bash.out, HasSubstr(word));
  write(tree / "c.bash", bash.out);
  EXPECT_EQ(std::system(("bash -n " + (tree / "c.bash").string()).c_str()), 0);
  EXPECT_THAT(call({"completion", "zsh"}).out, HasSubstr("#compdef coalesce"));
  EXPECT_THAT(call({"completion", "fish"}).out, HasSubstr("-l metrics"));
}

}  // namespace
}  // namespace coalesce::tool
