// The results of `coalesce reduce` as a table, as JSON (schema coalesce.reduce/1), as .npy.
#pragma once

#include <string>
#include <vector>

#include "reduce/axes.h"
#include "reduce/checkpoint.h"

namespace coalesce::tool {

struct Reduction {
  const coalesce::reduce::Identity& identity;
  coalesce::reduce::Element element;
  const coalesce::reduce::State* state;
  const std::vector<coalesce::reduce::Operation>& operations;
};

// To standard output; `json` names a file for JSON, or "-" for JSON in place of the table. Throws Error.
void present_reduction(const Reduction& reduction, const std::string& json, bool colour);

struct AxesReduction {
  const std::string& path;
  coalesce::reduce::Element element;
  const std::vector<coalesce::reduce::Operation>& operations;
};
void present_axes(const AxesReduction& reduction, const coalesce::reduce::AxesResult& result, const std::string& json,
                  bool colour);

// float64, or int64 where all results are whole numbers. Throws Error for whole numbers of more than 64 bits and for
// results of nothing.
void write_npy(const std::string& path, const std::vector<uint64_t>& extents,
               const std::vector<coalesce::reduce::Result>& results);

}  // namespace coalesce::tool
