// The cost of counting one warp instruction, by shape of access and implementation. ns per call = "Time".
#include "machine/observe/traffic.h"

#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace coalesce::machine;

template <typename T>
struct alignas(64) Warp {
  T address[32];
};

// 64 warps, so that branch predictors and caches see variety but no memory traffic is measured.
template <typename T>
using Warps = std::vector<Warp<T>>;
constexpr std::size_t kWarps = 64;

enum class Shape { contiguous, uniform, strided, scattered_near, scattered_far };
constexpr struct {
  const char* name;
  Shape shape;
} kShapes[] = {{"contiguous", Shape::contiguous},
               {"uniform", Shape::uniform},
               {"stride7", Shape::strided},
               {"scattered4KiB", Shape::scattered_near},
               {"scattered", Shape::scattered_far}};

template <typename T>
Warps<T> make(Shape shape, uint32_t width, uint64_t base, uint64_t span) {
  std::mt19937_64 random(7);
  Warps<T> warps(kWarps);
  for (Warp<T>& w : warps) {
    const uint64_t start = random() % 64;
    for (uint64_t i = 0; i < 32; ++i) {
      uint64_t unit = start;
      if (shape == Shape::contiguous) unit += i;
      if (shape == Shape::strided) unit += 7 * i;
      if (shape == Shape::scattered_near) unit = random() % (4096 / width);
      if (shape == Shape::scattered_far) unit = random() % (span / width);
      w.address[i] = static_cast<T>(base + unit * width);
    }
  }
  return warps;
}

template <typename T, typename Cost>
void measure(const std::string& name, const Warps<T>& warps, uint32_t width, Cost cost) {
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
    std::size_t n = 0;
    uint32_t mask = ~0u;
    benchmark::DoNotOptimize(mask);
    for (auto _ : state) {
      auto c = cost(warps[n++ % kWarps].address, mask, width);
      benchmark::DoNotOptimize(c);
    }
  });
}

void register_all() {
  measure("contiguous+closed_form/inline", make<uint64_t>(Shape::contiguous, 4, 1ull << 45, 0), 4,
          [](const uint64_t* a, uint32_t mask, uint32_t width) {
            return contiguous(a, mask, width) ? global_cost_contiguous(a[0], mask, width) : GlobalCost{};
          });
  measure(
      "shared_affine/closed_form", make<uint32_t>(Shape::contiguous, 4, 0, 0), 4,
      [](const uint32_t* a, uint32_t mask, uint32_t width) { return shared_load_cost_affine(a[0], 12, mask, width); });
  // Counts atomics of whole warps as native code does.
  benchmark::RegisterBenchmark("shared_atomic/scattered4KiB/w4/sixteen_warps", [](benchmark::State& state) {
    const auto warps = make<uint32_t>(Shape::scattered_near, 4, 0, 0);
    static uint32_t words[kWarps][32], wavefronts[kAtomicsTogether];
    for (std::size_t w = 0; w < kWarps; ++w)
      for (std::size_t l = 0; l < 32; ++l) words[w][l] = warps[w].address[l] / 4;
    std::size_t n = 0;
    for (auto _ : state) {
      shared_atomic_wavefronts(words + n++ * kAtomicsTogether % kWarps, wavefronts);
      benchmark::DoNotOptimize(wavefronts);
    }
  });
  for (const TrafficImplementation& with : traffic_implementations()) {
    for (const auto& shape : kShapes) {
      for (uint32_t width : {4u, 16u}) {
        const std::string end = "/" + std::string(shape.name) + "/w" + std::to_string(width) + "/" + with.name;
        const auto global = make<uint64_t>(shape.shape, width, 1ull << 45, 1ull << 28);
        const auto shared = make<uint32_t>(shape.shape, width, 0, 128 * 1024);
        measure("global" + end, global, width, with.global_cost);
        measure("shared_load" + end, shared, width, with.shared_load_cost);
        if (width == 16) continue;
        measure("global_atomic" + end, global, width, [=](const uint64_t* a, uint32_t mask, uint32_t bytes) {
          return with.global_atomic_cost(a, mask, bytes, 128);
        });
        measure("shared_atomic" + end, shared, width, with.shared_atomic_cost);
        measure("local" + end, shared, width, with.local_sectors);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
