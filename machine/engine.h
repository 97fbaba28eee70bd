// What executes kernels. The answers are the same; native code takes some 30 ms a kernel to make.
#pragma once

#include <cstdint>

#include "machine/named.h"

namespace coalesce::machine {

enum class Engine : uint8_t {
  automatic,    // the interpreter, until a kernel has run long enough for native code to pay
  interpreter,  // nothing else
  native,       // native code from the first thread block on
};

inline constexpr Names<Engine, 3> kEngines{
    {{"auto", Engine::automatic}, {"interpreter", Engine::interpreter}, {"native", Engine::native}}};

// The most host threads: beyond what computers have, within what Linux lets a process begin.
inline constexpr unsigned kMostThreads = 1024;

inline bool find_engine(std::string_view name, Engine& engine) { return find_named(kEngines, name, engine); }
inline const char* engine_name(Engine engine) { return name_of(kEngines, engine); }

}  // namespace coalesce::machine
