// Values between registers and memory.
#pragma once

#include "native/emit/emitter.h"

namespace coalesce::native {

// Element k of every lane (or the one of all lanes) as memory has it, to its register.
void load_result(Emitter& e, const MemoryOp& m, std::size_t k, Value* element, const Active& active);
// The value that a store writes as element k: <32 x iN>.
Value* store_value(Emitter& e, const MemoryOp& m, std::size_t k);

// All lanes at pointer + lane * bytes. `pad`: memory beyond the lanes that are on may be read and written back.
// `place`: where interleaved elements go that are loaded; null: to their registers.
void move_contiguous(Emitter& e, const Instruction& i, Value* pointer, unsigned alignment, const Active& active,
                     bool pad, llvm::AllocaInst* place = nullptr);
// All lanes at one address.
void move_uniform(Emitter& e, const Instruction& i, Value* pointer, const Active& active);
// Lane l at base + offsets[l], bytes below 2^31. `pad`: lanes that are off may be read. `apart`: no two lanes at one
// address.
void load_scattered(Emitter& e, const Instruction& i, Value* base, Value* offsets, const Active& active, bool pad);
void store_scattered(Emitter& e, const Instruction& i, Value* base, Value* offsets, const Active& active, bool apart);

}  // namespace coalesce::native
