// tex, tld4, suld, sust: each becomes one or two calls of what the machine provides (execute/textures.cpp), because an
// instruction has two results at most. Operands of a call: the TextureOp, the handle, the coordinates, what is stored.
#include "machine/program/flatten/opcodes.h"
#include "machine/program/texture_op.h"

namespace coalesce::machine::flattening {
namespace {

bool geometry_from(std::string_view word, TextureOp& op) {
  constexpr std::string_view names[] = {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"};
  for (uint32_t k = 0; k < std::size(names); ++k)
    if (word == names[k]) {
      op.geometry = k;
      return true;
    }
  return false;
}

uint32_t elements_of(std::string_view word) { return word == "v2" ? 2 : word == "v4" ? 4 : 0; }

// The handle and the coordinates of `[handle, {coordinates}]`. False: another form. `results`: where the values go;
// what is read from those registers is copied, because the second of two calls reads it again.
bool place_from(Builder& b, const ptx::Operand& place, unsigned wanted, const ptx::Operand& results,
                std::vector<Value>& sources) {
  if (place.kind != Operand::address || place.reg < 0 || place.offset != 0 || place.elements.size() != 1) return false;
  sources.push_back(b.fitted(Value::of(b.mapped(place.reg)), Element::b64));
  const ptx::Operand& at = place.elements[0];
  const bool vector = at.kind == Operand::vector;
  if ((vector ? at.elements.size() : 1) < wanted) return false;
  for (unsigned k = 0; k < wanted; ++k) {
    const ptx::Operand& o = vector ? at.elements[k] : at;
    Value v = b.value(o, Element::b32);
    for (const ptx::Operand& r : results.elements)
      if (o.kind == Operand::reg && r.kind == Operand::reg && r.reg == o.reg) {
        v = b.compute("mov.b32", {v});
        break;
      }
    sources.push_back(v);
  }
  return true;
}

void call_texture(Builder& b, const std::vector<Value>& sources, uint32_t first, uint32_t second, bool counts) {
  Instruction& i = b.emit(Kind::call);
  i.mode = static_cast<uint8_t>(Callee::texture);
  i.text = b.in->mnemonic;
  i.results = {first, second};
  i.sources = sources;
  i.counts = counts;
}

}  // namespace

// tex{.level|.grad|.base}.GEOMETRY.v4.TYPE.COORDINATES d, [t, {c}]...: arrays have one level of detail here, so what
// chooses the level changes nothing. tld4.COMPONENT.2d: the four texels around a place.
void texture(Builder& b) {
  const auto& ops = b.in->operands;
  TextureOp op;
  op.action = static_cast<uint32_t>(b.m->opcode == "tex" ? TextureAction::sample : TextureAction::gather);
  bool shaped = false, four = false;
  std::vector<std::string_view> types;
  for (std::string_view s : b.m->suffixes) {
    constexpr std::string_view components = "rgba";
    if (s == "level" || s == "grad" || s == "base") continue;
    if (b.m->opcode == "tld4" && s.size() == 1 && components.find(s) != components.npos)
      op.component = static_cast<uint32_t>(components.find(s)) & 3;
    else if (geometry_from(s, op))
      shaped = true;
    else if (s == "v4")
      four = true;
    else if (s == "f32" || s == "s32" || s == "u32")
      types.push_back(s);
    else
      return b.unknown();
  }
  if (!shaped || !four || types.size() != 2 || ops.size() < 2 || ops[0].kind != Operand::vector ||
      ops[0].elements.size() != 4)
    return b.unknown();
  op.whole = types[1] != "f32";
  std::vector<Value> sources{Value::imm(0)};
  if (!place_from(b, ops[1], coordinates(static_cast<Geometry>(op.geometry)), ops[0], sources)) return b.unknown();
  for (uint32_t first : {0u, 2u}) {
    op.first = first;
    sources[0] = Value::imm(op.bits());
    const uint32_t low = b.result(ops[0].elements[first], Element::b32, false);
    const uint32_t high = b.result(ops[0].elements[first + 1], Element::b32, false);
    call_texture(b, sources, low, high, first == 0);
  }
  b.finish_results();
}

// suld.b.GEOMETRY{.v2|.v4}.bN.BOUNDARY d, [s, {c}]; sust.b... [s, {c}], v. The first coordinate is in bytes.
void surface(Builder& b) {
  const auto& ops = b.in->operands;
  const bool load = b.m->opcode == "suld";
  TextureOp op;
  op.action = static_cast<uint32_t>(load ? TextureAction::load : TextureAction::store);
  op.count = 1;
  op.whole = 1;
  bool shaped = false, raw = false;
  for (std::string_view s : b.m->suffixes) {
    if (s == "b")
      raw = true;
    else if (geometry_from(s, op))
      shaped = true;
    else if (elements_of(s) != 0)
      op.count = elements_of(s) & 7;
    else if (s == "b8" || s == "b16" || s == "b32" || s == "b64")
      op.width = ptx::size_of(ptx::type_from(s)) & 15;
    else if (s == "trap" || s == "clamp" || s == "zero")
      op.boundary = static_cast<uint32_t>(s == "trap"    ? Boundary::trap
                                          : s == "clamp" ? Boundary::clamp
                                                         : Boundary::zero);
    else if (s != "ca" && s != "cg" && s != "cs" && s != "cv" && s != "wb" && s != "wt")
      return b.unknown();
  }
  if (!shaped || !raw || op.width == 0 || ops.size() != 2 || static_cast<Geometry>(op.geometry) >= Geometry::cube)
    return b.unknown();
  std::vector<Value> sources{Value::imm(0)};
  const ptx::Operand &place = ops[load ? 1 : 0], &values = ops[load ? 0 : 1];
  if (!place_from(b, place, coordinates(static_cast<Geometry>(op.geometry)), values, sources)) return b.unknown();
  const bool vector = values.kind == Operand::vector;
  if ((vector ? values.elements.size() : 1) != op.count) return b.unknown();
  const auto part = [&](unsigned k) -> const ptx::Operand& { return vector ? values.elements[k] : values; };
  const Element element = element_of_bytes(op.width);
  if (!load) {
    for (unsigned k = 0; k < op.count; ++k) {
      Value v = b.value(part(k), element);
      if (!v.is_reg()) v = b.compute("mov.b" + std::to_string(8 * bytes_of(element)), {v});
      sources.push_back(v);
    }
    sources[0] = Value::imm(op.bits());
    return call_texture(b, sources, kNone, kNone, true);
  }
  for (uint32_t first = 0; first < op.count; first += 2) {
    op.first = first & 3;
    sources[0] = Value::imm(op.bits());
    const uint32_t low = b.result(part(first), element, false);
    const uint32_t high = first + 1 < op.count ? b.result(part(first + 1), element, false) : kNone;
    call_texture(b, sources, low, high, first == 0);
  }
  b.finish_results();
}

}  // namespace coalesce::machine::flattening
