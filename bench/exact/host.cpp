// Exact sums on the CPU: GB/s beside a plain vectorised loop and std::accumulate, with 1 and 2 threads. Lines of JSON.
// Times are the least of several, once by the clock and once by the processor time used: on a computer that others use
// too, the second is steadier.
#include <chrono>
#include <cmath>
#include <coalesce/host/exact.hpp>
#include <cstdio>
#include <ctime>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

double processor_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

volatile double sink;

void measure(const char* what, const char* type, const char* data, double bytes, const std::function<double()>& call) {
  double clock = 1e9, processor = 1e9;
  for (int i = 0; i < 7; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const double used = processor_seconds();
    sink = call();
    processor = std::min(processor, processor_seconds() - used);
    clock = std::min(clock, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::printf(
      "{\"part\": \"host\", \"what\": \"%s\", \"type\": \"%s\", \"case\": \"%s\", \"GB/s\": %.2f, \"GB per processor "
      "second\": %.2f}\n",
      what, type, data, bytes / clock * 1e-9, bytes / processor * 1e-9);
  std::fflush(stdout);
}

// A loop that compilers vectorise: as many running sums as cover the latency of an addition.
template <class T>
double vector_loop(const std::vector<T>& x) {
  constexpr std::size_t lanes = 256 / sizeof(T);
  T sums[lanes] = {};
  for (std::size_t i = 0; i + lanes <= x.size(); i += lanes) {
    for (std::size_t l = 0; l < lanes; ++l) sums[l] += x[i + l];
  }
  return static_cast<double>(std::accumulate(sums, sums + lanes, T(0)));
}

template <class T>
void of_type(const char* type) {
  const std::size_t n = (std::size_t(256) << 20) / sizeof(T);
  std::mt19937_64 random(1);
  std::vector<T> x(n);
  for (const std::string kind : {"normal", "wide"}) {
    std::normal_distribution<T> normal;
    for (T& v : x)
      v = kind == "normal"
              ? normal(random)
              : std::ldexp(static_cast<T>(1 + (random() >> 11) * 0x1p-53), static_cast<int>(random() % 120) - 60);
    const double bytes = static_cast<double>(n * sizeof(T));
    if (kind == "normal") {
      measure("std::accumulate", type, kind.c_str(), bytes,
              [&] { return static_cast<double>(std::accumulate(x.begin(), x.end(), T(0))); });
      measure("vectorised loop", type, kind.c_str(), bytes, [&] { return vector_loop(x); });
    }
    measure("exact_sum, 1 thread", type, kind.c_str(), bytes,
            [&] { return static_cast<double>(coalesce::host::exact_sum(x.data(), n, 1)); });
    measure("exact_sum, 2 threads", type, kind.c_str(), bytes,
            [&] { return static_cast<double>(coalesce::host::exact_sum(x.data(), n, 2)); });
    measure("exact_dot, 1 thread", type, kind.c_str(), 2 * bytes,
            [&] { return static_cast<double>(coalesce::host::exact_dot(x.data(), x.data(), n, 1)); });
  }
}

}  // namespace

int main() {
  of_type<float>("float");
  of_type<double>("double");
}
