// Exact sums on a GPU: speed beside the library's plain sum and CUB's, and correctness against the CPU's exact sums.
// One element type a program (-DELEMENT=float ...), one JSON object a line. Needs nvcc, as CUB does.
//   exact_<type> check | flat | sustained | small | speed | errors | shapes | forms ...
// -DONLY_CHECK=1, -DONLY_FLAT=1 (with sustained and small) or -DONLY_SHAPES=1 leave out the rest: less to compile. Only
// -DONLY_FORMS=1 has forms, which is of floats.
#if defined(ONLY_CHECK) || defined(ONLY_FLAT) || defined(ONLY_SHAPES) || defined(ONLY_FORMS)
#define HAS(part) (ONLY_##part + 0)
#else
#define HAS(part) 1
#endif
#include "bench/exact/common.cuh"
#if HAS(CHECK)
#include "bench/exact/check.cuh"
#endif
#ifdef ONLY_FORMS
#include "bench/exact/forms.cuh"
#endif

namespace {

#if HAS(FLAT)
std::vector<contender> flat_contenders(const element* x, std::int64_t n) {
  return {
      {"plain", [=] { REQUIRE(coalesce::sum(x, n, results)); }},
      {"exact", [=] { REQUIRE(coalesce::exact_sum(x, n, results + 1)); }},
      {"cub", [=] { REQUIRE(cub::DeviceReduce::Sum(cub_space, cub_bytes, x, results + 2, n)); }},
#ifdef COALESCE_CUB_MAIN
      {"cub_gpu_to_gpu",
       [=] {
         const auto environment = cuda::execution::require(cuda::execution::determinism::gpu_to_gpu);
         REQUIRE(cub::DeviceReduce::Reduce(x, results + 3, n, cuda::std::plus<>{}, element(0), environment));
       }},
#endif
  };
}

void flat() {
  for (int kind = 0; kind < kind_count; ++kind) {
    fill(data, capacity, kind);
    const std::int64_t n = (std::int64_t(1) << 30) / sizeof(element);
    const auto all = flat_contenders(data, n);
    print("flat 1 GiB", kinds[kind], static_cast<double>(n) * sizeof(element), all, compare(all, 9));
  }
  fill(data, capacity, 1);
  for (std::int64_t bytes : {std::int64_t(1) << 28, std::int64_t(1) << 32}) {
    const std::int64_t n = bytes / sizeof(element);
    if (n > capacity) continue;
    const auto all = flat_contenders(data, n);
    print(bytes >> 32 ? "flat 4 GiB" : "flat 256 MiB", "normal", static_cast<double>(bytes), all, compare(all, 7));
  }
  const std::int64_t n = (std::int64_t(1) << 29) / sizeof(element);
  // Plain: the sum of as many bytes.
  const std::vector<contender> dots = {
      {"plain", [=] { REQUIRE(coalesce::sum(data, 2 * n, results)); }},
      {"exact", [=] { REQUIRE(coalesce::exact_dot(data, data + n, n, results + 1)); }}};
  print("dot 2 x 512 MiB", "normal", static_cast<double>(2 * n) * sizeof(element), dots, compare(dots, 7));
}

void sustained() {
  for (int kind : {0, 1, 2}) {
    fill(data, capacity, kind);
    const std::int64_t n = capacity;
    auto all = flat_contenders(data, n);
    all.resize(2);
    std::vector<double> us(2);
    const double once = microseconds(all[0].call, 20);
    const int half_second = static_cast<int>(5e5 / once) + 1;
    for (int turn = 0; turn < 2; ++turn) {
      microseconds(all[turn].call, half_second);
      us[turn] = microseconds(all[turn].call, half_second);
    }
    print("sustained, second half of 1 s", kinds[kind], static_cast<double>(n) * sizeof(element), all, us);
  }
}

void small() {
  for (int kind = 0; kind < 2; ++kind) {  // uniform and normal: their sums need more bits, or fewer
    fill(data, 1 << 21, kind);
    for (std::int64_t n = 1; n <= 1 << 20; n *= 4) {
      const auto all = flat_contenders(data, n);
      std::vector<double> us;
      for (const auto& one : all) {
        microseconds(one.call, 20);
        us.push_back(std::min(microseconds(one.call, 200), microseconds(one.call, 200)));
      }
      print("small, 200 launches in a row", kinds[kind] + (" " + std::to_string(n)),
            static_cast<double>(n) * sizeof(element), all, us);
    }
  }
}

// Three float sums on the CPU, for the plot of errors.
float one_by_one(const float* x, std::int64_t n) {
  float sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}
float pairwise(const float* x, std::int64_t n) {
  if (n <= 8) return one_by_one(x, n);
  return pairwise(x, n / 2) + pairwise(x + n / 2, n - n / 2);
}
float kahan(const float* x, std::int64_t n) {
  volatile float sum = 0, lost = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const float y = x[i] - lost, t = sum + y;
    lost = (t - sum) - y;
    sum = t;
  }
  return sum;
}

