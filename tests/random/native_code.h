// Native code for tests that compare executors.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "machine/execute/native.h"
#include "native/tier/engine.h"

namespace coalesce::machine::test {

// The settings of the tests' engines: every kernel native from its first block on, nothing kept on disk.
// COALESCE_NATIVE_LEVEL and COALESCE_NATIVE_CPU choose another target.
native::Settings native_settings();

// The generator of the build that this program is part of, if there is one.
std::string native_library();

// One engine for all tests of a program; null where the build has no generator. What it has compiled it keeps in a
// folder until the program ends: runs with other numbers of threads load a kernel anew, and compiling is what costs.
std::shared_ptr<native::Engine> native_code();

// The same for kernels whose compilation takes nearly all of a test's time: in each change's tests LLVM optimises
// little, every night as it does for programs.
std::shared_ptr<native::Engine> quick_native_code();

// Kernels for which LLVM's verifier refused what was generated. They would be interpreted, and every result right.
uint64_t unsound_kernels();

// Native code that can be turned off: two executors for one loaded program. Or that comes late, as from a compiler that
// works while the launch goes on.
class Switch final : public NativeProvider {
 public:
  explicit Switch(std::shared_ptr<NativeProvider> inner) : inner_(std::move(inner)) {}
  bool on = false;                // between launches
  std::atomic<uint32_t> late{0};  // questions that are still answered with "not yet"

  std::shared_ptr<const NativeKernel> find(const Launch& launch) override {
    uint32_t left = late.load();
    while (left > 0 && !late.compare_exchange_weak(left, left - 1)) {}
    return on && left == 0 ? inner_->find(launch) : nullptr;
  }
  void ended(const Launch& launch) override {
    if (on) inner_->ended(launch);
  }

 private:
  std::shared_ptr<NativeProvider> inner_;
};

}  // namespace coalesce::machine::test
