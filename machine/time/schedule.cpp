#include "machine/time/schedule.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "machine/program/uses.h"

namespace coalesce::machine {

namespace {

// An instruction may not pass these.
enum class Keeps : uint8_t { free, lanes, load, store, all };

Keeps keeps(const Instruction& i) {
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

// Spaces that do not meet; a generic address meets all.
bool meet(AddressSpace a, AddressSpace b) { return a == b || a == AddressSpace::generic || b == AddressSpace::generic; }

}  // namespace

std::vector<uint32_t> schedule(const Decoded& p, const BasicBlock& block, const std::vector<InstructionCost>& costs,
                               const Limits& limits) {
  const uint32_t n = block.last - block.first;
  struct Edge {
    uint32_t to;
    float cycles;
  };
  std::vector<std::vector<Edge>> after(n);
  std::vector<uint32_t> before(n, 0);
  std::vector<float> chain(n, 0), ready(n, 0);
  const auto cycles_of = [&](uint32_t k) {
    return costs[k].pipe == Pipe::memory ? static_cast<float>(limits.lat_l2.value) : costs[k].latency;
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
    const Instruction& i = p.code[block.first + k];
    each_read(p, i, [&](uint32_t r) {
      Uses& u = registers[r];
      if (u.written != kNone) edge(u.written, k, cycles_of(u.written));
      u.read.push_back(k);
    });
    const auto write = [&](uint32_t r) {
      Uses& u = registers[r];
      for (const uint32_t reader : u.read)
        if (reader != k) edge(reader, k, 0);
      if (u.written != kNone && u.written != k) edge(u.written, k, 0);
      u.read.clear();
      u.written = k;
    };
    each_written(p, i, write);
    if (i.kind == Kind::collective)
      for (const uint32_t r : i.targets) write(r);
    const Keeps order = keeps(i);
    if (fence != kNone && order != Keeps::free) edge(fence, k, 0);
    const auto space = [&](uint32_t at) { return p.memory[p.code[block.first + at].memory].space; };
    const bool accesses = (order == Keeps::load || order == Keeps::store) && i.memory != kNone;
    if (accesses) {
      const bool fixed = space(k) == AddressSpace::constant || space(k) == AddressSpace::param;
      if (!fixed)
        for (const uint32_t s : stores)
          if (meet(space(s), space(k))) edge(s, k, 0);
      if (order == Keeps::store)
        for (const uint32_t l : loads)
          if (meet(space(l), space(k))) edge(l, k, 0);
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
  std::vector<uint32_t> out;
  out.reserve(n);
  float time = 0;
  while (out.size() < n) {
    if (now.empty()) time = std::max(time, ready[soon.top()]);
    for (; !soon.empty() && ready[soon.top()] <= time; soon.pop()) now.push(soon.top());
    const uint32_t k = now.top();
    now.pop();
    out.push_back(k);
    for (const Edge& e : after[k]) {
      ready[e.to] = std::max(ready[e.to], time + e.cycles);
      if (--before[e.to] == 0) soon.push(e.to);
    }
    if (costs[k].pipe != Pipe::none) time += costs[k].slots;
  }
  return out;
}

}  // namespace coalesce::machine
