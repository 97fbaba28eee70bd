// Declarations, assignments and copies: what a thread does for itself.
#include "tests/random_cuda/builder.h"

namespace coalesce::random_cuda {

// Statements in a scope of their own. `control` says which threads are together here.
Tree Builder::body(unsigned statements, Level control) {
  const size_t places = places_.size(), structs = struct_places_.size();
  const Level before = control_;
  control_ = control, ++nesting_;
  std::vector<Tree> made;
  for (unsigned i = 0; i < statements; ++i)
    if (Tree s = any_statement(control)) made.push_back(s);
  control_ = before, --nesting_;
  places_.resize(places), struct_places_.resize(structs);
  return list(std::move(made));
}

Tree Builder::any_statement(Level control) {
  cost_ += times_;
  const unsigned deep = nesting_ < 4 ? 1 : 0;
  return choose({
      {"declare a number", 10, [&] { return declare(control); }},
      {"declare an array", 4, [&] { return declare_array(); }},
      {"declare a struct", 5, [&] { return declare_struct(control); }},
      {"assign", 22, [&] { return assign(control); }},
      {"copy a struct", 5, [&] { return copy_struct(); }},
      {"copy bytes", 2, [&] { return copy_bytes(); }},
      {"lambda", 2 * deep, [&] { return lambda(); }},
      {"call a function", 6, [&] { return call_statement(); }},
      {"if", 8 * deep, [&] { return if_else(control); }},
      {"loop", 7 * deep, [&] { return loop(control); }},
      {"switch", 4 * deep, [&] { return switch_over(control); }},
      {"leave a loop", in_loop_ ? 4u : 0u, [&] { return leave_loop(control); }},
      {"threads together", in_kernel_ ? 22u : 0u, [&] { return together(control); }},
  });
}

Tree Builder::declare(Level control) {
  const Type type =
      any_type(chance(75) ? kNarrow | kWords | kLongs | kReals : kIntegers | kReals | only(Type::boolean));
  const std::string name = fresh("v");
  // A value that many threads share is equal only where they all come by.
  const Level level = chance(60) ? Level::lane : std::min(control, one_of({0, 1}) ? Level::block : Level::warp);
  const Expression e = expression(type, level, 1 + below(3));
  const bool is_volatile = chance(4) && level == Level::lane && feature("volatile");
  const bool constant = !is_volatile && chance(20);
  places_.push_back({name, {}, type, level, !constant, false, is_volatile});
  return declaration(name,
                     std::string(is_volatile ? "volatile "
                                 : constant  ? "const "
                                             : "") +
                         row(type).name + " " + name + " = $0;\n",
                     {e.tree});
}

Tree Builder::declare_array() {
  const Type type = any_type(kNarrow | kWords | kLongs | kReals);
  const std::string name = fresh("a"), type_name = row(type).name;
  const unsigned size = one_of({2, 3, 4, 5, 8, 16, 33});
  Tree made;
  if (chance(25)) {
    feature("static table");
    std::string values;
    for (unsigned i = 0; i < size; ++i) values += (i ? ", " : "") + print(constant(type));
    made = declaration(
        name, "static const " + type_name + " " + name + "[" + std::to_string(size) + "] = {" + values + "};\n");
    places_.push_back({name + "[@]", {size}, type, Level::block, false});
    return made;
  }
  const Expression e = expression(type, Level::lane, 2);
  const std::string i = fresh("j");
  made = declaration(name,
                     type_name + " " + name + "[" + std::to_string(size) + "];\nfor (u32 " + i + " = 0; " + i + " < " +
                         std::to_string(size) + "u; ++" + i + ") " + name + "[" + i + "] = $0;\n",
                     {e.tree});
  places_.push_back({name + "[@]", {size}, type, Level::lane, true});
  return made;
}

Tree Builder::declare_struct(Level control) {
  const unsigned type = below(static_cast<unsigned>(structs_.size()));
  const std::string name = fresh("s");
  if (chance(25)) {  // where it lies, rather than a copy
    if (const StructPlace* found = some_struct(static_cast<int>(type), Level::lane, false)) {
      const StructPlace copy = *found;
      std::vector<Tree> parts;
      const std::string t = filled(copy.text, copy.sizes, Level::lane, 1, parts);
      const bool pointer = chance(50);
      feature(pointer ? "pointer to a struct" : "reference to a struct");
      const Tree made = declaration(
          name,
          "const " + structs_[type].name + (pointer ? "* " : "& ") + name + " = " + (pointer ? "&" : "") + t + ";\n",
          std::move(parts));
      add_struct_place(pointer ? "(*" + name + ")" : name, {}, type, copy.sizes.empty() ? copy.level : Level::lane,
                       false);
      return made;
    }
  }
  const Level level = chance(70) ? Level::lane : control;
  const bool array = level == Level::lane && chance(25);
  const unsigned size = one_of({2, 3, 4});
  Tree made;
  if (array) {
    feature("local array of structs");
    made = declaration(name, structs_[type].name + " " + name + "[" + std::to_string(size) + "] = {$0, $1};\n",
                       {struct_argument(type, level), struct_argument(type, level)});
    add_struct_place(name + "[@]", {size}, type, level, true);
  } else {
    made = declaration(name, structs_[type].name + " " + name + " = $0;\n", {struct_argument(type, level)});
    add_struct_place(name, {}, type, level, true);
  }
  return made;
}

Tree Builder::assign(Level control) {
  const Type type = any_type(kIntegers | kReals);
  const Place* found = some_place(type, control, true);
  if (!found) return nullptr;
  const Place to = *found;
  std::vector<Tree> parts;
  const std::string t = filled(to.text, to.sizes, to.level, 2, parts);
  const Expression e = expression(type, to.level, 1 + below(4));
  const std::string value = "$" + std::to_string(parts.size());
  parts.push_back(e.tree);
  if (in(type, kUnsigned) && !to.bit_field && chance(30)) {
    static const char* const operators[] = {"+=", "-=", "^=", "|=", "&=", "*="};
    feature("compound assignment");
    return statement(t + " " + operators[below(6)] + " " + value + ";\n", std::move(parts));
  }
  if (to.bit_field) feature("write a bit-field");
  return statement(t + " = " + value + ";\n", std::move(parts));
}

Tree Builder::copy_struct() {
  const StructPlace* found = some_struct(-1, Level::lane, true);
  if (!found || found->level != Level::lane) return nullptr;
  const StructPlace to = *found;
  std::vector<Tree> parts;
  const std::string t = filled(to.text, to.sizes, Level::lane, 1, parts);
  const std::string value = "$" + std::to_string(parts.size());
  parts.push_back(struct_argument(to.type, Level::lane));
  return statement(t + " = " + value + ";\n", std::move(parts));
}

// The bytes of one value as another: what a union would be used for.
Tree Builder::copy_bytes() {
  const Type narrow = any_type(kNarrow), wide = any_type(kWords | kLongs | only(Type::u128));
  const unsigned count = row(wide).bits / row(narrow).bits;
  const std::string name = fresh("b");
  const Expression e = expression(wide, Level::lane, 2), changed = expression(narrow, Level::lane, 1);
  const Place* found = some_place(wide, Level::lane, true);
  if (!found || !found->sizes.empty() || found->bit_field) return nullptr;
  const std::string to = found->text, n = row(narrow).name;
  return statement("{\n" + n + " " + name + "[" + std::to_string(count) + "];\nconst " + row(wide).name + " w" + name +
                       " = $0;\nmemcpy(" + name + ", &w" + name + ", sizeof " + name + ");\n" + name + "[$1] = $2;\n" +
                       row(wide).name + " x" + name + ";\nmemcpy(&x" + name + ", " + name + ", sizeof " + name +
                       ");\n" + to + " = x" + name + ";\n}\n",
                   {e.tree, index(count, Level::lane, 1), changed.tree});
}

Tree Builder::lambda() {
  const Place* found = some_place(Type::u32, Level::lane, true);
  if (!found || !found->sizes.empty() || found->bit_field || found->level != Level::lane) return nullptr;
  const std::string to = found->text, name = fresh("l");
  const bool by_reference = chance(50);
  feature(by_reference ? "lambda by reference" : "lambda by value");
  const Expression argument = expression(Type::u32, Level::lane, 2);
  const size_t places = places_.size();
  places_.push_back({"x" + name, {}, Type::u32, Level::lane, false});
  const Expression result = expression(Type::u32, Level::lane, 3);
  places_.resize(places);
  return statement("{\nconst auto " + name + " = [" + (by_reference ? "&" : "=") + "](u32 x" + name +
                       ") { return $1; };\n" + to + " = " + name + "($0) + " + name + "(3u);\n}\n",
                   {argument.tree, result.tree});
}

}  // namespace coalesce::random_cuda
