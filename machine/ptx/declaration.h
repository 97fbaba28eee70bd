// Variables and parameters: ".global .align 8 .u64 table[2][3] = {...}", ".param .b64 .ptr .global .align 16 p".
#pragma once

#include <string_view>
#include <vector>

#include "machine/ptx/module.h"
#include "machine/ptx/reader.h"

namespace coalesce::ptx {

// Bytes of initial values in one module; more is refused, so that a short text cannot claim all memory.
constexpr uint64_t most_initial_bytes = uint64_t{256} << 20;

// Reads the declarations of one module. One per parse: it adds up what initial values take.
class Declarations {
 public:
  explicit Declarations(Reader& reader, const unsigned& address_size) : in_(reader), address_size_(address_size) {}

  // Parses from the state space (the current token) to the ';': one or several variables. `is_extern`: .extern stood
  // before it. Gives their names as pieces of the text.
  std::vector<std::string_view> variables(bool is_extern, std::vector<Variable>& out);
  // "(" parameters ")", possibly none.
  std::vector<Variable> parameters();

 private:
  struct Head;  // what stands before the name and holds for every name in a list
  Head head(bool parameter);
  std::string_view shape(const Head& head, Variable& variable, std::vector<uint64_t>& dimensions);
  void initialiser(Variable& variable, unsigned element, std::vector<uint64_t>& dimensions);
  void values(Variable& variable, unsigned element, const std::vector<uint64_t>& dimensions, size_t level,
              uint64_t begin, uint64_t& most);
  void value(Variable& variable, unsigned element, uint64_t at);
  void relocation(Variable& variable, unsigned element, uint64_t at);
  void store(Variable& variable, uint64_t at, uint64_t bits, unsigned bytes);

  Reader& in_;
  const unsigned& address_size_;
  uint64_t initial_bytes_ = 0;
};

// ".param" -> Space::param; Space::none when the word names no state space.
Space space_from(std::string_view word);

}  // namespace coalesce::ptx
