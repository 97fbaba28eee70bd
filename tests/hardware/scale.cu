// Measures the parts of docs/scale.md on a GPU: streamed exact sums beside plain copies of pinned memory, the exact sum
// alone and with coalesce::nccl::allreduce over one rank, the addition of many ranks' accumulators. Prints a JSON
// object a line; ends with 1 where bits differ.
//
//   nvcc -std=c++17 -O3 -arch=native -Iinclude tests/hardware/scale.cu -lnccl -o scale && ./scale streams && ./scale
//   nccl
#include <fcntl.h>
#include <nccl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <coalesce/exact.cuh>
#include <coalesce/nccl.cuh>
#include <coalesce/reduce.cuh>
#include <coalesce/streamed.cuh>
#include <cstdio>
#include <cstdlib>
#include <vector>
#define CHECK(c)                                                      \
  do {                                                                \
    const auto e_ = (c);                                              \
    if (e_ != cudaSuccess) {                                          \
      std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_)); \
      std::exit(1);                                                   \
    }                                                                 \
  } while (0)
#define OK(c)                                               \
  do {                                                      \
    const coalesce::status s_ = (c);                        \
    if (!s_) {                                              \
      std::printf("line %d: %s\n", __LINE__, s_.message()); \
      std::exit(1);                                         \
    }                                                       \
  } while (0)
using clk = std::chrono::steady_clock;
static double since(clk::time_point t) { return std::chrono::duration<double>(clk::now() - t).count(); }
static double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

template <class T>
static void streams(const char* name) {
  const std::int64_t bytes = std::int64_t{2} << 30, count = bytes / sizeof(T);
  T *pinned, *device, *out;
  CHECK(cudaHostAlloc(reinterpret_cast<void**>(&pinned), bytes, 0));
  CHECK(cudaMalloc(&device, bytes));
  CHECK(cudaMalloc(&out, sizeof(T)));
  std::uint64_t x = 88172645463325252ull;
  for (std::int64_t i = 0; i < count; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    pinned[i] = static_cast<T>(static_cast<double>(static_cast<std::int64_t>(x)) * ((x & 31) == 0 ? 1e3 : 1e-9));
  }
  std::vector<T> pageable(pinned, pinned + count);
  char path[] = "/tmp/c31-XXXXXX";
  const int file = mkstemp(path);
  unlink(path);
  std::int64_t written = 0;
  while (file >= 0 && written < bytes) {
    const ssize_t n =
        write(file, reinterpret_cast<char*>(pinned) + written, std::min<std::int64_t>(bytes - written, 1 << 28));
    if (n <= 0) break;
    written += n;
  }
  const T* mapped = written == bytes
                        ? static_cast<const T*>(mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0))
                        : nullptr;
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaMemcpy(device, pinned, bytes, cudaMemcpyHostToDevice));
  coalesce::exact_accumulator<T> whole;
  OK(whole.add(device, count, stream));
  OK(whole.sum(out, stream));
  T expected;
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemcpy(&expected, out, sizeof(T), cudaMemcpyDeviceToHost));
  const auto copy = [&] {
    const auto t = clk::now();
    CHECK(cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice, stream));
    CHECK(cudaStreamSynchronize(stream));
    return since(t);
  };
  const auto sum = [&](coalesce::streamed<T>& ring, const T* from, bool plain) {
    coalesce::exact_accumulator<T> total;
    T* partial;
    CHECK(cudaMalloc(&partial, 4096 * sizeof(T)));
    CHECK(cudaStreamSynchronize(stream));
    int piece_number = 0;
    const auto t = clk::now();
    OK(ring.run(
        from, count,
        [&](const T* p, std::int64_t n, std::int64_t, cudaStream_t s) {
          return plain ? coalesce::sum(p, n, partial + piece_number++, s) : total.add(p, n, s);
        },
        stream));
    if (!plain) OK(total.sum(out, stream));
    CHECK(cudaStreamSynchronize(stream));
    const double seconds = since(t);
    T got;
    CHECK(cudaMemcpy(&got, out, sizeof(T), cudaMemcpyDeviceToHost));
    if (!plain && memcmp(&got, &expected, sizeof(T)) != 0) {
      std::printf("wrong bits\n");
      std::exit(1);
    }
    CHECK(cudaFree(partial));
    return seconds;
  };
  for (const std::size_t mb : {4, 16, 64}) {
    for (const int pieces : {3, 4}) {
      coalesce::streamed<T> ring({mb << 20, pieces, 0});
      sum(ring, pinned, false);
      std::vector<double> copies, exact, plain;
      for (int i = 0; i < 7; ++i) {
        copies.push_back(copy());
        exact.push_back(sum(ring, pinned, false));
        plain.push_back(sum(ring, pinned, true));
      }
      std::printf(
          "{\"what\":\"pinned\",\"type\":\"%s\",\"piece_mib\":%zu,\"pieces\":%d,\"copy_gb_s\":%.3f,\"exact_gb_s\":%.3f,"
          "\"plain_gb_s\":%.3f,\"exact_of_copy\":%.4f,\"plain_of_copy\":%.4f}\n",
          name, mb, pieces, bytes / median(copies) / 1e9, bytes / median(exact) / 1e9, bytes / median(plain) / 1e9,
          median(copies) / median(exact), median(copies) / median(plain));
      std::fflush(stdout);
    }
  }
  for (const int threads : {1, 4, 8, 12}) {
    coalesce::streamed<T> ring({std::size_t{16} << 20, 4, threads});
    std::vector<double> copies, page, file_times;
    sum(ring, pageable.data(), false);
    for (int i = 0; i < 5; ++i) {
      copies.push_back(copy());
      page.push_back(sum(ring, pageable.data(), false));
      if (mapped) file_times.push_back(sum(ring, mapped, false));
    }
    std::printf(
        "{\"what\":\"pageable\",\"type\":\"%s\",\"threads\":%d,\"copy_gb_s\":%.3f,\"pageable_gb_s\":%.3f,\"mapped_gb_"
        "s\":%.3f}\n",
        name, threads, bytes / median(copies) / 1e9, bytes / median(page) / 1e9,
        mapped ? bytes / median(file_times) / 1e9 : 0.0);
    std::fflush(stdout);
  }
  CHECK(cudaFreeHost(pinned));
  CHECK(cudaFree(device));
}

