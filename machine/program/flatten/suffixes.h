// Suffixes that accesses have in common. False: the word is none of the kind.
#pragma once

#include "machine/program/flatten/builder.h"

namespace coalesce::machine::flattening {

// It chooses caches or scopes. None changes a result here (execution is sequentially consistent within a block); some
// forbid merging, which `is_volatile` records.
bool is_access_hint(std::string_view s);
bool order_from(std::string_view s, Order* order);
bool space_from(std::string_view s, AddressSpace* space);
Scope scope_of(const Builder& b);  // of the instruction under way

}  // namespace coalesce::machine::flattening
