// The counting functions against the rules written out naively, byte by byte and lane by lane, on random and structured
// patterns; every implementation this build has.
#include "machine/observe/traffic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/random/atomic_passes.h"
#include "tests/sanitized.h"

namespace coalesce::machine {

// For GoogleTest's messages and names.
static void PrintTo(const GlobalCost& c, std::ostream* out) {
  *out << c.sectors << " sectors, " << c.lines << " lines, " << c.bytes << " bytes";
}
static void PrintTo(const SharedCost& c, std::ostream* out) {
  *out << c.wavefronts << " wavefronts, ideal " << c.ideal;
}
static void PrintTo(const TrafficImplementation& with, std::ostream* out) { *out << with.name; }

namespace {

using Addresses = std::array<uint64_t, 32>;

// ---- The rules, naively
// ----------------------------------------------------------------------------------------------

std::vector<unsigned> lanes_of(uint32_t mask) {
  std::vector<unsigned> lanes;
  for (unsigned i = 0; i < 32; ++i) {
    if (mask >> i & 1) lanes.push_back(i);
  }
  return lanes;
}

GlobalCost naive_global(const Addresses& a, uint32_t mask, uint32_t width) {
  std::set<uint64_t> bytes, sectors, lines;
  for (unsigned i : lanes_of(mask)) {
    for (uint32_t k = 0; k < width; ++k) {
      bytes.insert(a[i] + k);
      sectors.insert((a[i] + k) / 32);
      lines.insert((a[i] + k) / 128);
    }
  }
  return {static_cast<uint32_t>(sectors.size()), static_cast<uint32_t>(lines.size()),
          static_cast<uint32_t>(bytes.size())};
}

GlobalCost naive_global_atomic(const Addresses& a, uint32_t mask, uint32_t width, uint32_t pass) {
  GlobalCost cost = naive_global(a, mask, width);
  std::vector<uint64_t> address;
  for (unsigned i : lanes_of(mask)) address.push_back(a[i]);
  cost.sectors = static_cast<uint32_t>(atomic_passes(address, width, pass));
  return cost;
}

enum class AccessKind { load, store, atomic };

SharedCost naive_shared(const Addresses& a, uint32_t mask, uint32_t width, AccessKind kind) {
  const std::vector<unsigned> lanes = lanes_of(mask);
  unsigned group = width <= 4 ? 32 : width == 8 ? 16 : 8;
  const auto all_equal_partner = [&](unsigned flip) {
    return std::all_of(lanes.begin(), lanes.end(),
                       [&](unsigned n) { return !(mask >> (n ^ flip) & 1) || a[n] == a[n ^ flip]; });
  };
  if (kind == AccessKind::load && group < 32 && (all_equal_partner(1) || all_equal_partner(2))) group *= 2;
  SharedCost cost;
  for (unsigned first = 0; first < 32; first += group) {
    std::map<uint64_t, std::multiset<uint64_t>> on_bank;
    for (unsigned i : lanes) {
      if (i < first || i >= first + group) continue;
      for (uint64_t word = a[i] / 4; word <= (a[i] + width - 1) / 4; ++word) on_bank[word % 32].insert(word);
    }
    std::size_t most = 0;
    for (const auto& [bank, words] : on_bank) {
      most = std::max(
          most, kind == AccessKind::atomic ? words.size() : std::set<uint64_t>(words.begin(), words.end()).size());
    }
    cost.wavefronts += static_cast<uint32_t>(most);
  }
  const auto asked = static_cast<uint32_t>((lanes.size() * width + 127) / 128);
  cost.ideal = std::min(cost.wavefronts, asked);
  return cost;
}

// Word w of lane l lies at w * 128 + l * 4.
uint32_t naive_local(const Addresses& a, uint32_t mask, uint32_t width) {
  std::set<uint64_t> sectors;
  for (unsigned i : lanes_of(mask)) {
    for (uint32_t k = 0; k < width; ++k) sectors.insert((((a[i] + k) / 4) * 128 + i * 4) / 32);
  }
  return static_cast<uint32_t>(sectors.size());
}

// ---- Patterns
// --------------------------------------------------------------------------------------------------------

std::string show(const Addresses& a, uint32_t mask, uint32_t width) {
  std::string text = "mask " + std::to_string(mask) + " width " + std::to_string(width) + " addresses";
  for (uint64_t x : a) text += " " + std::to_string(x);
  return text;
}

struct Patterns {
  std::mt19937_64 random{20240607};
  uint64_t below(uint64_t n) { return random() % n; }
  uint32_t mask() {
    switch (below(6)) {
      case 0:
        return ~0u;
      case 1:
        return 1u << below(32);
      case 2:
        return static_cast<uint32_t>((uint64_t{1} << below(33)) - 1) << below(32);
      case 3:
        return static_cast<uint32_t>(random() & random() & random());
      case 4:
        return below(2) ? 0x5555'5555u : 0xffff'0000u;
      default:
        return static_cast<uint32_t>(random());
    }
  }
  // Offsets in units, below 2^31 / 32 so that any width fits 32 bits.
  Addresses units() {
    static constexpr uint64_t kSpans[] = {2, 8, 33, 64, 512, 1024, 1 << 16, 1 << 24};
    const uint64_t span = kSpans[below(8)], start = below(64), stride = below(70), kind = below(8);
    Addresses u{};
    for (uint64_t i = 0; i < 32; ++i) {
      switch (kind) {
        case 0:
          u[i] = start;
          break;  // uniform
        case 1:
          u[i] = start + i;
          break;  // contiguous
        case 2:
          u[i] = start + i * stride;
          break;  // strided
        case 3:
          u[i] = start + (31 - i) * stride;
          break;  // reversed
        case 4:
          u[i] = start + (i ^ below(2)) / (1 + stride % 4);
          break;  // pairs, repeats
        case 5:
          u[i] = start + (i & ~1u) * stride;
          break;  // equal neighbours
        case 6:
          u[i] = start + (i & ~2u) * stride;
          break;  // equal to two lanes on
        default:
          u[i] = below(span);
          break;  // scattered
      }
    }
    if (below(8) == 0) u[below(32)] = below(span);  // one lane out of order
    return u;
  }
};

const int kRounds = kSanitized ? 1000 : 20000;

template <typename Check>
void each_pattern(uint32_t widest, bool misaligned_too, Check check) {
  Patterns patterns;
  for (int round = 0; round < kRounds && !testing::Test::HasFailure(); ++round) {
    const uint32_t width = 1u << patterns.below(static_cast<uint64_t>(std::countr_zero(widest)) + 1);
    const uint32_t mask = patterns.mask();
    Addresses a = patterns.units();
    for (uint64_t& x : a) x *= width;
    if (misaligned_too && patterns.below(20) == 0) a[patterns.below(32)] += patterns.below(width);
    check(a, mask, width);
  }
}

std::array<uint32_t, 32> narrow(const Addresses& a) {
  alignas(64) std::array<uint32_t, 32> n{};
  for (unsigned i = 0; i < 32; ++i) n[i] = static_cast<uint32_t>(a[i]);
  return n;
}

class Traffic : public testing::TestWithParam<TrafficImplementation> {};

TEST_P(Traffic, GlobalAgreesWithTheRule) {
  each_pattern(32, true, [&](Addresses a, uint32_t mask, uint32_t width) {
    for (uint64_t base : {uint64_t{0}, uint64_t{0x2000'0000'0100}, uint64_t{0xffff'ff80}, uint64_t{0x7fff'ffff'0000}}) {
      Addresses moved = a;
      for (uint64_t& x : moved) x += base;
      EXPECT_EQ(GetParam().global_cost(moved.data(), mask, width), naive_global(moved, mask, width))
          << show(moved, mask, width);
    }
  });
}

TEST_P(Traffic, GlobalLanesMayBeFarApart) {
  Patterns patterns;
  for (int round = 0; round < kRounds / 4; ++round) {
    Addresses a{};
    for (uint64_t& x : a) x = (patterns.below(4) << (28 + patterns.below(18))) + patterns.below(64) * 8;
    const uint32_t mask = patterns.mask();
    ASSERT_EQ(GetParam().global_cost(a.data(), mask, 8), naive_global(a, mask, 8)) << show(a, mask, 8);
    for (const uint32_t pass : {64u, 128u}) {
      ASSERT_EQ(GetParam().global_atomic_cost(a.data(), mask, 8, pass), naive_global_atomic(a, mask, 8, pass))
          << show(a, mask, 8);
    }
  }
}

TEST_P(Traffic, GlobalAtomicAgreesWithTheRule) {
  each_pattern(16, false, [&](const Addresses& a, uint32_t mask, uint32_t width) {
    for (const uint32_t pass : {64u, 128u}) {
      EXPECT_EQ(GetParam().global_atomic_cost(a.data(), mask, width, pass), naive_global_atomic(a, mask, width, pass))
          << show(a, mask, width);
    }
  });
}

TEST_P(Traffic, SharedAgreesWithTheRule) {
  each_pattern(16, true, [&](const Addresses& a, uint32_t mask, uint32_t width) {
    const auto n = narrow(a);
    EXPECT_EQ(GetParam().shared_load_cost(n.data(), mask, width), naive_shared(a, mask, width, AccessKind::load))
        << show(a, mask, width);
    EXPECT_EQ(GetParam().shared_store_cost(n.data(), mask, width), naive_shared(a, mask, width, AccessKind::store))
        << show(a, mask, width);
    EXPECT_EQ(GetParam().shared_atomic_cost(n.data(), mask, width), naive_shared(a, mask, width, AccessKind::atomic))
        << show(a, mask, width);
  });
}

// Sixteen patterns at once, the same one at each of the sixteen places in time.
TEST(TrafficOfMany, AtomicsOfSixteenWarpsAgreeWithTheRule) {
  uint32_t word[kAtomicsTogether][32] = {}, expected[kAtomicsTogether] = {}, at = 0, compared = 0;
  std::ranges::fill(expected, 32);  // all lanes on word 0
  each_pattern(4, false, [&](Addresses a, uint32_t, uint32_t) {
    for (uint64_t& x : a) x &= ~uint64_t{3};
    const auto n = narrow(a);
    for (uint32_t l = 0; l < 32; ++l) word[at][l] = n[l] / 4;
    expected[at] = naive_shared(a, ~0u, 4, AccessKind::atomic).wavefronts;
    at = (at + 1) % kAtomicsTogether;
    uint32_t wavefronts[kAtomicsTogether];
    shared_atomic_wavefronts(word, wavefronts);
    ASSERT_TRUE(std::ranges::equal(wavefronts, expected)) << show(a, ~0u, 4);
    ++compared;
  });
  EXPECT_GT(compared, 100u);
}

TEST_P(Traffic, LocalAgreesWithTheRule) {
  each_pattern(16, true, [&](const Addresses& a, uint32_t mask, uint32_t width) {
    EXPECT_EQ(GetParam().local_sectors(narrow(a).data(), mask, width), naive_local(a, mask, width))
        << show(a, mask, width);
  });
}

TEST_P(Traffic, NoLanesCostNothing) {
  const Addresses a{};
  const std::array<uint32_t, 32> n{};
  EXPECT_EQ(GetParam().global_cost(a.data(), 0, 4), GlobalCost{});
  EXPECT_EQ(GetParam().global_atomic_cost(a.data(), 0, 4, 128), GlobalCost{});
  EXPECT_EQ(GetParam().shared_load_cost(n.data(), 0, 4), SharedCost{});
  EXPECT_EQ(GetParam().shared_store_cost(n.data(), 0, 4), SharedCost{});
  EXPECT_EQ(GetParam().shared_atomic_cost(n.data(), 0, 4), SharedCost{});
  EXPECT_EQ(GetParam().local_sectors(n.data(), 0, 4), 0u);
}

INSTANTIATE_TEST_SUITE_P(Implementations, Traffic, testing::ValuesIn(traffic_implementations()),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(TrafficShapes, ContiguousClosedFormAgreesWithTheTable) {
  Patterns patterns;
  for (int round = 0; round < kRounds; ++round) {
    const uint32_t width = 1u << patterns.below(6), mask = patterns.mask();
    const uint64_t base = 0x2000'0000'0000 + patterns.below(512) / (round % 2 ? width : 1) * (round % 2 ? width : 1);
    Addresses a{};
    for (uint64_t i = 0; i < 32; ++i) a[i] = base + i * width;
    ASSERT_EQ(global_cost_contiguous(base, mask, width), naive_global(a, mask, width)) << show(a, mask, width);
  }
}

TEST(TrafficShapes, AffineSharedAgreesWithTheTable) {
  for (uint32_t width : {1u, 2u, 4u, 8u, 16u}) {
    for (uint32_t mask : {0u, 1u, ~0u, 0xffffu, 0xffff'0000u, 0x5555'5555u, 0x8000'0000u, 0x00ff'ff00u, 0x6u}) {
      std::vector<uint32_t> strides = {0x0800'0000u, 0x1000'0000u, 0x8000'0000u};
      for (uint32_t stride = 0; stride <= 4224; stride += kSanitized ? 61 : stride < 256 ? 1 : 4) {
        strides.push_back(stride);
        strides.push_back(0u - stride);
      }
      for (uint32_t stride : strides) {
        const uint32_t base = 16384 * 16 + (stride % 3) * width;
        std::array<uint32_t, 32> n{};
        Addresses a{};
        for (uint32_t i = 0; i < 32; ++i) a[i] = n[i] = base + i * stride;
        ASSERT_EQ(shared_load_cost_affine(base, stride, mask, width), naive_shared(a, mask, width, AccessKind::load))
            << "stride " << stride << " " << show(a, mask, width);
        ASSERT_EQ(shared_store_cost_affine(base, stride, mask, width), naive_shared(a, mask, width, AccessKind::store))
            << "stride " << stride << " " << show(a, mask, width);
      }
    }
  }
}

TEST(TrafficShapes, ShapesAreRecognised) {
  each_pattern(16, true, [&](const Addresses& a, uint32_t mask, uint32_t width) {
    if (mask == 0) return;
    const auto n = narrow(a);
    const auto first = static_cast<unsigned>(std::countr_zero(mask));
    const auto all_at = [&](uint64_t step) {
      const std::vector<unsigned> lanes = lanes_of(mask);
      return std::all_of(lanes.begin(), lanes.end(), [&](unsigned i) { return a[i] == a[first] + (i - first) * step; });
    };
    EXPECT_EQ(contiguous(a.data(), mask, width), all_at(width)) << show(a, mask, width);
    EXPECT_EQ(contiguous(n.data(), mask, width), all_at(width)) << show(a, mask, width);
    EXPECT_EQ(uniform(a.data(), mask), all_at(0)) << show(a, mask, width);
    EXPECT_EQ(uniform(n.data(), mask), all_at(0)) << show(a, mask, width);
    EXPECT_EQ(affine(n.data(), mask, 12), all_at(12)) << show(a, mask, width);
  });
  const std::array<uint64_t, 32> same{};
  EXPECT_EQ(global_cost_uniform(0xf0u, 8), global_cost(same.data(), 0xf0u, 8));
}

}  // namespace
}  // namespace coalesce::machine
