// The state of the thread block that is looked at, which the parts of BlockCheck share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "machine/check/agents.h"
#include "machine/check/launch_check.h"
#include "machine/execute/warp.h"

namespace coalesce::machine {

struct BlockState;

// One lane's access, or several lanes' to bytes in a row.
struct Target {
  AddressSpace space = AddressSpace::global;
  uint32_t warp = 0, lane = 0;
  uint64_t address = 0;        // in its space
  uint64_t at = 0;             // in the shadow
  Written* written = nullptr;  // null: begins with a content
  Cells* cells = nullptr;      // null: nobody else reaches it
  std::byte* host = nullptr;
  const Allocation* allocation = nullptr;  // global memory
  BlockState* home = nullptr;              // shared memory: whose
  uint32_t as = 0;                         // the bit of the accessor's lane
  const AccessRule* rule = nullptr;        // null: the instruction's
  AccessId first = 0, id = 0;              // ids before `first` are of accesses long ago
  uint32_t epoch = 0;                      // of the cells
};

struct BlockState {
  explicit BlockState(LaunchCheck& launch);
  void begin(uint64_t of_block);

  AccessId id_of(const Access& a, uint32_t warp);
  // The accesses that the agent's lane does for a thread by an instruction, between two waits for it.
  AccessId agent_id(Agent who, uint32_t lane, uint32_t instruction, uint32_t asked_by);
  AgentLane& agent(Agent who, uint32_t lane) { return agents[static_cast<std::size_t>(who)][lane % kLanes]; }
  std::optional<Agent> agent_of(const AccessRecord& r) const {
    return machine::agent_of(r, static_cast<uint32_t>(warps.size()));
  }
  // Clocks of warps, of agents, and of what warps have stored before a fence.proxy.async, by space.
  std::size_t clocks() const { return warps.size() * (check.kernel.agents ? 3 : 1) + check.kernel.agents; }
  uint32_t fenced_warp(AddressSpace space, uint32_t warp) const {
    return static_cast<uint32_t>(warps.size()) * (space == AddressSpace::global ? 2 : 1) + kAgents + warp;
  }
  uint32_t windows() const { return static_cast<uint32_t>(check.program().memory.size()); }
  // Another block of the cluster accesses this one's shared memory, which has to be there still.
  void note_visit(const Access& a, const Target& t, const BlockState& by);
  void check_visits() const;  // when the block ends
  Seen seen(Hazard hazard, const Access& a, const Target& t) const;
  Seen seen(Hazard hazard, uint32_t instruction, uint32_t warp, uint32_t lane) const;

  LaunchCheck& check;
  uint64_t block = 0;
  bool running = false;
  struct Ids {
    Clock clock = 0;
    AccessId id = 0;
  };
  struct WarpState {
    WarpView view;
    std::vector<Ids> ids;  // by memory operation
    bool waited = false;   // for the launches before (griddepcontrol.wait), or behind a barrier for a warp that has
  };
  std::vector<WarpState> warps;
  std::array<std::array<AgentLane, kLanes>, kAgents> agents;

  // Shared memory; local memory.
  AccessId first = 0;  // older ids come before all
  uint32_t epoch = 0;  // counts blocks: of the cells
  Cells cells;
  Written shared_written, local_written;
  Carried shared_carried, local_carried;
  Handovers places;
  std::unordered_map<uint64_t, Changer> changers;
  struct Visit {  // another block's last access of it, by an instruction of a lane
    Clock clock = 0;
    Seen seen;
  };
  std::map<std::tuple<uint32_t, uint64_t, uint32_t>, Visit> visits;  // instruction, block, thread
};

inline uint64_t address_of(const Access& a, const Warp& w, uint32_t lane) {
  const uint32_t at = a.shape == AddressShape::vector ? lane : 0;
  const uint64_t base = a.address_is_64 ? w.at<uint64_t>(a.address)[at] : w.at<uint32_t>(a.address)[at];
  const uint64_t step = a.shape == AddressShape::contiguous ? a.bytes : a.shape == AddressShape::strided ? a.stride : 0;
  return base + lane * step + static_cast<uint64_t>(a.offset);
}

// Finds what accesses touch.
class Locator {
 public:
  explicit Locator(BlockState& s) : s_(s), windows_(s.windows() + 1) {}
  // False: it has no target (the access itself reports that), or nothing can go wrong there.
  bool find(const Access& a, const Warp& w, uint64_t address, uint64_t bytes, Target& t);
  // Whether the access lies in the array or allocation that its address was made of.
  bool within(const Access& a, const Target& t, uint64_t bytes) const;
  // Notes what the launch has touched of global memory.
  void touch(const Access& a, const Target& t, uint32_t bytes);

 private:
  BlockState& s_;
  struct Window {
    const Allocation* known = nullptr;
    bool only_read = false;
  };
  std::vector<Window> windows_;  // by memory operation; the last: of bulk copies
};

}  // namespace coalesce::machine
