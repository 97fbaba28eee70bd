// The agents that access memory beside the threads that ask for it: bulk copies, as their mbarrier object or group
// says, and products of warp groups (wgmma). Each is a warp of its own to the rules, behind those of the block. Its
// lanes: of objects, by their address; of groups and products, one for each warp that asks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "machine/check/access_records.h"

namespace coalesce::machine {

enum class Agent : uint8_t { object_read, object_write, group_read, group_write, product };
inline constexpr uint32_t kAgents = 5;

// The words for what an agent may still be doing, and for the wait that ends it.
struct AgentText {
  const char *does, *wait;
};
inline constexpr std::array<AgentText, kAgents> kAgentTexts{{
    {"a bulk copy may still be reading", "a wait for the phase of its mbarrier object"},
    {"a bulk copy may still be writing", "a wait for the phase of its mbarrier object"},
    {"a bulk copy may still be reading", "cp.async.bulk.wait_group.read by the thread that copies"},
    {"a bulk copy may still be writing", "cp.async.bulk.wait_group by the thread that copies"},
    {"a wgmma may still be reading", "wgmma.wait_group by the warps that multiply"},
}};

// The agent that an access is of, in blocks of so many warps.
inline std::optional<Agent> agent_of(const AccessRecord& r, uint32_t warps) {
  return r.warp < warps ? std::nullopt : std::optional(static_cast<Agent>(r.warp - warps));
}

// A lane of an agent. Its clock counts the ends of what it does, which a thread may wait for.
struct AgentLane {
  uint32_t clock = 1;
  // The accesses that it has done last, for a thread by an instruction; 0: they are forgotten.
  AccessId id = 0;
  uint32_t id_clock = 0, instruction = 0, asked_by = 0;
};

}  // namespace coalesce::machine
