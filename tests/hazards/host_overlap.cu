// Launches that may begin while the kernel before them runs (programmatic dependent launch):
// cudaGridDependencySynchronize() orders memory, cudaTriggerProgrammaticLaunchCompletion() does not.
#include "host_cases.h"

namespace {

// Launches behind the stream's last kernel; `may`: overlapping it.
template <class... Parameters, class... Arguments>
void launch(bool may, void (*kernel)(Parameters...), const Arguments&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = 8;
  config.blockDim = 128;
  cudaLaunchAttribute overlaps{};
  overlaps.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlaps.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &overlaps;
  config.numAttrs = may ? 1 : 0;
  cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
}

__device__ int index() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }

}  // namespace

__global__ void fills(int* p) {
  if (index() < kInts) p[index()] = index();
}
__global__ void fills_and_triggers(int* p) {
  if (index() < kInts) p[index()] = index();
  __threadfence();
  cudaTriggerProgrammaticLaunchCompletion();
}
__global__ void adds(const int* p, int* to) {
  if (index() < kInts) to[index()] += p[index()];
}

template <bool Right>
__global__ void never_waits(const int* p, int* to) {
  if (Right) cudaGridDependencySynchronize();
  if (index() < kInts) to[index()] = p[index()];  // HERE: race_streams
}
template <bool Right>
void reads_what_the_one_before_writes() {
  const Memory p(device_ints()), q(device_ints());
  launch(false, fills, p);
  launch(true, never_waits<Right>, p, q);
}

template <bool Right>
__global__ void takes_the_trigger_for_an_end(const int* p, int* to) {
  if (Right) cudaGridDependencySynchronize();
  if (index() < kInts) to[index()] = p[index()];  // HERE: race_streams
}
template <bool Right>
void trigger_orders_no_memory() {
  const Memory p(device_ints()), q(device_ints());
  launch(false, fills_and_triggers, p);
  launch(true, takes_the_trigger_for_an_end<Right>, p, q);
}

template <bool Right>
__global__ void waits_too_late(const int* p, int* to) {
  if (Right) cudaGridDependencySynchronize();
  const int value = index() < kInts ? p[index()] : 0;  // HERE: race_streams
  if (!Right) cudaGridDependencySynchronize();
  if (index() < kInts) to[index()] = value;
}
template <bool Right>
void reads_and_then_waits() {
  const Memory p(device_ints()), q(device_ints());
  launch(false, fills_and_triggers, p);
  launch(true, waits_too_late<Right>, p, q);
}

template <bool Right>
__global__ void clears_early(int* p) {
  if (Right) cudaGridDependencySynchronize();
  if (index() < kInts) p[index()] = 0;  // HERE: race_streams
}
template <bool Right>
void writes_what_the_one_before_reads() {
  const Memory p(device_ints()), q(device_ints());
  launch(false, adds, p, q);
  launch(true, clears_early<Right>, p);
}

// The others need a barrier to hear of it.
template <bool Right>
__global__ void one_warp_waits(const int* p, int* to) {
  if (threadIdx.x < 32) cudaGridDependencySynchronize();
  if (Right) __syncthreads();
  if (index() < kInts) to[index()] = p[index()];  // HERE: race_streams
}
template <bool Right>
void others_do_not_wait() {
  const Memory p(device_ints()), q(device_ints());
  launch(false, fills, p);
  launch(true, one_warp_waits<Right>, p, q);
}

// The second reads early what the first does not write.
__global__ void reads_its_own_early(const int* own, const int* p, int* to) {
  const int value = index() < kInts ? own[index()] : 0;
  cudaGridDependencySynchronize();
  if (index() < kInts) to[index()] = value + p[index()];
}
template <bool Right>
void early_part_of_its_own() {
  const Memory own(device_ints()), p(device_ints()), q(device_ints());
  launch(false, fills_and_triggers, p);
  launch(true, reads_its_own_early, own, p, q);
  launch(false, adds, q, p);
}

__global__ void follows(const int* p, int* to) {
  if (index() < kInts) to[index()] = p[index()];
}
template <bool Right>
void no_attribute() {
  const Memory p(device_ints()), q(device_ints());
  launch(false, fills_and_triggers, p);
  launch(false, follows, p, q);
}
template <bool Right>
void copy_between() {
  const Memory p(device_ints()), q(device_ints());
  launch(false, fills, p);
  cudaMemsetAsync(q, 0, kBytes);
  launch(true, follows, p, q);
}
template <bool Right>
void host_waits_between() {
  const Memory p(device_ints()), q(device_ints());
  launch(false, fills, p);
  cudaDeviceSynchronize();
  launch(true, follows, p, q);
}

static const HostCase kCases[] = {
    HOST_CASE(reads_what_the_one_before_writes),
    HOST_CASE(trigger_orders_no_memory),
    HOST_CASE(reads_and_then_waits),
    HOST_CASE(writes_what_the_one_before_reads),
    HOST_CASE(others_do_not_wait),
    HOST_RIGHT(early_part_of_its_own),
    HOST_RIGHT(no_attribute),
    HOST_RIGHT(copy_between),
    HOST_RIGHT(host_waits_between),
};

int main(int argc, char** argv) { return run_host_cases(kCases, argc, argv); }
