#include "machine/time/schedule.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <unordered_map>

namespace coalesce::machine {

Keeps what_keeps(const Instruction& i) {
  switch (i.kind) {
    case Kind::pure:
      return Keeps::free;
    case Kind::load:
      return Keeps::load;
    case Kind::store:
    case Kind::atomic:
      return Keeps::store;
    case Kind::shuffle:
    case Kind::reduce_lanes:
    case Kind::vote:
    case Kind::match:
    case Kind::active_mask:
    case Kind::elect:
    case Kind::collective:
      return Keeps::lanes;
    default:
      return Keeps::all;
  }
}

namespace {

constexpr int kReserved = 2;         // registers that hold no number: the stack's, and one that pairs leave free
constexpr std::size_t kLooked = 64;  // instructions that are looked at for one that fits

// Spaces that do not meet; a generic address meets all.
bool meet(AddressSpace a, AddressSpace b) { return a == b || a == AddressSpace::generic || b == AddressSpace::generic; }

// How many registers are in use, as instructions are put one behind the other.
class Pressure {
 public:
  Pressure(const std::vector<Scheduled>& code, const ThreadRegisters& registers);
  // Words in use behind the instruction, less those before it.
  int growth(uint32_t k) const;
  bool fits(uint32_t k) const {
    const int more = growth(k);
    return more <= 0 || used_ + more <= most_;
  }
  void put(uint32_t k);

