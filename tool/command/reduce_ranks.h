// `mpirun -np 4 coalesce reduce`: the parts of all ranks become one answer.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "reduce/checkpoint.h"
#include "tool/command/ranks.h"

namespace coalesce::tool {

// `part` reads this rank's part to its end. Returns the merged whole to rank 0, nothing to the others. Where a rank
// fails, is gone, or `asked` is not the same everywhere (operations, in words), every rank throws the same Error.
std::optional<coalesce::reduce::Checkpoint> reduce_over_ranks(
    const Ranks& ranks, const std::string& asked, const std::function<coalesce::reduce::Checkpoint()>& part);

}  // namespace coalesce::tool
