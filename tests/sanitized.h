// Whether this build runs under a sanitizer: five to fifty times slower, and there to see what the code touches rather
// than to compare figures once more. Tests that try many cases try fewer then.
#pragma once

#include <string_view>

namespace coalesce {

inline constexpr std::string_view kSanitizers = COALESCE_SANITIZERS;  // as cmake was told: "address,undefined"
inline constexpr bool kSanitized = !kSanitizers.empty();
inline constexpr bool kAddressSanitizer = kSanitizers.find("address") != kSanitizers.npos;
inline constexpr bool kThreadSanitizer = kSanitizers.find("thread") != kSanitizers.npos;

}  // namespace coalesce
