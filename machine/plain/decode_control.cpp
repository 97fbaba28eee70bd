// Decoding of control flow, of calls, and of what the lanes of a warp do together.
#include <algorithm>

#include "machine/isa/service.h"
#include "machine/plain/decoder.h"
#include "machine/plain/run.h"
#include "machine/program/texture_op.h"

namespace coalesce::machine::plain {

namespace {
using OK = ptx::Operand::Kind;

bool same_sizes(const std::vector<ptx::Variable>& a, const std::vector<ptx::Variable>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ptx::Variable& x, const ptx::Variable& y) { return x.size == y.size; });
}
}  // namespace

void Decoder::branch() {
  if (operands() != 1 || operand(0).kind != OK::label) return unknown();
  op_->flow = Flow::branch;
  op_->target = operand(0).target;
}

void Decoder::table() {
  if (operands() != 2 || in_->guard >= 0) return unknown();
  for (const ptx::Function::Table& t : f_.branch_tables)
    if (t.name == operand(1).name && !t.targets.empty()) {
      op_->in.push_back(source(operand(0), 4));
      op_->targets = t.targets;
      op_->flow = Flow::table;
      return;
    }
  unknown("branch through an unknown table '" + operand(1).name + "'");
}

void Decoder::leave() { op_->flow = words_->opcode == "exit" ? Flow::exit : Flow::leave; }

void Decoder::trap() { op_->run = run_trap; }

void Decoder::nothing() { op_->run = run_nothing; }

// call (results), function, (arguments); call (results), pointer, (arguments), prototype.
void Decoder::call() {
  std::size_t k = 0;
  Callee c;
  const auto names = [&](const ptx::Operand& o) {
    std::vector<std::string> list;
    for (const ptx::Operand& e : o.elements) {
      if (!code_.params.contains(e.name)) fail("call with an argument that is no .param variable: '" + e.name + "'");
      list.push_back(e.name);
    }
    return list;
  };
  if (operand(k).kind == OK::list) c.results = names(operand(k++));
  const ptx::Operand& who = operand(k++);
  if (k < operands() && operand(k).kind == OK::list) c.arguments = names(operand(k++));
  if (in_->guard >= 0) return unknown("a predicated call is not supported");
  if (who.kind == OK::reg) {
    const ptx::Function::Prototype* shape = nullptr;
    for (const ptx::Function::Prototype& p : f_.prototypes)
      if (k < operands() && p.name == operand(k).name) shape = &p;
    if (!shape) return unknown("call through a pointer without a prototype");
    for (const ptx::Function& f : bodies_.launch->module->functions)
      if (!f.is_declaration && !f.is_entry && same_sizes(f.params, shape->params) &&
          same_sizes(f.returns, shape->returns))
        c.candidates.push_back(&f);
    op_->in.push_back(source(who, 8));
    c.pointer = 0;
  } else if (who.kind == OK::symbol) {
    for (const std::string_view builtin : {"vprintf", "malloc", "free", "__assertfail"})
      if (who.name == builtin) {
        op_->text = who.name;
        op_->callee = std::move(c);
        op_->run = run_builtin;
        return;
      }
    if (const Service* s = find_service(who.name); s && s->arguments.size() == c.arguments.size()) {
      op_->text = who.name;
      op_->callee = std::move(c);
      op_->run = run_service;
      return;
    }
    std::string name = who.name;
    for (const auto& [alias, target] : bodies_.launch->module->aliases)
      if (alias == name) name = target;
    for (const ptx::Function& f : bodies_.launch->module->functions)
      if (f.name == name && !f.is_declaration && !f.is_entry) c.function = &f;
    if (!c.function && name.starts_with("__cudaCDP2"))
      return unknown("the device's runtime has no '" + name + "' here");
    if (!c.function) return unknown("call of '" + name + "', which the program does not define");
    if (c.function->params.size() != c.arguments.size() || c.function->returns.size() != c.results.size())
      fail("call of '" + name + "' with the wrong number of arguments");
  } else {
    return unknown();
  }
  op_->callee = std::move(c);
  op_->flow = Flow::call;
}

