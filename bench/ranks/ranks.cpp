// Measures what bench/ranks/ranks.py reports. Prints a JSON object a line:
//   ranks read FILE THREADS WAY   bytes a second of a file in the page cache, looked at once: the floor of its sum. WAY
//   is
//                             copied (256 KiB a call) or mapped (2 MiB a call, read in place)
//   ranks steps               with mpirun: coalesce::mpi::allreduce beside MPI_Allreduce of as many bytes
//   ranks sums                with mpirun: the sum of the same floats over the ranks, by MPI_SUM and exactly
//   ranks beside              one thread's sums of floats: ours, and ReproBLAS's where its header and library are
//   ranks normal FILE GIB     writes floats of a normal distribution
//   ranks wide FILE GIB       writes the floats of `sums`: magnitudes from 1 to 2^63
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <coalesce/mpi.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <random>
#include <thread>
#include <vector>

// Built of its .ccog files, copied to .c, as they hold the C code: -I.../include, and the archive of src/binned,
// src/binnedBLAS/{smssum,sbssum,samax,samaxm} and src/reproBLAS/{ssum,rssum}.
#if __has_include(<reproBLAS.h>)
extern "C" {
#include <reproBLAS.h>
}
#endif

namespace {

constexpr int populate_read = 22;  // MADV_POPULATE_READ, which older headers lack

int rank, size;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Each thread copies blocks from the page cache, to whole pages, or maps them, and takes the exclusive or of their
// words.
int read_file(const char* path, unsigned threads, bool mapped) {
  const std::size_t block = mapped ? 2 << 20 : 256 << 10;
  const int file = open(path, O_RDONLY);
  struct stat status{};
  if (file < 0 || fstat(file, &status) != 0) return std::perror(path), 1;
  const auto bytes = static_cast<std::size_t>(status.st_size);
  char* const mapping = static_cast<char*>(mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0));
  if (mapping == MAP_FAILED) return std::perror(path), 1;
  std::vector<double> seconds;
  std::atomic<std::uint64_t> seen{0};
  std::atomic<bool> right{true};
  for (int round = 0; round < 3; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    std::atomic<std::size_t> next{0};
    const auto run = [&] {
      const std::unique_ptr<std::uint64_t, decltype(&std::free)> buffer(
          static_cast<std::uint64_t*>(std::aligned_alloc(4096, block)), &std::free);
      std::uint64_t all = 0;
      for (std::size_t at = next.fetch_add(block); at < bytes; at = next.fetch_add(block)) {
        const std::size_t length = std::min(block, bytes - at);
        const std::uint64_t* words = buffer.get();
        if (mapped) {
          words = reinterpret_cast<const std::uint64_t*>(mapping + at);
          if (madvise(mapping + at, length, populate_read) != 0) right = false;
        } else if (pread(file, buffer.get(), length, static_cast<off_t>(at)) != static_cast<ssize_t>(length)) {
          right = false;
        }
        for (std::size_t i = 0; i < length / 8; ++i) all ^= words[i];
        if (mapped) madvise(mapping + at, length, MADV_DONTNEED);
      }
      seen ^= all;
    };
    std::vector<std::thread> running;
    for (unsigned i = 1; i < threads; ++i) running.emplace_back(run);
    run();
    for (std::thread& one : running) one.join();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  munmap(mapping, bytes);
  std::printf("{\"what\":\"read\",\"way\":\"%s\",\"threads\":%u,\"seconds\":%.5f,\"bytes\":%zu,\"seen\":%llu}\n",
              mapped ? "mapped" : "copied", threads, median(seconds), bytes, static_cast<unsigned long long>(seen));
  return right ? 0 : 1;
}

std::vector<float> normal_values() {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(1 << 24);
  for (float& value : values) value = normal(random);
  return values;
}

// 2^24 floats m x 2^e with |m| < 2^24 and 0 <= e < 40. They sum to less than 2^88, so __int128 is an oracle that shares
// nothing with the library.
std::vector<float> wide_values(__int128& exact) {
  std::vector<float> values(1 << 24);
  exact = 0;
  std::uint64_t x = 88172645463325252ull;
  for (float& value : values) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    const std::int64_t whole =
        (static_cast<std::int64_t>(x & 0xffffff) - 0x7fffff) * (std::int64_t{1} << (x >> 24) % 40);
    value = static_cast<float>(whole);
    exact += whole;
  }
  return values;
}

// The values again and again.
int write_file(const char* path, int gib, const std::vector<float>& values) {
  FILE* const file = std::fopen(path, "wb");
  bool right = file != nullptr;
  for (int i = 0; i < 16 * gib && right; ++i)
    right = std::fwrite(values.data(), sizeof(float), values.size(), file) == values.size();
  if (file != nullptr) right = std::fclose(file) == 0 && right;
  return right ? 0 : (std::perror(path), 1);
}

// Microseconds of a call on a rank, without what makes it ready: the median over rounds and the least.
struct taken {
  double median, least;
};

// Both calls in turn, so that they meet the same machine.
template <class Ready, class One, class Other>
std::pair<taken, taken> microseconds(int calls, Ready ready, One one, Other other) {
  std::vector<double> rounds[2];
  const auto round = [&](auto call, std::vector<double>& to) {
    double seconds = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < calls; ++i) {
      ready();
      const double begin = MPI_Wtime();
      call();
      seconds += MPI_Wtime() - begin;
    }
    to.push_back(seconds / calls * 1e6);
  };
  for (int i = 0; i < 41; ++i) round(one, rounds[0]), round(other, rounds[1]);
  const auto of = [](std::vector<double>& r) { return taken{median(r), *std::min_element(r.begin(), r.end())}; };
  return {of(rounds[0]), of(rounds[1])};
}

