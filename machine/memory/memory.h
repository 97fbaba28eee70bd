// The device's memory: allocations with bounds inside one simulated address space.
//
// A simulated global address IS a host address inside one large reserved range, so a checked access costs no
// translation. Addresses of shared and local memory reach generic pointers through windows outside every host range.
// Freed ranges stay reserved and are remembered, so that use after free is told apart from out of bounds.
//
// Threads: allocate/release only between launches (the caller holds the machine's lock); find() concurrently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "machine/memory/touch_map.h"

namespace coalesce::machine {

inline constexpr uint64_t kAllocationAlignment = 256;                  // as the driver aligns cudaMalloc
inline constexpr uint64_t kSharedWindow = 0x0001'0000'0000'0000ull;    // generic address of shared offset 0
inline constexpr uint64_t kLocalWindow = 0x0002'0000'0000'0000ull;     // generic address of local offset 0
inline constexpr uint64_t kParamWindow = 0x0003'0000'0000'0000ull;     // generic address of kernel parameter offset 0
inline constexpr uint64_t kFunctionWindow = 0x0004'0000'0000'0000ull;  // "addresses" of device functions
inline constexpr uint64_t kWindowSize = 0x0000'0001'0000'0000ull;      // each window spans 4 GiB

inline constexpr unsigned kMostDevices = 64;  // that share one memory

enum class Origin : uint8_t { device, host, managed, variable, constant, heap };  // cudaMalloc, cudaMallocHost, ...

struct Shadow;  // machine/check

// Where an allocation lies for other processes.
struct SharedPlace {
  int file = -1;  // open in this process
  uint64_t offset = 0;
};

struct Allocation {
  uint64_t base = 0;
  uint64_t size = 0;
  Origin origin = Origin::device;
  uint32_t serial = 0;  // nth allocation of the program, from 1, for messages
  std::string label;    // "cudaMalloc", "variable table" ...
  bool live = true;
  uint8_t device = 0;                      // whose memory it is
  bool by_grant = false;                   // other devices reach it only where granted
  uint64_t granted = 0;                    // devices that may reach it, whatever Memory::show() says: bit d
  TouchMap* touched = nullptr;             // where its sectors are marked; many allocations share one map
  uint64_t touched_at = 0;                 // its first sector in that map
  mutable std::shared_ptr<Shadow> shadow;  // what `check` remembers of it; null otherwise, and before it is used
  // 32-byte sectors it covers, wholly or in part. Sector k of an allocation is address / 32 - base / 32.
  uint64_t sectors() const { return size ? (base + size - 1) / 32 - base / 32 + 1 : 0; }
};

class Memory {
 public:
  // `capacity`: bytes the simulated device has. Reserves address space only, at the same place in every run where the
  // system allows it. Never throws if memory is short: allocations are refused instead.
  explicit Memory(uint64_t capacity);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Zeroed memory (on hardware its content is unspecified), 256-byte aligned, at least 256 bytes away from every other.
  // Returns nullptr when the device's capacity (Origin::host does not count towards it) or what the host can spare
  // (host_memory.h) would be exceeded, or bytes == 0. O(log allocations), amortised.
  // The record lives until the allocation is released and 16384 others have been released after it.
  const Allocation* allocate(uint64_t bytes, Origin origin, std::string label);
  // Makes host memory [pointer, pointer+bytes) that the program itself owns reachable by kernels (cudaHostRegister).
  // nullptr: null, empty, past the end of the address space, or overlapping what is live already.
  const Allocation* adopt(void* pointer, uint64_t bytes, Origin origin, std::string label);
  // From now on memory that the host can reach has pages of its own, which can be protected (coalesce check).
  void keep_apart();
  // False: `address` is not the base of a live allocation.
  bool release(uint64_t address);

  // Moves a live allocation to a file that other processes can map (arena.h). False: `base` is not the base of one, it
  // is the program's own memory, or the system refuses.
  bool share(uint64_t base, SharedPlace& place);

  // The live allocation that contains `address`, or null. O(log allocations).
  const Allocation* find(uint64_t address) const;
  // Several devices share the address space. From now on allocate() gives memory of `device`, and used() is told of it;
  // 0 at first.
  void use(unsigned device);
  // From now on find() sees what kernels of `device` may reach: memory of the devices in `peers` (bit d) and of its
  // own, memory of the host, managed memory, and what was granted. show_all() undoes it.
  void show(unsigned device, uint64_t peers);
  void show_all();
  // Which devices may reach a live allocation that is theirs only by grant.
  void grant(uint64_t base, uint64_t devices);
  // The sectors that the launch touched of other devices' memory. O(allocations).
  uint64_t touched_elsewhere(unsigned device) const;

  // Describes `bytes` at `address` for messages: "12 bytes past the end of allocation #3 (cudaMalloc, 4096 bytes at
  // 0x200000000000)", "16 bytes into allocation #3 (...), which was freed", "null pointer", "in no allocation; the
  // nearest is ...".
  std::string describe(uint64_t address, uint64_t bytes) const;

  uint64_t capacity() const;
  // Bytes of the device in use: of the one that use() has named.
  uint64_t used() const;
  // All live allocations and the freed ones still remembered, oldest first.
  const std::vector<std::unique_ptr<Allocation>>& all() const;

  // First-touch sectors of one launch: begin clears, touched_sectors sums what mark() set since. O(touched pages of the
  // map).
  void begin_touch();
  uint64_t touched_sectors() const;
  // The marks of one allocation, which begins at a multiple of 64 bytes.
  static TouchMap::Marked touched(const Allocation& a) { return a.touched->marked(a.touched_at, a.sectors()); }
  // Marks sectors [first, first+count) of `a` as touched; relative to its base. Safe from many threads, cheap when set
  // already.
  static void mark(const Allocation& a, uint64_t first_sector, uint64_t count) {
    a.touched->mark(a.touched_at + first_sector, count);
  }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace coalesce::machine
