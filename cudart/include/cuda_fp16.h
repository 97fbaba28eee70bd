#pragma once
#include "coalesce_cuda/plain_names_away.h"
#ifdef __CUDA__
#include "coalesce_cuda/half.h"
#include "cuda_runtime.h"
#endif
#include "coalesce_cuda/plain_names_back.h"
