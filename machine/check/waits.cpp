#include "machine/check/waits.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "machine/execute/block.h"
#include "machine/execute/slots.h"

namespace coalesce::machine {

namespace {

uint64_t hash_of(const std::byte* from, std::size_t bytes, uint64_t seed) {
  uint64_t h = seed;
  for (std::size_t k = 0; k + 8 <= bytes; k += 8) {
    uint64_t word;
    std::memcpy(&word, from + k, 8);
    h = (h ^ word) * 0x9e37'79b9'7f4a'7c15u;
    h ^= h >> 29;
  }
  for (std::size_t k = bytes / 8 * 8; k < bytes; ++k) h = (h ^ static_cast<uint64_t>(from[k])) * 0x100'0000'01b3u;
  return h;
}

uint64_t hash_of_register(const Code& code, uint32_t reg, const Warp& w, uint64_t seed) {
  const Home& home = code.homes[reg];
  if (home.vector != kNoSlot)
    return hash_of(w.at<std::byte>(home.vector), vector_bytes(code.program->registers[reg].element), seed);
  return home.scalar == kNoSlot ? seed : hash_of(w.at<std::byte>(home.scalar), kScalarBytes, seed);
}

}  // namespace

void Waits::begin() {
  settle_atomics();
  for (Turns& t : warps_) {
    t.states.clear();
    t.repeats.clear();
  }
}

void Waits::before_atomic(const Access& a, const Target& t) {
  Before b{t.host, 0, a.op->width, t.space, t.address, {s_.block, t.warp, t.lane, a.instruction}};
  std::memcpy(&b.old, t.host, a.op->width);
  before_.push_back(b);
}

void Waits::changed(AddressSpace space, uint64_t address, const Changer& by) {
  check_.count_change();
  if (check_.kernel.may_poll) (space == AddressSpace::shared ? s_.changers : check_.changers)[address] = by;
}

void Waits::settle() {
  for (const Before& b : before_)
    if (std::memcmp(b.at, &b.old, b.width) != 0) changed(b.space, b.address, b.by);
  before_.clear();
}

void Waits::note_polled(const Access& a, const Warp& w) {
  const AccessRule& rule = check_.rule(a.instruction);
  Turns& s = warps_[w.index];
  if (rule.kind == Kind::store || (rule.kind == Kind::atomic && !a.op->returns)) return;
  const uint32_t lane = lowest(w.active);
  s.polled = {a.instruction, lane, a.bytes, address_of(a, w, lane), &a};
}

void Waits::turn_ends(Warp& w) {
  settle_atomics();
  Turns& s = warps_[w.index];
  if (s.changes != check_.changes) {
    s.changes = check_.changes;
    s.states.clear();
    s.repeats.clear();
  }
  const Code& code = w.owner->code();
  uint64_t h = w.now.block * uint64_t{0x1'0000'0000} + w.now.mask;
  if (const std::vector<uint32_t>* state = w.now.at_end ? check_.kernel.backoffs.state(w.now.block) : nullptr) {
    for (const uint32_t r : *state) h = hash_of_register(code, r, w, h);
  } else {
    h = hash_of(w.base[kWarp], code.warp_bytes, h);
    h = hash_of(w.base[kBlock], code.block_bytes, h);
  }
  h = hash_of(w.local, std::size_t{w.local_bytes} * kLanes, h);
  if (s.states.insert(h).second) return;
  for (auto& [lanes, polled] : s.repeats)
    if (lanes == w.now.mask) return;
  s.repeats.emplace_back(w.now.mask, s.polled);
}

bool Waits::waits(const Warp& w, uint32_t lanes) {
  settle_atomics();
  const Turns& s = warps_[w.index];
  if (s.changes != check_.changes) return false;
  return std::ranges::any_of(s.repeats, [&](const auto& r) { return r.first == lanes; });
}

std::string Waits::waits_for(const Warp& w, uint32_t lanes, uint32_t& instruction) {
  const Turns& s = warps_[w.index];
  for (const auto& [mask, polled] : s.repeats) {
    if (mask != lanes || !polled.access) continue;
    instruction = polled.instruction;
    Target t;
    t.warp = w.index;
    t.lane = polled.lane;
    if (!locator_.find(*polled.access, w, polled.address, polled.bytes, t)) return "";
    std::string text = "read " + check_.findings.name_address(s_.seen(Hazard::none, *polled.access, t)) + " at " +
                       check_.findings.name_place(instruction) + " again and again";
    uint64_t value = 0;
    if (t.host && polled.bytes <= 8) {
      std::memcpy(&value, t.host, polled.bytes);
      char number[32];
      std::snprintf(number, sizeof number, ": it holds %" PRIu64, value);
      text += number;
    }
    const auto& all = t.space == AddressSpace::shared ? s_.changers : check_.changers;
    const auto by = all.find(t.address);
    return text + (by == all.end() ? ", and no thread has changed it"
                                   : ", stored by " + check_.findings.name_changer(by->second));
  }
  return "";
}

}  // namespace coalesce::machine
