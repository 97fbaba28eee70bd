#pragma once
#ifdef __CUDA__
#include "coalesce_cuda/bfloat16.h"
#include "cuda_runtime.h"
#endif
