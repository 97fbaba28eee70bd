// `coalesce reduce`: exact sums, statistics and positions of the numbers in files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tool/present/terminal.h"

namespace coalesce::tool {

struct ReduceOptions {
  std::vector<std::string> files;
  std::string operations = "stats";
  std::string axes;                      // "0", "0,-1"; empty: all elements
  std::string type;                      // of raw files
  uint64_t skip = 0;                     // bytes ahead of a raw file's elements
  std::string column, separator = ",";   // of CSV files
  std::string missing = "error";         // empty fields: error, skip
  unsigned threads = 0;                  // 0: all cores
  std::string json, output, checkpoint;  // files
  std::string part;                      // "2/8"
  bool resume = false, merge = false;
  Colour colour = Colour::automatic;
};

// The whole subcommand; the exit code. Throws Error.
int reduce(const ReduceOptions& options);

}  // namespace coalesce::tool
