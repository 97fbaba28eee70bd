// The state that a launch's blocks share, and the diagnostics of its findings.
#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "machine/check/check.h"

namespace coalesce::machine {

namespace {

// Distinct findings of one launch; programs that are wrong everywhere need not say everything.
constexpr std::size_t kMostFindings = 200;

const char* verb(Kind kind) { return kind == Kind::load ? "read" : kind == Kind::store ? "write" : "atomic"; }

}  // namespace

LaunchCheck::LaunchCheck(Launch& launch, AccessId first, uint64_t room)
    : launch_(launch), first_(first), room_(room), rules_(find_rules(*launch.program)), footprint_(*launch.program) {}

std::unique_ptr<BlockObserver> LaunchCheck::observe_blocks() { return std::make_unique<BlockCheck>(*this); }

AccessId LaunchCheck::add(const AccessRecord& record) {
  records_.push_back(record);
  return next() - 1;
}

std::array<uint32_t, 3> LaunchCheck::block(uint64_t index) const {
  const auto& g = launch_.grid;
  return {static_cast<uint32_t>(index % g[0]), static_cast<uint32_t>(index / g[0] % g[1]),
          static_cast<uint32_t>(index / g[0] / g[1])};
}

std::array<uint32_t, 3> LaunchCheck::thread(uint32_t warp, uint32_t lane) const {
  const uint32_t t = warp * kLanes + lane;
  const auto& b = launch_.block;
  return {t % b[0], t / b[0] % b[1], t / b[0] / b[1]};
}

// "words + 128" of shared memory, "16 bytes into allocation #3 (cudaMalloc, ...)".
std::string LaunchCheck::name_address(const Seen& s) const {
  const std::string bytes = std::to_string(s.bytes) + (s.bytes == 1 ? " byte " : " bytes ");
  if (s.space == AddressSpace::global) return bytes + launch_.memory->describe(s.address, s.bytes);
  if (s.space == AddressSpace::local)
    return bytes + "at offset " + std::to_string(s.address) + " of the thread's local memory";
  const Decoded& p = *launch_.program;
  if (s.address >= p.static_shared_bytes)
    return bytes + "at offset " + std::to_string(s.address - p.static_shared_bytes) + " of dynamic shared memory";
  for (const SharedVariable& v : p.shared) {
    if (s.address < v.offset || s.address >= v.offset + v.size) continue;
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(v.name.c_str(), nullptr, nullptr, &status),
                                                      std::free);
    std::string name = status == 0 && text ? text.get() : v.name;
    if (const std::size_t at = name.rfind("::"); at != std::string::npos) name.erase(0, at + 2);
    return bytes + "at offset " + std::to_string(s.address - v.offset) + " of shared memory '" + name + "'";
  }
  return bytes + "at offset " + std::to_string(s.address) + " of shared memory";
}

void LaunchCheck::found(const Seen& s) {
  const uint32_t before = s.before ? (*this)[s.before].instruction : kNone;
  const auto key = std::make_tuple(s.hazard, std::min(before, s.instruction), std::max(before, s.instruction));
  const auto known = findings_.find(key);
  if (known != findings_.end()) {
    ++known->second.count;
    return;
  }
  if (findings_.size() == kMostFindings) {
    ++left_out_;
    return;
  }
  const Decoded& p = *launch_.program;
  Diagnostic d;
  d.hazard = s.hazard;
  d.what = verb(rule(s.instruction).kind);
  const Instruction& i = p.code[s.instruction];
  d.place = p.places[i.place].source;
  d.ptx_line = i.ptx_line;
  d.kernel = p.kernel;
  d.block = block(s.block);
  d.warp = s.warp;
  d.lanes = 1u << s.lane;
  d.thread = thread(s.warp, s.lane);
  d.address = name_address(s);
  d.inlined_at = p.places[i.place].inlined_at;
  if (s.before) {
    const AccessRecord& r = (*this)[s.before];
    const Instruction& j = p.code[r.instruction];
    d.other = Party{verb(rule(r.instruction).kind), p.places[j.place].source,     j.ptx_line, block(r.block),
                    thread(r.warp, s.before_lane),  p.places[j.place].inlined_at, {}};
  }
  const char* space = s.space == AddressSpace::shared ? "shared" : s.space == AddressSpace::local ? "local" : "global";
  switch (s.hazard) {
    case Hazard::race_shared:
    case Hazard::race_global:
      d.message = "race in " + std::string(space) + " memory: this " + d.what + " and another thread's " +
                  (d.other ? d.other->what : "access") + " have no order";
      break;
    case Hazard::uninitialised:
      d.message = d.what + " of " + space + " memory that nothing has written";
      break;
    default:
      d.message = d.what + " of shared memory that a cp.async may still be copying to";
      d.notes.push_back("cp.async.wait_group (__pipeline_wait_prior) by the thread that copies has to come before");
      break;
  }
  if (s.note) d.notes.push_back(s.note);
  findings_.emplace(key, std::move(d));
}

std::vector<Diagnostic> LaunchCheck::take() {
  std::vector<Diagnostic> all;
  for (auto& [key, d] : findings_) all.push_back(std::move(d));
  // The order of the source.
  const auto order = [](const Diagnostic& d) {
    return std::make_tuple(std::cref(d.place.file), d.place.line, d.ptx_line, d.hazard,
                           d.other ? d.other->ptx_line : 0u);
  };
  std::sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
  if (left_out_ != 0) {
    Diagnostic d;
    d.severity = Severity::warning;
    d.hazard = Hazard::not_checked;
    d.kernel = launch_.program->kernel;
    d.message = "more than " + std::to_string(kMostFindings) + " places of this launch have hazards; " +
                std::to_string(left_out_) + " accesses at further places are left out";
    all.push_back(std::move(d));
  }
  if (full_) {
    Diagnostic d;
    d.severity = Severity::warning;
    d.hazard = Hazard::not_checked;
    d.kernel = launch_.program->kernel;
    d.message = "races were looked for in a part of this launch only: this computer has no memory for more";
    d.notes.push_back("a smaller problem shows the same races");
    all.push_back(std::move(d));
  }
  return all;
}

}  // namespace coalesce::machine
