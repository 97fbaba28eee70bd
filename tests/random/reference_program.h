// A function for the naive machine: its instructions, and the reconvergence points of its branches.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "machine/ptx/module.h"

namespace coalesce::machine::test::reference {

using Lanes = std::array<uint64_t, 32>;
using Pure = uint64_t (*)(uint64_t, uint64_t, uint64_t);

enum class Action : uint8_t {
  pure,
  load,
  store,
  reduce,
  bra,
  brx,
  ret,
  barrier,
  shuffle,
  vote,
  activemask,
  redux,
  call,
  elsewhere
};
struct Decoded {
  Action action = Action::elsewhere;
  Pure pure = nullptr;
  unsigned width = 4, count = 1;
  bool sign = false, returns = false;
  std::string space, mode;
};

// A function with its meeting points: where the lanes that part at an instruction's branch come together again. Ways
// that end before the kernel's last instruction are none: whoever takes them is gone.
struct Program {
  const ptx::Function* function = nullptr;
  std::vector<Decoded> code;
  std::vector<uint32_t> meets;  // instruction -> instruction, body.size() = the end

  Program(const ptx::Function& f, bool entry);
};

}  // namespace coalesce::machine::test::reference
