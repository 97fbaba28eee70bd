// Branches, loops and switches.
#include <algorithm>

#include "tests/random_cuda/builder.h"

namespace coalesce::random_cuda {

Tree Builder::if_else(Level control) {
  const Level level = chance(45) ? Level::lane : control;
  const Expression condition = expression(Type::boolean, level, 1 + below(3));
  const Level inside = std::min(level, control);
  feature(inside == Level::lane ? "if of lanes" : inside == Level::warp ? "if of warps" : "if of the block");
  const Tree yes = body(1 + below(4), inside);
  if (chance(50)) return statement("if ($0) {\n$1}\n", {condition.tree, yes}, 2);
  feature("else");
  return statement("if ($0) {\n$1} else {\n$2}\n", {condition.tree, yes, body(1 + below(3), inside)}, 6);
}

// Every loop ends: its bound is below 8, and nothing but the loop changes its counter.
Tree Builder::loop(Level control) {
  if (times_ > 40) return nullptr;
  const Level level = chance(45) ? Level::lane : control;
  const Level inside = std::min(level, control);
  const std::string i = fresh("j");
  const Expression e = expression(Type::u32, level, 1 + below(2));
  const bool fixed = chance(40);
  const Tree bound = fixed ? text(std::to_string(1 + below(6)) + "u") : operand("($0 & 7u)", {e.tree}, "2u");
  feature(fixed ? "loop of constant length" : inside == Level::lane ? "loop of lanes" : "loop of many threads");

  const unsigned times = times_;
  const Level outer = loop_control_;
  const bool was_in_loop = in_loop_;
  times_ *= 4, loop_control_ = inside, in_loop_ = true;
  places_.push_back({i, {}, Type::u32, fixed ? Level::block : inside, false});
  const Tree inner = body(1 + below(4), inside);
  places_.pop_back();
  times_ = times, loop_control_ = outer, in_loop_ = was_in_loop;

  switch (below(4)) {
    case 0:
      feature("while");
      return statement("{\nu32 " + i + " = $0;\nwhile (" + i + " != 0) {\n--" + i + ";\n$1}\n}\n", {bound, inner});
    case 1:
      feature("do");
      return statement("{\nu32 " + i + " = 0;\ndo {\n++" + i + ";\n$1} while (" + i + " < $0);\n}\n", {bound, inner});
    case 2:
      feature("for by 2");
      return statement("for (u32 " + i + " = 0; " + i + " < $0; " + i + " += 2) {\n$1}\n", {bound, inner});
    default:
      return statement("for (u32 " + i + " = 0; " + i + " < $0; ++" + i + ") {\n$1}\n", {bound, inner});
  }
}

Tree Builder::leave_loop(Level control) {
  // Together with others only where all of them leave.
  if (control < loop_control_) return nullptr;
  const Expression condition = expression(Type::boolean, loop_control_, 2);
  const bool leaves = chance(60);
  feature(leaves ? "break" : "continue");
  return statement(std::string("if ($0) ") + (leaves ? "break" : "continue") + ";\n", {condition.tree});
}

Tree Builder::switch_over(Level control) {
  const Level level = chance(60) ? Level::lane : control;
  const Level inside = std::min(level, control);
  const bool dense = chance(60);
  const unsigned count = 2 + below(dense ? 7 : 4);
  feature(dense ? "dense switch" : "sparse switch");
  const Expression e = expression(Type::u32, level, 2);
  std::vector<Tree> parts = {operand(dense ? "$0 & 7u" : "$0 % 1000u", {e.tree}, "0u")};
  // A break inside means the switch: the loop around is out of reach.
  const bool was_in_loop = in_loop_;
  in_loop_ = false;
  std::string t = "switch ($0) {\n";
  for (unsigned c = 0; c < count && c < 8; ++c) {
    const unsigned label = dense ? c : c * 131 + below(100);
    const bool through = chance(20) && feature("fall through");
    parts.push_back(statement("case " + std::to_string(label) + ": {\n$0}\n" + (through ? "" : "break;\n"),
                              {body(1 + below(2), inside)}));
  }
  if (chance(60)) parts.push_back(statement("default: {\n$0}\n", {body(1, inside)}));
  in_loop_ = was_in_loop;
  Tree made = statement(t + "$*}\n", std::move(parts));
  std::const_pointer_cast<Node>(made)->first_listed = 1;
  return made;
}

}  // namespace coalesce::random_cuda
