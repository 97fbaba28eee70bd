// Operations of a warp's lanes together, and the special registers with a thread's number and place.
#include <chrono>

#include "machine/plain/run.h"

namespace coalesce::machine::plain {

namespace {

// Lanes at one instruction may name different companions; calls `body` for each group that names the same ones.
template <class Body>
void each_group(const Warp& w, const Op& op, uint32_t on, Body body) {
  if (!op.names_lanes) return body(on);
  for (uint32_t left = on; left;) {
    const uint64_t mask = value(w, op.in.back(), first_lane(left)) & 0xffffffff;
    uint32_t group = 0;
    for (uint32_t l = 0; l < kLanes; ++l)
      if ((left >> l & 1) && (value(w, op.in.back(), l) & 0xffffffff) == mask) group |= 1u << l;
    left &= ~group;
    body(group);
  }
}

constexpr std::string_view kNames[kSpecials] = {"%tid.x",
                                                "%tid.y",
                                                "%tid.z",
                                                "%ntid.x",
                                                "%ntid.y",
                                                "%ntid.z",
                                                "%ctaid.x",
                                                "%ctaid.y",
                                                "%ctaid.z",
                                                "%nctaid.x",
                                                "%nctaid.y",
                                                "%nctaid.z",
                                                "%laneid",
                                                "%warpid",
                                                "%nwarpid",
                                                "%smid",
                                                "%nsmid",
                                                "%gridid",
                                                "%lanemask_eq",
                                                "%lanemask_le",
                                                "%lanemask_lt",
                                                "%lanemask_ge",
                                                "%lanemask_gt",
                                                "%dynamic_smem_size",
                                                "%total_smem_size",
                                                "%envreg1",
                                                "%envreg2",
                                                "%current_graph_exec",
                                                "%clock64",
                                                "%clock_hi",
                                                "%globaltimer",
                                                "%globaltimer_hi",
                                                "%clusterid.x",
                                                "%clusterid.y",
                                                "%clusterid.z",
                                                "%nclusterid.x",
                                                "%nclusterid.y",
                                                "%nclusterid.z",
                                                "%cluster_ctaid.x",
                                                "%cluster_ctaid.y",
                                                "%cluster_ctaid.z",
                                                "%cluster_nctaid.x",
                                                "%cluster_nctaid.y",
                                                "%cluster_nctaid.z",
                                                "%cluster_ctarank",
                                                "%cluster_nctarank"};

}  // namespace

int special_index(std::string_view name) {
  if (name == "%aggr_smem_size") return kTotalSmem;
  if (name == "%clock") return kClock;
  if (name == "%globaltimer_lo") return kTime;
  for (int k = 0; k < kSpecials; ++k)
    if (kNames[k] == name) return k;
  return -1;
}

void fill_specials(Warp& w) {
  const Launch& launch = *w.grid->launch;
  const auto& b = launch.block;
  w.specials.assign(std::size_t{kSpecials} * kLanes, 0);
  for (uint32_t l = 0; l < kLanes; ++l) {
    const uint64_t t = uint64_t{w.index} * kLanes + l;
    const auto set = [&](Special s, uint64_t v) { w.specials[static_cast<std::size_t>(s) * kLanes + l] = v; };
    const auto set_three = [&](Special s, const std::array<uint32_t, 3>& v) {
      for (int k = 0; k < 3; ++k) set(static_cast<Special>(s + k), v[static_cast<std::size_t>(k)]);
    };
    set(kTidX, t % b[0]);
    set(kTidY, t / b[0] % b[1]);
    set(kTidZ, t / b[0] / b[1]);
    set_three(kNtidX, b);
    set_three(kCtaidX, w.block->coordinates);
    set_three(kNctaidX, launch.grid);
    set(kLaneid, l);
    set(kWarpid, w.index);
    set(kNwarpid, launch.device->threads_per_multiprocessor / kLanes);
    set(kSmid, w.block->number % std::max(1u, launch.device->multiprocessors));
    set(kNsmid, launch.device->multiprocessors);
    set(kMaskEq, 1u << l);
    set(kMaskLe, static_cast<uint32_t>((uint64_t{2} << l) - 1));
    set(kMaskLt, (1u << l) - 1);
    set(kMaskGe, ~((1u << l) - 1));
    set(kMaskGt, static_cast<uint32_t>(~((uint64_t{2} << l) - 1)));
    set(kDynamicSmem, launch.dynamic_shared_bytes);
    set(kTotalSmem, w.grid->shared_bytes);
    set(kEnvreg1, launch.grid_workspace >> 32);
    set(kEnvreg2, launch.grid_workspace & 0xffffffff);
    set(kCurrentGraph, launch.graph);
    std::array<uint32_t, 3> id{}, grid{}, within{};
    for (std::size_t k = 0; k < 3; ++k) {
      id[k] = w.block->coordinates[k] / launch.cluster[k];
      grid[k] = launch.grid[k] / launch.cluster[k];
      within[k] = w.block->coordinates[k] % launch.cluster[k];
    }
    set_three(kClusterIdX, id);
    set_three(kNclusterIdX, grid);
    set_three(kClusterCtaX, within);
    set_three(kClusterNctaX, launch.cluster);
    set(kClusterRank, within[0] + launch.cluster[0] * (within[1] + launch.cluster[1] * within[2]));
    set(kClusterBlocks, volume(launch.cluster));
  }
}

// %clock counts instructions: the machine knows no time. %globaltimer is the host's clock in nanoseconds.
void fill_clock(Warp& w) {
  const uint64_t clock = 16 * w.block->executed;
  const auto time = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
  const auto set = [&](Special s, uint64_t v) {
    for (uint32_t l = 0; l < kLanes; ++l) w.specials[static_cast<std::size_t>(s) * kLanes + l] = v;
  };
  set(kClock, clock);
  set(kClockHigh, clock >> 32);
  set(kTime, time);
  set(kTimeHigh, time >> 32);
}

// shfl: lane l reads from lane j of its segment; where j is outside it reads itself.
void run_shuffle(Warp& w, Frame& f, const Op& op, uint32_t on) {
  Lanes given{};
  uint32_t valid = 0;
  for (uint32_t l = 0; l < kLanes; ++l) {
    const auto by = static_cast<int>(value(w, op.in[1], l) & 31);
    const auto bounds = static_cast<uint32_t>(value(w, op.in[2], l));
    const uint32_t segment = bounds >> 8 & 31, clamp = bounds & 31;
    const auto lane = static_cast<int>(l), low = static_cast<int>(l & segment),
               high = static_cast<int>((l & segment) | (clamp & ~segment));
    int j = lane;
    bool inside = false;
    switch (op.mode) {
      case 0:  // up
        j = lane - by;
        inside = j >= high;
        break;
      case 1:  // down
        j = lane + by;
        inside = j <= high;
        break;
      case 2:  // bfly
        j = lane ^ by;
        inside = j <= high;
        break;
      default:  // idx
        j = low | (by & ~static_cast<int>(segment));
        inside = j <= high;
    }
    given[l] = value(w, op.in[0], inside ? static_cast<uint32_t>(j) & 31 : l);
    valid |= uint32_t{inside} << l;
  }
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (!(on >> l & 1)) continue;
    put(f, op.out[0], l, given[l], 4);
    put_predicate(f, op.out[1], l, valid >> l & 1);
  }
}

