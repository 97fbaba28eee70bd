#pragma once
#include "coalesce_cuda/plain_names_away.h"
#ifdef __CUDA__
#include "coalesce_cuda/builtins.h"
#endif
#include "coalesce_cuda/plain_names_back.h"
