// Conditions that must hold: a false one ends the program with its line.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(condition)                                                \
  do {                                                                  \
    if (!(condition)) {                                                 \
      std::printf("line %d: %s\n", __LINE__, #condition), std::exit(1); \
    }                                                                   \
  } while (false)
#define OK(call) CHECK((call) == cudaSuccess)
