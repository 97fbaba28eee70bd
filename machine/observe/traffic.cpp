// Each rule is written once, over a small set of questions about 32 lanes (lanes_portable.h, lanes_avx512.h).
//
// Sectors, lines and bytes: an aligned access of at most 32 bytes lies in one sector, so each count is the number of
// distinct values of address >> k. Shared memory: an access of w bytes, aligned, takes w/4 neighbouring banks that
// start at a multiple of w/4, so a group of lanes behaves as single words do with 128/w wide banks.
#include "machine/observe/traffic.h"

#include <algorithm>
#include <array>
#include <bit>

#include "machine/observe/banks.h"
#include "machine/observe/lanes_portable.h"
#if defined(__AVX512F__) && defined(__AVX512CD__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#define COALESCE_AVX512_LANES 1
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // gcc 12 says so of its own intrinsics (gcc bug 105593)
#endif
#include "machine/observe/lanes_avx512.h"
#endif

namespace coalesce::machine {

using namespace banks;

namespace {

// ---- The slow, general way: any width, any alignment, any distance. Only odd accesses come here. --------------------

// Distinct values of (address + byte) >> shift over the active lanes' bytes.
uint32_t distinct_slowly(const uint64_t* address, uint32_t mask, uint32_t width, uint32_t shift) {
  std::array<uint64_t, 32 * 32> values;
  std::size_t n = 0;
  for (; mask; mask &= mask - 1) {
    const uint64_t a = address[std::countr_zero(mask)];
    for (uint64_t v = a >> shift; v <= (a + width - 1) >> shift && n < values.size(); ++v) values[n++] = v;
  }
  std::sort(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n));
  return static_cast<uint32_t>(std::unique(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n)) -
                               values.begin());
}

GlobalCost global_cost_slowly(const uint64_t* address, uint32_t mask, uint32_t width) {
  return {distinct_slowly(address, mask, width, kSectorShift), distinct_slowly(address, mask, width, kLineShift),
          distinct_slowly(address, mask, width, 0)};
}

// Wavefronts of one group of lanes, word by word; `lanes_conflict`: lanes on one word count apart, as for atomics.
uint32_t group_slowly(const uint32_t* address, uint32_t mask, uint32_t width, bool lanes_conflict) {
  std::array<uint32_t, 32 * 9> words;
  std::size_t n = 0;
  for (; mask; mask &= mask - 1) {
    const uint64_t a = address[std::countr_zero(mask)];
    for (uint64_t w = a / kBankBytes; w <= (a + width - 1) / kBankBytes; ++w) words[n++] = static_cast<uint32_t>(w);
  }
  auto end = words.begin() + static_cast<std::ptrdiff_t>(n);
  if (!lanes_conflict) {
    std::sort(words.begin(), end);
    end = std::unique(words.begin(), end);
  }
  std::array<uint32_t, kBanks> on_bank{};
  for (auto w = words.begin(); w != end; ++w) ++on_bank[*w % kBanks];
  return *std::max_element(on_bank.begin(), on_bank.end());
}

// ---- The rules ------------------------------------------------------------------------------------------------------

template <typename Lanes>
GlobalCost global_cost_of(const uint64_t* address, uint32_t mask, uint32_t width) {
  if (mask == 0) return {};
  if (contiguous(address, mask, width)) {
    const auto first = static_cast<uint32_t>(std::countr_zero(mask));
    return global_cost_contiguous(address[first] - uint64_t{first} * width, mask, width);
  }
  typename Lanes::Table distance;
  const uint64_t base = address[std::countr_zero(mask)] >> kLineShift << kLineShift;
  if (!Lanes::distances(address, mask, base, &distance) || Lanes::any(distance, width - 1)) {
    return global_cost_slowly(address, mask, width);
  }
  GlobalCost cost;
  cost.sectors = count(Lanes::first_of_each(distance >> kSectorShift, mask));
  const bool apart = cost.sectors == count(mask);  // a sector for each lane: nothing to merge within
  cost.bytes = width * (apart ? cost.sectors : count(Lanes::first_of_each(distance, mask)));
  cost.lines = cost.sectors == 1 ? 1 : count(Lanes::first_of_each(distance >> kLineShift, mask));
  return cost;
}

// Lines are kept in four sets, by the parity of these bits of a line's number (tests/truth/scattered.jsonl). They reach
// as far as a page of 2 MiB does; the bits above are those of wherever the driver has put the page, another place each
// time.
constexpr uint64_t kSetBits[2] = {0x3ab5, 0x15da};

