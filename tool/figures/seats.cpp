#include "tool/figures/seats.h"

#include <algorithm>

#include "tool/figures/banks.h"

namespace coalesce::tool {
namespace {

constexpr uint32_t kPassBytes = kBanks * kBankBytes;

}  // namespace

machine::SharedCost BankQuestion::cost() const {
  alignas(64) const std::array<uint32_t, 32> address = addresses();
  const uint32_t mask = ~0u >> (32 - lanes);
  switch (kind) {
    case SharedAccess::load:
      return machine::shared_load_cost(address.data(), mask, width);
    case SharedAccess::store:
      return machine::shared_store_cost(address.data(), mask, width);
    case SharedAccess::atomic:
      return machine::shared_atomic_cost(address.data(), mask, width);
  }
  return {};
}

std::optional<uint32_t> BankQuestion::freeing_pad() const {
  BankQuestion question = *this;
  for (question.pad = 0; question.pad <= kMostPad; ++question.pad) {
    const machine::SharedCost cost = question.cost();
    if (cost.wavefronts == cost.ideal) return question.pad;
  }
  return std::nullopt;
}

std::array<uint32_t, 32> BankQuestion::addresses() const {
  std::array<uint32_t, 32> address{};
  for (uint32_t lane = 0; lane < 32; ++lane) {
    address[lane] = lane * (stride + pad) * width;
  }
  return address;
}

std::array<uint64_t, 32> SectorQuestion::addresses() const {
  std::array<uint64_t, 32> address{};
  for (uint32_t lane = 0; lane < 32; ++lane) address[lane] = (uint64_t{offset} + uint64_t{lane} * stride) * width;
  return address;
}

std::vector<SeatGroup> seat_banks(const std::array<uint32_t, 32>& address, uint32_t width, uint32_t lanes,
                                  SharedAccess kind) {
  uint32_t size = width <= kBankBytes ? 32 : std::max(kPassBytes / width, 4u);
  const auto alike = [&](uint32_t flip) {
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      if ((lane ^ flip) < lanes && address[lane] != address[lane ^ flip]) return false;
    }
    return true;
  };
  if (kind == SharedAccess::load && size < 32 && (alike(1) || alike(2))) size *= 2;
  const uint32_t unit = std::max(width, kBankBytes), span = unit / kBankBytes;
  std::vector<SeatGroup> groups;
  for (uint32_t first = 0; first < lanes; first += size) {
    SeatGroup group{first, std::min(first + size, lanes) - 1, 0, {}};
    std::array<uint32_t, kBanks> taken{};
    for (uint32_t lane = first; lane <= group.last; ++lane) {
      const uint32_t word = address[lane] / unit, bank = word * span % kBanks;
      const auto same =
          std::find_if(group.seats.begin(), group.seats.end(), [&](const BankSeat& s) { return s.word == word; });
      if (kind != SharedAccess::atomic && same != group.seats.end()) {
        same->lanes.push_back(lane);
      } else {
        group.seats.push_back({word, bank, span, taken[bank]++, {lane}});
        group.passes = std::max(group.passes, taken[bank]);
      }
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace coalesce::tool
