#include "machine/diagnostic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

namespace coalesce::machine {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Diagnostic, RendersAFaultWithItsSourceLine) {
  const std::string path = testing::TempDir() + "diagnostic_test.cu";
  std::ofstream(path) << "first\n  o[i] = x[i];\n";
  Diagnostic d;
  d.fault = Fault::illegal_address;
  d.message = "load of 4 bytes is out of bounds";
  d.place = {path, 2, 10};
  d.ptx_line = 33;
  d.ptx_text = "\tld.global.u32 \t%r1, [%rd4];";
  d.kernel = "_Z4copyPiPKi";
  d.block = {1, 2, 3};
  d.warp = 4;
  d.lanes = 0x5;
  d.thread = {128, 0, 0};
  d.notes = {"the allocation was made by cudaMalloc", "second note"};
  EXPECT_EQ(render(d, false), path +
                                  ":2:10: error: load of 4 bytes is out of bounds\n"
                                  "    2 |   o[i] = x[i];\n"
                                  "      |          ^\n"
                                  "  kernel  copy(int*, int const*)\n"
                                  "  block   (1, 2, 3), warp 4, lanes 0x00000005 (2 lanes)\n"
                                  "  thread  (128, 0, 0)\n"
                                  "  PTX line 33: ld.global.u32  %r1, [%rd4];\n"
                                  "  note: the allocation was made by cudaMalloc\n"
                                  "  note: second note\n");
  std::remove(path.c_str());
}

TEST(Diagnostic, SaysLessWhenLessIsKnown) {
  Diagnostic d;
  d.severity = Severity::warning;
  d.message = "something";
  EXPECT_EQ(render(d, false), "warning: something\n");
  d.place = {"no/such/file.cu", 7, 0};
  d.kernel = "not_mangled";
  const std::string text = render(d, false);
  EXPECT_THAT(text, testing::StartsWith("no/such/file.cu:7: warning: something\n  kernel  not_mangled\n"));
  EXPECT_THAT(text, Not(HasSubstr("lanes")));
}

TEST(Diagnostic, ReadsOnlyRegularFiles) {
  Diagnostic d;
  d.message = "m";
  d.place = {"/dev/zero", 3, 1};
  EXPECT_EQ(render(d, false), "/dev/zero:3:1: error: m\n");
}

TEST(Diagnostic, ColoursOnlyWhenAsked) {
  Diagnostic d;
  d.message = "m";
  EXPECT_THAT(render(d, true), HasSubstr("\033[1;31merror: \033[0m"));
  EXPECT_THAT(render(d, false), Not(HasSubstr("\033")));
}

TEST(Diagnostic, ForeignTextDoesNotSteerTheTerminal) {
  Diagnostic d;
  d.message = "m\033[2J";
  d.ptx_line = 1;
  d.ptx_text = "\a" + std::string(5000, 'x');
  const std::string text = render(d, false);
  EXPECT_THAT(text, Not(HasSubstr("\033")));
  EXPECT_THAT(text, Not(HasSubstr("\a")));
  EXPECT_LT(text.size(), 300u);
}

TEST(Diagnostic, LongLinesAreCutAroundTheCaret) {
  Diagnostic d;
  d.message = "m";
  d.place = {"x.ptx", 1, 4001};
  d.ptx_line = 1;
  d.ptx_text = std::string(4000, 'a') + "B" + std::string(4000, 'c');
  const std::string text = render(d, false);
  const size_t excerpt = text.find('\n') + 1, caret_line = text.find('\n', excerpt) + 1;
  EXPECT_EQ(text[excerpt + text.find('^', caret_line) - caret_line], 'B') << text;
}

}  // namespace
}  // namespace coalesce::machine
