#include "tool/figures/banks.h"

#include <algorithm>

namespace coalesce::tool {
namespace {

constexpr uint32_t kLanes = 32;

struct Addresses {
  alignas(64) uint32_t of[kLanes] = {};
  uint32_t mask = 0;
};
Addresses addresses(const BankAccess& a) {
  Addresses result;
  for (uint32_t lane = 0; lane < kLanes; ++lane) result.of[lane] = lane * (a.stride + a.pad) * a.width;
  result.mask = a.lanes >= 32 ? ~0u : (1u << a.lanes) - 1;
  return result;
}

machine::SharedCost load_cost(const BankAccess& a) {
  const Addresses where = addresses(a);
  return machine::shared_load_cost(where.of, where.mask, a.width);
}

std::vector<BankGroup> groups_of(const BankAccess& a, uint32_t group_lanes) {
  std::vector<BankGroup> groups;
  const Addresses where = addresses(a);
  for (uint32_t first = 0; first < a.lanes; first += group_lanes) {
    BankGroup group;
    for (uint32_t lane = first; lane < std::min(first + group_lanes, a.lanes); ++lane) {
      for (uint32_t word = where.of[lane] / 4; word <= (where.of[lane] + a.width - 1) / 4; ++word) {
        auto& seats = group.banks[word % kBanks];
        auto seat = std::find_if(seats.begin(), seats.end(), [&](const Seat& s) { return s.word == word; });
        if (seat == seats.end()) seat = seats.insert(seats.end(), Seat{word, {}});
        seat->lanes.push_back(lane);
      }
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace

std::size_t BankGroup::passes() const {
  std::size_t most = 0;
  for (const auto& seats : banks) most = std::max(most, seats.size());
  return most;
}

BankPicture bank_picture(const BankAccess& access) {
  BankPicture picture;
  picture.access = access;
  const Addresses where = addresses(access);
  picture.load = machine::shared_load_cost(where.of, where.mask, access.width);
  picture.store = machine::shared_store_cost(where.of, where.mask, access.width);
  // The rule may serve groups together whose lanes agree (docs/counters.md): the picture takes the first grouping, from
  // the usual one on, that comes to the rule's count.
  for (uint32_t lanes = access.width <= 4 ? 32 : 128 / access.width; lanes <= kLanes; lanes *= 2) {
    picture.groups = groups_of(access, lanes);
    std::size_t passes = 0;
    for (const BankGroup& group : picture.groups) passes += group.passes();
    if (passes == picture.load.wavefronts) break;
  }
  for (uint32_t pad = 0; pad <= kMostPad && !picture.free_pad; ++pad) {
    const machine::SharedCost cost = load_cost({access.stride, access.width, pad, access.lanes});
    if (cost.wavefronts == cost.ideal) picture.free_pad = pad;
  }
  return picture;
}

}  // namespace coalesce::tool
