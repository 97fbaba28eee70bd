// Instructions that only compute. A row of execute/ops gives one lane's result; which lanes have it, how wide it
// becomes, the carry flag and moves are here.
#include <optional>

#include "machine/plain/decoder.h"
#include "machine/plain/run.h"

namespace coalesce::machine::plain {

namespace {

enum class Form : uint8_t { set, set_predicates, logic, extreme, zero };
enum class Join : uint8_t { none, both, either, differ };

bool join(Join how, bool a, bool b) {
  return how == Join::both ? a && b : how == Join::either ? a || b : how == Join::differ ? a != b : a;
}
Join join_from(const Words& w) {
  return w.has("and") ? Join::both : w.has("or") ? Join::either : w.has("xor") ? Join::differ : Join::none;
}
bool is_pair(std::string_view type) { return type == "f16x2" || type == "bf16x2"; }

// The bits of 1 as a result of `set`.
std::optional<uint32_t> one_of(std::string_view type) {
  if (type == "f32") return 0x3f800000;
  if (type == "f16") return 0x3c00;
  if (type == "bf16") return 0x3f80;
  if (type == "f16x2") return 0x3c003c00;
  if (type == "bf16x2") return 0x3f803f80;
  if (type == "u32" || type == "s32") return 0xffffffff;
  if (type == "u16" || type == "s16") return 0xffff;
  return std::nullopt;
}

uint32_t scratch(uint32_t k) { return k * kCellsBytes; }
Source scratch_source(uint32_t k, uint8_t bytes) { return {kWarp, scratch(k), bytes, false}; }
uint64_t scratch_value(const Frame& f, uint32_t k, uint32_t lane) { return f.cells[k * kLanes + lane]; }

// The row's results of all lanes in the scratch cells `to` and `to` + 1; of the bytes of a cell only those that the
// result has are written.
void compute(Warp& w, Frame& f, const PureOp& row, const Source* in, uint32_t to) {
  Context c{};
  for (uint32_t b = 0; b < 3; ++b) c.base[b] = w.base[b];
  c.stride[kBlock] = c.stride[kWarp] = 8;
  c.together = kLanes;  // rows take lanes for warps that lie 8 bytes apart
  Step s;
  s.extra = row.extra;
  for (uint32_t k = 0; k < row.sources; ++k) {
    s.src[k] = in[k].at | in[k].base;
    if (!in[k].negated) continue;
    for (uint32_t l = 0; l < kLanes; ++l) f.cells[k * kLanes + l] = value(w, in[k], l) ? 0xffffffff : 0;
    s.src[k] = scratch(k) | kWarp;
  }
  s.dst[0] = scratch(to) | kWarp;
  s.dst[1] = scratch(to == 4 ? 5 : 4) | kWarp;
  row.scalar(s, c);
}

void give(Frame& f, const Dest& d, uint32_t from, unsigned bytes, uint32_t on) {
  if (d.at < 0) return;
  for (uint32_t l = 0; l < kLanes; ++l)
    if (on >> l & 1) put(f, d, l, scratch_value(f, from, l), bytes);
}

}  // namespace

void put(Frame& f, const Dest& d, uint32_t lane, uint64_t v, unsigned bytes) {
  if (d.at < 0) return;
  if (d.bytes == 16) return put_wide(f, d, lane, v);
  uint64_t& cell = f.cells[static_cast<uint32_t>(d.at) / 8 + lane];
  if (bytes == 0) {
    cell = v & 1 ? 0xffffffff : 0;
    return;
  }
  const unsigned above = 64 - 8 * bytes, unused = 64 - 8 * d.bytes;
  v <<= above;  // what is above the value is nobody's
  v = d.is_signed ? static_cast<uint64_t>(static_cast<int64_t>(v) >> above) : v >> above;
  cell = v << unused >> unused;
}

void put_wide(Frame& f, const Dest& d, uint32_t lane, Wide v) {
  if (d.at < 0) return;
  uint64_t* cell = f.cells.data() + static_cast<uint32_t>(d.at) / 8 + std::size_t{2} * lane;
  cell[0] = static_cast<uint64_t>(v);
  cell[1] = static_cast<uint64_t>(v >> 64);
}

Wide wide_value(const Warp& w, const Source& s, uint32_t lane) {
  if (s.bytes != 16) return value(w, s, lane);
  const auto* from = reinterpret_cast<const uint64_t*>(w.base[s.base] + s.at + (s.base == kLaunch ? 0 : 16 * lane));
  return from[0] | static_cast<Wide>(from[1]) << 64;
}

void run_row(Warp& w, Frame& f, const Op& op, uint32_t on) {
  compute(w, f, *op.row, op.in.data(), 4);
  for (uint32_t k = 0; k < op.out.size(); ++k) give(f, op.out[k], 4 + k, register_bytes(op.row->result[k]), on);
}

// ---- Of several steps

// Where no row has the mnemonic with so many operands: set, setp of pairs joined with a predicate, lop3 with a
// predicate, min and max of three, createpolicy. False: none of these.
bool Decoder::composed() {
  const std::string_view op = words_->opcode;
  const Join how = join_from(*words_);
  const auto form = [&](Form kind) {
    op_->mode = static_cast<uint8_t>(static_cast<unsigned>(kind) | static_cast<unsigned>(how) << 4);
    op_->run = run_compose;
    return true;
  };
  if (op == "createpolicy") {  // a hint for caches: any value will do
    op_->out.push_back(dest(operand(0)));
    return form(Form::zero);
  }
  if (op == "lop3" && how != Join::none && operands() == 6) {
    op_->row = find_pure("lop3.b32");
    for (std::size_t k = 1; k < 6; ++k) op_->in.push_back(source(operand(k), k == 5 ? 0 : 4));
    op_->out = {dest(operand(0)), second(operand(0))};
    return form(Form::logic);
  }
  if ((op == "min" || op == "max") && operands() == 4) {
    op_->row = find_pure(in_->mnemonic);
    if (!op_->row || op_->row->sources != 2) return false;
    for (std::size_t k = 1; k < 4; ++k) op_->in.push_back(source(operand(k), register_bytes(op_->row->source[0])));
    op_->out.push_back(dest(operand(0)));
    return form(Form::extreme);
  }
  if ((op != "set" && op != "setp") || words_->rest.size() < 2) return false;
  // The comparison alone, as setp writes it.
  const bool pair = is_pair(words_->rest.back()), is_set = op == "set";
  if (!is_set && !pair) return false;
  if (is_set) {
    const std::optional<uint32_t> one = one_of(words_->rest[words_->rest.size() - 2]);
    if (!one) return false;
    op_->extra = *one;
  }
  std::string name = "setp";
  for (std::size_t k = 0; k < words_->rest.size(); ++k) {
    const std::string_view w = words_->rest[k];
    if (w != "and" && w != "or" && w != "xor" && !(is_set && k + 2 == words_->rest.size()))
      name += "." + std::string(w);
  }
  op_->row = find_pure(pair ? name + "|" : name);
  if (!op_->row || operands() != (how == Join::none ? 3u : 4u)) return false;
  for (std::size_t k = 1; k < 3; ++k) op_->in.push_back(source(operand(k), register_bytes(op_->row->source[k - 1])));
  if (how != Join::none) op_->in.push_back(source(operand(3), 0));
  op_->out = {dest(operand(0), is_set && words_->rest[words_->rest.size() - 2].starts_with("s")), second(operand(0))};
  return form(is_set ? Form::set : Form::set_predicates);
}

void run_compose(Warp& w, Frame& f, const Op& op, uint32_t on) {
  const auto form = static_cast<Form>(op.mode & 15);
  const auto how = static_cast<Join>(op.mode >> 4);
  if (form != Form::zero) compute(w, f, *op.row, op.in.data(), 4);
  if (form == Form::extreme) {
    const Source again[2] = {scratch_source(4, register_bytes(op.row->result[0])), op.in[2]};
    compute(w, f, *op.row, again, 5);
    return give(f, op.out[0], 5, register_bytes(op.row->result[0]), on);
  }
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (!(on >> l & 1)) continue;
    const auto joined = [&](bool test, std::size_t with) {
      return how == Join::none ? test : join(how, test, value(w, op.in[with], l));
    };
    const bool first = scratch_value(f, 4, l) & 1, other = scratch_value(f, 5, l) & 1;
    switch (form) {
      case Form::set: {
        const bool pair = op.row->results == 2;
        const uint32_t low = pair ? 0xffff : ~0u, high = pair ? 0xffff0000 : 0;
        const uint32_t bits =
            (joined(first, 2) ? op.extra & low : 0) | (pair && joined(other, 2) ? op.extra & high : 0);
        put(f, op.out[0], l, bits, op.extra <= 0xffff ? 2 : 4);
        break;
      }
      case Form::set_predicates: {
        const bool p = joined(first, 2), q = joined(other, 2);
        put_predicate(f, op.out[0], l, p);
        put_predicate(f, op.out[1], l, q);
        break;
      }
      case Form::logic: {
        const uint64_t d = scratch_value(f, 4, l) & 0xffffffff;
        const bool p = joined(d != 0, 4);
        put(f, op.out[0], l, d, 4);
        put_predicate(f, op.out[1], l, p);
        break;
      }
      default:
        put(f, op.out[0], l, 0, 8);
    }
  }
}

