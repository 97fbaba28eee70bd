// Decoding of mma, wmma, ldmatrix, stmatrix and movmatrix.
#include <cstdio>

#include "machine/plain/decoder.h"
#include "machine/plain/matrix.h"
#include "machine/plain/run.h"

namespace coalesce::machine::plain {

namespace {

using OK = ptx::Operand::Kind;

bool shape_from(std::string_view word, MatrixOp& op) {
  unsigned m = 0, n = 0, k = 0;
  int end = 0;
  const std::string text(word);
  if (std::sscanf(text.c_str(), "m%3un%3uk%3u%n", &m, &n, &k, &end) != 3 ||  // NOLINT: all are checked
      static_cast<std::size_t>(end) != text.size())
    return false;
  op.m = m, op.n = n, op.k = k;
  return true;
}

// Shapes by type of the factors; those of mma have eight columns.
std::string_view sparse_shapes(CellType cell) {
  switch (cell) {
    case CellType::f16:
    case CellType::bf16:
      return "16 8 16,16 8 32";
    case CellType::tf32:
      return "16 8 8,16 8 16";
    case CellType::s8:
    case CellType::u8:
      return "16 8 32,16 8 64";
    case CellType::s4:
    case CellType::u4:
      return "16 8 64,16 8 128";
    case CellType::e4m3:
    case CellType::e5m2:
      return "16 8 64";
    default:
      return "";
  }
}
std::string_view shapes(CellType cell, bool wmma) {
  switch (cell) {
    case CellType::f16:
    case CellType::bf16:
      return wmma ? "16 16 16,32 8 16,8 32 16" : "16 8 8,16 8 16";
    case CellType::tf32:
      return wmma ? "16 16 8" : "16 8 4,16 8 8";
    case CellType::f64:
      return wmma ? "8 8 4" : "8 8 4,16 8 4,16 8 8,16 8 16";
    case CellType::s8:
    case CellType::u8:
      return wmma ? "16 16 16,32 8 16,8 32 16" : "8 8 16,16 8 16,16 8 32";
    case CellType::s4:
    case CellType::u4:
      return wmma ? "8 8 32" : "8 8 32,16 8 32,16 8 64";
    case CellType::b1:
      return wmma ? "8 8 128" : "8 8 128,16 8 128,16 8 256";
    case CellType::e4m3:
    case CellType::e5m2:
      return wmma ? "" : "16 8 16,16 8 32";
    default:
      return "";
  }
}
bool has_shape(const MatrixOp& op, CellType cell, bool wmma) {
  const std::string all = "," + std::string(op.form.sparse ? sparse_shapes(cell) : shapes(cell, wmma)) + ",";
  return all.find("," + std::to_string(op.m) + " " + std::to_string(op.n) + " " + std::to_string(op.k) + ",") !=
         all.npos;
}

uint8_t register_bytes(CellType cell) { return cell == CellType::f64 ? 8 : 4; }

}  // namespace

// All registers of an operand, of that size.
void Decoder::fragment(const ptx::Operand& o, uint8_t bytes, bool results) {
  const auto add = [&](const ptx::Operand& e) {
    if (e.kind != OK::reg || e.reg < 0 || ptx::size_of(f_.registers[static_cast<std::size_t>(e.reg)].type) != bytes)
      throw WrongOperands{};
    if (results)
      op_->out.push_back(dest(e));
    else
      op_->in.push_back(source(e, bytes));
  };
  if (o.kind != OK::vector) return add(o);
  for (const ptx::Operand& e : o.elements) add(e);
}

// mma.m8n8k4 of halves; types of d, a, b, c.
bool Decoder::quads(MatrixOp& m, const std::vector<CellType>& types, const std::vector<bool>& by_rows) {
  const auto registers = [](CellType sum) { return sum == CellType::f16 ? 4u : sum == CellType::f32 ? 8u : 0u; };
  if (types[2] != CellType::f16 || by_rows.size() != 2 || m.form.saturate || m.form.and_bits ||
      (types[0] == CellType::f16 && types[3] != CellType::f16))
    return false;
  m.what = MatrixOp::What::quads;
  MatrixForm& form = m.form;
  form.action = MatrixForm::Action::multiply;
  form.quads = true;
  form.by_column[0] = !by_rows[0], form.by_column[1] = !by_rows[1];
  form.m = form.n = 8, form.k = 4;
  form.result = types[0], form.left = form.right = CellType::f16, form.addend = types[3];
  fragment(operand(0), 4, true);
  for (std::size_t k = 1; k < 4; ++k) fragment(operand(k), 4, false);
  return op_->out.size() == registers(types[0]) && registers(types[3]) && op_->in.size() == 4 + registers(types[3]);
}

void Decoder::matrix() {
  const std::string_view code = words_->opcode;
  const bool wmma = code == "wmma", rows = code == "ldmatrix" || code == "stmatrix";
  MatrixOp m;
  std::vector<CellType> types;
  m.what = code == "ldmatrix"     ? MatrixOp::What::load_rows
           : code == "stmatrix"   ? MatrixOp::What::store_rows
           : code == "movmatrix"  ? MatrixOp::What::transpose
           : wmma && has("load")  ? MatrixOp::What::load
           : wmma && has("store") ? MatrixOp::What::store
                                  : MatrixOp::What::multiply;
  const bool multiplies = m.what == MatrixOp::What::multiply;
  std::vector<bool> layouts;  // whether each is "row"
  bool layout = false, b16 = false, counted = false, square = false;
  for (std::string_view w : words_->rest) {
    if (w == "sync" || w == "aligned" || w == "mma" || w == "load" || w == "store" || shape_from(w, m)) continue;
    if (multiplies && (w == "xor" || w == "popc" || w == "rn")) continue;
    if (code == "mma" && w.starts_with("sp")) {
      m.form.sparse = true;
      continue;
    }
    if (w == "row" || w == "col") {
      m.by_rows = w == "row", layout = true;
      layouts.push_back(m.by_rows);
    } else if (w == "m8n8" && !wmma && !multiplies)
      square = true;
    else if ((w == "x1" || w == "x2" || w == "x4") && rows)
      m.count = static_cast<uint32_t>(w[1] - '0'), counted = true;
    else if (w == "trans")
      m.transposed = true;
    else if (w == "b16" && !multiplies)
      b16 = true;
    else if (multiplies && w == "satfinite")
      m.form.saturate = true;
    else if (multiplies && w == "and")
      m.form.and_bits = true;
    else if (w.size() == 1 && w[0] >= 'a' && w[0] <= 'd')
      m.part = w[0];
    else if (cell_from(w) != CellType::none)
      types.push_back(cell_from(w));
    else if (multiplies || !space_from(w, &op_->memory.place.space))
      return unknown();
  }
  op_->names_lanes = true;
  switch (m.what) {
    case MatrixOp::What::load_rows:
    case MatrixOp::What::store_rows: {
      const bool load = m.what == MatrixOp::What::load_rows;
      if (!square || !b16 || !counted || operands() != 2) return unknown();
      fragment(operand(load ? 0 : 1), 4, load);
      if ((load ? op_->out.size() : op_->in.size()) != m.count) return unknown();
      const Space space = op_->memory.place.space;
      op_->memory.place = place(operand(load ? 1 : 0));
      op_->memory.place.space = space;
      break;
    }
    case MatrixOp::What::transpose:
      if (!square || !b16 || !m.transposed || operands() != 2) return unknown();
      fragment(operand(0), 4, true);
      fragment(operand(1), 4, false);
      break;
    case MatrixOp::What::multiply: {
      if (wmma && types.size() == 2) types = {types[0], CellType::f16, CellType::f16, types[1]};
      if (code == "mma" && m.m == 8 && m.n == 8 && m.k == 4 && types.size() == 4 && types[1] == CellType::f16) {
        if (operands() != 4 || m.form.sparse || !quads(m, types, layouts)) return unknown();
        break;
      }
      if (types.size() != 4 || operands() != (m.form.sparse ? 6u : 4u) || !has_shape(m, types[1], wmma))
        return unknown();
      m.form.action = MatrixForm::Action::multiply;
      m.form.result = types[0], m.form.left = types[1], m.form.right = types[2], m.form.addend = types[3];
      m.form.m = static_cast<uint16_t>(m.m), m.form.n = static_cast<uint16_t>(m.n),
      m.form.k = static_cast<uint16_t>(m.k);
      m.form.block = block_of(m.form, wmma);
      fragment(operand(0), register_bytes(types[0]), true);
      fragment(operand(1), register_bytes(types[1]), false);
      m.first_right = op_->in.size();
      fragment(operand(2), register_bytes(types[2]), false);
      m.first_addend = op_->in.size();
      fragment(operand(3), register_bytes(types[3]), false);
      const auto registers = [&](char part, CellType cell) {
        const uint32_t elements = elements_of(m, part);
        if (cell == CellType::f64) return elements;
        if (part == 'a' && m.form.sparse) return elements * bits_of(cell) / 64;
        return part < 'c' ? elements * bits_of(cell) / 32 : cell == CellType::f16 ? elements / 2 : elements;
      };
      if (m.first_right < registers('a', types[1]) || m.first_addend - m.first_right < registers('b', types[2]) ||
          op_->in.size() - m.first_addend != registers('c', types[3]) || op_->out.size() != registers('d', types[0]))
        return unknown("wrong number of registers for '" + in_->mnemonic + "'");
      if (m.form.sparse) {
        const ptx::Operand& selector = operand(5);
        if (selector.kind != OK::integer || selector.bits * lanes_of_metadata(m.form) >= 4)
          return unknown("wrong metadata or selector for '" + in_->mnemonic + "'");
        m.form.selector = static_cast<uint8_t>(selector.bits);
        m.metadata = op_->in.size();
        fragment(operand(4), 4, false);
      }
      break;
    }
    default: {  // load, store
      const bool load = m.what == MatrixOp::What::load;
      if (types.size() != 1 || !layout || operands() < 2 || operands() > 3) return unknown();
      m.cell = types[0];
      if (m.part < 'c' && !has_shape(m, m.cell, true)) return unknown();
      if (bits_of(m.cell) < 8 && m.by_rows != (m.part == 'a')) return unknown();
      const Space space = op_->memory.place.space;
      fragment(operand(load ? 0 : 1), register_bytes(m.cell), load);
      const uint32_t elements = elements_of(m, m.part), held = m.cell == CellType::f64 ? 64 : 32;
      const bool sums = m.part >= 'c';
      if (sums && m.cell != CellType::f16 && m.cell != CellType::f32 && m.cell != CellType::f64 &&
          m.cell != CellType::s32)
        return unknown();
      const std::size_t given = load ? op_->out.size() : op_->in.size(), wanted = elements * bits_of(m.cell) / held;
      if (given < wanted || (sums && given != wanted))
        return unknown("wrong number of registers for '" + in_->mnemonic + "'");
      op_->memory.place = place(operand(load ? 1 : 0));
      op_->memory.place.space = space;
      if (operands() == 3) {
        m.stride = static_cast<int>(op_->in.size());
        op_->in.push_back(source(operand(2), 4));
      }
    }
  }
  op_->in.push_back(constant(0xffffffff));  // the lanes that take part
  op_->matrix = std::make_shared<const MatrixOp>(m);
  op_->run = run_matrix;
}

}  // namespace coalesce::machine::plain