// Both work in place on the same memory, which is made ready before each call: sums would grow.
template <class T>
void steps(const char* name, int count) {
  using sum_of = coalesce::host::exact_accumulator<T>;
  sum_of one;
  one.add(static_cast<T>(1e-3 * (rank + 1)));
  std::vector<sum_of> sums(static_cast<std::size_t>(count));
  const std::size_t bytes = sums.size() * sum_of::stored_bytes;
  static_assert(sizeof(sum_of) == sum_of::stored_bytes, "as many bytes for MPI_Allreduce");
  const auto [plain, ours] = microseconds(
      count > 1000 ? 10 : 1000, [&] { std::fill(sums.begin(), sums.end(), one); },
      [&] { MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(bytes), MPI_BYTE, MPI_BOR, MPI_COMM_WORLD); },
      [&] { coalesce::mpi::allreduce(sums.data(), count, MPI_COMM_WORLD); });
  if (rank == 0)
    std::printf(
        "{\"what\":\"step\",\"type\":\"%s\",\"count\":%d,\"ranks\":%d,\"bytes\":%zu,\"mpi_us\":%.2f,\"us\":%.2f,"
        "\"mpi_least_us\":%.2f,\"least_us\":%.2f}\n",
        name, count, size, bytes, plain.median, ours.median, plain.least, ours.least);
}

void sums() {
  __int128 exact = 0;
  const std::vector<float> values = wide_values(exact);
  const std::size_t begin = values.size() * rank / size, end = values.size() * (rank + 1) / size;
  float mine = 0, plain = 0;
  for (std::size_t i = begin; i < end; ++i) mine += values[i];
  MPI_Allreduce(&mine, &plain, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  coalesce::host::exact_accumulator<float> sum;
  sum.add(values.data() + begin, end - begin, 1);
  coalesce::mpi::allreduce(&sum, 1, MPI_COMM_WORLD);
  if (rank != 0) return;
  for (const auto& [name, value] : {std::pair{"MPI_SUM", plain}, std::pair{"coalesce", sum.sum()}}) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    const double error =
        std::fabs(static_cast<double>((static_cast<__int128>(value) - exact)) / static_cast<double>(exact));
    std::printf("{\"what\":\"sum\",\"method\":\"%s\",\"ranks\":%d,\"bits\":\"%08x\",\"relative_error\":%.3e}\n", name,
                size, bits, error);
  }
  if (FILE* file = std::fopen("values.f32", "wb")) {  // for NumPy
    std::fwrite(values.data(), sizeof(float), values.size(), file);
    std::fclose(file);
    std::printf("{\"what\":\"exact\",\"value\":%.17g}\n", static_cast<double>(exact));
  }
}

template <class Sum>
void print_sum(const char* method, const char* kind, const std::vector<float>& values, Sum sum) {
  std::vector<double> seconds;
  float result = 0;
  for (int round = 0; round < 9; ++round) {
    timespec begin, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    result = sum(values.data(), values.size());
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    seconds.push_back(static_cast<double>(end.tv_sec - begin.tv_sec) +
                      1e-9 * static_cast<double>(end.tv_nsec - begin.tv_nsec));
  }
  std::uint32_t bits;
  std::memcpy(&bits, &result, sizeof(bits));
  std::printf(
      "{\"what\":\"beside\",\"method\":\"%s\",\"kind\":\"%s\",\"bits\":\"%08x\",\"seconds\":%.6f,\"bytes\":%zu}\n",
      method, kind, bits, median(seconds), values.size() * sizeof(float));
}

void beside() {
  __int128 ignored = 0;
  for (const auto& [kind, values] : {std::pair{"normal", normal_values()}, std::pair{"wide", wide_values(ignored)}}) {
    print_sum("coalesce", kind, values, [](const float* x, std::size_t count) {
      coalesce::host::exact_accumulator<float> sum;
      sum.add(x, count, 1);
      return sum.sum();
    });
#if __has_include(<reproBLAS.h>)
    print_sum("ReproBLAS", kind, values,
              [](const float* x, std::size_t count) { return reproBLAS_ssum(static_cast<int>(count), x, 1); });
#endif
  }
}

}  // namespace

int main(int count, char** words) {
  if (count == 5 && std::strcmp(words[1], "read") == 0)
    return read_file(words[2], std::atoi(words[3]), std::strcmp(words[4], "mapped") == 0);
  if (count == 2 && std::strcmp(words[1], "beside") == 0) return beside(), 0;
  __int128 ignored = 0;
  if (count == 4 && std::strcmp(words[1], "normal") == 0)
    return write_file(words[2], std::atoi(words[3]), normal_values());
  if (count == 4 && std::strcmp(words[1], "wide") == 0)
    return write_file(words[2], std::atoi(words[3]), wide_values(ignored));
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (count == 2 && std::strcmp(words[1], "steps") == 0) {
    for (const int n : {1, 16, 1024, 16384}) steps<float>("float", n);
    for (const int n : {1, 1024}) steps<double>("double", n);
  } else if (count == 2 && std::strcmp(words[1], "sums") == 0) {
    sums();
  } else if (rank == 0) {
    std::fprintf(stderr,
                 "usage: ranks read FILE THREADS copied|mapped | ranks normal|wide FILE GIB | ranks beside | mpirun "
                 "-np N ranks steps|sums\n");
  }
  MPI_Finalize();
}
