// Reductions over some axes of one array: a result for each index of the others.
#pragma once

#include <vector>

#include "reduce/array.h"
#include "reduce/operation.h"

namespace coalesce::reduce {

struct AxesResult {
  std::vector<uint64_t> extents;             // of the axes that are left, in their order
  std::vector<std::vector<Result>> results;  // [operation][row-major index over those axes]
};

// `axes` count from 0, negative ones from the end. Positions are row-major over the reduced axes. Throws
// std::runtime_error for an axis that the array has not, or has twice in the list.
AxesResult reduce_axes(const Array& array, const std::vector<int64_t>& axes, const std::vector<Operation>& operations,
                       unsigned threads);

}  // namespace coalesce::reduce