// Writes the arrays to errors_<kind>_<n>.bin for programs that are not C++ (errors_torch.py).
void errors() {
  if constexpr (std::is_same_v<element, float>) {
    for (int kind : {0, 1, 2}) {
      for (int k = 10; k <= 26; k += 4) {
        const std::int64_t n = std::int64_t(1) << k;
        fill(data, n, kind);
        std::vector<float> h(static_cast<std::size_t>(n));
        REQUIRE(cudaMemcpy(h.data(), data, h.size() * sizeof(float), cudaMemcpyDeviceToHost));
        coalesce::host::exact_accumulator<float> sum;
        sum.add(h.data(), h.size());
        float result[3];
        const auto all = flat_contenders(data, n);
        for (int i = 0; i < 3; ++i) all[static_cast<std::size_t>(i)].call();
        REQUIRE(cudaMemcpy(result, results, sizeof(result), cudaMemcpyDeviceToHost));
        std::printf(
            "{\"part\": \"errors\", \"case\": \"%s\", \"n\": %lld, \"sum\": %.17g, \"one_by_one\": %.9g, \"pairwise\": "
            "%.9g, \"kahan\": %.9g, "
            "\"plain\": %.9g, \"exact\": %.9g, \"cub\": %.9g}\n",
            kinds[kind], static_cast<long long>(n), sum.sum<double>(), one_by_one(h.data(), n), pairwise(h.data(), n),
            kahan(h.data(), n), result[0], result[1], result[2]);
        std::fflush(stdout);
        const std::string name = "errors_" + std::string(kinds[kind]) + "_" + std::to_string(n) + ".bin";
        if (std::FILE* file = std::fopen(name.c_str(), "wb")) {
          std::fwrite(h.data(), sizeof(float), h.size(), file);
          std::fclose(file);
        }
      }
    }
  }
}

// Measures arrays that fit in caches and arrays that do not, for the plot of speed.
void speed() {
  fill(data, std::int64_t(1) << 28, 0);
  for (int k = 10; k <= 28; k += 3) {
    const std::int64_t n = std::int64_t(1) << k;
    const auto all = flat_contenders(data, n);
    print("speed", std::to_string(n), static_cast<double>(n) * sizeof(element), all, compare(all, 9));
  }
}

#endif
#if HAS(SHAPES)
void shapes() {
  fill(data, capacity, 1);
  const std::int64_t n = (std::int64_t(1) << 30) / sizeof(element);
  for (std::int64_t length : {4, 16, 64, 100, 256, 1024, 4096, 16384, 65536, 1 << 20}) {
    const std::int64_t others = n / length;
    const coalesce::view<element> rows(data, {others, length}), columns(data, {length, others});
    element* out = data + n;
    const std::vector<contender> by_row = {
        {"plain", [=] { REQUIRE(coalesce::sum(rows, coalesce::axes{1}, out)); }},
        {"exact", [=] { REQUIRE(coalesce::exact_sum(rows, coalesce::axes{1}, out)); }}};
    print("rows, 1 GiB", std::to_string(others) + " of " + std::to_string(length),
          static_cast<double>(n) * sizeof(element), by_row, compare(by_row, 5));
    const std::vector<contender> by_column = {
        {"plain", [=] { REQUIRE(coalesce::sum(columns, coalesce::axes{0}, out)); }},
        {"exact", [=] { REQUIRE(coalesce::exact_sum(columns, coalesce::axes{0}, out)); }}};
    print("columns, 1 GiB", std::to_string(others) + " of " + std::to_string(length),
          static_cast<double>(n) * sizeof(element), by_column, compare(by_column, 5));
  }
}

#endif
#if !HAS(CHECK)
long wrong = 0;
#endif

}  // namespace

int main(int argc, char** argv) {
  cudaDeviceProp device;
  REQUIRE(cudaGetDeviceProperties(&device, 0));
  capacity = static_cast<std::int64_t>(std::min<std::size_t>(std::size_t(4) << 30, device.totalGlobalMem / 2) /
                                       sizeof(element));
  REQUIRE(cudaMalloc(&data, static_cast<std::size_t>(capacity) * sizeof(element) + (std::size_t(1) << 29)));
  REQUIRE(cudaMalloc(&results, 1024));
  REQUIRE(cudaEventCreate(&begin_event));
  REQUIRE(cudaEventCreate(&end_event));
  REQUIRE(cub::DeviceReduce::Sum(nullptr, cub_bytes, data, results, capacity));
  REQUIRE(cudaMalloc(&cub_space, cub_bytes));
  std::printf("{\"machine\": \"%s\", \"type\": \"%s\"}\n", device.name, type_name());
  for (int i = 1; i < argc; ++i) {
    const std::string part = argv[i];
    if (false) {
    }
#if HAS(CHECK)
    else if (part == "check")
      check(i + 1 < argc && std::atol(argv[i + 1]) > 0 ? std::atol(argv[++i]) : 25000);
#endif
#if HAS(FLAT)
    else if (part == "flat")
      flat();
    else if (part == "sustained")
      sustained();
    else if (part == "small")
      small();
    else if (part == "errors")
      errors();
    else if (part == "speed")
      speed();
#endif
#if HAS(SHAPES)
    else if (part == "shapes")
      shapes();
#endif
#ifdef ONLY_FORMS
    else if (part == "forms")
      forms(i + 1 < argc && std::atoi(argv[i + 1]) > 0 ? std::atoi(argv[++i]) : 30);
#endif
    else {
      std::fprintf(stderr,
                   "error: no part '%s'\nhint: check [ARRAYS], flat, sustained, small, speed, errors, shapes, forms "
                   "[LOG2-BYTES]\n",
                   part.c_str());
      return 2;
    }
  }
  return wrong > 0 ? 1 : 0;
}
