// The parts of a launch whose time is estimated.
#include <algorithm>

#include "machine/api/state.h"

namespace coalesce::machine {

namespace {

BlockNeeds needs_of(const Launch& launch) {
  // Addresses, and what ptxas keeps beside what is live: the fewest it gives a thread.
  constexpr uint32_t kFewest = 16, kMost = 255;
  return {.threads = launch.threads_per_block,
          .registers = launch.program->known_registers ? launch.program->known_registers
                                                       : std::clamp(launch.program->live_registers + 4, kFewest, kMost),
          .shared_bytes = launch.shared_bytes};
}

LineRanges host_lines(const Memory& memory) {
  LineRanges out;
  for (const auto& a : memory.all())
    if (a->live && a->origin == Origin::host) out.emplace_back(a->base / 128, (a->base + a->size + 127) / 128);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<TouchedRegion> touched_regions(const Memory& memory) {
  std::vector<TouchedRegion> out;
  for (const auto& a : memory.all()) {
    if (!a->live || !a->touched || a->origin == Origin::host) continue;
    const auto [sectors, halves] = Memory::touched(*a);
    if (sectors) out.push_back({a->base, a->base + a->size, sectors, halves});
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.base < b.base; });
  return out;
}

}  // namespace

std::unique_ptr<TimeTrace> Machine::State::begin_trace(const Launch& launch) {
  const Limits* const limits = find_limits(device.key);
  if (!limits) return nullptr;
  const Watched watched = blocks_to_watch(device, needs_of(launch), launch.blocks);
  return std::make_unique<TimeTrace>(*launch.program, *limits, watched, launch.warps_per_block,
                                     words_of_a_warp(watched, launch.warps_per_block), spare_trace_room);
}

std::shared_ptr<const TimeEstimate> Machine::State::no_estimate(std::string why) {
  auto e = std::make_shared<TimeEstimate>();
  e->none = std::move(why);
  return e;
}

std::shared_ptr<const TimeEstimate> Machine::State::estimate(const Launch& launch, const TimeTrace* trace,
                                                             const LaunchReport& report) {
  const auto none = no_estimate;
  const Limits* const limits = find_limits(device.key);
  if (!limits) return none("no limits of " + std::string(device.name) + " are known");
  if (report.fault != Fault::none) return none("it did not run to its end");
  if (launch.cooperative) return none("its blocks wait for each other");
  if (launch.waited) return none("its threads wait for others in a loop");
  const KernelFacts& kernel = kernel_facts.try_emplace(launch.code->id, *launch.program, *limits).first->second;
  if (launch.blocks > 1 && kernel.waits) return none("its blocks wait for words that others write");
  if (!launch.output.empty()) return none("it prints");
  if (!report.work.empty()) return none("it launches kernels");
  if (!trace) return none("it is looked at for hazards");
  for (const Instruction& i : launch.program->code)
    if (i.kind == Kind::call && static_cast<Callee>(i.mode) == Callee::malloc) return none("it allocates memory");
  const TimedLaunch timed{.program = *launch.program,
                          .kernel = kernel,
                          .device = device,
                          .limits = *limits,
                          .counters = report.counters,
                          .blocks = launch.blocks,
                          .needs = needs_of(launch),
                          .registers_known = launch.program->known_registers != 0,
                          .host = host_lines(memory),
                          .regions = touched_regions(memory)};
  return std::make_shared<TimeEstimate>(estimate_time(timed, *trace));
}

}  // namespace coalesce::machine
