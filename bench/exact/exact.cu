// Exact sums on a GPU: speed beside the library's plain sum and CUB's, and correctness against the CPU's exact sums.
// One element type a program (-DELEMENT=float ...), one JSON object a line. Needs nvcc, as CUB does.
//   exact_<type> check | flat | sustained | small | speed | errors | shapes ...
// -DONLY_CHECK=1, -DONLY_FLAT=1 (with sustained and small) or -DONLY_SHAPES=1 leave out the rest: less to compile.
#if defined(ONLY_CHECK) || defined(ONLY_FLAT) || defined(ONLY_SHAPES)
#define HAS(part) (ONLY_##part + 0)
#else
#define HAS(part) 1
#endif
#include <coalesce/exact.cuh>
#include <coalesce/host/exact.hpp>
#include <coalesce/reduce.cuh>
#include <cstdio>
#include <cstring>
#include <cub/device/device_reduce.cuh>
#include <functional>
#include <string>
#include <vector>

#include "tests/library/exact/cases.h"

namespace {

using element = ELEMENT;
namespace exact = coalesce::exact;
using bits = exact::format<element>::bits;
using host_element =
    std::conditional_t<std::is_same_v<element, __half>, coalesce::half_bits,
                       std::conditional_t<std::is_same_v<element, __nv_bfloat16>, coalesce::bfloat16_bits, element>>;
const char* type_name() {
  return std::is_same_v<element, __half>          ? "half"
         : std::is_same_v<element, __nv_bfloat16> ? "bfloat16"
         : sizeof(element) == 4                   ? "float"
                                                  : "double";
}

void require(cudaError_t error, int line) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "error: line %d: %s\n", line, cudaGetErrorString(error));
  std::exit(3);
}
void require(const coalesce::status& s, int line) {
  if (s.ok()) return;
  std::fprintf(stderr, "error: line %d: %s\n", line, s.message());
  std::exit(3);
}
#define REQUIRE(call) require(call, __LINE__)

// ---- data
__host__ __device__ std::uint64_t mixed(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}
const char* const kinds[] = {"uniform", "normal", "wide", "bits", "cancelling", "equal", "ramp", "zeros", "subnormal"};
constexpr int kind_count = 9;
__global__ void generate(element* x, std::int64_t n, int kind) {
  constexpr int precision = exact::format<element>::precision;
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < n;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const std::int64_t pair = kind == 4 && i >= n / 2 ? n - 1 - i : i;
    const std::uint64_t h = mixed(pair), g = mixed(h);
    const double uniform = static_cast<double>(h >> 11) * 0x1p-53;
    double v = 0;
    if (kind == 0) v = uniform;
    if (kind == 1) v = sqrt(-2 * log(uniform + 0x1p-54)) * cospi(2 * static_cast<double>(g >> 11) * 0x1p-53);
    const int reach = std::is_same_v<element, __half> ? 8 : 60;
    if (kind == 2 || kind == 4)
      v = ldexp(1 + uniform, static_cast<int>((g >> 8) % (2 * reach)) - reach) * (g & 1 ? -1 : 1);
    if (kind == 4 && i >= n / 2) v = -v;
    if (kind == 5) v = 0.1;
    if (kind == 6) v = (static_cast<double>(i) + 0.5) / static_cast<double>(n);
    if (kind == 3 || kind == 8) {
      bits b = static_cast<bits>(h);
      const bits field = exact::infinity<element>;
      if (kind == 8) b &= static_cast<bits>(~field);
      if ((b & field) == field) b ^= static_cast<bits>(bits(1) << (precision - 1) << 2);
      x[i] = exact::from_bits<element>(b);
    } else if constexpr (sizeof(element) == 8) {
      x[i] = v;
    } else {
      x[i] = static_cast<element>(static_cast<float>(v));
    }
  }
}
void fill(element* x, std::int64_t n, int kind) {
  generate<<<1320, 256>>>(x, n, kind);
  REQUIRE(cudaDeviceSynchronize());
}

// ---- time
cudaEvent_t begin_event, end_event;
template <class Call>
double microseconds(Call call, int repeat = 1) {
  REQUIRE(cudaEventRecord(begin_event));
  for (int i = 0; i < repeat; ++i) call();
  REQUIRE(cudaEventRecord(end_event));
  REQUIRE(cudaEventSynchronize(end_event));
  float ms;
  REQUIRE(cudaEventElapsedTime(&ms, begin_event, end_event));
  return ms * 1e3 / repeat;
}
double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}
struct contender {
  const char* name;
  std::function<void()> call;
};
// Turn by turn, there and back, so that no one always follows the same one.
std::vector<double> compare(const std::vector<contender>& all, int turns) {
  std::vector<std::vector<double>> times(all.size());
  for (int turn = -1; turn < turns; ++turn) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::size_t k = turn % 2 ? all.size() - 1 - i : i;
      const double us = microseconds(all[k].call);
      if (turn >= 0) times[k].push_back(us);
    }
  }
  REQUIRE(cudaGetLastError());
  std::vector<double> result;
  for (auto& t : times) result.push_back(median(t));
  return result;
}
void print(const char* what, const std::string& where, double bytes, const std::vector<contender>& all,
           const std::vector<double>& us) {
  std::printf("{\"part\": \"%s\", \"type\": \"%s\", \"case\": \"%s\", \"bytes\": %.0f", what, type_name(),
              where.c_str(), bytes);
  for (std::size_t i = 0; i < all.size(); ++i) std::printf(", \"%s\": %.3f", all[i].name, us[i]);
  std::printf(", \"of_plain\": %.4f}\n", us[0] / us[1]);
  std::fflush(stdout);
}

