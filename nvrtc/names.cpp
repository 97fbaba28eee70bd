#include "nvrtc/names.h"

#include <string_view>

namespace coalesce::nvrtc {
namespace {

std::string variable(size_t number) { return "coalesce_name_" + std::to_string(number); }

}  // namespace

std::string name_variables(const std::vector<std::string>& expressions) {
  std::string text;
  for (size_t i = 0; i < expressions.size(); ++i) {
    // One line each, so that messages name the expression by its number.
    text += "\n#line " + std::to_string(i + 1) +
            " \"name expression\"\nextern \"C\" { __device__ const volatile void* " + variable(i) +
            " = (const volatile void*)(" + expressions[i] + "); }";
  }
  return text + "\n";
}

std::map<std::string, std::string> take_names(const std::vector<std::string>& expressions, std::string& ptx) {
  std::map<std::string, std::string> names;
  for (size_t i = 0; i < expressions.size(); ++i) {
    // .visible .global .align 8 .u64 coalesce_name_0 = generic(_ZN1n1vE);
    const std::string key = " " + variable(i) + " = ";
    const size_t at = ptx.find(key);
    if (at == std::string::npos) continue;
    const size_t begin = ptx.rfind('\n', at) + 1, end = ptx.find(';', at);
    if (end == std::string::npos) continue;
    std::string_view symbol = std::string_view(ptx).substr(at + key.size(), end - at - key.size());
    constexpr std::string_view kGeneric = "generic(";
    if (symbol.starts_with(kGeneric)) symbol = symbol.substr(kGeneric.size(), symbol.find(')') - kGeneric.size());
    names[expressions[i]] = symbol;
    ptx.erase(begin, std::min(end + 2, ptx.size()) - begin);
  }
  return names;
}

}  // namespace coalesce::nvrtc
