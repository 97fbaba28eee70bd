// The register, variable or label that a name stands for at a place in a function body. Scopes are braces; an inner
// declaration shadows an outer one until its brace closes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace coalesce::ptx {

struct Binding {
  enum class Kind : uint8_t { none, reg, variable };
  Kind kind = Kind::none;
  uint32_t depth = 0;  // of the scope it was declared in
  uint32_t index = 0;  // reg: of the (first) register; variable: see Scopes::unique_name
  uint32_t count = 0;  // a range %r<count>: how many
};

class Scopes {
 public:
  void open() { undo_marks_.push_back(undo_.size()); }
  void close();
  uint32_t depth() const { return static_cast<uint32_t>(undo_marks_.size()); }

  // False: the name is taken in this very scope. Names must outlive the scopes (they are pieces of the text).
  bool declare_register(std::string_view name, uint32_t index);
  bool declare_range(std::string_view prefix, uint32_t first, uint32_t count);
  bool declare_variable(std::string_view name, std::string unique_name);

  // The innermost meaning. For a register of a range, `index` is already that register's own.
  Binding find(std::string_view name) const;
  const std::string& unique_name(const Binding& variable) const { return unique_names_[variable.index]; }

 private:
  using Names = std::unordered_map<std::string_view, Binding>;
  struct Undo {
    Names* names;
    std::string_view name;
    Binding before;
  };
  bool declare(Names& names, std::string_view name, Binding binding);

  Names names_;   // registers and variables by their whole names
  Names ranges_;  // ranges by what stands before the number
  std::vector<Undo> undo_;
  std::vector<size_t> undo_marks_;
  std::vector<std::string> unique_names_;
};

}  // namespace coalesce::ptx
