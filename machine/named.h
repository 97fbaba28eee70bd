// Tables of names, for choices that users make by a word: command line, environment, records.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace coalesce::machine {

template <class T, std::size_t N>
using Names = std::array<std::pair<const char*, T>, N>;

// False, and `value` as it was, where there is none of that name.
template <class T, std::size_t N>
bool find_named(const Names<T, N>& names, std::string_view name, T& value) {
  for (const auto& [key, named] : names)
    if (key == name) return value = named, true;
  return false;
}

template <class T, std::size_t N>
const char* name_of(const Names<T, N>& names, T value) {
  for (const auto& [key, named] : names)
    if (named == value) return key;
  return "";
}

}  // namespace coalesce::machine
