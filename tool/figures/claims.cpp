#include "tool/figures/claims.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <stdexcept>

#include "tool/figures/error.h"
#include "tool/figures/measures.h"

namespace coalesce::tool {
namespace {

// Why a claim cannot be judged here, on its way out of an expression.
struct Unjudged {
  std::string reason;
};

struct Quantity {
  std::string_view name;
  double (*value)(const Rung& rung);
};

double of_copies(const Rung& rung, uint64_t Copies::* field) {
  if (!rung.copies) throw Unjudged{"the copies of " + rung.name + " were not counted apart"};
  return static_cast<double>(*rung.copies.*field);
}

// Counters are below 2^53 in any run that ends, so doubles hold them exactly.
const Quantity kQuantities[] = {
    {"sectors", [](const Rung& r) { return static_cast<double>(moved_bytes(r.counters)) / 32; }},
    {"moved_bytes", [](const Rung& r) { return static_cast<double>(moved_bytes(r.counters)); }},
    {"shared_wavefronts", [](const Rung& r) { return static_cast<double>(shared_wavefronts(r.counters)); }},
    {"shared_requests", [](const Rung& r) { return static_cast<double>(shared_requests(r.counters)); }},
    {"bank_conflicts", [](const Rung& r) { return static_cast<double>(bank_conflicts(r.counters)); }},
    {"mean_active_lanes",
     [](const Rung& r) { return ratio(r.counters.thread_instructions, r.counters.instructions).value_or(0); }},
    {"launches", [](const Rung& r) { return static_cast<double>(r.launches); }},
    {"dynamic_shared_bytes", [](const Rung& r) { return static_cast<double>(r.shared_bytes); }},
    {"h2d_calls", [](const Rung& r) { return of_copies(r, &Copies::h2d_calls); }},
    {"h2d_bytes", [](const Rung& r) { return of_copies(r, &Copies::h2d_bytes); }},
    {"d2h_calls", [](const Rung& r) { return of_copies(r, &Copies::d2h_calls); }},
    {"d2h_bytes", [](const Rung& r) { return of_copies(r, &Copies::d2h_bytes); }},
    {"d2d_calls", [](const Rung& r) { return of_copies(r, &Copies::d2d_calls); }},
    {"d2d_bytes", [](const Rung& r) { return of_copies(r, &Copies::d2d_bytes); }},
};

// A value that only a GPU measures; 0 if it did not.
double of_hardware(const Rung& rung, double (*value)(const Hardware&), const char* what) {
  const double result = rung.hardware ? value(*rung.hardware) : 0;
  if (result == 0) throw Unjudged{std::string(what) + " of " + rung.name + ": needs a GPU"};
  return result;
}
const Quantity kHardwareQuantities[] = {
    {"seconds",
     [](const Rung& r) {
       if (!r.hardware && r.estimated_seconds) return *r.estimated_seconds;
       return of_hardware(r, [](const Hardware& h) { return h.seconds(); }, "the time");
     }},
    {"warm_seconds",
     [](const Rung& r) { return of_hardware(r, [](const Hardware& h) { return median(h.warm); }, "the time"); }},
    {"cycles", [](const Rung& r) { return of_hardware(r, [](const Hardware& h) { return h.cycles; }, "the cycles"); }},
    {"span", [](const Rung& r) { return of_hardware(r, [](const Hardware& h) { return h.span; }, "the time"); }},
    {"h2d_seconds",
     [](const Rung& r) { return of_hardware(r, [](const Hardware& h) { return h.h2d_seconds; }, "the time"); }},
    {"d2h_seconds",
     [](const Rung& r) { return of_hardware(r, [](const Hardware& h) { return h.d2h_seconds; }, "the time"); }},
};
constexpr std::string_view kFromHardware = "gpu_";

struct StepQuantity {
  std::string_view name;
  double (*value)(const Step& step);
};
const StepQuantity kStepQuantities[] = {
    {"active_warps", [](const Step& s) { return static_cast<double>(s.active_warps); }},
    {"divergent_warps", [](const Step& s) { return static_cast<double>(s.divergent_warps); }},
    {"conflict_degree", [](const Step& s) { return s.conflict_degree; }},
    {"shared_wavefronts", [](const Step& s) { return static_cast<double>(shared_wavefronts(s.counters)); }},
    {"bank_conflicts", [](const Step& s) { return static_cast<double>(bank_conflicts(s.counters)); }},
};

template <typename Rows>
auto find(const Rows& rows, const std::string& name) {
  return std::find_if(std::begin(rows), std::end(rows), [&](const auto& row) { return row.name == name; });
}

bool known(const Name& name) {
  if (name.rung.empty() || find(machine::kCounterRows, name.quantity) != std::end(machine::kCounterRows)) return true;
  if (name.step) return find(kStepQuantities, name.quantity) != std::end(kStepQuantities);
  if (name.quantity.starts_with(kFromHardware))
    return find(machine::kCounterRows, name.quantity.substr(kFromHardware.size())) != std::end(machine::kCounterRows);
  return find(kQuantities, name.quantity) != std::end(kQuantities) ||
         find(kHardwareQuantities, name.quantity) != std::end(kHardwareQuantities);
}

double counter_of_hardware(const Rung& rung, const std::string& quantity) {
  const auto row = find(machine::kCounterRows, quantity.substr(kFromHardware.size()));
  const auto number = static_cast<unsigned>(row - std::begin(machine::kCounterRows));
  if (!rung.hardware || !(rung.hardware->known >> number & 1))
    throw Unjudged{"the hardware's counters of " + rung.name + " were not read"};
  return static_cast<double>(rung.hardware->counters.*(row->field));
}

double quantity_of(const Name& name, const std::vector<Rung>& rungs) {
  const auto rung = find(rungs, name.rung);
  if (rung == rungs.end()) throw Unjudged{"no rung called " + name.rung + " ran"};
  if (!rung->fault.empty()) throw Unjudged{name.rung + " ended with " + rung->fault};
  if (rung->result == Rung::Result::wrong) throw Unjudged{"the result of " + name.rung + " is wrong"};
  if (name.step > rung->steps.size()) throw Unjudged{fmt::format("{} has no step {}", name.rung, name.step)};
  const Step* step = name.step ? &rung->steps[name.step - 1] : nullptr;
  const auto counter = find(machine::kCounterRows, name.quantity);
  if (counter != std::end(machine::kCounterRows)) {
    return static_cast<double>((step ? step->counters : rung->counters).*(counter->field));
  }
  if (step) return find(kStepQuantities, name.quantity)->value(*step);
  if (name.quantity.starts_with(kFromHardware)) return counter_of_hardware(*rung, name.quantity);
  if (const auto row = find(kHardwareQuantities, name.quantity); row != std::end(kHardwareQuantities))
    return row->value(*rung);
  return find(kQuantities, name.quantity)->value(*rung);
}

// ---- Reading ------------------------------------------------------------------------------------------------------

class File {
 public:
  explicit File(const std::string& name) : name_(name) {}

