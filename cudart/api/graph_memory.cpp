// Memory that graphs allocate. Its address is fixed when the node is made, so the machine reserves it then; between
// free and the next run it stays reserved. What CUDA lets outlive its graph does here too.
#include <algorithm>

#include "cudart/api/graph.h"
#include "cudart/api/memory.h"

namespace coalesce::cudart {
namespace {

struct Account {
  GraphMemory* owner = nullptr;  // null: every graph that had it is gone, and the program holds it
  size_t bytes = 0;
};
struct Accounts {
  std::unordered_map<uint64_t, Account> all;  // by address
  uint64_t most_used = 0, most_reserved = 0;
};
Accounts& books() { return held<Accounts>(); }
auto& accounts() { return books().all; }

uint64_t used() {
  uint64_t sum = 0;
  for (const auto& [address, a] : accounts()) sum += a.owner == nullptr || a.owner->live ? a.bytes : 0;
  return sum;
}
uint64_t reserved() {
  uint64_t sum = 0;
  for (const auto& [address, a] : accounts()) sum += a.bytes;
  return sum;
}

}  // namespace

GraphMemory::~GraphMemory() {
  const auto at = accounts().find(address_of(pointer));
  if (at == accounts().end() || at->second.owner != this) return;
  if (live) {
    at->second.owner = nullptr;
    return;
  }
  if (runtime().has_machine()) runtime().memory().release(address_of(pointer));
  accounts().erase(at);
}

cudaError_t make_graph_memory(Runtime& r, size_t bytes, std::shared_ptr<GraphMemory>& out) {
  auto made = std::make_shared<GraphMemory>();
  made->bytes = bytes;
  const cudaError_t error = allocate(r, &made->pointer, bytes, machine::Origin::device, "a graph's allocation node");
  if (error != cudaSuccess) return error;
  accounts()[address_of(made->pointer)] = {made.get(), bytes};
  books().most_reserved = std::max(books().most_reserved, reserved());
  out = std::move(made);
  return cudaSuccess;
}

bool is_graph_memory(const void* pointer) { return accounts().contains(address_of(pointer)); }

// Allocating and freeing use the memory as writing all of it would.
static void uses_whole(Runtime& r, const char* call, uint64_t address) {
  const auto at = accounts().find(address);
  if (r.check() == nullptr || at == accounts().end()) return;
  r.check()->begin_work(call, false);
  r.check()->used({{address, at->second.bytes, true}});
}

cudaError_t run(Runtime& r, const AllocateOperation& a) {
  uses_whole(r, "cudaMallocAsync", address_of(a.memory->pointer));
  a.memory->live = true;
  books().most_used = std::max(books().most_used, used());
  return cudaSuccess;
}

bool release_graph_memory(void* pointer, cudaError_t& error) {
  const auto at = accounts().find(address_of(pointer));
  if (at == accounts().end()) return false;
  error = cudaSuccess;
  if (at->second.owner == nullptr) {
    runtime().memory().release(at->first);
    accounts().erase(at);
  } else if (at->second.owner->live) {
    at->second.owner->live = false;
  } else {
    error = cudaErrorInvalidValue;  // no run has allocated it, or it was freed
  }
  return true;
}

cudaError_t run(Runtime& r, const FreeOperation& f) {
  uses_whole(r, "cudaFreeAsync", address_of(f.pointer));
  cudaError_t error = cudaErrorInvalidValue;
  release_graph_memory(f.pointer, error);
  return error;
}

COALESCE_API cudaError_t cudaDeviceGetGraphMemAttribute(int device, int attribute, void* value) {
  if (!runtime().is_device(device)) return note(cudaErrorInvalidDevice);
  if (value == nullptr || attribute < 0 || attribute > 3) return note(cudaErrorInvalidValue);
  return call([&](Runtime&) {
    const uint64_t values[] = {used(), books().most_used, reserved(), books().most_reserved};
    *static_cast<uint64_t*>(value) = values[attribute];
    return cudaSuccess;
  });
}

// Only the two high marks can be set, and only to 0.
COALESCE_API cudaError_t cudaDeviceSetGraphMemAttribute(int device, int attribute, void* value) {
  if (!runtime().is_device(device)) return note(cudaErrorInvalidDevice);
  if (value == nullptr || (attribute != 1 && attribute != 3) || *static_cast<uint64_t*>(value) != 0) {
    return note(cudaErrorInvalidValue);
  }
  return call([&](Runtime&) {
    (attribute == 1 ? books().most_used : books().most_reserved) = attribute == 1 ? used() : reserved();
    return cudaSuccess;
  });
}

COALESCE_API cudaError_t cudaDeviceGraphMemTrim(int device) {
  if (!runtime().is_device(device)) return note(cudaErrorInvalidDevice);
  return call([](Runtime&) { return cudaSuccess; });  // nothing is kept beyond what graphs name
}

}  // namespace coalesce::cudart
