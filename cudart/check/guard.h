// The host's accesses of memory that pending work uses, seen by taking the right to it away: a page that work writes
// allows nothing, one that it reads allows reads. The fault names the access. An access of other bytes of the page is
// stepped over; after a race the page stays open until the next call.
//
// A system call that touches a closed page fails with EFAULT. Of large allocations only pages that work uses as a whole
// are closed, so no correct program makes such a call there.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

namespace coalesce::cudart {

class Guard {
 public:
  enum class Want : uint8_t { open, read_only, closed };
  // Called under the lock, for an access by the host; `at`: the instruction. True: it is a race.
  using Access = std::function<bool(uint64_t address, bool writes)>;
  Guard(std::mutex& lock, Access access);
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  void protect(std::map<uint64_t, Want> pages);  // by address / 4096
  void open();

 private:
  friend struct GuardSignals;
  enum class Answer : uint8_t { foreign, again, step };
  Answer fault(uint64_t address, bool writes);
  void close_again(uint64_t page);

  std::mutex& lock_;
  Access access_;
  std::map<uint64_t, Want> pages_;
  uint64_t steps_ = 0;  // since the last call
};

// This thread is in a call of the runtime's and may hold the lock.
class Inside {
 public:
  Inside();
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

}  // namespace coalesce::cudart
