// The computing instructions against what an NVIDIA H200 gave: tests/truth/operations.txt, a sample of the measurement
// that docs/results/agreement.md describes. Equal bits, or for approximate functions the documented error.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "tests/machine/isa/operations.h"
#include "tests/machine/isa/operations_error.h"

namespace coalesce::machine::operations {
namespace {

Raw number(const std::string& text) {
  Raw v = 0;
  for (const char c : text) v = v << 4 | static_cast<Raw>(c <= '9' ? c - '0' : c - 'a' + 10);
  return v;
}

TEST(OpsTruth, RowsGiveWhatTheCardGave) {
  std::map<std::string, Subject> by_name;
  for (const Subject& s : subjects())
    by_name.emplace(std::string(s.op->mnemonic) + "=" + std::to_string(s.immediate), s);
  std::ifstream file(std::string(COALESCE_SOURCE_DIR) + "/tests/truth/operations.txt");
  ASSERT_TRUE(file.good());
  uint32_t every = 0;
  size_t rows = 0, vectors = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string key;
    words >> key;
    if (key == "every") {
      words >> every;
      continue;
    }
    ASSERT_GT(every, 0u);
    const auto found = by_name.find(key);
    ASSERT_NE(found, by_name.end()) << key;
    const Subject& s = found->second;
    ++rows;
    uint32_t i = static_cast<uint32_t>(s.op->mnemonic.size()) % every;
    for (std::string cell; words >> cell; i += every, ++vectors) {
      const size_t colon = cell.find(':');
      const Raw want[2] = {number(cell.substr(0, colon)), colon == cell.npos ? 0 : number(cell.substr(colon + 1))};
      const Outcome o = evaluate(s, i);
      if (o.out[0] == want[0] && o.out[1] == want[1]) continue;
      const Judgement j = judge(*s.op, o.in, o.out[0], want[0]);
      EXPECT_TRUE(j.within || j.undefined)
          << key << " vector " << i << std::hex << ": operands " << static_cast<uint64_t>(o.in[0]) << " "
          << static_cast<uint64_t>(o.in[1]) << " " << static_cast<uint64_t>(o.in[2]) << " gave "
          << static_cast<uint64_t>(o.out[0]) << ", the card " << cell;
    }
  }
  EXPECT_GE(rows, 3000u);
  EXPECT_GE(vectors, 20 * rows);
}

}  // namespace
}  // namespace coalesce::machine::operations
