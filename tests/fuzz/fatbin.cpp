// No bytes may crash the reader of fat binaries, make it read outside of them, or let it allocate without bound.
#include "cudart/core/fatbin.h"

#include <cstddef>
#include <cstdint>

#include "cudart/core/cubin.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coalesce::cudart;
  const std::span<const uint8_t> bytes(data, size);
  bare_ptx(bytes);
  const std::string_view cubin(reinterpret_cast<const char*>(data), size);
  machine_code_of_cubin(cubin);
  ptx_of_cubin(cubin);
  if (size >= 64) copy_of_cubin(data, size);
  try {
    const auto entries = read_fatbin(bytes);
    best_ptx(entries, 9, 0);
    for (const auto& entry : entries) {
      try {
        machine_code_of_cubin(unpack(entry));
      } catch (const FatbinError&) {}
    }
  } catch (const FatbinError&) {}
  return 0;
}
