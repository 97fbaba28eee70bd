#include "machine/check/findings.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>

#include "machine/check/agents.h"
#include "machine/check/undefined.h"
#include "machine/execute/launch.h"
#include "machine/users_place.h"

namespace coalesce::machine {

namespace {

// Distinct findings of one launch; programs that are wrong everywhere need not say everything.
constexpr std::size_t kMostFindings = 200;

const char* verb(Kind kind) {
  return kind == Kind::load ? "read" : kind == Kind::store ? "write" : kind == Kind::call ? "copy" : "atomic";
}

}  // namespace

std::array<uint32_t, 3> Findings::block(uint64_t index) const { return block_at(launch_.grid, launch_.cluster, index); }

std::array<uint32_t, 3> Findings::thread(uint32_t warp, uint32_t lane) const {
  const uint32_t t = warp * kLanes + lane;
  const auto& b = launch_.block;
  return {t % b[0], t / b[0] % b[1], t / b[0] / b[1]};
}

// "words + 128" of shared memory, "16 bytes into allocation #3 (cudaMalloc, ...)".
std::string Findings::name_address(const Seen& s) const {
  const std::string bytes = std::to_string(s.bytes) + (s.bytes == 1 ? " byte " : " bytes ");
  if (s.space == AddressSpace::global) return bytes + launch_.memory->describe(s.address, s.bytes);
  if (s.space == AddressSpace::local)
    return bytes + "at offset " + std::to_string(s.address) + " of the thread's local memory";
  const Decoded& p = kernel_.program;
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

std::string Findings::name_place(uint32_t instruction) const {
  const Decoded& p = kernel_.program;
  const Place& where = p.places[p.code[instruction].place];
  const SourcePlace& at = users_place(where.source, where.inlined_at);
  if (at.line == 0) return "PTX line " + std::to_string(p.code[instruction].ptx_line);
  return at.file.substr(at.file.rfind('/') + 1) + ":" + std::to_string(at.line);
}

std::string Findings::name_changer(const Changer& c) const {
  const auto three = [](const std::array<uint32_t, 3>& a) {
    return "(" + std::to_string(a[0]) + "," + std::to_string(a[1]) + "," + std::to_string(a[2]) + ")";
  };
  return "block " + three(block(c.block)) + ", thread " + three(thread(c.warp, c.lane)) + " at " +
         name_place(c.instruction);
}

Findings::Key Findings::key_of(const Seen& s) const {
  if (s.origin == kUnset) return {s.hazard, kUnset, s.instruction};
  // The first of several uses of a value is shown.
  if (s.origin != kNone) return {s.hazard, s.origin, s.origin};
  const uint32_t before = s.before ? records_[s.before].instruction : kNone;
  return {s.hazard, std::min(before, s.instruction), std::max(before, s.instruction)};
}

bool Findings::counts_again(const Seen& s) {
  const Key key = key_of(s);
  if (!last_ || last_->first != key) {
    const auto known = all_.find(key);
    last_ = known == all_.end() ? nullptr : &*known;
  }
  if (!last_) {
    const bool left_out = all_.size() == kMostFindings;
    left_out_ += left_out;
    return left_out;
  }
  if (s.apart > last_->second.apart) return false;
  last_->second.diagnostic.count += 1;
  return true;
}

void Findings::add(const Seen& s) {
  if (counts_again(s)) return;
  if (last_) {  // a wider pair
    const uint64_t count = last_->second.diagnostic.count + 1;
    last_->second = {describe(s), s.apart};
    last_->second.diagnostic.count = count;
    return;
  }
  last_ = &*all_.emplace(key_of(s), Finding{describe(s), s.apart}).first;
}

Diagnostic Findings::describe(const Seen& s) const {
  const Decoded& p = kernel_.program;
  Diagnostic d;
  d.hazard = s.hazard;
  d.what = verb(kernel_.rules[s.instruction].kind);
  const Instruction& i = p.code[s.instruction];
  d.place = p.places[i.place].source;
  d.ptx_line = i.ptx_line;
  d.kernel = p.kernel;
  d.block = block(s.block);
  d.warp = s.warp;
  d.lanes = 1u << s.lane;
  d.thread = thread(s.warp, s.lane);
  d.address = name_address(s);
  if (s.of_block != ~uint64_t{0}) {
    const auto of = block(s.of_block);
    d.address +=
        " of block (" + std::to_string(of[0]) + "," + std::to_string(of[1]) + "," + std::to_string(of[2]) + ")";
  }
  d.inlined_at = inlined_to(p, s.instruction);
  if (s.before) {
    const AccessRecord& r = records_[s.before];
    const Instruction& j = p.code[r.instruction];
    const auto by = agent_of(r, launch_.warps_per_block)
                        ? thread(static_cast<uint32_t>(r.asked_by) / kLanes, static_cast<uint32_t>(r.asked_by) % kLanes)
                        : thread(static_cast<uint32_t>(r.warp), s.before_lane);
    d.other = Party{verb(kernel_.rules[r.instruction].kind),
                    p.places[j.place].source,
                    j.ptx_line,
                    block(r.block),
                    by,
                    inlined_to(p, r.instruction),
                    {}};
  }
  explain(s, d);
  return d;
}

void Findings::explain(const Seen& s, Diagnostic& d) const {
  const auto name = [](AddressSpace a) -> std::string {
    return a == AddressSpace::shared ? "shared" : a == AddressSpace::local ? "local" : "global";
  };
  const std::string space = name(s.space);
  const Decoded& p = kernel_.program;
  switch (s.hazard) {
    case Hazard::race_shared:
    case Hazard::race_global:
      d.message = "race in " + space + " memory: this " + d.what + " and another thread's " +
                  (d.other ? d.other->what : "access") + " have no order";
      if (s.proxy) d.message = d.what + " of " + space + " memory that may not see what a thread has stored there";
      if (s.as_constant) {
        d.message = "read as of constant memory, which this launch has written";
        d.notes.push_back(
            "__ldg() and pointers that are const and __restrict__ (ld.global.nc) may see what was there "
            "before the launch: a plain load, or a launch of its own");
      }
      if (s.ended) d.message = d.what + " of shared memory of a block that may have ended";
      break;
    case Hazard::uninitialised:
      if (s.origin == kUnset) {
        d.message = s.note + " depends on a variable that this thread has not set";
        d.what = "use";
        d.address = "";
        return;
      }
      if (const auto at = origins_.find(s.origin); at != origins_.end()) {
        const Seen& o = at->second;
        const Instruction& i = p.code[s.origin];
        const bool shuffled = i.kind == Kind::shuffle;
        d.message = s.note + " depends on " +
                    (shuffled ? "a shuffle from a lane that takes no part in it"
                              : name(o.space) + " memory that nothing has written");
        d.what = "use";
        d.address = shuffled ? "" : name_address(o);
        d.other = Party{shuffled ? "shuffle" : "read", p.places[i.place].source, i.ptx_line, block(o.block),
                        thread(o.warp, o.lane),        inlined_to(p, s.origin),  {}};
        return;
      }
      d.message = d.what + " of " + space + " memory that nothing has written";
      break;
    case Hazard::divergent_barrier:
      d.message = p.code[s.instruction].kind == Kind::warp_barrier
                      ? "barrier that some lanes of the warp go past while others wait at it"
                      : "barrier that some warps of the block go past while others wait at it";
      d.what = d.address = "";
      break;
    case Hazard::out_of_array:
      d.message = d.what + (s.note.empty() ? " past the end of the array that its address was made of, into another"
                                           : " of memory of malloc's that is not the program's");
      if (s.note.empty()) d.notes.push_back("the address was made of " + name_bounds(s));
      break;
    case Hazard::bad_mask:
      d.message = "the thread's lane is not in the mask of this instruction";
      d.what = d.address = "";
      d.notes.push_back(
          "the mask has to name every lane that comes here, as __activemask() in front of the branch would");
      break;
    case Hazard::early_use:
      if (const auto who = s.before ? agent_of(records_[s.before], launch_.warps_per_block) : std::nullopt) {
        const AgentText& text = kAgentTexts[static_cast<std::size_t>(*who)];
        const uint32_t op = kernel_.program.code[records_[s.before].instruction].memory;
        const bool copy = op != kNone && kernel_.program.memory[op].is_copy;
        d.message = d.what + " of " + space + " memory that " + (copy ? "a cp.async may still be writing" : text.does);
        d.notes.push_back(std::string(text.wait) +
                          " has to come before, by this thread or by one that it meets at a barrier afterwards");
        break;
      }
      [[fallthrough]];
    default:
      d.message = d.what + " of shared memory that a cp.async may still be copying to";
      d.notes.push_back("cp.async.wait_group (__pipeline_wait_prior) by the thread that copies has to come before");
      break;
  }
  if (!s.note.empty()) d.notes.push_back(s.note);
}

// "of shared memory 'words'", "of allocation #3 ...": what an address was made of.
std::string Findings::name_bounds(const Seen& s) const {
  const Decoded& p = kernel_.program;
  const AddressFacts::Bounds& b = addresses_.bounds(p.code[s.instruction].memory);
  if (s.made_of != 0) return launch_.memory->describe(s.made_of, 1);
  if (b.space == AddressSpace::global) return launch_.memory->describe(b.base, 1);
  for (const ArrayVariable& a : p.arrays)
    if (a.space == b.space && a.offset == b.base) {
      Seen first = s;
      first.address = b.base;
      if (b.space == AddressSpace::shared) return name_address(first);
      return "variable '" + a.name + "' of " + std::to_string(a.size) + " bytes";
    }
  return "";
}

std::vector<Diagnostic> Findings::take() {
  std::vector<Diagnostic> all;
  for (auto& [key, f] : all_) all.push_back(std::move(f.diagnostic));
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
    d.kernel = kernel_.program.kernel;
    d.message = "more than " + std::to_string(kMostFindings) + " places of this launch have hazards; " +
                std::to_string(left_out_) + " accesses at further places are left out";
    all.push_back(std::move(d));
  }
  if (records_.full()) {
    Diagnostic d;
    d.severity = Severity::warning;
    d.hazard = Hazard::not_checked;
    d.kernel = kernel_.program.kernel;
    d.message = "races were looked for in a part of this launch only: this computer has no memory for more";
    d.notes.push_back("a smaller problem shows the same races");
    all.push_back(std::move(d));
  }
  return all;
}

}  // namespace coalesce::machine
