// Chance, and the making of tree pieces.
#include "tests/random_cuda/builder.h"

namespace coalesce::random_cuda {

const TypeRow& row(Type t) {
  static const TypeRow rows[kTypes] = {
      {"i8", 8, true, "u32"},      {"u8", 8, false, "u32"},      {"i16", 16, true, "u32"}, {"u16", 16, false, "u32"},
      {"i32", 32, true, "u32"},    {"u32", 32, false, "u32"},    {"i64", 64, true, "u64"}, {"u64", 64, false, "u64"},
      {"i128", 128, true, "u128"}, {"u128", 128, false, "u128"}, {"f32", 32, true, "f32"}, {"f64", 64, true, "f64"},
      {"bool", 8, false, "bool"}};
  return rows[static_cast<size_t>(t)];
}

Builder::Builder(uint32_t seed) : state_(seed * 0x2545f4914f6cdd1dull + 1) { program_.seed = seed; }

uint64_t Builder::random() {  // splitmix64
  state_ += 0x9e3779b97f4a7c15ull;
  uint64_t x = state_;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

unsigned Builder::one_of(std::initializer_list<unsigned> values) {
  return values.begin()[below(static_cast<unsigned>(values.size()))];
}

Type Builder::any_type(uint32_t set) {
  for (;;) {
    const auto t = static_cast<Type>(below(kTypes));
    if (in(t, set)) return t;
  }
}

std::string Builder::fresh(const char* prefix) { return prefix + std::to_string(names_++); }

Tree Builder::choose(const std::vector<Choice>& choices) {
  unsigned sum = 0;
  for (const Choice& c : choices) sum += c.weight;
  unsigned at = below(sum);
  for (const Choice& c : choices) {
    if (at < c.weight) {
      Tree made = c.make();
      if (made && c.feature) feature(c.feature);
      return made;
    }
    at -= c.weight;
  }
  return nullptr;
}

Tree Builder::text(std::string t) {
  auto node = std::make_shared<Node>();
  node->id = next_id_++, node->text = std::move(t);
  return node;
}

Tree Builder::statement(std::string t, std::vector<Tree> parts, uint32_t stand_ins, unsigned first_listed) {
  auto node = std::make_shared<Node>();
  node->id = next_id_++, node->text = std::move(t), node->parts = std::move(parts);
  node->droppable = true, node->stand_ins = stand_ins, node->first_listed = first_listed;
  return node;
}

Tree Builder::declaration(const std::string& name, std::string t, std::vector<Tree> parts) {
  auto node = std::make_shared<Node>();
  node->id = next_id_++, node->text = std::move(t), node->parts = std::move(parts);
  node->droppable = true, node->declares = name;
  return node;
}

Tree Builder::list(std::vector<Tree> parts) {
  auto node = std::make_shared<Node>();
  node->id = next_id_++, node->text = "$*", node->parts = std::move(parts);
  return node;
}

Tree Builder::operand(std::string t, std::vector<Tree> parts, std::string least) {
  auto node = std::make_shared<Node>();
  node->id = next_id_++, node->text = std::move(t), node->parts = std::move(parts);
  node->droppable = true, node->least = std::move(least);
  return node;
}

}  // namespace coalesce::random_cuda
