// coalesce::workspace is memory for the partial results of a call.
#pragma once

#include <coalesce/types/workspace.cuh>
