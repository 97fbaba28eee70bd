// The heap of kernels' malloc.
#include <algorithm>
#include <map>
#include <utility>

#include "machine/execute/calls.h"
#include "machine/execute/launch.h"

namespace coalesce::machine {

bool DeviceHeap::resize(uint64_t bytes) {
  if (base_ != 0) return false;
  bytes_ = bytes;
  return true;
}

void DeviceHeap::prepare() {
  if (base_ != 0) return;
  const Allocation* a = memory_.allocate(bytes_, Origin::heap, "malloc in kernels");
  if (!a) return;
  base_ = a->base;
  free_[base_] = bytes_;
}

uint64_t DeviceHeap::allocate(uint64_t bytes) {
  if (bytes > bytes_) return 0;
  const uint64_t whole = (std::max<uint64_t>(bytes, 1) + 15) / 16 * 16 + gap_;
  uint64_t at = take(whole);
  if (at == 0 && !freed_.empty()) {
    for (const auto& [address, size] : std::exchange(freed_, {})) {
      asked_.erase(address);
      give_back(address, size);
    }
    at = take(whole);
  }
  if (at == 0) return 0;
  if (gap_) asked_[at] = bytes;
  if (given) given(at, whole);
  return at;
}

// First fit.
uint64_t DeviceHeap::take(uint64_t bytes) {
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->second < bytes) continue;
    const auto [at, room] = *it;
    free_.erase(it);
    if (room > bytes) free_[at + bytes] = room - bytes;
    used_[at] = bytes;
    return at;
  }
  return 0;
}

DeviceHeap::Block DeviceHeap::around(uint64_t address) const {
  auto at = asked_.upper_bound(address);
  if (at == asked_.begin()) return {};
  --at;
  return {at->first, at->second, used_.contains(at->first)};
}

void DeviceHeap::note_maker(uint64_t at, const Code& code, uint32_t instruction) {
  if (!gap_) return;
  const auto maker = std::make_pair(code.id, instruction);
  makers_[at] = maker;
  if (maker_places_.contains(maker)) return;
  const Decoded& p = *code.program;
  const Instruction& i = p.code[instruction];
  Diagnostic& d = maker_places_[maker];
  d.severity = Severity::warning;
  d.hazard = Hazard::leak;
  d.kernel = p.kernel;
  d.place = p.places[i.place].source;
  d.inlined_at = inlined_to(p, instruction);
  d.ptx_line = i.ptx_line;
}

std::vector<Diagnostic> DeviceHeap::leaks() const {
  std::map<std::pair<uint64_t, uint32_t>, std::pair<uint64_t, uint64_t>> left;  // blocks, bytes
  for (const auto& [at, whole] : used_) {
    const auto maker = makers_.find(at);
    if (maker == makers_.end()) continue;
    auto& [blocks, bytes] = left[maker->second];
    ++blocks;
    bytes += asked_.at(at);
  }
  std::vector<Diagnostic> all;
  for (const auto& [maker, sum] : left) {
    Diagnostic d = maker_places_.at(maker);
    d.count = sum.first;
    d.message = std::to_string(sum.second) +
                " bytes of malloc in kernels were not freed: " + std::to_string(sum.first) +
                (sum.first == 1 ? " block" : " blocks");
    all.push_back(std::move(d));
  }
  return all;
}

bool DeviceHeap::release(uint64_t address) {
  const auto it = used_.find(address);
  if (it == used_.end()) return false;
  const uint64_t bytes = it->second;
  used_.erase(it);
  if (gap_)
    freed_[address] = bytes;
  else
    give_back(address, bytes);
  return true;
}

void DeviceHeap::give_back(uint64_t at, uint64_t bytes) {
  auto after = free_.lower_bound(at);
  if (after != free_.end() && at + bytes == after->first) {
    bytes += after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    auto before = std::prev(after);
    if (before->first + before->second == at) {
      before->second += bytes;
      return;
    }
  }
  free_[at] = bytes;
}

}  // namespace coalesce::machine