// bar.warp.sync mask; bar{rier}{.cta}.{sync,arrive,red.OP} {d,} id {, threads} {, {!}p}. Sources: id, threads,
// predicate.
void Decoder::barrier() {
  if (has("warp")) {
    op_->in.push_back(source(operand(0), 4));
    op_->names_lanes = op_->any_sync = true;
    op_->run = run_nothing;
    return;
  }
  if (has("cluster")) return cluster_barrier();
  if (in_->guard >= 0) return unknown("a predicated barrier is not supported");
  const bool red = has("red");
  op_->mode = has("arrive") ? 1 : !red ? 0 : has("popc") ? 2 : has("and") ? 3 : 4;
  const std::size_t first = red ? 1 : 0, left = operands() - first;
  if (left < first + 1 || left > first + 2) return unknown();
  if (red) op_->out.push_back(dest(operand(0)));
  op_->in.push_back(source(operand(first), 4));
  op_->in.push_back(left == first + 2 ? source(operand(first + 1), 4) : constant(0));
  if (red) op_->in.push_back(source(operand(operands() - 1), 0));
  op_->together = words_->opcode == "bar" || has("aligned");
  op_->flow = Flow::barrier;
}

void Decoder::shuffle() {
  const bool sync = has("sync");
  if (operands() != (sync ? 5u : 4u)) return unknown();
  const std::string_view modes[] = {"up", "down", "bfly", "idx"};
  for (uint8_t k = 0; k < 4; ++k)
    if (has(modes[k])) {
      op_->mode = k;
      for (std::size_t s = 1; s < operands(); ++s) op_->in.push_back(source(operand(s), 4));
      op_->out = {dest(operand(0)), second(operand(0))};
      op_->names_lanes = sync;
      op_->run = run_shuffle;
      return;
    }
  unknown();
}

void Decoder::vote() {
  if (words_->opcode == "activemask") {
    op_->out.push_back(dest(operand(0)));
    op_->run = run_active_mask;
    return;
  }
  const bool sync = has("sync");
  if (operands() != (sync ? 3u : 2u)) return unknown();
  op_->mode = has("ballot") ? 0 : has("all") ? 1 : has("any") ? 2 : 3;
  op_->in.push_back(source(operand(1), 0));
  if (sync) op_->in.push_back(source(operand(2), 4));
  op_->out.push_back(dest(operand(0)));
  op_->names_lanes = sync;
  op_->run = run_vote;
}

void Decoder::match() {
  if (operands() != 3 || !has("sync")) return unknown();
  op_->mode = has("all");
  op_->in = {source(operand(1), has("b64") ? 8 : 4), source(operand(2), 4)};
  op_->out = {dest(operand(0)), second(operand(0))};
  op_->names_lanes = true;
  op_->run = run_match;
}

void Decoder::redux() {
  const std::string_view modes[] = {"add", "min", "max", "and", "or", "xor"};
  if (operands() != 3 || !has("sync") || has("f32")) return unknown();
  for (uint8_t k = 0; k < 6; ++k)
    if (has(modes[k])) {
      op_->mode = static_cast<uint8_t>(k | (has("s32") ? 8 : 0));
      op_->in = {source(operand(1), 4), source(operand(2), 4)};
      op_->out = {dest(operand(0))};
      op_->names_lanes = true;
      op_->run = run_redux;
      return;
    }
  unknown();
}

void Decoder::elect() {
  if (operands() != 2) return unknown();
  op_->in = {source(operand(1), 4)};
  op_->out = {dest(operand(0)), second(operand(0))};
  op_->names_lanes = true;
  op_->run = run_elect;
}

// ---- Textures: the operands of a TextureOp (program/texture_op.h), which the sampler of execute/ carries out

