// The heap of kernels' malloc against its definition: a block lies at the lowest address where it and its gap are free.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "machine/execute/calls.h"
#include "machine/memory/memory.h"

namespace coalesce::machine {
namespace {

constexpr uint64_t kHeapBytes = 1024, kHeapGap = 64;

// Blocks in no order; one that is kept has been freed, and its place is not given again yet.
struct HeapByDefinition {
  struct Piece {
    uint64_t at, asked, whole;
    bool live;
  };
  uint64_t gap = 0;
  std::vector<Piece> pieces;

  uint64_t lowest(uint64_t whole) const {
    for (uint64_t at = 0; at + whole <= kHeapBytes; at += 16)
      if (std::ranges::none_of(pieces, [&](const Piece& p) { return at < p.at + p.whole && p.at < at + whole; }))
        return at;
    return kHeapBytes;
  }
  uint64_t allocate(uint64_t asked) {
    const uint64_t whole = (asked == 0 ? 16 : (asked + 15) & ~uint64_t{15}) + gap;
    uint64_t at = lowest(whole);
    if (at == kHeapBytes) {
      std::erase_if(pieces, [](const Piece& p) { return !p.live; });
      at = lowest(whole);
    }
    if (at != kHeapBytes) pieces.push_back({at, asked, whole, true});
    return at;
  }
  void release(uint64_t at) {
    const auto found = std::ranges::find_if(pieces, [&](const Piece& p) { return p.live && p.at == at; });
    if (gap)
      found->live = false;
    else
      pieces.erase(found);
  }
  // Where the block begins that is at `place` or the last before it.
  const Piece* around(uint64_t place) const {
    const Piece* last = nullptr;
    for (const Piece& p : pieces)
      if (p.at <= place && (!last || p.at > last->at)) last = &p;
    return last;
  }
};

TEST(DeviceHeaps, AsDefined) {
  for (const bool apart : {false, true}) {
    std::mt19937 random(17);
    uint32_t refused = 0, again = 0;
    for (int round = 0; round < 40; ++round) {
      Memory memory(1 << 20);
      DeviceHeap heap(memory, kHeapBytes);
      if (apart) heap.keep_apart();
      std::vector<std::pair<uint64_t, uint64_t>> told;
      heap.given = [&](uint64_t at, uint64_t bytes) { told.emplace_back(at, bytes); };
      heap.prepare();
      const uint64_t base = heap.allocate(0);
      ASSERT_NE(base, 0u);
      HeapByDefinition model;
      model.gap = apart ? kHeapGap : 0;
      ASSERT_EQ(model.allocate(0), 0u);
      const uint64_t most = round % 2 ? 100 : 400;
      for (int step = 0; step < 80; ++step) {
        std::vector<uint64_t> live;
        for (const auto& p : model.pieces)
          if (p.live) live.push_back(p.at);
        if (live.empty() || random() % 5 < 3) {
          const uint64_t asked = random() % most, kept = static_cast<uint64_t>(std::ranges::count_if(
                                                      model.pieces, [](const auto& p) { return !p.live; }));
          const uint64_t expected = model.allocate(asked);
          told.clear();
          const uint64_t at = heap.allocate(asked);
          ASSERT_EQ(at, expected == kHeapBytes ? 0 : base + expected) << asked << " bytes, step " << step;
          refused += at == 0;
          again += kept != 0 && std::ranges::all_of(model.pieces, [](const auto& p) { return p.live; });
          if (at == 0)
            ASSERT_TRUE(told.empty());
          else
            ASSERT_EQ(told, (std::vector{std::pair{at, model.pieces.back().whole}}));
        } else {
          const uint64_t at = live[random() % live.size()];
          EXPECT_FALSE(heap.release(base + at + 8));
          model.release(at);
          EXPECT_TRUE(heap.release(base + at));
          EXPECT_FALSE(heap.release(base + at)) << "twice";
        }
        for (uint64_t place = 0; apart && place < kHeapBytes; place += 8) {
          const DeviceHeap::Block b = heap.around(base + place);
          const auto* p = model.around(place);
          ASSERT_EQ(b.base, p ? base + p->at : 0) << place;
          if (p) ASSERT_TRUE(b.bytes == p->asked && b.live == p->live) << place;
        }
      }
    }
    EXPECT_GT(refused, 20u);
    EXPECT_EQ(again > 20u, apart) << again;
  }
}

TEST(DeviceHeaps, TheirSizeIsThatBeforeTheFirstUse) {
  Memory memory(1 << 20);
  DeviceHeap heap(memory, kHeapBytes);
  EXPECT_EQ(heap.allocate(16), 0u) << "not prepared";
  EXPECT_FALSE(heap.holds(0));
  EXPECT_TRUE(heap.resize(2 * kHeapBytes));
  heap.prepare();
  EXPECT_FALSE(heap.resize(kHeapBytes));
  for (const uint64_t bytes : {2 * kHeapBytes + 1, ~uint64_t{0}, ~uint64_t{0} - 15})
    EXPECT_EQ(heap.allocate(bytes), 0u);
  const uint64_t all = heap.allocate(2 * kHeapBytes);
  ASSERT_NE(all, 0u);
  heap.prepare();  // has no effect the second time
  EXPECT_EQ(heap.allocate(1), 0u);
  EXPECT_TRUE(heap.holds(all) && heap.holds(all + 2 * kHeapBytes - 1));
  EXPECT_FALSE(heap.holds(all + 2 * kHeapBytes) || heap.holds(all - 1));
  EXPECT_TRUE(heap.release(all));
  EXPECT_EQ(heap.allocate(2 * kHeapBytes), all);

  DeviceHeap larger(memory, 1 << 21);  // than there is memory
  larger.prepare();
  EXPECT_EQ(larger.allocate(16), 0u);
  EXPECT_TRUE(larger.resize(kHeapBytes));
  larger.prepare();
  EXPECT_NE(larger.allocate(16), 0u);
}

}  // namespace
}  // namespace coalesce::machine
