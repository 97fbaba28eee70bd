// Finds NVIDIA's static CUDA runtime in executables and libraries: which version, and where each of its functions
// begins. nvcc links it into every program unless it is told otherwise.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "redirect/mapped_file.h"

namespace coalesce::redirect {

struct Entry {
  size_t name;       // index in kNames
  uint64_t address;  // as in the file's symbols: where it is loaded, less the load address
};

struct StaticRuntime {
  int version = 0;  // 11, 12 or 13; 0: the file has none, or `problem` says why nobody knows
  std::vector<Entry> entries;
  std::string problem;
};

// Whether a jump fits at the beginning of a function: in its own bytes, or in those up to where the next may begin.
bool has_room(const elf::File& file, const elf::Symbol& function);

// Finds the runtime by the file's symbols; in one that is stripped of them and has device code, by comparing its code
// with that of `archives` (paths of libcudart_static.a, of which those that cannot be read are left out).
StaticRuntime find_static_runtime(const elf::File& file, const std::vector<std::string>& archives);

// True if the file has device code and imports nothing of a shared runtime: one is linked into it.
bool registers_by_itself(const elf::File& file);

// 11, 12 or 13: what a runtime with these functions calls itself.
int version_of(const std::vector<Entry>& entries);

// Fewer functions of such names are a program's own.
inline constexpr size_t kLeastNames = 300;
// NVIDIA's functions begin at multiples of this: the room of each is at least as much.
inline constexpr uint64_t kRuntimeAlignment = 16;
// Bytes at the beginning of a function that a jump needs.
inline constexpr uint64_t kJumpBytes = 14;

}  // namespace coalesce::redirect
