// wgmma: products of a group of four warps, each of which has 16 of the left factor's 64 rows and all columns.
//
// Done at once, when it is issued: a legal outcome, since the program may change neither operands nor sums before it
// has waited. So fence, commit_group and wait_group have no effect. Factors in shared memory are read as by ldmatrix,
// not counted: an H100 counts no wavefronts of shared memory for them. Sparse products (.sp) add up as those of mma.sp.
#include <algorithm>

#include "machine/program/flatten/matrix.h"
#include "machine/program/flatten/opcodes.h"

namespace coalesce::machine::flattening {

namespace {

struct GroupRow {
  CellType cell;
  uint16_t k;
};
constexpr GroupRow kGroup[] = {{CellType::f16, 16},  {CellType::bf16, 16}, {CellType::tf32, 8}, {CellType::e4m3, 32},
                               {CellType::e5m2, 32}, {CellType::s8, 32},   {CellType::u8, 32},  {CellType::b1, 256}};

// Multiples of 8 up to 256; of integers those above 32 are multiples of 16.
bool has_group_shape(CellType cell, const Shape& s) {
  if (s.m != 64 || s.n % 8 || s.n > 256 || (!is_float(cell) && s.n > 32 && s.n % 16)) return false;
  return std::any_of(std::begin(kGroup), std::end(kGroup),
                     [&](const GroupRow& r) { return r.cell == cell && r.k == s.k; });
}

// The tiles that a descriptor describes, in registers.
std::vector<uint32_t> described_tiles(Builder& b, const ptx::Operand& descriptor, bool left, bool transposed,
                                      std::size_t count, uint8_t deep) {
  const Value from = b.value(descriptor, Element::b64);
  std::vector<uint32_t> tiles;
  for (std::size_t t = 0; t < count; ++t) tiles.push_back(b.new_register(Element::b32));
  for (std::size_t first = 0; first < count; first += 4) {
    const std::size_t last = std::min(count, first + 4);
    MatrixForm f;
    f.action = MatrixForm::Action::describe;
    f.own_rows = left;
    f.deep = deep;
    f.transposed = transposed;
    f.first = static_cast<uint16_t>(first);
    const uint32_t at = b.new_register(Element::b32);
    Instruction& i = emit_matrix(b, f, {}, {at}, false, false);
    i.sources = {from};
    MemoryOp op;
    op.space = AddressSpace::shared;
    op.silent = true;
    op.address = Value::of(at);
    load_matrices(
        b, op, static_cast<uint8_t>(last - first), transposed,
        {tiles.begin() + static_cast<std::ptrdiff_t>(first), tiles.begin() + static_cast<std::ptrdiff_t>(last)});
  }
  return tiles;
}

}  // namespace

// wgmma.mma_async{.sp}.sync.aligned.SHAPE.D.A.B{.satfinite}{.op.popc} d, a, b, {metadata, selector,} whether d is added
// {, sign a, sign b}{, a transposed}{, b transposed}: a is a descriptor or registers, b a descriptor.
void group_matrix(Builder& b) {
  if (b.m->has("fence")) return nothing(b);
  if (b.m->has("commit_group") || b.m->has("wait_group"))
    return groups(b, Nothing::products_commit, Nothing::products_wait);
  Shape shape;
  std::vector<CellType> types;
  MatrixForm f;
  f.action = MatrixForm::Action::multiply;
  f.group = true;
  for (std::string_view s : b.m->suffixes) {
    if (s == "sp") {
      f.sparse = true;
      continue;
    }
    if (s == "mma_async" || s == "sync" || s == "aligned" || s == "popc" || shape_from(s, &shape)) continue;
    if (s == "satfinite")
      f.saturate = true;
    else if (s == "and")
      f.and_bits = true;
    else if (cell_from(s) != CellType::none)
      types.push_back(cell_from(s));
    else
      return b.unknown();
  }
  const auto& ops = b.in->operands;
  const std::size_t extra = f.sparse ? 2 : 0;
  if (types.size() != 3 || ops.size() < 4 + extra || ops[0].kind != Operand::vector) return b.unknown();
  f.result = f.addend = types[0], f.left = types[1], f.right = types[2];
  const uint16_t dense = f.sparse ? shape.k / 2 : shape.k;  // columns that the left factor has
  if (f.sparse && (shape.k % 2 || f.left == CellType::b1)) return b.unknown();
  if (!has_group_shape(f.left, {shape.m, shape.n, dense}) || !may_multiply(f.left, f.right) ||
      !may_sum(f.left, f.result))
    return b.unknown();
  f.m = 16, f.n = shape.n, f.k = shape.k, f.block = dense;
  const bool halves = bits_of(f.left) == 16, in_registers = ops[1].kind == Operand::vector;
  const std::size_t given = !is_float(f.left) ? 4 : !halves ? 6 : in_registers ? 7 : 8;
  if (ops.size() != given + extra) return b.unknown("wrong number of operands for '" + b.in->mnemonic + "'");
  std::array<int64_t, 4> numbers{1, 1, 0, 0};  // signs; transposed
  for (std::size_t k = 4; k < given; ++k) {
    if (ops[k + extra].kind != Operand::integer) return b.unknown("a number is expected in '" + b.in->mnemonic + "'");
    numbers[k - 4 + (k >= 6 && in_registers ? 1 : 0)] = static_cast<int64_t>(ops[k + extra].bits);
  }
  f.negative = numbers[0] * numbers[1] < 0;
  const std::size_t lefts = left_tiles(f.m, dense, f.left).size(), rights = right_tiles(f.n, f.k, f.right).size();
  const std::vector<uint32_t> results = matrix_registers(b, ops[0], Element::b32);
  if (results.size() != sum_tiles(f.m, f.n).size() * registers_of_sums(f.result))
    return b.unknown("wrong number or size of registers for '" + b.in->mnemonic + "'");
  std::vector<uint32_t> metadata;
  if (f.sparse) {
    metadata = matrix_registers(b, ops[3], Element::b32);
    if (metadata.size() != 1 || ops[4].kind != Operand::integer || ops[4].bits * lanes_of_metadata(f) >= 4)
      return b.unknown("wrong metadata or selector for '" + b.in->mnemonic + "'");
    f.selector = static_cast<uint8_t>(ops[4].bits);
  }
  meet(b);
  std::vector<uint32_t> sources = in_registers ? matrix_registers(b, ops[1], Element::b32)
                                               : described_tiles(b, ops[1], true, numbers[2] != 0, lefts, 2);
  if (sources.size() != lefts) return b.unknown("wrong number or size of registers for '" + b.in->mnemonic + "'");
  const std::vector<uint32_t> right = described_tiles(b, ops[2], false, numbers[3] != 0, rights, f.sparse ? 4 : 2);
  sources.insert(sources.end(), right.begin(), right.end());
  const Value added = b.value(ops[3 + extra], Element::pred);
  for (const uint32_t r : results) sources.push_back(b.compute("selp.b32", {Value::of(r), Value::imm(0), added}).reg);
  sources.insert(sources.end(), metadata.begin(), metadata.end());
  emit_matrix(b, f, sources, results, false, false);
}

}  // namespace coalesce::machine::flattening
