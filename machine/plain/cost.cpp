#include "machine/plain/cost.h"

#include <algorithm>
#include <bit>

#include "machine/execute/cluster.h"

namespace coalesce::machine::plain {

namespace {

constexpr uint64_t kSector = 32, kLine = 128, kBanks = 32, kBankBytes = 4;

// Values, each once.
struct Distinct {
  uint64_t value[256];
  uint32_t n = 0;
  void add(uint64_t v) {
    for (uint32_t k = n; k-- > 0;)
      if (value[k] == v) return;
    value[n++] = v;
  }
};

// How many different units of that many bytes the lanes' bytes lie in. An access is aligned to its size or smaller than
// a unit that holds it.
uint64_t units(const Lanes& address, uint32_t on, uint32_t bytes, uint64_t unit) {
  Distinct found;
  for (uint32_t l = 0; l < kLanes; ++l)
    if (on >> l & 1)
      for (uint64_t u = address[l] / unit; u <= (address[l] + bytes - 1) / unit; ++u) found.add(u);
  return found.n;
}

// The lines' four sets, by what each bit of a line's number within 2 MiB adds to the set's number.
uint64_t set_of(uint64_t line) {
  constexpr unsigned adds[] = {1, 2, 1, 2, 3, 1, 2, 3, 2, 1, 2, 1, 3, 1};
  uint64_t set = 0;
  for (const unsigned a : adds) {
    if (line & 1) set ^= a;
    line >>= 1;
  }
  return set;
}

// Sectors of all passes of an atomic. Each set makes passes of its own. In a pass the first waiting lane of each bank
// stands up, and of those the ones go that lie where the set's first waiting lane does.
uint64_t atomic_passes(const Lanes& address, uint32_t on, uint64_t bytes, uint64_t pass_bytes) {
  const uint64_t word = std::max<uint64_t>(bytes, kBankBytes);
  uint64_t sectors = 0;
  for (uint64_t set = 0; set < 4; ++set) {
    uint32_t waiting = 0;  // lanes
    for (uint32_t l = 0; l < kLanes; ++l)
      if ((on >> l & 1) && set_of(address[l] / kLine) == set) waiting |= 1u << l;
    while (waiting) {
      const uint64_t here = address[first_lane(waiting)] / pass_bytes;
      uint32_t stands = 0, left = 0;  // banks, lanes
      Distinct touched;
      for (uint32_t l = 0; l < kLanes; ++l) {
        if (!(waiting >> l & 1)) continue;
        const uint32_t bank = 1u << address[l] / word % (kLine / word);
        if (!(stands & bank) && address[l] / pass_bytes == here)
          touched.add(address[l] / kSector);
        else
          left |= 1u << l;
        stands |= bank;
      }
      sectors += touched.n;
      waiting = left;
    }
  }
  return sectors;
}

// Wavefronts of lanes that are judged together: words of the fullest bank, or lanes on it.
uint64_t fullest_bank(const Lanes& address, uint32_t on, uint32_t bytes, bool lanes_conflict) {
  std::array<uint64_t, kBanks> taken{};
  Distinct words;
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (!(on >> l & 1)) continue;
    for (uint64_t w = address[l] / kBankBytes; w <= (address[l] + bytes - 1) / kBankBytes; ++w) {
      const uint32_t before = words.n;
      words.add(w);
      taken[w % kBanks] += lanes_conflict || words.n > before;
    }
  }
  return *std::max_element(taken.begin(), taken.end());
}

// Lanes judged together: all of up to 4 bytes each, halves of 8, quarters of 16, eighths of 32.
uint32_t group_size(uint32_t bytes) { return bytes <= 4 ? 32 : 128 / bytes; }
uint32_t group_mask(uint32_t first, uint32_t size) { return size >= 32 ? ~0u : ((1u << size) - 1) << first; }

// Every active lane has the address of the lane `partner` away, if that one is active.
bool alike(const Lanes& address, uint32_t on, uint32_t partner) {
  for (uint32_t l = 0; l < kLanes; ++l)
    if ((on >> l & 1) && (on >> (l ^ partner) & 1) && address[l] != address[l ^ partner]) return false;
  return true;
}

uint64_t wavefronts(const Lanes& address, uint32_t on, uint32_t bytes, Access access) {
  uint32_t size = group_size(bytes);
  if (access == Access::load && size < 32 && (alike(address, on, 1) || alike(address, on, 2))) size *= 2;
  uint64_t sum = 0;
  for (uint32_t first = 0; first < kLanes; first += size)
    sum += fullest_bank(address, on & group_mask(first, size), bytes, access == Access::atomic);
  return sum;
}

// Had there been no conflict: as many passes of 128 bytes as the lanes' bytes fill.
uint64_t ideal(uint64_t cost, uint32_t on, uint32_t bytes) {
  return bytes <= 4 ? 1 : std::min(cost, (uint64_t{lanes_in(on)} * bytes + kLine - 1) / kLine);
}

void touch(const Lanes& address, uint32_t on, uint32_t bytes, Touched& touched) {
  for (uint32_t l = 0; l < kLanes; ++l)
    if (on >> l & 1)
      for (uint64_t s = address[l] / kSector; s <= (address[l] + bytes - 1) / kSector; ++s) touched.add(s);
}

}  // namespace

void Touched::add(uint64_t sector) {
  if (sector / kPage != last_number_) {
    last_number_ = sector / kPage;
    last_ = &pages_[last_number_];
    if (last_->empty()) last_->resize(kPage);
  }
  if ((*last_)[sector % kPage]) return;
  (*last_)[sector % kPage] = true;
  ++count_;
}

