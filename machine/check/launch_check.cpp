// The state that a launch's blocks share, and the diagnostics of its findings.
#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

#include "machine/check/check.h"
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

LaunchCheck::LaunchCheck(Launch& launch, AccessId first, uint64_t room, std::vector<AccessRecord> records)
    : launch_(launch),
      first_(first),
      room_(room),
      records_(std::move(records)),
      rules_(find_rules(*launch.program)),
      footprint_(*launch.program),
      skips_(find_skips(*launch.program)),
      lane_skips_(find_skips(*launch.program, Kind::warp_barrier)),
      tells_skips_(launch.program->blocks.size()),
      backoffs_(*launch.program) {
  records_.clear();
  // Costs nothing before it is used; growing would copy. tidy() comes between accesses.
  records_.reserve(kMostRecords + (1u << 10));
  for (const auto& a : launch.memory->all())
    if (a->shadow) a->shadow->cells.past().clear();  // it names accesses before `first`: nothing looks at them again
  for (const std::vector<Skip>* all : {&skips_, &lane_skips_})
    for (const Skip& s : *all) tells_skips_[s.branch] = tells_skips_[s.after] = 1;
  find_bounds();
  for (const AccessRule& r : rules_) {
    block_scopes_ = block_scopes_ || (is_strong(r) && r.scope == Scope::block);
    may_poll_ = may_poll_ || r.may_poll;
  }
  for (const Instruction& i : launch.program->code) {
    const bool arrives = i.kind == Kind::nothing && static_cast<Nothing>(i.mode) == Nothing::copies_arrive;
    if (arrives || (i.kind == Kind::call && static_cast<Callee>(i.mode) == Callee::service)) agents_ = kAgents;
    if (i.memory != kNone && launch.program->memory[i.memory].silent) agents_ = kAgents;
    block_scopes_ = block_scopes_ || (i.kind == Kind::nothing && static_cast<Nothing>(i.mode) == Nothing::block_fence);
    if (!early_ && i.kind == Kind::nothing && static_cast<Nothing>(i.mode) == Nothing::grid_wait)
      early_ = std::make_unique<Footprint>(*launch.program);
  }
  find_written();
  find_padding();
}

BlockCheck* LaunchCheck::running(uint64_t block) const {
  for (BlockCheck* b : blocks_)
    if (b->runs(block)) return b;
  return nullptr;
}

View& LaunchCheck::meeting(uint64_t block, uint64_t phase) {
  Meeting& m = meetings_[block / launch_.cluster_blocks()][phase % 2];
  if (m.phase != phase) m = {phase, {}};
  return m.told;
}

// The last block of a cluster ends its meetings.
void LaunchCheck::ended(uint64_t block) {
  const uint64_t blocks = launch_.cluster_blocks(), cluster = block / blocks;
  if (meetings_.empty()) return;
  for (uint64_t b = cluster * blocks; b < (cluster + 1) * blocks; ++b)
    if (running(b)) return;
  meetings_.erase(cluster);
}

std::unique_ptr<BlockObserver> LaunchCheck::observe_blocks() { return std::make_unique<BlockCheck>(*this); }

AccessId LaunchCheck::add(const AccessRecord& record) {
  records_.push_back(record);
  return next() - 1;
}

void LaunchCheck::forget() {
  // It looks at all cells: worth it when records are as many as a part of them.
  std::size_t cells = 0;
  for (const auto& a : launch_.memory->all())
    if (a->shadow) cells += a->shadow->cells.room();
  enough_ = std::max(enough_, std::min(kMostRecords, cells / 4));
  if (records_.size() < enough_) return;
  std::vector<AccessId> moved(records_.size() + 1, 0);  // first: 1 for those that are named
  const auto each = [&](auto visit) {
    const auto id = [&](AccessId& i) {
      if (i >= first_) visit(i);
    };
    for (const auto& a : launch_.memory->all())
      if (a->shadow) a->shadow->cells.visit_all(first_, true, [&](Accessed& x) { id(x.id); });
    for (BlockCheck* b : blocks_) b->visit_ids(id);
  };
  each([&](AccessId i) { moved[i - first_] = 1; });
  std::size_t kept = 0;
  for (std::size_t k = 0; k < records_.size(); ++k) {
    const bool named = moved[k] != 0;
    moved[k] = first_ + static_cast<AccessId>(kept);  // where it goes, or what comes behind it
    if (named) records_[kept++] = records_[k];
  }
  moved.back() = first_ + static_cast<AccessId>(kept);
  each([&](AccessId& i) { i = moved[i - first_]; });
  for (BlockCheck* b : blocks_) b->move_first(moved, first_);
  records_.resize(kept);
  enough_ = std::max(kFewRecords, 2 * kept);
}

