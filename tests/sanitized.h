// How many cases a test tries. kSanitized: in a build with a sanitizer, which is five to fifty times slower and checks
// what the code touches. few_cases(): also in each change's tests; `./dev nightly` sets COALESCE_NIGHTLY and tries all.
#pragma once

#include <cstdlib>
#include <string_view>

namespace coalesce {

inline constexpr std::string_view kSanitizers = COALESCE_SANITIZERS;  // as cmake was told: "address,undefined"
inline constexpr bool kSanitized = !kSanitizers.empty();
inline constexpr bool kAddressSanitizer = kSanitizers.find("address") != kSanitizers.npos;
inline constexpr bool kThreadSanitizer = kSanitizers.find("thread") != kSanitizers.npos;

inline bool few_cases() { return kSanitized || std::getenv("COALESCE_NIGHTLY") == nullptr; }

}  // namespace coalesce
