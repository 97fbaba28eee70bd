// The element type that a benchmark of this library is built for: -DTYPE=half (default: float).
#pragma once

#include <cuda_fp16.h>

#include <coalesce/status.cuh>
#include <cstdio>
#include <cstdlib>

#ifndef TYPE
#define TYPE float
#endif
#define WORD(x) #x
#define TEXT(x) WORD(x)

using int8 = signed char;
using half = __half;
using T = TYPE;

// Ends the program where a call failed.
inline void right(const coalesce::status& s) {
  if (s) return;
  std::fprintf(stderr, "error: %s\n", s.message());
  std::exit(1);
}