template <class T>
static void nccl(const char* name, ncclComm_t comm) {
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  coalesce::nccl::gathering gathered;
  for (const std::int64_t count : {std::int64_t{1} << 10, std::int64_t{1} << 20, std::int64_t{1} << 26}) {
    std::vector<T> data(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i)
      data[static_cast<std::size_t>(i)] =
          static_cast<T>((i * 2654435761u) % 1000003) * static_cast<T>(i % 3 ? 1e-3 : -1e12);
    T *in, *out;
    CHECK(cudaMalloc(&in, count * sizeof(T)));
    CHECK(cudaMalloc(&out, 2 * sizeof(T)));
    CHECK(cudaMemcpy(in, data.data(), count * sizeof(T), cudaMemcpyHostToDevice));
    coalesce::exact_accumulator<T> local, shared;
    OK(local.add(in, count, stream));
    OK(local.sum(out, stream));
    OK(shared.add(in, count, stream));
    OK(coalesce::nccl::allreduce(shared, gathered, comm, stream));
    OK(shared.sum(out + 1, stream));
    T got[2];
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    const bool same = memcmp(&got[0], &got[1], sizeof(T)) == 0;
    const auto one = [&](coalesce::exact_accumulator<T>& a, bool with) {
      OK(a.add(in, count, stream));
      if (with) OK(coalesce::nccl::allreduce(a, gathered, comm, stream));
      OK(a.sum(out, stream));
    };
    const int n = 200;
    cudaGraphExec_t graphs[2];
    for (int with = 0; with < 2; ++with) {
      cudaGraph_t graph;
      CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
      for (int i = 0; i < 20; ++i) one(with ? shared : local, with);
      CHECK(cudaStreamEndCapture(stream, &graph));
      CHECK(cudaGraphInstantiate(&graphs[with], graph, 0));
    }
    std::vector<double> plain[2], graphed[2], host[2];
    for (int round = 0; round < 7; ++round) {
      for (int with = 0; with < 2; ++with) {
        cudaEvent_t a, b;
        CHECK(cudaEventCreate(&a));
        CHECK(cudaEventCreate(&b));
        float ms;
        CHECK(cudaEventRecord(a, stream));
        for (int i = 0; i < n; ++i) one(with ? shared : local, with);
        CHECK(cudaEventRecord(b, stream));
        CHECK(cudaEventSynchronize(b));
        CHECK(cudaEventElapsedTime(&ms, a, b));
        plain[with].push_back(ms * 1e3 / n);
        CHECK(cudaEventRecord(a, stream));
        for (int i = 0; i < n / 20; ++i) CHECK(cudaGraphLaunch(graphs[with], stream));
        CHECK(cudaEventRecord(b, stream));
        CHECK(cudaEventSynchronize(b));
        CHECK(cudaEventElapsedTime(&ms, a, b));
        graphed[with].push_back(ms * 1e3 / n);
        const auto t = clk::now();
        for (int i = 0; i < 50; ++i) {
          one(with ? shared : local, with);
          CHECK(cudaStreamSynchronize(stream));
        }
        host[with].push_back(since(t) * 1e6 / 50);
      }
    }
    std::printf(
        "{\"what\":\"nccl\",\"type\":\"%s\",\"count\":%lld,\"same\":%s,\"local_us\":%.2f,\"nccl_us\":%.2f,\"graph_"
        "local_us\":%.2f,\"graph_nccl_us\":%.2f,\"wait_local_us\":%.2f,\"wait_nccl_us\":%.2f}\n",
        name, static_cast<long long>(count), same ? "true" : "false", median(plain[0]), median(plain[1]),
        median(graphed[0]), median(graphed[1]), median(host[0]), median(host[1]));
    std::fflush(stdout);
    CHECK(cudaFree(in));
  }
}

