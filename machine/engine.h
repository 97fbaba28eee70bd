// The executors of kernels. Their answers are the same; native code takes some 30 ms a kernel to make, and the plain
// executor is slow and there to be compared with (plain/plain.h).
#pragma once

#include <cstdint>

#include "machine/named.h"

namespace coalesce::machine {

enum class Engine : uint8_t {
  automatic,    // the interpreter, until a kernel has run long enough for native code to pay
  interpreter,  // nothing else
  native,       // native code from the first thread block on
  plain,        // lane by lane from the text, sharing nothing doubtful with the other two
};

inline constexpr Names<Engine, 4> kEngines{{{"auto", Engine::automatic},
                                            {"interpreter", Engine::interpreter},
                                            {"native", Engine::native},
                                            {"plain", Engine::plain}}};

// The most host threads: beyond what computers have, within what Linux lets a process begin.
inline constexpr unsigned kMostThreads = 1024;

inline bool find_engine(std::string_view name, Engine& engine) { return find_named(kEngines, name, engine); }
inline const char* engine_name(Engine engine) { return name_of(kEngines, engine); }

}  // namespace coalesce::machine
