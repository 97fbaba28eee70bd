#include "machine/memory/arena.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace coalesce::machine {
namespace {

// Far from where programs, libraries, heaps, stacks and AddressSanitizer's shadow live. A second machine in the same
// process takes the next place.
constexpr uint64_t kPlaces[] = {0x2000'0000'0000, 0x2400'0000'0000, 0x2800'0000'0000, 0x2c00'0000'0000,
                                0x3000'0000'0000, 0x3400'0000'0000, 0x3800'0000'0000, 0x3c00'0000'0000};
constexpr uint64_t kHugePage = 2 * 1024 * 1024;
constexpr uint64_t kSmallestReserve = 16 * 1024 * 1024;
// Memory is made accessible in steps, because each costs a system call.
constexpr uint64_t kCommitStep = 32 * 1024 * 1024;
// Each inaccessible hole costs the process up to two mappings, of which Linux grants 65530 by default.
constexpr std::size_t kMostGuarded = 4096;

constexpr uint64_t round_up(uint64_t value, uint64_t step) { return (value + step - 1) / step * step; }

void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

uint64_t map_at(uint64_t place, uint64_t bytes) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (place ? MAP_FIXED_NOREPLACE : 0);
  void* got = mmap(pointer(place), bytes, PROT_NONE, flags, -1, 0);
  if (got == MAP_FAILED) return 0;
  // Kernels before 4.17 take the address as a hint only; anywhere is as good, but say so by keeping what came.
  return reinterpret_cast<uint64_t>(got);
}

// A limit on address space (ulimit -v) holds for the whole process: take no more than half of it.
uint64_t within_limit(uint64_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return bytes;
  return std::min<uint64_t>(bytes, limit.rlim_cur / 2);
}

}  // namespace

Arena::Arena(uint64_t bytes) {
  bytes = within_limit(round_up(std::max(bytes, kSmallestReserve), kHugePage)) / kHugePage * kHugePage;
  for (; bytes >= kSmallestReserve && !base_; bytes = bytes / 2 / kHugePage * kHugePage) {
    for (uint64_t place : kPlaces) {
      if (!kUnderThreadSanitizer) base_ = map_at(place, bytes);
      if (base_) break;
    }
    if (!base_) base_ = map_at(0, bytes);
    if (base_) size_ = bytes;
  }
  if (base_) madvise(pointer(base_), size_, MADV_HUGEPAGE);  // a wish; refused where the kernel has none
  frontier_ = committed_ = round_up(base_, kHugePage);
}

Arena::~Arena() {
  for (const auto& [base, shared] : shared_) close(shared.file);
  if (base_) munmap(pointer(base_), size_);
}

uint64_t Arena::take(uint64_t bytes, Range* reused, bool own_pages) {
  *reused = {};
  if (bytes == 0 || bytes > size_) return 0;
  const uint64_t whole = round_up(bytes, kGap) + kGap;
  if (whole > kSmall || own_pages)
    return take_pages(round_up(whole, kPage), bytes >= kHugePage ? kHugePage : kPage, reused);
  if (!chunk_ || chunk_used_ + whole > kChunk) {
    const uint64_t fresh = take_pages(kChunk, kChunk, reused);
    if (!fresh) return 0;
    const uint64_t old = chunk_;
    chunk_ = fresh;
    chunk_used_ = 0;
    chunks_[fresh] = {};
    if (old && chunks_[old].live == 0) {
      chunks_.erase(old);
      retire({old, kChunk});
    }
  }
  const uint64_t base = chunk_ + chunk_used_;
  chunk_used_ += whole;
  ++chunks_[chunk_].live;
  return base;
}

void Arena::give(uint64_t base, uint64_t bytes, bool own_pages) {
  const uint64_t whole = round_up(bytes, kGap) + kGap;
  if (whole > kSmall || own_pages) {
    retire({base, round_up(whole, kPage)});
    return;
  }
  const uint64_t chunk = base / kChunk * kChunk;
  const auto found = chunks_.find(chunk);
  if (found == chunks_.end() || --found->second.live != 0 || chunk == chunk_) return;
  chunks_.erase(found);
  retire({chunk, kChunk});
}

