// The text that code generation hands to LLVM for a kernel, and which instructions it leaves to the interpreter.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "machine/ptx/parser.h"
#include "native/tier/library.h"
#include "tests/machine/execute/harness.h"

namespace coalesce::machine::test {

struct Emitted {
  std::string error;
  std::string ir;  // before any pass of LLVM
  // Lines of the PTX text whose instructions call their row; the interpreter, and not only where an access is not what
  // code of its own carries out.
  std::set<uint32_t> rows, interpreted;
  std::vector<uint32_t> words;  // for the loader

  std::size_t count(const std::string& what) const {
    std::size_t n = 0;
    for (std::size_t at = ir.find(what); at != std::string::npos; at = ir.find(what, at + 1)) ++n;
    return n;
  }
};

inline bool can_emit() { return std::filesystem::exists(native_settings().library); }

// The first kernel of a text for thread blocks of this shape and a CPU, by LLVM's name.
inline Emitted emitted(const std::string& ptx, std::array<uint32_t, 3> block, const std::string& cpu) {
  struct NoSymbols : SymbolTable {
    Symbol symbol(const std::string&) const override { return {}; }
    uint64_t function_address(const std::string&) const override { return 0; }
  };
  const ptx::Module module = ptx::parse(ptx, "test.ptx");
  LaunchShape shape;
  shape.block = block;
  shape.grid_below = {1024, 1, 1};
  const std::shared_ptr<const Code> code = lower(decode(module, module.functions.at(0), NoSymbols(), shape));
  native::Request request;
  request.code = code.get();
  request.target.cpu = cpu;
  request.options.text = true;
  Emitted e;
  native::load_library(native_settings().library, e.error)(&request);
  e.error += request.error;
  e.ir.assign(request.object.code.begin(), request.object.code.end());
  e.words = request.object.words;
  if (e.words.empty()) return e;
  // The words (native/emit/kernel.cpp): of each region two flags and its blocks, then the calls.
  std::size_t at = 1;
  for (uint32_t r = 0; r < e.words[0]; ++r) at += 3 + 2 * std::size_t{e.words.at(at + 2)};
  std::vector<uint32_t> lines[2];  // of the calls of rows, of the interpreter
  for (std::vector<uint32_t>& list : lines)
    for (uint32_t n = e.words.at(at++); n > 0; --n)
      list.push_back(code->program->code.at(e.words.at(at++) & 0x7fffffffu).ptx_line);
  e.rows.insert(lines[0].begin(), lines[0].end());
  // Calls of the interpreter have their number; those for the rest stand in blocks named "slow".
  static const std::regex call(R"( = call i32 %\d+\(ptr %frame, i32 (\d+), i32 [^,]+, i32 [^,]+, i32 -?\d+\))");
  std::istringstream text(e.ir);
  std::smatch found;
  bool slow = false;
  for (std::string line; std::getline(text, line);) {
    if (!line.empty() && line[0] != ' ') slow = line.starts_with("slow");
    if (!slow && line.find(" = call i32 %") != line.npos && std::regex_search(line, found, call))
      e.interpreted.insert(lines[1].at(std::stoul(found[1])));
  }
  return e;
}

}  // namespace coalesce::machine::test
