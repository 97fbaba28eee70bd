#include "native/emit/memory.h"

#include "native/emit/atomics.h"
#include "native/emit/global.h"
#include "native/emit/hoisted_access.h"
#include "native/emit/interpreter.h"
#include "native/emit/registers.h"
#include "native/emit/shared.h"

namespace coalesce::native {

using namespace llvm;
using machine::AddressSpace;
using machine::Kind;

void emit_memory(Emitter& e, uint32_t index, const Active& active) {
  const Instruction& i = e.p.code[index];
  const MemoryOp& m = e.p.memory[i.memory];
  if (const auto hoisted = e.region.hoisted.find(index); hoisted != e.region.hoisted.end())
    return emit_hoisted_access(e, index, hoisted->second, active);
  const bool plain = (i.kind == Kind::load || i.kind == Kind::store) && m.width <= 8 &&
                     (m.count & (m.count - 1)) == 0 && m.bytes() <= 16;
  LaneClass lanes = LaneClass::constant;
  int64_t stride = 0;
  if (m.address.is_reg()) {
    lanes = e.p.registers[m.address.reg].lanes;
    stride = e.p.registers[m.address.reg].stride;
  }
  const bool uniform = lanes <= LaneClass::warp_uniform;
  const bool contiguous = lanes == LaneClass::affine && stride == static_cast<int64_t>(m.bytes());
  if (plain && (m.space == AddressSpace::global || m.space == AddressSpace::constant)) {
    const Element element = m.address.is_reg() ? e.p.registers[m.address.reg].element : Element::b64;
    // Under a mask LLVM may move a load; one that waits for other blocks must stay where it is.
    const bool moves = m.is_volatile && active.mask;
    if (uniform || (contiguous && !moves))
      return emit_global(e, index, active, uniform, scalar_of(e, m.address, element), nullptr);
    if (lanes == LaneClass::general && element == Element::b64 && !moves) return emit_global_general(e, index, active);
  }
  if (plain && m.space == AddressSpace::shared) {
    if (uniform || lanes == LaneClass::affine) return emit_shared(e, index, active, stride);
    if (m.address.is_reg() && e.p.registers[m.address.reg].element == Element::b32)
      return emit_shared_general(e, index, active);
  }
  if (emit_shared_atomic(e, index, active)) return;
  call_interpreter(e, index, active);
}

}  // namespace coalesce::native
