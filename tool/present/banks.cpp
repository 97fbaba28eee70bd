#include "tool/present/banks.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "tool/present/terminal.h"

namespace coalesce::tool {
namespace {

constexpr uint32_t kLanes = 32;
constexpr std::size_t kMostLines = 8;  // of one group's picture

constexpr std::size_t kAllBanks = 100;  // columns

void print_group(std::ostream& out, const BankGroup& group, uint32_t first, uint32_t last, bool colour) {
  const std::size_t passes = group.passes(), shown = std::min(passes, kMostLines);
  for (std::size_t pass = 0; pass < shown; ++pass) {
    out << fmt::format("{:>2} │", pass + 1);
    for (uint32_t bank = first; bank < last; ++bank) {
      const auto& seats = group.banks[bank];
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

void print_banks(std::ostream& out, const BankPicture& picture, bool colour, std::size_t width) {
  const BankAccess& a = picture.access;
  out << fmt::format("Lane l loads {} at byte {} l{}; the number in a bank's seat is the lane's.\n",
                     plural(a.width, "byte"), (a.stride + a.pad) * a.width,
                     a.lanes < kLanes ? fmt::format(", l < {}", a.lanes) : "");
  const uint32_t across = width < kAllBanks ? kBanks / 2 : kBanks;
  bool shared = false;
  for (uint32_t first = 0; first < kBanks; first += across) {
    std::string heading = "bank";
    for (uint32_t bank = first; bank < first + across; ++bank) heading += fmt::format("{:>2} ", bank);
    heading.pop_back();
    out << styled(heading, Style::dim, colour) << '\n';
    for (const BankGroup& group : picture.groups) {
      if (&group != &picture.groups.front()) out << styled("then", Style::dim, colour) << '\n';
      print_group(out, group, first, first + across, colour);
      for (const auto& seats : group.banks)
        for (const Seat& seat : seats) shared |= seat.lanes.size() > 1;
    }
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

}  // namespace coalesce::tool
