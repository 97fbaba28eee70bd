// Modules of separately compiled files become one.
#include "machine/ptx/link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

#include "machine/api/machine.h"
#include "machine/ptx/parser.h"

namespace coalesce::ptx {
namespace {

using testing::ElementsAre;

std::string text(const std::string& body) { return ".version 8.0\n.target sm_90\n.address_size 64\n" + body; }

Module linked(const std::vector<std::string>& bodies) {
  std::vector<Module> modules;
  for (const std::string& body : bodies) modules.push_back(parse(text(body), "test.ptx"));
  return link(std::move(modules));
}

const Variable& variable(const Module& m, const std::string& name) {
  for (const Variable& v : m.variables)
    if (v.name == name) return v;
  throw std::out_of_range(name);
}

std::vector<std::string> variables(const Module& m) {
  std::vector<std::string> names;
  for (const Variable& v : m.variables) names.push_back(v.name);
  return names;
}

TEST(Link, ADefinitionTakesTheDeclarationsPlaceInAnyOrder) {
  const std::string uses = ".extern .global .align 4 .u32 x;", defines = ".visible .global .align 4 .u32 x = 7;";
  for (const auto& bodies : {std::vector{uses, defines}, std::vector{defines, uses}}) {
    const Module m = linked(bodies);
    EXPECT_THAT(variables(m), ElementsAre("x"));
    EXPECT_FALSE(variable(m, "x").is_extern);
    EXPECT_THAT(variable(m, "x").initial, ElementsAre(7, 0, 0, 0));
  }
}

TEST(Link, TheFirstModuleSaysWhatForTheProgramIs) {
  std::vector<Module> modules;
  modules.push_back(parse(".version 7.8\n.target sm_86\n.address_size 64\n", "a.ptx"));
  modules.push_back(parse(".version 8.5\n.target sm_90\n.address_size 64\n", "b.ptx"));
  const Module m = link(std::move(modules));
  EXPECT_EQ(m.target, "sm_86");
  EXPECT_EQ(m.version_major * 100 + m.version_minor, 708u);
  EXPECT_EQ(m.address_size, 64u);
}

TEST(Link, AWeakDefinitionGivesWay) {
  const std::string weak = ".weak .global .align 4 .u32 x = 1;", strong = ".visible .global .align 4 .u32 x = 2;";
  EXPECT_EQ(variable(linked({weak, strong}), "x").initial[0], 2);
  EXPECT_EQ(variable(linked({strong, weak}), "x").initial[0], 2);
  EXPECT_EQ(variable(linked({weak, ".weak .global .align 4 .u32 x = 3;"}), "x").initial[0], 1);
}

TEST(Link, LocalNamesStayApart) {
  const std::string one = ".global .align 4 .u32 x = 1;\n.visible .global .align 8 .u64 px = x;";
  const std::string two = ".global .align 4 .u32 x = 2;\n.visible .global .align 8 .u64 py = x;";
  const Module m = linked({one, two});
  EXPECT_THAT(variables(m), ElementsAre("x", "px", "x@2", "py"));
  EXPECT_EQ(variable(m, "px").relocations.at(0).symbol, "x");
  EXPECT_EQ(variable(m, "py").relocations.at(0).symbol, "x@2");
}

TEST(Link, LocalFunctionsStayApart) {
  const auto module = [](const std::string& kernel, const std::string& number) {
    return ".func (.param .b32 r) f()\n{\nst.param.b32 [r], " + number + ";\nret;\n}\n.visible .entry " + kernel +
           "()\n{\n.param .b32 v;\ncall.uni (v), f, ();\nret;\n}\n";
  };
  const Module m = linked({module("one", "1"), module("two", "2")});
  std::vector<std::string> names;
  for (const Function& f : m.functions) names.push_back(f.name);
  EXPECT_THAT(names, testing::UnorderedElementsAre("f", "one", "f@2", "two"));
  for (const Function& f : m.functions)
    if (f.is_entry) EXPECT_EQ(f.body.at(0).operands.at(1).name, f.name == "one" ? "f" : "f@2");
}

// A local name gives way to a shared one of another module, also where the shared one comes later.
TEST(Link, ALocalNameDoesNotHideASharedOne) {
  const Module m = linked({".global .align 4 .u32 x = 1;", ".visible .global .align 4 .u32 x = 2;"});
  EXPECT_EQ(variable(m, "x").initial[0], 2);
  EXPECT_EQ(variable(m, "x@1").initial[0], 1);
}

TEST(Link, PlacesCountOnThroughTheModules) {
  const std::string body = ".visible .func %s()\n{\n.loc 1 5 1\nret;\n}\n.file 1 \"%s.cu\"";  // without a line's end
  const auto with = [&](const std::string& name) {
    std::string b = body;
    while (b.find("%s") != std::string::npos) b.replace(b.find("%s"), 2, name);
    return b;
  };
  const Module m = linked({with("a"), with("b")});
  ASSERT_EQ(m.functions.size(), 2u);
  for (const Function& f : m.functions) {
    const uint32_t line = f.body.at(0).line;
    std::size_t at = 0;
    for (uint32_t k = 1; k < line; ++k) at = m.text.find('\n', at) + 1;
    EXPECT_EQ(m.text.substr(at, 4), "ret;") << f.name;
    EXPECT_EQ(f.line + 3, line);
    std::string path;
    for (const auto& [number, p] : m.files)
      if (number == f.locations.at(0).file) path = p;
    EXPECT_EQ(path, f.name + ".cu");
  }
}

TEST(Link, AliasesOfLocalFunctionsStayApart) {
  const std::string body = ".func h();\n.func g() { ret; }\n.alias h, g;\n";
  const Module m = linked({body, body});
  using Alias = std::pair<std::string, std::string>;
  EXPECT_THAT(m.aliases, ElementsAre(Alias{"h", "g"}, Alias{"h@2", "g@2"}));
  EXPECT_EQ(m.address_size, 64u);
}

// A kernel of one file calls a function of another that reads a constant there, through a pointer of a third.
TEST(Link, ProgramsOfSeveralFilesRun) {
  const std::string main = text(
      ".extern .func (.param .b32 r) twice(.param .b32 a);\n.extern .global .align 8 .u64 where;\n"
      ".visible .entry k(.param .u64 to)\n{\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n"
      "ld.param.u64 %rd1, [to];\nmov.u32 %r1, %tid.x;\n"
      "{\n.param .b32 p;\n.param .b32 q;\nst.param.b32 [p], %r1;\ncall.uni (q), twice, (p);\n"
      "ld.param.b32 %r2, [q];\n}\n"
      "ld.global.u64 %rd2, [where];\nld.global.u32 %r3, [%rd2];\nadd.s32 %r2, %r2, %r3;\n"
      "mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd1, %rd1, %rd3;\nst.global.u32 [%rd1], %r2;\nret;\n}\n");
  const std::string function = text(
      ".const .align 4 .u32 factor = 2;\n"
      ".visible .func (.param .b32 r) twice(.param .b32 a)\n{\n.reg .b32 %r<4>;\n"
      "ld.param.b32 %r1, [a];\nld.const.u32 %r2, [factor];\nmul.lo.u32 %r3, %r1, %r2;\nst.param.b32 [r], "
      "%r3;\nret;\n}\n");
  const std::string data =
      text(".global .align 4 .u32 factor = 1000;\n.visible .global .align 8 .u64 where = generic(factor);\n");
  machine::Machine m(*machine::find_device("h200"), {});
  const auto program = m.load(std::vector{main, function, data}, "test");
  const machine::Allocation* to = m.memory().allocate(128, machine::Origin::device, "cudaMalloc");
  machine::LaunchConfig config;
  config.block = {32, 1, 1};
  config.parameters.resize(8);
  std::memcpy(config.parameters.data(), &to->base, 8);
  const machine::LaunchReport report = m.launch(*program, "k", config);
  ASSERT_EQ(report.fault, machine::Fault::none) << report.diagnostics.at(0).message;
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(reinterpret_cast<const uint32_t*>(to->base)[i], 2 * i + 1000);
}

}  // namespace
}  // namespace coalesce::ptx
