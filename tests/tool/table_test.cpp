#include "tool/present/table.h"

#include <gmock/gmock.h>

#include <sstream>

#include "tests/tool/fixture.h"
#include "tool/command/lab.h"
#include "tool/present/lab.h"
#include "tool/present/summary.h"

namespace coalesce::tool {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Terminal, Numbers) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(16777216), "16,777,216");
  EXPECT_EQ(compact(9999), "9999");
  EXPECT_EQ(compact(10000), "10.0k");
  EXPECT_EQ(compact(16777216), "16.8M");
  EXPECT_EQ(compact(99949), "99.9k");
  EXPECT_EQ(compact(99950), "100k");
  EXPECT_EQ(compact(999499), "999k");
  EXPECT_EQ(compact(999500), "1.00M");
  EXPECT_EQ(compact(UINT64_MAX), "18.4E");
  for (uint64_t value = 1; value < UINT64_MAX / 3; value = value * 3 + 1) EXPECT_LE(compact(value).size(), 5u) << value;
}

TEST(Terminal, Width) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("é…"), 2u);
  EXPECT_EQ(display_width("核"), 2u);
  EXPECT_EQ(display_width("e\xcc\x81"), 1u) << "a combining accent takes no column";
  EXPECT_EQ(display_width("\xff\xc3"), 2u) << "bytes that are no UTF-8";
}

TEST(Terminal, Fit) {
  EXPECT_EQ(fit("abcdef", 6), "abcdef");
  EXPECT_EQ(fit("abcdefgh", 5), "ab…gh");
  for (std::size_t columns = 0; columns < 20; ++columns)
    EXPECT_LE(display_width(fit("a核b核c核d核e核f核", columns)), columns);
}

TEST(Table, AlignsAndDropsEmptyColumns) {
  Table table({{.title = "name", .left = true}, {.title = "n"}, {.title = "unused", .optional = true}});
  table.row({{"é"}, {"1"}, {}});
  table.row({{"long name"}, {}, {}});
  std::ostringstream out;
  table.print(out, false);
  EXPECT_EQ(out.str(), "name       n\né          1\nlong name  -\n");
}

TEST(Table, LongNamesGetALineOfTheirOwn) {
  Table table({{.title = "name", .left = true}, {.title = "n"}});
  table.row({{std::string(30, 'x')}, {"1"}});
  table.row({{"y"}, {"2"}});
  std::ostringstream out;
  table.print(out, false, 20);
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 20u) << line;
  EXPECT_THAT(out.str(), HasSubstr("\n      1\ny     2\n"));
}

TEST(Table, TooWideLosesSpareColumnsFirst) {
  Table table({{.title = "name", .left = true},
               {.title = "aaaa", .spare = 1},
               {.title = "bbbb", .spare = 2},
               {.title = "cccc"}});
  table.row({{"x"}, {"1"}, {"2"}, {"3"}});
  std::ostringstream wide, narrow, narrower;
  table.print(wide, false, 22);
  table.print(narrow, false, 21);
  table.print(narrower, false, 10);
  EXPECT_EQ(wide.str(), "name  aaaa  bbbb  cccc\nx        1     2     3\n");
  EXPECT_EQ(narrow.str(), "name  aaaa  cccc\nx        1     3\n");
  EXPECT_EQ(narrower.str(), "name  cccc\nx        3\n");
}

TEST(Table, CsvQuotes) {
  EXPECT_EQ(csv_record({"", "a,b", "say \"x\"", "two\nlines"}), ",\"a,b\",\"say \"\"x\"\"\",\"two\nlines\"\n");
}

Record widest() {
  Values values;
  for (const auto& row : machine::kCounterRows) values[std::string(row.name)] = 123'456'789;
  values["global_load_sectors"] = values["global_store_sectors"] = 3'950'617'248;  // 32 a request
  values["shared_load_wavefronts"] = 3'950'617'248;
  values["thread_instructions"] = 31ull * 123'456'789;
  return read_text(kHeader + kernel_text(0, "neighbored_global") +
                   kernel_text(1, "a_kernel_whose_name_is_longer_than_a_line_has_room_for_" + std::string(80, 'x')) +
                   launch_text(0, values) + launch_text(1, values));
}

// The widest row there can be still fits: every column filled, every figure at its longest.
TEST(Summary, FitsEightyColumns) {
  const Record record = widest();
  ASSERT_EQ(record.damage, "");
  std::ostringstream out;
  print_summary(out, record, {});
  std::vector<Rung> ladder = rungs(record, "neighbored_global 1 ok\n");
  EXPECT_EQ(ladder[0].result, Rung::Result::right);
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line) && !line.empty();)
    EXPECT_LE(display_width(line), kTableWidth) << line;
}

TEST(Summary, ColourOnlyWhenAsked) {
  std::ostringstream plain, coloured;
  print_summary(plain, widest(), {});
  print_summary(coloured, widest(), {.colour = true, .beside = {}});
  EXPECT_THAT(plain.str(), Not(HasSubstr("\x1b")));
  EXPECT_THAT(coloured.str(), HasSubstr("\x1b[31m"));
}

TEST(Lab, ResultsComeFromWhatTheExperimentPrints) {
  const Record record = read_text(kHeader + kernel_text(0, "sum") + kernel_text(1, "sum_fast") +
                                  kernel_text(2, "_Z4tilyILi4EEvv") + kernel_text(3, "_Z4tilyILi8EEvv") +
                                  launch_text(0, {}) + launch_text(1, {}) + launch_text(2, {}) + launch_text(3, {}));
  const auto ladder = rungs(record, "sum_fast   12  ok\n  sum 12 wrong: the CPU says 13\ntily<8> ok\n");
  ASSERT_EQ(ladder.size(), 4u);
  EXPECT_EQ(ladder[0].result, Rung::Result::wrong);
  EXPECT_EQ(ladder[1].result, Rung::Result::right);
  EXPECT_EQ(ladder[2].name, "tily<4>") << "one template, two rungs";
  EXPECT_EQ(ladder[2].result, Rung::Result::unknown);
  EXPECT_EQ(ladder[3].result, Rung::Result::right);
}

TEST(Lab, ComparesWithTheBest) {
  std::vector<Rung> ladder(4);
  for (std::size_t i = 0; i < 4; ++i) {
    ladder[i].name = std::string(1, static_cast<char>('a' + i));
    ladder[i].counters.global_load_sectors = std::vector<uint64_t>{79, 50, 20, 10}[i];
  }
  std::ostringstream out;
  print_comparisons(out, compare(ladder), false);
  EXPECT_EQ(out.str(), "d moves\n     7.90 times fewer sectors than a\n     2.00 times fewer sectors than c\n");
  ladder[3].result = Rung::Result::wrong;
  const auto right = compare(ladder);
  ASSERT_EQ(right.size(), 2u) << "what is wrong is not the best";
  EXPECT_EQ(right[0].rung, "c");
  EXPECT_TRUE(compare({}).empty());
}

}  // namespace
}  // namespace coalesce::tool