element *data, *results;
void* cub_space;
std::size_t cub_bytes;
std::int64_t capacity;

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
#if HAS(CHECK)
// ---- correctness
long checks, wrong;
void expect(const element* out, const host_element& expected, const char* what, long seed) {
  ++checks;
  if (exact::to_bits(*out) == exact::to_bits(expected)) return;
  if (++wrong <= 20) {
    std::printf("{\"wrong\": \"%s\", \"type\": \"%s\", \"case\": %ld, \"got\": \"%llx\", \"expected\": \"%llx\"}\n",
                what, type_name(), seed, static_cast<unsigned long long>(exact::to_bits(*out)),
                static_cast<unsigned long long>(exact::to_bits(expected)));
  }
}

// More than 2^31 elements: the largest number and its negative in turn, and in the end five of the smallest subnormal;
// then that one only.
__global__ void extremes(element* x, std::int64_t n, bool small) {
  const bits largest = static_cast<bits>(exact::infinity<element> - 1);
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < n;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const bits sign = i % 2 != 0 ? exact::sign_bit<element> : bits(0);
    x[i] = exact::from_bits<element>(small || i >= n - 5 ? bits(1) : static_cast<bits>(largest | sign));
  }
}
void check_many() {
  const std::int64_t n = (std::int64_t(1) << 31) + 5;
  element* x;
  if (cudaMalloc(&x, static_cast<std::size_t>(n) * sizeof(element)) != cudaSuccess) {
    cudaGetLastError();
    std::printf("{\"skipped\": \"2^31 elements: not enough memory\", \"type\": \"%s\"}\n", type_name());
    return;
  }
  for (const bool small : {false, true}) {
    extremes<<<1320, 256>>>(x, n, small);
    REQUIRE(coalesce::exact_sum(x, n, results));
    element got;
    REQUIRE(cudaMemcpy(&got, results, sizeof(got), cudaMemcpyDeviceToHost));
    coalesce::host::exact_accumulator<host_element> sum, five;
    const host_element smallest = exact::from_bits<host_element>(bits(1));
    for (int i = 0; i < 5; ++i) five.add(smallest);
    if (small) {
      sum.add(smallest);
      for (int doubled = 0; doubled < 31; ++doubled) {
        const auto same = sum;
        sum.merge(same);
      }
    }
    if (small) {  // rows of more than a block adds at once: the same elements again and again
      const std::int64_t length = (std::int64_t(1) << 29) + 77;
      coalesce::host::exact_accumulator<host_element> row;
      row.add(smallest);
      for (int doubled = 0; doubled < 29; ++doubled) {
        const auto same = row;
        row.merge(same);
      }
      for (int i = 0; i < 77; ++i) row.add(smallest);
      const coalesce::view<element> rows(x, {120, length}, {0, 1});
      REQUIRE(coalesce::exact_sum(rows, coalesce::axes{1}, results + 1));
      element ends[2];
      REQUIRE(cudaMemcpy(ends, results + 1, sizeof(element), cudaMemcpyDeviceToHost));
      REQUIRE(cudaMemcpy(ends + 1, results + 120, sizeof(element), cudaMemcpyDeviceToHost));
      for (const element& end : ends) expect(&end, row.sum(), "rows of 2^29 subnormals", length);
    }
    sum.merge(five);
    expect(&got, sum.sum(), small ? "2^31 subnormals" : "2^31 largest numbers of both signs", n);
  }
  cudaFree(x);
}

