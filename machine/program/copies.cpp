#include "machine/program/copies.h"

#include "machine/program/requests.h"

namespace coalesce::machine {
namespace {

// Lanes next to each other: no two share a bank or a word.
bool neighbours(const Decoded& p, const MemoryOp& m) {
  if (!m.address.is_reg()) return false;
  const Register& r = p.registers[m.address.reg];
  return r.lanes == LaneClass::affine && r.stride == static_cast<int64_t>(m.bytes());
}

// One side's request: its address, and the other side's as an operand.
MemoryOp request(const Decoded& p, const MemoryOp& own, const MemoryOp& other, uint32_t other_side) {
  MemoryOp m;
  m.space = own.space;
  m.width = own.width;
  m.count = own.count;
  m.address = own.address;
  m.offset = own.offset;
  m.is_copy = true;
  m.past_l1 = own.past_l1;
  m.other_side = other_side;
  m.values[0] = other.address;
  const bool is_32 = other.address.is_reg() && p.registers[other.address.reg].element == Element::b32;
  m.value_bytes[0] = is_32 ? 4 : 8;
  return m;
}

}  // namespace

void count_copies(Decoded& p) {
  std::vector<AddedRequest> requests;
  uint32_t load_at = kNone;  // the instruction of the last load of a cp.async: its store follows it
  for (uint32_t k = 0; k < p.code.size(); ++k) {
    const Instruction& i = p.code[k];
    if (i.memory == kNone || !p.memory[i.memory].is_copy) continue;
    const MemoryOp& m = p.memory[i.memory];
    if (i.kind == Kind::load) {
      load_at = k;
      continue;
    }
    if (m.other_side == kNone) continue;
    const uint32_t load_index = m.other_side;
    const MemoryOp& load = p.memory[load_index];
    if (m.past_l1)
      requests.push_back({load_at, request(p, load, m, i.memory), load.site});
    else if (!neighbours(p, load) || !neighbours(p, m))
      requests.push_back({load_at, request(p, m, load, load_index), m.site});
  }
  add_requests(p, requests);
}

}  // namespace coalesce::machine