  [[noreturn]] void fail(const toml::source_region& where, const std::string& what) const {
    throw Error(Exit::environment, fmt::format("{}:{}: {}", name_, where.begin.line, what));
  }

  void only_keys(const toml::table& table, std::initializer_list<std::string_view> keys) const {
    for (const auto& [key, node] : table) {
      if (std::find(keys.begin(), keys.end(), key.str()) == keys.end())
        fail(node.source(), fmt::format("unknown key '{}'", key.str()));
    }
  }
  template <typename T>
  T get(const toml::table& table, std::string_view key, const char* type, T otherwise) const {
    const toml::node* node = table.get(key);
    if (!node) return otherwise;
    if (const auto value = node->value<T>()) return *value;
    fail(node->source(), fmt::format("'{}' takes {}", key, type));
  }
  std::string text(const toml::table& table, std::string_view key) const {
    return get<std::string>(table, key, "text in quotes", "");
  }
  std::vector<std::string> texts(const toml::table& table, std::string_view key) const {
    std::vector<std::string> result;
    const toml::node* node = table.get(key);
    if (!node) return result;
    const toml::array* array = node->as_array();
    if (!array) fail(node->source(), fmt::format("'{}' takes a list", key));
    for (const toml::node& element : *array) {
      const auto value = element.value<std::string>();
      if (!value) fail(element.source(), fmt::format("'{}' takes a list of texts", key));
      result.push_back(*value);
    }
    return result;
  }

  // Every name is looked up once with figures that come to nothing, to find those that do not exist. A division by zero
  // is then no mistake.
  void check(const toml::table& table, const char* key, const std::string& expression) const {
    if (expression.empty()) return;
    double any = 1;
    try {
      evaluate(expression, [&](const Name& name) {
        if (!known(name)) throw std::invalid_argument("no quantity is called '" + name.quantity + "'");
        return any += 0.618;  // never twice the same, so differences are not 0
      });
    } catch (const std::invalid_argument& error) {
      fail(table.get(key)->source(), error.what());
    }
  }

