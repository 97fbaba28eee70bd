#include "machine/time/schedule.h"

#include <algorithm>
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

// Spaces that do not meet; a generic address meets all.
bool meet(AddressSpace a, AddressSpace b) { return a == b || a == AddressSpace::generic || b == AddressSpace::generic; }

}  // namespace

std::vector<uint32_t> schedule(const std::vector<Scheduled>& code, const Limits& limits) {
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
    if (code[k].cost.pipe != Pipe::none) time += code[k].cost.slots;
  }
  return out;
}

}  // namespace coalesce::machine