// Random arrays, one behind the other: as segments, many in one launch; and some of them on their own.
void check(long segments) {
  namespace host = coalesce::host;
  std::vector<host_element> x, y;
  std::vector<std::int64_t> offsets = {0};
  for (long s = 0; s < segments; ++s) {
    cases::generator random(static_cast<std::uint64_t>(s));
    const std::size_t count = cases::size(random);
    const auto a = cases::array<host_element>(random, count), b = cases::array<host_element>(random, count);
    x.insert(x.end(), a.begin(), a.end());
    y.insert(y.end(), b.begin(), b.end());
    offsets.push_back(static_cast<std::int64_t>(x.size()));
  }
  element* second = data + x.size() + 8;
  std::int64_t* at;
  element* out;
  REQUIRE(cudaMalloc(&at, offsets.size() * sizeof(*at)));
  REQUIRE(cudaMalloc(&out, static_cast<std::size_t>(segments) * sizeof(element)));
  REQUIRE(cudaMemcpy(data, x.data(), x.size() * sizeof(element), cudaMemcpyHostToDevice));
  REQUIRE(cudaMemcpy(second, y.data(), y.size() * sizeof(element), cudaMemcpyHostToDevice));
  REQUIRE(cudaMemcpy(at, offsets.data(), offsets.size() * sizeof(*at), cudaMemcpyHostToDevice));
  std::vector<element> got(static_cast<std::size_t>(segments));
  const auto fetch = [&](std::size_t count) {
    REQUIRE(cudaMemcpy(got.data(), out, count * sizeof(element), cudaMemcpyDeviceToHost));
  };
  const auto begin = [&](long s) { return x.data() + offsets[static_cast<std::size_t>(s)]; };
  const auto size = [&](long s) {
    return static_cast<std::size_t>(offsets[static_cast<std::size_t>(s) + 1] - offsets[static_cast<std::size_t>(s)]);
  };
  REQUIRE(coalesce::exact_sum(data, at, segments, out));
  fetch(got.size());
  for (long s = 0; s < segments; ++s)
    expect(&got[static_cast<std::size_t>(s)], host::exact_sum(begin(s), size(s), 1), "segments, sum", s);
  REQUIRE(coalesce::exact_mean(data, at, segments, out));
  fetch(got.size());
  for (long s = 0; s < segments; ++s)
    expect(&got[static_cast<std::size_t>(s)], host::exact_mean(begin(s), size(s), 1), "segments, mean", s);
  REQUIRE(coalesce::exact_norm2(data, at, segments, out));
  fetch(got.size());
  for (long s = 0; s < segments; ++s)
    expect(&got[static_cast<std::size_t>(s)], host::exact_norm2(begin(s), size(s), 1), "segments, norm2", s);
  for (long s = 0; s < segments; s += 29) {
    const std::int64_t from = offsets[static_cast<std::size_t>(s)], n = static_cast<std::int64_t>(size(s));
    REQUIRE(coalesce::exact_dot(data + from, second + from, n, out));
    REQUIRE(coalesce::exact_sum(data + from, n, out + 1));
    fetch(2);
    expect(&got[0], host::exact_dot(begin(s), y.data() + from, size(s), 1), "dot", s);
    expect(&got[1], host::exact_sum(begin(s), size(s), 1), "sum", s);
  }
  for (std::int64_t columns : {1, 3, 17, 250, 1000, 5000}) {
    const std::int64_t rows = std::min<std::int64_t>(static_cast<std::int64_t>(x.size()) / columns, 3000);
    if (rows * columns > 3000000 || columns > segments) continue;
    REQUIRE(coalesce::exact_sum(coalesce::view<element>(data, {rows, columns}), coalesce::axes{0}, out));
    fetch(static_cast<std::size_t>(columns));
    std::vector<host_element> column(static_cast<std::size_t>(rows));
    for (std::int64_t c = 0; c < columns; ++c) {
      for (std::int64_t r = 0; r < rows; ++r)
        column[static_cast<std::size_t>(r)] = x[static_cast<std::size_t>(r * columns + c)];
      expect(&got[static_cast<std::size_t>(c)], host::exact_sum(column.data(), column.size(), 1), "columns", c);
    }
  }
  // Large: every data set, with the whole grid, and cut in pieces that are merged.
  for (int kind = 0; kind < kind_count; ++kind) {
    const std::int64_t n = (1 << 24) + 5;
    fill(data, n, kind);
    std::vector<host_element> h(static_cast<std::size_t>(n));
    REQUIRE(cudaMemcpy(h.data(), data, h.size() * sizeof(element), cudaMemcpyDeviceToHost));
    coalesce::exact_accumulator<element> whole, part;
    REQUIRE(coalesce::exact_sum(data, n, out));
    REQUIRE(whole.add(data + n / 3, n - n / 3));
    REQUIRE(part.add(data, n / 3));
    REQUIRE(whole.merge(part));
    REQUIRE(whole.sum(out + 1));
    fetch(2);
    const host_element expected = host::exact_sum(h.data(), h.size());
    expect(&got[0], expected, kinds[kind], n);
    expect(&got[1], expected, "merged", kind);
    coalesce::host::exact_accumulator<host_element> mine;
    mine.add(h.data(), h.size());
    coalesce::exact_accumulator<element>::total stored;
    REQUIRE(whole.store(stored));
    ++checks;
    if (std::memcmp(&stored, &mine.total(), sizeof(stored)) != 0) {
      ++wrong;
      std::printf("{\"wrong\": \"stored form\", \"type\": \"%s\", \"case\": \"%s\"}\n", type_name(), kinds[kind]);
    }
  }
  check_many();
  std::printf(
      "{\"part\": \"check\", \"type\": \"%s\", \"random arrays\": %ld, \"results compared\": %ld, \"wrong\": %ld}\n",
      type_name(), segments, checks, wrong);
  std::fflush(stdout);
}
#else
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
    else {
      std::fprintf(stderr, "error: no part '%s'\nhint: check [ARRAYS], flat, sustained, small, speed, errors, shapes\n",
                   part.c_str());
      return 2;
    }
  }
  return wrong > 0 ? 1 : 0;
}