// ---- The carry flag

// {add,addc,sub,subc}{.cc}.TYPE, {mad,madc}.{lo,hi}{.cc}.TYPE. The flag is the carry out of the addition that hardware
// makes: of a subtraction that of a + ~b + 1, so that it is set where nothing was borrowed.
void Decoder::add_with_carry() {
  const std::string_view op = words_->opcode;
  std::string_view written = words_->rest.empty() ? "" : words_->rest.back();
  if (written == "cc" && words_->rest.size() > 1) written = words_->rest[words_->rest.size() - 2];  // add.u32.cc
  // ptxas takes madc of 16 bits, too, for which there is no rule (execute/ops/carry.cpp).
  if (written != "u32" && written != "s32" && written != "u64" && written != "s64") return unknown();
  const auto bytes = static_cast<uint8_t>(ptx::size_of(ptx::type_from(written)));
  const bool takes = op.ends_with("c"), gives = has("cc");
  const bool mad = op.starts_with("mad"), sub = op.starts_with("sub");
  const std::size_t words = 1u + gives + mad;
  if ((!mad && !sub && !op.starts_with("add")) || operands() != (mad ? 4u : 3u) || words_->rest.size() != words ||
      (mad && !has("lo") && !has("hi")))
    return unknown();
  const bool is_signed = written[0] == 's';
  op_->mode = static_cast<uint8_t>(takes | gives << 1 | sub << 2 | mad << 3 | has("hi") << 4 | is_signed << 5);
  op_->extra = bytes;
  for (std::size_t k = 1; k < operands(); ++k) op_->in.push_back(source(operand(k), bytes));
  op_->out.push_back(dest(operand(0), is_signed));
  op_->run = run_carry;
}

