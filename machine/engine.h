// What executes kernels. The answers are the same; native code takes some 30 ms a kernel to make.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace coalesce::machine {

enum class Engine : uint8_t {
  automatic,    // the interpreter, until a kernel has run long enough for native code to pay
  interpreter,  // nothing else
  native,       // native code from the first thread block on
};

inline constexpr std::array<std::pair<const char*, Engine>, 3> kEngines{
    {{"auto", Engine::automatic}, {"interpreter", Engine::interpreter}, {"native", Engine::native}}};

// False, and `engine` as it was, where there is none of that name.
inline bool find_engine(std::string_view name, Engine& engine) {
  for (const auto& [key, value] : kEngines)
    if (key == name) return engine = value, true;
  return false;
}

inline const char* engine_name(Engine engine) {
  for (const auto& [key, value] : kEngines)
    if (value == engine) return key;
  return "";
}

}  // namespace coalesce::machine
