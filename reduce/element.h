// The element types that `coalesce reduce` reads: one row each.
#pragma once

#include <coalesce/detail/exact/format.hpp>
#include <cstdint>
#include <optional>
#include <string_view>

namespace coalesce::reduce {

enum class Element : uint8_t { i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64 };

struct ElementRow {
  Element element;
  std::string_view name;  // of --type, and in what is printed
  std::string_view npy;   // kind and size in a .npy header; empty: there is none
  uint32_t bytes;
};

inline constexpr ElementRow kElements[] = {
    {Element::i8, "int8", "i1", 1},     {Element::i16, "int16", "i2", 2},   {Element::i32, "int32", "i4", 4},
    {Element::i64, "int64", "i8", 8},   {Element::u8, "uint8", "u1", 1},    {Element::u16, "uint16", "u2", 2},
    {Element::u32, "uint32", "u4", 4},  {Element::u64, "uint64", "u8", 8},  {Element::f16, "float16", "f2", 2},
    {Element::bf16, "bfloat16", "", 2}, {Element::f32, "float32", "f4", 4}, {Element::f64, "float64", "f8", 8},
};

inline const ElementRow& row_of(Element element) { return kElements[static_cast<int>(element)]; }

inline std::optional<Element> element_named(std::string_view name) {
  for (const ElementRow& row : kElements) {
    if (row.name == name) return row.element;
  }
  return std::nullopt;
}

// Calls f(T()) with the C++ type of `element`.
template <class F>
auto with_type(Element element, F&& f) {
  switch (element) {
    case Element::i8:
      return f(int8_t());
    case Element::i16:
      return f(int16_t());
    case Element::i32:
      return f(int32_t());
    case Element::i64:
      return f(int64_t());
    case Element::u8:
      return f(uint8_t());
    case Element::u16:
      return f(uint16_t());
    case Element::u32:
      return f(uint32_t());
    case Element::u64:
      return f(uint64_t());
    case Element::f16:
      return f(half_bits());
    case Element::bf16:
      return f(bfloat16_bits());
    case Element::f32:
      return f(float());
    case Element::f64:
      break;
  }
  return f(double());
}

}  // namespace coalesce::reduce
