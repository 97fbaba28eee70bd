#include "tool/present/ci.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tool/present/budget.h"
#include "tool/present/html_text.h"

namespace coalesce::tool {
namespace fs = std::filesystem;
namespace {

using Level = Notice::Level;

const char* level_name(Level level) {
  static constexpr const char* kNames[] = {"note", "warning", "error"};
  return kNames[static_cast<int>(level)];
}

// An explanation of each kind of notice, for people who have never seen it.
const std::pair<const char*, const char*> kRuleTexts[] = {
    {"loads", "Loads move more sectors than their bytes need"},
    {"stores", "Stores move more sectors than their bytes need"},
    {"banks", "Lanes meet in a bank of shared memory"},
    {"atomics", "Lanes of a warp update the same word"},
    {"local", "Local memory is used"},
    {"branches", "Branches leave lanes idle"},
    {"few-threads", "Blocks do not fill their warps"},
    {"reads-again", "The same bytes are moved again and again"},
    {"stopped", "A kernel did not run to its end"},
    {"budget", "A requirement is violated"},
};

std::string rule_id(std::string kind) {
  std::replace(kind.begin(), kind.end(), ' ', '-');
  return kind;
}

std::string rule_text(const std::string& rule) {
  for (const auto& [id, text] : kRuleTexts) {
    if (rule == id) return text;
  }
  return "coalesce check: " + rule;
}

// Relative to the current folder where the file lies below it.
std::string shown_path(const std::string& file) {
  std::error_code error;
  const fs::path absolute = fs::absolute(file, error).lexically_normal();
  const fs::path relative = absolute.lexically_relative(fs::current_path(error));
  return !error && !relative.empty() && *relative.begin() != ".." ? relative.generic_string()
                                                                  : absolute.generic_string();
}

// RFC 3986: all but unreserved characters and the slash.
std::string uri(const std::string& path) {
  std::string out;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return path.starts_with('/') ? "file://" + out : out;
}

std::string annotation_text(const std::string& text, bool property) {
  std::string out;
  for (const char c : text) {
    if (c == '%') {
      out += "%25";
    } else if (c == '\r') {
      out += "%0D";
    } else if (c == '\n') {
      out += "%0A";
    } else if (property && c == ':') {
      out += "%3A";
    } else if (property && c == ',') {
      out += "%2C";
    } else {
      out += c;
    }
  }
  return out;
}

std::string test_case(const std::string& group, const std::string& name, const std::string& failure) {
  const std::string head =
      fmt::format("  <testcase classname=\"coalesce.{}\" name=\"{}\"", escape(group), escape(name));
  if (failure.empty()) return head + "/>\n";
  return head + fmt::format(">\n    <failure message=\"{}\">{}</failure>\n  </testcase>\n",
                            escape(failure.substr(0, failure.find('\n'))), escape(failure));
}

}  // namespace

std::vector<Notice> notices_of(const Record& record, const std::vector<Judgement>& judgements) {
  std::vector<Notice> all;
  for (const KernelTotal& total : totals(record)) {
    const std::string& kernel = record.kernels[total.kernel].short_name;
    if (!total.ended())
      all.push_back({Level::error, "stopped", "", 0, kernel,
                     total.fault.empty() ? "interrupted by a signal" : "ended with " + total.fault});
    for (const Finding& f : find_waste(total))
      all.push_back(
          {Level::warning, rule_id(f.kind), f.line.file, f.line.file.empty() ? 0 : f.line.line, kernel, sentences(f)});
  }
  for (const Judgement& j : judgements) {
    if (j.holds) continue;
    Notice notice{Level::error, "budget", "", 0, j.kernel.empty() ? j.requirement.target : j.kernel, violation_text(j)};
    all.push_back(std::move(notice));
  }
  return all;
}

std::vector<Notice> notices_of(const Hazards& hazards) {
  std::vector<Notice> all;
  const auto add = [&](const machine::Diagnostic& d, Level level, const std::string& kind) {
    std::string text = d.message;
    if (d.other && !d.other->place.file.empty())
      text += fmt::format(" (the other access: {}:{})", shown_path(d.other->place.file), d.other->place.line);
    for (const std::string& note : d.notes) text += "; " + note;
    all.push_back({level, kind, d.place.file, d.place.file.empty() ? 0 : d.place.line, shorten(demangle(d.kernel)),
                   std::move(text)});
  };
  for (const auto& f : hazards.found) add(f.d, Level::error, kind_of(f.d));
  for (const auto& f : hazards.warnings) add(f.d, Level::warning, kind_of(f.d));
  for (const auto& d : hazards.not_checked) add(d, Level::warning, "not_checked");
  return all;
}

std::string sarif(const std::vector<Notice>& notices, const std::string& version) {
  using Json = nlohmann::ordered_json;
  Json rules = Json::array(), results = Json::array();
  std::map<std::string, std::size_t> index;
  for (const Notice& n : notices) {
    const auto [entry, fresh] = index.try_emplace(n.rule, index.size());
    if (fresh) rules.push_back({{"id", n.rule}, {"shortDescription", {{"text", rule_text(n.rule)}}}});
    Json result = {{"ruleId", n.rule},
                   {"ruleIndex", entry->second},
                   {"level", level_name(n.level)},
                   {"message", {{"text", (n.kernel.empty() ? "" : n.kernel + ": ") + n.text}}}};
    if (!n.file.empty()) {
      Json place = {{"artifactLocation", {{"uri", uri(shown_path(n.file))}}}};
      if (n.line != 0) place["region"] = {{"startLine", n.line}};
      result["locations"] = Json::array({Json{{"physicalLocation", std::move(place)}}});
    }
    results.push_back(std::move(result));
  }
  const Json driver = {{"name", "coalesce"}, {"version", version}, {"rules", std::move(rules)}};
  const Json run = {{"tool", {{"driver", driver}}}, {"results", std::move(results)}};
  const Json log = {
      {"$schema", "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs", Json::array({run})}};
  return log.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string github_annotations(const std::vector<Notice>& notices) {
  std::string out;
  for (const Notice& n : notices) {
    const char* command = n.level == Level::error ? "error" : n.level == Level::warning ? "warning" : "notice";
    out += fmt::format("::{} ", command);
    if (!n.file.empty()) out += "file=" + annotation_text(shown_path(n.file), true) + ',';
    if (n.line != 0) out += fmt::format("line={},", n.line);
    out += "title=" + annotation_text(rule_text(n.rule), true) + "::";
    out += annotation_text((n.kernel.empty() ? "" : n.kernel + ": ") + n.text, false) + '\n';
  }
  return out;
}

std::string gcc_lines(const std::vector<Notice>& notices) {
  std::string out;
  for (const Notice& n : notices) {
    std::string place = n.file.empty() ? "coalesce" : shown_path(n.file);
    if (n.line != 0) place += fmt::format(":{}", n.line);
    std::string text = (n.kernel.empty() ? "" : n.kernel + ": ") + n.text;
    std::replace(text.begin(), text.end(), '\n', ' ');
    out += fmt::format("{}: {}: {}\n", place, level_name(n.level), text);
  }
  return out;
}

std::string junit(const Record& record, const std::vector<Notice>& notices, const std::vector<Judgement>& judgements,
                  int code) {
  std::string cases;
  std::size_t tests = 1, failures = 0;
  const auto add = [&](const std::string& group, const std::string& name, const std::string& failure) {
    cases += test_case(group, name, failure);
    failures += !failure.empty();
  };
  std::map<std::string, std::string> of_kernel;  // errors
  for (const Notice& n : notices) {
    if (n.level != Level::error || n.rule == "budget") continue;
    const std::string place = n.file.empty() ? "" : fmt::format("{}:{}: ", shown_path(n.file), n.line);
    std::string& text = of_kernel[n.kernel];
    text += (text.empty() ? "" : "\n") + place + n.text;
  }
  std::set<std::string> kernels;
  for (const Launch& launch : record.launches) kernels.insert(record.kernels[launch.kernel].short_name);
  for (const auto& [kernel, text] : of_kernel) kernels.insert(kernel);
  const std::string program = record.program.substr(record.program.rfind('/') + 1);
  const bool explained =
      !of_kernel.empty() || std::any_of(judgements.begin(), judgements.end(), [](const auto& j) { return !j.holds; });
  add("program", program, code != 0 && !explained ? fmt::format("ended with {}", code) : "");
  for (const std::string& kernel : kernels) add("kernel", kernel, of_kernel.contains(kernel) ? of_kernel[kernel] : "");
  for (const Judgement& j : judgements) {
    const std::string& kernel = j.kernel.empty() ? j.requirement.target : j.kernel;
    add("budget", kernel + ": " + j.requirement.text, j.holds ? "" : violation_text(j));
  }
  tests += kernels.size() + judgements.size();
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"{}\" tests=\"{}\" "
      "failures=\"{}\">\n{}</testsuite>\n</testsuites>\n",
      escape(program), tests, failures, cases);
}

}  // namespace coalesce::tool
