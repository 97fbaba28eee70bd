// A run's report about its kernels: the verdict, the shading of lines, the source's colours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "fixture.h"
#include "tool/present/html_code.h"
#include "tool/present/html_text.h"
#include "tool/present/report.h"

namespace coalesce::tool {
namespace {

using testing::HasSubstr;
using testing::Not;

// The body of the report of one launch; `rest`: further members of it.
std::string run_of(const Values& counters, const std::string& rest = "") {
  const Record record = read_text(std::string(kHeader) + kernel_text(0, "k") + launch_text(0, counters, rest) + kEnd);
  std::ostringstream out;
  write_report(out, record, "");
  const std::string page = out.str();
  const auto from = page.find("<body>");
  return page.substr(from, page.find("<script type=\"application/json\"") - from);
}

TEST(Verdict, SaysWhatCanBeSavedOrThatNothingCan) {
  const std::string clean =
      (run_of({{"global_load_sectors", 4}, {"global_load_requests", 1}, {"global_load_bytes_requested", 128}}));
  EXPECT_THAT(clean, HasSubstr("<p class=\"verdict good\">Nothing to save.</p>"));
  const std::string wasteful =
      (run_of({{"global_load_sectors", 32}, {"global_load_requests", 1}, {"global_load_bytes_requested", 128}}));
  EXPECT_THAT(wasteful, Not(HasSubstr("Nothing to save")));
  EXPECT_THAT(wasteful,
              HasSubstr("1 place to improve; the largest saving is at the whole kernel: up to 896 B of 1.0 kB."));
  EXPECT_THAT(wasteful,
              HasSubstr("Loads move 8.0 times the bytes that they need (32.0 sectors a request, 4.0 would do)"));
}

TEST(Verdict, ShadesByWasteOnOneScale) {
  const auto line = [](int number, int sectors) {
    return "[\"a.cu\"," + std::to_string(number) +
           ",9,{\"global_load_requests\":1000,\"global_load_bytes_requested\":" + "128000,\"global_load_sectors\":" +
           std::to_string(sectors) + "}]";
  };
  const std::string page =
      (run_of({{"global_load_sectors", 52000}, {"global_load_requests", 3000}, {"global_load_bytes_requested", 384000}},
              ",\"lines\":[" + line(1, 32000) + "," + line(2, 16000) + "," + line(3, 4000) + "]"));
  EXPECT_THAT(page, HasSubstr("--h:1\""));     // 28,000 wasted
  EXPECT_THAT(page, HasSubstr("--h:0.43\""));  // 12,000
  EXPECT_THAT(page, Not(HasSubstr("--h:0\"")));
  EXPECT_THAT(page, HasSubstr("8.0x</td>"));
  EXPECT_THAT(page, HasSubstr("1.0x</td>"));
}

TEST(Verdict, SourceIsColouredAndStaysText) {
  const std::vector<std::string> lines =
      coloured({"__global__ void k(float* a) {  // <b>", "  a[0] = 1.5f; /* <i>",
                "\"still\" a comment */ char c = '\\'';", "#include <x>", "  auto t = \"// no comment\";"});
  EXPECT_EQ(lines[0],
            "<span class=\"b\">__global__</span> <span class=\"k\">void</span> k(<span class=\"k\">float</span>* a) {  "
            "<span class=\"c\">// &lt;b&gt;</span>");
  EXPECT_EQ(lines[1],
            "  a[<span class=\"n\">0</span>] = <span class=\"n\">1.5f</span>; <span class=\"c\">/* &lt;i&gt;</span>");
  EXPECT_EQ(lines[2],
            "<span class=\"c\">&quot;still&quot; a comment */</span> <span class=\"k\">char</span> c = <span "
            "class=\"s\">&#39;\\&#39;&#39;</span>;");
  EXPECT_EQ(lines[3], "<span class=\"p\">#include</span> &lt;x&gt;");
  EXPECT_EQ(lines[4], "  <span class=\"k\">auto</span> t = <span class=\"s\">&quot;// no comment&quot;</span>;");
  std::mt19937 random(3);
  for (int i = 0; i < 500; ++i) {
    std::string text(random() % 60, ' ');
    for (char& c : text) c = "ab0/*'\"<#. \\\xff"[random() % 13];
    const std::string out = coloured({text})[0];
    std::string plain;  // without the spans
    for (std::size_t at = 0; at < out.size();) {
      if (out[at] == '<') {
        at = out.find('>', at) + 1;
      } else {
        plain += out[at++];
      }
    }
    EXPECT_EQ(plain, escape(text));
  }
}

}  // namespace
}  // namespace coalesce::tool
