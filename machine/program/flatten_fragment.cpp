// wmma.load and wmma.store: a fragment's registers are loaded and stored by ordinary accesses, the ones that ptxas 13.0
// makes for sm_90:
//
// - Loads from shared memory of f16, and of 8-bit integers along the rows: ldmatrix, 16 rows (or all) at a time.
// - Other loads of factors: a register of all lanes at a time, 4 bytes a lane. Across the rows 16-bit elements are
// loaded
//   as if the tile were transposed, then transposed by movmatrix, and smaller ones loaded one by one.
// - Sums: along the rows two elements a lane at once, across one by one; halves as above.
#include <algorithm>

#include "machine/program/flatten.h"
#include "machine/program/matrix_shapes.h"

namespace coalesce::machine {

// A fragment in memory: `line` bytes from one line of it to the next; each access adds its place to `base`.
struct Flattener::Fragment {
  MemoryOp op;
  Value base, line, group, part;  // lane / 4, lane % 4
  CellType cell = CellType::none;
  bool along = false;  // a tile's rows are lines
};

// The address of element `place` of line `line`: constants, and what the lane's number adds.
MemoryOp Flattener::matrix_place(const Fragment& f, uint32_t line, Value lane_line, uint32_t place, Value lane_place) {
  const auto add = [&](Value a, uint32_t b) {
    if (a.is_constant()) return Value::imm(a.bits + b);
    return b ? Value::of(matrix_pure("add.s32", Element::b32, {a, Value::imm(b)})) : a;
  };
  const uint32_t bits = bits_of(f.cell);
  const Value of_line = Value::of(matrix_pure("mul.wide.u32", Element::b64, {add(lane_line, line), f.line}));
  Value within = add(lane_place, place);
  within = within.is_constant() ? Value::imm(within.bits * bits / 8)
           : bits >= 8          ? Value::of(matrix_pure("mul.wide.u32", Element::b64, {within, Value::imm(bits / 8)}))
                                : Value::of(matrix_pure(
                             "mul.wide.u32", Element::b64,
                             {Value::of(matrix_pure("shr.u32", Element::b32, {within, Value::imm(bits == 4 ? 1 : 3)})),
                                       Value::imm(1)}));
  MemoryOp op = f.op;
  const uint32_t at = matrix_pure("add.s64", Element::b64, {f.base, of_line});
  op.address = Value::of(matrix_pure("add.s64", Element::b64, {Value::of(at), within}));
  return op;
}

// Tile's register of a factor, or of sums in halves: 4 bytes a lane (8 of f64).
void Flattener::load_tile(const Fragment& f, const Tile& t, uint32_t result) {
  const uint32_t bits = bits_of(f.cell), run = run_of(f.cell);
  const auto load = [&](MemoryOp op, uint32_t bytes, uint32_t r) {
    op.width = static_cast<uint8_t>(bytes);
    op.values[0] = Value::of(r);
    op.value_bytes[0] = static_cast<uint8_t>(bytes_of(out_.registers[r].element));
    matrix_access(Kind::load, op, kLanes);
  };
  const auto times = [&](Value v, uint32_t n) {
    return n == 1 ? v : Value::of(matrix_pure("mul.lo.s32", Element::b32, {v, Value::imm(n)}));
  };
  if (f.along)
    return load(matrix_place(f, t.row, f.group, t.column, times(f.part, run)), std::max(4u, bits / 8), result);
  if (bits == 16) {
    const uint32_t turned = new_register(Element::b32);
    load(matrix_place(f, t.column, f.group, t.row, times(f.part, 2)), 4, turned);
    MatrixForm m;
    m.action = MatrixForm::Action::transpose;
    emit_matrix(m, {turned}, {result}, false, false);
    return;
  }
  if (bits >= 32) return load(matrix_place(f, t.column, f.part, t.row, f.group), bits / 8, result);
  Value word;
  for (uint32_t e = 0; e < run; ++e) {  // bytes
    const uint32_t r = new_register(Element::b32);
    load(matrix_place(f, t.column + e, times(f.part, run), t.row, f.group), 1, r);
    const Value moved =
        e ? Value::of(matrix_pure("shl.b32", Element::b32, {Value::of(r), Value::imm(8 * e)})) : Value::of(r);
    word = e ? Value::of(matrix_pure("or.b32", Element::b32, {word, moved})) : moved;
  }
  matrix_move(result, word);
}

// wmma.load.shared of what ldmatrix can load: as many tiles at once as 16 rows have, or all.
void Flattener::load_rows(const Fragment& f, const std::vector<Tile>& tiles, bool left,
                          const std::vector<uint32_t>& results) {
  const uint32_t columns = 4 * run_of(f.cell);
  uint32_t across = 0;
  for (const Tile& t : tiles) across = std::max(across, t.column / columns + 1u);
  const std::size_t chunk = std::min<std::size_t>(tiles.size(), 2 * across);
  const Value lane = Value::of(builtin(Builtin::laneid));
  const auto bit = [&](uint32_t which, uint32_t weight) {  // of the lane's number, as so many rows or columns
    const uint32_t shifted = matrix_pure("shr.u32", Element::b32, {lane, Value::imm(which)});
    const uint32_t one = matrix_pure("and.b32", Element::b32, {Value::of(shifted), Value::imm(1)});
    return Value::of(matrix_pure("mul.lo.s32", Element::b32, {Value::of(one), Value::imm(weight)}));
  };
  // Tiles of the left factor go down first, of the right one across.
  const uint32_t down = left || across == 1 ? 3 : 4, over = left ? 4 : 3;
  const uint32_t eighth = matrix_pure("and.b32", Element::b32, {lane, Value::imm(7)});
  const bool several_rows = chunk > across;
  for (std::size_t first = 0; first < tiles.size(); first += chunk) {
    const Tile& t = tiles[first];
    Value row = several_rows ? bit(down, 8) : Value::imm(0), column = across > 1 ? bit(over, columns) : Value::imm(0);
    const auto with_eighth = [&](Value v) {
      return v.is_constant() ? Value::of(eighth)
                             : Value::of(matrix_pure("add.s32", Element::b32, {v, Value::of(eighth)}));
    };
    const MemoryOp op = f.along ? matrix_place(f, t.row, with_eighth(row), t.column, column)
                                : matrix_place(f, t.column, with_eighth(column), t.row, row);
    matrix_spread(op, static_cast<uint8_t>(chunk), !f.along,
                  {results.begin() + static_cast<std::ptrdiff_t>(first),
                   results.begin() + static_cast<std::ptrdiff_t>(first + chunk)});
  }
}

// Sums of 4 or 8 bytes: two registers a tile.
void Flattener::access_sums(Kind kind, const Fragment& f, const Tile& t, const uint32_t* registers) {
  const uint32_t bytes = bits_of(f.cell) / 8;
  const Value two = Value::of(matrix_pure("shl.b32", Element::b32, {f.part, Value::imm(1)}));
  const auto access = [&](MemoryOp op, uint32_t first, uint32_t count) {
    op.width = static_cast<uint8_t>(bytes);
    op.count = static_cast<uint8_t>(count);
    for (uint32_t e = 0; e < count; ++e) {
      op.values[e] = Value::of(registers[first + e]);
      op.value_bytes[e] = static_cast<uint8_t>(bytes);
    }
    matrix_access(kind, op, kLanes);
  };
  if (f.along) return access(matrix_place(f, t.row, f.group, t.column, two), 0, 2);
  for (uint32_t e = 0; e < 2; ++e) access(matrix_place(f, t.column + e, two, t.row, f.group), e, 1);
}

// wmma.load.{a,b,c}.sync.aligned.LAYOUT.SHAPE{.SPACE}.TYPE r, [p] {, stride}; wmma.store.d... [p], r {, stride}
void Flattener::matrix_fragment() {
  const bool store = m_->has("store");
  Shape shape;
  Fragment f;
  char which = 0;
  bool row = false, layout = false;
  AddressSpace space = AddressSpace::generic;
  for (std::string_view s : m_->suffixes) {
    if (s == "load" || s == "store" || s == "sync" || s == "aligned" || shape_from(s, &shape)) continue;
    if (s == "a" || s == "b" || s == "c" || s == "d")
      which = s[0];
    else if (s == "row" || s == "col")
      row = s == "row", layout = true;
    else if (s == "global")
      space = AddressSpace::global;
    else if (s == "shared" || s == "shared::cta")
      space = AddressSpace::shared;
    else if (cell_from(s) != CellType::none)
      f.cell = cell_from(s);
    else
      return unknown();
  }
  const std::size_t operands = in_->operands.size();
  if (!layout || f.cell == CellType::none || !shape.k || operands < 2 || operands > 3 || (which == 'd') != store)
    return unknown();
  const bool factor = which == 'a' || which == 'b', turned = shape.m == 8 && shape.n == 32;
  if (factor && !has_shape(kWmma, f.cell, shape)) return unknown();
  if (!factor && f.cell != CellType::f16 && f.cell != CellType::f32 && f.cell != CellType::s32 &&
      f.cell != CellType::f64)
    return unknown();
  const bool left = turned ? which == 'b' : which == 'a';
  // Whether a line of memory is a row of the tiles: columns of the right factor and of a transposed product are.
  f.along = which == 'b' ? !row : factor ? row : row != turned;
  if (bits_of(f.cell) < 8 && !f.along) return unknown();
  const uint32_t m = turned ? shape.n : shape.m, n = turned ? shape.m : shape.n;
  const std::vector<Tile> tiles = !factor ? sum_tiles(m, n)
                                  : left  ? left_tiles(m, shape.k, f.cell)
                                          : right_tiles(n, shape.k, f.cell);
  const std::vector<uint32_t> registers = matrix_registers(in_->operands[store ? 1 : 0], element_of(f.cell));
  const std::size_t wanted = tiles.size() * (factor ? 1 : registers_of_sums(f.cell));
  if (registers.size() < wanted || (!factor && registers.size() != wanted))
    return unknown("wrong number or size of registers for '" + in_->mnemonic + "'");
  matrix_meet();
  f.op = address(in_->operands[store ? 0 : 1]);
  f.op.space = space;
  f.base = f.op.address.is_reg() ? fitted(f.op.address, Element::b64) : f.op.address;
  const uint32_t across = which == 'a' ? shape.k : which == 'b' ? (row ? shape.n : shape.k) : shape.n;
  const uint32_t minor = which == 'a' ? (row ? shape.k : shape.m) : which == 'b' ? across : row ? shape.n : shape.m;
  const Value stride = operands == 3 ? value(in_->operands[2], Element::b32) : Value::imm(minor);
  const uint32_t bits = bits_of(f.cell);
  f.line = stride.is_constant() ? Value::imm(stride.bits * bits / 8)
           : bits >= 8          ? Value::of(matrix_pure("mul.lo.s32", Element::b32, {stride, Value::imm(bits / 8)}))
                       : Value::of(matrix_pure("shr.u32", Element::b32, {stride, Value::imm(bits == 4 ? 1 : 3)}));
  const Value lane = Value::of(builtin(Builtin::laneid));
  f.group = Value::of(matrix_pure("shr.u32", Element::b32, {lane, Value::imm(2)}));
  f.part = Value::of(matrix_pure("and.b32", Element::b32, {lane, Value::imm(3)}));
  if (factor) {
    const bool by_rows = space == AddressSpace::shared &&
                         (f.cell == CellType::f16 || ((f.cell == CellType::s8 || f.cell == CellType::u8) && f.along));
    if (by_rows) {
      load_rows(f, tiles, left, {registers.begin(), registers.begin() + static_cast<std::ptrdiff_t>(tiles.size())});
    } else {
      for (std::size_t t = 0; t < tiles.size(); ++t) load_tile(f, tiles[t], registers[t]);
    }
    // Halves fill eight registers in every shape.
    for (std::size_t r = tiles.size(); r < registers.size(); ++r)
      matrix_move(registers[r], Value::of(registers[r % tiles.size()]));
    return;
  }
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    if (f.cell != CellType::f16) {
      access_sums(store ? Kind::store : Kind::load, f, tiles[t], registers.data() + 2 * t);
    } else if (!store) {
      load_tile(f, tiles[t], registers[t]);
    } else {
      store_halves(f, tiles[t], registers[t]);
    }
  }
}

void Flattener::store_halves(const Fragment& f, const Tile& t, uint32_t from) {
  const Value two = Value::of(matrix_pure("shl.b32", Element::b32, {f.part, Value::imm(1)}));
  if (!f.along) {
    const uint32_t turned = new_register(Element::b32);
    MatrixForm m;
    m.action = MatrixForm::Action::transpose;
    emit_matrix(m, {from}, {turned}, false, false);
    from = turned;
  }
  MemoryOp op =
      f.along ? matrix_place(f, t.row, f.group, t.column, two) : matrix_place(f, t.column, f.group, t.row, two);
  op.width = 4;
  op.values[0] = Value::of(from);
  op.value_bytes[0] = 4;
  matrix_access(Kind::store, op, kLanes);
}

}  // namespace coalesce::machine
