// How many cases a test tries. kSanitized: in a build with a sanitizer, which is five to fifty times slower and checks
// what the code touches. few_cases(): also in each change's tests; `./dev nightly` sets COALESCE_NIGHTLY and tries all.
#pragma once

#include <cstdlib>

// Each sanitizer's runtime has one. The object files of tests are the same in all builds (cmake/Plain.cmake): the
// program asks.
extern "C" {
[[gnu::weak]] void __asan_init();
[[gnu::weak]] void __tsan_init();
}

namespace coalesce {

inline const bool kAddressSanitizer = &__asan_init != nullptr;
inline const bool kThreadSanitizer = &__tsan_init != nullptr;
inline const bool kSanitized = kAddressSanitizer || kThreadSanitizer;

inline bool few_cases() { return kSanitized || std::getenv("COALESCE_NIGHTLY") == nullptr; }

}  // namespace coalesce
