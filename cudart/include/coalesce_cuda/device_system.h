// Functions of the runtime that kernels call: printf, malloc, free, assert. clang turns printf into vprintf.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qualifiers.h"

extern "C" {
__device__ int vprintf(const char* format, const char* arguments);
__device__ int printf(const char* format, ...);
__device__ void* malloc(size_t bytes) noexcept __attribute__((malloc));
__device__ void free(void* pointer) noexcept;
__device__ void __assertfail(const char* expression, const char* file, unsigned int line, const char* function,
                             size_t char_size) __attribute__((noreturn));
// The expansion of glibc's assert().
__device__ __attribute__((noreturn, weak)) inline void __assert_fail(const char* expression, const char* file,
                                                                     unsigned int line, const char* function) noexcept {
  __assertfail(expression, file, line, function, 1);
}
}

static __device__ inline void* memcpy(void* to, const void* from, size_t bytes) {
  return __builtin_memcpy(to, from, bytes);
}
static __device__ inline void* memmove(void* to, const void* from, size_t bytes) {
  return __builtin_memmove(to, from, bytes);
}
static __device__ inline void* memset(void* to, int value, size_t bytes) { return __builtin_memset(to, value, bytes); }
static __device__ inline int memcmp(const void* a, const void* b, size_t bytes) {
  auto p = static_cast<const unsigned char*>(a), q = static_cast<const unsigned char*>(b);
  for (size_t i = 0; i < bytes; ++i)
    if (p[i] != q[i]) return p[i] < q[i] ? -1 : 1;
  return 0;
}
static __device__ inline size_t strlen(const char* s) {
  size_t n = 0;
  while (s[n]) ++n;
  return n;
}
static __device__ inline int strcmp(const char* a, const char* b) {
  while (*a && *a == *b) ++a, ++b;
  return static_cast<unsigned char>(*a) - static_cast<unsigned char>(*b);
}
static __device__ inline char* strcpy(char* to, const char* from) {
  char* start = to;
  while ((*to++ = *from++)) {}
  return start;
}
