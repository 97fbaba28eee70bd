#include "machine/plain/matrix.h"

#include <cstring>

#include "machine/execute/ops/tensor.h"
#include "machine/plain/run.h"

namespace coalesce::machine::plain {

namespace {

// ---- Who holds what: the manual's formulas, by the number of a group of four lanes and of a lane in its group

// Left factors of 16 rows: a register has E elements of a row, the next one those eight rows below, the third one those
// 4 E columns on. Longer ones: the next 16 rows follow.
Position in_left(uint32_t rows, uint32_t columns, uint32_t run, uint32_t lane, uint32_t i) {
  const uint32_t group = lane / 4, within = lane % 4 * run + i % run, reg = i / run;
  if (rows < 16) return {group, within + 4 * run * reg};
  const uint32_t each = columns / (2 * run);  // registers for 16 rows
  return {16 * (reg / each) + group + 8 * (reg % 2), within + 4 * run * (reg % each / 2)};
}
// Right factors: eight columns of the matrix after the other.
Position in_right(uint32_t rows, uint32_t run, uint32_t lane, uint32_t i) {
  const uint32_t each = rows / (4 * run), reg = i / run;
  return {lane % 4 * run + i % run + 4 * run * (reg % each), lane / 4 + 8 * (reg / each)};
}
Position in_sums(uint32_t rows, uint32_t columns, uint32_t lane, uint32_t i) {
  const uint32_t pair = i / 2, column = lane % 4 * 2 + i % 2;
  if (rows < 16) return {lane / 4, 8 * pair + column};
  const uint32_t each = columns / 4;  // pairs for 16 rows
  return {16 * (pair / each) + lane / 4 + 8 * (pair % 2), 8 * (pair % each / 2) + column};
}

uint32_t run_in_register(CellType cell) { return cell == CellType::f64 ? 1 : 32 / bits_of(cell); }

// ---- Memory, by the executor's own loads and stores

// Where a run of accesses of a matrix instruction is carried out.
struct Mover {
  Warp& w;
  Frame& f;
  const Op& op;

