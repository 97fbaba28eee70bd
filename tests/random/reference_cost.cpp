#include "tests/random/reference_cost.h"

#include <algorithm>
#include <bit>
#include <map>

#include "tests/random/atomic_passes.h"

namespace coalesce::machine::test::reference {

namespace {

uint64_t atomic_wavefronts(const Lanes& address, uint32_t on) {
  std::map<uint64_t, uint64_t> lanes_on_bank;
  uint64_t most = 0;
  for (uint32_t l = 0; l < 32; ++l)
    if (on >> l & 1) most = std::max(most, ++lanes_on_bank[address[l] / 4 % 32]);
  return most;
}

uint64_t one_group(const Lanes& address, uint32_t on, unsigned bytes) {
  std::map<uint64_t, std::set<uint64_t>> words;
  std::size_t most = 0;
  for (uint32_t l = 0; l < 32; ++l)
    if (on >> l & 1)
      for (uint64_t w = address[l] / 4; w <= (address[l] + bytes - 1) / 4; ++w) {
        words[w % 32].insert(w);
        most = std::max(most, words[w % 32].size());
      }
  return most;
}

uint64_t shared_wavefronts(const Lanes& address, uint32_t on, bool is_load, unsigned bytes) {
  unsigned group = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
  if (is_load && bytes > 4)
    for (uint32_t partner : {1u, 2u}) {
      bool same = true;
      for (uint32_t l = 0; l < 32; ++l)
        if ((on >> l & 1) && (on >> (l ^ partner) & 1) && address[l] != address[l ^ partner]) same = false;
      if (same) {
        group *= 2;
        break;
      }
    }
  uint64_t sum = 0;
  for (uint32_t first = 0; first < 32; first += group) {
    const uint32_t members = group == 32 ? ~0u : ((1u << group) - 1) << first;
    sum += one_group(address, on & members, bytes);
  }
  return sum;
}

}  // namespace

void count_access(const Decoded& d, const Lanes& address, uint32_t on, Access access, Counters& c,
                  std::set<uint64_t>& touched) {
  const bool is_load = access == Access::load, is_atomic = access == Access::atomic;
  const unsigned bytes = d.width * d.count;
  if (d.space == "shared") {
    const uint64_t cost = is_atomic ? atomic_wavefronts(address, on) : shared_wavefronts(address, on, is_load, bytes);
    const uint64_t ideal =
        bytes <= 4 ? 1 : std::min<uint64_t>(cost, (static_cast<unsigned>(std::popcount(on)) * bytes + 127) / 128);
    if (is_atomic)
      c.shared_atomic_requests += 1, c.shared_atomic_wavefronts += cost, c.shared_atomic_wavefronts_ideal += ideal;
    else if (is_load)
      c.shared_load_requests += 1, c.shared_load_wavefronts += cost, c.shared_load_wavefronts_ideal += ideal;
    else
      c.shared_store_requests += 1, c.shared_store_wavefronts += cost, c.shared_store_wavefronts_ideal += ideal;
    return;
  }
  std::set<uint64_t> sectors, lines, distinct;
  std::vector<uint64_t> addresses;
  for (uint32_t l = 0; l < 32; ++l) {
    if (!(on >> l & 1)) continue;
    addresses.push_back(address[l]);
    for (unsigned b = 0; b < bytes; ++b) {
      uint64_t at = address[l] + b;
      if (d.space == "local") at = at / 4 * 128 + l * 4 + at % 4;
      sectors.insert(at / 32);
      lines.insert(at / 128);
      distinct.insert(at);
    }
  }
  if (d.space == "local") {
    if (is_load)
      c.local_load_requests += std::max(1u, bytes / 4), c.local_load_sectors += sectors.size();
    else
      c.local_store_requests += std::max(1u, bytes / 4), c.local_store_sectors += sectors.size();
    return;
  }
  touched.insert(sectors.begin(), sectors.end());
  if (is_atomic) {
    const uint64_t passes = atomic_passes(addresses, bytes);
    if (d.returns)
      c.global_atomic_requests += 1, c.global_atomic_sectors += passes, c.global_atomic_lines += lines.size();
    else
      c.global_reduction_requests += 1, c.global_reduction_sectors += passes, c.global_reduction_lines += lines.size();
  } else if (is_load) {
    c.global_load_requests += 1, c.global_load_sectors += sectors.size(), c.global_load_lines += lines.size();
    c.global_load_bytes_requested += distinct.size();
  } else {
    c.global_store_requests += 1, c.global_store_sectors += sectors.size(), c.global_store_lines += lines.size();
    c.global_store_bytes_requested += distinct.size();
  }
}

}  // namespace coalesce::machine::test::reference