 private:
  struct Number {
    int words = 0;
    uint32_t readers = 0;  // that are not put yet
    bool stays = false;    // in use behind the last instruction
  };
  int used_ = 0, most_ = 0;
  std::vector<Number> numbers_;
  std::vector<std::vector<uint32_t>> reads_, writes_;  // numbers, by instruction
};

Pressure::Pressure(const std::vector<Scheduled>& code, const ThreadRegisters& registers)
    : reads_(code.size()), writes_(code.size()) {
  if (registers.most == 0) {
    most_ = std::numeric_limits<int>::max();
    return;
  }
  most_ = static_cast<int>(registers.most) - kReserved;
  const auto words_of = [&](uint32_t r) { return r < registers.words.size() ? registers.words[r] : 0; };
  std::unordered_map<uint32_t, uint32_t> now;  // the number that a register holds
  const auto add = [&](uint32_t r) {
    now[r] = static_cast<uint32_t>(numbers_.size());
    numbers_.push_back({.words = words_of(r)});
  };
  for (const uint32_t r : registers.in) add(r);
  const std::size_t before = numbers_.size();
  for (uint32_t k = 0; k < code.size(); ++k) {
    for (const uint32_t r : code[k].reads) {
      if (words_of(r) == 0) continue;
      if (!now.contains(r)) add(r);
      const uint32_t n = now[r];
      if (n == kNone) continue;
      if (std::find(reads_[k].begin(), reads_[k].end(), n) != reads_[k].end()) continue;
      reads_[k].push_back(n);
      ++numbers_[n].readers;
    }
    for (const uint32_t r : code[k].writes) {
      if (words_of(r) == 0) continue;
      if (code[k].keeps == Keeps::load && code[k].space == AddressSpace::shared) {
        now[r] = kNone;  // does not wait long
        continue;
      }
      add(r);
      writes_[k].push_back(now[r]);
    }
  }
  for (const uint32_t r : registers.out)
    if (const auto at = now.find(r); at != now.end() && at->second != kNone) numbers_[at->second].stays = true;
  for (std::size_t n = 0; n < before; ++n)
    if (numbers_[n].readers > 0 || numbers_[n].stays) used_ += numbers_[n].words;
  // ptxas can do with its registers what the program's order needs, however many it seems to be.
  const int used = used_;
  const std::vector<Number> numbers = numbers_;
  for (uint32_t k = 0; k < code.size(); ++k) {
    put(k);
    most_ = std::max(most_, used_);
  }
  used_ = used;
  numbers_ = numbers;
}

int Pressure::growth(uint32_t k) const {
  int more = 0;
  for (const uint32_t n : writes_[k])
    if (numbers_[n].readers > 0 || numbers_[n].stays) more += numbers_[n].words;
  for (const uint32_t n : reads_[k])
    if (numbers_[n].readers == 1 && !numbers_[n].stays) more -= numbers_[n].words;
  return more;
}

void Pressure::put(uint32_t k) {
  used_ += growth(k);
  for (const uint32_t n : reads_[k]) --numbers_[n].readers;
}

}  // namespace

std::vector<uint32_t> schedule(const std::vector<Scheduled>& code, const Limits& limits,
                               const ThreadRegisters& thread) {
  const auto n = static_cast<uint32_t>(code.size());
  struct Edge {
    uint32_t to;
    float cycles;
  };
  std::vector<std::vector<Edge>> after(n);
  std::vector<uint32_t> before(n, 0);
  std::vector<float> chain(n, 0), ready(n, 0);
  const auto cycles_of = [&](uint32_t k) {
    return code[k].cost.pipe == Pipe::memory ? static_cast<float>(limits.lat_l2.value) : code[k].cost.latency;
  };
  const auto edge = [&](uint32_t from, uint32_t to, float cycles) {
    after[from].push_back({to, cycles});
    ++before[to];
  };
  struct Uses {
    uint32_t written = kNone;         // last
    std::vector<uint32_t> read = {};  // since then
  };
  std::unordered_map<uint32_t, Uses> registers;
  std::vector<uint32_t> loads, stores;  // since the last fence
  uint32_t fence = kNone, lanes = kNone;
  for (uint32_t k = 0; k < n; ++k) {
    const Keeps order = code[k].keeps;
    for (const uint32_t r : code[k].reads) {
      Uses& u = registers[r];
      if (u.written != kNone) edge(u.written, k, cycles_of(u.written));
      u.read.push_back(k);
    }
    for (const uint32_t r : code[k].writes) {
      Uses& u = registers[r];
      for (const uint32_t reader : u.read)
        if (reader != k) edge(reader, k, 0);
      if (u.written != kNone && u.written != k) edge(u.written, k, 0);
      u.read.clear();
      u.written = k;
    }
    if (fence != kNone && (order != Keeps::free || code[fence].cost.branches)) edge(fence, k, 0);
    if (order == Keeps::load || order == Keeps::store) {
      const AddressSpace space = code[k].space;
      const bool fixed = space == AddressSpace::constant || space == AddressSpace::param;
      if (!fixed)
        for (const uint32_t s : stores)
          if (meet(code[s].space, space)) edge(s, k, 0);
      if (order == Keeps::store)
        for (const uint32_t l : loads)
          if (meet(code[l].space, space)) edge(l, k, 0);
      if (!fixed) (order == Keeps::load ? loads : stores).push_back(k);
    }
    if (order == Keeps::lanes) {
      if (lanes != kNone) edge(lanes, k, 0);
      lanes = k;
    }
    if (order != Keeps::all) continue;
    for (uint32_t e = fence == kNone ? 0 : fence + 1; e < k; ++e) edge(e, k, 0);
    fence = k;
    lanes = kNone;
    loads.clear();
    stores.clear();
  }
  for (uint32_t k = n; k-- > 0;) {
    chain[k] = cycles_of(k);
    for (const Edge& e : after[k]) chain[k] = std::max(chain[k], e.cycles + chain[e.to]);
  }
  // The longest chain of those that are ready first; else the one that is ready first. Equal ones in the program's
  // order.
  const auto later_chain = [&](uint32_t a, uint32_t b) { return chain[a] != chain[b] ? chain[a] < chain[b] : a > b; };
  const auto later_ready = [&](uint32_t a, uint32_t b) { return ready[a] != ready[b] ? ready[a] > ready[b] : a > b; };
  std::priority_queue<uint32_t, std::vector<uint32_t>, decltype(later_chain)> now(later_chain);
  std::priority_queue<uint32_t, std::vector<uint32_t>, decltype(later_ready)> soon(later_ready);
  for (uint32_t k = 0; k < n; ++k)
    if (before[k] == 0) now.push(k);
  std::vector<uint32_t> out, held;
  out.reserve(n);
  float time = 0;
  Pressure pressure(code, thread);
  while (out.size() < n) {
    if (now.empty()) time = std::max(time, ready[soon.top()]);
    for (; !soon.empty() && ready[soon.top()] <= time; soon.pop()) now.push(soon.top());
    // An instruction that finds no register waits until others have been read.
    held.clear();
    while (!now.empty() && held.size() < kLooked && !pressure.fits(now.top())) {
      held.push_back(now.top());
      now.pop();
    }
    uint32_t k = kNone;
    if (!now.empty()) {
      k = now.top();
      now.pop();
    } else if (soon.empty()) {
      const auto least = std::min_element(
          held.begin(), held.end(), [&](uint32_t a, uint32_t b) { return pressure.growth(a) < pressure.growth(b); });
      k = *least;
      held.erase(least);
    }
    for (const uint32_t h : held) now.push(h);
    if (k == kNone) {
      time = std::max(time, ready[soon.top()]);
      continue;
    }
    out.push_back(k);
    pressure.put(k);
    for (const Edge& e : after[k]) {
      ready[e.to] = std::max(ready[e.to], time + e.cycles);
      if (--before[e.to] == 0) soon.push(e.to);
    }
    if (code[k].cost.pipe != Pipe::none) time += code[k].cost.slots;
  }
  return out;
}

}  // namespace coalesce::machine
