// mma, wmma, ldmatrix, stmatrix, movmatrix. What a warp does with its registers is a Kind::collective; memory is read
// and written by ordinary accesses, the ones that ptxas 13.0 makes for sm_90 (read in its machine code):
//
// - ldmatrix: each of eight lanes a matrix loads a row of 16 bytes.
// - wmma.load and wmma.store: fragment.cpp.
#include "machine/program/flatten/matrix.h"

#include "machine/program/flatten/opcodes.h"

namespace coalesce::machine::flattening {

namespace {

using Action = MatrixForm::Action;

}  // namespace

std::vector<uint32_t> matrix_registers(const Builder& b, const ptx::Operand& o, Element element) {
  std::vector<uint32_t> found;
  const auto add = [&](const ptx::Operand& e) {
    const uint32_t r = e.kind == Operand::reg && e.reg >= 0 ? b.mapped(e.reg) : kNone;
    if (r == kNone || b.element(r) != element) return false;
    found.push_back(r);
    return true;
  };
  if (o.kind != Operand::vector) return add(o) ? found : std::vector<uint32_t>{};
  for (const ptx::Operand& e : o.elements)
    if (!add(e)) return {};
  return found;
}

Instruction& emit_matrix(Builder& b, const MatrixForm& form, const std::vector<uint32_t>& sources,
                         std::vector<uint32_t> results, bool meets, bool counts) {
  b.out.matrices.push_back(form);
  Instruction& i = b.emit(Kind::collective);
  i.matrix = static_cast<uint32_t>(b.out.matrices.size() - 1);
  i.targets = std::move(results);
  for (const uint32_t r : sources) i.sources.push_back(Value::of(r));
  i.names_lanes = meets;
  if (meets) i.sources.push_back(Value::imm(~0u));
  i.counts = counts;
  return i;
}

void meet(Builder& b) { emit_matrix(b, {}, {}, {}, true, true); }

void matrix_move(Builder& b, uint32_t to, Value from) {
  Instruction& i = b.emit(Kind::pure);
  i.pure = find_pure("mov.b32");
  i.counts = false;
  i.results[0] = to;
  i.sources = {from};
}

void matrix_access(Builder& b, Kind kind, MemoryOp op, uint32_t first) {
  uint32_t guard = kNone;
  if (first < kLanes) {
    const Value below = b.compute("setp.lt.u32", {Value::of(b.builtin(Builtin::laneid)), Value::imm(first)});
    guard = below.reg;
    if (b.in->guard >= 0) {
      const Value own = Value::of(b.mapped(b.in->guard));
      const Value on = b.in->guard_negated ? b.compute("not.pred", {own}) : own;
      guard = b.compute("and.pred", {below, on}).reg;
    }
  }
  b.emit_access(kind, op, guard, false);
}

void load_matrices(Builder& b, MemoryOp op, uint8_t count, bool transposed, std::vector<uint32_t> results) {
  const uint32_t row = b.new_register(Element::b128);
  op.width = 16;
  op.is_row = true;
  op.values[0] = Value::of(row);
  op.value_bytes[0] = 16;
  matrix_access(b, Kind::load, op, 8u * count);
  MatrixForm f;
  f.action = Action::spread;
  f.count = count;
  f.transposed = transposed;
  emit_matrix(b, f, {row}, std::move(results), false, false);
}

// {ld,st}matrix.sync.aligned.m8n8.{x1,x2,x4}{.trans}{.shared}.b16
void move_matrix(Builder& b) {
  const bool load = b.m->opcode == "ldmatrix", store = b.m->opcode == "stmatrix";
  MatrixForm f;
  bool m8n8 = false, b16 = false;
  MemoryOp op;
  for (std::string_view s : b.m->suffixes) {
    if (s == "sync" || s == "aligned") continue;
    if (s == "m8n8")
      m8n8 = true;
    else if ((s == "x1" || s == "x2" || s == "x4") && (load || store))
      f.count = static_cast<uint8_t>(s[1] - '0');
    else if (s == "trans")
      f.transposed = true;
    else if (s == "b16")
      b16 = true;
    else if ((s == "shared" || s == "shared::cta") && (load || store))
      op.space = AddressSpace::shared;
    else if (s == "m16n16" || s == "m8n16" || s == "m16n8")
      return b.unknown("'" + b.in->mnemonic + "' needs compute capability 10.0 (sm_100a); the device has 9.0");
    else
      return b.unknown();
  }
  if (!m8n8 || !b16 || b.in->operands.size() != 2) return b.unknown();
  const std::vector<uint32_t> registers = matrix_registers(b, b.in->operands[store ? 1 : 0], Element::b32);
  if (!load && !store) {
    const std::vector<uint32_t> from = matrix_registers(b, b.in->operands[1], Element::b32);
    if (!f.transposed || from.size() != 1 || registers.size() != 1) return b.unknown();
    f.action = Action::transpose;
    emit_matrix(b, f, from, registers, true, true);
    return;
  }
  if (f.count == 0 || registers.size() != f.count) return b.unknown();
  const AddressSpace space = op.space;
  op = b.address(b.in->operands[load ? 1 : 0]);
  op.space = space;
  if (load) {
    meet(b);
    return load_matrices(b, op, f.count, f.transposed, registers);
  }
  f.action = Action::gather;
  const uint32_t row = b.new_register(Element::b128);
  emit_matrix(b, f, registers, {row}, true, true);
  op.width = 16;
  op.values[0] = Value::of(row);
  op.value_bytes[0] = 16;
  matrix_access(b, Kind::store, op, 8u * f.count);
}

namespace {

// mma.sync.aligned.m8n8k4.{row,col}.{row,col}.D.f16.f16.C
bool is_quads(const Shape& s, const std::vector<CellType>& types, bool saturate) {
  return s.m == 8 && s.n == 8 && s.k == 4 && types[1] == CellType::f16 && types[2] == CellType::f16 && !saturate &&
         may_sum(CellType::f16, types[0]) && may_sum(CellType::f16, types[3]) &&
         (types[3] == CellType::f16 || types[0] == CellType::f32);
}

void quad_multiply(Builder& b, MatrixForm f, const std::vector<bool>& by_column) {
  if (by_column.size() != 2) return b.unknown();
  f.m = f.n = 8, f.k = 4;
  f.quads = true;
  f.by_column[0] = by_column[0], f.by_column[1] = by_column[1];
  std::vector<uint32_t> sources;
  for (std::size_t k = 1; k < 4; ++k) {
    const std::vector<uint32_t> more = matrix_registers(b, b.in->operands[k], Element::b32);
    const std::size_t wanted = k < 3 ? 2 : f.addend == CellType::f16 ? 4 : 8;
    if (more.size() != wanted) return b.unknown("wrong number or size of registers for '" + b.in->mnemonic + "'");
    sources.insert(sources.end(), more.begin(), more.end());
  }
  const std::vector<uint32_t> results = matrix_registers(b, b.in->operands[0], Element::b32);
  if (results.size() != (f.result == CellType::f16 ? 4u : 8u))
    return b.unknown("wrong number or size of registers for '" + b.in->mnemonic + "'");
  emit_matrix(b, f, sources, results, true, true);
}

// The product of the shapes' and types' words of mma and wmma.mma, whose operands are d, a, b, c.
void multiply(Builder& b) {
  const bool is_wmma = b.m->opcode == "wmma";
  Shape shape;
  std::vector<CellType> types;
  MatrixForm f;
  f.action = Action::multiply;
  std::vector<bool> by_column;
  for (std::string_view s : b.m->suffixes) {
    if (s == "row" || s == "col") {
      by_column.push_back(s == "col");
      continue;
    }
    if (s == "sp" || s.starts_with("sp::")) {
      f.sparse = true;
      continue;
    }
    if (s.starts_with("kind::") || s == "block_scale")
      return b.unknown("'" + b.in->mnemonic + "' needs compute capability 12.0 (sm_120a); the device has 9.0");
    if (s == "mma" || s == "sync" || s == "aligned" || s == "xor" || s == "popc" || s == "rn" || shape_from(s, &shape))
      continue;
    if (s == "satfinite")
      f.saturate = true;
    else if (s == "and")
      f.and_bits = true;
    else if (cell_from(s) != CellType::none)
      types.push_back(cell_from(s));
    else
      return b.unknown();
  }
  if (is_wmma && types.size() == 2) types = {types[0], CellType::f16, CellType::f16, types[1]};  // of the sums alone
  if (types.size() != 4 || b.in->operands.size() != (f.sparse ? 6u : 4u)) return b.unknown();
  f.result = types[0], f.left = types[1], f.right = types[2], f.addend = types[3];
  if (!is_wmma && !f.sparse && is_quads(shape, types, f.saturate)) return quad_multiply(b, f, by_column);
  if (!(is_wmma    ? has_shape(kWmma, f.left, shape)
        : f.sparse ? has_shape(kSparse, f.left, shape)
                   : has_shape(kMma, f.left, shape)) ||
      !may_multiply(f.left, f.right) || !may_sum(f.left, f.result) || !may_sum(f.left, f.addend))
    return b.unknown();
  // Eight rows by 32 columns is the transposed product of 32 by 8.
  const bool turned = shape.m == 8 && shape.n == 32;
  f.m = turned ? shape.n : shape.m;
  f.n = turned ? shape.m : shape.n;
  f.k = shape.k;
  f.block = block_of(f, is_wmma);
  const Element factor = element_of(f.left);
  std::vector<uint32_t> left = matrix_registers(b, b.in->operands[turned ? 2 : 1], factor);
  const std::vector<uint32_t> right = matrix_registers(b, b.in->operands[turned ? 1 : 2], factor);
  const std::vector<uint32_t> addends = matrix_registers(b, b.in->operands[3], element_of(f.addend));
  const std::vector<uint32_t> results = matrix_registers(b, b.in->operands[0], element_of(f.result));
  const std::size_t lefts = left_tiles(f.m, f.sparse ? f.k / 2 : f.k, f.left).size(),
                    rights = right_tiles(f.n, f.k, f.right).size(), sums = sum_tiles(f.m, f.n).size();
  if (left.size() < lefts || right.size() < rights || addends.size() != sums * registers_of_sums(f.addend) ||
      results.size() != sums * registers_of_sums(f.result))
    return b.unknown("wrong number or size of registers for '" + b.in->mnemonic + "'");
  left.resize(lefts);
  left.insert(left.end(), right.begin(), right.begin() + static_cast<std::ptrdiff_t>(rights));
  left.insert(left.end(), addends.begin(), addends.end());
  if (f.sparse) {
    const std::vector<uint32_t> metadata = matrix_registers(b, b.in->operands[4], Element::b32);
    const ptx::Operand& selector = b.in->operands[5];
    if (metadata.size() != 1 || selector.kind != Operand::integer || selector.bits * lanes_of_metadata(f) >= 4)
      return b.unknown("wrong metadata or selector for '" + b.in->mnemonic + "'");
    left.push_back(metadata[0]);
    f.selector = static_cast<uint8_t>(selector.bits);
  }
  emit_matrix(b, f, left, results, true, true);
}

}  // namespace

void warp_matrix(Builder& b) {
  if (b.m->opcode == "wmma" && !b.m->has("mma")) return matrix_fragment(b);
  multiply(b);
}

}  // namespace coalesce::machine::flattening
