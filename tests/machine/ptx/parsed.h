// PTX text -> what the parser makes of it, for the parser's tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "machine/ptx/parser.h"

namespace coalesce::ptx {

using testing::ElementsAre;
using testing::HasSubstr;
using Kind = Operand::Kind;

inline const std::string head = ".version 8.5\n.target sm_90a, debug\n.address_size 64\n";

inline Module module_of(const std::string& text) { return parse(head + text, "test.ptx"); }

// A function `f` with this body. The declarations stand on line 4, the body starts on line 5.
inline Function body_of(const std::string& body) {
  Module m =
      module_of(".func f(.param .b64 in) { .reg .pred %p<4>; .reg .b32 %r<10>; .reg .b64 %rd<10>; .reg .f32 %f<10>;\n" +
                body + "\n}");
  return std::move(m.functions.at(0));
}

// The operands of a single instruction.
inline std::vector<Operand> operands_of(const std::string& instruction) {
  Function f = body_of(instruction);
  EXPECT_EQ(f.body.size(), 1u) << instruction;
  return std::move(f.body.at(0).operands);
}

inline Operand operand_of(const std::string& text) { return operands_of("op " + text + ";").at(0); }

inline const std::string& register_name(const Function& f, int32_t index) {
  return f.registers.at(static_cast<size_t>(index)).name;
}

inline machine::Diagnostic error_of(const std::string& text) {
  try {
    parse(text, "test.ptx");
  } catch (const machine::Error& error) {
    return error.diagnostic;
  }
  ADD_FAILURE() << "no error for: " << text;
  return {};
}

inline std::string body_error(const std::string& body) {
  return error_of(head + ".func f() {\n" + body + "\n}").message;
}

}  // namespace coalesce::ptx
