// The counts of generated code: sums in local variables, added to the tally when the function returns.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <vector>

#include "machine/program/program.h"
#include "machine/tally/tally.h"

namespace coalesce::native {

class Counters {
 public:
  // One sum may go to several words of the tally, each time multiplied.
  struct Target {
    uint32_t word, times;
    bool operator==(const Target&) const = default;
  };
  using Targets = std::vector<Target>;

  // `entry`: the function's first block, which has its terminator when the first sum is added.
  Counters(llvm::IRBuilder<>& ir, const machine::Decoded& program);
  void begin(llvm::BasicBlock* entry) { entry_ = entry; }

  const machine::TallyLayout& layout() const { return layout_; }
  void add(const Targets& targets, llvm::Value* n);
  void add(const Targets& targets, uint64_t n) { add(targets, ir_.getInt64(n)); }
  template <class N>
  void add_site(uint32_t site, machine::SiteWord word, N n) {
    add(Targets{{layout_.site(site, word), 1}}, n);
  }
  // Adds all sums to the tally at `tally`. Returns the warp instructions that they stand for.
  llvm::Value* flush(llvm::Value* tally);

 private:
  llvm::AllocaInst* sum_of(const Targets& targets);

  struct Sum {
    llvm::AllocaInst* at;
    Targets targets;
  };
  llvm::IRBuilder<>& ir_;
  const machine::Decoded& p_;
  machine::TallyLayout layout_;
  llvm::BasicBlock* entry_ = nullptr;
  std::vector<Sum> sums_;
};

}  // namespace coalesce::native
