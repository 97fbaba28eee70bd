// CUDA on the host, one block after another: each thread is a context of its own, which runs until it waits for others
// of its warp or block. What the threads of a warp or block exchange is seen by all when the last of them has come.
#pragma once

#include "types.h"

#ifndef __CUDA_ARCH__
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include <memory>
#include <vector>

namespace rc {

enum class State : uint8_t { ready, at_warp, at_block, ended };

constexpr size_t kStackBytes = 262144;

struct Thread {
  ucontext_t context;
  uint3 index;
  unsigned lane = 0, warp = 0;
  State state = State::ready;
  unsigned mask = 0;               // at_warp: who takes part
  const char* operation = "";      // at_warp: all that take part must be in the same one
  u64 given = 0;                   // to the others
  u64 seen[32] = {};               // at_warp: what each of the others gave
  unsigned votes = 0, voters = 0;  // at_block: how many gave something other than 0, and of how many
};

struct Block {
  std::vector<Thread> threads;
  Thread* at = nullptr;
  ucontext_t scheduler;
  dim3 grid, size;
  uint3 index;
  void (*kernel)(const void*) = nullptr;
  const void* arguments = nullptr;              // of the kernel
  std::vector<std::unique_ptr<char[]>> stacks;  // kept from launch to launch: as many as the largest block needed
  alignas(16) unsigned char dynamic[65536];
};
inline Block block;

inline unsigned char* dynamic_shared() { return block.dynamic; }

[[noreturn]] inline void refuse(const char* what, const char* operation) {
  fprintf(stderr, "emulation: %s in %s\n", what, operation);
  exit(3);
}

inline void wait(State state) {
  block.at->state = state;
  swapcontext(&block.at->context, &block.scheduler);
}

// Gives a value to the lanes of `mask` and returns what each of them gave.
inline const u64* exchange(unsigned mask, u64 value, const char* operation) {
  Thread& self = *block.at;
  if (!(mask >> self.lane & 1)) refuse("a lane outside its own mask", operation);
  self.mask = mask, self.given = value, self.operation = operation;
  wait(State::at_warp);
  return self.seen;
}

inline Thread& barrier(int predicate) {
  block.at->given = predicate != 0;
  wait(State::at_block);
  return *block.at;
}

// Lets go on the warps' lanes that all others of their mask wait with. Returns whether there were any.
inline bool release_warps() {
  bool any = false;
  for (Thread& t : block.threads) {
    if (t.state != State::at_warp) continue;
    Thread* const first = &t - t.lane;
    const unsigned mask = t.mask;
    bool complete = true;
    for (unsigned l = 0; l < 32; ++l) {
      if (!(mask >> l & 1)) continue;
      if (first + l >= block.threads.data() + block.threads.size()) refuse("a mask with absent lanes", t.operation);
      if (first[l].state == State::ended) refuse("a mask with ended lanes", t.operation);
      complete = complete && first[l].state == State::at_warp && first[l].mask == mask;
    }
    if (!complete) continue;
    for (unsigned l = 0; l < 32; ++l) {
      if (!(mask >> l & 1)) continue;
      if (strcmp(first[l].operation, t.operation) != 0) refuse("two operations meet", t.operation);
      for (unsigned from = 0; from < 32; ++from) first[l].seen[from] = mask >> from & 1 ? first[from].given : 0;
    }
    for (unsigned l = 0; l < 32; ++l)
      if (mask >> l & 1) first[l].state = State::ready;
    any = true;
  }
  return any;
}

inline bool release_block() {
  unsigned votes = 0, voters = 0;
  for (const Thread& t : block.threads) {
    if (t.state == State::ended) continue;
    if (t.state != State::at_block) return false;
    votes += t.given != 0, ++voters;
  }
  for (Thread& t : block.threads)
    if (t.state == State::at_block) t.state = State::ready, t.votes = votes, t.voters = voters;
  return voters != 0;
}

inline void begin() {
  block.kernel(block.arguments);
  block.at->state = State::ended;
}

inline void run_block() {
  unsigned number = 0;
  for (Thread& t : block.threads) {
    t.index = {number % block.size.x, number / block.size.x % block.size.y, number / block.size.x / block.size.y};
    t.lane = number % 32, t.warp = number / 32, t.state = State::ready;
    getcontext(&t.context);
    t.context.uc_stack.ss_sp = block.stacks[number++].get(), t.context.uc_stack.ss_size = kStackBytes;
    t.context.uc_link = &block.scheduler;
    makecontext(&t.context, begin, 0);
  }
  for (;;) {
    bool ran = false;
    for (Thread& t : block.threads) {
      if (t.state != State::ready) continue;
      ran = true, block.at = &t;
      swapcontext(&block.scheduler, &t.context);
    }
    if (ran || release_warps() || release_block()) continue;
    for (const Thread& t : block.threads)
      if (t.state != State::ended) refuse("threads wait for ever", t.operation);
    return;
  }
}

// Runs the kernel once for each thread.
inline void emulate_all(dim3 grid, dim3 size) {
  block.grid = grid, block.size = size;
  block.threads.resize(size.x * size.y * size.z);
  while (block.stacks.size() < block.threads.size()) block.stacks.emplace_back(new char[kStackBytes]);
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; ++x) block.index = {x, y, z}, run_block();
}

template <class Kernel>
void call_kernel(const void* kernel) {
  (*static_cast<const Kernel*>(kernel))();
}
// Not std::function, which takes a compiler long: sources have hundreds of launches.
template <class Kernel>
void emulate(dim3 grid, dim3 size, const Kernel& kernel) {
  block.kernel = call_kernel<Kernel>, block.arguments = &kernel;
  emulate_all(grid, size);
}

}  // namespace rc

#define threadIdx (rc::block.at->index)
#define blockIdx (rc::block.index)
#define blockDim (rc::block.size)
#define gridDim (rc::block.grid)
#endif
