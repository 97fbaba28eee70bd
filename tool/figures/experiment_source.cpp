#include "tool/figures/experiment_source.h"

#include <sstream>
#include <vector>

namespace coalesce::tool {
namespace {

bool word_before_parenthesis(const std::string& line, const std::string& name) {
  const auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (auto at = line.find(name); at != std::string::npos; at = line.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || !letter(line[at - 1])) && end < line.size() && line[end] == '(') return true;
  }
  return false;
}

bool is_comment(const std::string& line) { return line.starts_with("//"); }

std::string comment_text(const std::string& line) {
  const auto start = line.find_first_not_of("/ ");
  return start == std::string::npos ? "" : line.substr(start);
}

std::vector<std::string> lines_of(const std::string& source) {
  std::vector<std::string> lines;
  std::istringstream in(source);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// "Rung 3. ", "Rungs 1-7. ", "Rung pinned. ".
std::string without_heading(const std::string& text) {
  if (!text.starts_with("Rung")) return text;
  const auto end = text.find(". ");
  return end == std::string::npos || end > 24 ? text : text.substr(end + 2);
}

}  // namespace

std::string title_of(const std::string& source) {
  std::string text;
  for (const std::string& line : lines_of(source)) {
    if (!is_comment(line) || comment_text(line).empty()) break;
    text += (text.empty() ? "" : " ") + comment_text(line);
    if (const auto end = text.find(". "); end != std::string::npos) return text.substr(0, end);
  }
  if (text.ends_with('.')) text.pop_back();
  return text;
}

Comment comment_of(const std::string& source, const std::string& name) {
  const std::vector<std::string> lines = lines_of(source);
  // Calls and declarations are indented or end in a semicolon; a definition begins at the margin.
  const auto defines = [&](const std::string& line, bool kernel) {
    if (!word_before_parenthesis(line, name)) return false;
    return kernel ? line.find("__global__") != std::string::npos
                  : !is_comment(line) && line[0] != ' ' && line[0] != '#';
  };
  for (const bool kernel : {true, false}) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (!defines(lines[i], kernel)) continue;
      std::size_t end = i;
      // Between comment and definition: the template's parameters, and constants of that rung.
      while (end > 0 && !lines[end - 1].empty() && !is_comment(lines[end - 1]) && lines[end - 1][0] != '}') --end;
      std::size_t first = end;
      while (first > 0 && is_comment(lines[first - 1])) --first;
      std::string text;
      for (std::size_t k = first; k < end; ++k) text += (text.empty() ? "" : " ") + comment_text(lines[k]);
      text = without_heading(text);
      const auto counters = text.find("Counters:");
      if (counters == std::string::npos) return {trimmed(text), ""};
      return {trimmed(text.substr(0, counters)), trimmed(text.substr(counters + 9))};
    }
  }
  return {};
}

}  // namespace coalesce::tool
