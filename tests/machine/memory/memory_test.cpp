#include "machine/memory/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "machine/memory/host_memory.h"
#include "tests/sanitized.h"

namespace coalesce::machine {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr uint64_t kMiB = 1024 * 1024;

void fill(const Allocation& a, int byte) { std::memset(reinterpret_cast<void*>(a.base), byte, a.size); }
unsigned char byte_at(uint64_t address) { return *reinterpret_cast<unsigned char*>(address); }

TEST(Memory, AllocationsAreAlignedBoundedZeroedAndApart) {
  Memory memory(64 * kMiB);
  std::vector<const Allocation*> all;
  for (uint64_t bytes : {1ull, 4ull, 255ull, 256ull, 257ull, 4096ull, 15000ull, 16384ull, 100000ull, 3000000ull}) {
    const Allocation* a = memory.allocate(bytes, Origin::device, "cudaMalloc");
    ASSERT_NE(a, nullptr) << bytes;
    EXPECT_EQ(a->base % kAllocationAlignment, 0u);
    EXPECT_EQ(a->size, bytes);
    EXPECT_EQ(a->serial, all.size() + 1);
    EXPECT_EQ(byte_at(a->base), 0);
    EXPECT_EQ(byte_at(a->base + bytes - 1), 0);
    fill(*a, 0xff);
    EXPECT_EQ(memory.find(a->base), a);
    EXPECT_EQ(memory.find(a->base + bytes - 1), a);
    EXPECT_EQ(memory.find(a->base + bytes), nullptr) << "one past the end is nobody's";
    EXPECT_EQ(memory.find(a->base - 1), nullptr);
    for (const Allocation* b : all) EXPECT_TRUE(a->base + a->size <= b->base || b->base + b->size <= a->base);
    all.push_back(a);
  }
  EXPECT_EQ(memory.allocate(0, Origin::device, "cudaMalloc"), nullptr);
  EXPECT_EQ(memory.all().size(), all.size());
}

TEST(Memory, ReleaseTakesOnlyTheBaseOfALiveAllocation) {
  Memory memory(64 * kMiB);
  const Allocation* a = memory.allocate(1000, Origin::device, "cudaMalloc");
  ASSERT_NE(a, nullptr);
  const uint64_t base = a->base;
  EXPECT_FALSE(memory.release(0));
  EXPECT_FALSE(memory.release(base + 256));
  EXPECT_FALSE(memory.release(base - 256));
  EXPECT_TRUE(memory.release(base));
  EXPECT_FALSE(memory.release(base)) << "freed twice";
  EXPECT_EQ(memory.find(base), nullptr);
  EXPECT_EQ(memory.used(), 0u);
}

TEST(Memory, CapacityHolds) {
  Memory memory(kMiB);
  EXPECT_EQ(memory.allocate(kMiB + 1, Origin::device, "cudaMalloc"), nullptr);
  EXPECT_EQ(memory.allocate(UINT64_MAX, Origin::device, "cudaMalloc"), nullptr);
  EXPECT_EQ(memory.allocate(UINT64_MAX - 100, Origin::host, "cudaMallocHost"), nullptr);
  const Allocation* a = memory.allocate(kMiB, Origin::device, "cudaMalloc");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(memory.used(), kMiB);
  EXPECT_EQ(memory.allocate(1, Origin::device, "cudaMalloc"), nullptr);
  EXPECT_NE(memory.allocate(1, Origin::host, "cudaMallocHost"), nullptr) << "host memory is not the device's";
  EXPECT_TRUE(memory.release(a->base));
  EXPECT_NE(memory.allocate(kMiB, Origin::device, "cudaMalloc"), nullptr);
}

TEST(Memory, MoreThanTheHostHasIsRefusedThoughNothingWasTouched) {
  const HostMemory host = read_host_memory();
  if (host.total == UINT64_MAX) GTEST_SKIP() << "the host's memory is unknown";
  Memory memory(uint64_t{1} << 50);
  EXPECT_EQ(memory.allocate(host.total, Origin::device, "cudaMalloc"), nullptr);
  uint64_t promised = 0;
  for (int i = 0; i < 1000; ++i) {
    const Allocation* a = memory.allocate(host.total / 64, Origin::device, "cudaMalloc");
    if (!a) break;
    promised += a->size;
  }
  EXPECT_GT(promised, 0u);
  EXPECT_LT(promised, host.total);
}

TEST(Memory, AddressesAreTheSameInEveryRun) {
  if (kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer accepts no fixed place";
  uint64_t first = 0;
  for (int run = 0; run < 3; ++run) {
    Memory memory(uint64_t{1} << 37);
    const Allocation* a = memory.allocate(4 * kMiB, Origin::device, "cudaMalloc");
    ASSERT_NE(a, nullptr);
    if (run == 0) first = a->base;
    EXPECT_EQ(a->base, first);
  }
}

TEST(Memory, FreedAddressesAreNotReusedSoon) {
  Memory memory(64 * kMiB);
  std::set<uint64_t> seen;
  for (int i = 0; i < 200; ++i) {
    const Allocation* a = memory.allocate(i % 2 ? 100 : kMiB / 2, Origin::device, "cudaMalloc");
    ASSERT_NE(a, nullptr);
    EXPECT_TRUE(seen.insert(a->base).second);
    ASSERT_TRUE(memory.release(a->base));
  }
}

// 8 MiB of addresses serve any amount of allocating and freeing, fresh zeroes each time, never two owners.
TEST(Memory, ExhaustedAddressesAreReused) {
  Memory memory(8 * kMiB);
  std::mt19937 random(5);
  std::vector<const Allocation*> live;
  uint64_t total = 0;
  while (total < (few_cases() ? 100 : 500) * kMiB) {
    const uint64_t bytes = 1 + random() % (random() % 4 ? 30000 : 2 * kMiB);
    const Allocation* a = memory.allocate(bytes, Origin::device, "cudaMalloc");
    if (a) {
      total += bytes;
      ASSERT_EQ(byte_at(a->base), 0) << "bytes of a former owner";
      ASSERT_EQ(byte_at(a->base + bytes - 1), 0);
      fill(*a, static_cast<int>(1 + a->serial % 255));
      live.push_back(a);
    }
    if (!a || random() % 2) {
      ASSERT_FALSE(live.empty()) << "nothing in use, and " << bytes << " bytes refused";
      const std::size_t n = random() % live.size();
      const Allocation* old = live[n];
      const auto mine = static_cast<unsigned char>(1 + old->serial % 255);
      for (uint64_t k = 0; k < old->size; k += 97) ASSERT_EQ(byte_at(old->base + k), mine) << "written by another";
      ASSERT_EQ(memory.find(old->base + old->size / 2), old);
      ASSERT_TRUE(memory.release(old->base));
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(n));
    }
  }
}

TEST(Memory, ManySmallAllocationsAndReleases) {
  Memory memory(uint64_t{1} << 33);
  std::vector<uint64_t> bases;
  for (int i = 0; i < 100000; ++i) {
    const Allocation* a = memory.allocate(64, Origin::device, "cudaMalloc");
    ASSERT_NE(a, nullptr);
    bases.push_back(a->base);
  }
  for (uint64_t base : bases) ASSERT_EQ(memory.find(base + 63)->base, base);
  std::shuffle(bases.begin(), bases.end(), std::mt19937(3));
  for (uint64_t base : bases) ASSERT_TRUE(memory.release(base));
  EXPECT_EQ(memory.used(), 0u);
  EXPECT_LE(memory.all().size(), 40000u) << "records of freed allocations must not pile up";
}

// The file of a shared allocation is its memory; what is allocated there after its release is another's, and zero.
TEST(Memory, SharedAllocations) {
  Memory memory(kMiB);  // so that addresses are soon used again
  for (const uint64_t bytes : {uint64_t{16'000}, uint64_t{100'000}}) {
    const Allocation* a = memory.allocate(bytes, Origin::device, "");
    const Allocation* neighbour = memory.allocate(8, Origin::device, "");
    ASSERT_TRUE(a != nullptr && neighbour != nullptr);
    fill(*a, 7);
    fill(*neighbour, 9);
    SharedPlace place, again;
    ASSERT_TRUE(memory.share(a->base, place));
    ASSERT_TRUE(memory.share(a->base, again));
    EXPECT_TRUE(again.file == place.file && again.offset == place.offset);
    EXPECT_FALSE(memory.share(a->base + 1, again));
    EXPECT_EQ(byte_at(a->base + bytes - 1), 7);
    EXPECT_EQ(byte_at(neighbour->base), 9);
    unsigned char other = 0;
    const auto last = static_cast<off_t>(place.offset + bytes - 1);
    ASSERT_EQ(pread(place.file, &other, 1, last), 1);
    EXPECT_EQ(other, 7);
    other = 8;
    ASSERT_EQ(pwrite(place.file, &other, 1, last), 1);
    EXPECT_EQ(byte_at(a->base + bytes - 1), 8);
    const int file = dup(place.file);
    ASSERT_TRUE(memory.release(neighbour->base));
    ASSERT_TRUE(memory.release(a->base));
    EXPECT_FALSE(memory.share(a->base, again)) << "not live";
    bool same_place = false;
    const uint64_t before = a->base;
    for (int k = 0; k < 100'000 && !same_place; ++k) {
      const Allocation* next = memory.allocate(bytes, Origin::device, "");
      ASSERT_NE(next, nullptr);
      EXPECT_EQ(byte_at(next->base + bytes - 1), 0);
      same_place = next->base == before;
      if (same_place) fill(*next, 1);
      ASSERT_TRUE(memory.release(next->base));
    }
    EXPECT_TRUE(same_place);
    ASSERT_EQ(pread(file, &other, 1, last), 1);
    EXPECT_EQ(other, 8) << "whoever has mapped it keeps it";
    close(file);
  }
}

TEST(Memory, AdoptedHostMemory) {
  Memory memory(kMiB);
  std::vector<unsigned char> mine(1000);
  const uint64_t base = reinterpret_cast<uint64_t>(mine.data());
  const Allocation* a = memory.adopt(mine.data() + 8, 900, Origin::host, "cudaHostRegister");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(memory.find(base + 8), a);
  EXPECT_EQ(memory.find(base + 907), a);
  EXPECT_EQ(memory.find(base + 7), nullptr);
  EXPECT_EQ(memory.find(base + 908), nullptr);
  EXPECT_EQ(memory.used(), 0u);
  EXPECT_EQ(memory.adopt(mine.data(), 9, Origin::host, "cudaHostRegister"), nullptr) << "overlaps";
  EXPECT_EQ(memory.adopt(mine.data() + 500, 1, Origin::host, "cudaHostRegister"), nullptr) << "inside";
  EXPECT_EQ(memory.adopt(mine.data(), 1000, Origin::host, "cudaHostRegister"), nullptr) << "around";
  EXPECT_NE(memory.adopt(mine.data(), 8, Origin::host, "cudaHostRegister"), nullptr);
  EXPECT_EQ(memory.adopt(nullptr, 8, Origin::host, "cudaHostRegister"), nullptr);
  EXPECT_EQ(memory.adopt(mine.data(), 0, Origin::host, "cudaHostRegister"), nullptr);
  EXPECT_EQ(memory.adopt(mine.data(), UINT64_MAX, Origin::host, "cudaHostRegister"), nullptr);
  EXPECT_TRUE(memory.release(base + 8));
  EXPECT_THAT(memory.describe(base + 10, 4), HasSubstr("freed"));
  EXPECT_NE(memory.adopt(mine.data() + 8, 992, Origin::host, "cudaHostRegister"), nullptr) << "again after release";
}

TEST(Memory, DescriptionsSayWhatAndHowFar) {
  Memory memory(64 * kMiB);
  EXPECT_THAT(memory.describe(0x1234'5678, 4), HasSubstr("no allocation"));
  const Allocation* a = memory.allocate(4096, Origin::device, "cudaMalloc");
  const Allocation* b = memory.allocate(100, Origin::variable, "variable table");
  ASSERT_TRUE(a && b);
  char at[32];
  std::snprintf(at, sizeof at, "0x%llx", static_cast<unsigned long long>(a->base));
  const std::string first = std::string("allocation #1 (cudaMalloc, 4096 bytes at ") + at + ")";
  EXPECT_EQ(memory.describe(a->base + 4096 + 12, 4), "12 bytes past the end of " + first);
  EXPECT_EQ(memory.describe(a->base + 4094, 4), "reaches 2 bytes past the end of " + first);
  EXPECT_THAT(memory.describe(b->base - 4, 4), StartsWith("4 bytes before the start of allocation #2 (variable"));
  EXPECT_THAT(memory.describe(b->base + 99, 1), StartsWith("99 bytes into allocation #2"));
  EXPECT_THAT(memory.describe(b->base + 40 * kMiB, 4), StartsWith("in no allocation; the nearest is "));
  EXPECT_EQ(memory.describe(0, 4), "null pointer");
  EXPECT_EQ(memory.describe(16, 4), "null pointer + 16 bytes");
  EXPECT_EQ(memory.describe(kSharedWindow + 20, 4), "at offset 20 of shared memory");
  EXPECT_EQ(memory.describe(kLocalWindow + 8, 4), "at offset 8 of local memory");
  EXPECT_NE(memory.describe(UINT64_MAX, 16), "");
  ASSERT_TRUE(memory.release(a->base));
  EXPECT_EQ(memory.describe(a->base + 16, 4), "16 bytes into " + first + ", which was freed");
}

TEST(Memory, TouchedSectorsAreDistinctAndPerLaunch) {
  Memory memory(64 * kMiB);
  const Allocation* a = memory.allocate(40 * kMiB, Origin::device, "cudaMalloc");
  const Allocation* b = memory.allocate(33, Origin::device, "cudaMalloc");
  std::vector<unsigned char> mine(4096);
  const Allocation* c = memory.adopt(mine.data(), mine.size(), Origin::host, "cudaHostRegister");
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(a->sectors(), 40 * kMiB / 32);
  EXPECT_EQ(b->sectors(), 2u);
  memory.begin_touch();
  EXPECT_EQ(memory.touched_sectors(), 0u);
  Memory::mark(*a, 0, 1);
  Memory::mark(*a, 0, 1);
  Memory::mark(*b, 0, 2);
  EXPECT_EQ(memory.touched_sectors(), 3u);
  Memory::mark(*a, 60, 10);  // across two words
  Memory::mark(*a, 64, 64);  // a whole word
  Memory::mark(*a, 100, 0);  // nothing
  Memory::mark(*c, 5, 20);
  EXPECT_EQ(memory.touched_sectors(), 3u + 68 + 20);
  const auto holds = [&](uint64_t first, uint64_t count) { return a->touched->holds(a->touched_at + first, count); };
  EXPECT_TRUE(holds(60, 68));
  EXPECT_FALSE(holds(59, 69));
  EXPECT_FALSE(holds(60, 69));
  Memory::mark(*a, 0, a->sectors());
  EXPECT_EQ(memory.touched_sectors(), a->sectors() + 2 + 20);
  EXPECT_TRUE(holds(0, a->sectors()));
  Memory::mark(*a, 16 * 1024 - 5, 10);  // once more, across two pages of the map
  EXPECT_EQ(memory.touched_sectors(), a->sectors() + 2 + 20);
  memory.begin_touch();
  EXPECT_EQ(memory.touched_sectors(), 0u);
  Memory::mark(*a, 16 * 1024 - 5, 20 * 1024);  // a page of the map and parts of its neighbours
  EXPECT_EQ(memory.touched_sectors(), 20u * 1024);
  EXPECT_TRUE(holds(16 * 1024 - 5, 20 * 1024));
  EXPECT_FALSE(holds(16 * 1024 - 6, 20 * 1024));
  EXPECT_FALSE(holds(16 * 1024 - 5, 20 * 1024 + 1));
  Memory::mark(*a, 16 * 1024 - 6, 3);
  EXPECT_EQ(memory.touched_sectors(), 20u * 1024 + 1);
  memory.begin_touch();
  Memory::mark(*a, a->sectors() - 1, 1);
  EXPECT_EQ(memory.touched_sectors(), 1u);
  ASSERT_TRUE(memory.release(c->base));
  EXPECT_EQ(memory.touched_sectors(), 1u);
}

// Against marks counted one by one: parts of pages, and whole pages of the map.
TEST(Memory, TouchedSectorsAndHalvesOfAnAllocation) {
  constexpr uint64_t kSectors = 5000;
  Memory memory(64 * kMiB);
  memory.allocate(4096, Origin::device, "before");
  const Allocation* a = memory.allocate(kSectors * 32, Origin::device, "a");
  memory.begin_touch();
  std::set<uint64_t> sectors, halves;
  const auto mark = [&](uint64_t first, uint64_t count) {
    Memory::mark(*a, first, count);
    for (uint64_t k = first; k < first + count; ++k) sectors.insert(k), halves.insert(k / 2);
  };
  std::mt19937 random(1);
  for (int k = 0; k < 300; ++k) mark(random() % kSectors, 1);
  for (const auto& [first, count] : {std::pair{1000ul, 2500ul}, {4999ul, 1ul}, {0ul, 4ul}}) {
    mark(first, count);
    EXPECT_EQ(Memory::touched(*a).sectors, sectors.size());
    EXPECT_EQ(Memory::touched(*a).pairs, halves.size());
  }
}

TEST(Memory, FindingAndMarkingFromManyThreads) {
  Memory memory(64 * kMiB);
  const Allocation* a = memory.allocate(2 * kMiB, Origin::device, "cudaMalloc");
  ASSERT_NE(a, nullptr);
  memory.begin_touch();
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t s = t; s < a->sectors(); s += 3) Memory::mark(*memory.find(a->base + s * 32), s, 1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory.touched_sectors(), a->sectors());
}

TEST(Memory, WorksUnderALimitOnAddressSpace) {
  if (kSanitized) GTEST_SKIP() << "sanitizers reserve more than the limit";
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{512 * kMiB, 512 * kMiB};
    setrlimit(RLIMIT_AS, &limit);
    Memory memory(uint64_t{1} << 37);
    const Allocation* a = memory.allocate(kMiB, Origin::device, "cudaMalloc");
    if (!a) _exit(1);
    fill(*a, 1);
    _exit(memory.allocate(600 * kMiB, Origin::device, "cudaMalloc") ? 2 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace coalesce::machine
