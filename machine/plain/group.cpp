// wgmma as the plain executor carries it out: each element of the factors from the place that the manual's table of
// layouts gives it, one product for the 16 rows of a warp.
#include "machine/execute/ops/tensor.h"
#include "machine/plain/decoder.h"
#include "machine/plain/matrix.h"
#include "machine/plain/run.h"

namespace coalesce::machine::plain {

namespace {

using OK = ptx::Operand::Kind;

// A matrix descriptor's fields, in bytes.
struct Descriptor {
  uint32_t start, leading, stride, base, swizzle;
  explicit Descriptor(uint64_t d)
      : start(static_cast<uint32_t>(d % 0x4000) * 16),
        leading(static_cast<uint32_t>(d / 0x10000 % 0x4000) * 16),
        stride(static_cast<uint32_t>(d / 0x100000000 % 0x4000) * 16),
        base(static_cast<uint32_t>(d / 0x2000000000000 % 8)),
        swizzle(d >> 62 ? 256u >> (d >> 62) : 0) {}

  // Byte `in_line` of line `line`: lines are along k (of index `across` of m or n) or, transposed, along m or n.
  uint32_t place(bool transposed, uint32_t line, uint32_t in_line) const {
    const uint32_t group = line / 8, within = line % 8, chunk = in_line / 16, rest = in_line % 16;
    if (swizzle == 0)
      return start + within * 16 + rest +
             (transposed ? group * leading + chunk * stride : group * stride + chunk * leading);
    const uint32_t atoms = in_line / swizzle;
    const uint32_t at = start + group * stride + atoms * leading + within * swizzle + in_line % swizzle;
    const uint32_t row = at / 128 - base;  // which 16 bytes of a line change places depends on the line's number
    return at ^ (row % (swizzle / 16) * 16);
  }
};

// A factor from shared memory: rows along m or n, from `first_row` on; 8-bit elements or bits are read as bytes.
std::vector<uint64_t> described(Warp& w, Frame& f, const Op& op, uint32_t on, const Source& from, CellType cell,
                                bool transposed, uint32_t first_row, uint32_t rows, uint32_t columns) {
  const uint32_t bits = bits_of(cell), unit = std::max(bits, 8u), bytes = unit / 8, per = unit / bits;
  std::vector<uint64_t> cells(std::size_t{rows} * columns);
  const uint32_t units = rows * columns / per;
  for (uint32_t first = 0; first < units; first += kLanes) {
    Lanes address{};
    const auto element = [&](uint32_t l) {
      return std::pair{(first + l) * per / columns, (first + l) * per % columns};
    };
    for (uint32_t l = 0; l < kLanes; ++l) {
      const auto [row, column] = element(l);
      const uint32_t r = first_row + row;
      const Descriptor d(value(w, from, l));
      address[l] = transposed ? d.place(true, column, r * bytes) : d.place(false, r, column * bits / 8);
    }
    Op one;
    one.line = op.line, one.line_first = op.line_first, one.written = op.written;
    one.mode = static_cast<uint8_t>(Access::load);
    one.memory.width = static_cast<uint8_t>(bytes);
    one.memory.place.space = Space::shared;
    one.memory.place.address = {static_cast<Base>(3), 0, 8, false};
    one.memory.place.counted = false;
    w.base[3] = reinterpret_cast<std::byte*>(address.data());
    Dest d;
    d.at = 0;
    one.out = {d};
    run_load_store(w, f, one, on);
    for (uint32_t l = 0; l < kLanes; ++l) {
      const auto [row, column] = element(l);
      for (uint32_t e = 0; e < per; ++e)
        cells[row * columns + column + e] = f.cells[l] >> e * bits & ((uint64_t{1} << bits) - 1);
    }
  }
  return cells;
}

}  // namespace

void run_group_matrix(Warp& w, Frame& f, const Op& op, uint32_t on) {
  const MatrixOp& m = *op.matrix;
  MatrixForm form = m.form;
  const uint32_t first_row = w.index % 4 * 16;
  const uint32_t lefts = form.sparse ? m.k / 2 : m.k;  // columns that the left factor has
  std::vector<uint64_t> left(std::size_t{16} * lefts);
  if (m.left_in_registers) {
    const uint32_t bits = bits_of(form.left), run = 32 / bits;
    for (uint32_t l = 0; l < kLanes; ++l)
      for (uint32_t i = 0; i < 16 * lefts / kLanes; ++i) {
        MatrixOp whole = m;
        whole.k = lefts;
        const Position p = position(whole, 'a', form.left, l, i);
        left[p.row * lefts + p.column] = value(w, op.in[i / run], l) >> i % run * bits & ((uint64_t{1} << bits) - 1);
      }
  } else {
    left = described(w, f, op, on, op.in[0], form.left, m.left_transposed, first_row, 16, lefts);
  }
  const std::vector<uint64_t> right =
      described(w, f, op, on, op.in[m.first_right], form.right, m.right_transposed, 0, m.n, m.k);
  std::vector<uint64_t> sums(std::size_t{16} * m.n);
  const bool halves = form.result == CellType::f16;
  const auto each = [&](auto use) {
    for (uint32_t l = 0; l < kLanes; ++l)
      for (uint32_t i = 0; i < 16 * m.n / kLanes; ++i) {
        const Position p = position(m, 'd', form.result, l, i);
        use(sums[p.row * m.n + p.column], l, halves ? i / 2 : i, halves ? 16 * (i % 2) : 0);
      }
  };
  each([&](uint64_t& sum, uint32_t l, uint32_t r, uint32_t shift) {
    if (value(w, op.in[m.first_addend], l) & 1)
      sum = value(w, op.in[m.first_addend + 1 + r], l) >> shift & (halves ? 0xffff : 0xffffffff);
  });
  if (form.sparse) {
    uint32_t metadata[kLanes];
    for (uint32_t l = 0; l < kLanes; ++l) metadata[l] = static_cast<uint32_t>(value(w, op.in[m.metadata], l));
    multiply_sparse(form, left.data(), columns_of_sparse(form, metadata).data(), right.data(), sums.data());
  } else {
    multiply(form, left.data(), right.data(), sums.data());
  }
  std::vector<Lanes> out(op.out.size());
  each([&](uint64_t& sum, uint32_t l, uint32_t r, uint32_t shift) { out[r][l] |= sum << shift; });
  for (std::size_t r = 0; r < out.size(); ++r)
    for (uint32_t l = 0; l < kLanes; ++l)
      if (on >> l & 1) put(f, op.out[r], l, out[r][l], 4);
}

// wgmma.mma_async d, a, b, whether d is added {, sign a, sign b} {, a transposed} {, b transposed}; its waits wait for
// nothing, since products are done when they are issued.
void Decoder::group_matrix() {
  if (has("fence") || has("commit_group") || has("wait_group")) return nothing();
  MatrixOp m;
  m.what = MatrixOp::What::group;
  std::vector<CellType> types;
  unsigned rows = 0, n = 0, k = 0;
  for (std::string_view w : words_->rest) {
    if (w == "sp")
      m.form.sparse = true;
    else if (w == "satfinite")
      m.form.saturate = true;
    else if (w == "and")
      m.form.and_bits = true;
    else if (cell_from(w) != CellType::none)
      types.push_back(cell_from(w));
    else if (w != "mma_async" && w != "sync" && w != "aligned" && w != "popc" &&
             std::sscanf(std::string(w).c_str(), "m%3un%3uk%3u", &rows, &n, &k) != 3)  // NOLINT: all are checked
      return unknown();
  }
  const std::size_t extra = m.form.sparse ? 2 : 0;  // the metadata and their selector
  if (types.size() != 3 || operands() < 4 + extra || rows != 64 || n == 0 || n % 8 || n > 256) return unknown();
  const bool real = is_float(types[1]);
  if (!real && n > 32 && n % 16) return unknown();
  if (k * bits_of(types[1]) != (extra ? 512u : 256u) || (extra && types[1] == CellType::b1) ||
      types[1] == CellType::f64 || bits_of(types[1]) == 4)
    return unknown();
  m.m = 16, m.n = n, m.k = k;
  m.form.action = MatrixForm::Action::multiply;
  m.form.group = true;
  m.form.m = 16, m.form.n = static_cast<uint16_t>(n), m.form.k = static_cast<uint16_t>(k);
  m.form.block = static_cast<uint16_t>(extra ? k / 2 : k);
  m.form.result = m.form.addend = types[0], m.form.left = types[1], m.form.right = types[2];
  m.left_in_registers = operand(1).kind == OK::vector;
  const bool halves = bits_of(types[1]) == 16;
  const std::size_t wanted = !real ? 4 : !halves ? 6 : m.left_in_registers ? 7 : 8;
  if (operands() != wanted + extra) return unknown("wrong number of operands for '" + in_->mnemonic + "'");
  for (std::size_t i = 4; i < wanted; ++i) {
    const ptx::Operand& o = operand(i + extra);
    if (o.kind != OK::integer) return unknown("a number is expected in '" + in_->mnemonic + "'");
    const bool set = static_cast<int64_t>(o.bits) != 0;
    if (i < 6)
      m.form.negative = m.form.negative != (static_cast<int64_t>(o.bits) < 0);
    else
      (i + 1 == wanted ? m.right_transposed : m.left_transposed) = set;
  }
  fragment(operand(0), 4, true);
  fragment(operand(1), m.left_in_registers ? 4 : 8, false);
  m.first_right = op_->in.size();
  fragment(operand(2), 8, false);
  m.first_addend = op_->in.size();
  op_->in.push_back(source(operand(3 + extra), 0));
  fragment(operand(0), 4, false);
  if (op_->out.size() != 16 * n / kLanes / (types[0] == CellType::f16 ? 2 : 1) ||
      (m.left_in_registers && m.first_right != 4))
    return unknown("wrong number of registers for '" + in_->mnemonic + "'");
  if (extra) {
    const ptx::Operand& selector = operand(4);
    if (selector.kind != OK::integer || selector.bits * lanes_of_metadata(m.form) >= 4)
      return unknown("wrong metadata or selector for '" + in_->mnemonic + "'");
    m.form.selector = static_cast<uint8_t>(selector.bits);
    m.metadata = op_->in.size();
    fragment(operand(3), 4, false);
  }
  op_->names_lanes = true;
  op_->in.push_back(constant(0xffffffff));  // the lanes that take part
  op_->matrix = std::make_shared<const MatrixOp>(m);
  op_->run = run_matrix;
}

}  // namespace coalesce::machine::plain
