// Random kernels: the interpreter with 1, 2 and 8 threads against the plain executor, memory, counters and lines.
//
// COALESCE_DIFFERENTIAL="first,count" runs other seeds than the quick test does; of a single one that fails, what
// is left after removing all lines that do not matter is printed.
#include "harness.h"
#include "tests/random/generator.h"
#include "tests/random/reduce.h"
#include "tests/random/seeds.h"
#include "tests/sanitized.h"

namespace coalesce::machine::test {

namespace {

const uint64_t kQuickKernels = kSanitized ? 40 : 300, kQuickLocks = kSanitized ? 10 : 40;
constexpr uint64_t kMostOfLocks = 50'000'000;  // warp instructions: none of these kernels needs a tenth of it
constexpr uint32_t kN = 37, kM = 1000003;

class Differential {
 public:
  Differential() { plain_.machine().use_plain(true); }

  // Empty: all agree.
  std::string run(const GeneratedKernel& k) {
    const uint32_t threads = k.block[0] * k.block[1] * k.block[2] * k.grid[0] * k.grid[1] * k.grid[2];
    const std::vector<uint8_t> out(std::size_t{threads} * kOutBytesPerThread), acc(4 * kAccWords);
    const std::vector<Argument> arguments{
        {true, out}, buffer(generated_input(Breadth::reference)), {true, acc}, value(kN), value(kM)};
    Shape setup;
    setup.grid = k.grid;
    setup.block = k.block;
    const Ran expected = plain_.run(k.ptx, arguments, setup, "k");
    if (expected.report.fault != Fault::none) return "the plain executor: " + expected.message();
    for (Bench* bench : {&one_, &two_, &eight_}) {
      if (kThreadSanitizer && bench != &eight_) continue;
      const std::string wrong = difference_from_plain(expected, bench->run(k.ptx, arguments, setup, "k"));
      if (!wrong.empty())
        return (bench == &one_ ? "1 thread: " : bench == &two_ ? "2 threads: " : "8 threads: ") + wrong;
    }
    // The lines' counters add up to the launch's.
    Counters sum;
    for (const LineCounters& l : expected.report.lines) sum += l.counters;
    sum.compulsory_bytes = expected.counters().compulsory_bytes;
    if (!(sum == expected.counters())) return "the lines do not add up";
    return {};
  }

 private:
  Bench plain_{1}, one_{1}, two_{2}, eight_{8};
};

TEST(Differential, RandomKernels) {
  const auto [from, count] = seeds("COALESCE_DIFFERENTIAL", {1, kQuickKernels});
  Differential differential;
  int failures = 0;
  for (uint64_t seed = from; seed < from + count; ++seed) {
    GeneratedKernel k = generate_kernel(seed);
    std::string wrong = differential.run(k);
    if (wrong.empty()) continue;
    if (count == 1) {
      const std::string how = wrong.substr(0, 13);  // "1 thread: buf": a wrong result stays one
      k = reduced(k, [&](const GeneratedKernel& less) {
        try {
          return differential.run(less).starts_with(how);
        } catch (const std::exception&) {
          return false;  // no PTX any more
        }
      });
      wrong = differential.run(k);
    }
    ADD_FAILURE() << "seed " << seed << ", grid " << k.grid[0] << "x" << k.grid[1] << ", block " << k.block[0] << "x"
                  << k.block[1] << "x" << k.block[2] << ": " << wrong << (count == 1 ? "\n" + k.ptx : "");
    if (++failures == 20) break;
  }
}

// Kernels whose lanes wait for each other give the results of kernels without waiting. COALESCE_LOCKS="first,count"
// runs other seeds.
TEST(Differential, LocksAreReductions) {
  const auto [from, count] = seeds("COALESCE_LOCKS", {1, kQuickLocks});
  Bench one(1, kMostOfLocks);
  for (uint64_t seed = from; seed < from + count; ++seed) {
    const GeneratedKernel plain = generate_kernel(seed, Breadth::reference, Sums::reduced);
    const uint32_t threads =
        plain.block[0] * plain.block[1] * plain.block[2] * plain.grid[0] * plain.grid[1] * plain.grid[2];
    const std::vector<Argument> arguments{zeros<uint8_t>(std::size_t{threads} * kOutBytesPerThread),
                                          buffer(generated_input(Breadth::reference)),
                                          zeros<uint32_t>(kAccWords + 2 * kLocks), value(kN), value(kM)};
    Shape setup;
    setup.grid = plain.grid;
    setup.block = plain.block;
    const Ran expected = one.run(plain.ptx, arguments, setup, "k");
    ASSERT_EQ(expected.report.fault, Fault::none) << seed << ": " << expected.message();
    const std::string locked = generate_kernel(seed, Breadth::reference, Sums::locked).ptx;
    const Ran r = one.run(locked, arguments, setup, "k");
    ASSERT_EQ(r.report.fault, Fault::none) << seed << ": " << r.message() << (count == 1 ? "\n" + locked : "");
    EXPECT_TRUE(r.buffers == expected.buffers) << "seed " << seed;
  }
}

}  // namespace

}  // namespace coalesce::machine::test