Arena::Place Arena::share(uint64_t base, uint64_t bytes, bool own_pages) {
  const uint64_t whole = round_up(bytes, kGap) + kGap;
  Range pages{base, round_up(whole, kPage)};
  if (whole <= kSmall && !own_pages) pages = {base / kChunk * kChunk, kChunk};
  if (const auto known = shared_.find(pages.base); known != shared_.end())
    return {known->second.file, base - pages.base};
  const int file = memfd_create("coalesce", MFD_CLOEXEC);
  if (file < 0) return {};
  uint64_t written = 0;
  while (written < pages.size) {
    const ssize_t n = pwrite(file, pointer(pages.base + written), pages.size - written, static_cast<off_t>(written));
    if (n <= 0) break;
    written += static_cast<uint64_t>(n);
  }
  if (written != pages.size ||
      mmap(pointer(pages.base), pages.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
    close(file);
    return {};
  }
  shared_[pages.base] = {pages.size, file};
  return {file, base - pages.base};
}

// Other processes keep what they have mapped; what comes next in this place is not theirs.
void Arena::unshare(Range range) {
  const auto at = shared_.find(range.base);
  if (at == shared_.end()) return;
  const void* const own = mmap(pointer(range.base), range.size, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (own == MAP_FAILED) std::abort();  // what comes next would be written by others, too
  close(at->second.file);
  shared_.erase(at);
}

uint64_t Arena::take_pages(uint64_t bytes, uint64_t alignment, Range* reused) {
  const uint64_t base = round_up(frontier_, alignment);
  const uint64_t end = base_ + size_;
  if (base > end || bytes > end - base) return take_freed(bytes, alignment, reused);
  if (!commit(base + bytes)) return 0;
  frontier_ = base + bytes;
  return base;
}

// The oldest freed range that is large enough; when there is none, neighbours are joined and it is tried again.
uint64_t Arena::take_freed(uint64_t bytes, uint64_t alignment, Range* reused) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (auto it = freed_.begin(); it != freed_.end(); ++it) {
      const Range range = it->range;
      const uint64_t base = round_up(range.base, alignment);
      if (base + bytes > range.base + range.size) continue;
      if (it->guarded && mprotect(pointer(range.base), range.size, PROT_READ | PROT_WRITE) != 0) return 0;
      if (it->guarded) --guarded_;
      // The ranges left before and after keep their age.
      const Range before{range.base, base - range.base};
      const Range after{base + bytes, range.base + range.size - base - bytes};
      it = freed_.erase(it);
      if (after.size) it = freed_.insert(it, {after, false});
      if (before.size) freed_.insert(it, {before, false});
      *reused = {base, bytes};
      return base;
    }
    coalesce_freed();
  }
  return 0;
}

// Joins ranges that touch; a joined range counts as freed when its youngest part was.
void Arena::coalesce_freed() {
  struct Aged {
    Freed freed;
    std::size_t age;
  };
  std::deque<Aged> aged;
  for (std::size_t i = 0; i < freed_.size(); ++i) aged.push_back({freed_[i], i});
  std::sort(aged.begin(), aged.end(),
            [](const Aged& a, const Aged& b) { return a.freed.range.base < b.freed.range.base; });
  std::deque<Aged> joined;
  for (const Aged& next : aged) {
    if (joined.empty() || joined.back().freed.range.base + joined.back().freed.range.size != next.freed.range.base) {
      joined.push_back(next);
      continue;
    }
    Aged& last = joined.back();
    last.freed.range.size += next.freed.range.size;
    if (last.freed.guarded && next.freed.guarded) --guarded_;  // two holes became one
    last.freed.guarded = last.freed.guarded || next.freed.guarded;
    last.age = std::max(last.age, next.age);
  }
  std::sort(joined.begin(), joined.end(), [](const Aged& a, const Aged& b) { return a.age < b.age; });
  freed_.clear();
  for (const Aged& each : joined) freed_.push_back(each.freed);
}

bool Arena::commit(uint64_t end) {
  if (end <= committed_) return true;
  const uint64_t limit = base_ + size_;
  for (uint64_t step : {kCommitStep, kPage}) {
    const uint64_t upto = std::min(round_up(end, step), limit);
    if (mprotect(pointer(committed_), upto - committed_, PROT_READ | PROT_WRITE) == 0) {
      committed_ = upto;
      return true;
    }
  }
  return false;
}

// Gives the pages back to the system at once, so that what comes next in their place is zero, and makes the hole
// inaccessible while the process can afford it.
void Arena::retire(Range range) {
  unshare(range);
  madvise(pointer(range.base), range.size, MADV_DONTNEED);
  Freed freed{range, false};
  if (guarded_ < kMostGuarded && mprotect(pointer(range.base), range.size, PROT_NONE) == 0) {
    freed.guarded = true;
    ++guarded_;
  }
  freed_.push_back(freed);
}

}  // namespace coalesce::machine
