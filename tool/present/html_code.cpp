#include "tool/present/html_code.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>

#include "tool/present/html_text.h"

namespace coalesce::tool {
namespace {

constexpr std::size_t kLongestLine = 400;  // bytes

// Both sorted, for a binary search.
constexpr std::string_view kCppWords[] = {
    "alignas",     "alignof", "auto",       "bool",      "break",     "case",      "char",
    "class",       "const",   "const_cast", "constexpr", "continue",  "decltype",  "default",
    "delete",      "do",      "double",     "else",      "enum",      "explicit",  "extern",
    "false",       "float",   "for",        "friend",    "goto",      "if",        "inline",
    "int",         "int32_t", "int64_t",    "long",      "mutable",   "namespace", "new",
    "noexcept",    "nullptr", "operator",   "private",   "protected", "public",    "reinterpret_cast",
    "return",      "short",   "signed",     "size_t",    "sizeof",    "static",    "static_assert",
    "static_cast", "struct",  "switch",     "template",  "this",      "throw",     "true",
    "try",         "typedef", "typename",   "uint32_t",  "uint64_t",  "uint8_t",   "union",
    "unsigned",    "using",   "virtual",    "void",      "volatile",  "while"};
constexpr std::string_view kCudaWords[] = {
    "__constant__",      "__device__",  "__forceinline__", "__global__",   "__host__",
    "__launch_bounds__", "__managed__", "__noinline__",    "__restrict__", "__shared__",
    "__syncthreads",     "__syncwarp",  "blockDim",        "blockIdx",     "dim3",
    "gridDim",           "threadIdx",   "warpSize"};
static_assert(std::is_sorted(std::begin(kCppWords), std::end(kCppWords)));
static_assert(std::is_sorted(std::begin(kCudaWords), std::end(kCudaWords)));

template <typename Words>
bool is_among(const Words& words, std::string_view word) {
  return std::binary_search(std::begin(words), std::end(words), word);
}

bool word_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool decimal_digit(char c) { return c >= '0' && c <= '9'; }

std::string coloured_span(const char* kind, std::string_view text) {
  return text.empty() ? "" : std::string("<span class=\"") + kind + "\">" + escape(text) + "</span>";
}

class Colouring {
 public:
  std::string line(std::string_view text) {
    rest_ = text.substr(0, kLongestLine);
    const std::size_t first = rest_.find_first_not_of(" \t");
    directive_ = !comment_ && first != std::string_view::npos && rest_[first] == '#';
    std::string out;
    while (!rest_.empty()) out += comment_ ? in_comment(0) : next();
    return out;
  }

 private:
  std::string take(const char* kind, std::size_t size) {
    const std::string_view text = rest_.substr(0, size);
    rest_.remove_prefix(text.size());
    return kind ? coloured_span(kind, text) : escape(text);
  }

  std::string in_comment(std::size_t from) {
    const std::size_t end = rest_.find("*/", from);
    comment_ = end == std::string_view::npos;
    return take("c", comment_ ? rest_.size() : end + 2);
  }

  std::string next() {
    const char c = rest_[0];
    if (rest_.starts_with("//")) return take("c", rest_.size());
    if (rest_.starts_with("/*")) return in_comment(2);
    if (c == '"' || c == '\'') return take("s", quoted(c));
    if (decimal_digit(c) || (c == '.' && rest_.size() > 1 && decimal_digit(rest_[1]))) {
      std::size_t size = 1;
      // A quote stands between digits.
      while (size < rest_.size() && (word_letter(rest_[size]) || rest_[size] == '.' || rest_[size] == '\'')) ++size;
      return take("n", size);
    }
    if (word_letter(c) || (directive_ && c == '#')) {
      std::size_t size = 1;
      while (size < rest_.size() && word_letter(rest_[size])) ++size;
      const std::string_view word = rest_.substr(0, size);
      const char* kind = c == '#' ? "p" : is_among(kCudaWords, word) ? "b" : is_among(kCppWords, word) ? "k" : nullptr;
      return take(kind, size);
    }
    // Up to what may begin one of the above.
    std::size_t size = 1;
    while (size < rest_.size() && !word_letter(rest_[size]) &&
           std::string_view("/\"'.#").find(rest_[size]) == std::string_view::npos)
      ++size;
    return take(nullptr, size);
  }

  std::size_t quoted(char quote) const {
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '\\') {
        ++i;
      } else if (rest_[i] == quote) {
        return i + 1;
      }
    }
    return rest_.size();
  }

  std::string_view rest_;
  bool comment_ = false, directive_ = false;
};

}  // namespace

std::vector<std::string> coloured(const std::vector<std::string>& lines) {
  Colouring colouring;
  std::vector<std::string> out;
  out.reserve(lines.size());
  for (const std::string& line : lines) out.push_back(colouring.line(line));
  return out;
}

const std::vector<std::string>* HtmlSources::lines(const std::string& file, const std::filesystem::path& beside) {
  const std::vector<std::string>* text = sources_.lines(file, beside);
  if (!text) return nullptr;
  const auto [entry, fresh] = coloured_.try_emplace(text);
  if (fresh) entry->second = coloured(*text);
  return &entry->second;
}

}  // namespace coalesce::tool
