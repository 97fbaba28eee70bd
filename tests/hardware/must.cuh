// Calls of CUDA, NCCL and the library that must succeed: another one ends the program with its line.
#pragma once

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                   \
  do {                                                                                \
    if (const auto code = (call); static_cast<int>(code) != 0) {                      \
      std::printf("line %d: %s gives %d\n", __LINE__, #call, static_cast<int>(code)); \
      std::exit(1);                                                                   \
    }                                                                                 \
  } while (0)
#define OK(call)                                              \
  do {                                                        \
    if (const coalesce::status done = (call); !done) {        \
      std::printf("line %d: %s\n", __LINE__, done.message()); \
      std::exit(1);                                           \
    }                                                         \
  } while (0)
