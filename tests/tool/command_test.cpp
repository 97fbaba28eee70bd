// The command as a whole (command_fixture.h): exit codes, streams and files.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/tool/command_fixture.h"

namespace coalesce::tool {
namespace {

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
      {{"compare", "a.json"}, "error: missing: RUN.json|NCU.csv\n"},
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
