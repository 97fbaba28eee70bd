// The HTML report: what comes from a program cannot become markup, figures are the counters', pictures are the
// machine's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "fixture.h"
#include "machine/observe/traffic.h"
#include "tool/command/banks.h"
#include "tool/figures/banks.h"
#include "tool/present/html_assets.h"
#include "tool/present/html_page.h"
#include "tool/present/html_pictures.h"
#include "tool/present/html_text.h"
#include "tool/present/report.h"
#include "tool/present/terminal.h"

namespace coalesce::tool {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Escape, MarkupAndBothQuotes) {
  EXPECT_EQ(escape("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(escape("tab\tline\nend"), "tab\tline\nend");
}

TEST(Escape, WhatIsNoUtf8OrNoCharacterIsReplaced) {
  const std::string no = "\xEF\xBF\xBD";
  EXPECT_EQ(escape("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"), "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(escape(std::string("a\0b\x1B\x7F", 5)), "a" + no + "b" + no + no);
  EXPECT_EQ(escape("\xE4x"), no + "x");                      // Latin-1
  EXPECT_EQ(escape("\xC0\xBC"), no + no);                    // `<` in two bytes
  EXPECT_EQ(escape("\xED\xA0\x80"), no + no + no);           // a surrogate
  EXPECT_EQ(escape("\xF4\x90\x80\x80"), no + no + no + no);  // above U+10FFFF
  EXPECT_EQ(escape("\xE2\x82"), no + no);                    // cut short
}

TEST(Escape, NoBytesWhateverMakeMarkup) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string text(random() % 40, ' ');
    for (char& c : text) c = static_cast<char>(random());
    const std::string out = escape(text);
    EXPECT_EQ(out.find_first_of("<>\"'"), std::string::npos);
    // The rest is valid: JSON accepts it.
    EXPECT_NO_THROW(static_cast<void>(nlohmann::json(out).dump()));
  }
}

TEST(Json, CannotEndItsElement) {
  const nlohmann::ordered_json value = {{"k</script>", "<!--<script>"}, {"bad", "\xFF"}};
  const std::string text = json_for_script(value);
  EXPECT_EQ(text.find('<'), std::string::npos);
  const auto back = nlohmann::ordered_json::parse(text);
  EXPECT_EQ(back["k</script>"], "<!--<script>");
  EXPECT_EQ(back["bad"], "\xEF\xBF\xBD");
}

TEST(Numbers, AreGroupedAndExact) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(Numbers, FiguresKeepTheirSignificantDigits) {
  EXPECT_EQ(figure(7.9412), "7.94");
  EXPECT_EQ(figure(0), "0");
  EXPECT_EQ(figure(4), "4");
  EXPECT_EQ(figure(100), "100");
  EXPECT_EQ(figure(12345.6), "12,346");
  EXPECT_EQ(figure(0.00012345), "0.000123");
  EXPECT_EQ(figure(-1.5), "-1.5");
  EXPECT_EQ(figure(8519682, 9), "8,519,682");
  EXPECT_EQ(figure(INFINITY), "-");
}

TEST(Ids, AreUniqueAndPlain) {
  Ids ids;
  EXPECT_EQ(ids.make("reduce<512u, int>"), "reduce-512u-int");
  EXPECT_EQ(ids.make("reduce 512u int"), "reduce-512u-int-2");
  EXPECT_EQ(ids.make(""), "x");
  EXPECT_EQ(ids.make("\"><script>"), "script");
}

machine::SharedCost cost(const std::array<uint32_t, 32>& address, uint32_t width, uint32_t lanes, SharedAccess kind) {
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

constexpr SharedAccess kKinds[] = {SharedAccess::load, SharedAccess::store, SharedAccess::atomic};

// Every lane has its seat, on the bank of its address, no two words in one seat, and the passes are the machine's.
void expect_seats(const std::array<uint32_t, 32>& address, uint32_t width, uint32_t lanes, SharedAccess kind) {
  uint32_t passes = 0;
  std::vector<uint32_t> seated;
  for (const SeatGroup& group : seat_banks(address, width, lanes, kind)) {
    passes += group.passes;
    std::set<std::pair<uint32_t, uint32_t>> places;
    for (const BankSeat& seat : group.seats) {
      EXPECT_LT(seat.pass, group.passes);
      for (uint32_t i = 0; i < seat.span; ++i) EXPECT_TRUE(places.insert({seat.pass, seat.bank + i}).second);
      for (const uint32_t lane : seat.lanes) {
        EXPECT_EQ(address[lane] / 4 % 32, seat.bank);
        seated.push_back(lane);
      }
    }
  }
  std::sort(seated.begin(), seated.end());
  ASSERT_EQ(seated.size(), lanes);
  for (uint32_t lane = 0; lane < lanes; ++lane) EXPECT_EQ(seated[lane], lane);
  EXPECT_EQ(passes, cost(address, width, lanes, kind).wavefronts);
}

TEST(BankPicture, PassesAreTheMachinesWavefronts) {
  for (const SharedAccess kind : kKinds) {
    for (const uint32_t width : {1u, 2u, 4u, 8u, 16u}) {
      for (uint32_t stride = 0; stride <= 66; ++stride) {
        for (const uint32_t lanes : {1u, 3u, 16u, 30u, 32u}) {
          expect_seats(BankQuestion{stride, width, stride % 3, lanes, kind}.addresses(), width, lanes, kind);
        }
      }
    }
  }
}

TEST(BankPicture, AlsoForAnyAddresses) {
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    const uint32_t width = 1u << random() % 5, range = 1u << random() % 10;
    std::array<uint32_t, 32> address{};
    for (uint32_t& a : address) a = random() % range * width;
    if (i % 3 == 0) {
      for (uint32_t lane = 0; lane < 32; ++lane) address[lane] = address[lane & ~(1u + i % 2)];
    }
    expect_seats(address, width, 1 + random() % 32, kKinds[i % 3]);
  }
}

TEST(BankPicture, SaysWhichPaddingFreesIt) {
  EXPECT_EQ(bank_summary({.stride = 1}), "1 wavefront: free of bank conflicts.");
  EXPECT_THAT(bank_summary({.stride = 32}), HasSubstr("32 wavefronts where 1 would do"));
  EXPECT_THAT(bank_summary({.stride = 32}), HasSubstr("Padding of 1 element after every stride frees it."));
  EXPECT_EQ(bank_summary({.stride = 32, .pad = 1}), "1 wavefront: free of bank conflicts.");
  EXPECT_THAT(bank_summary({.stride = 1, .width = 4, .pad = 0, .lanes = 32, .kind = SharedAccess::atomic}),
              HasSubstr("free"));
}

TEST(BankPicture, AgreesWithTheBanksCommand) {
  for (const uint32_t width : {1u, 2u, 4u, 8u, 16u}) {
    for (uint32_t stride = 0; stride <= 66; ++stride) {
      for (const uint32_t lanes : {32u, 20u}) {
        const BankPicture command = bank_picture({stride, width, 0, lanes});
        uint32_t passes = 0;
        for (const SeatGroup& group :
             seat_banks(BankQuestion{stride, width, 0, lanes}.addresses(), width, lanes, SharedAccess::load))
          passes += group.passes;
        EXPECT_EQ(passes, command.load.wavefronts);
        const std::string summary = bank_summary({stride, width, 0, lanes});
        if (command.free_pad && *command.free_pad) {
          EXPECT_THAT(summary, HasSubstr("Padding of " + std::to_string(*command.free_pad) + " element"));
        } else {
          EXPECT_THAT(summary, HasSubstr(command.free_pad ? "free of bank conflicts" : "No padding"));
        }
      }
    }
  }
}

TEST(SectorPicture, CountsAreTheMachines) {
  EXPECT_EQ(sector_summary({.stride = 1}), "4 sectors in 1 line: 128 of 128 bytes moved were asked for (100 %).");
  EXPECT_EQ(sector_summary({.stride = 1, .offset = 1}),
            "5 sectors in 2 lines: 128 of 160 bytes moved were asked for (80 %).");
  for (const uint32_t width : {1u, 2u, 4u, 8u, 16u}) {
    for (uint32_t stride = 0; stride <= 40; ++stride) {
      const SectorQuestion question{stride, stride % 7, width};
      const auto address = question.addresses();
      const std::string svg = sector_svg(question);
      std::size_t moved = 0;
      for (auto at = svg.find("<title>moved<"); at != std::string::npos; at = svg.find("<title>moved<", at + 1))
        ++moved;
      EXPECT_EQ(moved, machine::global_cost(address.data(), ~0u, width).sectors);
    }
  }
}

std::string report(const Record& record, const std::string& source = "") {
  std::ostringstream out;
  write_report(out, record, source);
  return out.str();
}

nlohmann::json data_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const auto from = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
}

