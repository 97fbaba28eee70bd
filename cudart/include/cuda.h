// The driver interface is not offered; this is what programs over the runtime take from its header.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "coalesce_cuda/plain_names_away.h"
#define CUDA_VERSION 12050
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st* CUcontext;
typedef struct CUmod_st* CUmodule;
typedef struct CUfunc_st* CUfunction;
typedef struct CUstream_st* CUstream;
typedef struct CUevent_st* CUevent;
#include "coalesce_cuda/plain_names_back.h"
