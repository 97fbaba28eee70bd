// Tells a kernel that only waits from one that works. A launch ends before the call that makes it returns: a kernel
// that waits for the host's next statement, or for another stream, never ends, and its user has to be told.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "machine/tally/tally.h"

namespace coalesce::machine {

struct Launch;

// One executor's. A stretch of time counts as polling when all basic blocks executed in it load what others may write,
// or compute, and none stores, reduces, meets a barrier, calls or exits.
class PollWatch {
 public:
  using Clock = std::chrono::steady_clock;

  explicit PollWatch(Launch& launch) : launch_(launch) {}
  ~PollWatch() { set_polling(false); }
  PollWatch(const PollWatch&) = delete;
  PollWatch& operator=(const PollWatch&) = delete;

  // Called often; looks at the clock now and then. Returns the instruction that polls once every executor of the launch
  // has polled, waited for its turn or ended for as long as Launch::polling_limit; once a launch. kNone: nothing to
  // say.
  uint32_t look(const Tally& tally);
  // The same at each call, for a clock that shows `now`.
  uint32_t look_at(Clock::time_point now, const Tally& tally);

 private:
  void set_polling(bool polling);
  uint32_t polled_instruction(const Tally& tally) const;

  Launch& launch_;
  uint32_t calls_ = 0;
  uint32_t stretches_ = 0;  // of polling, in a row
  bool polling_ = false;    // counted in Launch::polling
  Clock::time_point since_ = Clock::now();
  std::vector<uint64_t> executions_;  // per basic block, at `since_`
};

}  // namespace coalesce::machine
