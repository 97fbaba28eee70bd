// The shapes of matrix instructions by the types of their factors.
#pragma once

#include "machine/isa/matrix.h"
#include "machine/program/program.h"

namespace coalesce::machine {

struct Shape {
  uint16_t m = 0, n = 0, k = 0;
};

// "m16n8k16"; k is 0 where there is none.
inline bool shape_from(std::string_view word, Shape* shape) {
  uint16_t* part = nullptr;
  Shape s;
  for (const char c : word) {
    if (c == 'm' || c == 'n' || c == 'k')
      part = c == 'm' ? &s.m : c == 'n' ? &s.n : &s.k;
    else if (part && c >= '0' && c <= '9' && *part < 1000)
      *part = static_cast<uint16_t>(10 * *part + (c - '0'));
    else
      return false;
  }
  if (!s.m || !s.n) return false;
  *shape = s;
  return true;
}

// The shapes of mma.sync for factors of each type.
struct ShapeRow {
  CellType cell;
  Shape shape;
};
inline constexpr ShapeRow kMma[] = {
    {CellType::f16, {16, 8, 8}},   {CellType::f16, {16, 8, 16}},  {CellType::bf16, {16, 8, 8}},
    {CellType::bf16, {16, 8, 16}}, {CellType::tf32, {16, 8, 4}},  {CellType::tf32, {16, 8, 8}},
    {CellType::f64, {8, 8, 4}},    {CellType::f64, {16, 8, 4}},   {CellType::f64, {16, 8, 8}},
    {CellType::f64, {16, 8, 16}},  {CellType::e4m3, {16, 8, 16}}, {CellType::e4m3, {16, 8, 32}},
    {CellType::e5m2, {16, 8, 16}}, {CellType::e5m2, {16, 8, 32}}, {CellType::s8, {8, 8, 16}},
    {CellType::s8, {16, 8, 16}},   {CellType::s8, {16, 8, 32}},   {CellType::u8, {8, 8, 16}},
    {CellType::u8, {16, 8, 16}},   {CellType::u8, {16, 8, 32}},   {CellType::s4, {8, 8, 32}},
    {CellType::s4, {16, 8, 32}},   {CellType::s4, {16, 8, 64}},   {CellType::u4, {8, 8, 32}},
    {CellType::u4, {16, 8, 32}},   {CellType::u4, {16, 8, 64}},   {CellType::b1, {8, 8, 128}},
    {CellType::b1, {16, 8, 128}},  {CellType::b1, {16, 8, 256}}};
// The shapes of mma.sp.
inline constexpr ShapeRow kSparse[] = {
    {CellType::f16, {16, 8, 16}},  {CellType::f16, {16, 8, 32}},  {CellType::bf16, {16, 8, 16}},
    {CellType::bf16, {16, 8, 32}}, {CellType::tf32, {16, 8, 8}},  {CellType::tf32, {16, 8, 16}},
    {CellType::e4m3, {16, 8, 64}}, {CellType::e5m2, {16, 8, 64}}, {CellType::s8, {16, 8, 32}},
    {CellType::s8, {16, 8, 64}},   {CellType::u8, {16, 8, 32}},   {CellType::u8, {16, 8, 64}},
    {CellType::s4, {16, 8, 64}},   {CellType::s4, {16, 8, 128}},  {CellType::u4, {16, 8, 64}},
    {CellType::u4, {16, 8, 128}}};
// The shapes of wmma.
inline constexpr ShapeRow kWmma[] = {
    {CellType::f16, {16, 16, 16}},  {CellType::f16, {32, 8, 16}},  {CellType::f16, {8, 32, 16}},
    {CellType::bf16, {16, 16, 16}}, {CellType::bf16, {32, 8, 16}}, {CellType::bf16, {8, 32, 16}},
    {CellType::s8, {16, 16, 16}},   {CellType::s8, {32, 8, 16}},   {CellType::s8, {8, 32, 16}},
    {CellType::u8, {16, 16, 16}},   {CellType::u8, {32, 8, 16}},   {CellType::u8, {8, 32, 16}},
    {CellType::tf32, {16, 16, 8}},  {CellType::f64, {8, 8, 4}},    {CellType::s4, {8, 8, 32}},
    {CellType::u4, {8, 8, 32}},     {CellType::b1, {8, 8, 128}}};

template <std::size_t N>
bool has_shape(const ShapeRow (&rows)[N], CellType cell, const Shape& s) {
  for (const ShapeRow& r : rows)
    if (r.cell == cell && r.shape.m == s.m && r.shape.n == s.n && r.shape.k == s.k) return true;
  return false;
}

// Both factors of one family, of which the first types may differ.
inline bool may_multiply(CellType left, CellType right) {
  const auto both = [&](CellType a, CellType b) { return (left == a || left == b) && (right == a || right == b); };
  return left == right || both(CellType::s8, CellType::u8) || both(CellType::s4, CellType::u4) ||
         both(CellType::e4m3, CellType::e5m2);
}
inline bool may_sum(CellType factor, CellType sum) {
  if (factor == CellType::f64) return sum == CellType::f64;
  if (!is_float(factor)) return sum == CellType::s32;
  return sum == CellType::f32 || (sum == CellType::f16 && factor != CellType::bf16 && factor != CellType::tf32);
}

inline Element element_of(CellType cell) { return cell == CellType::f64 ? Element::b64 : Element::b32; }

}  // namespace coalesce::machine
