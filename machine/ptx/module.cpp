#include "machine/ptx/module.h"

#include <algorithm>
#include <array>

namespace coalesce::ptx {
namespace {

struct TypeRow {
  std::string_view name;
  Type type;
  unsigned size;
};

// In the order of Type: name_of and size_of index it.
constexpr auto types = std::to_array<TypeRow>({
    {"", Type::none, 0},       {"pred", Type::pred, 0},   {"b8", Type::b8, 1},         {"b16", Type::b16, 2},
    {"b32", Type::b32, 4},     {"b64", Type::b64, 8},     {"b128", Type::b128, 16},    {"u8", Type::u8, 1},
    {"u16", Type::u16, 2},     {"u32", Type::u32, 4},     {"u64", Type::u64, 8},       {"s8", Type::s8, 1},
    {"s16", Type::s16, 2},     {"s32", Type::s32, 4},     {"s64", Type::s64, 8},       {"f16", Type::f16, 2},
    {"f16x2", Type::f16x2, 4}, {"bf16", Type::bf16, 2},   {"bf16x2", Type::bf16x2, 4}, {"f32", Type::f32, 4},
    {"f64", Type::f64, 8},     {"other", Type::other, 0},
});

constexpr auto other_types = std::to_array<std::string_view>({
    "b1",     "b4",     "b6x16_p32", "b4x16_p64", "u4",    "s4",     "u2",      "s2",         "u16x2",
    "s16x2",  "u8x4",   "s8x4",      "f32x2",     "tf32",  "e4m3",   "e5m2",    "e4m3x2",     "e5m2x2",
    "e4m3x4", "e5m2x4", "e3m2",      "e2m3",      "e2m1",  "e3m2x2", "e2m3x2",  "e2m1x2",     "e2m1x4",
    "e3m2x4", "e2m3x4", "ue8m0",     "ue8m0x2",   "ue4m3", "texref", "surfref", "samplerref",
});

}  // namespace

unsigned size_of(Type type) { return types[static_cast<size_t>(type)].size; }

std::string_view name_of(Type type) { return types[static_cast<size_t>(type)].name; }

Type type_from(std::string_view word) {
  for (const TypeRow& row : types)
    if (row.name == word && row.type != Type::none && row.type != Type::other) return row.type;
  return std::find(other_types.begin(), other_types.end(), word) != other_types.end() ? Type::other : Type::none;
}

}  // namespace coalesce::ptx
