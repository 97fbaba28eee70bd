// Video instructions as PTX writes them, for the row `video` (isa/video.h).
#include "machine/isa/video.h"

#include <algorithm>
#include <optional>

#include "machine/program/flatten/opcodes.h"

namespace coalesce::machine::flattening {

namespace {

template <class T, std::size_t N>
std::optional<T> named(const std::pair<std::string_view, T> (&table)[N], std::string_view name) {
  for (const auto& [text, value] : table)
    if (text == name) return value;
  return std::nullopt;
}

constexpr std::pair<std::string_view, VideoOp> kOps[] = {
    {"vadd", VideoOp::add}, {"vsub", VideoOp::sub},   {"vabsdiff", VideoOp::absdiff}, {"vmin", VideoOp::min},
    {"vmax", VideoOp::max}, {"vavrg", VideoOp::avrg}, {"vset", VideoOp::set},         {"vshl", VideoOp::shl},
    {"vshr", VideoOp::shr}, {"vmad", VideoOp::mad}};
constexpr std::pair<std::string_view, VideoCompare> kCompares[] = {{"eq", VideoCompare::eq}, {"ne", VideoCompare::ne},
                                                                   {"lt", VideoCompare::lt}, {"le", VideoCompare::le},
                                                                   {"gt", VideoCompare::gt}, {"ge", VideoCompare::ge}};
constexpr std::pair<std::string_view, VideoSecond> kSeconds[] = {
    {"add", VideoSecond::add}, {"min", VideoSecond::min}, {"max", VideoSecond::max}};

// "b2" or "h0" of a scalar instruction; empty: all of the register.
bool scalar_part(std::string_view part, uint8_t* bits, uint8_t* at) {
  if (part.empty()) return true;
  const unsigned n = part[0] == 'b' ? 8 : part[0] == 'h' ? 16 : 0;
  if (n == 0 || part.size() != 2 || part[1] < '0' || static_cast<unsigned>(part[1] - '0') >= 32 / n) return false;
  *bits = static_cast<uint8_t>(n);
  *at = static_cast<uint8_t>(n * static_cast<unsigned>(part[1] - '0'));
  return true;
}

// "h32" or "b7654": the first digit is of the highest lane.
bool chosen_parts(std::string_view part, unsigned lanes, uint16_t* choice) {
  if (part.size() != lanes + 1 || part[0] != (lanes == 2 ? 'h' : 'b')) return false;
  *choice = 0;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const char digit = part[lanes - lane];
    if (digit < '0' || static_cast<unsigned>(digit - '0') >= 2 * lanes) return false;
    *choice = static_cast<uint16_t>(*choice | static_cast<unsigned>(digit - '0') << 4 * lane);
  }
  return true;
}

// "h1" or "b31": the lanes that are written.
bool written_lanes(std::string_view part, unsigned lanes, uint8_t* mask) {
  if (part.size() < 2 || part[0] != (lanes == 2 ? 'h' : 'b')) return false;
  *mask = 0;
  for (const char digit : part.substr(1)) {
    if (digit < '0' || static_cast<unsigned>(digit - '0') >= lanes) return false;
    *mask = static_cast<uint8_t>(*mask | 1u << (digit - '0'));
  }
  return true;
}

std::string_view part_of(const ptx::Operand& o) { return o.kind == Operand::part ? std::string_view(o.name) : ""; }
bool is_minus(const ptx::Operand& o) { return o.kind == Operand::part && o.negated; }

// Reads the form from the mnemonic. False: it is no video instruction, or has a suffix that it cannot have.
bool form_from(const Mnemonic& m, VideoForm* form) {
  std::string_view name = m.opcode;
  if (name.ends_with('2') || name.ends_with('4')) {
    form->lanes = static_cast<uint8_t>(name.back() - '0');
    name.remove_suffix(1);
  }
  const std::optional<VideoOp> op = named(kOps, name);
  if (!op) return false;
  form->op = *op;
  std::vector<bool> types;
  bool has_compare = false;
  for (std::string_view s : m.suffixes) {
    if (s == "u32" || s == "s32") {
      types.push_back(s == "s32");
    } else if (const auto c = named(kCompares, s); c && *op == VideoOp::set) {
      form->compare = *c;
      has_compare = true;
    } else if (const auto second = named(kSeconds, s); second && (form->lanes == 1 || *second == VideoSecond::add)) {
      form->second = *second;
    } else if (s == "sat") {
      form->saturates = true;
    } else if ((s == "wrap" || s == "clamp") && (*op == VideoOp::shl || *op == VideoOp::shr)) {
      form->wraps = s == "wrap";
    } else if (*op == VideoOp::mad && (s == "po" || s == "shr7" || s == "shr15")) {
      form->plus_one = form->plus_one || s == "po";
      if (s != "po") form->scale = s == "shr7" ? 7 : 15;
    } else {
      return false;
    }
  }
  if (*op == VideoOp::set) types.insert(types.begin(), false);  // its result is unsigned
  if (types.size() != 3 || has_compare != (*op == VideoOp::set)) return false;
  form->signed_d = types[0];
  form->signed_a = types[1];
  form->signed_b = types[2];
  return true;
}

}  // namespace

