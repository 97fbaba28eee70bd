#include "machine/program/linear.h"

#include <string_view>

#include "machine/program/flatten.h"

namespace coalesce::machine {

RuleOf rule_of(const PureOp& op) {
  const Mnemonic m(op.mnemonic);
  RuleOf r;
  const std::string_view type = m.suffixes.empty() ? "" : m.suffixes.back();
  const auto width = [](std::string_view t) -> unsigned {
    return t.ends_with("64") ? 64 : t.ends_with("32") ? 32 : t.ends_with("16") ? 16 : 0;
  };
  const bool integer = type.starts_with("s") || type.starts_with("u") || type.starts_with("b");
  r.bits = width(type);
  r.is_signed = type.starts_with("s");
  if (!integer || r.bits < 32 || type.find('x') != std::string_view::npos) return {};
  if (m.has("sat") || m.has("cc")) return {};
  const std::size_t n = m.suffixes.size();
  if (m.opcode == "add" && n == 1)
    r.rule = Rule::add;
  else if (m.opcode == "sub" && n == 1)
    r.rule = Rule::sub;
  else if (m.opcode == "mul" && m.has("lo"))
    r.rule = Rule::mul_low;
  else if (m.opcode == "mul" && m.has("wide"))
    r.rule = Rule::mul_wide, r.bits *= 2;
  else if (m.opcode == "mad" && m.has("lo"))
    r.rule = Rule::mad_low;
  else if (m.opcode == "mad" && m.has("wide"))
    r.rule = Rule::mad_wide, r.bits *= 2;
  else if (m.opcode == "shl")
    r.rule = Rule::shift_left;
  else if (m.opcode == "neg")
    r.rule = Rule::minus;
  else if (m.opcode == "mov")
    r.rule = Rule::move;
  else if ((m.opcode == "cvt" || m.opcode == "widen" || m.opcode == "narrow") && n == 2) {
    const unsigned to = width(m.suffixes[0]), from = width(m.suffixes[1]);
    if (m.suffixes[0].starts_with("f") || to < 32 || from < 32) return {};
    r.bits = to;
    if (to > from)
      r.rule = m.suffixes[1].starts_with("s") ? Rule::widen_signed : Rule::widen_unsigned;
    else if (to < from)
      r.rule = Rule::truncate;
    else
      r.rule = Rule::move;
  } else {
    return {};
  }
  if (r.bits > 64) return {};
  return r;
}

BoundOf bound_of(const PureOp& op) {
  const Mnemonic m(op.mnemonic);
  if (m.suffixes.size() != 1) return {};
  const std::string_view type = m.suffixes[0];
  const Bound bound = m.opcode == "and"   ? Bound::mask
                      : m.opcode == "shr" ? Bound::shift_right
                      : m.opcode == "rem" ? Bound::remainder
                                          : Bound::none;
  const bool wide = type.ends_with("64"), known = wide || type.ends_with("32");
  if (bound == Bound::none || !known) return {};
  return {bound, wide ? 64u : 32u, type.starts_with("s")};
}

}  // namespace coalesce::machine
