// Registers of tiles and accesses to memory, for all instructions on matrices.
#pragma once

#include "machine/program/flatten/builder.h"
#include "machine/program/matrix_shapes.h"

namespace coalesce::machine::flattening {

// The registers of an operand, widened or narrowed never: empty if one of them is of another size, or is none.
std::vector<uint32_t> matrix_registers(const Builder& b, const ptx::Operand& o, Element element);

Instruction& emit_matrix(Builder& b, const MatrixForm& form, const std::vector<uint32_t>& sources,
                         std::vector<uint32_t> results, bool meets, bool counts);
// The instruction's first part, where its lanes meet; it counts.
void meet(Builder& b);
// To a register of the program: only in lanes that the guard permits.
void matrix_move(Builder& b, uint32_t to, Value from);
// An access of the instruction that does not count as one; `first`: of the lanes below that number.
void matrix_access(Builder& b, Kind kind, MemoryOp op, uint32_t first);
// Eight lanes a matrix load 16 bytes each; then the lanes have `count` tiles.
void load_matrices(Builder& b, MemoryOp op, uint8_t count, bool transposed, std::vector<uint32_t> results);

}  // namespace coalesce::machine::flattening
