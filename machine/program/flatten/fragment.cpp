// wmma.load and wmma.store: a fragment's registers are loaded and stored by ordinary accesses, the ones that ptxas 13.0
// makes for sm_90:
//
// - Loads from shared memory of f16, and of 8-bit integers along the rows: ldmatrix, 16 rows (or all) at a time.
// - Other loads of factors: a register of all lanes at a time, 4 bytes a lane. Across the rows 16-bit elements are
//   loaded as if the tile were transposed, then transposed by movmatrix, and smaller ones loaded one by one.
// - Sums: along the rows two elements a lane at once, across one by one; halves as above.
#include <algorithm>

#include "machine/program/flatten/matrix.h"
#include "machine/program/flatten/opcodes.h"

namespace coalesce::machine::flattening {

namespace {

// A fragment in memory: `line` bytes from one line of it to the next; each access adds its place to `base`.
struct Fragment {
  // The address of element `across` of line `down`: constants, and what the lane's number adds.
  MemoryOp place(uint32_t down, Value lane_down, uint32_t across, Value lane_across);
  // A register of a factor, or of sums in halves: 4 bytes a lane (8 of f64).
  void load_tile(const Tile& t, uint32_t result);
  // Loads of what ldmatrix can load: as many tiles at once as 16 rows have, or all.
  void load_rows(const std::vector<Tile>& tiles, bool left, const std::vector<uint32_t>& results);
  // Sums of 4 or 8 bytes: two registers a tile.
  void access_sums(Kind kind, const Tile& t, const uint32_t* registers);
  void store_halves(const Tile& t, uint32_t from);

