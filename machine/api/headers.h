// The room's headers that most of its files include: precompiled once for all of them.
#pragma once

#include "machine/api/state.h"
#include "machine/execute/block.h"
#include "machine/execute/calls.h"
#include "machine/execute/cluster.h"
#include "machine/execute/launch.h"
#include "machine/execute/memory_ops.h"
#include "machine/observe/traffic.h"
#include "machine/plain/decoder.h"
#include "machine/plain/run.h"
#include "machine/program/uses.h"
#include "machine/ptx/parser.h"
#include "machine/time/estimator.h"
#include "machine/time/sources.h"
#if defined(__AVX2__)
#include <immintrin.h>  // longer than all of ours
#endif
