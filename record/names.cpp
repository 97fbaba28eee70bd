#include "record/names.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace coalesce::record {

std::string demangle(const std::string& mangled) {
  if (mangled.rfind("_Z", 0) != 0) return mangled;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
  std::string name = status == 0 && text ? std::string(text.get()) : mangled;
  // ABI tags say nothing to people: Numba puts 90 letters of its options into one.
  for (std::size_t tag; (tag = name.find("[abi:")) != std::string::npos;) {
    const std::size_t end = name.find(']', tag);
    if (end == std::string::npos) break;
    name.erase(tag, end + 1 - tag);
  }
  return name;
}

namespace {

bool opens(char c) { return c == '(' || c == '<' || c == '[' || c == '{'; }
bool closes(char c) { return c == ')' || c == '>' || c == ']' || c == '}'; }

// The place of the bracket that the one at `end` closes; npos if the text is not balanced.
std::size_t opening(const std::string& text, std::size_t end) {
  int depth = 0;
  for (std::size_t i = end + 1; i-- > 0;) {
    if (closes(text[i])) ++depth;
    if (opens(text[i]) && --depth == 0) return i;
  }
  return std::string::npos;
}

}  // namespace

std::string shorten(const std::string& demangled) {
  std::string name = demangled;
  // " [clone .x]" is a compiler's remark.
  if (const auto clone = name.find(" [clone"); clone != std::string::npos) name.resize(clone);
  if (name.ends_with(" const")) name.resize(name.size() - 6);
  if (!name.empty() && name.back() == ')') {
    const std::size_t parameters = opening(name, name.size() - 1);
    if (parameters == std::string::npos || parameters == 0) return demangled;
    name.resize(parameters);
  }
  // The rest is `[return type ]scope::...::name[<...>]`: the name starts after the last space or `::` outside brackets.
  int depth = 0;
  for (std::size_t i = name.size(); i-- > 0;) {
    if (closes(name[i])) ++depth;
    if (opens(name[i])) --depth;
    if (depth == 0 && (name[i] == ' ' || name[i] == ':')) {
      name.erase(0, i + 1);
      break;
    }
  }
  return name.empty() ? demangled : name;
}

std::string without_template_arguments(const std::string& short_name) {
  const auto bracket = short_name.find('<');
  return bracket == std::string::npos || bracket == 0 ? short_name : short_name.substr(0, bracket);
}

}  // namespace coalesce::record
