// Instructions that count one request and move nothing (Kind::request), put into a decoded program.
#pragma once

#include <vector>

#include "machine/program/program.h"

namespace coalesce::machine {

struct AddedRequest {
  uint32_t leader = kNone;  // the instruction before which it is counted, and whose lanes and place it has
  MemoryOp memory;          // what the handler sees (execute/requests.cpp); its site is made here
  uint32_t like = kNone;    // the site that it counts in place of, which is marked (Site::merged)
};
void add_requests(Decoded&, const std::vector<AddedRequest>&);

}  // namespace coalesce::machine
