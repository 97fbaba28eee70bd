// The cost of an access, by the rules of docs/counters.md, from lists of addresses. Written to be read, not to be fast.
// `address`: of each lane; `on`: the lanes that take part; `bytes`: of one lane.
#pragma once

#include <unordered_map>

#include "machine/plain/code.h"

namespace coalesce::machine::plain {

// All sectors of global memory that a launch has touched.
class Touched {
 public:
  void add(uint64_t sector);
  uint64_t sectors() const { return count_; }

 private:
  static constexpr uint64_t kPage = 4096;  // sectors
  std::unordered_map<uint64_t, std::vector<bool>> pages_;
  uint64_t last_number_ = ~uint64_t{0};
  std::vector<bool>* last_ = nullptr;
  uint64_t count_ = 0;
};

void count_global(Access access, const MemoryForm& form, const Lanes& address, uint32_t on, Counters& counters,
                  Touched& touched);
void count_shared(Access access, const MemoryForm& form, const Lanes& address, uint32_t on, Counters& counters);
void count_local(Access access, const MemoryForm& form, const Lanes& address, uint32_t on, Counters& counters);
// A cp.async of all its bytes: a global load and a shared store whose costs depend on both sides.
void count_copy(bool past_l1, uint32_t bytes, const Lanes& from, const Lanes& to, uint32_t on, Counters& counters,
                Touched& touched);

}  // namespace coalesce::machine::plain