uint32_t set_of(uint64_t line) {
  return static_cast<uint32_t>(std::popcount(line & kSetBits[0]) & 1) |
         static_cast<uint32_t>(std::popcount(line & kSetBits[1]) & 1) << 1;
}

// Sectors of all passes. Each set makes passes of its own. In each, every bank's first waiting lane stands up, and of
// those the ones go that lie in the line of the set's first waiting lane, or in its half of it. Banks are as those of
// shared memory.
uint32_t atomic_passes(const uint64_t* address, uint32_t mask, uint32_t word_shift, bool half_lines) {
  // A lane is one number: its line, bank (5 bits) and sector in the line (2 bits, of which the higher one is the half).
  constexpr uint32_t kLineAt = 7, kBankAt = 2;
  const uint64_t place = ~uint64_t{0} << kLineAt | (half_lines ? 2 : 0);
  uint64_t waiting[4][32];
  uint32_t counts[4] = {};
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const uint64_t at = address[std::countr_zero(rest)], line = at >> kLineShift;
    const uint32_t set = set_of(line);
    waiting[set][counts[set]++] =
        line << kLineAt | (at >> word_shift) % (kPassBytes >> word_shift) << kBankAt | (at >> kSectorShift) % 4;
  }
  uint32_t sectors = 0;
  for (uint32_t set = 0; set < 4; ++set) {
    uint64_t* lanes = waiting[set];
    for (uint32_t n = counts[set]; n;) {
      const uint64_t first = lanes[0];
      uint32_t taken = 0, touched = 0, left = 0;
      for (uint32_t i = 0; i < n; ++i) {  // no branches: which lane goes cannot be foreseen
        const uint64_t lane = lanes[i];
        const uint32_t bank = static_cast<uint32_t>(lane >> kBankAt) % kBanks;
        const uint32_t goes = static_cast<uint32_t>(((lane ^ first) & place) == 0) & ~(taken >> bank);
        taken |= 1u << bank;
        touched |= goes << lane % 4;
        lanes[left] = lane;
        left += 1 - goes;
      }
      sectors += count(touched);
      n = left;
    }
  }
  return sectors;
}

template <typename Lanes>
GlobalCost global_atomic_cost_of(const uint64_t* address, uint32_t mask, uint32_t width, uint32_t pass_bytes) {
  if (mask == 0) return {};
  GlobalCost cost = global_cost_of<Lanes>(address, mask, width);
  const uint32_t word = std::max(width, kBankBytes);
  const bool one_word = width == word && cost.bytes == width;
  if (one_word) cost.sectors = count(mask);
  // A sector for each lane, or neighbours within one line: no two lanes share one.
  const bool apart =
      cost.sectors == count(mask) || (cost.lines == 1 && width == word && cost.bytes == count(mask) * width);
  if (!apart) cost.sectors = atomic_passes(address, mask, log2_of(word), pass_bytes < kPassBytes);
  return cost;
}

// True if pairs of groups merge (loads only): every active lane's address equals that of lane ^ 1, or every one's that
// of lane ^ 2. An inactive partner counts as equal.
template <typename Lanes>
bool pairs_merge(const typename Lanes::Table& address, uint32_t mask) {
  const uint32_t neighbour = (mask >> 1 & 0x5555'5555u) | (mask & 0x5555'5555u) << 1;
  const uint32_t two_on = (mask >> 2 & 0x3333'3333u) | (mask & 0x3333'3333u) << 2;
  return (Lanes::template unlike_partner<1>(address) & mask & neighbour) == 0 ||
         (Lanes::template unlike_partner<2>(address) & mask & two_on) == 0;
}

enum class Kind { load, store, atomic };

