#include "tool/present/html_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tool/figures/banks.h"

namespace coalesce::tool {
namespace {

constexpr uint32_t kLeft = 64, kBank = 24, kRow = 20, kHead = 18, kWidth = kLeft + 32 * kBank;
constexpr uint32_t kByte = 32 * kBank / 128;

std::string times(uint64_t n, const char* one, const char* many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

std::string lanes_named(const std::vector<uint32_t>& lanes) {
  return (lanes.size() == 1 ? "lane " : "lanes ") + lane_list(lanes);
}

// The text in a box of `width` units: the lanes, or their number if the list has no room.
std::string label(const std::vector<uint32_t>& lanes, uint32_t width) {
  constexpr uint32_t kLetter = 6;
  std::string list = lane_list(lanes);
  if (list.size() * kLetter <= width) return list;
  const std::string many = std::to_string(lanes.size());
  return (many.size() + 1) * kLetter <= width ? "\u00d7" + many : "";
}

std::string svg(uint32_t height, const std::string& summary, const char* corner, const std::string& body) {
  return fmt::format(
      R"(<svg class="picture" viewBox="0 0 {} {}" role="img" aria-label="{}"><text class="r" x="{}" y="12">{}</text>{}</svg>)",
      kWidth, height, summary, kLeft - 6, corner, body);
}

// The bytes of one 128-byte line that lanes ask for, and the lanes of each.
using Runs = std::map<uint32_t, std::vector<uint32_t>>;

}  // namespace

std::string lane_list(const std::vector<uint32_t>& lanes) {
  std::string text;
  for (std::size_t i = 0; i < lanes.size();) {
    std::size_t j = i;
    while (j + 1 < lanes.size() && lanes[j + 1] == lanes[j] + 1) ++j;
    text += (text.empty() ? "" : " ") + std::to_string(lanes[i]) + (j > i ? "-" + std::to_string(lanes[j]) : "");
    i = j + 1;
  }
  return text;
}

std::string bank_summary(const BankQuestion& question) {
  const machine::SharedCost cost = question.cost();
  std::string text = times(cost.wavefronts, "wavefront", "wavefronts");
  if (cost.wavefronts == cost.ideal) return text + ": free of bank conflicts.";
  text += fmt::format(" where {} would do without bank conflicts.", cost.ideal);
  const auto pad = question.freeing_pad();
  if (!pad) return text + " No padding up to 64 elements frees it.";
  if (*pad == 0) return text + " Without padding it is free.";
  return text + " Padding of " + times(*pad, "element", "elements") + " after every stride frees it.";
}

std::string bank_svg(const BankQuestion& question) {
  const std::vector<SeatGroup> groups = seat_banks(question.addresses(), question.width, question.lanes, question.kind);
  uint32_t y = kHead;
  std::string body;
  for (uint32_t b = 0; b < kBanks; ++b) {
    body += fmt::format(R"(<text class="k" x="{}" y="12">{}</text>)", kLeft + b * kBank + kBank / 2, b);
  }
  for (const SeatGroup& group : groups) {
    for (uint32_t p = 0; p < group.passes; ++p) {
      body += fmt::format(R"(<text class="r" x="{}" y="{}">pass {}</text>)", kLeft - 6, y + p * kRow + 14, p + 1);
      for (uint32_t b = 0; b < kBanks; ++b) {
        body += fmt::format(R"(<rect class="e" x="{}" y="{}" width="{}" height="{}"/>)", kLeft + b * kBank + 1,
                            y + p * kRow + 1, kBank - 2, kRow - 2);
      }
    }
    for (const BankSeat& s : group.seats) {
      const uint32_t x = kLeft + s.bank * kBank, width = s.span * kBank, top = y + s.pass * kRow;
      const std::string banks =
          s.span == 1 ? fmt::format("bank {}", s.bank) : fmt::format("banks {}-{}", s.bank, s.bank + s.span - 1);
      body += fmt::format(
          R"(<g class="{}"><title>{}: byte {}, {}</title><rect x="{}" y="{}" width="{}" height="{}" rx="2"/>)"
          R"(<text x="{}" y="{}">{}</text></g>)",
          s.pass ? "c" : "f", lanes_named(s.lanes), s.word * s.span * kBankBytes, banks, x + 1, top + 1, width - 2,
          kRow - 2, x + width / 2, top + 14, label(s.lanes, width));
    }
    y += group.passes * kRow;
    if (groups.size() > 1) {
      body +=
          fmt::format(R"(<text class="k l" x="{}" y="{}">lanes {}-{}</text>)", kLeft, y + 11, group.first, group.last);
      y += 18;
    }
  }
  return svg(y + 2, bank_summary(question), "bank", body);
}

std::string sector_summary(const SectorQuestion& question) {
  alignas(64) const std::array<uint64_t, 32> address = question.addresses();
  const machine::GlobalCost cost = machine::global_cost(address.data(), ~0u, question.width);
  return fmt::format("{} in {}: {} of {} bytes moved were asked for ({} %).", times(cost.sectors, "sector", "sectors"),
                     times(cost.lines, "line", "lines"), cost.bytes, cost.sectors * 32,
                     cost.bytes * 100 / (cost.sectors * 32));
}

std::string sector_svg(const SectorQuestion& question) {
  std::map<uint64_t, Runs> lines;
  const std::array<uint64_t, 32> address = question.addresses();
  for (uint32_t lane = 0; lane < 32; ++lane) {
    lines[address[lane] / 128][static_cast<uint32_t>(address[lane] % 128)].push_back(lane);
  }
  uint32_t y = kHead;
  std::string body;
  for (uint32_t s = 0; s < 4; ++s) {
    body += fmt::format(R"(<text class="k" x="{}" y="12">bytes {}-{}</text>)", kLeft + s * 32 * kByte + 16 * kByte,
                        s * 32, s * 32 + 31);
  }
  std::optional<uint64_t> before;
  for (const auto& [line, runs] : lines) {
    if (before && line != *before + 1) {
      body += fmt::format("<text class=\"k\" x=\"{}\" y=\"{}\">\u22ef</text>", kLeft + 64 * kByte, y + 7);
      y += 12;
    }
    before = line;
    body += fmt::format(R"(<text class="r" x="{}" y="{}">+{}</text>)", kLeft - 6, y + 14, line * 128);
    for (uint32_t s = 0; s < 4; ++s) {
      const bool moved = std::any_of(runs.begin(), runs.end(), [s](const auto& run) { return run.first / 32 == s; });
      body += fmt::format(R"(<rect class="{}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>)",
                          moved ? "w" : "e", kLeft + s * 32 * kByte + 1, y + 1, 32 * kByte - 2, kRow - 2,
                          moved ? "moved" : "not moved");
    }
    for (const auto& [byte, lanes] : runs) {
      const uint32_t x = kLeft + byte * kByte, width = question.width * kByte;
      body +=
          fmt::format(R"(<g class="f"><title>{}: byte {}</title><rect x="{}" y="{}" width="{}" height="{}" rx="1"/>)"
                      R"(<text x="{}" y="{}">{}</text></g>)",
                      lanes_named(lanes), line * 128 + byte, x + 1, y + 3, width - 2, kRow - 6, x + width / 2, y + 14,
                      label(lanes, width));
    }
    y += kRow;
  }
  return svg(y + 2, sector_summary(question), "line", body);
}

}  // namespace coalesce::tool
