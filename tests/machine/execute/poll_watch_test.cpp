// The watch on kernels that poll, by a clock that the test sets: when it tells, how often, and after one late look.
#include "machine/execute/poll_watch.h"

#include <gtest/gtest.h>

#include "machine/execute/warp.h"

namespace coalesce::machine::test {
namespace {

using std::chrono::milliseconds;

// A program of two basic blocks: a volatile load, a store.
Decoded load_and_store() {
  Decoded p;
  p.memory.resize(1);
  p.memory[0].is_volatile = true;
  p.code.resize(2);
  p.code[0].kind = Kind::load;
  p.code[0].memory = 0;
  p.code[1].kind = Kind::store;
  p.blocks.resize(2);
  p.blocks[0].first = 0;
  p.blocks[0].last = p.blocks[1].first = 1;
  p.blocks[1].last = 2;
  return p;
}

// The program's launch, executed by one thread of the host.
class Watched {
 public:
  Watched() {
    launch_.program = &program_;
    launch_.polling_limit = milliseconds(5000);
    launch_.executors = 1;
  }

  // The watch's answer `passed` after its last look, in which that basic block was executed.
  uint32_t look_after(milliseconds passed, uint32_t executed) {
    ++tally_.executions[executed];
    now_ += passed;
    return watch_.look_at(now_, tally_);
  }

 private:
  Decoded program_ = load_and_store();
  Launch launch_;
  PollWatch watch_{launch_};
  Tally tally_{program_};
  PollWatch::Clock::time_point now_ = PollWatch::Clock::now() + std::chrono::hours(1);
};

constexpr uint32_t kPollingBlock = 0, kStoringBlock = 1;

TEST(PollWatches, NameTheLoadOnceWhenNothingElseWasDoneForTheWholeLimit) {
  Watched w;
  EXPECT_EQ(w.look_after(milliseconds(0), kPollingBlock), kNone) << "the first look has nothing to compare with";
  for (unsigned i = 1; i < 50; ++i) ASSERT_EQ(w.look_after(milliseconds(100), kPollingBlock), kNone) << i;
  EXPECT_EQ(w.look_after(milliseconds(100), kPollingBlock), 0u);
  for (unsigned i = 0; i < 100; ++i) ASSERT_EQ(w.look_after(milliseconds(100), kPollingBlock), kNone) << i;
}

TEST(PollWatches, SayNothingAtOneLateLook) {
  Watched w;
  w.look_after(milliseconds(0), kPollingBlock);
  EXPECT_EQ(w.look_after(std::chrono::hours(1), kPollingBlock), kNone);
  EXPECT_EQ(w.look_after(milliseconds(100), kPollingBlock), 0u) << "still polling at the next look";

  Watched told;
  told.look_after(milliseconds(0), kPollingBlock);
  EXPECT_EQ(told.look_after(std::chrono::hours(1), kPollingBlock), kNone);
  EXPECT_EQ(told.look_after(milliseconds(100), kStoringBlock), kNone) << "what it waited for has come";
}

TEST(PollWatches, BeginAnewWhenTheKernelStores) {
  Watched w;
  w.look_after(milliseconds(0), kPollingBlock);
  for (unsigned i = 1; i < 50; ++i) ASSERT_EQ(w.look_after(milliseconds(100), kPollingBlock), kNone) << i;
  EXPECT_EQ(w.look_after(milliseconds(100), kStoringBlock), kNone);
  for (unsigned i = 1; i < 50; ++i) ASSERT_EQ(w.look_after(milliseconds(100), kPollingBlock), kNone) << i;
  EXPECT_EQ(w.look_after(milliseconds(100), kPollingBlock), 0u);
}

// Looks closer to each other than a fiftieth of the limit are none: a clock that stands still never tells.
TEST(PollWatches, AreNotHurriedByManyLooks) {
  Watched w;
  w.look_after(milliseconds(0), kPollingBlock);
  for (unsigned i = 0; i < 1000; ++i) ASSERT_EQ(w.look_after(milliseconds(0), kPollingBlock), kNone) << i;
}

}  // namespace
}  // namespace coalesce::machine::test
