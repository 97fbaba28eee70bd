// An object file becomes executable code: a kernel, and what it keeps beside its code.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "machine/execute/native.h"
#include "native/compile.h"
#include "native/run/elf.h"

namespace coalesce::native {

// An object's words on a region.
struct RegionWords {
  bool native = false, exits = false;
  std::map<uint32_t, uint32_t> position;  // by block
};

class Kernel : public machine::NativeKernel, public std::enable_shared_from_this<Kernel> {
 public:
  Kernel(const machine::Code& code, const Object& object);
  bool enters(uint32_t region) const override { return regions[region].native; }
  std::unique_ptr<machine::NativeRunner> runner(machine::BlockRun& owner) const override;

  const machine::Code& code;
  Executable loaded;
  std::vector<RegionWords> regions;
  std::vector<machine::Step> pure;   // on the scratch
  std::vector<machine::Step> steps;  // on the warp's slots
  std::vector<uint32_t> window;      // by step: the memory operation whose allocation it looks up
  std::vector<uint32_t> remembered;  // memory operations that remember accesses by all warps
  uint32_t memos = 0;
  std::vector<bool> any_nan;  // by register: its slot may hold any NaN, where the interpreter has one only
};

// Operand k of a computing step is at 512 k of the scratch, result k at 512 (4 + k).
inline constexpr std::size_t kOperand = 512, kResults = 4, kScratch = kOperand * 6;

// Loads `object`, made by compile() from an equal `code`. Null when the object is not one this build understands, or
// holds no code. `code` must live as long as what is returned.
std::shared_ptr<const machine::NativeKernel> load(const machine::Code& code, const Object& object);

}  // namespace coalesce::native
