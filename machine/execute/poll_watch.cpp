#include "machine/execute/poll_watch.h"

#include <algorithm>

#include "machine/execute/warp.h"

namespace coalesce::machine {
namespace {

constexpr uint32_t kCallsPerLook = 16;  // a look at the clock takes as long as ten instructions
constexpr uint32_t kStretches = 50;     // that make up Launch::polling_limit
constexpr uint32_t kFewStretches = 2;   // after which Launch::waits is called

bool polls(const Decoded& p, const Instruction& i) {
  if (i.memory == kNone) return false;
  const MemoryOp& m = p.memory[i.memory];
  return i.kind == Kind::load ? m.is_volatile : i.kind == Kind::atomic && m.returns;
}

// True if a loop with this instruction may make progress by itself.
bool acts(const Decoded& p, const Instruction& i) {
  switch (i.kind) {
    case Kind::atomic:
      return !p.memory[i.memory].returns;
    case Kind::store:
    case Kind::barrier:
    case Kind::call:
    case Kind::function_call:
    case Kind::exit:
    case Kind::clock:  // a loop that watches the clock ends
      return true;
    default:
      return false;
  }
}

}  // namespace

void PollWatch::set_polling(bool polling) {
  if (polling == polling_) return;
  polling_ = polling;
  polling ? launch_.polling.fetch_add(1) : launch_.polling.fetch_sub(1);
}

// kNone: something else than polling was done since executions_ was noted.
uint32_t PollWatch::polled_instruction(const Tally& tally) const {
  const Decoded& p = *launch_.program;
  uint32_t polled = kNone;
  for (uint32_t b = 0; b < p.blocks.size(); ++b) {
    if (tally.executions[b] == executions_[b]) continue;
    for (uint32_t k = p.blocks[b].first; k < p.blocks[b].last; ++k) {
      if (acts(p, p.code[k])) return kNone;
      if (polled == kNone && polls(p, p.code[k])) polled = k;
    }
  }
  return polled;
}

uint32_t PollWatch::look(const Tally& tally) {
  return ++calls_ % kCallsPerLook == 0 ? look_at(Clock::now(), tally) : kNone;
}

uint32_t PollWatch::look_at(Clock::time_point now, const Tally& tally) {
  const std::chrono::nanoseconds stretch = std::chrono::nanoseconds(launch_.polling_limit) / kStretches;
  if (now - since_ < stretch) return kNone;
  // One look alone never tells: the system may have stopped this thread between its last read and now, and what it
  // waits for may have come since.
  const auto passed = static_cast<uint32_t>(std::min<int64_t>((now - since_) / stretch, kStretches - 1));
  const uint32_t polled = executions_.empty() ? kNone : polled_instruction(tally);
  since_ = now;
  executions_.assign(tally.executions, tally.executions + launch_.program->blocks.size());
  set_polling(polled != kNone);
  const bool all = launch_.polling.load() + launch_.waiting_for_turn.load() >= launch_.executors.load();
  const uint32_t before = stretches_;
  stretches_ = polled != kNone && all ? stretches_ + passed : 0;
  if (launch_.waits && before < kFewStretches && stretches_ >= kFewStretches) (*launch_.waits)();
  if (stretches_ < kStretches || launch_.said_polling.exchange(true)) return kNone;
  return polled;
}

}  // namespace coalesce::machine