// The page without what it embeds and without its data: what a reader without scripts gets.
std::string body_of(const std::string& page) {
  const auto from = page.find("<body>");
  return page.substr(from, page.find("<script type=\"application/json\"") - from);
}

TEST(Report, HostileNamesStayText) {
  const std::string bad = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\\u0022'";
  const Record record =
      read_text(std::string(kHeader) + kernel_text(0, bad) +
                launch_text(0, {{"instructions", 5}, {"global_load_sectors", 3}},
                            R"(,"lines":[["a<b>.cu",3,9,{"global_load_sectors":3,"global_load_requests":1}]])") +
                R"({"diagnostic":{"severity":"error","message":"<b>no</b>","file":"/x/<i>.cu","line":3}})"
                "\n" +
                kEnd);
  ASSERT_EQ(record.launches.size(), 1u);
  const std::string page = report(record);
  EXPECT_THAT(body_of(page), Not(HasSubstr("<script")));
  EXPECT_THAT(body_of(page), Not(HasSubstr("<img")));
  EXPECT_THAT(body_of(page), Not(HasSubstr("<b>no</b>")));
  EXPECT_THAT(body_of(page), HasSubstr("&lt;b&gt;no&lt;/b&gt;"));
  EXPECT_THAT(body_of(page), HasSubstr("a&lt;b&gt;.cu"));
  EXPECT_EQ(data_of(page)["pages"][0]["rungs"][0]["counters"]["global_load_sectors"], 3);
  EXPECT_NE(data_of(page)["pages"][0]["name"].get<std::string>().find("</script>"), std::string::npos);
}

