// Random kernels of every kind (tests/random, Breadth::all and small), interpreted and as native code, most with 1,
// some with 2 and 8 threads: memory, diagnostics, counters and the tally word by word.
//
// COALESCE_EXECUTORS="first,count" runs other seeds than the quick tests do; of a single one that fails, what is left
// after removing all lines that do not matter is printed. COALESCE_NATIVE_LEVEL=1 has LLVM try as hard as usual.
#include "tests/native/executors.h"

#include <iostream>

#include "tests/random/reduce.h"
#include "tests/random/seeds.h"
#include "tests/sanitized.h"

namespace coalesce::machine::test {
namespace {

// LLVM takes some 50 and 9 ms for each.
const uint64_t kKernels = kSanitized ? 20 : 100, kSmallKernels = kSanitized ? 100 : 10'000;
const uint64_t kSmallPart = kSmallKernels / 20;

// Which of 1, 2 and 8 threads a seed gets: waking eight costs more than all else.
std::size_t threads_of(uint64_t seed) { return seed % 16 == 0 ? 2 : seed % 16 < 4 ? 1 : 0; }

void agree(Breadth breadth, Seeds usual) {
  if (!native_code()) GTEST_SKIP() << "built without LLVM";
  const auto [from, count] = seeds("COALESCE_EXECUTORS", usual);
  if (count == 1) {
    GeneratedKernel k = generate_kernel(from, breadth);
    std::string wrong = differ_apart(k, threads_of(from));
    if (wrong.empty()) return;
    const std::string how = wrong.substr(0, 8);
    Executors executors;
    const auto again = [&](const GeneratedKernel& kernel) {
      return how == "ended by" ? differ_apart(kernel, threads_of(from)) : differ(executors, kernel, threads_of(from));
    };
    k = reduced(k, [&](const GeneratedKernel& less) { return again(less).starts_with(how); });
    wrong = again(k);
    FAIL() << "grid " << k.grid[0] << "x" << k.grid[1] << ", block " << k.block[0] << "x" << k.block[1] << "x"
           << k.block[2] << ", threads " << kThreadCounts[threads_of(from)] << ": " << wrong << "\n"
           << k.ptx;
  }
  Executors executors;
  int failures = 0;
  for (uint64_t seed = from; seed < from + count && failures < 20; ++seed) {
    const std::string wrong = differ(executors, generate_kernel(seed, breadth), threads_of(seed));
    if (wrong.empty()) continue;
    ++failures;
    ADD_FAILURE() << "seed " << seed << ", threads " << kThreadCounts[threads_of(seed)] << ": " << wrong;
  }
  // That both executors have run: a comparison of the interpreter with itself would never fail.
  EXPECT_EQ(executors.statistics().compiled, count);
  EXPECT_EQ(executors.statistics().failed, 0u);
  // Few enough that no mistake hides among them.
  EXPECT_LE(executors.in_order(), 1 + count / 20);
  if (count > 2000) std::cout << executors.faults() << " of " << count << " kernels faulted\n";
}

TEST(Executors, AgreeOnRandomKernels) { agree(Breadth::all, {1, few_cases() ? kKernels / 4 : kKernels}); }
TEST(Executors, AgreeOnSmallKernels) { agree(Breadth::small, {1, few_cases() ? kSmallPart / 2 : kSmallPart}); }

// In parts: tests run beside each other.
class SmallKernels : public testing::TestWithParam<uint64_t> {};
TEST_P(SmallKernels, Agree) { agree(Breadth::small, {1 + GetParam() * kSmallPart, kSmallPart}); }
INSTANTIATE_TEST_SUITE_P(Nightly, SmallKernels, testing::Range(uint64_t{1}, kSmallKernels / kSmallPart));

}  // namespace
}  // namespace coalesce::machine::test
