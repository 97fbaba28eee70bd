// The types of generated programs: numbers, and structs made of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace coalesce::random_cuda {

enum class Type : uint8_t { i8, u8, i16, u16, i32, u32, i64, u64, i128, u128, f32, f64, boolean };
inline constexpr unsigned kTypes = 13;

constexpr uint32_t only(Type t) { return 1u << static_cast<unsigned>(t); }
template <class... Rest>
constexpr uint32_t only(Type t, Rest... rest) {
  return only(t) | only(rest...);
}
inline constexpr uint32_t kNarrow = only(Type::i8, Type::u8, Type::i16, Type::u16);
inline constexpr uint32_t kWords = only(Type::i32, Type::u32);
inline constexpr uint32_t kLongs = only(Type::i64, Type::u64);
inline constexpr uint32_t kWides = only(Type::i128, Type::u128);
inline constexpr uint32_t kIntegers = kNarrow | kWords | kLongs | kWides;
inline constexpr uint32_t kReals = only(Type::f32, Type::f64);
inline constexpr uint32_t kUnsigned = only(Type::u32, Type::u64, Type::u128);

constexpr bool in(Type t, uint32_t set) { return (set >> static_cast<unsigned>(t) & 1) != 0; }

struct TypeRow {
  const char* name;
  unsigned bits;
  bool is_signed;
  const char* working;  // the unsigned type in which its sums and products are taken
};
const TypeRow& row(Type t);

// Values that all threads of a block, of a warp, or none need share. A value of a higher level serves for a lower one.
enum class Level : uint8_t { lane, warp, block };

// Something that can be read, and perhaps written: "@" in its text stands for an index below the next of `sizes`.
struct Place {
  std::string text;
  std::vector<unsigned> sizes;
  Type type;
  Level level;
  bool writable = false;
  bool bit_field = false;    // has no address, and the type of its value is not its own
  bool is_volatile = false;  // cannot be bound to a reference
  bool hidden = false;       // not to be used where others change it
};

// A whole struct that can be copied.
struct StructPlace {
  std::string text;
  std::vector<unsigned> sizes;
  unsigned type;  // which of the program's structs
  Level level;
  bool writable = false;
};

struct Struct {
  std::string name;
  unsigned bytes = 0;  // at most, with all that lies between fields
  // The members; texts begin with what follows the struct's own: ".a[@]".
  std::vector<Place> leaves;
  std::vector<StructPlace> inner;
};

}  // namespace coalesce::random_cuda
