// One token of look-ahead over the lexer, and the small phrases of which PTX is made. The parsers of declarations and
// of function bodies share it.
#pragma once

#include <string>
#include <string_view>

#include "machine/ptx/lexer.h"

namespace coalesce::ptx {

class Reader {
 public:
  Reader(std::string_view text, const std::string& name) : lexer(text, name) { advance(); }

  Lexer lexer;  // stands behind `token`
  Token token;  // the current token

  void advance() { token = lexer.next(); }
  bool at_end() const { return token.kind == Token::Kind::end; }
  bool is(char mark) const { return token.kind == Token::Kind::mark && token.mark == mark; }
  bool is_directive() const { return token.kind == Token::Kind::directive; }
  bool is_directive(std::string_view word) const { return is_directive() && token.text == word; }
  bool is_word() const { return token.kind == Token::Kind::word; }

  bool accept(char mark) {
    if (!is(mark)) return false;
    advance();
    return true;
  }
  bool accept_directive(std::string_view word) {
    if (!is_directive(word)) return false;
    advance();
    return true;
  }
  // `where` completes the message: "after the variable's name".
  void expect(char mark, std::string_view where);

  // A name, quoted or not; `what` is for the message: "a label".
  std::string_view name(std::string_view what);
  // A literal with signs before it; integers may be sums and products of literals. Reals stand alone.
  Number number();
  // Like number(), for places where only an integer makes sense.
  int64_t integer(std::string_view what);
  uint32_t small_integer(std::string_view what);  // 0 to 2^32 - 1
  // The text of a string token, escapes resolved.
  std::string string(std::string_view what);

  // Passes over a directive that the parser does not know (the current token): up to and including ';' or a block in
  // braces, or up to a directive of module scope that begins a line, to the brace that closes the enclosing block, or
  // to the end. `in_body`: also up to a line that can only be the next instruction or label, so that a directive
  // without ';' (as .loc is) swallows none.
  void skip_statement(bool in_body);

  [[noreturn]] void fail(std::string message) const { lexer.fail(token.text.data(), std::move(message)); }
  // "expected `wanted`, found ..."
  [[noreturn]] void unexpected(std::string_view wanted) const;

 private:
  uint64_t product();
};

}  // namespace coalesce::ptx