template <typename Lanes, Kind kind>
SharedCost shared_cost_of(const uint32_t* address, uint32_t mask, uint32_t width) {
  if (mask == 0) return {};
  // Lanes judged together: all of them up to 32 bits, then halves, quarters, eighths.
  uint32_t lanes = width <= kBankBytes ? 32 : std::max<uint32_t>(kPassBytes / width, 4);
  const typename Lanes::Table table = Lanes::load(address, mask);
  if (kind == Kind::load && lanes < 32 && pairs_merge<Lanes>(table, mask)) lanes *= 2;
  const uint32_t unit = std::max(width, kBankBytes);
  SharedCost cost;
  if (Lanes::any(table, width - 1) || width > 16) {
    for (uint32_t first = 0; first < 32; first += lanes) {
      const uint32_t group = mask & (lanes == 32 ? ~0u : ((1u << lanes) - 1) << first);
      if (group) cost.wavefronts += group_slowly(address, group, width, kind == Kind::atomic);
    }
  } else {
    const auto units = table >> log2_of(unit);
    const auto banks = units & (kPassBytes / unit - 1);  // wide banks
    uint32_t active = mask;
    // Atomics need only the peaks.
    const bool ask_first = kind != Kind::atomic || !Lanes::kQuickPeaks;
    if (ask_first && lanes == 32 && count(Lanes::union_of(banks, mask)) == count(mask)) {
      cost.wavefronts = 1;
    } else {
      if (kind != Kind::atomic) {
        const uint32_t group_shift = log2_of(lanes);
        active = Lanes::first_of_each(lanes == 32 ? units : units.with_group(group_shift, 5 - group_shift), mask);
      }
      cost.wavefronts = Lanes::sum_of_peaks(banks, active, lanes);
    }
  }
  const uint32_t asked = (count(mask) * width + kPassBytes - 1) / kPassBytes;
  cost.ideal = std::min(cost.wavefronts, asked);
  return cost;
}

template <typename Lanes>
uint32_t local_sectors_of(const uint32_t* offset, uint32_t mask, uint32_t width) {
  if (mask == 0) return 0;
  // Row r of 128 bytes holds the lanes' words r; sector l/8 of it those of lanes 8*(l/8)...
  const auto table = Lanes::load(offset, mask);
  if (Lanes::any(table, width - 1)) {
    uint64_t words[32][9];
    uint32_t sectors = 0;
    for (uint32_t first = 0; first < 32; first += 8) {
      std::size_t n = 0;
      for (uint32_t i = first; i < first + 8; ++i) {
        if (!(mask >> i & 1)) continue;
        for (uint64_t w = offset[i] / 4u; w <= (uint64_t{offset[i]} + width - 1) / 4; ++w) (&words[0][0])[n++] = w;
      }
      std::sort(&words[0][0], &words[0][0] + n);
      sectors += static_cast<uint32_t>(std::unique(&words[0][0], &words[0][0] + n) - &words[0][0]);
    }
    return sectors;
  }
  const uint32_t unit = std::max(width, kBankBytes);
  const uint32_t firsts = Lanes::first_of_each((table >> log2_of(unit)).with_group(3, 2), mask);
  return count(firsts) * (unit / kBankBytes);
}

template <typename Lanes>
constexpr TrafficImplementation implementation() {
  return {Lanes::kName,
          global_cost_of<Lanes>,
          global_atomic_cost_of<Lanes>,
          shared_cost_of<Lanes, Kind::load>,
          shared_cost_of<Lanes, Kind::store>,
          shared_cost_of<Lanes, Kind::atomic>,
          local_sectors_of<Lanes>};
}

#ifdef COALESCE_AVX512_LANES
using BestLanes = Avx512Lanes;
constexpr TrafficImplementation kImplementations[] = {implementation<PortableLanes>(), implementation<Avx512Lanes>()};
#else
using BestLanes = PortableLanes;
constexpr TrafficImplementation kImplementations[] = {implementation<PortableLanes>()};
#endif

}  // namespace

// Non-empty groups of 2^log_size bits (32 at most).
static uint32_t groups_with_a_bit(uint64_t bits, uint32_t log_size) {
  constexpr uint64_t kFirst[] = {~uint64_t{0},          0x5555'5555'5555'5555, 0x1111'1111'1111'1111,
                                 0x0101'0101'0101'0101, 0x0001'0001'0001'0001, 0x0000'0001'0000'0001};
  for (uint32_t k = 0; k < log_size; ++k) bits |= bits >> (1u << k);
  return static_cast<uint32_t>(std::popcount(bits & kFirst[log_size]));
}

GlobalCost global_cost_with_gaps(uint64_t base, uint32_t mask, uint32_t width) {
  if (mask == 0) return {};
  GlobalCost cost{0, 0, count(mask) * width};  // lanes do not overlap
  if (std::has_single_bit(width) && (base & (width - 1)) == 0 && width <= 32) {
    // Lanes shifted so that sectors, then lines, begin at multiples of the lanes they hold. Shifts: this is asked for
    // every access with gaps, and six divisions would take longer than all the rest.
    const uint32_t log_width = log2_of(width), log_sector = kSectorShift - log_width, log_line = kLineShift - log_width;
    const uint64_t unit = base >> log_width;
    const uint32_t per_line = 1u << log_line;
    cost.sectors = groups_with_a_bit(uint64_t{mask} << (unit & ((1u << log_sector) - 1)), log_sector);
    if (per_line <= 32) {
      cost.lines = groups_with_a_bit(uint64_t{mask} << (unit & (per_line - 1)), log_line);
    } else {  // 32 lanes lie in two lines at most
      const uint64_t in_first = per_line - (unit & (per_line - 1));
      cost.lines = in_first >= 32 ? 1 : (mask >> in_first != 0) + ((mask & ((1u << in_first) - 1)) != 0);
    }
    return cost;
  }
  uint64_t sector = ~uint64_t{0}, line = ~uint64_t{0};  // the last ones counted; lanes rise, so they never come again
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const uint64_t from = base + uint64_t(std::countr_zero(rest)) * width, to = from + width - 1;
    const uint64_t from_sector = from >> kSectorShift, from_line = from >> kLineShift;
    cost.sectors += static_cast<uint32_t>((to >> kSectorShift) - from_sector) + (from_sector != sector);
    cost.lines += static_cast<uint32_t>((to >> kLineShift) - from_line) + (from_line != line);
    sector = to >> kSectorShift;
    line = to >> kLineShift;
  }
  return cost;
}

