#include "gpu/timing.h"

#include <chrono>

#include "gpu/memory.h"

namespace coalesce::gpu {
namespace {

// Each thread reads 16 bytes, then those a whole grid further on. The sum is stored only if it is a number that it
// never is, so that the loads stay. PTX, because the driver compiles it for any GPU and nothing is needed to build it.
constexpr const char* kReader = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .entry coalesce_read(.param .u64 from, .param .u64 bytes, .param .u64 never)
{
  .reg .pred %p<3>;
  .reg .b32 %r<12>;
  .reg .b64 %rd<10>;
  ld.param.u64 %rd1, [from];
  ld.param.u64 %rd2, [bytes];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, %nctaid.x;
  mad.lo.u32 %r5, %r1, %r2, %r3;
  mul.wide.u32 %rd3, %r5, 16;
  mul.lo.u32 %r6, %r4, %r2;
  mul.wide.u32 %rd4, %r6, 16;
  mov.u32 %r7, 0;
LOOP:
  add.u64 %rd5, %rd3, 16;
  setp.gt.u64 %p1, %rd5, %rd2;
  @%p1 bra DONE;
  add.u64 %rd6, %rd1, %rd3;
  ld.global.cg.v4.u32 {%r8, %r9, %r10, %r11}, [%rd6];
  xor.b32 %r7, %r7, %r8;
  xor.b32 %r7, %r7, %r9;
  xor.b32 %r7, %r7, %r10;
  xor.b32 %r7, %r7, %r11;
  add.u64 %rd3, %rd3, %rd4;
  bra LOOP;
DONE:
  ld.param.u64 %rd7, [never];
  setp.eq.u64 %p2, %rd7, 0;
  @%p2 bra END;
  st.global.u32 [%rd7], %r7;
END:
  ret;
}
)";
constexpr unsigned kThreads = 256;

}  // namespace

Timer::Timer(const DeviceFacts& facts) : flush_bytes_(2 * facts.l2_bytes) {
  blocks_ = static_cast<unsigned>(facts.multiprocessors) * 8;
  driver()->cuEventCreate(&start_, 0);
  driver()->cuEventCreate(&stop_, 0);
  void* module = nullptr;
  if (driver()->cuModuleLoadData(&module, kReader) == 0)
    driver()->cuModuleGetFunction(&reader_, module, "coalesce_read");
  if (driver()->cuMemAlloc_v2(&flush_, flush_bytes_) != 0) flush_ = 0;
  if (flush_) driver()->cuMemsetD8_v2(flush_, 0, flush_bytes_);
  driver()->cuCtxSynchronize();
}

void Timer::read(DevicePointer from, size_t bytes, cudaStream_t stream) {
  if (!reader_ || !from) return;
  const DevicePointer aligned = (from + 15) / 16 * 16, end = from + bytes;
  if (end < aligned + 16) return;
  uint64_t start = aligned, count = (end - aligned) / 16 * 16, never = 0;
  void* arguments[] = {&start, &count, &never};
  driver()->cuLaunchKernel(reader_, blocks_, 1, 1, kThreads, 1, 1, 0, stream, arguments, nullptr);
}

double Timer::between_events(const std::function<void()>& launch, cudaStream_t stream) {
  driver()->cuEventRecord(start_, stream);
  launch();
  driver()->cuEventRecord(stop_, stream);
  driver()->cuEventSynchronize(stop_);
  float milliseconds = 0;
  driver()->cuEventElapsedTime(&milliseconds, start_, stop_);
  return static_cast<double>(milliseconds) * 1e-3;
}

double Timer::once(const std::function<void()>& launch, cudaStream_t stream) {
  driver()->cuCtxSynchronize();
  read(flush_, flush_bytes_, stream);
  return between_events(launch, stream);
}

Times Timer::measure(const std::function<void()>& launch, cudaStream_t stream, int repetitions, double most_seconds) {
  using Clock = std::chrono::steady_clock;
  const auto begun = Clock::now();
  Times times;
  between_events(launch, stream);
  for (const bool cold : {true, false}) {
    for (int i = 0; i < repetitions; ++i) {
      device_memory().restore();
      read(flush_, flush_bytes_, stream);
      if (!cold) {
        for (const auto& span : device_memory().spans()) read(span.at, span.bytes, stream);
      }
      (cold ? times.cold : times.warm).push_back(between_events(launch, stream));
      if (std::chrono::duration<double>(Clock::now() - begun).count() > most_seconds / (cold ? 2 : 1)) break;
    }
  }
  return times;
}

}  // namespace coalesce::gpu
