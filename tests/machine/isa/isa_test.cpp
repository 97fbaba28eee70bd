// Every instruction of the PTX ISA's list either decodes or stands there with the reason why it does not:
// tests/truth/isa.txt.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "machine/program/program.h"
#include "machine/ptx/parser.h"

namespace coalesce::machine {
namespace {

struct NoSymbols : SymbolTable {
  Symbol symbol(const std::string&) const override { return {}; }
  uint64_t function_address(const std::string&) const override { return 16; }
};

// Says why the instruction does not decode; empty: it does.
std::string refusal(const std::string& example) {
  const std::string text =
      ".version 8.8\n.target sm_90a\n.address_size 64\n.func work() {\nret;\n}\n.visible .entry k(.param .u64 p)\n{\n"
      ".reg .pred %p<4>;\n.reg .b16 %h<4>;\n.reg .b32 %r<12>;\n.reg .b64 %rd<4>;\n.reg .b128 %q<4>;\n"
      ".reg .f32 %f<10>;\n.reg .f64 %d<4>;\n" +
      example + "\nEND:\nret;\n}\n";
  try {
    const ptx::Module module = ptx::parse(text, "isa");
    const auto kernel = std::find_if(module.functions.begin(), module.functions.end(),
                                     [](const ptx::Function& f) { return f.name == "k"; });
    const auto program = decode(module, *kernel, NoSymbols{}, LaunchShape{{128, 1, 1}, {1024, 1, 1}});
    for (const Instruction& i : program->code)
      if (i.kind == Kind::unknown) return i.text;
  } catch (const std::exception& e) {
    return e.what();
  }
  return {};
}

TEST(Isa, EveryInstructionDecodesOrSaysWhyNot) {
  std::ifstream file(std::string(COALESCE_SOURCE_DIR) + "/tests/truth/isa.txt");
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t first = line.find(" | "), second = line.find(" | ", first + 3);
    ASSERT_NE(first, std::string::npos) << line;
    const std::string name = line.substr(0, first), example = line.substr(first + 3, second - first - 3);
    SCOPED_TRACE(line);
    EXPECT_TRUE(names.insert(name).second);
    const std::string said = refusal(example);
    if (second == std::string::npos)
      EXPECT_EQ(said, "");
    else
      EXPECT_NE(said, "") << "it decodes: take the reason away";
  }
  // Every name of NVIDIA's own list (isa_names.py) is there.
  std::ifstream list(std::string(COALESCE_SOURCE_DIR) + "/tests/truth/isa_names.txt");
  std::size_t listed = 0;
  for (std::string name; std::getline(list, name);) {
    if (name.empty() || name[0] == '#') continue;
    EXPECT_TRUE(names.contains(name)) << name;
    ++listed;
  }
  EXPECT_GT(listed, 190u);
}

}  // namespace
}  // namespace coalesce::machine