GlobalCost global_cost(const uint64_t* address, uint32_t mask, uint32_t width) {
  return global_cost_of<BestLanes>(address, mask, width);
}
GlobalCost global_atomic_cost(const uint64_t* address, uint32_t mask, uint32_t width, uint32_t pass_bytes) {
  return global_atomic_cost_of<BestLanes>(address, mask, width, pass_bytes);
}
GlobalCost global_copy_cost(const uint64_t* from, const uint64_t* to, uint32_t mask, uint32_t width) {
  GlobalCost cost = global_cost(from, mask, width);
  if (mask == 0) return cost;
  cost.sectors = 0;
  // Lanes in order, against those before them of other pairs; neighbours, the usual case, meet their own at once.
  const bool in_order = contiguous(to, mask, width);
  std::array<uint64_t, 32> lines, parts;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    const auto overwritten = [&] {
      for (uint32_t later = rest & (rest - 1); later; later &= later - 1)
        if (to[std::countr_zero(later)] == to[lane]) return true;
      return false;
    };
    if (!in_order && overwritten()) continue;
    const uint64_t line = from[lane] >> kLineShift, part = to[lane] >> kSectorShift;
    uint32_t k = cost.sectors;
    while (k > 0 && (lines[k - 1] != line || parts[k - 1] != part)) --k;
    if (k > 0) continue;
    lines[cost.sectors] = line;
    parts[cost.sectors++] = part;
  }
  return cost;
}
SharedCost shared_copy_cost(const uint64_t* from, const uint64_t* to, uint32_t mask, uint32_t width) {
  const uint32_t unit = std::max(width, kBankBytes), lanes = kPassBytes / unit;  // judged together; as many wide banks
  SharedCost cost;
  for (uint32_t first = 0; first < 32; first += lanes) {
    uint32_t taking[kBanks] = {}, putting[kBanks] = {};  // lanes on each bank
    const uint32_t group = mask & (lanes == 32 ? ~0u : ((1u << lanes) - 1) << first);
    for (uint32_t rest = group; rest; rest &= rest - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
      taking[from[lane] / unit % lanes] |= 1u << lane;
      putting[to[lane] / unit % lanes] |= 1u << lane;
    }
    uint32_t most = 0;
    for (uint32_t rest = group; rest; rest &= rest - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
      most = std::max(most, count(taking[from[lane] / unit % lanes] | putting[to[lane] / unit % lanes]));
    }
    cost.wavefronts += most;
  }
  cost.ideal = std::min(cost.wavefronts, (count(mask) * width + kPassBytes - 1) / kPassBytes);
  return cost;
}
SharedCost shared_load_cost(const uint32_t* address, uint32_t mask, uint32_t width) {
  return shared_cost_of<BestLanes, Kind::load>(address, mask, width);
}
SharedCost shared_store_cost(const uint32_t* address, uint32_t mask, uint32_t width) {
  return shared_cost_of<BestLanes, Kind::store>(address, mask, width);
}
SharedCost shared_atomic_cost(const uint32_t* address, uint32_t mask, uint32_t width) {
  return shared_cost_of<BestLanes, Kind::atomic>(address, mask, width);
}
uint32_t local_sectors(const uint32_t* offset, uint32_t mask, uint32_t width) {
  return local_sectors_of<BestLanes>(offset, mask, width);
}

std::span<const TrafficImplementation> traffic_implementations() { return kImplementations; }

}  // namespace coalesce::machine