TEST(Report, AsksForNothing) {
  const std::string page = report(read_text(std::string(kHeader) + kEnd));
  EXPECT_THAT(body_of(page), HasSubstr("No kernel was launched"));
  const std::string head = page.substr(0, page.find("<style>"));
  EXPECT_THAT(head, HasSubstr("default-src 'none'"));
  EXPECT_THAT(head, Not(HasSubstr("http:")));
  EXPECT_THAT(head, Not(HasSubstr("https:")));
  EXPECT_THAT(body_of(page), Not(HasSubstr("://")));
  EXPECT_EQ(std::string(report_style()).find("@import"), std::string::npos);
  EXPECT_EQ(std::string(report_style()).find("url("), std::string::npos);
}

TEST(Report, EmbedsWhatDistHolds) {
  const auto file = [](const char* name) {
    std::ifstream in(std::string(COALESCE_SOURCE_DIR) + "/report/dist/" + name);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  };
  EXPECT_GT(report_script().size(), 10000u);
  EXPECT_EQ(report_script(), file("report.js"));
  EXPECT_EQ(report_style(), file("report.css"));
}

TEST(Report, ShowsSourceWithCountsWhereItLies) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "coalesce_html_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "a.cu") << "one\ntwo\nthree < 3;\nfour\nfive\nsix\nseven\neight\nnine\nten\neleven\n";
  const Record record = read_text(
      std::string(kHeader) + kernel_text(0, "k") +
      launch_text(0, {{"global_load_sectors", 32000}},
                  R"(,"lines":[["/elsewhere/a.cu",3,9,{"global_load_sectors":32000,"global_load_requests":1000}],)"
                  R"(["/elsewhere/a.cu",11,12,{"instructions":7}],["/elsewhere/a.cu",99,12,{"instructions":7}]])") +
      kEnd);
  const std::string page = body_of(report(record, (folder / "a.cu").string()));
  EXPECT_THAT(page, HasSubstr("three &lt; <span class=\"n\">3</span>;"));
  EXPECT_THAT(page, HasSubstr("data-v=\"1024000\" title=\"1,024,000\">1.0 MB</td>"));  // 32,000 sectors of 32 bytes
  EXPECT_THAT(page, HasSubstr("id=\"k--k---a-cu-3\""));
  EXPECT_THAT(page, HasSubstr("href=\"#k--k---a-cu-3\">a.cu:3</a>"));  // the card leads to the line
  EXPECT_THAT(page, HasSubstr("eleven"));
  EXPECT_THAT(page, Not(HasSubstr(">seven<")));  // far from what was counted
  EXPECT_THAT(page, HasSubstr("class=\"gap\""));
  EXPECT_THAT(page, Not(HasSubstr("/elsewhere")));  // no path of this computer in a file to be passed on
  std::filesystem::remove_all(folder);
}

