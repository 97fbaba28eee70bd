#include "tool/figures/hazards.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "machine/users_place.h"
#include "record/names.h"

namespace coalesce::tool {
namespace {

using machine::Diagnostic;
using machine::Fault;
using machine::Hazard;
using machine::SourcePlace;

// Moves to the innermost line of the user's, where code of a foreign header was inlined to it.
void to_user_line(SourcePlace& place, const std::vector<SourcePlace>& inlined_at, std::vector<std::string>& notes,
                  const std::vector<std::string>& foreign) {
  if (place.file.empty() || !is_foreign(place.file, foreign)) return;
  for (const SourcePlace& at : inlined_at) {
    if (is_foreign(at.file, foreign)) continue;
    notes.push_back("in " + place.file + ":" + std::to_string(place.line) + ", inlined there");
    place = at;
    return;
  }
}

// The variable or allocation of "4 bytes at offset 16 of shared memory 'sums'", "12 bytes past the end of allocation
// #3".
std::string object_of(const std::string& address) {
  for (const char* word : {"shared memory", "allocation #", "local memory"})
    if (const std::size_t at = address.find(word); at != std::string::npos) return address.substr(at);
  return address;
}

// Equal for findings that one mistake makes.
auto key_of(const Diagnostic& d) {
  using Line = std::pair<std::string, uint32_t>;
  Line a{d.place.file, d.place.line}, b = d.other ? Line{d.other->place.file, d.other->place.line} : a;
  if (b < a) std::swap(a, b);
  std::string rest;
  if (a.first.empty()) {
    rest = without_template_arguments(shorten(demangle(d.kernel))) + '\n' + d.what + '\n' +
           (d.other ? d.other->what + '\n' : "") + object_of(d.address);
    if (d.kernel.empty()) rest += d.message;
  }
  return std::make_tuple(kind_of(d), a, b, std::move(rest));
}

// How far apart those are who race: 0 lanes of a warp, 1 warps, 2 blocks. The remedy tells lanes from warps.
int apart(const Diagnostic& d) {
  if (!d.other || !d.who.empty() || !d.other->who.empty()) return 0;
  if (d.block != d.other->block) return 2;
  return std::any_of(d.notes.begin(), d.notes.end(), [](const std::string& n) { return n.starts_with("lanes of one"); })
             ? 0
             : 1;
}

bool is_not_checked(const Diagnostic& d) {
  if (d.hazard == Hazard::not_checked) return true;
  if (d.hazard != Hazard::none || d.severity == machine::Severity::warning) return false;
  const Fault f = d.fault;
  return f == Fault::none || f == Fault::illegal_instruction || f == Fault::assertion || f == Fault::trap ||
         f == Fault::budget;
}

class Merging {
 public:
  explicit Merging(std::vector<Hazards::Finding>& all) : all_(all) {}
  void add(Diagnostic d) {
    const auto [at, fresh] = known_.try_emplace(key_of(d), all_.size());
    if (fresh) {
      all_.push_back({std::move(d), {}, 1});
      if (!all_.back().d.kernel.empty()) all_.back().kernels.push_back(all_.back().d.kernel);
      lines_[at->second].insert(lines_of(all_.back().d));
      return;
    }
    Hazards::Finding& f = all_[at->second];
    d.count += f.d.count;
    if (lines_[at->second].insert(lines_of(d)).second) ++f.places;
    if (!d.kernel.empty() && std::find(f.kernels.begin(), f.kernels.end(), d.kernel) == f.kernels.end())
      f.kernels.push_back(d.kernel);
    // The remedy of the widest orders the others, too.
    if (apart(d) > apart(f.d)) {
      f.d = std::move(d);
      if (!f.d.kernel.empty()) std::iter_swap(f.kernels.begin(), std::ranges::find(f.kernels, f.d.kernel));
    } else {
      f.d.count = d.count;
    }
  }

 private:
  using Pair = std::tuple<std::string, uint32_t, uint32_t>;
  static Pair lines_of(const Diagnostic& d) { return {d.kernel, d.ptx_line, d.other ? d.other->ptx_line : 0}; }
  std::vector<Hazards::Finding>& all_;
  std::map<decltype(key_of(Diagnostic())), std::size_t> known_;
  std::map<std::size_t, std::set<Pair>> lines_;
};

}  // namespace

std::string kind_of(const Diagnostic& d) {
  return d.hazard != Hazard::none ? machine::name_of(machine::kHazards, d.hazard)
                                  : machine::name_of(machine::kFaults, d.fault);
}

std::vector<std::string> hazard_kinds() {
  std::vector<std::string> all;
  for (const auto& [name, hazard] : machine::kHazards)
    if (hazard != Hazard::none && hazard != Hazard::not_checked) all.emplace_back(name);
  for (const auto& [name, fault] : machine::kFaults) {
    Diagnostic d;
    d.fault = fault;
    if (!is_not_checked(d)) all.emplace_back(name);
  }
  return all;
}

bool is_foreign(const std::string& file, const std::vector<std::string>& foreign) {
  if (machine::is_system_file(file)) return true;
  return std::any_of(foreign.begin(), foreign.end(),
                     [&](const std::string& folder) { return !folder.empty() && file.starts_with(folder + "/"); });
}

std::vector<Diagnostic> diagnostics_of(const Record& record) {
  std::vector<Diagnostic> all;
  for (const auto& value : record.diagnostics) {
    Diagnostic d = record::diagnostic_of(value);
    if (!(record.interrupted() && d.fault == Fault::budget)) all.push_back(std::move(d));
  }
  return all;
}

Hazards hazards_of(std::vector<Diagnostic> diagnostics, const HazardRules& rules) {
  Hazards all;
  Merging found(all.found), warnings(all.warnings);
  for (Diagnostic& d : diagnostics) {
    std::vector<std::string> inner;
    to_user_line(d.place, d.inlined_at, inner, rules.foreign);
    if (d.other) to_user_line(d.other->place, d.other->inlined_at, inner, rules.foreign);
    d.notes.insert(d.notes.end(), inner.begin(), inner.end());
    if (is_not_checked(d)) {
      all.not_checked.push_back(std::move(d));
      continue;
    }
    const std::string kind = kind_of(d);
    if (rules.disabled.contains(kind)) continue;
    const bool leak = d.hazard == Hazard::leak;
    if ((leak && !rules.leaks_count) || (d.hazard == Hazard::none && d.severity == machine::Severity::warning)) {
      all.notes.push_back(std::move(d));
      continue;
    }
    if (allowed(d, kind, rules.suppressions)) {
      all.suppressed += d.count;
      continue;
    }
    // The machine warns of what a run goes on after; a hazard is an error all the same.
    const bool warning = d.hazard == Hazard::uninitialised_copy && d.severity == machine::Severity::warning;
    if (!warning) d.severity = machine::Severity::error;
    (warning ? warnings : found).add(std::move(d));
  }
  return all;
}

}  // namespace coalesce::tool
