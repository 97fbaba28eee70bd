// Work given to a stream, as a value: it runs at once, or a capturing stream keeps it in a graph.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "cudart/api/launch.h"
#include "cudart/api/range.h"

namespace coalesce::cudart {

struct Graph;

struct KernelOperation {
  const void* function = nullptr;  // as the program gave it; found anew at every run, for a reset loads modules again
  Launch launch;
  std::vector<uint8_t> packed;  // the arguments as the kernel's parameters lie
  unsigned device = 0;          // that runs it
};
struct CopyOperation {
  Box box;
  Layout to, from;
  cudaMemcpyKind kind = cudaMemcpyDefault;
  const char* call = "cudaMemcpy";
  bool waits = true;  // the call returns when a copy to or from the host has ended
};
struct FillOperation {
  Box box;  // width in bytes
  Layout to;
  uint32_t value = 0;
  uint32_t element = 1;  // bytes: 1, 2 or 4
  const char* call = "cudaMemset";
};
struct HostOperation {
  cudaHostFn_t function = nullptr;
  void* data = nullptr;
};
struct ChildOperation {
  std::shared_ptr<Graph> graph;
};
// A condition of conditional nodes: conditional.cpp.
struct Condition {
  uint64_t address = 0;  // of its word in device memory
  uint32_t initial = 0;
  bool assigns = false;  // a graph that is launched begins with `initial`
  Condition() = default;
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;
  ~Condition();
  uint32_t value() const;
};
struct ConditionalOperation {
  int type = 0;  // cudaGraphConditionalNodeType
  std::shared_ptr<Condition> condition;
  std::vector<std::shared_ptr<Graph>> bodies;
  std::shared_ptr<std::vector<Graph*>> list;  // the bodies, as the program sees them
};
struct EmptyOperation {};
struct WaitOperation {
  cudaEvent_t event = nullptr;
};
struct RecordOperation {
  cudaEvent_t event = nullptr;
};
struct AllocateOperation {
  std::shared_ptr<struct GraphMemory> memory;
};
struct FreeOperation {
  void* pointer = nullptr;
};

using Operation =
    std::variant<KernelOperation, CopyOperation, FillOperation, HostOperation, ChildOperation, EmptyOperation,
                 WaitOperation, RecordOperation, AllocateOperation, FreeOperation, ConditionalOperation>;

// Each runs under the lock and returns what the asynchronous call would.
cudaError_t run(Runtime& r, const KernelOperation& k);
cudaError_t run(Runtime& r, const CopyOperation& c);
cudaError_t run(Runtime& r, const FillOperation& f);

// Checks a launch and copies its arguments. `arguments`: one pointer per parameter, or null where `packed` holds them.
cudaError_t prepare(Runtime& r, const void* function, const Launch& l, void* const* arguments,
                    const std::vector<uint8_t>& packed, KernelOperation& out);
// The copy that a cudaMemcpy3DParms asks for.
cudaError_t copy_of(const cudaMemcpy3DParms* p, CopyOperation& out);
cudaMemcpy3DParms parameters_of(const CopyOperation& c);  // and back
// A copy of `bytes` to or from a variable at `offset`.
cudaError_t copy_of_symbol(Runtime& r, const char* call, const void* symbol, size_t offset, bool to_symbol, void* other,
                           size_t bytes, cudaMemcpyKind kind, CopyOperation& out);
// Records an event now, whatever stream it was given to.
void record_now(cudaEvent_t event);
bool is_event(cudaEvent_t event);
unsigned* event_flags(cudaEvent_t event);  // null: it is none
bool was_recorded(cudaEvent_t event);

}  // namespace coalesce::cudart
