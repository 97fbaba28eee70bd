// The settings of an engine.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "machine/engine.h"
#include "native/plugin.h"

namespace coalesce::native {

struct Settings {
  machine::Engine engine = machine::Engine::automatic;
  std::filesystem::path library;  // libcoalesce_native.so
  std::filesystem::path folder;   // the cache's; empty: nothing is kept
  std::string cpu;                // an LLVM name; empty: the CPU at hand
  unsigned level = 1;             // CompileOptions::level
  // The time that `--engine native` waits for a kernel's code, which takes 0.03 to 0.2 s as a rule; and the time of a
  // core that `automatic` gives to one kernel.
  std::chrono::milliseconds timeout{60'000};
  CompileFunction compile = nullptr;  // instead of the library's
  // Told once per kernel that cannot be compiled, once in all where the library cannot be loaded; may be empty.
  std::function<void(const std::string&)> warn;
};

}  // namespace coalesce::native
