#include "tool/banks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tool/terminal.h"

namespace coalesce::tool {
namespace {

constexpr uint32_t kLanes = 32, kBanks = 32, kMostPad = 64;
constexpr std::size_t kMostLines = 8;  // of one group's picture

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

void print_group(std::ostream& out, const BankGroup& group, bool colour) {
  const std::size_t passes = group.passes(), shown = std::min(passes, kMostLines);
  for (std::size_t pass = 0; pass < shown; ++pass) {
    out << fmt::format("{:>2} │", pass + 1);
    for (const auto& seats : group.banks) {
      if (pass < seats.size()) {
        const Style style = seats.size() > 1 ? Style::bad : Style::good;
        const std::string lane = fmt::format("{:>2}", seats[pass].lanes.front());
        out << styled(lane, style, colour);
      } else {
        out << " ·";
      }
      out << "│";
    }
    out << '\n';
  }
  if (shown < passes)
    out << fmt::format("   … and {} more\n",
                       passes - shown == 1 ? "1 pass" : std::to_string(passes - shown) + " passes");
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

void print_banks(std::ostream& out, const BankPicture& picture, bool colour) {
  const BankAccess& a = picture.access;
  out << fmt::format("Lane l loads {} at byte {} l{}; the number in a bank's seat is the lane's.\n",
                     plural(a.width, "byte"), (a.stride + a.pad) * a.width,
                     a.lanes < kLanes ? fmt::format(", l < {}", a.lanes) : "");
  std::string heading = "bank";
  for (uint32_t bank = 0; bank < kBanks; ++bank) heading += fmt::format("{:>2} ", bank);
  heading.pop_back();
  out << styled(heading, Style::dim, colour) << '\n';
  bool shared = false;
  for (const BankGroup& group : picture.groups) {
    if (&group != &picture.groups.front()) out << styled("then", Style::dim, colour) << '\n';
    print_group(out, group, colour);
    for (const auto& seats : group.banks)
      for (const Seat& seat : seats) shared |= seat.lanes.size() > 1;
  }
  if (shared) out << "Lanes that share a word share a seat, which shows the first of them.\n";

  const uint32_t conflicts = picture.load.wavefronts - picture.load.ideal;
  out << plural(picture.load.wavefronts, "wavefront") << ", "
      << (conflicts ? styled(fmt::format("{} of them due to conflicts", conflicts), Style::bad, colour)
                    : styled("no conflict", Style::good, colour));
  if (picture.store.wavefronts != picture.load.wavefronts) out << "; a store takes " << picture.store.wavefronts;
  out << '\n';
  if (!conflicts) return;
  if (picture.free_pad) {
    out << fmt::format("--pad {} frees it: rows of {} elements instead of {}.\n", *picture.free_pad,
                       a.stride + *picture.free_pad, a.stride + a.pad);
  } else {
    out << "No padding up to " << kMostPad << " frees it.\n";
  }
}

std::string banks_json(const BankPicture& picture) {
  using Json = nlohmann::ordered_json;
  const BankAccess& a = picture.access;
  Json groups = Json::array();
  for (const BankGroup& group : picture.groups) {
    Json banks = Json::array();
    for (uint32_t bank = 0; bank < kBanks; ++bank) {
      if (group.banks[bank].empty()) continue;
      Json words = Json::array();
      for (const Seat& seat : group.banks[bank]) words.push_back({{"word", seat.word}, {"lanes", seat.lanes}});
      banks.push_back({{"bank", bank}, {"words", words}});
    }
    groups.push_back({{"passes", group.passes()}, {"banks", banks}});
  }
  const Json document = {{"schema", "coalesce.banks/1"},
                         {"stride", a.stride},
                         {"width", a.width},
                         {"pad", a.pad},
                         {"lanes", a.lanes},
                         {"load", {{"wavefronts", picture.load.wavefronts}, {"ideal", picture.load.ideal}}},
                         {"store", {{"wavefronts", picture.store.wavefronts}, {"ideal", picture.store.ideal}}},
                         {"conflict_free_pad", picture.free_pad ? Json(*picture.free_pad) : Json()},
                         {"groups", groups}};
  return document.dump() + "\n";
}

int banks(const BankOptions& options) {
  const BankPicture picture = bank_picture({options.stride, options.width, options.pad, options.lanes});
  if (options.json) {
    std::cout << banks_json(picture);
  } else {
    print_banks(std::cout, picture, use_colour(options.colour, STDOUT_FILENO));
  }
  return 0;
}

}  // namespace coalesce::tool
