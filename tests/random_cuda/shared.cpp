// Tiles of shared memory between barriers, and atomics.
#include "tests/random_cuda/builder.h"

namespace coalesce::random_cuda {
namespace {

struct AtomicRow {
  const char* name;
  const char* by_hand;  // the new value of `was` and `v`, for loops of compare-and-swap; none where it is not wanted
  uint32_t types;
};
constexpr uint32_t kAtomicTypes = only(Type::i32, Type::u32, Type::u64);
constexpr AtomicRow kAtomics[] = {
    {"atomicAdd", "was + v", only(Type::i32, Type::u32, Type::u64, Type::f32, Type::f64)},
    {"atomicMin", "v < was ? v : was", kAtomicTypes | only(Type::i64)},
    {"atomicMax", "v > was ? v : was", kAtomicTypes | only(Type::i64)},
    {"atomicAnd", "was & v", kAtomicTypes},
    {"atomicOr", "was | v", kAtomicTypes},
    {"atomicXor", "was ^ v", kAtomicTypes},
    {"atomicInc", "was >= 1000u ? 0u : was + 1u", only(Type::u32)},
};

}  // namespace

Builder::Update Builder::any_update() {
  const unsigned which = below(sizeof kAtomics / sizeof *kAtomics);
  return {which, any_type(kAtomics[which].types)};
}

// An update that all threads may do in any order. Sums of floating-point numbers are small and whole, so exact.
Tree Builder::update(const std::string& address, Update u, std::vector<Tree> parts) {
  const AtomicRow& r = kAtomics[u.operation];
  feature(r.name);
  const std::string value = "$" + std::to_string(parts.size());
  if (in(u.type, kReals)) {
    feature("atomicAdd of real numbers");
    parts.push_back(operand("(int)($0 & 15u)", {expression(Type::u32, Level::lane, 2).tree}, "1"));
    return statement("atomicAdd(&" + address + ", (" + row(u.type).name + ")" + value + ");\n", std::move(parts));
  }
  const bool counts = std::string(r.name) == "atomicInc";
  parts.push_back(counts ? text("1000u") : expression(u.type, Level::lane, 2).tree);
  // Signed sums wrap in the atomic, but not in C++.
  if (u.type == Type::i32 || chance(75))
    return statement(std::string(r.name) + "(&" + address + ", " + value + ");\n", std::move(parts));
  feature("loop of compare-and-swap");
  const std::string t = row(u.type).name, as = u.type == Type::i64 ? "u64" : t;
  return statement("{\nconst " + t + " v = " + value + ";\n" + as + "* const q = (" + as + "*)&" + address + ";\n" +
                       as + " seen = atomicCAS(q, " + as + "(0), " + as + "(0));\nfor (;;) {\nconst " + t + " was = (" +
                       t + ")seen;\nseen = atomicCAS(q, (" + as + ")was, (" + as + ")(" + r.by_hand +
                       "));\nif (seen == (" + as + ")was) break;\n}\n(void)v;\n}\n",
                   std::move(parts));
}

Tree Builder::block_vote() {
  const Place* found = some_place(Type::u32, Level::block, true);
  if (!found || found->bit_field) return nullptr;
  const Place copy = *found;
  std::vector<Tree> parts = {expression(Type::boolean, Level::lane, 2).tree};
  const std::string to = filled(copy.text, copy.sizes, copy.level, 1, parts);
  static const char* const names[] = {"__syncthreads_count", "__syncthreads_or", "__syncthreads_and"};
  const char* name = names[below(3)];
  feature(name);
  // Whether all or some, rather than how many of them a count has: any number but 0 says it.
  const std::string result = std::string(name) == names[0] ? "" : " != 0";
  return statement(to + " = (u32)(" + name + "($0)" + result + ");\n", std::move(parts));
}

// Every thread writes elements of its own between two barriers; all else only reads.
Tree Builder::write_tile() {
  std::vector<const Tile*> found;
  for (const Tile& t : tiles_)
    if (!t.is_updated) found.push_back(&t);
  if (found.empty()) return nullptr;
  const Tile tile = *found[below(static_cast<unsigned>(found.size()))];
  const std::string name = fresh("x"), n = std::to_string(tile.size);
  const bool power = (tile.size & (tile.size - 1)) == 0;
  std::string at;
  switch (below(5)) {
    case 0:
      at = feature("tile: backwards") ? n + " - 1 - tid" : "";
      break;
    case 1:
      if (power)
        at = feature("tile: odd stride") ? "(tid * " + std::to_string(2 * below(16) + 1) + "u) & (" + n + " - 1)" : "";
      break;
    case 2:
      if (power) at = feature("tile: exclusive or") ? "tid ^ " + std::to_string(below(tile.size)) : "";
      break;
    case 3:
      if (tile.size >= 2 * threads_) at = feature("tile: stride 2") ? "tid * 2" : "";
      break;
    default:
      break;
  }
  if (at.empty()) at = "tid";
  std::vector<Tree> parts = {expression(tile.type, Level::lane, 3).tree};
  std::string guard;
  if (chance(25)) {
    feature("tile: some threads");
    parts.push_back(expression(Type::boolean, Level::lane, 2).tree);
    // It may read what other threads write.
    guard = "const bool y" + name + " = $1;\n";
  }
  return statement("{\nconst " + std::string(row(tile.type).name) + " " + name + " = $0;\n" + guard +
                       "__syncthreads();\n" + (guard.empty() ? "" : "if (y" + name + ") ") + tile.name + "[" + at +
                       "] = " + name + ";\n__syncthreads();\n}\n",
                   std::move(parts));
}

Tree Builder::tile_atomic() {
  std::vector<const Tile*> found;
  for (const Tile& t : tiles_)
    if (t.is_updated) found.push_back(&t);
  if (found.empty()) return nullptr;
  const Tile tile = *found[below(static_cast<unsigned>(found.size()))];
  // Neither index nor value may read the tile while it changes.
  hide(tile.name, true);
  std::vector<Tree> updates;
  for (unsigned i = 0, n = 1 + below(2); i < n; ++i) {
    std::vector<Tree> parts = {index(tile.size, Level::lane, 2)};
    Tree one = update(tile.name + "[$0]", tile.update, std::move(parts));
    if (chance(40)) one = statement("if ($0) {\n$1}\n", {expression(Type::boolean, Level::lane, 2).tree, one}, 2);
    updates.push_back(one);
  }
  hide(tile.name, false);
  return statement("__syncthreads();\n$*__syncthreads();\n", std::move(updates));
}

void Builder::hide(const std::string& name, bool hidden) {
  for (Place& p : places_)
    if (p.text == name + "[@]") p.hidden = hidden;
}

Tree Builder::global_atomic() {
  if (sums_.empty()) return nullptr;
  const Tile sum = sums_[below(static_cast<unsigned>(sums_.size()))];
  std::vector<Tree> parts = {index(sum.size, Level::lane, 2)};
  return update(sum.name + "[$0]", sum.update, std::move(parts));
}

// On memory that only this thread uses.
Tree Builder::own_atomic() {
  const Type type = any_type(kWords | only(Type::u64));
  const Place* to_found = some_place(type, Level::lane, true);
  std::vector<const Place*> own;
  for (const Place& p : places_)
    if (p.type == type && p.writable && p.text[0] == 'g') own.push_back(&p);
  if (own.empty() || !to_found || to_found->bit_field) return nullptr;
  const Place to = *to_found, at = *own[below(static_cast<unsigned>(own.size()))];
  std::vector<Tree> parts = {expression(type, Level::lane, 2).tree, expression(type, Level::lane, 2).tree};
  const std::string target = filled(to.text, to.sizes, Level::lane, 1, parts);
  const std::string address = "&" + filled(at.text, at.sizes, Level::lane, 1, parts);
  static const char* const names[] = {"Add", "Exch", "Min", "Max", "And", "Or", "Xor", "CAS", "Sub", "Inc", "Dec"};
  const unsigned which = below(type == Type::u32 ? 11 : type == Type::i32 ? 8 : 8);
  const std::string name = fresh("x");
  return statement("{\nconst " + std::string(row(type).name) + " " + name + " = atomic" + names[which] + "(" + address +
                       ", $0" + (which == 7 ? ", $1" : "") + ");\n" + target + " = " + name + ";\n}\n",
                   std::move(parts));
}

// Takes a thread's own word from one value to another, if it has the first.
Tree Builder::compare_and_swap() {
  std::vector<const Place*> own;
  for (const Place& p : places_)
    if (in(p.type, only(Type::u32, Type::u64, Type::i32)) && p.writable && p.text[0] == 'g') own.push_back(&p);
  if (own.empty()) return nullptr;
  const Place at = *own[below(static_cast<unsigned>(own.size()))];
  std::vector<Tree> parts = {expression(at.type, Level::lane, 2).tree};
  const std::string address = filled(at.text, at.sizes, Level::lane, 0, parts), t = row(at.type).name,
                    name = fresh("q");
  return statement("{\n" + t + "* const " + name + " = &" + address + ";\nconst " + t + " w" + name + " = *" + name +
                       ";\nif (atomicCAS(" + name + ", w" + name + ", $0) == w" + name + ") atomicXor(" + name + ", " +
                       t + "(5));\n}\n",
                   std::move(parts));
}

}  // namespace coalesce::random_cuda
