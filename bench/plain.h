// Loops in plain C++ that do a kernel's work and count nothing: the reference for the speed of native code.
#pragma once

#include <memory>
#include <vector>

#include "bench/cases.h"
#include "machine/execute/pool.h"

namespace coalesce::bench {

// One of them, on arrays of its own.
class PlainLoop {
 public:
  // Arrays of so many words: those of the case's kernel.
  PlainLoop(Plain plain, uint64_t words);

  // Runs in a row, as Prepared::burst; adds the seconds of those that count to `one` unless null. Of a product also
  // with two threads, to `two`. Throws if the result is wrong.
  void burst(std::vector<double>* one, std::vector<double>* two);

 private:
  double run(unsigned threads);

  const Plain plain_;
  const uint64_t side_;  // of a square
  std::vector<float> a_, b_, out_;
  machine::Pool pool_;
};

// The throughput of two threads over that of one, for a loop that computes in registers only: the computer's own limit.
// One value for each repetition.
std::vector<double> plain_two_threads(int repetitions);

}  // namespace coalesce::bench