void count_global(Access access, const MemoryForm& form, const Lanes& address, uint32_t on, Counters& c,
                  Touched& touched) {
  const uint32_t bytes = form.bytes();
  touch(address, on, bytes, touched);
  const uint64_t lines = units(address, on, bytes, kLine);
  if (access == Access::atomic) {
    // A vector is counted as its first element: it lies in one sector.
    const uint64_t passes = atomic_passes(address, on, form.width, form.what == Arithmetic::cas ? kLine / 2 : kLine);
    if (form.returns)
      c.global_atomic_requests += 1, c.global_atomic_sectors += passes, c.global_atomic_lines += lines;
    else
      c.global_reduction_requests += 1, c.global_reduction_sectors += passes, c.global_reduction_lines += lines;
    return;
  }
  const uint64_t sectors = units(address, on, bytes, kSector);
  const uint64_t distinct = bytes * units(address, on, 1, 1);  // aligned: the same bytes or none in common
  if (access == Access::load) {
    c.global_load_requests += 1, c.global_load_sectors += sectors, c.global_load_lines += lines;
    c.global_load_bytes_requested += distinct;
  } else {
    c.global_store_requests += 1, c.global_store_sectors += sectors, c.global_store_lines += lines;
    c.global_store_bytes_requested += distinct;
  }
}

void count_shared(Access access, const MemoryForm& form, const Lanes& address, uint32_t on, Counters& c) {
  // A vector of atomics is counted as its first element.
  const uint32_t bytes = access == Access::atomic ? form.width : form.bytes();
  // Another block's memory of the cluster is beyond the banks; an atomic on it takes one pass.
  uint32_t own = on;
  for (uint32_t l = 0; l < kLanes; ++l)
    if (address[l] > kClusterOffset) own &= ~(1u << l);
  const uint64_t other = access == Access::atomic;
  const uint64_t cost = own ? wavefronts(address, own, bytes, form.row ? Access::store : access) : other,
                 best = own ? ideal(cost, own, bytes) : other;
  const uint64_t twice = form.what == Arithmetic::cas ? 2 : 1;  // cas has two operands to carry
  switch (access) {
    case Access::load:
      c.shared_load_requests += 1, c.shared_load_wavefronts += cost, c.shared_load_wavefronts_ideal += best;
      break;
    case Access::store:
      c.shared_store_requests += 1, c.shared_store_wavefronts += cost, c.shared_store_wavefronts_ideal += best;
      break;
    case Access::atomic:
      c.shared_atomic_requests += 1;
      c.shared_atomic_wavefronts += twice * cost;
      c.shared_atomic_wavefronts_ideal += twice * best;
      break;
  }
}

void count_local(Access access, const MemoryForm& form, const Lanes& address, uint32_t on, Counters& c) {
  const uint32_t bytes = form.bytes();
  Distinct sectors;
  for (uint32_t l = 0; l < kLanes; ++l)
    if (on >> l & 1)
      for (uint64_t word = address[l] / 4; word <= (address[l] + bytes - 1) / 4; ++word)
        sectors.add((word * kLanes + l) * 4 / kSector);
  const uint64_t accesses = std::max(1u, bytes / 4);
  if (access == Access::load)
    c.local_load_requests += accesses, c.local_load_sectors += sectors.n;
  else
    c.local_store_requests += accesses, c.local_store_sectors += sectors.n;
}

void count_copy(bool past_l1, uint32_t bytes, const Lanes& from, const Lanes& to, uint32_t on, Counters& c,
                Touched& touched) {
  MemoryForm form;
  form.width = static_cast<uint8_t>(bytes);
  Counters own;
  count_global(Access::load, form, from, on, own, touched);
  count_shared(Access::store, form, to, on, own);
  if (past_l1) {
    // The highest of lanes with one destination counts; what goes from one line into one sector of shared memory is
    // one.
    Distinct pairs;
    for (uint32_t l = 0; l < kLanes; ++l) {
      if (!(on >> l & 1)) continue;
      bool overwritten = false;
      for (uint32_t k = l + 1; k < kLanes; ++k) overwritten = overwritten || ((on >> k & 1) && to[k] == to[l]);
      if (!overwritten) pairs.add(from[l] / kLine << 16 | (to[l] / kSector & 0xffff));
    }
    own.global_load_sectors = pairs.n;
  } else {
    // In each group as many as lanes share a bank, of their sources or of their destinations, with one of them.
    const uint32_t size = group_size(bytes);
    uint64_t sum = 0;
    for (uint32_t first = 0; first < kLanes; first += size) {
      const uint32_t group = on & group_mask(first, size);
      uint64_t most = 0;
      for (uint32_t l = 0; l < kLanes; ++l) {
        if (!(group >> l & 1)) continue;
        uint64_t sharing = 0;
        for (uint32_t k = 0; k < kLanes; ++k)
          sharing += (group >> k & 1) &&
                     (from[k] / bytes % size == from[l] / bytes % size || to[k] / bytes % size == to[l] / bytes % size);
        most = std::max(most, sharing);
      }
      sum += most;
    }
    own.shared_store_wavefronts = sum;
    own.shared_store_wavefronts_ideal = std::min(sum, (uint64_t{lanes_in(on)} * bytes + kLine - 1) / kLine);
  }
  c += own;
}

}  // namespace coalesce::machine::plain