void run_vote(Warp& w, Frame& f, const Op& op, uint32_t on) {
  Lanes given{};
  each_group(w, op, on, [&](uint32_t group) {
    uint32_t yes = 0;
    for (uint32_t l = 0; l < kLanes; ++l)
      if (group >> l & 1) yes |= static_cast<uint32_t>(value(w, op.in[0], l)) << l;
    const bool all = yes == group, any = yes != 0;
    const uint64_t v = op.mode == 0 ? yes : op.mode == 1 ? all : op.mode == 2 ? any : all || !any;
    for (uint32_t l = 0; l < kLanes; ++l)
      if (group >> l & 1) given[l] = v;
  });
  for (uint32_t l = 0; l < kLanes; ++l)
    if (on >> l & 1) put(f, op.out[0], l, given[l], op.mode == 0 ? 4 : 0);
}

void run_active_mask(Warp&, Frame& f, const Op& op, uint32_t on) {
  for (uint32_t l = 0; l < kLanes; ++l)
    if (on >> l & 1) put(f, op.out[0], l, on, 4);
}

void run_match(Warp& w, Frame& f, const Op& op, uint32_t on) {
  Lanes mask{};
  uint32_t everywhere = 0;
  const uint64_t cut = op.written->mnemonic.ends_with("64") ? ~uint64_t{0} : 0xffffffff;
  each_group(w, op, on, [&](uint32_t group) {
    for (uint32_t l = 0; l < kLanes; ++l) {
      if (!(group >> l & 1)) continue;
      uint32_t equal = 0;
      for (uint32_t k = 0; k < kLanes; ++k)
        if ((group >> k & 1) && ((value(w, op.in[0], k) ^ value(w, op.in[0], l)) & cut) == 0) equal |= 1u << k;
      const bool same = equal == group;
      mask[l] = op.mode ? (same ? group : 0) : equal;
      everywhere |= uint32_t{same} << l;
    }
  });
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (!(on >> l & 1)) continue;
    put(f, op.out[0], l, mask[l], 4);
    put_predicate(f, op.out[1], l, everywhere >> l & 1);
  }
}

void run_redux(Warp& w, Frame& f, const Op& op, uint32_t on) {
  Lanes given{};
  const unsigned what = op.mode & 7;
  const bool is_signed = op.mode & 8;
  each_group(w, op, on, [&](uint32_t group) {
    auto r = static_cast<uint32_t>(value(w, op.in[0], first_lane(group)));
    for (uint32_t l = first_lane(group) + 1; l < kLanes; ++l) {
      if (!(group >> l & 1)) continue;
      const auto v = static_cast<uint32_t>(value(w, op.in[0], l));
      const bool less = is_signed ? static_cast<int32_t>(v) < static_cast<int32_t>(r) : v < r;
      switch (what) {
        case 0:
          r += v;
          break;
        case 1:
          r = less ? v : r;
          break;
        case 2:
          r = less ? r : v;
          break;
        case 3:
          r &= v;
          break;
        case 4:
          r |= v;
          break;
        default:
          r ^= v;
      }
    }
    for (uint32_t l = 0; l < kLanes; ++l)
      if (group >> l & 1) given[l] = r;
  });
  for (uint32_t l = 0; l < kLanes; ++l)
    if (on >> l & 1) put(f, op.out[0], l, given[l], 4);
}

void run_elect(Warp& w, Frame& f, const Op& op, uint32_t on) {
  Lanes leader{};
  each_group(w, op, on, [&](uint32_t group) {
    for (uint32_t l = 0; l < kLanes; ++l)
      if (group >> l & 1) leader[l] = first_lane(group);
  });
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (!(on >> l & 1)) continue;
    put(f, op.out[0], l, leader[l], 4);
    put_predicate(f, op.out[1], l, leader[l] == l);
  }
}

}  // namespace coalesce::machine::plain
