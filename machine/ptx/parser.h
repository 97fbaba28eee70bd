// PTX text -> Module. Accepts what nvcc 11-13, clang 14-19, NVRTC and Triton emit; unknown directives are skipped.
// Cost: linear in the text. Never crashes on any bytes (tests/fuzz/ptx_parser.cpp); nesting is bounded.
#pragma once

#include <string>

#include "machine/diagnostic.h"
#include "machine/ptx/module.h"

namespace coalesce::ptx {

// `name` stands for the text in diagnostics ("program.ptx", "embedded PTX of ./a.out").
// Throws machine::Error with the line and column (in place.line/column and ptx_line) on text that is not PTX.
Module parse(std::string text, const std::string& name);

}  // namespace coalesce::ptx
