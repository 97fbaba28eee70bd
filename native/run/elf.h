// An object file of the kernel's code, laid out in memory and made executable.
//
// The file is an ELF file of the CPU's kind with a few sections that refer to one another and to nothing else, so that
// loading it is: lay the sections out in one mapping, resolve the references between them, make it executable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "native/run/frame.h"

namespace coalesce::native {

class Mapping {
 public:
  explicit Mapping(std::size_t bytes);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  std::byte* base() const { return base_; }
  bool seal();  // executable, and no longer to be written; false where the system forbids it

 private:
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
};

struct Executable {
  std::unique_ptr<Mapping> memory;
  EntryPoint entry = nullptr;  // the symbol `kernel`; lives as long as `memory`
};

// Throws std::runtime_error for what it does not understand, std::bad_alloc where there is no room.
Executable load_elf(const std::vector<uint8_t>& file);

}  // namespace coalesce::native
