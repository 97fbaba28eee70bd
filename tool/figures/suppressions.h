// Findings that the user allows: by a file of suppressions, or by a comment on the line.
#pragma once

#include <regex>
#include <string>
#include <vector>

#include "machine/diagnostic.h"

namespace coalesce::tool {

// A line of a suppressions file: `KIND[,KIND...] [kernel=REGEX] [at=FILE[:LINE]]`. All that it says must hold. `race`
// stands for all races, `*` for all kinds; FILE for every file whose path ends in it; REGEX is POSIX extended and may
// match any part of the kernel's demangled name. `#` begins a comment.
struct Suppression {
  std::vector<std::string> kinds;
  std::string pattern;  // of the kernel; empty: any
  std::regex kernel;
  std::string file;   // empty: any
  uint32_t line = 0;  // 0: any
};

// Throws Error (usage) that names the line which is wrong. `name` stands for the text in messages.
std::vector<Suppression> parse_suppressions(const std::string& text, const std::string& name);
std::vector<Suppression> read_suppressions(const std::string& path);

// "race_global, leak": throws Error (usage) for a kind that there is not.
std::vector<std::string> parse_kinds(const std::string& text, const std::string& where);
bool names_kind(const std::vector<std::string>& kinds, const std::string& kind);

// True if a suppression names the finding, or one of its lines ends in `// coalesce: allow KIND`.
bool allowed(const machine::Diagnostic& d, const std::string& kind, const std::vector<Suppression>& suppressions);

}  // namespace coalesce::tool
