#include "tests/random_cuda/node.h"

#include <cctype>
#include <deque>
#include <sstream>

namespace coalesce::random_cuda {
namespace {

void append(const Tree& tree, const Cuts& cuts, std::string& out) {
  if (const auto cut = cuts.find(tree->id); cut != cuts.end()) {
    if (cut->second == kDropped)
      out += tree->least;
    else
      append(tree->parts[static_cast<size_t>(cut->second)], cuts, out);
    return;
  }
  const std::string& text = tree->text;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    ++i;
    if (text[i] == '*') {
      for (size_t p = tree->first_listed; p < tree->parts.size(); ++p) append(tree->parts[p], cuts, out);
    } else {
      append(tree->parts[static_cast<size_t>(text[i] - '0')], cuts, out);
    }
  }
}

}  // namespace

std::string print(const Tree& tree, const Cuts& cuts) {
  std::string out;
  append(tree, cuts, out);
  return out;
}

std::vector<const Node*> pieces(const Tree& tree, const Cuts& cuts) {
  std::vector<const Node*> result;
  std::deque<const Node*> waiting = {tree.get()};
  while (!waiting.empty()) {
    const Node* node = waiting.front();
    waiting.pop_front();
    if (const auto cut = cuts.find(node->id); cut != cuts.end()) {
      if (cut->second != kDropped) waiting.push_back(node->parts[static_cast<size_t>(cut->second)].get());
      continue;
    }
    result.push_back(node);
    for (const Tree& part : node->parts) waiting.push_back(part.get());
  }
  return result;
}

std::string indented(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  int depth = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    int first = depth;
    if (line[0] == '}') --first;
    if (line[0] != '#') out.append(static_cast<size_t>(first > 0 ? 2 * first : 0), ' ');
    out += line + "\n";
    for (const char c : line) depth += c == '{' ? 1 : c == '}' ? -1 : 0;
  }
  return out;
}

}  // namespace coalesce::random_cuda