TEST(Report, ManyKernelsHaveAnOverviewAndAFewPages) {
  std::string text = kHeader;
  for (int k = 0; k < 100; ++k) {
    text += kernel_text(k, "k" + std::to_string(k));
    text += launch_text(k, {{"global_load_sectors", static_cast<uint64_t>(k)}, {"global_load_requests", 1}});
  }
  const std::string page = report(read_text(text + kEnd));
  const auto data = data_of(page);
  ASSERT_EQ(data["pages"].size(), kReportPages);
  EXPECT_EQ(data["pages"].back()["name"], "k99");
  EXPECT_EQ(data["pages"].front()["name"], "k40");
  EXPECT_THAT(body_of(page), HasSubstr(">k0</th>"));
  EXPECT_THAT(body_of(page), HasSubstr("Only the 60 kernels that moved most"));
}

TEST(Report, LabPageHasLadderComparisonsClaimsAndOrigin) {
  Experiment e;
  e.name = "reduce";
  e.title = "Adding up";
  e.device = {"h200", "NVIDIA H200", {9, 0}};
  for (const uint64_t sectors : {4000u, 500u}) {
    Rung rung;
    rung.name = sectors == 500 ? "fast" : "slow";
    rung.launches = 1;
    rung.counters.global_load_sectors = sectors;
    rung.counters.global_load_requests = 125;
    rung.counters.global_load_bytes_requested = 16000;
    rung.result = Rung::Result::right;
    rung.changed = "uses `float4` & <shared>";
    e.rungs.push_back(rung);
  }
  e.comparisons = {{"fast", "moves", "sectors", "slow", 8.0}};
  Claim claim;
  claim.text = "eight times fewer";
  claim.document = "A guide";
  claim.device = "P2000";
  claim.figure = 8.0;
  claim.value = 8.0;
  claim.verdict = Verdict::holds;
  e.claims = {claim};
  std::ostringstream out;
  write_report(out, {e});
  const std::string page = body_of(out.str());
  EXPECT_THAT(page, HasSubstr("<code>float4</code> &amp; &lt;shared&gt;"));
  EXPECT_THAT(page, HasSubstr("<b>fast</b> moves <b class=\"x\">8.00</b> times fewer sectors than slow"));
  EXPECT_THAT(page, HasSubstr("\u2713 holds"));
  EXPECT_THAT(page, HasSubstr("<b>counted</b> by the machine as NVIDIA H200 (compute capability 9.0), no GPU"));
  EXPECT_THAT(page, HasSubstr("data-v=\"8\" title=\"8\">8.0x</td>"));               // 4000 sectors for 16000 / 32
  EXPECT_THAT(page, HasSubstr("data-v=\"112000\" title=\"112,000\">112 kB</td>"));  // 3500 of them wasted
  const auto data = data_of(out.str());
  EXPECT_EQ(data["pages"][0]["rungs"][0]["wasted_sectors"], 3500);
  EXPECT_EQ(data["pages"][0]["claims"][0]["verdict"], "holds");
}

TEST(Report, IdsAreUnique) {
  const Record record =
      read_text(std::string(kHeader) + kernel_text(0, "banks") + kernel_text(1, "data") +
                kernel_text(2, "banks-figure") + launch_text(0, {}) + launch_text(1, {}) + launch_text(2, {}) + kEnd);
  const std::string page = report(record);
  std::set<std::string> seen;
  const std::string body = page.substr(0, page.rfind("<script>"));
  for (auto at = body.find(" id=\""); at != std::string::npos; at = body.find(" id=\"", at + 1)) {
    const std::string id = body.substr(at + 5, body.find('"', at + 5) - at - 5);
    EXPECT_TRUE(seen.insert(id).second) << id;
  }
  EXPECT_GT(seen.size(), 10u);
}

}  // namespace
}  // namespace coalesce::tool
