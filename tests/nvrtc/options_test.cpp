// NVRTC's options: every form in which a program may write one.
#include "nvrtc/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coalesce::nvrtc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string read(const std::vector<const char*>& words, Options& options) {
  options = {};
  return read_options(static_cast<int>(words.size()), words.data(), options);
}

TEST(NvrtcOptions, AValueStandsBehindAnEqualsSignOrIsTheNextWord) {
  for (const std::vector<const char*>& words :
       std::vector<std::vector<const char*>>{{"--gpu-architecture=compute_80"},
                                             {"--gpu-architecture", "compute_80"},
                                             {"-arch=compute_80"},
                                             {"-arch", "compute_80"}}) {
    Options o;
    EXPECT_EQ(read(words, o), "");
    EXPECT_EQ(o.architecture, 80u);
    EXPECT_FALSE(o.machine_code);
  }
}

TEST(NvrtcOptions, MachineCodeIsAskedForBySm) {
  Options o;
  EXPECT_EQ(read({"-arch=sm_90a"}, o), "");
  EXPECT_EQ(o.architecture, 90u);
  EXPECT_TRUE(o.machine_code);
}

TEST(NvrtcOptions, PreprocessorWordsKeepTheirOrder) {
  Options o;
  EXPECT_EQ(
      read({"-DA", "-D", "B=1", "-D=C", "--define-macro=E=2", "-UA", "-I/x", "--include-path", "y z", "-I =q"}, o), "");
  EXPECT_THAT(o.preprocessor, ElementsAre("-DA", "-DB=1", "-DC", "-DE=2", "-UA", "-I/x", "-Iy z", "-Iq"));
}

TEST(NvrtcOptions, FastMathIsFourOptions) {
  Options o;
  EXPECT_EQ(read({"-fmad=false", "--use_fast_math"}, o), "");
  EXPECT_TRUE(o.fast && o.flush && o.fuse && !o.precise_divide && !o.precise_root);
}

TEST(NvrtcOptions, TruthsAndFlags) {
  Options o;
  EXPECT_EQ(read({"--fmad=false", "-ftz=true", "-rdc", "true", "-default-device", "-lineinfo", "-w", "--std=c++20",
                  "-no-source-include", "--maxrregcount=32", "-include", "a.h"},
                 o),
            "");
  EXPECT_TRUE(!o.fuse && o.flush && o.relocatable && o.all_device && o.lines && o.quiet && !o.source_folder);
  EXPECT_EQ(o.standard, "c++20");
  EXPECT_EQ(o.registers, 32u);
  EXPECT_THAT(o.included, ElementsAre("a.h"));
}

TEST(NvrtcOptions, WhatIsWrongIsNamed) {
  const std::pair<std::vector<const char*>, const char*> kWrong[] = {
      {{"--foo"}, "unrecognized option --foo"},        {{"-arch=sm_1"}, "invalid value for --gpu-architecture (-arch)"},
      {{"-arch=compute_90x"}, "invalid value"},        {{"-arch"}, "has no value"},
      {{"--std=c++99"}, "invalid value for --std"},    {{"--fmad=7"}, "expects true or false"},
      {{"-dlto"}, "asks for a format other than PTX"}, {{"-D"}, "has no value"},
      {{"-w", nullptr}, "option 2 is a null pointer"},
  };
  for (const auto& [words, text] : kWrong) {
    Options o;
    EXPECT_THAT(read(words, o), HasSubstr(text));
  }
  Options o;
  EXPECT_NE(read_options(1, nullptr, o), "");
}

}  // namespace
}  // namespace coalesce::nvrtc
