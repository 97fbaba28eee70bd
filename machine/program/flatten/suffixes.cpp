#include "machine/program/flatten/suffixes.h"

namespace coalesce::machine::flattening {

bool is_access_hint(std::string_view s) {
  static constexpr std::string_view hints[] = {"ca",  "cg",    "cs",    "lu",   "cv",      "wb",
                                               "wt",  "nc",    "weak",  "cta",  "cluster", "gpu",
                                               "sys", "noftz", "entry", "func", "unified"};
  for (std::string_view h : hints)
    if (s == h) return true;
  return s.find("::") != std::string_view::npos && !s.starts_with("shared::");  // L1::no_allocate, L2::128B ...
}

bool order_from(std::string_view s, Order* order) {
  static constexpr std::pair<std::string_view, Order> names[] = {
      {"volatile", Order::volatile_}, {"relaxed", Order::relaxed}, {"acquire", Order::acquire},
      {"release", Order::release},    {"acq_rel", Order::acq_rel}, {"mmio", Order::relaxed}};
  for (const auto& [name, value] : names)
    if (name == s) {
      *order = value;
      return true;
    }
  return false;
}

Scope scope_of(const Builder& b) {
  const auto& cluster = b.out.shape.cluster;
  const bool alone = cluster[0] * cluster[1] * cluster[2] == 1;  // its cluster is the block
  return b.m->has("cta") || (alone && b.m->has("cluster")) ? Scope::block : Scope::device;
}

bool space_from(std::string_view s, AddressSpace* space) {
  if (s == "global")
    *space = AddressSpace::global;
  else if (s == "shared" || s == "shared::cta" || s == "shared::cluster")  // no clusters: a block is its own
    *space = AddressSpace::shared;
  else if (s == "local")
    *space = AddressSpace::local;
  else if (s == "const")
    *space = AddressSpace::constant;
  else if (s == "param" || s == "param::entry" || s == "param::func")
    *space = AddressSpace::param;
  else
    return false;
  return true;
}

}  // namespace coalesce::machine::flattening
