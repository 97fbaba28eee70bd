// No bytes may crash the reader of fat binaries, make it read outside of them, or let it allocate without bound.
#include "cudart/core/fatbin.h"

#include <cstddef>
#include <cstdint>

#include "cudart/core/cubin.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coalesce::cudart;
  const std::span<const uint8_t> bytes(data, size);
  bare_ptx(bytes);
  registers_of_cubin({reinterpret_cast<const char*>(data), size});
  try {
    const auto entries = read_fatbin(bytes);
    best_ptx(entries, 9, 0);
    for (const auto& entry : entries) {
      try {
        registers_of_cubin(unpack(entry));
      } catch (const FatbinError&) {}
    }
  } catch (const FatbinError&) {}
  return 0;
}
