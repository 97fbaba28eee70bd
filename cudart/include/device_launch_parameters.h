#pragma once
#ifdef __CUDA__
#include "coalesce_cuda/builtins.h"
#endif
