// Random kernels: the machine with 1, 2 and 8 threads against the naive reference, memory and counters.
//
// COALESCE_DIFFERENTIAL="first,count" runs other seeds than the quick test does; of a single one that fails, what
// is left after removing all lines that do not matter is printed.
#include <fstream>

#include "harness.h"
#include "machine/ptx/parser.h"
#include "tests/random/generator.h"
#include "tests/random/reduce.h"
#include "tests/random/reference.h"
#include "tests/random/seeds.h"
#include "tests/sanitized.h"

namespace coalesce::machine::test {

namespace {

constexpr uint64_t kQuickKernels = kSanitized ? 40 : 300, kQuickLocks = kSanitized ? 10 : 40;
constexpr uint64_t kMostOfLocks = 50'000'000;  // warp instructions: none of these kernels needs a tenth of it
constexpr uint32_t kN = 37, kM = 1000003;

// Addresses in the reference's memory: any, as long as they are aligned as the machine's are.
constexpr uint64_t kOut = 0x10000000, kIn = 0x20000000, kAcc = 0x30000000;

class Differential {
 public:
  // Empty: all agree.
  std::string run(const GeneratedKernel& k) {
    const uint32_t threads = k.block[0] * k.block[1] * k.block[2] * k.grid[0] * k.grid[1] * k.grid[2];
    const std::vector<uint32_t> in = generated_input(Breadth::reference);
    const std::vector<uint8_t> out(std::size_t{threads} * kOutBytesPerThread), acc(4 * kAccWords);
    const std::vector<Argument> arguments{{true, out}, buffer(in), {true, acc}, value(kN), value(kM)};

    std::map<uint64_t, std::vector<uint8_t>> memory{{kOut, out}, {kIn, arguments[1].bytes}, {kAcc, acc}};
    ReferenceLaunch launch{k.grid, k.block, std::vector<uint8_t>(32)};
    std::memcpy(launch.parameters.data(), &kOut, 8);
    std::memcpy(launch.parameters.data() + 8, &kIn, 8);
    std::memcpy(launch.parameters.data() + 16, &kAcc, 8);
    std::memcpy(launch.parameters.data() + 24, &kN, 4);
    std::memcpy(launch.parameters.data() + 28, &kM, 4);
    ReferenceResult expected;
    try {
      expected = reference_run(ptx::parse(k.ptx, "generated"), "k", launch, memory);
    } catch (const std::runtime_error& e) {
      return std::string("the reference refused it: ") + e.what();
    }
    Shape setup;
    setup.grid = k.grid;
    setup.block = k.block;
    Ran first;
    for (Bench* bench : {&one_, &two_, &eight_}) {
      Ran r = bench->run(k.ptx, arguments, setup, "k");
      const std::string who = bench == &one_ ? "1 thread: " : bench == &two_ ? "2 threads: " : "8 threads: ";
      if (r.report.fault != Fault::none)
        return who + r.message() + " at PTX line " + std::to_string(r.report.diagnostics[0].ptx_line);
      if (!r.report.diagnostics.empty()) return who + "warning: " + r.message();
      std::string wrong;
      const auto compare = [&](std::size_t which, uint64_t base, const char* name) {
        for (std::size_t b = 0; b < r.buffers[which].size(); b += 4)
          if (std::memcmp(&r.buffers[which][b], &memory[base][b], 4) != 0 && wrong.size() < 400) {
            uint32_t got, want;
            std::memcpy(&got, &r.buffers[which][b], 4);
            std::memcpy(&want, &memory[base][b], 4);
            wrong += std::string(name) + "[" + std::to_string(b / 4) + "] is " + std::to_string(got) + ", not " +
                     std::to_string(want) + "; ";
          }
      };
      compare(0, kOut, "out");
      compare(2, kAcc, "acc");
      for (const CounterRow& row : kCounterRows)
        if (r.counters().*row.field != expected.counters.*row.field)
          wrong += std::string(row.name) + " is " + std::to_string(r.counters().*row.field) + ", not " +
                   std::to_string(expected.counters.*row.field) + "; ";
      if (!wrong.empty()) return who + wrong;
      if (bench == &one_) {
        first = std::move(r);
      } else if (first.report.lines.size() != r.report.lines.size()) {
        return who + "other lines than with 1 thread";
      } else {
        for (std::size_t l = 0; l < r.report.lines.size(); ++l)
          if (!(r.report.lines[l].counters == first.report.lines[l].counters))
            return who + "line " + std::to_string(r.report.lines[l].ptx_line) + " differs";
      }
    }
    // The lines' counters add up to the launch's.
    Counters sum;
    for (const LineCounters& l : first.report.lines) sum += l.counters;
    sum.compulsory_bytes = first.counters().compulsory_bytes;
    if (!(sum == first.counters())) return "the lines do not add up";
    return {};
  }

 private:
  Bench one_{1}, two_{2}, eight_{8};
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
      const std::string how = wrong.substr(0, 13);  // "1 thread: out": a wrong result stays one
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
