// Functions, and what calls them. A function reads its arguments and constants only, so that its result is shared by as
// many threads as its arguments are.
#include <algorithm>

#include "tests/random_cuda/builder.h"

namespace coalesce::random_cuda {
namespace {

constexpr unsigned kArrayParameter = 3;  // elements at least

}  // namespace

void Builder::make_functions() {
  top_.push_back(template_function());
  const unsigned count = 2 + below(4);
  for (unsigned f = 0; f < count; ++f) top_.push_back(chance(20) ? recursive_function(f) : function(f));
}

Tree Builder::function(unsigned number) {
  Function made;
  made.name = "f" + std::to_string(number);
  const size_t places = places_.size(), structs = struct_places_.size();
  std::string parameters;
  made.alike = chance(35);
  made.result = made.alike ? Type::u32 : any_type(kIntegers | kReals);
  if (!made.alike && chance(15)) made.struct_result = static_cast<int>(below(static_cast<unsigned>(structs_.size())));
  const unsigned wanted = made.alike ? 2 : 1 + below(4);
  for (unsigned p = 0; p < wanted; ++p) {
    const std::string name = "p" + std::to_string(p);
    Parameter one{Parameter::Kind::scalar, made.alike ? Type::u32 : any_type(kIntegers | kReals), 0};
    std::string declared = std::string(row(one.type).name) + " " + name;
    const unsigned kind = made.alike ? 0 : below(100);
    if (kind < 45) {
      places_.push_back({name, {}, one.type, Level::lane, true});
    } else if (kind < 60) {
      feature("parameter: reference");
      one.kind = Parameter::Kind::reference;
      declared = std::string(row(one.type).name) + "& " + name;
      places_.push_back({name, {}, one.type, Level::lane, true});
    } else if (kind < 75) {
      feature("parameter: array");
      one.kind = Parameter::Kind::array, one.type = any_type(kNarrow | kWords | kLongs | kReals);
      declared = "const " + std::string(row(one.type).name) + "* " + name;
      places_.push_back({name + "[@]", {kArrayParameter}, one.type, Level::lane});
    } else {
      one.which = below(static_cast<unsigned>(structs_.size()));
      const std::string& type = structs_[one.which].name;
      if (kind < 85) {
        feature("parameter: struct by value");
        one.kind = Parameter::Kind::structure, declared = type + " " + name;
        add_struct_place(name, {}, one.which, Level::lane, true);
      } else if (kind < 92) {
        feature("parameter: struct by reference");
        one.kind = Parameter::Kind::const_reference, declared = "const " + type + "& " + name;
        add_struct_place(name, {}, one.which, Level::lane, false);
      } else {
        feature("parameter: pointer to a struct");
        one.kind = Parameter::Kind::pointer, declared = "const " + type + "* " + name;
        add_struct_place("(*" + name + ")", {}, one.which, Level::lane, false);
      }
    }
    parameters += (p ? ", " : "") + declared;
    made.parameters.push_back(one);
  }
  static const char* const kinds[] = {"", "__noinline__ ", "__forceinline__ ", "inline "};
  // clang 19 cannot return 128 bits from a function, and takes no struct with such a number by value.
  const auto holds_wide = [&](unsigned type) {
    const std::vector<Place>& leaves = structs_[type].leaves;
    return std::any_of(leaves.begin(), leaves.end(), [](const Place& p) { return in(p.type, kWides); });
  };
  bool wide = made.struct_result < 0 ? in(made.result, kWides) : holds_wide(static_cast<unsigned>(made.struct_result));
  for (const Parameter& p : made.parameters) wide |= p.kind == Parameter::Kind::structure && holds_wide(p.which);
  const unsigned kind = wide ? 2 : below(4);
  feature(kind == 1 ? "function: not inlined" : "function");
  const std::string result =
      made.struct_result < 0 ? row(made.result).name : structs_[static_cast<size_t>(made.struct_result)].name;
  const auto value = [&] {
    return made.struct_result < 0 ? expression(made.result, Level::lane, 3).tree
                                  : struct_argument(static_cast<unsigned>(made.struct_result), Level::lane);
  };
  cost_ = 0;
  std::vector<Tree> parts = {body(below(4), Level::lane)};
  if (chance(40)) {
    feature("early return");
    parts.push_back(statement("if ($0) return $1;\n", {expression(Type::boolean, Level::lane, 2).tree, value()}));
    parts.push_back(body(1 + below(2), Level::lane));
  }
  parts.push_back(operand("$0", {value()}, result + "{}"));
  made.cost = cost_ + 1;
  places_.resize(places), struct_places_.resize(structs);
  if (made.struct_result >= 0) feature("function: returns a struct");
  std::string t = std::string("HD ") + kinds[kind] + result + " " + made.name + "(" + parameters + ") {\n";
  for (size_t i = 0; i + 1 < parts.size(); ++i) t += "$" + std::to_string(i);
  t += "return $" + std::to_string(parts.size() - 1) + ";\n}\n";
  functions_.push_back(made);
  return declaration(made.name, t, std::move(parts));
}

Tree Builder::recursive_function(unsigned number) {
  Function made;
  made.name = "f" + std::to_string(number);
  made.result = any_type(kWords | kLongs | only(Type::f64));
  made.recursive = true;
  made.parameters = {{Parameter::Kind::scalar, Type::u32, 0}, {Parameter::Kind::scalar, made.result, 0}};
  const std::string type = row(made.result).name;
  const size_t places = places_.size();
  places_.push_back({"depth", {}, Type::u32, Level::lane});
  places_.push_back({"x", {}, made.result, Level::lane, true});
  const Tree last = expression(made.result, Level::lane, 2).tree;
  cost_ = 0;
  const Tree inner = body(below(3), Level::lane);
  const Tree next = expression(made.result, Level::lane, 2).tree, after = expression(made.result, Level::lane, 2).tree;
  made.cost = 8 * cost_ + 8;
  places_.resize(places);
  functions_.push_back(made);
  feature("recursive function");
  // Real numbers are added one way on all devices; signed integers may not overflow.
  const std::string w = row(made.result).working;
  return declaration(made.name,
                     std::string("HD ") + (chance(50) ? "__noinline__ " : "") + type + " " + made.name +
                         "(u32 depth, " + type + " x) {\nif (depth == 0) return $0;\n$1return (" + type + ")((" + w +
                         ")" + made.name + "(depth - 1, $2) + (" + w + ")$3);\n}\n",
                     {last, inner, next, after});
}

Tree Builder::template_function() {
  static const char* const operators[] = {"+", "-", "*", "^", "&", "|"};
  feature("template");
  return declaration("t0", std::string("template <class T, unsigned N>\nHD T t0(T x, T y) {\nT r = x;\nfor (u32 i = 0; "
                                       "i < N; ++i) r = (r ") +
                               operators[below(3)] + " y) " + operators[below(6)] +
                               " (x >> (i & 7u));\nreturn r;\n}\n");
}

Tree Builder::array_argument(Type type, Level level) {
  std::vector<const Place*> found;
  for (const Place& p : places_) {
    const bool whole = p.sizes.size() == 1 && p.text.size() > 3 && p.text.compare(p.text.size() - 3, 3, "[@]") == 0;
    // A thread's own elements of a buffer are no array that begins at 0.
    if (whole && p.type == type && p.level >= level && !p.hidden && !p.bit_field && p.sizes[0] >= kArrayParameter)
      found.push_back(&p);
  }
  if (found.empty()) return nullptr;
  const std::string t = found[below(static_cast<unsigned>(found.size()))]->text;
  return text(t.substr(0, t.size() - 3));
}

// The arguments of a call, or nothing where there is none that fits.
bool Builder::arguments(const Function& f, Level level, unsigned depth, std::vector<Tree>& parts, std::string& t) {
  for (const Parameter& p : f.parameters) {
    Tree made;
    const bool first = &p == &f.parameters.front();
    switch (p.kind) {
      case Parameter::Kind::scalar:
        made = expression(p.type, level, std::min(depth, 2u)).tree;
        if (f.recursive && first) made = operand("($0 & 7u)", {made}, "2u");
        break;
      case Parameter::Kind::structure:
        made = struct_argument(p.which, level);
        break;
      case Parameter::Kind::array:
        made = array_argument(p.type, level);
        break;
      case Parameter::Kind::reference: {
        const Place* found = some_place(p.type, Level::lane, true);
        if (!found || found->bit_field || !found->sizes.empty() || found->is_volatile) return false;
        made = text(found->text);
        break;
      }
      default: {
        const StructPlace* found = some_struct(static_cast<int>(p.which), level, false);
        if (!found) return false;
        const StructPlace copy = *found;
        std::vector<Tree> indices;
        std::string place = filled(copy.text, copy.sizes, level, 1, indices);
        made = operand((p.kind == Parameter::Kind::pointer ? "&" : "") + place, std::move(indices), "");
        std::const_pointer_cast<Node>(made)->droppable = false;
      }
    }
    if (!made) return false;
    t += (first ? "$" : ", $") + std::to_string(parts.size());
    parts.push_back(made);
  }
  return true;
}

Expression Builder::call(Type type, Level level, unsigned depth) {
  if (type == Type::u32 && chance(30)) {  // through a pointer
    std::vector<const Function*> alike;
    for (const Function& f : functions_)
      if (f.alike && f.cost * times_ < 4000) alike.push_back(&f);
    if (alike.size() >= 2) {
      feature("function pointer");
      const Function &a = *alike[0], &b = *alike[1];
      cost_ += (a.cost + b.cost) * times_;
      std::vector<Expression> parts = {expression(Type::boolean, level, 1), expression(type, level, depth - 1),
                                       expression(type, level, depth - 1)};
      return finished(type, level, "($0 ? " + a.name + " : " + b.name + ")($1, $2)", std::move(parts));
    }
  }
  if (in(type, kUnsigned) && chance(30)) {
    feature("call a template");
    std::vector<Expression> parts = {expression(type, level, depth - 1), expression(type, level, depth - 1)};
    return finished(type, level,
                    "t0<" + std::string(row(type).name) + ", " + std::to_string(1 + below(4)) + ">($0, $1)",
                    std::move(parts));
  }
  std::vector<const Function*> fitting;
  for (const Function& f : functions_) {
    const bool changes = std::any_of(f.parameters.begin(), f.parameters.end(),
                                     [](const Parameter& p) { return p.kind == Parameter::Kind::reference; });
    if (f.result == type && f.struct_result < 0 && !changes && f.cost * times_ < 4000) fitting.push_back(&f);
  }
  if (fitting.empty()) return {nullptr, type, level};
  const Function f = *fitting[below(static_cast<unsigned>(fitting.size()))];
  std::vector<Tree> parts;
  std::string t = f.name + "(";
  if (!arguments(f, level, depth - 1, parts, t)) return {nullptr, type, level};
  feature(f.recursive ? "call a recursive function" : "call in an expression");
  cost_ += f.cost * times_;
  return finished(type, level, t + ")", {}, std::move(parts));
}

Tree Builder::call_statement() {
  if (functions_.empty()) return nullptr;
  const Function f = functions_[below(static_cast<unsigned>(functions_.size()))];
  if (f.cost * times_ > 4000) return nullptr;
  std::vector<Tree> parts;
  std::string t = f.name + "(";
  if (!arguments(f, Level::lane, 2, parts, t)) return nullptr;
  cost_ += f.cost * times_;
  if (f.struct_result >= 0) {
    const std::string name = fresh("s");
    add_struct_place(name, {}, static_cast<unsigned>(f.struct_result), Level::lane, true);
    return declaration(name, structs_[static_cast<size_t>(f.struct_result)].name + " " + name + " = " + t + ");\n",
                       std::move(parts));
  }
  const Place* found = some_place(f.result, Level::lane, true);
  if (!found || !found->sizes.empty()) {
    const std::string name = fresh("v");
    places_.push_back({name, {}, f.result, Level::lane, true});
    return declaration(name, std::string(row(f.result).name) + " " + name + " = " + t + ");\n", std::move(parts));
  }
  return statement(found->text + " = " + t + ");\n", std::move(parts));
}

}  // namespace coalesce::random_cuda
