#include "machine/ptx/scope.h"

#include <charconv>
#include <utility>

namespace coalesce::ptx {

void Scopes::close() {
  for (const size_t mark = undo_marks_.back(); undo_.size() > mark; undo_.pop_back()) {
    const Undo& undo = undo_.back();
    if (undo.before.kind == Binding::Kind::none) {
      undo.names->erase(undo.name);
    } else {
      (*undo.names)[undo.name] = undo.before;
    }
  }
  undo_marks_.pop_back();
}

bool Scopes::declare(Names& names, std::string_view name, Binding binding) {
  binding.depth = depth();
  Binding& slot = names[name];
  if (slot.kind != Binding::Kind::none && slot.depth == binding.depth) return false;
  undo_.push_back({&names, name, std::exchange(slot, binding)});
  return true;
}

bool Scopes::declare_register(std::string_view name, uint32_t index) {
  return declare(names_, name, {Binding::Kind::reg, 0, index, 1});
}

bool Scopes::declare_range(std::string_view prefix, uint32_t first, uint32_t count) {
  return declare(ranges_, prefix, {Binding::Kind::reg, 0, first, count});
}

bool Scopes::declare_variable(std::string_view name, std::string unique_name) {
  unique_names_.push_back(std::move(unique_name));
  return declare(names_, name, {Binding::Kind::variable, 0, static_cast<uint32_t>(unique_names_.size() - 1), 1});
}

Binding Scopes::find(std::string_view name) const {
  Binding found;
  if (const auto it = names_.find(name); it != names_.end()) found = it->second;
  const size_t stem = name.find_last_not_of("0123456789") + 1;
  const std::string_view digits = name.substr(stem);
  if (digits.empty() || (digits.size() > 1 && digits[0] == '0')) return found;
  const auto it = ranges_.find(name.substr(0, stem));
  if (it == ranges_.end() || (found.kind != Binding::Kind::none && found.depth >= it->second.depth)) return found;
  uint32_t number = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc() ||
      number >= it->second.count)
    return found;
  Binding result = it->second;
  result.index += number;
  return result;
}

}  // namespace coalesce::ptx
