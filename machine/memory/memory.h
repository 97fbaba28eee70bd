// The device's memory: allocations with bounds inside one simulated address space.
//
// A simulated global address IS a host address inside one large reserved range, so a checked access costs no
// translation. Addresses of shared and local memory reach generic pointers through windows outside every host range.
// Freed ranges stay reserved and are remembered, so that use after free is told apart from out of bounds.
//
// Threads: allocate/release only between launches (the caller holds the machine's lock); find() concurrently.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace coalesce::machine {

inline constexpr uint64_t kAllocationAlignment = 256;                 // as the driver aligns cudaMalloc
inline constexpr uint64_t kSharedWindow = 0x0001'0000'0000'0000ull;   // generic address of shared offset 0
inline constexpr uint64_t kLocalWindow = 0x0002'0000'0000'0000ull;    // generic address of local offset 0
inline constexpr uint64_t kParamWindow = 0x0003'0000'0000'0000ull;    // generic address of kernel parameter offset 0
inline constexpr uint64_t kFunctionWindow = 0x0004'0000'0000'0000ull; // "addresses" of device functions
inline constexpr uint64_t kWindowSize = 0x0000'0001'0000'0000ull;     // each window spans 4 GiB

enum class Origin : uint8_t { device, host, managed, variable, constant, heap };  // cudaMalloc, cudaMallocHost, ...

struct Allocation {
  uint64_t base = 0;
  uint64_t size = 0;
  Origin origin = Origin::device;
  uint32_t serial = 0;   // nth allocation of the program, for messages
  std::string label;     // "cudaMalloc", "variable table" ...
  bool live = true;
  // One bit per 32-byte sector, set by the launch that touches it; null until first touched.
  std::unique_ptr<std::atomic<uint64_t>[]> touched;
  uint64_t sectors() const { return (size + 31) / 32; }
};

class Memory {
 public:
  // `capacity`: bytes the simulated device has. Reserves address space only.
  explicit Memory(uint64_t capacity);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // A zeroed? no: content of fresh device memory is unspecified on hardware; here it is filled with zero pages by the OS.
  // Returns nullptr when the device's capacity or the host's free memory would be exceeded. bytes == 0: nullptr.
  const Allocation* allocate(uint64_t bytes, Origin origin, std::string label);
  // Makes host memory [pointer, pointer+bytes) that the program itself owns reachable by kernels (cudaHostRegister).
  const Allocation* adopt(void* pointer, uint64_t bytes, Origin origin, std::string label);
  // False: `address` is not the base of a live allocation.
  bool release(uint64_t address);

  // The live allocation that contains `address`, or null. O(log allocations).
  const Allocation* find(uint64_t address) const;
  // Two or three words and a distance for messages, e.g. "12 bytes past the end of allocation #3 (cudaMalloc, 4096 bytes
  // at 0x7f...)", "inside allocation #3 ..., freed", "null pointer", "in no allocation; the nearest is ...".
  std::string describe(uint64_t address, uint64_t bytes) const;

  uint64_t capacity() const;
  uint64_t used() const;
  const std::vector<std::unique_ptr<Allocation>>& all() const;

  // First-touch sectors of one launch: begin clears, touched_sectors sums what mark() set since. O(touched bitmaps).
  void begin_touch();
  uint64_t touched_sectors() const;
  // Marks sectors [first, first+count) of `a` as touched; relative to its base. Safe from many threads, cheap when set already.
  static void mark(const Allocation& a, uint64_t first_sector, uint64_t count);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace coalesce::machine
