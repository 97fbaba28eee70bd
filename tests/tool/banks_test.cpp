// `coalesce banks`: the pictures agree with the machine's rule, whatever the access.
#include "tool/present/banks.h"

#include <gmock/gmock.h>

#include <sstream>

#include "tool/present/terminal.h"

namespace coalesce::tool {
namespace {

using testing::HasSubstr;

TEST(Banks, ThePictureHasAsManyPassesAsTheRuleHasWavefronts) {
  for (uint32_t width : {1, 2, 4, 8, 16}) {
    for (uint32_t stride = 0; stride <= 70; ++stride) {
      for (uint32_t lanes : {1, 2, 7, 8, 9, 16, 17, 31, 32}) {
        const BankPicture picture = bank_picture({stride, width, 0, lanes});
        std::size_t passes = 0, seated = 0;
        for (const BankGroup& group : picture.groups) {
          passes += group.passes();
          for (const auto& seats : group.banks)
            for (const Seat& seat : seats) seated += seat.lanes.size();
        }
        EXPECT_EQ(passes, picture.load.wavefronts) << stride << ' ' << width << ' ' << lanes;
        EXPECT_EQ(seated, lanes * std::max(width / 4, 1u)) << "every lane sits on each of its words";
      }
    }
  }
}

TEST(Banks, ThePaddingThatFreesIsTheLeast) {
  for (uint32_t width : {1, 2, 4, 8, 16}) {
    for (uint32_t stride = 0; stride <= 70; ++stride) {
      const BankPicture picture = bank_picture({stride, width, 0, 32});
      ASSERT_TRUE(picture.free_pad);
      for (uint32_t pad = 0; pad <= *picture.free_pad; ++pad) {
        const machine::SharedCost cost = bank_picture({stride, width, pad, 32}).load;
        EXPECT_EQ(cost.wavefronts == cost.ideal, pad == *picture.free_pad) << stride << ' ' << width << ' ' << pad;
      }
    }
  }
}

std::string drawn(const BankAccess& access, bool colour = false, std::size_t width = 100) {
  std::ostringstream out;
  print_banks(out, bank_picture(access), colour, width);
  return out.str();
}

TEST(Banks, Drawn) {
  EXPECT_THAT(drawn({32, 4, 0, 32}), HasSubstr("32 wavefronts, 31 of them due to conflicts"));
  EXPECT_THAT(drawn({32, 4, 0, 32}), HasSubstr("--pad 1 frees it: rows of 33 elements"));
  EXPECT_THAT(drawn({32, 4, 1, 32}), HasSubstr("1 wavefront, no conflict"));
  EXPECT_THAT(drawn({0, 4, 0, 32}), HasSubstr("share a seat"));
  EXPECT_THAT(drawn({8, 4, 0, 32}, true), HasSubstr("\x1b[31m"));
  for (uint32_t width : {1, 2, 4, 8, 16}) {
    std::istringstream lines(drawn({1000, width, 64, 32}));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 100u) << line;
  }
}

TEST(Banks, DrawnInHalvesWhereThereIsNoRoom) {
  const std::string text = drawn({2, 4, 0, 32}, false, 80);
  EXPECT_THAT(text, HasSubstr("\nbank 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15\n 1 │ 0│ ·│ 1│"));
  EXPECT_THAT(text, HasSubstr("\nbank16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31\n 1 │ 8│ ·│ 9│"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 80u) << line;
}

TEST(Banks, AsJson) {
  const std::string text = banks_json(bank_picture({2, 4, 0, 32}));
  EXPECT_THAT(text, HasSubstr(R"("load":{"wavefronts":2,"ideal":1})"));
  EXPECT_THAT(text, HasSubstr(R"("conflict_free_pad":1)"));
  EXPECT_THAT(text, HasSubstr(R"({"bank":0,"words":[{"word":0,"lanes":[0]},{"word":32,"lanes":[16]}]})"));
}

}  // namespace
}  // namespace coalesce::tool
