// The functions of NVIDIA's CUDA runtime, by name: what its static library defines and its shared one exports.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace coalesce::redirect {

inline constexpr auto kNames = [] {
  constexpr std::string_view kListed[] = {
#define X(name) std::string_view(#name),
#include "cudart/api/symbols.def"
#undef X
  };
  auto names = std::to_array(kListed);
  std::sort(names.begin(), names.end());
  return names;
}();

inline constexpr size_t kNoName = ~size_t{0};

// The name's index in kNames; kNoName: it is none of them.
constexpr size_t index_of(std::string_view name) {
  if (!name.starts_with("cuda") && !name.starts_with("__cuda")) return kNoName;
  const auto at = std::lower_bound(kNames.begin(), kNames.end(), name);
  return at != kNames.end() && *at == name ? static_cast<size_t>(at - kNames.begin()) : kNoName;
}

}  // namespace coalesce::redirect
