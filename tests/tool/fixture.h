// Records made by hand, in the command's namespace.
#pragma once

#include "tests/record/fixture.h"
#include "tool/figures/record.h"

namespace coalesce::tool {

using record::counters_text;
using record::kEnd;
using record::kernel_text;
using record::kHeader;
using record::launch_text;
using record::read_text;
using record::Values;

}  // namespace coalesce::tool
