// The executors on one kernel: interpreted, as native code, and by the plain executor.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tests/machine/execute/harness.h"
#include "tests/random/generator.h"
#include "tests/random/native_code.h"

namespace coalesce::machine::test {

// Warp instructions: no kernel executes so many, and launches that may execute fewer are interpreted (machine.cpp).
inline constexpr uint64_t kMost = 1'000'000'000;

class Executors {
 public:
  // Empty: interpreter and native code agree. `which`: 0 to 2, with 1, 2 or 8 threads.
  std::string run(const GeneratedKernel& k, std::size_t which) {
    const uint32_t blocks = k.grid[0] * k.grid[1] * k.grid[2];
    const uint32_t threads = k.block[0] * k.block[1] * k.block[2] * blocks;
    const std::vector<uint8_t> out(std::size_t{threads} * kOutBytesPerThread), acc(4 * kAccWords);
    const std::vector<Argument> arguments{
        {true, out}, in_, {true, acc}, value(37), value(1000003), {false, generated_bag(), kBagAlignment}};
    Shape setup;
    setup.grid = k.grid;
    setup.block = k.block;
    Bench& bench = *benches_[which];
    const auto program = bench.machine().load(k.ptx, "test.ptx");
    native_->on = false;
    const Ran expected = bench.run(*program, arguments, setup, "k", true);
    native_->on = true;
    const bool faulted = expected.report.fault != Fault::none;
    // Most from their first block on, some from a later one.
    native_->late = faulted ? 0 : static_cast<uint32_t>(k.ptx.size() % std::min(3u, blocks));
    faults_ += faulted;
    illegal_ += expected.report.fault == Fault::illegal_instruction;
    // `out`: eight planes of a word each thread, then 32, 16 and 8 bytes each.
    const uint64_t a_block = k.block[0] * k.block[1] * k.block[2];
    const auto writer = [&](std::size_t buffer, std::size_t byte) -> uint64_t {
      if (buffer != 0) return kNobody;
      const std::size_t at = byte / threads, from = at < 32 ? 0 : at < 64 ? 32 : at < 80 ? 64 : 80;
      const std::size_t each = at < 32 ? 4 : at < 64 ? 32 : at < 80 ? 16 : 8;
      return (byte - from * threads) / each % threads / a_block;
    };
    if (std::string wrong = plain_differs(bench, *program, arguments, setup, expected); !wrong.empty()) {
      bench.run(*program, arguments, setup, "k", false, &expected);
      return "plain / interpreter: " + wrong;
    }
    const std::string wrong =
        difference(expected, bench.run(*program, arguments, setup, "k", false, &expected), writer);
    return unsound_kernels() != 0 ? "LLVM refuses the native code" : wrong;
  }
  // The plain executor against the interpreter. In which order the warps of a block run between barriers is nobody's
  // promise, and not the same in both; kernels that take old values from memory which several warps update can see it.
  // Those are compared with one warp a block.
  std::string plain_differs(Bench& bench, Program& program, const std::vector<Argument>& arguments, Shape setup,
                            const Ran& expected) {
    if (expected.report.fault == Fault::budget) return {};  // it does not end: the plain executor would take minutes
    const auto compare = [&](const Ran& interpreted) {
      bench.machine().use_plain(true);
      const Ran plain = bench.run(program, arguments, setup, "k", true, &expected);
      bench.machine().use_plain(false);
      return difference_from_plain(plain, interpreted);
    };
    std::string wrong = compare(expected);
    if (wrong.empty() || setup.block[0] * setup.block[1] * setup.block[2] <= 32) return wrong;
    ++in_order_;
    setup.block = {std::min(setup.block[0], 32u), 1, 1};
    native_->on = false;
    const std::string alone = compare(bench.run(program, arguments, setup, "k", true, &expected));
    native_->on = true;
    return alone.empty() ? "" : wrong + "; with one warp: " + alone;
  }
  uint64_t faults() const { return faults_; }
  uint64_t illegal() const { return illegal_; }    // that executed an unknown instruction: they may have no native form
  uint64_t in_order() const { return in_order_; }  // compared with one warp a block
  native::Statistics statistics() const { return engine_->statistics(); }

 private:
  static std::shared_ptr<native::Engine> quick() {
    native::Settings settings = native_settings();
    if (!std::getenv("COALESCE_NATIVE_LEVEL")) settings.level = 0;
    return std::make_shared<native::Engine>(std::move(settings));
  }
  const Argument in_ = buffer(generated_input(Breadth::all));
  const std::shared_ptr<native::Engine> engine_ = quick();
  const std::shared_ptr<Switch> native_ = std::make_shared<Switch>(engine_);
  const std::unique_ptr<Bench> benches_[3] = {std::make_unique<Bench>(1, kMost, native_),
                                              std::make_unique<Bench>(2, kMost, native_),
                                              std::make_unique<Bench>(8, kMost, native_)};
  uint64_t faults_ = 0, illegal_ = 0, in_order_ = 0;
};

inline std::string differ(Executors& executors, const GeneratedKernel& k, std::size_t which) {
  try {
    return executors.run(k, which);
  } catch (const Error& e) {
    return "not decoded: " + render(e.diagnostic, false);
  }
}

// The same in a process of its own: a crash is a difference too.
inline std::string differ_apart(const GeneratedKernel& k, std::size_t which) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    Executors executors;
    const std::string wrong = differ(executors, k, which);
    const bool written = write(ends[1], wrong.data(), wrong.size()) == static_cast<ssize_t>(wrong.size());
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::string wrong;
  char buffer[4096];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    wrong.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? "ended by signal " + std::to_string(WTERMSIG(status)) : wrong;
}

}  // namespace coalesce::machine::test