void run_carry(Warp& w, Frame& f, const Op& op, uint32_t on) {
  const bool takes = op.mode & 1, gives = op.mode & 2, sub = op.mode & 4, mad = op.mode & 8, high = op.mode & 16,
             is_signed = op.mode & 32;
  const unsigned bits = 8 * op.extra;
  const Wide all = (Wide{1} << bits) - 1;
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (!(on >> l & 1)) continue;
    Wide a = value(w, op.in[0], l) & all, b = value(w, op.in[1], l) & all;
    if (mad) {
      const auto extended = [&](Wide v) { return is_signed && (v >> (bits - 1) & 1) ? v | ~all : v; };
      const Wide product = extended(a) * extended(b);  // modulo 2^128
      a = (high ? product >> bits : product) & all;
      b = value(w, op.in[2], l) & all;
    }
    if (sub) b = ~b & all;
    const Wide sum = a + b + (takes ? w.carry >> l & 1 : sub ? 1u : 0u);
    put(f, op.out[0], l, static_cast<uint64_t>(sum & all), op.extra);
    if (gives) w.carry = (w.carry & ~(1u << l)) | static_cast<uint32_t>(sum >> bits & 1) << l;
  }
}

// ---- Moves

void run_move(Warp& w, Frame& f, const Op& op, uint32_t on) {
  const Dest& d = op.out[0];
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (!(on >> l & 1)) continue;
    if (op.mode == 16)
      put_wide(f, d, l, wide_value(w, op.in[0], l));
    else
      put(f, d, l, value(w, op.in[0], l), op.mode);
  }
}

void run_pack(Warp& w, Frame& f, const Op& op, uint32_t on) {
  const unsigned part = 8 * (op.mode / static_cast<unsigned>(op.in.size()));
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (!(on >> l & 1)) continue;
    Wide whole = 0;
    for (std::size_t k = op.in.size(); k-- > 0;)
      whole = whole << part | (value(w, op.in[k], l) & (~uint64_t{0} >> (64 - part)));
    if (op.out[0].bytes == 16)
      put_wide(f, op.out[0], l, whole);
    else
      put(f, op.out[0], l, static_cast<uint64_t>(whole), op.mode);
  }
}

void run_unpack(Warp& w, Frame& f, const Op& op, uint32_t on) {
  const unsigned bytes = op.mode / static_cast<unsigned>(op.out.size());
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (!(on >> l & 1)) continue;
    const Wide whole = wide_value(w, op.in[0], l);
    for (std::size_t k = 0; k < op.out.size(); ++k)
      put(f, op.out[k], l, static_cast<uint64_t>(whole >> (8 * bytes * k)), bytes);
  }
}

void run_conversion(Warp& w, Frame& f, const Op& op, uint32_t on) {
  for (uint32_t l = 0; l < kLanes; ++l)
    if (on >> l & 1) put(f, op.out[0], l, value(w, op.in[0], l) + value(w, op.in[1], l), 8);
}

void run_is_space(Warp& w, Frame& f, const Op& op, uint32_t on) {
  const auto space = static_cast<Space>(op.mode);
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (!(on >> l & 1)) continue;
    const uint64_t a = value(w, op.in[0], l);
    const auto in = [&](uint64_t window) { return a >> 48 == window >> 48; };
    put_predicate(f, op.out[0], l,
                  space == Space::shared   ? in(kSharedWindow)
                  : space == Space::local  ? in(kLocalWindow)
                  : space == Space::param  ? in(kParamWindow)
                  : space == Space::global ? a >> 48 == 0
                                           : false);
  }
}

void run_nothing(Warp&, Frame&, const Op&, uint32_t) {}

void run_trap(Warp&, Frame&, const Op&, uint32_t on) { throw Stop{Fault::trap, "the kernel executed a trap", on, {}}; }

void run_unknown(Warp&, Frame&, const Op& op, uint32_t on) { throw Stop{Fault::illegal_instruction, op.text, on, {}}; }

}  // namespace coalesce::machine::plain
