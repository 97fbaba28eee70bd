// True in a build with a sanitizer. It is five to fifty times slower and checks what the code touches, so tests that
// try many cases try fewer.
#pragma once

#include <string_view>

namespace coalesce {

inline constexpr std::string_view kSanitizers = COALESCE_SANITIZERS;  // as cmake was told: "address,undefined"
inline constexpr bool kSanitized = !kSanitizers.empty();
inline constexpr bool kAddressSanitizer = kSanitizers.find("address") != kSanitizers.npos;
inline constexpr bool kThreadSanitizer = kSanitizers.find("thread") != kSanitizers.npos;

}  // namespace coalesce
