// Generic addresses: conversion from and to them, and the space that one is of.
#include "machine/memory/memory.h"
#include "machine/program/flatten/opcodes.h"
#include "machine/program/flatten/suffixes.h"

namespace coalesce::machine::flattening {

// Generic addresses are the global ones, and windows for the other spaces: conversion is an addition.
void address_conversion(Builder& b) {
  AddressSpace space = AddressSpace::generic;
  bool to = false;
  for (std::string_view s : b.m->suffixes)
    if (s == "to")
      to = true;
    else if (!space_from(s, &space) && s != "u64" && s != "u32")
      return b.unknown();
  if (b.in->operands.size() != 2 || !b.m->has("u64")) return b.unknown();
  uint64_t window = 0;
  if (space == AddressSpace::shared) window = kSharedWindow;
  if (space == AddressSpace::local) window = kLocalWindow;
  if (space == AddressSpace::param && b.is_kernel()) window = kParamWindow;
  if (space == AddressSpace::param && !b.is_kernel()) window = kLocalWindow;
  const Value v = b.value(b.in->operands[1], Element::b64);
  const uint32_t r = b.result(b.in->operands[0], Element::b64, false);
  if (window == 0)
    b.emit_pure("mov.b64", {r}, {v}, true);
  else
    b.emit_pure(to ? "sub.s64" : "add.s64", {r}, {v, Value::imm(window)}, true);
  b.finish_results();
}

void is_space(Builder& b) {
  AddressSpace space = AddressSpace::generic;
  if (b.m->suffixes.size() != 1 || !space_from(b.m->suffixes[0], &space) || b.in->operands.size() != 2)
    return b.unknown();
  const Value v = b.value(b.in->operands[1], Element::b64);
  const uint32_t r = b.result(b.in->operands[0], Element::pred, false);
  const Value window = b.compute("shr.u64", {v, Value::imm(48)});
  const auto id = [](uint64_t w) { return w >> 48; };
  const uint64_t wanted = space == AddressSpace::shared  ? id(kSharedWindow)
                          : space == AddressSpace::local ? id(kLocalWindow)
                          : space == AddressSpace::param ? id(kParamWindow)
                                                         : 0;
  if (space == AddressSpace::constant) {  // constant memory lies in global memory here: nothing is told apart
    b.emit_pure("mov.pred", {r}, {Value::imm(0)}, true);
  } else {
    b.emit_pure("setp.eq.u64", {r}, {window, Value::imm(wanted)}, true);
  }
}

}  // namespace coalesce::machine::flattening
