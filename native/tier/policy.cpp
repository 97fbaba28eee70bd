#include "native/tier/policy.h"

#include <algorithm>

#include "machine/execute/launch.h"

namespace coalesce::native {

namespace {

// The interpreter executes some 200 million warp instructions a second with one thread. A probe of the cache takes
// about 1 ms, a compilation 0.3 to 4 ms for each instruction of the kernel.
constexpr uint64_t kProbe = 1'000'000;
constexpr uint64_t kCompile = 16'000'000;   // still to execute in this launch, for each thread
constexpr uint64_t kPays = 3'000'000;       // the same, for each instruction of the kernel: 15 ms of the interpreter's
constexpr uint64_t kRepeated = 20'000'000;  // executed by launches that have ended: more of them will come

}  // namespace

Progress progress_of(const machine::Launch& launch, uint64_t earlier) {
  return {.earlier = earlier,
          .executed = launch.instructions.load(std::memory_order_relaxed),
          .done = launch.done.load(std::memory_order_relaxed),
          .blocks = launch.blocks,
          .warps_per_block = launch.warps_per_block,
          .threads = launch.positions.size(),
          .code_size = launch.program->code.size()};
}

double remaining_work(const Progress& p) {
  const double a_block = p.done > 0 && p.executed > 0
                             ? static_cast<double>(p.executed) / static_cast<double>(p.done)
                             : static_cast<double>(p.warps_per_block) * static_cast<double>(p.code_size);
  return a_block * static_cast<double>(p.blocks - std::min(p.done, p.blocks));
}

bool is_worth_a_probe(const Progress& p) { return remaining_work(p) >= kProbe || p.earlier + p.executed >= kProbe; }

Priority priority_of(const Progress& p, bool wanted_before) {
  const bool known = p.done > 0;
  const double each = remaining_work(p) / static_cast<double>(p.threads);
  if (p.earlier >= kRepeated || (known && each >= static_cast<double>(kPays) * static_cast<double>(p.code_size)))
    return Priority::foreground;
  const bool enough = p.earlier + p.executed >= kRepeated || (known && each >= static_cast<double>(kCompile));
  return !enough ? Priority::none : wanted_before ? Priority::foreground : Priority::background;
}

}  // namespace coalesce::native