bool video(Builder& b) {
  VideoForm form;
  const auto& ops = b.in->operands;
  if (!form_from(*b.m, &form)) return false;
  // c: words have one always, scalars where d is a part of it or a second operation takes it.
  const bool has_c = form.lanes > 1 || form.op == VideoOp::mad || form.second != VideoSecond::none ||
                     (!ops.empty() && !part_of(ops[0]).empty());
  if (ops.size() != (has_c ? 4u : 3u)) return b.wrong_number(), true;
  if (form.lanes > 1) {
    form.a = form.lanes == 2 ? 0x10 : 0x3210;
    form.b = form.lanes == 2 ? 0x32 : 0x7654;
    if ((!part_of(ops[0]).empty() && !written_lanes(part_of(ops[0]), form.lanes, &form.mask)) ||
        (!part_of(ops[1]).empty() && !chosen_parts(part_of(ops[1]), form.lanes, &form.a)) ||
        (!part_of(ops[2]).empty() && !chosen_parts(part_of(ops[2]), form.lanes, &form.b)))
      return false;
  } else if (!scalar_part(part_of(ops[0]), &form.d_bits, &form.d_at) ||
             !scalar_part(part_of(ops[1]), &form.a_bits, &form.a_at) ||
             !scalar_part(part_of(ops[2]), &form.b_bits, &form.b_at)) {
    return false;
  }
  form.minus_ab = is_minus(ops[1]) != is_minus(ops[2]);
  form.minus_c = ops.size() == 4 && is_minus(ops[3]);
  if ((form.minus_ab || form.minus_c) && form.op != VideoOp::mad) return false;
  if (form.lanes == 1) {
    // On a GPU these instructions do not do what PTX's manual defines, and no single rule describes it
    // (tests/truth/spellings.txt).
    const bool extreme = form.second == VideoSecond::min || form.second == VideoSecond::max;
    const bool is_signed = form.signed_a && form.signed_b;
    if (form.saturates || (extreme && (form.op == VideoOp::set ? form.signed_a : !form.signed_d)) ||
        (form.op == VideoOp::mad && form.scale != 0 && !is_signed) ||
        (form.op == VideoOp::mad && form.scale != 0 && !form.signed_d))
      return b.unknown("'" + b.in->mnemonic + "' does on a GPU what PTX does not define"), true;
  }
  const auto whole = [](ptx::Operand o) {
    if (o.kind == Operand::part) o.kind = Operand::reg, o.negated = false;
    return o;
  };
  std::vector<Value> sources;
  for (std::size_t k = 1; k < 4; ++k)
    sources.push_back(k < ops.size() ? b.value(whole(ops[k]), Element::b32) : Value::imm(0));
  sources.push_back(Value::imm(word_of(form)));
  const uint32_t r = b.result(whole(ops[0]), Element::b32, form.signed_d);
  b.emit_final("video", {r}, std::move(sources), true);
  b.finish_results();
  return true;
}

}  // namespace coalesce::machine::flattening
