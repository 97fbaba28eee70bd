#include "native/analyse/shared_access.h"

#include <set>
#include <utility>

namespace coalesce::native {

using machine::AddressSpace;
using machine::AtomicOp;
using machine::Kind;

bool in_bounds(const Decoded& p, const MemoryOp& m) {
  const int64_t bytes = m.bytes(), size = static_cast<int64_t>(p.static_shared_bytes);
  if (!m.address.is_reg()) {
    const int64_t at = static_cast<int64_t>(m.address.bits) + m.offset;
    return at >= 0 && at + bytes <= size && at % bytes == 0;
  }
  const Register& r = p.registers[m.address.reg];
  // The range holds every lane's address.
  return r.range.known() && r.range.low + m.offset >= 0 && r.range.high + m.offset + bytes <= size &&
         r.alignment % bytes == 0 && (r.lanes != LaneClass::affine || r.stride % bytes == 0) && m.offset % bytes == 0 &&
         r.range.high < (int64_t{1} << 31);
}

bool cannot_fault(const Decoded& p, const MemoryOp& m) { return m.space == AddressSpace::shared && in_bounds(p, m); }

bool is_order_free(const Decoded& p, const MemoryOp& m) {
  if (m.is_volatile || m.width > 8 || (m.count & (m.count - 1)) != 0 || m.bytes() > 16 || !cannot_fault(p, m))
    return false;
  if (!m.address.is_reg()) return true;
  const Register& r = p.registers[m.address.reg];
  return r.lanes <= LaneClass::warp_uniform || (r.lanes == LaneClass::affine && r.stride == int64_t{m.bytes()});
}

bool is_simple_atomic(const Decoded& p, const Instruction& i) {
  if (i.kind != Kind::atomic) return false;
  const MemoryOp& m = p.memory[i.memory];
  const bool simple = m.op == AtomicOp::add || m.op == AtomicOp::min || m.op == AtomicOp::max ||
                      m.op == AtomicOp::and_ || m.op == AtomicOp::or_ || m.op == AtomicOp::xor_ ||
                      m.op == AtomicOp::exch;
  return m.space == AddressSpace::shared && m.width == 4 && m.count == 1 && m.number <= machine::Number::signed_ &&
         simple && m.site != kNone && (!m.values[0].is_reg() || p.registers[m.values[0].reg].element == Element::b32);
}

uint32_t find_memo_ways(const Registers& registers, std::size_t memo_bytes) {
  constexpr uint32_t kMost = 8;
  const std::size_t memos = 24 * 1024 / memo_bytes;
  const Decoded& p = registers.program();
  std::set<std::pair<uint32_t, int64_t>> addresses;  // of no closed-form cost
  for (const Instruction& i : p.code)
    if (i.kind == Kind::load || i.kind == Kind::store) {
      const MemoryOp& m = p.memory[i.memory];
      if (m.space == AddressSpace::shared && m.address.is_reg() && !registers.is_scalar(m.address.reg))
        addresses.insert({m.address.reg, m.offset});
    }
  uint32_t ways = kMost;
  while (ways > 1 && ways * addresses.size() * registers.warps() > memos) ways /= 2;
  return ways;
}

}  // namespace coalesce::native
