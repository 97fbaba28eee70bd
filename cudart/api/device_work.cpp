// Kernels that give the device work: launches, copies, fills. A kernel ends when all of that has ended; then come the
// tail launches. So each piece runs with all that it asks for itself before the next one does.
#include <algorithm>
#include <memory>
#include <utility>

#include "cudart/api/launch.h"
#include "cudart/api/operation.h"
#include "cudart/core/beside.h"
#include "cudart/core/config.h"
#include "cudart/core/registry.h"

namespace coalesce::cudart {

namespace {

struct Piece {
  machine::DeviceWork work;
  Module* module = nullptr;  // of the kernel that asked for it
};

// Puts work on top of the pile, so that its first piece is run next and its tail launches after the others.
void pile(std::vector<Piece>& pieces, std::vector<machine::DeviceWork> work, Module* module) {
  for (const bool tail : {true, false})
    for (auto w = work.rbegin(); w != work.rend(); ++w)
      if (w->tail == tail) pieces.push_back({std::move(*w), module});
}

// `executed`: the warp instructions of the kernels that led to this piece, to which its own are added.
cudaError_t run_piece(Runtime& r, const Piece& p, std::vector<Piece>& pieces, uint64_t& executed) {
  const machine::DeviceWork& w = p.work;
  const Box box{w.bytes, w.rows};
  if (w.kind == machine::DeviceWork::Kind::copy) {
    CopyOperation c{box, {w.to, w.to_pitch}, {w.from, w.from_pitch}, cudaMemcpyDeviceToDevice};
    c.waits = false;
    return run(r, c);
  }
  if (w.kind == machine::DeviceWork::Kind::graph) return launched_by_device(w), cudaSuccess;
  if (w.kind == machine::DeviceWork::Kind::fill) return run(r, FillOperation{box, {w.to, w.to_pitch}, w.value, 1});
  Kernel* kernel = r.registry().kernel_named(*p.module, w.kernel);
  if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  Launch l{{w.grid[0], w.grid[1], w.grid[2]}, {w.block[0], w.block[1], w.block[2]}, w.dynamic_shared_bytes};
  l.depth = w.depth;
  l.earlier = executed;
  RanAlone ran;
  const cudaError_t error = run_alone(r, {kernel, l, w.parameters, r.number()}, ran);
  executed += ran.instructions;
  pile(pieces, std::move(ran.work), p.module);
  return error;
}

}  // namespace

Loops& loops() {
  static thread_local Loops mine;
  return mine;
}

namespace {

cudaError_t run_with_work(Runtime& r, const KernelOperation& k, uint64_t& executed) {
  const Using device(r, k.device);
  RanAlone ran;
  const cudaError_t alone = run_alone(r, k, ran);
  executed += ran.instructions;
  if (alone != cudaSuccess || ran.work.empty()) return alone;
  std::vector<Piece> pieces;
  pile(pieces, std::move(ran.work), ran.kernel->module);
  while (!pieces.empty() && r.context() == cudaSuccess) {
    const Piece next = std::move(pieces.back());
    pieces.pop_back();
    if (const cudaError_t error = run_piece(r, next, pieces, executed); error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace

namespace {

// Whether the kernel may wait for what the host writes while it runs: it polls, and there is memory that both can
// write.
bool may_wait_for_host(Runtime& r, const KernelOperation& k) {
  const Config& settings = config();
  if (settings.check || settings.shadow || settings.engine == machine::Engine::plain || r.devices() > 1) return false;
  Kernel* kernel = nullptr;
  if (r.registry().find_kernel(k.function, kernel) != cudaSuccess || !kernel->info->polls) return false;
  return std::ranges::any_of(r.memory().all(), [](const auto& a) {
    return a->live && (a->origin == machine::Origin::host || a->origin == machine::Origin::managed);
  });
}

cudaError_t run_beside(Runtime& r, const KernelOperation& k) {
  const auto launch = std::make_shared<Beside>();
  r.leave_beside(launch);
  const bool ended = launch->start([&r, k] {
    const Inside inside;
    uint64_t executed = 0;
    return guarded(r, [&](Runtime&) { return run_with_work(r, k, executed); });
  });
  if (!ended) return cudaSuccess;
  r.leave_beside(nullptr);
  return launch->finish();
}

}  // namespace

cudaError_t run(Runtime& r, const KernelOperation& k) {
  uint64_t executed = 0;
  if (loops().depth == 0) return may_wait_for_host(r, k) ? run_beside(r, k) : run_with_work(r, k, executed);
  KernelOperation next = k;
  executed = next.launch.earlier = loops().instructions;
  const cudaError_t error = run_with_work(r, next, executed);
  loops().instructions = executed;
  ++loops().kernels;
  return error;
}

}  // namespace coalesce::cudart
