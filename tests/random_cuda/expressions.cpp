// Expressions without side effects.
#include <algorithm>

#include "tests/random_cuda/builder.h"

namespace coalesce::random_cuda {
namespace {

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

}  // namespace

// A part may stand for the whole where it has its type and is shared by as many threads.
Expression Builder::finished(Type type, Level level, std::string t, std::vector<Expression> parts,
                             std::vector<Tree> others) {
  auto node = std::make_shared<Node>();
  node->id = next_id_++, node->text = std::move(t);
  node->droppable = true, node->least = type == Type::boolean ? "false" : std::string(row(type).name) + "(1)";
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].type == type && parts[i].level >= level) node->stand_ins |= 1u << i;
    node->parts.push_back(parts[i].tree);
  }
  for (Tree& other : others) node->parts.push_back(std::move(other));
  return {node, type, level};
}

Tree Builder::constant(Type type) {
  const std::string name = row(type).name;
  if (type == Type::boolean) return text(chance(50) ? "true" : "false");
  uint64_t value = random() >> below(64);
  if (in(type, kReals)) {
    static const char* const odd[] = {"0.0", "-0.0", "1.0", "0.5", "-1.5", "3.0e38", "1.0e-40", "16777216.0"};
    if (chance(40)) return text(name + "(" + odd[below(8)] + ")");
    return text(name + "(" + std::to_string(static_cast<int64_t>(value >> 40) - 1000) + ".25)");
  }
  if (chance(30)) value = one_of({0, 1, 2, 3, 4, 7, 8, 31, 32, 127, 128, 255, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff});
  if (chance(10)) value = ~value;
  if (row(type).bits < 64) value &= (uint64_t{1} << row(type).bits) - 1;
  return text(name + "(" + std::to_string(value) + (value >> 31 ? "ull)" : ")"));
}

// A number below `size`. Where threads or lanes are no more than that, their own numbers, as programs have them.
Tree Builder::index(unsigned size, Level level, unsigned depth) {
  if (size == 1) return text("0");
  const std::string n = std::to_string(size);
  if (level == Level::lane && in_kernel_ && chance(60)) {
    if (size >= threads_) {
      if (chance(60)) return feature("index: thread"), operand("tid", {}, "0");
      if (chance(50)) return feature("index: thread, downwards"), operand(n + " - 1 - tid", {}, "0");
      const unsigned stride = size / threads_;
      if (stride > 1)
        return feature("index: thread, strided"),
               operand("tid * " + std::to_string(stride) + "u + " + std::to_string(below(stride)) + "u", {}, "0");
    }
    if (size >= 32) return feature("index: lane"), operand("lane", {}, "0");
    if (chance(50)) return feature("index: thread, modulo"), operand("tid % " + n + "u", {}, "0");
  }
  if (depth == 0 || chance(30)) return text(std::to_string(below(size)));
  const Expression e = expression(Type::u32, level, depth - 1);
  feature(level == Level::lane ? "index: any" : "index: uniform");
  return operand((size & (size - 1)) == 0 ? "$0 & " + std::to_string(size - 1) + "u" : "$0 % " + n + "u", {e.tree},
                 "0");
}

std::string Builder::filled(const std::string& place, const std::vector<unsigned>& sizes, Level level, unsigned depth,
                            std::vector<Tree>& parts) {
  std::string result;
  size_t which = 0;
  for (const char c : place) {
    if (c != '@') {
      result += c;
      continue;
    }
    result += "$" + std::to_string(parts.size());
    parts.push_back(index(sizes[which++], level, depth));
  }
  return result;
}

const Place* Builder::some_place(Type type, Level level, bool to_write) {
  std::vector<const Place*> found;
  // Elements of arrays, which are fewer than numbers, are read as often.
  const bool element = !to_write && chance(40);
  for (const Place& p : places_) {
    if (element && p.sizes.empty()) continue;
    // A written variable must stay shared by as many threads as read it so: the level is exact then.
    if (p.type != type || p.hidden || (to_write ? !p.writable || p.level > level : p.level < level)) continue;
    found.push_back(&p);
  }
  if (found.empty() && element) return some_place(type, level, to_write);
  return found.empty() ? nullptr : found[below(static_cast<unsigned>(found.size()))];
}

Expression Builder::leaf(Type type, Level level, unsigned depth) {
  const Place* place = chance(85) ? some_place(type, level, false) : nullptr;
  if (!place) {
    // A value of another type, rather than a constant that the compiler computes with.
    const Type other = any_type(chance(80) || in(type, kWides) ? kWords | kLongs | kNarrow : kReals);
    if (const Place* from = type != Type::boolean && chance(75) ? some_place(other, level, false) : nullptr) {
      const Place copy = *from;
      std::vector<Tree> parts;
      const std::string name = row(type).name;
      const bool whole = in(other, kReals) && !in(type, kReals);
      std::string t = (whole ? "rc::whole<" + name + ">(" : "(" + name + ")(") +
                      filled(copy.text, copy.sizes, level, 0, parts) + ")";
      return finished(type, level, std::move(t), {}, std::move(parts));
    }
    return {constant(type), type, Level::block};
  }
  const Place copy = *place;
  std::vector<Tree> parts;
  std::string t = filled(copy.text, copy.sizes, level, std::min(depth, 2u), parts);
  if (copy.bit_field) feature("read a bit-field"), t = "(" + std::string(row(type).name) + ")" + t;
  return finished(type, level, std::move(t), {}, std::move(parts));
}

Expression Builder::from_row(const ExpressionRow& r, Type type, Level level, unsigned depth) {
  std::string t = r.text;
  replace_all(t, "$T", row(type).name), replace_all(t, "$W", row(type).working);
  replace_all(t, "$M", std::to_string(row(type).bits - 1));
  const Type numbers = any_type(chance(70) ? kWords | kLongs | kReals : kIntegers | kReals);
  std::vector<Expression> parts;
  for (const char* o = r.operands; *o; ++o) {
    const Type wanted = *o == 'T'   ? type
                        : *o == 'N' ? numbers
                        : *o == 'X' ? any_type(kNarrow | kWords | kLongs)
                        : *o == 'R' ? any_type(kReals)
                        : *o == 'B' ? Type::boolean
                        : *o == 'u' ? Type::u32
                        : *o == 'i' ? Type::i32
                        : *o == 'L' ? Type::u64
                        : *o == 'l' ? Type::i64
                        : *o == 'f' ? Type::f32
                        : *o == 'd' ? Type::f64
                                    : Type::u128;
    parts.push_back(expression(wanted, level, depth - 1));
  }
  feature(r.feature);
  return finished(type, level, "(" + t + ")", std::move(parts));
}

Expression Builder::expression(Type type, Level level, unsigned depth) {
  if (depth == 0 || chance(15)) return leaf(type, level, depth);
  if (chance(6)) {
    if (const Expression e = call(type, level, depth); e.tree) return e;
  }
  unsigned sum = 0;
  for (const ExpressionRow& r : expression_rows())
    if (in(type, r.types)) sum += r.weight;
  unsigned at = below(sum);
  for (const ExpressionRow& r : expression_rows()) {
    if (!in(type, r.types)) continue;
    if (at < r.weight) return from_row(r, type, level, depth);
    at -= r.weight;
  }
  return leaf(type, level, depth);
}

}  // namespace coalesce::random_cuda
