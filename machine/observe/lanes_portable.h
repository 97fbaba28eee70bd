// Questions about 32 lanes' numbers, in plain loops of constant length that compilers turn into vector code.
// lanes_avx512.h answers the same ones. A table holds one number per lane; tables come from load() or distances(),
// which let inactive lanes repeat the first active one, so that they pass every test of range or alignment.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace coalesce::machine {

struct PortableLanes {
  static constexpr const char* kName = "portable";

  // A table of 32 numbers.
  struct alignas(64) Table {
    uint32_t n[32];
    Table operator>>(unsigned bits) const {
      Table t;
      for (int i = 0; i < 32; ++i) t.n[i] = static_cast<uint32_t>(static_cast<int32_t>(n[i]) >> bits);
      return t;
    }
    Table operator&(uint32_t bits) const {
      Table t;
      for (int i = 0; i < 32; ++i) t.n[i] = n[i] & bits;
      return t;
    }
    // Puts lane / 2^shift below the number, so that equal numbers of different groups of lanes differ.
    Table with_group(unsigned shift, unsigned group_bits) const {
      Table t;
      for (uint32_t i = 0; i < 32; ++i) t.n[i] = n[i] << group_bits | i >> shift;
      return t;
    }
  };

  static Table load(const uint32_t* from, uint32_t mask) {
    const uint32_t fill = from[std::countr_zero(mask)];
    Table t;
    for (int i = 0; i < 32; ++i) t.n[i] = mask >> i & 1 ? from[i] : fill;
    return t;
  }

  // Distances from `base`, which must be a multiple of 128, as signed numbers; false: one needs more than 32 bits.
  // Inactive lanes repeat the first active one.
  static bool distances(const uint64_t* address, uint32_t mask, uint64_t base, Table* out) {
    const uint64_t fill = address[std::countr_zero(mask)] - base;
    uint64_t far = 0;
    for (int i = 0; i < 32; ++i) {
      const uint64_t d = mask >> i & 1 ? address[i] - base : fill;
      far |= (d + 0x8000'0000ull) >> 32;
      out->n[i] = static_cast<uint32_t>(d);
    }
    return far == 0;
  }

  // True if any number has one of `bits` set.
  static bool any(const Table& t, uint32_t bits) {
    uint32_t all = 0;
    for (uint32_t n : t.n) all |= n;
    return (all & bits) != 0;
  }

  // The lanes of `mask` whose number no lower lane of `mask` has.
  static uint32_t first_of_each(const Table& t, uint32_t mask) {
    // Numbers that never fall, which strided accesses give, have their repeats side by side.
    uint32_t falls = ~mask;
    for (int i = 0; i < 31; ++i) {
      falls |= static_cast<uint32_t>(static_cast<int32_t>(t.n[i]) > static_cast<int32_t>(t.n[i + 1]));
    }
    if (falls == 0) {
      uint32_t changes = 1;
      for (uint32_t i = 0; i < 31; ++i) changes |= static_cast<uint32_t>(t.n[i] != t.n[i + 1]) << (i + 1);
      return changes;
    }
    // Eight lanes at a time, in the compilers' own vector type: lane j is compared with those above it.
    using Eight [[gnu::vector_size(32)]] = uint32_t;
    static constexpr Eight kLane = {0, 1, 2, 3, 4, 5, 6, 7};
    static constexpr uint32_t kNone = 0u, kAll = ~0u;
    static constexpr Eight kAbove[8] = {
        {kNone, kAll, kAll, kAll, kAll, kAll, kAll, kAll},       {kNone, kNone, kAll, kAll, kAll, kAll, kAll, kAll},
        {kNone, kNone, kNone, kAll, kAll, kAll, kAll, kAll},     {kNone, kNone, kNone, kNone, kAll, kAll, kAll, kAll},
        {kNone, kNone, kNone, kNone, kNone, kAll, kAll, kAll},   {kNone, kNone, kNone, kNone, kNone, kNone, kAll, kAll},
        {kNone, kNone, kNone, kNone, kNone, kNone, kNone, kAll}, {}};
    Eight number[4], repeated[4] = {};
    uint32_t active[32];
    std::memcpy(number, t.n, sizeof number);
    for (uint32_t part = 0; part < 4; ++part) {
      const Eight on = Eight{} - ((Eight{} + mask) >> (kLane + 8 * part) & 1);
      std::memcpy(active + 8 * part, &on, sizeof on);
    }
    const auto compare = [&]<uint32_t part>() {
      for (uint32_t j = 0; j < 8; ++j) {
        const Eight wanted = Eight{} + t.n[8 * part + j], on = Eight{} + active[8 * part + j];
        repeated[part] |= Eight(number[part] == wanted) & on & kAbove[j];
        if constexpr (part < 1) repeated[1] |= Eight(number[1] == wanted) & on;
        if constexpr (part < 2) repeated[2] |= Eight(number[2] == wanted) & on;
        if constexpr (part < 3) repeated[3] |= Eight(number[3] == wanted) & on;
      }
    };
    compare.template operator()<0>();
    compare.template operator()<1>();
    compare.template operator()<2>();
    compare.template operator()<3>();
    Eight bits{};
    for (uint32_t part = 0; part < 4; ++part) bits |= repeated[part] & ((Eight{} + 1) << (kLane + 8 * part));
    uint32_t all = 0;
    for (int i = 0; i < 8; ++i) all |= bits[i];
    return mask & ~all;
  }

  // Lanes whose number differs from that of lane ^ flip.
  template <uint32_t flip>
  static uint32_t unlike_partner(const Table& t) {
    uint32_t unlike = 0;
    for (uint32_t i = 0; i < 32; ++i) unlike |= static_cast<uint32_t>(t.n[i] != t.n[i ^ flip]) << i;
    return unlike;
  }

  // Numbers below 32: the union of 1 << number over `mask`.
  static uint32_t union_of(const Table& t, uint32_t mask) {
    uint32_t all = 0;
    for (uint32_t i = 0; i < 32; ++i) all |= (mask >> i & 1) << (t.n[i] & 31);
    return all;
  }

  static constexpr bool kQuickPeaks = false;
  // Numbers below 32. For each group of `lanes` lanes (8, 16 or 32), the most lanes of `mask` on one number; the sum.
  static uint32_t sum_of_peaks(const Table& t, uint32_t mask, uint32_t lanes) {
    uint32_t sum = 0;
    for (uint32_t first = 0; first < 32; first += lanes) {
      uint8_t count[32] = {};
      uint8_t peak = 0;
      for (uint32_t i = first; i < first + lanes; ++i) {
        if (!(mask >> i & 1)) continue;
        const uint8_t c = ++count[t.n[i] & 31];
        peak = c > peak ? c : peak;
      }
      sum += peak;
    }
    return sum;
  }
};

}  // namespace coalesce::machine
