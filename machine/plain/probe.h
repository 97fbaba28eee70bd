// PTX whose lane of interest leaves its registers in memory: a store stands after each instruction that writes one. The
// same text, run by two executors, shows the first register in which they differ (api/shadow.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "machine/ptx/module.h"

namespace coalesce::machine::plain {

// One instruction of the kernel and a register that it writes.
struct Probe {
  const ptx::Instruction* instruction = nullptr;
  uint32_t reg = 0;  // index into the kernel's registers
};

inline constexpr uint64_t kProbeBytes = 8;  // of each in the buffer

// `text` with the stores of `probes`, which that thread executes; probe k leaves its register's last value in the 8
// bytes at buffer + 8 * k. An instruction that does not have its line to itself gets no store, nor does a register that
// a store cannot take whole; their bytes stay as they are. Empty: there is no place to begin.
std::string with_probes(const std::string& text, const ptx::Function& kernel, const std::vector<Probe>& probes,
                        const std::array<uint32_t, 3>& block, const std::array<uint32_t, 3>& thread, uint64_t buffer);

}  // namespace coalesce::machine::plain