  Op access(Access what, uint32_t width, uint32_t count, Lanes& address) const {
    Op one;
    one.line = op.line;
    one.line_first = op.line_first;
    one.written = op.written;
    one.mode = static_cast<uint8_t>(what);
    one.memory.width = static_cast<uint8_t>(width);
    one.memory.count = static_cast<uint8_t>(count);
    one.memory.place.space = op.memory.place.space;
    one.memory.place.address = {static_cast<Base>(3), 0, 8, false};
    w.base[3] = reinterpret_cast<std::byte*>(address.data());
    return one;
  }
  // Reads what is not needed, for its faults and its cost.
  void count(uint32_t width, Lanes& address, uint32_t on) const {
    Op one = access(Access::load, width, 1, address);
    Dest d;
    d.at = 0;
    d.bytes = static_cast<uint8_t>(width < 4 ? 4 : width);
    one.out = {d};
    run_load_store(w, f, one, on);
  }
  // 16 bytes of each lane into the frame's cells.
  void load_lines(Lanes& address, uint32_t on) const {
    Op line = access(Access::load, 16, 1, address);
    line.memory.row = true;
    Dest d;
    d.at = 0;
    d.bytes = 16;
    line.out = {d};
    run_load_store(w, f, line, on);
  }
  // One element of each lane; not counted.
  Lanes read(uint32_t width, Lanes& address, uint32_t on) const {
    Op one = access(Access::load, width, 1, address);
    one.memory.place.counted = false;
    Dest d;
    d.at = 0;
    one.out = {d};
    run_load_store(w, f, one, on);
    Lanes read{};
    for (uint32_t l = 0; l < kLanes; ++l) read[l] = f.cells[l];
    return read;
  }
  void store(uint32_t width, const std::vector<Source>& from, Lanes& address, uint32_t on) const {
    Op one = access(Access::store, width, static_cast<uint32_t>(from.size()), address);
    one.in = from;
    run_load_store(w, f, one, on);
  }
};

// ---- ldmatrix, stmatrix, movmatrix

uint64_t half_at(const Lanes& words, uint32_t row, uint32_t column) {
  return words[4 * row + column / 2] >> 16 * (column % 2) & 0xffff;
}

void move_rows(Warp& w, Frame& f, const Op& op, uint32_t on) {
  const MatrixOp& m = *op.matrix;
  const Mover mover{w, f, op};
  Lanes address{};
  for (uint32_t l = 0; l < kLanes; ++l)
    address[l] = value(w, op.memory.place.address, l) + static_cast<uint64_t>(op.memory.place.offset);
  const uint32_t first = m.count == 4 ? on : on & ((1u << 8 * m.count) - 1);
  if (m.what == MatrixOp::What::load_rows) {
    mover.load_lines(address, first);
    const auto* rows = reinterpret_cast<const uint16_t*>(f.cells.data());
    std::vector<Lanes> given(m.count);
    for (uint32_t i = 0; i < m.count; ++i)
      for (uint32_t l = 0; l < kLanes; ++l)
        for (uint32_t e = 0; e < 2; ++e) {
          const uint32_t a = l / 4, b = l % 4 * 2 + e;
          const uint64_t half = m.transposed ? rows[8 * (8 * i + b) + a] : rows[8 * (8 * i + a) + b];
          given[i][l] |= half << 16 * e;
        }
    for (uint32_t i = 0; i < m.count; ++i)
      for (uint32_t l = 0; l < kLanes; ++l)
        if (on >> l & 1) put(f, op.out[i], l, given[i][l], 4);
    return;
  }
  auto* rows = reinterpret_cast<uint16_t*>(f.cells.data());
  for (uint32_t i = 0; i < m.count; ++i) {
    Lanes words{};
    for (uint32_t l = 0; l < kLanes; ++l) words[l] = value(w, op.in[i], l);
    for (uint32_t r = 0; r < 8; ++r)
      for (uint32_t c = 0; c < 8; ++c)
        rows[8 * (8 * i + r) + c] = static_cast<uint16_t>(m.transposed ? half_at(words, c, r) : half_at(words, r, c));
  }
  mover.store(16, {{kWarp, 0, 16, false}}, address, first);
}

Lanes transposed(const Lanes& words) {
  Lanes out{};
  for (uint32_t l = 0; l < kLanes; ++l)
    out[l] = half_at(words, l % 4 * 2, l / 4) | half_at(words, l % 4 * 2 + 1, l / 4) << 16;
  return out;
}

// ---- wmma.load, wmma.store

// A lane's address of an element of the fragment.
struct Layout {
  uint64_t base = 0;
  uint64_t stride = 0;
  const MatrixOp& m;
  uint64_t at(Position p) const {
    const uint64_t line = m.by_rows ? p.row : p.column, place = m.by_rows ? p.column : p.row;
    return base + (line * stride + place) * bits_of(m.cell) / 8;
  }
};

void load_fragment(Warp& w, Frame& f, const Op& op, uint32_t on, const std::vector<Layout>& layout) {
  const MatrixOp& m = *op.matrix;
  const Mover mover{w, f, op};
  const uint32_t bits = bits_of(m.cell), elements = elements_of(m, m.part);
  const bool factor = m.part < 'c';
  const uint32_t run = factor ? run_in_register(m.cell) : m.cell == CellType::f16 ? 2 : 1;
  const auto places = [&](uint32_t i) {
    Lanes address{};
    for (uint32_t l = 0; l < kLanes; ++l) address[l] = layout[l].at(position(m, m.part, m.cell, l, i));
    return address;
  };
  // Whether a lane's neighbouring elements are neighbours in memory.
  const bool along = elements < 2 || layout[0].at(position(m, m.part, m.cell, 0, 1)) <
                                         layout[0].at(position(m, m.part, m.cell, 0, 0)) + std::max(bits / 8, 1u) + 1;
  const bool pairs = factor ? run > 1 : true;
  const bool matrices = factor && op.memory.place.space == Space::shared &&
                        (m.cell == CellType::f16 || ((m.cell == CellType::s8 || m.cell == CellType::u8) && along));
  if (matrices) {
    // Lines of 16 bytes of each 8 by 8 (8 by 16) elements: as many matrices as 16 rows of a factor have, or all.
    const uint32_t tiles = elements / run, across = m.k / (4 * run);
    const uint32_t chunk = std::min(tiles, 2 * across);
    for (uint32_t first = 0; first < tiles; first += chunk) {
      Lanes address{};
      for (uint32_t l = 0; l < 8 * chunk; ++l) {
        // Line l % 8 of that tile begins where some lane's first element of the tile is.
        const uint32_t holder = along ? l % 8 * 4 : l % 8 / 2, e = along ? 0 : l % 2;
        address[l] = layout[l].at(position(m, m.part, m.cell, holder, (first + l / 8) * run + e));
      }
      mover.load_lines(address, chunk == 4 ? on : on & ((1u << 8 * chunk) - 1));
    }
  } else if (along && pairs) {
    const uint32_t each = factor || m.cell == CellType::f16 ? run : 2;
    for (uint32_t i = 0; i < elements; i += each) {
      Lanes address = places(i);
      if (factor || m.cell == CellType::f16) {
        mover.count(4, address, on);
      } else {
        Op two = mover.access(Access::load, bits / 8, 2, address);
        Dest d;
        d.at = 0;
        two.out = {d, d};
        run_load_store(w, f, two, on);
      }
    }
  } else if (bits == 16) {  // the transposed tile is loaded: a lane's place is that of the mirrored one
    for (uint32_t i = 0; i < elements; i += 2) {
      Lanes address{};
      for (uint32_t l = 0; l < kLanes; ++l)
        address[l] = layout[l].at(position(m, m.part, m.cell, 4 * (l % 4 * 2) + l / 8, i + l / 4 % 2));
      mover.count(4, address, on);
    }
  } else {
    for (uint32_t i = 0; i < elements; ++i) {
      Lanes address = places(i);
      mover.count(bits / 8, address, on);
    }
  }
  // The values.
  std::vector<Lanes> registers(elements / run);
  if (bits < 8) {
    for (uint32_t i = 0; i < elements; i += run) {
      Lanes address = places(i);
      registers[i / run] = mover.read(4, address, on);
    }
  } else {
    for (uint32_t i = 0; i < elements; ++i) {
      Lanes address = places(i);
      const Lanes read = mover.read(bits / 8, address, on);
      for (uint32_t l = 0; l < kLanes; ++l) registers[i / run][l] |= read[l] << bits * (i % run);
    }
  }
  for (std::size_t r = 0; r < op.out.size(); ++r)
    for (uint32_t l = 0; l < kLanes; ++l)
      if (on >> l & 1) put(f, op.out[r], l, registers[r % registers.size()][l], m.cell == CellType::f64 ? 8 : 4);
}

void store_fragment(Warp& w, Frame& f, const Op& op, uint32_t on, const std::vector<Layout>& layout) {
  const MatrixOp& m = *op.matrix;
  const Mover mover{w, f, op};
  const uint32_t bytes = bits_of(m.cell) / 8, elements = elements_of(m, 'd');
  const bool along =
      layout[0].at(position(m, 'd', m.cell, 0, 1)) == layout[0].at(position(m, 'd', m.cell, 0, 0)) + bytes;
  for (uint32_t i = 0; i < elements; i += 2) {
    Lanes address{};
    for (uint32_t l = 0; l < kLanes; ++l) {
      const bool mirrored = m.cell == CellType::f16 && !along;
      address[l] = layout[l].at(mirrored ? position(m, 'd', m.cell, 4 * (l % 4 * 2) + l / 8, i + l / 4 % 2)
                                         : position(m, 'd', m.cell, l, i));
    }
    if (m.cell == CellType::f16) {
      Lanes words{};
      for (uint32_t l = 0; l < kLanes; ++l) words[l] = value(w, op.in[i / 2], l);
      if (!along) words = transposed(words);
      for (uint32_t l = 0; l < kLanes; ++l) f.cells[l] = words[l];
      mover.store(4, {{kWarp, 0, 4, false}}, address, on);
    } else if (along) {
      mover.store(bytes, {op.in[i], op.in[i + 1]}, address, on);
    } else {
      mover.store(bytes, {op.in[i]}, address, on);
      for (uint32_t l = 0; l < kLanes; ++l) address[l] = layout[l].at(position(m, 'd', m.cell, l, i + 1));
      mover.store(bytes, {op.in[i + 1]}, address, on);
    }
  }
}

void move_fragment(Warp& w, Frame& f, const Op& op, uint32_t on) {
  const MatrixOp& m = *op.matrix;
  const Position end = m.part == 'a' ? Position{m.m, m.k} : m.part == 'b' ? Position{m.k, m.n} : Position{m.m, m.n};
  std::vector<Layout> layout;
  for (uint32_t l = 0; l < kLanes; ++l) {
    const uint64_t stride = m.stride >= 0 ? value(w, op.in[static_cast<std::size_t>(m.stride)], l) & 0xffffffff
                            : m.by_rows   ? end.column
                                          : end.row;
    layout.push_back({value(w, op.memory.place.address, l) + static_cast<uint64_t>(op.memory.place.offset), stride, m});
  }
  m.what == MatrixOp::What::load ? load_fragment(w, f, op, on, layout) : store_fragment(w, f, op, on, layout);
}

// ---- Products

void multiply_matrices(Warp& w, Frame& f, const Op& op, uint32_t on) {
  const MatrixOp& m = *op.matrix;
  const uint32_t lefts = m.form.sparse ? m.k / 2 : m.k;  // columns that the left factor has
  std::vector<uint64_t> left(m.m * lefts), right(m.n * m.k), sums(m.m * m.n);
  // Elements by the sources that hold them; sums of halves are two a register, others one.
  const auto each = [&](char part, CellType cell, auto use) {
    const uint32_t bits = bits_of(cell);
    const uint32_t run = part < 'c' ? run_in_register(cell) : cell == CellType::f16 ? 2 : 1;
    for (uint32_t l = 0; l < kLanes; ++l)
      for (uint32_t i = 0; i < elements_of(m, part) / (part == 'a' && m.form.sparse ? 2 : 1); ++i)
        use(part == 'a' && m.form.sparse ? in_left(m.m, lefts, run, l, i) : position(m, part, cell, l, i), l, i / run,
            bits * (i % run), bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1);
  };
  each('a', m.form.left, [&](Position p, uint32_t l, uint32_t r, uint32_t shift, uint64_t cut) {
    left[p.row * lefts + p.column] = value(w, op.in[r], l) >> shift & cut;
  });
  each('b', m.form.right, [&](Position p, uint32_t l, uint32_t r, uint32_t shift, uint64_t cut) {
    right[p.column * m.k + p.row] = value(w, op.in[m.first_right + r], l) >> shift & cut;
  });
  each('c', m.form.addend, [&](Position p, uint32_t l, uint32_t r, uint32_t shift, uint64_t cut) {
    sums[p.row * m.n + p.column] = value(w, op.in[m.first_addend + r], l) >> shift & cut;
  });
  if (m.form.sparse) {
    uint32_t metadata[kLanes];
    for (uint32_t l = 0; l < kLanes; ++l) metadata[l] = static_cast<uint32_t>(value(w, op.in[m.metadata], l));
    multiply_sparse(m.form, left.data(), columns_of_sparse(m.form, metadata).data(), right.data(), sums.data());
  } else {
    multiply(m.form, left.data(), right.data(), sums.data());
  }
  std::vector<Lanes> out(op.out.size());
  each('d', m.form.result, [&](Position p, uint32_t l, uint32_t r, uint32_t shift, uint64_t) {
    out[r][l] |= sums[p.row * m.n + p.column] << shift;
  });
  for (std::size_t r = 0; r < out.size(); ++r)
    for (uint32_t l = 0; l < kLanes; ++l)
      if (on >> l & 1) put(f, op.out[r], l, out[r][l], m.form.result == CellType::f64 ? 8 : 4);
}

}  // namespace

Position position(const MatrixOp& op, char part, CellType cell, uint32_t lane, uint32_t i) {
  const uint32_t run = run_in_register(cell);
  if (op.m == 8 && op.n == 32) {  // as the transposed product of 32 rows
    Position p = part == 'a'   ? in_right(op.k, run, lane, i)
                 : part == 'b' ? in_left(32, op.k, run, lane, i)
                               : in_sums(32, 8, lane, i);
    return {p.column, p.row};
  }
  return part == 'a'   ? in_left(op.m, op.k, run, lane, i)
         : part == 'b' ? in_right(op.k, run, lane, i)
                       : in_sums(op.m, op.n, lane, i);
}

uint32_t elements_of(const MatrixOp& op, char part) {
  return (part == 'a' ? op.m * op.k : part == 'b' ? op.k * op.n : op.m * op.n) / kLanes;
}

void run_matrix(Warp& w, Frame& f, const Op& op, uint32_t on) {
  switch (op.matrix->what) {
    case MatrixOp::What::load_rows:
    case MatrixOp::What::store_rows:
      return move_rows(w, f, op, on);
    case MatrixOp::What::transpose: {
      Lanes words{};
      for (uint32_t l = 0; l < kLanes; ++l) words[l] = value(w, op.in[0], l);
      words = transposed(words);
      for (uint32_t l = 0; l < kLanes; ++l)
        if (on >> l & 1) put(f, op.out[0], l, words[l], 4);
      return;
    }
    case MatrixOp::What::multiply:
      return multiply_matrices(w, f, op, on);
    case MatrixOp::What::quads:
      return run_quads(w, f, op, on);
    case MatrixOp::What::group:
      return run_group_matrix(w, f, op, on);
    default:
      return move_fragment(w, f, op, on);
  }
}

}  // namespace coalesce::machine::plain
