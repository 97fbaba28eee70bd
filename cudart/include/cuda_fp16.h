#pragma once
#ifdef __CUDA__
#include "coalesce_cuda/half.h"
#include "cuda_runtime.h"
#endif
