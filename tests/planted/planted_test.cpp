// The builds with sanitizers report mistakes in the product, although the tests' own code comes from the build without
// (cmake/Plain.cmake): in functions of its files, in those of its headers that the tests have, too, and in the machine.
#include "tests/planted/planted.h"

#include <gtest/gtest.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <memory>
#include <thread>

#include "machine/memory/memory.h"
#include "machine/ptx/lexer.h"
#include "tests/sanitized.h"

namespace coalesce::planted {
namespace {

class Planted : public testing::Test {
 protected:
  Planted() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

// Three letters without an end.
std::unique_ptr<char[]> three() {
  auto text = std::make_unique<char[]>(3);
  for (int k = 0; k < 3; ++k) text[k] = 'a';
  return text;
}

// Two threads, one after the other; nothing says so to ThreadSanitizer, which tells at the process's end.
template <class F>
void by_two_threads(F&& work) {
  std::atomic<bool> first_done{false};
  std::thread second([&] {
    while (!first_done.load(std::memory_order_relaxed)) std::this_thread::yield();
    work();
  });
  std::thread first([&] {
    work();
    first_done.store(true, std::memory_order_relaxed);
  });
  first.join();
  second.join();
  std::exit(0);
}

TEST_F(Planted, ReadsPastTheEnd) {
  if (!kAddressSanitizer) GTEST_SKIP() << "AddressSanitizer's";
  EXPECT_DEATH(product_read(three().get(), 3), "heap-buffer-overflow");
  EXPECT_DEATH(shared_read(three().get(), 3), "heap-buffer-overflow");
  EXPECT_DEATH(
      {
        const auto text = three();
        ptx::Lexer({text.get(), 4}, "planted").next();
      },
      "heap-buffer-overflow");
}

TEST_F(Planted, SumsThatOverflow) {
  if (!kAddressSanitizer) GTEST_SKIP() << "UndefinedBehaviorSanitizer's";
  EXPECT_DEATH(product_sum(INT_MAX, 1), "signed integer overflow");
  EXPECT_DEATH(shared_sum(INT_MAX, 1), "signed integer overflow");
}

TEST_F(Planted, Races) {
  if (!kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer's";
  const auto told = testing::ExitedWithCode(66);
  int place = 0;
  EXPECT_EXIT(by_two_threads([&] { product_write(&place, 1); }), told, "data race");
  EXPECT_EXIT(by_two_threads([&] { shared_write(&place, 1); }), told, "data race");
  machine::Memory memory(1 << 20);
  EXPECT_EXIT(by_two_threads([&] { memory.allocate(256, machine::Origin::device, ""); }), told, "data race");
}

}  // namespace
}  // namespace coalesce::planted
