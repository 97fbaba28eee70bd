// Mistakes on purpose, in place of the product's: a build with a sanitizer has to report them (planted_test.cpp).
#pragma once

#include <cstddef>

namespace coalesce::planted {

// Functions that the product and its tests share: the linker keeps one copy, which has to be the product's.
[[gnu::noinline]] inline char shared_read(const char* text, std::size_t at) { return text[at]; }
[[gnu::noinline]] inline int shared_sum(int a, int b) { return a + b; }
[[gnu::noinline]] inline void shared_write(int* place, int value) { *place = value; }

// Functions of the product that call those.
char product_read(const char* text, std::size_t at);
int product_sum(int a, int b);
void product_write(int* place, int value);

}  // namespace coalesce::planted