 private:
  const std::string& name_;
};

ClaimRule read_row(const File& file, const toml::table& table) {
  file.only_keys(table, {"text", "document", "device", "figure", "unit", "value", "holds", "needs", "gpu_value",
                         "gpu_holds", "defaults_only", "note"});
  ClaimRule row;
  Claim& claim = row.claim;
  claim.text = file.text(table, "text");
  claim.document = file.text(table, "document");
  claim.device = file.text(table, "device");
  claim.unit = file.text(table, "unit");
  claim.value_expression = file.text(table, "value");
  claim.holds_expression = file.text(table, "holds");
  claim.note = file.text(table, "note");
  if (table.contains("figure")) claim.figure = file.get<double>(table, "figure", "a number", 0);
  row.needs = file.text(table, "needs");
  row.gpu_value = file.text(table, "gpu_value");
  row.gpu_holds = file.text(table, "gpu_holds");
  row.defaults_only = file.get<bool>(table, "defaults_only", "true or false", false);

  if (claim.text.empty() || claim.document.empty()) file.fail(table.source(), "a claim needs 'text' and 'document'");
  if (claim.holds_expression.empty() == row.needs.empty())
    file.fail(table.source(), "a claim has either 'holds' or 'needs'");
  if (!row.needs.empty() && row.needs != "gpu" && row.needs != "time")
    file.fail(table.get("needs")->source(), "'needs' is \"time\" or \"gpu\"");
  file.check(table, "value", claim.value_expression);
  file.check(table, "holds", claim.holds_expression);
  if (row.needs.empty() && !(row.gpu_value.empty() && row.gpu_holds.empty()))
    file.fail(table.source(), "'gpu_value' and 'gpu_holds' go with 'needs'");
  file.check(table, "gpu_value", row.gpu_value);
  file.check(table, "gpu_holds", row.gpu_holds);
  return row;
}

}  // namespace

const char* verdict_text(Verdict verdict) {
  static const char* const kTexts[] = {"holds", "does not hold", "cannot be judged here"};
  return kTexts[static_cast<int>(verdict)];
}

std::string verdict_text(const Claim& claim) {
  return std::string(verdict_text(claim.verdict)) + (claim.estimated ? " (estimated)" : "");
}

ClaimFile parse_claims(std::string_view text, const std::string& name) {
  toml::table table;
  const File file(name);
  try {
    table = toml::parse(text);
  } catch (const toml::parse_error& error) {
    file.fail(error.source(), std::string(error.description()));
  }
  file.only_keys(table, {"options", "separate", "rungs", "compare", "order", "chart", "claim"});
  ClaimFile result;
  result.options = file.texts(table, "options");
  result.rungs = file.texts(table, "rungs");
  if (table.contains("compare")) result.compare = file.texts(table, "compare");
  result.separate = file.get<bool>(table, "separate", "true or false", false);
  if (result.separate == result.rungs.empty()) file.fail(table.source(), "'separate' and 'rungs' go together");
  result.order = static_cast<int>(file.get<int64_t>(table, "order", "a whole number", 0));
  if (const toml::node* chart = table.get("chart")) {
    if (!chart->is_table()) file.fail(chart->source(), "the chart is written as [chart]");
    const toml::table& keys = *chart->as_table();
    file.only_keys(keys, {"before", "after", "measure"});
    result.chart = {file.text(keys, "before"), file.text(keys, "after"), file.text(keys, "measure")};
    if (result.chart.before.empty() || result.chart.after.empty())
      file.fail(chart->source(), "a chart has 'before' and 'after'");
    if (!find_measure(result.chart.measure)) file.fail(chart->source(), "'measure' is one of " + measure_names());
  }
  if (const toml::node* claims = table.get("claim")) {
    if (!claims->is_array_of_tables()) file.fail(claims->source(), "claims are written as [[claim]]");
    for (const toml::node& row : *claims->as_array()) result.rows.push_back(read_row(file, *row.as_table()));
  }
  return result;
}

Claim judge(const ClaimRule& row, const std::vector<Rung>& rungs, bool defaults) {
  Claim claim = row.claim;
  const auto lookup = [&](const Name& name) -> double {
    if (!name.rung.empty()) return quantity_of(name, rungs);
    const std::optional<double>& own = name.quantity == "value" ? claim.value : claim.figure;
    if (!own) throw Unjudged{"the claim has no " + name.quantity};
    return *own;
  };
  try {
    if (!claim.value_expression.empty()) claim.value = evaluate(claim.value_expression, lookup);
    const bool on_gpu = std::any_of(rungs.begin(), rungs.end(), [](const Rung& r) { return r.hardware.has_value(); });
    const bool has_times =
        std::any_of(rungs.begin(), rungs.end(), [](const Rung& r) { return r.estimated_seconds.has_value(); });
    const bool estimates = row.needs == "time" && !on_gpu && has_times;
    if (!row.needs.empty() && ((!on_gpu && !estimates) || row.gpu_holds.empty()))
      throw Unjudged{row.needs != "time"                  ? "needs a GPU"
                     : has_times || row.gpu_holds.empty() ? "a time: needs a GPU"
                                                          : "a time: --time estimates it, a GPU measures it"};
    const bool of_time = !row.needs.empty();
    claim.measured = of_time && on_gpu;
    if (of_time && !row.gpu_value.empty()) claim.value = evaluate(row.gpu_value, lookup);
    claim.estimated = estimates;
    if (row.defaults_only && !defaults) throw Unjudged{"its figure is of the default sizes"};
    const bool holds = evaluate(of_time ? row.gpu_holds : claim.holds_expression, lookup) != 0;
    claim.verdict = holds ? Verdict::holds : Verdict::does_not_hold;
  } catch (const Unjudged& why) {
    claim.reason = why.reason;
    claim.estimated = claim.estimated && claim.value;
  } catch (const std::invalid_argument& error) {  // a division by zero: nothing of the kind was counted
    claim.reason = error.what();
  }
  return claim;
}

}  // namespace coalesce::tool
