// Functions that device code calls and the machine provides: vprintf, malloc, free, __assertfail.
#pragma once

#include <functional>
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

  // For `check`. From now on blocks lie apart, and what is freed is not given again before all is.
  void keep_apart() { gap_ = 64; }
  // `at` was given to that instruction of the code.
  void note_maker(uint64_t at, const Code& code, uint32_t instruction);
  std::vector<Diagnostic> leaks() const;  // what is not freed, by instruction
  struct Block {
    uint64_t base = 0, bytes = 0;  // as asked for; 0: none
    bool live = false;
  };
  bool holds(uint64_t address) const { return base_ != 0 && address - base_ < bytes_; }
  Block around(uint64_t address) const;                         // the block that lies there or last before
  std::function<void(uint64_t address, uint64_t bytes)> given;  // told of each block that is given; may be null

 private:
  Memory& memory_;
  uint64_t bytes_, base_ = 0;
  uint64_t take(uint64_t bytes);
  void give_back(uint64_t at, uint64_t bytes);
  uint64_t gap_ = 0;
  std::map<uint64_t, uint64_t> used_, free_;                          // address -> bytes
  std::map<uint64_t, uint64_t> freed_;                                // kept back: address -> bytes
  std::map<uint64_t, uint64_t> asked_;                                // with a gap: address -> bytes
  std::map<uint64_t, std::pair<uint64_t, uint32_t>> makers_;          // address -> code's id, instruction
  std::map<std::pair<uint64_t, uint32_t>, Diagnostic> maker_places_;  // where those instructions are
};

}  // namespace coalesce::machine