bool Decoder::texture_place(const ptx::Operand& o, unsigned coordinates) {
  if (o.kind != OK::address || o.reg < 0 || o.offset != 0 || o.elements.size() != 1) return false;
  ptx::Operand handle;
  handle.kind = OK::reg;
  handle.reg = o.reg;
  op_->in.push_back(source(handle, 8));
  const ptx::Operand& at = o.elements[0];
  const bool vector = at.kind == OK::vector;
  if ((vector ? at.elements.size() : 1) < coordinates) return false;
  for (unsigned k = 0; k < coordinates; ++k) op_->in.push_back(source(vector ? at.elements[k] : at, 4));
  return true;
}

namespace {
bool geometry_from(std::string_view word, TextureOp& t) {
  constexpr std::string_view names[] = {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"};
  for (uint32_t k = 0; k < std::size(names); ++k)
    if (word == names[k]) return t.geometry = k & 7, true;
  return false;
}
}  // namespace

void Decoder::texture() {
  TextureOp t;
  const bool gather = words_->opcode == "tld4";
  t.action = static_cast<uint32_t>(gather ? TextureAction::gather : TextureAction::sample);
  bool shaped = false, four = false;
  std::vector<std::string_view> types;
  for (std::string_view w : words_->rest) {
    constexpr std::string_view components = "rgba";
    if (w == "level" || w == "grad" || w == "base") continue;
    if (gather && w.size() == 1 && components.find(w) != components.npos)
      t.component = static_cast<uint32_t>(components.find(w)) & 3;
    else if (geometry_from(w, t))
      shaped = true;
    else if (w == "v4")
      four = true;
    else if (w == "f32" || w == "s32" || w == "u32")
      types.push_back(w);
    else
      return unknown();
  }
  if (!shaped || !four || types.size() != 2 || operand(0).kind != OK::vector || operand(0).elements.size() != 4)
    return unknown();
  t.whole = types[1] != "f32";
  if (!texture_place(operand(1), coordinates(static_cast<Geometry>(t.geometry)))) return unknown();
  for (const ptx::Operand& e : operand(0).elements) op_->out.push_back(dest(e));
  op_->extra = t.bits();
  op_->text = in_->mnemonic;
  op_->run = run_texture;
}

void Decoder::surface() {
  TextureOp t;
  const bool load = words_->opcode == "suld";
  t.action = static_cast<uint32_t>(load ? TextureAction::load : TextureAction::store);
  t.count = 1;
  t.whole = 1;
  bool shaped = false, raw = false;
  for (std::string_view w : words_->rest) {
    const bool hint = w == "ca" || w == "cg" || w == "cs" || w == "cv" || w == "wb" || w == "wt";
    if (w == "b")
      raw = true;
    else if (geometry_from(w, t))
      shaped = true;
    else if (w == "v2" || w == "v4")
      t.count = static_cast<uint32_t>(w[1] - '0') & 7;
    else if (w == "b8" || w == "b16" || w == "b32" || w == "b64")
      t.width = ptx::size_of(ptx::type_from(w)) & 15;
    else if (w == "trap" || w == "clamp" || w == "zero")
      t.boundary = static_cast<uint32_t>(w == "trap"    ? Boundary::trap
                                         : w == "clamp" ? Boundary::clamp
                                                        : Boundary::zero);
    else if (!hint)
      return unknown();
  }
  if (!shaped || !raw || t.width == 0 || operands() != 2 || static_cast<Geometry>(t.geometry) >= Geometry::cube ||
      !texture_place(operand(load ? 1 : 0), coordinates(static_cast<Geometry>(t.geometry))))
    return unknown();
  const ptx::Operand& values = operand(load ? 0 : 1);
  const bool vector = values.kind == OK::vector;
  if ((vector ? values.elements.size() : 1) != t.count) return unknown();
  for (unsigned k = 0; k < t.count; ++k) {
    const ptx::Operand& o = vector ? values.elements[k] : values;
    if (load)
      op_->out.push_back(dest(o));
    else
      op_->in.push_back(source(o, std::max<uint8_t>(2, static_cast<uint8_t>(t.width))));
  }
  op_->extra = t.bits();
  op_->text = in_->mnemonic;
  op_->run = run_texture;
}

}  // namespace coalesce::machine::plain
