#include "machine/program/requests.h"

#include <map>
#include <utility>

namespace coalesce::machine {
namespace {

Instruction made(Decoded& p, const AddedRequest& r) {
  const Instruction& leader = p.code[r.leader];
  Instruction i;
  i.kind = Kind::request;
  i.counts = false;
  i.guard = leader.guard;
  i.guard_negated = leader.guard_negated;
  i.place = leader.place;
  i.ptx_line = leader.ptx_line;
  i.memory = static_cast<uint32_t>(p.memory.size());
  p.memory.push_back(r.memory);
  p.memory.back().site = static_cast<uint32_t>(p.sites.size());
  Site site = p.sites[r.like];
  p.sites[r.like].merged = true;
  site.merged = false;
  site.dynamic_requests = true;
  site.bytes = static_cast<uint8_t>(r.memory.bytes());
  p.sites.push_back(site);
  return i;
}

}  // namespace

// All at once: instructions are known by their number in several places.
void add_requests(Decoded& p, const std::vector<AddedRequest>& requests) {
  if (requests.empty()) return;
  std::multimap<uint32_t, const AddedRequest*> before;
  for (const AddedRequest& r : requests) before.emplace(r.leader, &r);
  std::vector<Instruction> code;
  std::vector<uint32_t> moved_to(p.code.size() + 1), begins_at(p.code.size() + 1);
  std::vector<std::pair<uint32_t, uint32_t>> sites;  // site, instruction
  const std::size_t old = p.sites.size();
  for (uint32_t k = 0; k < p.code.size(); ++k) {
    begins_at[k] = static_cast<uint32_t>(code.size());
    for (auto [r, end] = before.equal_range(k); r != end; ++r) {
      Instruction i = made(p, *r->second);
      sites.emplace_back(p.memory[i.memory].site, static_cast<uint32_t>(code.size()));
      code.push_back(std::move(i));
    }
    moved_to[k] = static_cast<uint32_t>(code.size());
    code.push_back(p.code[k]);
  }
  begins_at[p.code.size()] = static_cast<uint32_t>(code.size());
  for (BasicBlock& b : p.blocks) b.first = begins_at[b.first], b.last = begins_at[b.last];
  for (std::size_t s = 0; s < old; ++s) p.sites[s].instruction = moved_to[p.sites[s].instruction];
  for (const auto& [site, instruction] : sites) p.sites[site].instruction = instruction;
  p.code = std::move(code);
}

}  // namespace coalesce::machine
