// Structs: numbers of all widths, arrays, bit-fields, vectors, alignment, and other structs inside.
#include "tests/random_cuda/builder.h"

namespace coalesce::random_cuda {
namespace {

// Functions and threads have several on their stacks.
constexpr unsigned kLargeStruct = 1024;

struct VectorRow {
  const char* name;
  Type type;
  unsigned components;
};
constexpr VectorRow kVectors[kVectorTypes] = {
    {"int2", Type::i32, 2},   {"uint4", Type::u32, 4},   {"float4", Type::f32, 4},   {"uchar4", Type::u8, 4},
    {"short2", Type::i16, 2}, {"double2", Type::f64, 2}, {"ushort4", Type::u16, 4},  {"float2", Type::f32, 2},
    {"char2", Type::i8, 2},   {"int4", Type::i32, 4},    {"longlong2", Type::i64, 2}};

}  // namespace

void Builder::make_structs() {
  for (const VectorRow& v : kVectors) {
    Struct made{v.name, 2 * v.components * row(v.type).bits / 8, {}, {}};
    for (unsigned c = 0; c < v.components; ++c)
      made.leaves.push_back({std::string(".") + "xyzw" [c], {}, v.type, Level::lane});
    structs_.push_back(made);
  }
  const unsigned count = 2 + below(3);
  for (unsigned s = 0; s < count; ++s) {
    Struct made;
    made.name = "S" + std::to_string(s);
    made.bytes = 16;
    std::vector<Tree> fields;
    const unsigned wanted = 1 + below(5);
    for (unsigned f = 0; f < wanted && made.bytes < kLargeStruct; ++f) {
      const std::string name = "m" + std::to_string(f);
      const auto leaf = [&](const std::string& t, std::vector<unsigned> sizes, Type type, bool bit_field = false) {
        unsigned elements = 1;
        for (const unsigned size : sizes) elements *= size;
        made.bytes += elements * row(type).bits / 8 + 16;
        made.leaves.push_back({"." + name + t, std::move(sizes), type, Level::lane, false, bit_field});
      };
      const Type type = any_type(chance(60) ? kNarrow | kWords | kLongs | kReals : kIntegers | kReals);
      const std::string type_name = row(type).name;
      std::string field;
      const unsigned kind = below(100);
      if (kind < 30) {
        feature("field: number");
        field = type_name + " " + name + ";\n", leaf("", {}, type);
      } else if (kind < 60) {
        feature("field: array");
        const unsigned size = one_of({2, 3, 4, 7, 8, 16, 32, 33, 40, 64});
        field = type_name + " " + name + "[" + std::to_string(size) + "];\n", leaf("[@]", {size}, type);
      } else if (kind < 67) {
        feature("field: array of arrays");
        const unsigned a = one_of({2, 3, 4}), b = one_of({2, 3, 8, 32});
        field = type_name + " " + name + "[" + std::to_string(a) + "][" + std::to_string(b) + "];\n";
        leaf("[@][@]", {a, b}, type);
      } else if (kind < 77) {
        feature("field: bits");
        const Type bits_type = chance(50) ? Type::u32 : Type::i32;
        field = std::string(row(bits_type).name) + " " + name + " : " + std::to_string(1 + below(31)) + ";\n";
        leaf("", {}, bits_type, true);
      } else if (kind < 87 || s == 0) {
        feature("field: vector");
        inner_field(made, name, below(kVectorTypes), field);
      } else {
        feature("field: struct");
        inner_field(made, name, kVectorTypes + below(s), field);
      }
      fields.push_back(declaration(name, field));
    }
    const bool aligned = chance(15) && feature("aligned struct");
    auto node = std::make_shared<Node>();
    node->id = next_id_++, node->parts = std::move(fields), node->droppable = true, node->declares = made.name;
    node->text = std::string("struct ") + (aligned ? "alignas(16) " : "") + made.name + " {\n$*};\n";
    top_.push_back(node);
    structs_.push_back(made);
  }
}

// A struct or vector, or an array of them, inside another.
void Builder::inner_field(Struct& made, const std::string& name, unsigned type, std::string& field) {
  const Struct inner = structs_[type];
  unsigned size = chance(40) ? one_of({2, 3, 5, 32}) : 0;
  if (size * inner.bytes > kLargeStruct) size = 0;
  made.bytes += (size ? size : 1) * inner.bytes;
  if (size) feature("field: array of structs");
  field = inner.name + " " + name + (size ? "[" + std::to_string(size) + "]" : "") + ";\n";
  const std::string start = "." + name + (size ? "[@]" : "");
  const auto sizes = [&](std::vector<unsigned> s) {
    if (size) s.insert(s.begin(), size);
    return s;
  };
  made.inner.push_back({start, sizes({}), type, Level::lane});
  for (const Place& p : inner.leaves)
    if (p.sizes.size() < 4)
      made.leaves.push_back({start + p.text, sizes(p.sizes), p.type, Level::lane, false, p.bit_field});
  for (const StructPlace& p : inner.inner)
    if (p.sizes.size() < 4) made.inner.push_back({start + p.text, sizes(p.sizes), p.type, Level::lane});
}

void Builder::add_struct_place(const std::string& t, const std::vector<unsigned>& sizes, unsigned type, Level level,
                               bool writable) {
  struct_places_.push_back({t, sizes, type, level, writable});
  for (const StructPlace& inner : structs_[type].inner) {
    std::vector<unsigned> all = sizes;
    all.insert(all.end(), inner.sizes.begin(), inner.sizes.end());
    struct_places_.push_back({t + inner.text, std::move(all), inner.type, level, writable});
  }
  for (const Place& leaf : structs_[type].leaves) {
    std::vector<unsigned> all = sizes;
    all.insert(all.end(), leaf.sizes.begin(), leaf.sizes.end());
    places_.push_back({t + leaf.text, std::move(all), leaf.type, level, writable, leaf.bit_field});
  }
}

const StructPlace* Builder::some_struct(int type, Level level, bool to_write) {
  std::vector<const StructPlace*> found;
  for (const StructPlace& p : struct_places_) {
    if ((type >= 0 && static_cast<int>(p.type) != type) || (to_write ? !p.writable : p.level < level)) continue;
    found.push_back(&p);
  }
  return found.empty() ? nullptr : found[below(static_cast<unsigned>(found.size()))];
}

// A struct by value: one that there is, or one of zeros.
Tree Builder::struct_argument(unsigned type, Level level) {
  const StructPlace* found = some_struct(static_cast<int>(type), level, false);
  const std::string zeros = structs_[type].name + "{}";
  if (!found) return text(zeros);
  const StructPlace copy = *found;
  std::vector<Tree> parts;
  std::string t = filled(copy.text, copy.sizes, level, 1, parts);
  return operand(std::move(t), std::move(parts), zeros);
}

}  // namespace coalesce::random_cuda
