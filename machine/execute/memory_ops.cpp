// Which handler runs a memory instruction, and what its faults say. A handler takes three steps: where (addresses to
// host memory, with bounds and alignment checked), cost (observe/traffic.h), and the move itself (moves.cpp). The
// spaces: memory_global.cpp, memory_shared.cpp, memory_local.cpp, memory_generic.cpp.
#include "machine/execute/memory_ops.h"

#include <cstdio>
#include <stdexcept>
#include <string>

namespace coalesce::machine {

[[noreturn]] void fault_at(const Access& a, Warp& w, Fault fault, uint64_t address, uint32_t lane,
                           const std::string& where) {
  char text[160];
  const char* verb = a.op->returns || a.atomic                                          ? "atomic on"
                     : w.worker->launch.program->code[a.instruction].kind == Kind::load ? "load of"
                                                                                        : "store of";
  std::snprintf(text, sizeof text, "%s %u byte%s at 0x%llx", verb, a.bytes, a.bytes == 1 ? "" : "s",
                static_cast<unsigned long long>(address));
  KernelFault f{fault, text, a.instruction, 1u << lane, {}, w.index};
  f.message +=
      fault == Fault::misaligned_address ? ", which is not a multiple of " + std::to_string(a.bytes) : " is " + where;
  throw f;
}

[[noreturn]] void fault_no_space(const Access& a, Warp& w, uint64_t address, uint32_t lane) {
  fault_at(a, w, Fault::illegal_address, address, lane, "in a space without atomics");
}

namespace {

// The handlers of each space, by shape; null: the space has no form for that shape.
struct MemoryRow {
  AddressSpace space;
  Kind kind;
  Handler of[kAddressShapes];  // by AddressShape: vector, uniform, contiguous, strided
};

constexpr MemoryRow row(AddressSpace space, Kind kind, Handler vector, Handler uniform, Handler contiguous,
                        Handler strided) {
  return {space, kind, {vector, uniform, contiguous, strided}};
}

// Stores at one address must choose a lane: `vector` does.
constexpr Handler kNo = nullptr, kGlobal = global_access, kConstant = constant_access, kLoadShared = shared_load,
                  kStoreShared = shared_store;
constexpr MemoryRow kMemoryRows[] = {
    row(AddressSpace::global, Kind::load, kGlobal, kGlobal, kGlobal, kNo),
    row(AddressSpace::global, Kind::store, kGlobal, kNo, kGlobal, kNo),
    row(AddressSpace::constant, Kind::load, kConstant, kConstant, kConstant, kNo),
    row(AddressSpace::shared, Kind::load, kLoadShared, kLoadShared, kLoadShared, kLoadShared),
    row(AddressSpace::shared, Kind::store, kStoreShared, kNo, kStoreShared, kStoreShared),
    row(AddressSpace::local, Kind::load, local_access, kNo, kNo, kNo),
    row(AddressSpace::local, Kind::store, local_access, kNo, kNo, kNo),
    row(AddressSpace::generic, Kind::load, generic_load, kNo, kNo, kNo),
    row(AddressSpace::generic, Kind::store, generic_store, kNo, kNo, kNo),
    row(AddressSpace::param, Kind::load, param_access, param_uniform, kNo, kNo),
};

const MemoryRow* row_of(AddressSpace space, Kind kind) {
  for (const MemoryRow& r : kMemoryRows)
    if (r.space == space && r.kind == kind) return &r;
  return nullptr;
}

}  // namespace

bool takes_shape(AddressSpace space, Kind kind, AddressShape shape) {
  if (kind == Kind::atomic || kind == Kind::request) return shape == AddressShape::vector;
  const MemoryRow* r = row_of(space, kind);
  return r && r->of[static_cast<std::size_t>(shape)];
}

Handler memory_handler(const MemoryOp& op, Kind kind, AddressShape shape) {
  if (!takes_shape(op.space, kind, shape))
    throw std::logic_error("internal error: no handler for an access of kind " + std::to_string(int(kind)) +
                           " to space " + std::to_string(int(op.space)) + " at addresses of shape " +
                           std::to_string(int(shape)));
  if (kind == Kind::atomic) return atomic_handler(op);
  if (kind == Kind::request) return request_handler();
  return row_of(op.space, kind)->of[static_cast<std::size_t>(shape)];
}

}  // namespace coalesce::machine
