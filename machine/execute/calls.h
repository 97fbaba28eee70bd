// Functions that device code calls and the machine provides: vprintf, malloc, free, __assertfail.
#pragma once

#include <map>
#include <mutex>

#include "machine/execute/warp.h"

namespace coalesce::machine {

Handler call_handler(Callee callee);

// The heap of kernels' malloc: one allocation, handed out first fit. Serialised; blocks take turns to use it, so that
// addresses do not depend on the number of threads.
class DeviceHeap {
 public:
  DeviceHeap(Memory& memory, uint64_t bytes) : memory_(memory), bytes_(bytes) {}
  bool resize(uint64_t bytes);        // false: too late, its memory is reserved
  void prepare();                     // reserves the heap's memory; before a launch whose kernel may use it
  uint64_t allocate(uint64_t bytes);  // 0: exhausted
  bool release(uint64_t address);     // false: no live block begins there

 private:
  Memory& memory_;
  uint64_t bytes_, base_ = 0;
  std::map<uint64_t, uint64_t> used_, free_;  // address -> bytes
};

}  // namespace coalesce::machine
