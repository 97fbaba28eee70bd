#include "tool/figures/suppressions.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "record/names.h"
#include "tool/figures/error.h"
#include "tool/figures/hazards.h"

namespace coalesce::tool {
namespace {

[[noreturn]] void wrong(const std::string& where, const std::string& what) {
  throw Error(Exit::usage, where + ": " + what, "a line is: KIND[,KIND] [kernel=REGEX] [at=FILE[:LINE]]");
}

// "hist.cu:31", "hist.cu"
void parse_place(const std::string& text, const std::string& where, Suppression& s) {
  const std::size_t colon = text.rfind(':');
  s.file = text.substr(0, colon);
  if (s.file.empty()) wrong(where, "at= needs a file");
  if (colon == std::string::npos) return;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, s.line);
  if (error != std::errc() || stop != end || s.line == 0)
    wrong(where, "'" + text.substr(colon + 1) + "' is no line number");
}

bool ends_in(const std::string& path, const std::string& file) {
  return path.ends_with(file) &&
         (path.size() == file.size() || file.front() == '/' || path[path.size() - file.size() - 1] == '/');
}

// The places of a finding where a comment may stand.
std::vector<machine::SourcePlace> places_of(const machine::Diagnostic& d) {
  std::vector<machine::SourcePlace> all = {d.place};
  all.insert(all.end(), d.inlined_at.begin(), d.inlined_at.end());
  if (d.other) {
    all.push_back(d.other->place);
    all.insert(all.end(), d.other->inlined_at.begin(), d.other->inlined_at.end());
  }
  std::erase_if(all, [](const machine::SourcePlace& p) { return p.file.empty() || p.line == 0; });
  return all;
}

// The kinds that the line's comment allows; empty: it has none. A wrong one is nothing.
std::vector<std::string> comment_of(const machine::SourcePlace& place) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(place.file, error)) return {};
  std::ifstream in(place.file);
  std::string line;
  for (uint32_t k = 0; k < place.line; ++k)
    if (!std::getline(in, line)) return {};
  static const std::regex mark("//.*coalesce:[ \t]*allow[ \t]+([a-z_*]+([ \t]*,[ \t]*[a-z_*]+)*)");
  std::smatch match;
  if (!std::regex_search(line, match, mark)) return {};
  try {
    return parse_kinds(match[1], "");
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

bool names_kind(const std::vector<std::string>& kinds, const std::string& kind) {
  return std::any_of(kinds.begin(), kinds.end(), [&](const std::string& k) {
    return k == kind || k == "*" || (k == "race" && kind.starts_with("race_"));
  });
}

std::vector<std::string> parse_kinds(const std::string& text, const std::string& where) {
  const std::vector<std::string> known = hazard_kinds();
  std::vector<std::string> kinds;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');) {
    word.erase(0, word.find_first_not_of(" \t"));
    word.erase(word.find_last_not_of(" \t") + 1);
    if (word != "race" && word != "*" && std::find(known.begin(), known.end(), word) == known.end()) {
      std::string list = "race";
      for (const std::string& k : known) list += ", " + k;
      throw Error(Exit::usage, (where.empty() ? "" : where + ": ") + "no kind of hazard is called '" + word + "'",
                  "kinds are " + list);
    }
    kinds.push_back(std::move(word));
  }
  return kinds;
}

std::vector<Suppression> parse_suppressions(const std::string& text, const std::string& name) {
  std::vector<Suppression> all;
  std::istringstream in(text);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (const std::size_t comment = line.find('#'); comment != std::string::npos) line.erase(comment);
    std::istringstream words(line);
    std::string word;
    if (!(words >> word)) continue;
    const std::string where = name + ":" + std::to_string(number);
    Suppression s;
    s.kinds = parse_kinds(word, where);
    while (words >> word) {
      if (word.starts_with("kernel=")) {
        s.pattern = word.substr(7);
        try {
          s.kernel = std::regex(s.pattern, std::regex::extended);
        } catch (const std::regex_error&) {
          wrong(where, "'" + s.pattern + "' is no regular expression");
        }
      } else if (word.starts_with("at=")) {
        parse_place(word.substr(3), where, s);
      } else {
        wrong(where, "'" + word + "' is neither kernel= nor at=");
      }
    }
    all.push_back(std::move(s));
  }
  return all;
}

std::vector<Suppression> read_suppressions(const std::string& path) {
  std::ifstream in(path);
  std::error_code error;
  if (!in || std::filesystem::is_directory(path, error))
    throw Error(Exit::usage, "--suppress cannot read '" + path + "'");
  return parse_suppressions({std::istreambuf_iterator<char>(in), {}}, path);
}

bool allowed(const machine::Diagnostic& d, const std::string& kind, const std::vector<Suppression>& suppressions) {
  const auto places = places_of(d);
  const std::string kernel = record::demangle(d.kernel);
  for (const Suppression& s : suppressions) {
    if (!names_kind(s.kinds, kind)) continue;
    if (!s.pattern.empty() && !std::regex_search(kernel, s.kernel)) continue;
    const auto here = [&](const machine::SourcePlace& p) {
      return ends_in(p.file, s.file) && (s.line == 0 || p.line == s.line);
    };
    if (s.file.empty() || std::any_of(places.begin(), places.end(), here)) return true;
  }
  return std::any_of(places.begin(), places.end(), [&](const auto& p) { return names_kind(comment_of(p), kind); });
}

}  // namespace coalesce::tool
