// The operands of an instruction: the part of BodyParser that reads them.
#include <algorithm>
#include <array>
#include <utility>

#include "machine/ptx/body.h"

namespace coalesce::ptx {
namespace {

constexpr unsigned most_nested = 8;  // braces and parentheses inside one operand

// Special registers that end in a digit, without it. Other undeclared %names without a digit at their end are taken for
// special registers too, so that one which a later version brings stops only the kernel that reads it.
constexpr auto numbered_specials =
    std::to_array<std::string_view>({"%clock", "%pm", "%envreg", "%globaltimer", "%reserved_smem_offset_"});

bool may_be_special(std::string_view name) {
  if (name.size() < 2 || name[0] != '%') return false;
  const size_t stem = name.find_last_not_of("0123456789") + 1;
  if (stem == name.size()) return true;
  if (name.starts_with("%pm") && name.ends_with("_64")) return true;
  return std::find(numbered_specials.begin(), numbered_specials.end(), name.substr(0, stem)) != numbered_specials.end();
}

}  // namespace

int32_t BodyParser::register_here(std::string_view what) {
  const Binding binding = in_.is_word() ? scopes_.find(in_.token.text) : Binding{};
  if (binding.kind != Binding::Kind::reg) in_.unexpected(what);
  in_.advance();
  return static_cast<int32_t>(binding.index);
}

Operand BodyParser::operand(unsigned depth) {
  if (depth > most_nested) in_.fail("operands are nested too deep");
  Operand result;
  if (in_.is_word()) return word(depth <= 1);
  if (in_.is('[')) return address(depth);
  if (in_.is('{')) return sequence(Operand::Kind::vector, '}', depth);
  if (in_.is('(')) return sequence(Operand::Kind::list, ')', depth);
  if (in_.accept('!')) {
    result.kind = Operand::Kind::reg;
    result.negated = true;
    result.reg = register_here("a declared predicate register after '!'");
    return result;
  }
  if (in_.is('-') && in_.lexer.next_is('%')) {  // of vmad
    in_.advance();
    result = word(false);
    result.kind = Operand::Kind::part;
    result.negated = true;
    return result;
  }
  if (in_.token.kind == Token::Kind::string) return word(false);
  if (in_.token.kind != Token::Kind::number && !in_.is('-') && !in_.is('+') && !in_.is('~'))
    in_.unexpected("an operand");
  const Number number = in_.number();
  result.kind = number.is_real ? Operand::Kind::real : Operand::Kind::integer;
  result.is_f32 = number.is_f32;
  result.bits = number.bits;
  return result;
}

// A register, a pair of them, '_', a special register, WARP_SZ, a variable with or without an offset, a label.
Operand BodyParser::word(bool may_be_label) {
  Operand result;
  const std::string_view name = in_.token.text;
  if (in_.is_word() && name == "WARP_SZ") {
    result.kind = Operand::Kind::integer;
    result.bits = static_cast<uint64_t>(in_.integer("WARP_SZ"));
    return result;
  }
  const Binding binding = name == "_" ? Binding{} : scopes_.find(name);
  if (binding.kind == Binding::Kind::reg || name == "_") {
    in_.advance();
    if (name != "_") {
      result.kind = Operand::Kind::reg;
      result.reg = static_cast<int32_t>(binding.index);
    }
    if (in_.accept('|')) {
      if (in_.is_word() && in_.token.text == "_") {
        in_.advance();
      } else {
        result.kind = Operand::Kind::reg;
        result.reg2 = register_here("a declared register after '|'");
      }
    }
    if (result.kind == Operand::Kind::reg && in_.is_directive()) {  // %r1.b0 of a video instruction
      result.kind = Operand::Kind::part;
      result.name = in_.token.text;
      in_.advance();
    }
    return result;
  }
  result.kind = Operand::Kind::symbol;
  if (binding.kind == Binding::Kind::variable) {
    result.name = scopes_.unique_name(binding);
    in_.advance();
  } else if (in_.is_word() && name[0] == '%') {
    if (!may_be_special(name)) in_.fail("the register '" + std::string(name.substr(0, 80)) + "' is not declared here");
    result.kind = Operand::Kind::special;
    result.name = name;
    in_.advance();
    if (in_.is_directive()) {
      result.name += '.';
      result.name += in_.token.text;
      in_.advance();
    }
    return result;
  } else {
    result.name = name;
    in_.advance();
    if (may_be_label && !in_.is('+') && !in_.is('-')) {
      label_names_.push_back(name);
      result.target = static_cast<uint32_t>(label_names_.size());  // instruction() notes it and takes it away
    }
  }
  if (in_.is('+') || in_.is('-')) result.offset = in_.integer("an offset");
  return result;
}

// "[base+offset]", "[base, more, ...]": what follows the base (coordinates of a texture) goes to `elements`.
Operand BodyParser::address(unsigned depth) {
  Operand result;
  in_.expect('[', "before an address");
  const Token start = in_.token;
  const bool constant = in_.is_word() && in_.token.text == "WARP_SZ";
  if ((in_.is_word() || in_.token.kind == Token::Kind::string) && !constant) {
    result = word(false);
    if ((result.kind != Operand::Kind::reg && result.kind != Operand::Kind::symbol) || result.reg2 >= 0)
      in_.lexer.fail(start.text.data(),
                     "'" + std::string(start.text.substr(0, 80)) + "' cannot be the base of an address");
    if (in_.is('+') || in_.is('-')) result.offset = in_.integer("an offset");
  } else {
    result.offset = in_.integer("an address");
  }
  result.kind = Operand::Kind::address;
  while (in_.accept(',')) result.elements.push_back(operand(depth + 2));
  in_.expect(']', "after the address");
  return result;
}

Operand BodyParser::sequence(Operand::Kind kind, char close, unsigned depth) {
  Operand result;
  result.kind = kind;
  in_.advance();
  if (in_.accept(close)) return result;
  do result.elements.push_back(operand(depth + 1));
  while (in_.accept(','));
  in_.expect(close, kind == Operand::Kind::vector ? "after the vector" : "after the list");
  return result;
}

}  // namespace coalesce::ptx
