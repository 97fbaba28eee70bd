#include "tool/figures/hazards.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace coalesce::tool {
namespace {

using Json = nlohmann::ordered_json;
using machine::Diagnostic;
using machine::Hazard;

// The pair of source lines, in either order; of PTX where the program does not say.
auto lines_of(const Diagnostic& d) {
  const auto line = [](const machine::SourcePlace& p, uint32_t ptx_line) {
    return p.file.empty() ? std::make_pair(std::string(), ptx_line) : std::make_pair(p.file, p.line);
  };
  auto a = line(d.place, d.ptx_line), b = d.other ? line(d.other->place, d.other->ptx_line) : a;
  if (b < a) std::swap(a, b);
  return std::make_tuple(d.kernel, d.hazard, d.fault, a, b);
}

}  // namespace

Hazards hazards_of(const Record& record) {
  Hazards all;
  std::map<decltype(lines_of(Diagnostic())), std::size_t> known;
  for (const Json& value : record.diagnostics) {
    Diagnostic d = record::diagnostic_of(value);
    if (record.interrupted() && d.fault == machine::Fault::budget) continue;  // that is what the signal left
    if (d.hazard == Hazard::leak || (d.hazard == Hazard::none && d.severity == machine::Severity::warning)) {
      all.notes.push_back(std::move(d));
      continue;
    }
    const auto [at, fresh] = known.try_emplace(lines_of(d), all.found.size());
    if (fresh)
      all.found.push_back(std::move(d));
    else
      all.found[at->second].count += d.count;
  }
  return all;
}

}  // namespace coalesce::tool
