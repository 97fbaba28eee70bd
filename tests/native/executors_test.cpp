// Random kernels of every kind (tests/random, Breadth::all), interpreted and as native code with 1, 2 or 8 threads in
// turn: memory, diagnostics, counters and the tally word by word.
//
// COALESCE_EXECUTORS="first,count" runs other seeds than the quick test does; of a single one that fails, what is left
// after removing all lines that do not matter is printed. COALESCE_NATIVE_LEVEL=1 has LLVM try as hard as usual.
#include <cstdlib>
#include <iostream>

#include "tests/ptx/harness.h"
#include "tests/random/generator.h"
#include "tests/random/native_code.h"
#include "tests/random/reduce.h"

namespace coalesce::machine::test {
namespace {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COALESCE_SLOW 1
#endif
#endif
#ifdef COALESCE_SLOW
constexpr uint64_t kQuickKernels = 100;
#else
constexpr uint64_t kQuickKernels = 10'000;
#endif

class Executors {
 public:
  Executors() : interpreter_(1), native_{Bench(1, kMost, code()), Bench(2, kMost, code()), Bench(8, kMost, code())} {}

  // Empty: all agree. `threads`: 0 to 2, which of 1, 2 and 8.
  std::string run(const GeneratedKernel& k, uint64_t threads) {
    const uint32_t all = k.block[0] * k.block[1] * k.block[2] * k.grid[0] * k.grid[1] * k.grid[2];
    const std::vector<uint8_t> out(std::size_t{all} * kOutBytesPerThread), acc(4 * kAccWords);
    const std::vector<Argument> arguments{
        {true, out}, buffer(generated_input(Breadth::all)), {true, acc}, value(37), value(1000003)};
    Shape setup;
    setup.grid = k.grid;
    setup.block = k.block;
    const Ran expected = interpreter_.run(k.ptx, arguments, setup, "k");
    faults_ += expected.report.fault != Fault::none;
    return difference(expected, native_[threads].run(k.ptx, arguments, setup, "k"), kThreadCounts[threads]);
  }
  uint64_t faults() const { return faults_; }

 private:
  static constexpr uint64_t kMost = Shape{}.max_instructions;
  static std::shared_ptr<NativeProvider> code() {
    static const std::shared_ptr<NativeProvider> the = [] {
      native::Settings settings = native_settings();
      if (!std::getenv("COALESCE_NATIVE_LEVEL")) settings.level = 0;
      return std::make_shared<native::Engine>(std::move(settings));
    }();
    return the;
  }
  Bench interpreter_;
  std::array<Bench, 3> native_;
  uint64_t faults_ = 0;
};

TEST(Executors, AgreeOnRandomKernels) {
  if (!native_code()) GTEST_SKIP() << "built without LLVM";
  uint64_t from = 1, count = kQuickKernels;
  if (const char* range = std::getenv("COALESCE_EXECUTORS")) {
    char* rest = nullptr;
    from = std::strtoull(range, &rest, 10);
    if (rest && *rest == ',') count = std::strtoull(rest + 1, nullptr, 10);
  }
  Executors executors;
  int failures = 0;
  for (uint64_t seed = from; seed < from + count; ++seed) {
    GeneratedKernel k = generate_kernel(seed, Breadth::all);
    const auto differ = [&](const GeneratedKernel& kernel) -> std::string {
      try {
        return executors.run(kernel, seed % 3);
      } catch (const Error& e) {
        return "not decoded: " + render(e.diagnostic, false);
      }
    };
    std::string wrong = differ(k);
    if (wrong.empty()) continue;
    if (count == 1) {
      const std::string how = wrong.substr(0, 8);
      k = reduced(k, [&](const GeneratedKernel& less) { return differ(less).starts_with(how); });
      wrong = differ(k);
    }
    ADD_FAILURE() << "seed " << seed << ", threads " << kThreadCounts[seed % 3] << ", grid " << k.grid[0] << "x"
                  << k.grid[1] << ", block " << k.block[0] << "x" << k.block[1] << "x" << k.block[2] << ": " << wrong
                  << (count == 1 ? "\n" + k.ptx : "");
    if (++failures == 20) break;
  }
  if (count > 1000) std::cout << executors.faults() << " of " << count << " kernels faulted\n";
}

}  // namespace
}  // namespace coalesce::machine::test