std::array<uint32_t, 3> LaunchCheck::block(uint64_t index) const {
  return block_at(launch_.grid, launch_.cluster, index);
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

std::string LaunchCheck::name_place(uint32_t instruction) const {
  const Decoded& p = *launch_.program;
  const Place& where = p.places[p.code[instruction].place];
  const SourcePlace& at = users_place(where.source, where.inlined_at);
  if (at.line == 0) return "PTX line " + std::to_string(p.code[instruction].ptx_line);
  return at.file.substr(at.file.rfind('/') + 1) + ":" + std::to_string(at.line);
}

std::string LaunchCheck::name_changer(const Changer& c) const {
  const auto three = [](const std::array<uint32_t, 3>& a) {
    return "(" + std::to_string(a[0]) + "," + std::to_string(a[1]) + "," + std::to_string(a[2]) + ")";
  };
  return "block " + three(block(c.block)) + ", thread " + three(thread(c.warp, c.lane)) + " at " +
         name_place(c.instruction);
}

LaunchCheck::FindingKey LaunchCheck::key_of(const Seen& s) const {
  if (s.origin == kUnset) return {s.hazard, kUnset, s.instruction};
  // The first of several uses of a value is shown.
  if (s.origin != kNone) return {s.hazard, s.origin, s.origin};
  const uint32_t before = s.before ? (*this)[s.before].instruction : kNone;
  return {s.hazard, std::min(before, s.instruction), std::max(before, s.instruction)};
}

bool LaunchCheck::counts_again(const Seen& s) {
  const FindingKey key = key_of(s);
  if (!last_found_ || last_found_->first != key) {
    const auto known = findings_.find(key);
    last_found_ = known == findings_.end() ? nullptr : &*known;
  }
  if (!last_found_) {
    const bool left_out = findings_.size() == kMostFindings;
    left_out_ += left_out;
    return left_out;
  }
  if (s.apart > last_found_->second.apart) return false;
  last_found_->second.diagnostic.count += 1;
  return true;
}

void LaunchCheck::found(const Seen& s) {
  if (counts_again(s)) return;
  if (last_found_) {  // a wider pair
    const uint64_t count = last_found_->second.diagnostic.count + 1;
    last_found_->second = {describe(s), s.apart};
    last_found_->second.diagnostic.count = count;
    return;
  }
  last_found_ = &*findings_.emplace(key_of(s), Finding{describe(s), s.apart}).first;
}

Diagnostic LaunchCheck::describe(const Seen& s) const {
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
  if (s.of_block != ~uint64_t{0}) {
    const auto of = block(s.of_block);
    d.address +=
        " of block (" + std::to_string(of[0]) + "," + std::to_string(of[1]) + "," + std::to_string(of[2]) + ")";
  }
  d.inlined_at = inlined_to(p, s.instruction);
  if (s.before) {
    const AccessRecord& r = (*this)[s.before];
    const Instruction& j = p.code[r.instruction];
    const auto by = agent(r)
                        ? thread(static_cast<uint32_t>(r.asked_by) / kLanes, static_cast<uint32_t>(r.asked_by) % kLanes)
                        : thread(static_cast<uint32_t>(r.warp), s.before_lane);
    d.other = Party{verb(rule(r.instruction).kind),
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

void LaunchCheck::explain(const Seen& s, Diagnostic& d) const {
  const auto name = [](AddressSpace a) -> std::string {
    return a == AddressSpace::shared ? "shared" : a == AddressSpace::local ? "local" : "global";
  };
  const std::string space = name(s.space);
  const Decoded& p = *launch_.program;
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
      if (const auto who = s.before ? agent((*this)[s.before]) : std::nullopt) {
        const AgentText& text = kAgentTexts[static_cast<std::size_t>(*who)];
        const uint32_t op = launch_.program->code[(*this)[s.before].instruction].memory;
        const bool copy = op != kNone && launch_.program->memory[op].is_copy;
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

std::vector<AccessSite> LaunchCheck::take_accesses() {
  std::vector<AccessSite> all = footprint_.take(), early;
  if (early_)
    early = early_->take();
  else
    std::swap(all, early);
  for (AccessSite& s : early) {
    s.early = true;
    all.push_back(std::move(s));
  }
  return all;
}

std::vector<Diagnostic> LaunchCheck::take() {
  std::vector<Diagnostic> all;
  for (auto& [key, f] : findings_) all.push_back(std::move(f.diagnostic));
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
