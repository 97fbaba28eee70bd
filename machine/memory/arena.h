// One large range of reserved address space from which allocations are cut, so that a simulated address is a host
// address and is the same in every run.
//
// Small ranges (up to kSmall) share chunks; larger ones own whole pages. Between any two ranges lies a gap of at least
// kGap bytes that belongs to nobody, so that one element past the end is never another allocation's first.
// Addresses given back are reused only when the range is exhausted, the longest unused first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>

namespace coalesce::machine {

// ThreadSanitizer shadows every mapping and takes no address but the kernel's choice: a smaller range, anywhere.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kUnderThreadSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool kUnderThreadSanitizer = true;
#else
inline constexpr bool kUnderThreadSanitizer = false;
#endif
#else
inline constexpr bool kUnderThreadSanitizer = false;
#endif

class Arena {
 public:
  static constexpr uint64_t kGap = 256;
  static constexpr uint64_t kPage = 4096;
  static constexpr uint64_t kSmall = 16 * 1024;
  static constexpr uint64_t kChunk = 64 * 1024;

  // Reserves `bytes` (rounded up to whole chunks), or as much as the system grants by halving; possibly nothing.
  explicit Arena(uint64_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  uint64_t base() const { return base_; }
  uint64_t size() const { return size_; }
  // One past the highest address ever handed out.
  uint64_t frontier() const { return frontier_; }
  bool contains(uint64_t address) const { return address - base_ < size_; }

  // The base of `bytes` zeroed bytes, aligned to 256; 0 when there is no room. `reused`: set when addresses handed out
  // before are handed out again: [reused->base, reused->base + reused->size).
  struct Range {
    uint64_t base = 0, size = 0;
  };
  // `own_pages`: no other range lies on its pages.
  uint64_t take(uint64_t bytes, Range* reused, bool own_pages = false);
  // `base`, `bytes` and `own_pages` as given to take().
  void give(uint64_t base, uint64_t bytes, bool own_pages = false);

  // Moves the pages of a range that take() gave, with their content, to a file without a name that other processes can
  // map. Ranges that share a chunk move together. The file is open until the range or the chunk is given back.
  // {-1, 0}: the system refuses.
  struct Place {
    int file = -1;
    uint64_t offset = 0;  // of the range in the file
  };
  Place share(uint64_t base, uint64_t bytes, bool own_pages = false);

 private:
  struct Chunk {
    uint32_t live = 0;
  };
  uint64_t take_pages(uint64_t bytes, uint64_t alignment, Range* reused);
  uint64_t take_freed(uint64_t bytes, uint64_t alignment, Range* reused);
  bool commit(uint64_t end);
  void retire(Range range);
  void unshare(Range range);
  void coalesce_freed();

  struct Shared {
    uint64_t size = 0;
    int file = -1;
  };
  struct Freed {
    Range range;
    bool guarded = false;  // made inaccessible
  };
  uint64_t base_ = 0, size_ = 0;
  uint64_t frontier_ = 0;    // everything above was never handed out
  uint64_t committed_ = 0;   // everything below was made accessible
  uint64_t chunk_ = 0;       // the chunk small ranges are cut from; 0: none
  uint64_t chunk_used_ = 0;  // bytes of it handed out
  std::unordered_map<uint64_t, Chunk> chunks_;
  std::deque<Freed> freed_;  // oldest first
  std::size_t guarded_ = 0;
  std::map<uint64_t, Shared> shared_;  // by address
};

}  // namespace coalesce::machine