template <class T>
static void fold(const char* name) {
  using sum_of = coalesce::exact_accumulator<T>;
  using total = typename sum_of::total;
  sum_of whole, part;
  T* x;
  CHECK(cudaMalloc(&x, 1000 * sizeof(T)));
  std::vector<T> h(1000);
  for (int i = 0; i < 1000; ++i) h[i] = static_cast<T>((i * 7919) % 1009) * static_cast<T>(i % 2 ? 1e-9 : -1e9);
  CHECK(cudaMemcpy(x, h.data(), 1000 * sizeof(T), cudaMemcpyHostToDevice));
  part.add(x, 1000);
  for (const int ranks : {1, 8, 64, 256, 1024}) {
    total one, empty;
    part.store(one);
    std::vector<total> all(ranks, one);
    total* d;
    CHECK(cudaMalloc(&d, ranks * sizeof(total)));
    CHECK(cudaMemcpy(d, all.data(), ranks * sizeof(total), cudaMemcpyHostToDevice));
    total expected = one;
    for (int i = 1; i < ranks; ++i) coalesce::exact::merge(expected, one);
    total got;
    coalesce::nccl::detail::start_fold(whole.data(), d, ranks, nullptr);
    whole.store(got);
    const bool same = !std::memcmp(&got, &expected, sizeof got);
    cudaEvent_t a, b;
    cudaEventCreate(&a);
    cudaEventCreate(&b);
    std::vector<float> t;
    for (int r = 0; r < 9; ++r) {
      cudaEventRecord(a);
      for (int i = 0; i < 200; ++i) coalesce::nccl::detail::start_fold(whole.data(), d, ranks, nullptr);
      cudaEventRecord(b);
      CHECK(cudaEventSynchronize(b));
      float ms;
      cudaEventElapsedTime(&ms, a, b);
      t.push_back(ms * 5);
    }
    std::sort(t.begin(), t.end());
    std::printf("{\"what\":\"fold\",\"type\":\"%s\",\"ranks\":%d,\"same\":%s,\"us\":%.2f}\n", name, ranks,
                same ? "true" : "false", t[4]);
  }
}
int main(int, char** words) {
  cudaDeviceProp p;
  CHECK(cudaGetDeviceProperties(&p, 0));
  std::printf("{\"what\":\"device\",\"name\":\"%s\"}\n", p.name);
  if (!words[1]) return std::puts("usage: scale streams|nccl"), 2;
  if (words[1][0] == 's') {
    streams<float>("float");
    streams<double>("double");
    return 0;
  }
  ncclUniqueId id;
  ncclComm_t comm;
  int version = 0;
  ncclGetVersion(&version);
  if (ncclGetUniqueId(&id) != ncclSuccess || ncclCommInitRank(&comm, 1, id, 0) != ncclSuccess) {
    std::puts("no communicator");
    return 1;
  }
  std::printf("{\"what\":\"nccl_version\",\"version\":%d}\n", version);
  nccl<float>("float", comm);
  nccl<double>("double", comm);
  fold<float>("float");
  fold<double>("double");
  ncclCommDestroy(comm);
}