  Builder& b;
  MemoryOp form = {};                                 // of all its accesses
  Value base = {}, line = {}, group = {}, part = {};  // lane / 4, lane % 4
  CellType cell = CellType::none;
  bool along = false;  // a tile's rows are lines
};

MemoryOp Fragment::place(uint32_t down, Value lane_down, uint32_t across, Value lane_across) {
  const auto add = [&](Value v, uint32_t n) {
    if (v.is_constant()) return Value::imm(v.bits + n);
    return n ? b.compute("add.s32", {v, Value::imm(n)}) : v;
  };
  const uint32_t bits = bits_of(cell);
  const Value of_line = b.compute("mul.wide.u32", {add(lane_down, down), line});
  Value within = add(lane_across, across);
  if (within.is_constant()) {
    within = Value::imm(within.bits * bits / 8);
  } else if (bits >= 8) {
    within = b.compute("mul.wide.u32", {within, Value::imm(bits / 8)});
  } else {
    within = b.compute("shr.u32", {within, Value::imm(bits == 4 ? 1 : 3)});
    within = b.compute("mul.wide.u32", {within, Value::imm(1)});
  }
  MemoryOp op = form;
  op.address = b.compute("add.s64", {b.compute("add.s64", {base, of_line}), within});
  return op;
}

void Fragment::load_tile(const Tile& t, uint32_t result) {
  const uint32_t bits = bits_of(cell), run = run_of(cell);
  const auto load = [&](MemoryOp op, uint32_t bytes, uint32_t r) {
    op.width = static_cast<uint8_t>(bytes);
    op.values[0] = Value::of(r);
    op.value_bytes[0] = static_cast<uint8_t>(bytes_of(b.element(r)));
    matrix_access(b, Kind::load, op, kLanes);
  };
  const auto times = [&](Value v, uint32_t n) { return n == 1 ? v : b.compute("mul.lo.s32", {v, Value::imm(n)}); };
  if (along) return load(place(t.row, group, t.column, times(part, run)), std::max(4u, bits / 8), result);
  if (bits == 16) {
    const uint32_t turned = b.new_register(Element::b32);
    load(place(t.column, group, t.row, times(part, 2)), 4, turned);
    MatrixForm m;
    m.action = MatrixForm::Action::transpose;
    emit_matrix(b, m, {turned}, {result}, false, false);
    return;
  }
  if (bits >= 32) return load(place(t.column, part, t.row, group), bits / 8, result);
  Value word;
  for (uint32_t e = 0; e < run; ++e) {  // bytes
    const uint32_t r = b.new_register(Element::b32);
    load(place(t.column + e, times(part, run), t.row, group), 1, r);
    const Value moved = e ? b.compute("shl.b32", {Value::of(r), Value::imm(8 * e)}) : Value::of(r);
    word = e ? b.compute("or.b32", {word, moved}) : moved;
  }
  matrix_move(b, result, word);
}

void Fragment::load_rows(const std::vector<Tile>& tiles, bool left, const std::vector<uint32_t>& results) {
  const uint32_t columns = 4 * run_of(cell);
  uint32_t across = 0;
  for (const Tile& t : tiles) across = std::max(across, t.column / columns + 1u);
  const std::size_t chunk = std::min<std::size_t>(tiles.size(), 2 * across);
  const Value lane = Value::of(b.builtin(Builtin::laneid));
  const auto bit = [&](uint32_t which, uint32_t weight) {  // of the lane's number, as so many rows or columns
    const Value one = b.compute("and.b32", {b.compute("shr.u32", {lane, Value::imm(which)}), Value::imm(1)});
    return b.compute("mul.lo.s32", {one, Value::imm(weight)});
  };
  // Tiles of the left factor go down first, of the right one across.
  const uint32_t down = left || across == 1 ? 3 : 4, over = left ? 4 : 3;
  const Value eighth = b.compute("and.b32", {lane, Value::imm(7)});
  const bool several_rows = chunk > across;
  for (std::size_t first = 0; first < tiles.size(); first += chunk) {
    const Tile& t = tiles[first];
    Value row = several_rows ? bit(down, 8) : Value::imm(0), column = across > 1 ? bit(over, columns) : Value::imm(0);
    const auto with_eighth = [&](Value v) { return v.is_constant() ? eighth : b.compute("add.s32", {v, eighth}); };
    const MemoryOp op =
        along ? place(t.row, with_eighth(row), t.column, column) : place(t.column, with_eighth(column), t.row, row);
    load_matrices(b, op, static_cast<uint8_t>(chunk), !along,
                  {results.begin() + static_cast<std::ptrdiff_t>(first),
                   results.begin() + static_cast<std::ptrdiff_t>(first + chunk)});
  }
}

void Fragment::access_sums(Kind kind, const Tile& t, const uint32_t* registers) {
  const uint32_t bytes = bits_of(cell) / 8;
  const Value two = b.compute("shl.b32", {part, Value::imm(1)});
  const auto access = [&](MemoryOp op, uint32_t first, uint32_t count) {
    op.width = static_cast<uint8_t>(bytes);
    op.count = static_cast<uint8_t>(count);
    for (uint32_t e = 0; e < count; ++e) {
      op.values[e] = Value::of(registers[first + e]);
      op.value_bytes[e] = static_cast<uint8_t>(bytes);
    }
    matrix_access(b, kind, op, kLanes);
  };
  if (along) return access(place(t.row, group, t.column, two), 0, 2);
  for (uint32_t e = 0; e < 2; ++e) access(place(t.column + e, two, t.row, group), e, 1);
}

void Fragment::store_halves(const Tile& t, uint32_t from) {
  const Value two = b.compute("shl.b32", {part, Value::imm(1)});
  if (!along) {
    const uint32_t turned = b.new_register(Element::b32);
    MatrixForm m;
    m.action = MatrixForm::Action::transpose;
    emit_matrix(b, m, {from}, {turned}, false, false);
    from = turned;
  }
  MemoryOp op = along ? place(t.row, group, t.column, two) : place(t.column, group, t.row, two);
  op.width = 4;
  op.values[0] = Value::of(from);
  op.value_bytes[0] = 4;
  matrix_access(b, Kind::store, op, kLanes);
}

}  // namespace

// wmma.load.{a,b,c}.sync.aligned.LAYOUT.SHAPE{.SPACE}.TYPE r, [p] {, stride}; wmma.store.d... [p], r {, stride}
void matrix_fragment(Builder& b) {
  const bool store = b.m->has("store");
  Shape shape;
  Fragment f{b};
  char which = 0;
  bool row = false, layout = false;
  AddressSpace space = AddressSpace::generic;
  for (std::string_view s : b.m->suffixes) {
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
      return b.unknown();
  }
  const std::size_t operands = b.in->operands.size();
  if (!layout || f.cell == CellType::none || !shape.k || operands < 2 || operands > 3 || (which == 'd') != store)
    return b.unknown();
  const bool factor = which == 'a' || which == 'b', turned = shape.m == 8 && shape.n == 32;
  if (factor && !has_shape(kWmma, f.cell, shape)) return b.unknown();
  if (!factor && f.cell != CellType::f16 && f.cell != CellType::f32 && f.cell != CellType::s32 &&
      f.cell != CellType::f64)
    return b.unknown();
  const bool left = turned ? which == 'b' : which == 'a';
  // Whether a line of memory is a row of the tiles: columns of the right factor and of a transposed product are.
  f.along = which == 'b' ? !row : factor ? row : row != turned;
  if (bits_of(f.cell) < 8 && !f.along) return b.unknown();
  const uint32_t m = turned ? shape.n : shape.m, n = turned ? shape.m : shape.n;
  const std::vector<Tile> tiles = !factor ? sum_tiles(m, n)
                                  : left  ? left_tiles(m, shape.k, f.cell)
                                          : right_tiles(n, shape.k, f.cell);
  const std::vector<uint32_t> registers = matrix_registers(b, b.in->operands[store ? 1 : 0], element_of(f.cell));
  const std::size_t wanted = tiles.size() * (factor ? 1 : registers_of_sums(f.cell));
  if (registers.size() < wanted || (!factor && registers.size() != wanted))
    return b.unknown("wrong number or size of registers for '" + b.in->mnemonic + "'");
  meet(b);
  f.form = b.address(b.in->operands[store ? 0 : 1]);
  f.form.space = space;
  f.base = f.form.address.is_reg() ? b.fitted(f.form.address, Element::b64) : f.form.address;
  const uint32_t across = which == 'a' ? shape.k : which == 'b' ? (row ? shape.n : shape.k) : shape.n;
  const uint32_t minor = which == 'a' ? (row ? shape.k : shape.m) : which == 'b' ? across : row ? shape.n : shape.m;
  const Value stride = operands == 3 ? b.value(b.in->operands[2], Element::b32) : Value::imm(minor);
  const uint32_t bits = bits_of(f.cell);
  f.line = stride.is_constant() ? Value::imm(stride.bits * bits / 8)
           : bits >= 8          ? b.compute("mul.lo.s32", {stride, Value::imm(bits / 8)})
                                : b.compute("shr.u32", {stride, Value::imm(bits == 4 ? 1 : 3)});
  const Value lane = Value::of(b.builtin(Builtin::laneid));
  f.group = b.compute("shr.u32", {lane, Value::imm(2)});
  f.part = b.compute("and.b32", {lane, Value::imm(3)});
  if (factor) {
    const bool by_rows = space == AddressSpace::shared &&
                         (f.cell == CellType::f16 || ((f.cell == CellType::s8 || f.cell == CellType::u8) && f.along));
    if (by_rows) {
      f.load_rows(tiles, left, {registers.begin(), registers.begin() + static_cast<std::ptrdiff_t>(tiles.size())});
    } else {
      for (std::size_t t = 0; t < tiles.size(); ++t) f.load_tile(tiles[t], registers[t]);
    }
    // Halves fill eight registers in every shape.
    for (std::size_t r = tiles.size(); r < registers.size(); ++r)
      matrix_move(b, registers[r], Value::of(registers[r % tiles.size()]));
    return;
  }
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    if (f.cell != CellType::f16) {
      f.access_sums(store ? Kind::store : Kind::load, tiles[t], registers.data() + 2 * t);
    } else if (!store) {
      f.load_tile(tiles[t], registers[t]);
    } else {
      f.store_halves(tiles[t], registers[t]);
    }
  }
}

}  // namespace coalesce::machine::flattening
