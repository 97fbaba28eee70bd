#include "tool/figures/budget.h"

#include <fmt/format.h>
#include <regex.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "tool/figures/claims.h"
#include "tool/figures/error.h"
#include "tool/figures/findings.h"
#include "tool/figures/metrics.h"

namespace coalesce::tool {
namespace {

using machine::Counters;

// Counters are below 2^53 in any run that ends, so doubles hold them exactly.
double in_double(uint64_t value) { return static_cast<double>(value); }

// 1 where there is none of it.
double excess_of(uint64_t taken, uint64_t least) { return taken == 0 ? 1 : ratio(taken, least).value_or(1); }

const BudgetQuantity kBudgetQuantities[] = {
    {"compulsory", "sectors that an infinite cache would still move",
     [](const Counters& c) { return in_double(c.compulsory_bytes / 32); }},
    {"sectors", "sectors moved by loads, stores and atomics",
     [](const Counters& c) { return in_double(moved_bytes(c) / 32); }},
    {"moved_bytes", "32 for each of these", [](const Counters& c) { return in_double(moved_bytes(c)); }},
    {"wasted_sectors", "sectors of loads and stores above the fewest that hold their bytes",
     [](const Counters& c) { return in_double(wasted_sectors(c)); }},
    {"load_excess", "sectors of loads over these fewest",
     [](const Counters& c) {
       return excess_of(c.global_load_sectors, ideal_sectors(c.global_load_requests, c.global_load_bytes_requested));
     }},
    {"store_excess", "the same of stores",
     [](const Counters& c) {
       return excess_of(c.global_store_sectors, ideal_sectors(c.global_store_requests, c.global_store_bytes_requested));
     }},
    {"shared_wavefronts", "passes over the banks of shared memory",
     [](const Counters& c) { return in_double(shared_wavefronts(c)); }},
    {"shared_excess", "these over the passes without conflicts",
     [](const Counters& c) { return excess_of(shared_wavefronts(c), shared_wavefronts_ideal(c)); }},
    {"bank_conflicts", "passes due to conflicts", [](const Counters& c) { return in_double(bank_conflicts(c)); }},
    {"lanes_on", "lanes at work of 32, mean",
     [](const Counters& c) { return ratio(c.thread_instructions, c.instructions).value_or(32); }},
};

std::optional<double> quantity(const std::string& name, const Counters& counters) {
  for (const BudgetQuantity& q : kBudgetQuantities) {
    if (q.name == name) return q.value(counters);
  }
  for (const auto& row : machine::kCounterRows) {
    if (row.name == name) return in_double(counters.*row.field);
  }
  return {};
}

[[noreturn]] void unknown_quantity(const std::string& place, const std::string& name) {
  std::vector<std::string> names;
  for (const BudgetQuantity& q : kBudgetQuantities) names.emplace_back(q.name);
  for (const auto& row : machine::kCounterRows) names.emplace_back(row.name);
  const auto near = nearest(name, names, 1);
  throw Error(Exit::usage, place + ": no counter is called '" + name + "'",
              near.empty() ? "coalesce counters lists them" : "did you mean " + near[0] + "?");
}

double side(const std::string& expression, const Counters& counters) {
  return evaluate(expression, [&](const Name& name) { return quantity(name.quantity, counters).value(); }, true);
}

std::string trim(const std::string& text) {
  const auto from = text.find_first_not_of(" \t\r"), to = text.find_last_not_of(" \t\r");
  return from == std::string::npos ? "" : text.substr(from, to - from + 1);
}

struct Regex {
  regex_t compiled{};
  std::string problem;
  explicit Regex(const std::string& text) {
    const int status = regcomp(&compiled, text.c_str(), REG_EXTENDED | REG_NOSUB);
    if (status == 0) return;
    char why[200] = "";
    regerror(status, &compiled, why, sizeof why);
    problem = why;
  }
  ~Regex() {
    if (problem.empty()) regfree(&compiled);
  }
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;
  bool matches(const std::string& text) const { return regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0; }
};

Requirement parse_one(const std::string& target, const std::string& text, const std::string& place) {
  Requirement r{target, text, "", "", ""};
  const auto at = text.find_first_of("<>=!");
  if (at != std::string::npos) {
    r.symbol = text.substr(at, at + 1 < text.size() && text[at + 1] == '=' ? 2 : 1);
    r.left = trim(text.substr(0, at));
    r.right = trim(text.substr(at + r.symbol.size()));
  }
  const bool known = r.symbol == "<=" || r.symbol == ">=" || r.symbol == "==" || r.symbol == "!=" || r.symbol == "<" ||
                     r.symbol == ">";
  if (!known || r.right.find_first_of("<>=!") != std::string::npos)
    throw Error(Exit::usage, place + ": '" + text + "' is not one comparison",
                "for example: global_load_sectors <= 1.01 * compulsory");
  for (const std::string& expression : {r.left, r.right}) {
    try {
      // Every value is 1: names and grammar are looked at, and divisions are judged with the figures.
      evaluate(
          expression,
          [&](const Name& name) {
            if (!name.rung.empty() || !quantity(name.quantity, {})) unknown_quantity(place, name.quantity);
            return 1.0;
          },
          true);
    } catch (const std::invalid_argument& error) {
      throw Error(Exit::usage, place + ": " + error.what());
    }
  }
  return r;
}

bool compared(double left, const std::string& symbol, double right) {
  if (symbol == "<=") return left <= right;
  if (symbol == ">=") return left >= right;
  if (symbol == "==") return left == right;
  if (symbol == "!=") return left != right;
  return symbol == "<" ? left < right : left > right;
}

Judgement judge_one(const Requirement& requirement, const std::string& kernel, const Counters& counters) {
  Judgement j{kernel, requirement, 0, 0, false, ""};
  try {
    j.left = side(requirement.left, counters);
    j.right = side(requirement.right, counters);
    j.holds = compared(j.left, requirement.symbol, j.right);
  } catch (const std::invalid_argument& error) {
    j.problem = error.what();
  }
  return j;
}

// "a.cu:9"
bool is_line(const std::string& target) {
  const auto colon = target.rfind(':');
  return colon != std::string::npos && colon != 0 && colon + 1 < target.size() && target[colon - 1] != ':' &&
         target.find_first_not_of("0123456789", colon + 1) == std::string::npos;
}

std::string escaped_regex(const std::string& text) {
  std::string out = "^";
  for (const char c : text) {
    if (std::string_view("\\^$.[]|()*+?{}").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out + '$';
}

}  // namespace

std::span<const BudgetQuantity> budget_quantities() { return kBudgetQuantities; }

std::vector<Requirement> parse_requirements(const std::string& text, const std::string& place) {
  const auto colon = text.find(": ");
  const std::string target = colon == std::string::npos ? "" : trim(text.substr(0, colon));
  if (colon != std::string::npos && !is_line(target)) {
    if (const Regex regex(target); target.empty() || !regex.problem.empty())
      throw Error(Exit::usage, place + ": '" + target + "' is no regular expression" +
                                   (regex.problem.empty() ? "" : ": " + regex.problem));
  }
  std::vector<Requirement> found;
  std::istringstream parts(colon == std::string::npos ? text : text.substr(colon + 2));
  for (std::string part; std::getline(parts, part, ';');) {
    if (const std::string condition = trim(part); !condition.empty())
      found.push_back(parse_one(target, condition, place));
  }
  if (found.empty()) throw Error(Exit::usage, place + ": no requirement stands in '" + text + "'");
  return found;
}

std::vector<Requirement> parse_budget(const std::string& content, const std::string& name) {
  std::vector<Requirement> all;
  std::istringstream lines(content);
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::string text = trim(line);
    if (text.empty() || text[0] == '#') continue;
    for (Requirement& r : parse_requirements(text, fmt::format("{}:{}", name, number))) all.push_back(std::move(r));
  }
  if (all.empty()) throw Error(Exit::usage, name + ": no requirement stands in the budget");
  return all;
}

std::vector<Judgement> judge_budget(const std::vector<Requirement>& requirements, const Record& record) {
  const std::vector<KernelTotal> kernels = totals(record);
  std::vector<Judgement> all;
  for (const Requirement& requirement : requirements) {
    const std::size_t before = all.size();
    if (is_line(requirement.target)) {
      Counters sum;
      bool any = false;
      for (const KernelTotal& kernel : kernels) {
        for (const Line& line : kernel.lines) {
          if (place_of(line) != requirement.target && fmt::format("{}:{}", line.file, line.line) != requirement.target)
            continue;
          sum += line.counters;
          any = true;
        }
      }
      if (any) all.push_back(judge_one(requirement, requirement.target, sum));
    } else {
      const Regex regex(requirement.target);
      for (const KernelTotal& kernel : kernels) {
        const Kernel& names = record.kernels[kernel.kernel];
        if (!requirement.target.empty() && !regex.matches(names.full)) continue;
        all.push_back(judge_one(requirement, names.short_name, kernel.counters));
        if (!kernel.ended()) all.back().holds = false, all.back().problem = "the kernel did not run to its end";
      }
    }
    if (all.size() == before)
      all.push_back({"", requirement, 0, 0, false, "no kernel or line of that name was executed"});
  }
  return all;
}

std::string budget_of(const Record& record) {
  static constexpr const char* kCosts[] = {"global_load_sectors",      "global_store_sectors", "global_atomic_sectors",
                                           "global_reduction_sectors", "local_load_sectors",   "local_store_sectors",
                                           "wasted_sectors",           "shared_wavefronts",    "bank_conflicts"};
  std::string text = "# What each kernel may move at most: coalesce run --budget FILE holds a program to it.\n";
  for (const KernelTotal& kernel : totals(record)) {
    text += escaped_regex(record.kernels[kernel.kernel].full) + ": ";
    bool first = true;
    for (const char* cost : kCosts) {
      const std::optional<double> most = quantity(cost, kernel.counters);
      if (!most) throw std::logic_error(std::string(cost) + " is no quantity");
      text += fmt::format("{}{} <= {:.0f}", first ? "" : "; ", cost, *most);
      first = false;
    }
    text += '\n';
  }
  return text;
}

}  // namespace coalesce::tool
