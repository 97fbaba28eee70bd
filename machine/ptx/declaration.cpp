#include "machine/ptx/declaration.h"

#include <algorithm>
#include <bit>

namespace coalesce::ptx {
namespace {

constexpr uint64_t most_bytes = uint64_t{1} << 48;  // of one variable
constexpr size_t most_dimensions = 16;

}  // namespace

struct Declarations::Head {
  Space space = Space::none;
  Type type = Type::none;
  unsigned element = 0;  // bytes
  unsigned vector = 1;   // .v2, .v4
  unsigned alignment = 0;
  bool managed = false;
};

Space space_from(std::string_view word) {
  if (word == "param") return Space::param;
  if (word == "global") return Space::global;
  if (word == "shared" || word.starts_with("shared::")) return Space::shared;
  if (word == "local") return Space::local;
  if (word == "const") return Space::constant;
  return Space::none;
}

Declarations::Head Declarations::head(bool parameter) {
  Head head;
  bool pointer = false;  // behind .ptr: what follows describes what the pointer points to
  while (in_.is_directive()) {
    const std::string_view word = in_.token.text;
    if (word == "align") {
      const Token at = in_.token;
      in_.advance();
      const uint32_t bytes = in_.small_integer("an alignment");
      if (bytes == 0 || !std::has_single_bit(bytes))
        in_.lexer.fail(at.text.data(), "an alignment must be a power of two");
      if (!pointer) head.alignment = bytes;
      continue;
    }
    if (word == "attribute") {
      in_.advance();
      in_.expect('(', "after '.attribute'");
      for (unsigned depth = 1; depth > 0; in_.advance()) {
        if (in_.at_end() || in_.is(';')) in_.unexpected("')' after the attributes");
        depth += in_.is('(');
        depth -= in_.is(')');
        head.managed |= in_.is_directive("managed");
      }
      continue;
    }
    const Type type = type_from(word);
    if (word == "ptr") {
      pointer = true;
    } else if (pointer) {
      // .global, .noalias ...: hints
    } else if (type != Type::none) {
      if (head.type != Type::none) in_.unexpected("a name after the type");
      head.type = type;
      head.element = size_of(type);
      if (word == "texref" || word == "samplerref" || word == "surfref") head.element = 8;
    } else if (word == "v2" || word == "v4" || word == "v8") {
      head.vector = static_cast<unsigned>(word[1] - '0');
    } else if (space_from(word) != Space::none && head.space == Space::none) {
      head.space = space_from(word);
    } else if (!(parameter && word == "reg") && word != "visible" && word != "weak" && word != "common" &&
               word != "extern") {
      in_.unexpected("a state space, an alignment, a type or a name");
    }
    in_.advance();
  }
  if (head.type == Type::none) in_.unexpected("a type such as '.u32'");
  return head;
}

// Name and dimensions. An empty first dimension is 0 until an initialiser fills it.
std::string_view Declarations::shape(const Head& head, Variable& variable, std::vector<uint64_t>& dimensions) {
  variable.space = head.space;
  variable.type = head.type;
  variable.managed = head.managed;
  variable.alignment = head.alignment;
  const uint64_t one = uint64_t{head.element} * head.vector;
  if (head.vector > 1 && head.alignment == 0) variable.alignment = static_cast<unsigned>(one);
  const std::string_view name = in_.name("a name for the variable");
  variable.name = name;
  variable.size = one;
  uint64_t extent = std::max<uint64_t>(one, 1);  // as size, but empty dimensions count as 1: no product below overflows
  while (in_.is('[')) {
    const Token at = in_.token;
    in_.advance();
    int64_t count = 0;
    if (!in_.is(']')) {
      count = in_.integer("an array length");
      if (count < 0) in_.lexer.fail(at.text.data(), "an array length cannot be negative");
    } else if (!dimensions.empty()) {
      in_.fail("only the first dimension of an array may be left open");
    }
    in_.expect(']', "after the array length");
    dimensions.push_back(static_cast<uint64_t>(count));
    if (dimensions.size() > most_dimensions) in_.fail("this array has too many dimensions");
    if (extent > most_bytes / std::max<uint64_t>(static_cast<uint64_t>(count), 1))
      in_.lexer.fail(at.text.data(), "'" + variable.name.substr(0, 60) + "' is larger than any memory");
    extent *= std::max<uint64_t>(static_cast<uint64_t>(count), 1);
    variable.size *= static_cast<uint64_t>(count);
  }
  if (head.vector > 1) dimensions.push_back(head.vector);
  return name;
}

std::vector<std::string_view> Declarations::variables(bool is_extern, std::vector<Variable>& out) {
  std::vector<std::string_view> names;
  const Head head = this->head(false);
  do {
    Variable variable;
    std::vector<uint64_t> dimensions;
    names.push_back(shape(head, variable, dimensions));
    variable.is_extern = is_extern;
    if (in_.accept('=')) initialiser(variable, head.element, dimensions);
    out.push_back(std::move(variable));
  } while (in_.accept(','));
  in_.expect(';', "after the declaration of a variable");
  return names;
}

std::vector<Variable> Declarations::parameters() {
  std::vector<Variable> result;
  in_.expect('(', "before the parameters");
  if (in_.accept(')')) return result;
  do {
    const Head head = this->head(true);
    Variable variable;
    std::vector<uint64_t> dimensions;
    shape(head, variable, dimensions);
    result.push_back(std::move(variable));
  } while (in_.accept(','));
  in_.expect(')', "after the parameters");
  return result;
}

void Declarations::initialiser(Variable& variable, unsigned element, std::vector<uint64_t>& dimensions) {
  const Token at = in_.token;
  if (variable.type == Type::other) {  // textures, samplers: "{addr_mode_0 = wrap, ...}"
    if (!in_.is('{')) in_.unexpected("'{'");
    in_.lexer.skip_block(in_.token);
    return in_.advance();
  }
  if (element == 0) in_.fail("a variable of this type cannot have initial values");
  uint64_t most = 0;  // bytes that the values take
  if (in_.is('{')) {
    if (dimensions.empty()) dimensions.push_back(1);
    values(variable, element, dimensions, 0, 0, most);
  } else {
    value(variable, element, 0);
    most = element;
  }
  if (!dimensions.empty() && dimensions[0] == 0) {
    uint64_t row = element;
    for (size_t d = 1; d < dimensions.size(); d++) row *= dimensions[d];
    variable.size = row == 0 ? 0 : (most + row - 1) / row * row;
  }
  if (most > variable.size) in_.lexer.fail(at.text.data(), "more initial values than the array has elements");
  initial_bytes_ += variable.size;
  if (variable.size > most_initial_bytes || initial_bytes_ > most_initial_bytes)
    in_.lexer.fail(at.text.data(), "the initial values of this module take more than " +
                                       std::to_string(most_initial_bytes >> 20) + " MiB");
  variable.initial.resize(variable.size);
}

// "{" values "}" for the sub-array that starts at byte `begin`. A list may be shorter than the array, and may leave out
// the inner braces.
void Declarations::values(Variable& variable, unsigned element, const std::vector<uint64_t>& dimensions, size_t level,
                          uint64_t begin, uint64_t& most) {
  uint64_t inner = element;  // bytes of one entry of this level
  for (size_t d = level + 1; d < dimensions.size(); d++) inner *= dimensions[d];
  const bool open = level == 0 && dimensions[0] == 0;
  const uint64_t end = open ? most_bytes : begin + inner * dimensions[level];
  uint64_t at = begin;
  in_.expect('{', "before the initial values");
  while (!in_.is('}')) {
    if (in_.is('{')) {
      if (level + 1 >= dimensions.size()) in_.fail("more nested braces than the array has dimensions");
      if (inner == 0) in_.fail("initial values for an array without elements");
      at = begin + (at - begin + inner - 1) / inner * inner;
      if (at + inner > end) in_.fail("more initial values than the array has elements");
      values(variable, element, dimensions, level + 1, at, most);
      at += inner;
    } else {
      if (at + element > end) in_.fail("more initial values than the array has elements");
      value(variable, element, at);
      at += element;
    }
    most = std::max(most, at);
    if (!in_.accept(',')) break;
  }
  in_.expect('}', "after the initial values");
}

void Declarations::store(Variable& variable, uint64_t at, uint64_t bits, unsigned bytes) {
  if (at + bytes > most_initial_bytes) in_.fail("these initial values take too much memory");
  if (variable.initial.size() < at + bytes) variable.initial.resize(at + bytes);
  for (unsigned i = 0; i < bytes && i < 8; i++) variable.initial[at + i] = static_cast<uint8_t>(bits >> (8 * i));
}

void Declarations::value(Variable& variable, unsigned element, uint64_t at) {
  const bool mask = [&] {  // 0xFF00(symbol) begins like a number
    if (in_.token.kind != Token::Kind::number) return false;
    return in_.lexer.next_is('(');
  }();
  if (mask || (in_.is_word() && in_.token.text != "WARP_SZ") || in_.token.kind == Token::Kind::string)
    return relocation(variable, element, at);
  const Token start = in_.token;
  const Number number = in_.number();
  uint64_t bits = number.bits;
  const auto as_double = [&] {
    return number.is_f32 ? double{std::bit_cast<float>(static_cast<uint32_t>(bits))} : std::bit_cast<double>(bits);
  };
  if (variable.type == Type::f64) {
    if (!number.is_real) bits = std::bit_cast<uint64_t>(static_cast<double>(static_cast<int64_t>(bits)));
    if (number.is_f32) bits = std::bit_cast<uint64_t>(as_double());
  } else if (variable.type == Type::f32) {
    if (!number.is_real) bits = std::bit_cast<uint32_t>(static_cast<float>(static_cast<int64_t>(bits)));
    if (number.is_real && !number.is_f32) bits = std::bit_cast<uint32_t>(static_cast<float>(as_double()));
  } else if (number.is_real && element != (number.is_f32 ? 4u : 8u)) {
    in_.lexer.fail(start.text.data(),
                   "a real number cannot be the initial value of a '." + std::string(name_of(variable.type)) + "'");
  }
  store(variable, at, bits, element);
}

// symbol, symbol+4, generic(symbol), generic(symbol)+4, 0xFF00(any of these)
void Declarations::relocation(Variable& variable, unsigned element, uint64_t at) {
  Relocation r;
  r.at = at;
  r.size = element;
  const bool masked = in_.token.kind == Token::Kind::number;
  if (masked) {
    Number mask;
    if (!decode_number(in_.token.text, mask) || mask.is_real || mask.bits == 0) in_.unexpected("a mask of one byte");
    r.shift = static_cast<unsigned>(std::countr_zero(mask.bits));
    if (r.shift % 8 != 0 || mask.bits >> r.shift != 0xFF || element != 1)
      in_.fail("expected a mask that picks one byte of an address, as in 0xFF00(symbol), in an array of bytes");
    in_.advance();
    in_.expect('(', "after the mask");
  } else if (element != address_size_ / 8 && element != 8 && element != 4) {
    in_.fail("an address does not fit into a '." + std::string(name_of(variable.type)) + "'");
  }
  r.symbol = in_.name("a symbol");
  if (r.symbol == "generic" && in_.accept('(')) {
    r.generic = true;
    r.symbol = in_.name("a symbol");
    if (in_.is('+') || in_.is('-')) r.addend = in_.integer("an offset");
    in_.expect(')', "after the symbol");
  }
  if (in_.is('+') || in_.is('-'))
    r.addend = static_cast<int64_t>(static_cast<uint64_t>(r.addend) + static_cast<uint64_t>(in_.integer("an offset")));
  if (masked) in_.expect(')', "after the masked symbol");
  store(variable, at, 0, element);
  variable.relocations.push_back(std::move(r));
}

}  // namespace coalesce::ptx
