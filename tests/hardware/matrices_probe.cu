// The tensor cores' results for random and special numbers (matrices.h), and the rule of machine/execute/ops/tensor.h
// beside them, bit by bit.
//   c++ -std=c++20 -O2 -I. -c machine/execute/ops/tensor.cpp machine/isa/matrix.cpp
//   nvcc -std=c++20 -arch=sm_90a -O2 -I. -o matrices_probe tests/hardware/matrices_probe.cu tensor.o matrix.o -lcuda
//   matrices_probe ptx > forms.ptx; ptxas -arch=sm_90a forms.ptx -o forms.cubin
//   matrices_probe run forms.cubin FOLDER TILES SECONDS FIRST LAST [FROM]    of those forms the first results, a digest
//                                    of every chunk, and how many sums of tiles FROM and later differ from the rule's
//   matrices_probe descriptors forms.cubin FOLDER          one wgmma for each of many descriptors
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "matrices_rule.h"

using namespace matrices;

#define CHECK(call)                                                                \
  if (auto e = (call); e != 0) {                                                   \
    std::printf("%s: error %d (line %d)\n", #call, static_cast<int>(e), __LINE__); \
    std::exit(1);                                                                  \
  }

constexpr uint32_t kChunk = 16384;

struct Sizes {
  Cell a, b, c;
  uint32_t words_a, words_b, words_c, words;
};
__global__ void fill(Sizes s, uint32_t first, uint32_t* to) {
  const uint32_t tile = blockIdx.x;
  for (uint32_t w = threadIdx.x; w < s.words; w += blockDim.x)
    to[size_t{tile} * s.words + w] = word_of(s.a, s.b, s.c, s.words_a, s.words_b, s.words_c, first + tile, w);
}
__global__ void add_up(const uint32_t* words, uint64_t n, unsigned long long* sum) {
  uint64_t mine = 0;
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < n; i += uint64_t{gridDim.x} * blockDim.x)
    mine += digest(i, words[i]);
  atomicAdd(sum, mine);
}

uint32_t differences(const Form& f, const uint32_t* in, const uint32_t* out, uint32_t tile, uint32_t* printed) {
  const std::vector<uint32_t> rule = by_rule(f, in);
  if (std::memcmp(rule.data(), out, 4 * rule.size()) == 0) return 0;
  if (f.quads) {
    uint32_t wrong = 0;
    for (uint32_t w = 0; w < f.words_d; ++w) {
      if (rule[w] != out[w] && (*printed)++ < 12)
        std::printf("  tile %u word %u: device %x rule %x\n", tile, w, out[w], rule[w]);
      wrong += rule[w] != out[w];
    }
    return wrong;
  }
  const Tile t = tile_of(f, in);
  uint32_t wrong = 0;
  each_sum(f.m, f.n, f.d, f.lanes, [&](uint32_t row, uint32_t column, size_t word, uint32_t bit) {
    const uint64_t got = bits_at(out, f.d, word, bit), want = bits_at(rule.data(), f.d, word, bit);
    if (got == want) return;
    ++wrong;
    if ((*printed)++ >= 12) return;
    std::printf("  tile %u sum %u, %u: device %llx rule %llx addend %llx:", tile, row, column, (unsigned long long)got,
                (unsigned long long)want, (unsigned long long)t.c[row * f.n + column]);
    for (uint32_t k = 0; k < t.lefts; ++k)
      std::printf(" %llx*%llx", (unsigned long long)t.a[row * t.lefts + k],
                  (unsigned long long)t.b[column * f.k + (t.columns.empty() ? k : t.columns[row * t.lefts + k])]);
    std::printf("\n");
  });
  return wrong;
}

// ---- Descriptors

void descriptors(CUmodule module, const std::string& folder, bool short_list) {
  std::vector<uint32_t> words(kSharedBytes / 4);
  for (uint32_t w = 0; w < words.size(); ++w) words[w] = shared_word(w);
  CUdeviceptr in, out;
  CHECK(cuMemAlloc(&in, kSharedBytes));
  CHECK(cuMemAlloc(&out, 32768));
  CHECK(cuMemcpyHtoD(in, words.data(), kSharedBytes));
  std::FILE* file = short_list ? nullptr : std::fopen((folder + "/descriptors.bin").c_str(), "wb");
  std::FILE* truth = std::fopen((folder + "/truth_descriptors.txt").c_str(), "w");
  const uint32_t offsets[][2] = {{128, 256}, {256, 128},  {1024, 2048}, {2048, 1024},
                                 {16, 1024}, {8192, 512}, {4096, 256}};
  uint64_t count = 0;
  for (uint64_t turned = 0; turned < 4; ++turned) {
    CUfunction f;
    CHECK(cuModuleGetFunction(&f, module,
                              (std::string("described_") + char('0' + turned / 2) + char('0' + turned % 2)).c_str()));
    CHECK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kSharedBytes));
    for (uint64_t swizzle = 0; swizzle < 4; ++swizzle)
      for (const auto& o : offsets)
        for (uint64_t start : {0u, 32u, 128u, 384u})
          for (uint64_t base = 0; base < 2; ++base) {
            if (base && (start != 128 || swizzle == 0)) continue;
            if (short_list && !((o[0] == 16 || o[0] == 128) && start == 0)) continue;
            uint64_t a =
                start >> 4 | uint64_t{o[0] >> 4} << 16 | uint64_t{o[1] >> 4} << 32 | base << 49 | swizzle << 62;
            uint64_t b = a + (16384 >> 4);
            void* args[] = {&in, &out, &a, &b};
            CHECK(cuLaunchKernel(f, 1, 1, 1, 128, 1, 1, kSharedBytes, 0, args, 0));
            std::vector<float> got(8192);
            CHECK(cuMemcpyDtoH(got.data(), out, 32768));
            if (!file) continue;
            uint64_t sum = 0;
            for (uint32_t i = 0; i < 8192; ++i) sum += digest(i, std::bit_cast<uint32_t>(got[i]));
            std::fprintf(truth, "%016llx descriptor %016llx %llu\n", (unsigned long long)sum, (unsigned long long)a,
                         (unsigned long long)turned);
            std::vector<int16_t> small(got.begin(), got.end());
            const uint64_t head[2] = {a, turned};
            std::fwrite(head, 8, 2, file);
            std::fwrite(small.data(), 2, small.size(), file);
            ++count;
          }
  }
  if (file) std::fclose(file);
  std::fclose(truth);
  std::printf("descriptors: %llu\n", (unsigned long long)count);
}

// Forms first to last.
void compare(CUmodule module, const std::string& folder, uint32_t tiles, double seconds, size_t first_form,
             size_t last_form, uint32_t from) {
  const std::vector<Form> all = forms();
  const std::string number = std::to_string(first_form);
  std::FILE* kept = std::fopen((folder + "/results" + number + ".bin").c_str(), "wb");
  std::FILE* truth = std::fopen((folder + "/truth" + number + ".txt").c_str(), "w");
  std::FILE* digests = std::fopen((folder + "/digests" + number + ".txt").c_str(), "w");
  CUdeviceptr in, out, sum;
  CHECK(cuMemAlloc(&in, size_t{4} * kChunk * 1600));
  CHECK(cuMemAlloc(&out, size_t{4} * kChunk * 1024));
  CHECK(cuMemAlloc(&sum, 8));
  std::vector<uint32_t> host_in, host_out;
  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  for (size_t i = first_form; i < std::min(last_form, all.size()); ++i) {
    const Form& f = all[i];
    CUfunction function;
    CHECK(cuModuleGetFunction(&function, module, entry_of(i).c_str()));
    const double until = seconds * (i + 1 - first_form) / (last_form - first_form);
    const Sizes s{f.a, f.b, f.c, f.words_a, f.words_b, f.words_c, f.words()};
    std::fprintf(digests, "%s\n", label(f).c_str());
    uint64_t compared = 0;
    std::atomic<uint64_t> wrong{0};
    uint32_t printed = 0;
    std::atomic<uint64_t> by_family[8] = {};
    for (uint32_t first = 0; first < tiles; first += kChunk) {
      fill<<<kChunk, 128>>>(s, first, reinterpret_cast<uint32_t*>(in));
      void* args[] = {&in, &out};
      CHECK(cuLaunchKernel(function, f.lanes == 128 ? kChunk : kChunk / 4, 1, 1, 128, 1, 1, 0, 0, args, 0));
      CHECK(cuMemsetD8(sum, 0, 8));
      add_up<<<256, 256>>>(reinterpret_cast<uint32_t*>(out), uint64_t{kChunk} * f.words_d,
                           reinterpret_cast<unsigned long long*>(sum));
      unsigned long long total = 0;
      CHECK(cuMemcpyDtoH(&total, sum, 8));
      std::fprintf(digests, "%016llx\n", total);
      const bool judge = first >= from && (elapsed() < until || (first == 0 && seconds > 0));
      if (first && !judge) continue;
      host_out.resize(size_t{kChunk} * f.words_d);
      CHECK(cuMemcpyDtoH(host_out.data(), out, 4 * host_out.size()));
      if (first == 0) {
        std::fwrite(host_out.data(), 4, size_t{kKept} * f.words_d, kept);
        uint64_t by_family[8] = {};
        for (uint64_t i = 0; i < uint64_t{kKept} * f.words_d; ++i)
          by_family[i / f.words_d & 7] += digest(i, host_out[i]);
        for (const uint64_t d : by_family) std::fprintf(truth, "%016llx ", (unsigned long long)d);
        std::fprintf(truth, "%s\n", label(f).c_str());
      }
      if (!judge) continue;
      host_in.resize(size_t{kChunk} * s.words);
      CHECK(cuMemcpyDtoH(host_in.data(), in, 4 * host_in.size()));
      if (first == 0)
        for (uint32_t w = 0; w < s.words * 64; ++w)
          if (host_in[w] != word_of(f, w / s.words, w % s.words))
            std::printf("host and device make different numbers\n"), std::exit(1);
      std::vector<std::thread> threads;
      const uint32_t n = std::max(1u, std::thread::hardware_concurrency());
      for (uint32_t t = 0; t < n; ++t)
        threads.emplace_back([&, t] {
          uint32_t quiet = 1000, *print = t == 0 && first == 0 ? &printed : &quiet;
          for (uint32_t tile = t; tile < kChunk; tile += n) {
            const uint32_t w = differences(f, host_in.data() + size_t{tile} * s.words,
                                           host_out.data() + size_t{tile} * f.words_d, first + tile, print);
            wrong += w, by_family[tile & 7] += w;
          }
        });
      for (std::thread& t : threads) t.join();
      compared += kChunk;
    }
    std::printf("%s: %llu tiles compared, %llu sums differ, by family", label(f).c_str(), (unsigned long long)compared,
                (unsigned long long)wrong.load());
    for (const auto& b : by_family) std::printf(" %llu", (unsigned long long)b.load());
    std::printf("\n");
    std::fflush(stdout);
  }
  std::fclose(kept);
  std::fclose(digests);
  std::fclose(truth);
}

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "ptx") {
    const std::vector<Form> all = forms();
    std::string t = module_header();
    for (size_t i = 0; i < all.size(); ++i) t += "// " + all[i].name + "\n" + kernel(all[i], entry_of(i));
    for (uint32_t k = 0; k < 4; ++k) t += described(k / 2, k % 2);
    std::fputs(t.c_str(), stdout);
    return 0;
  }
  if (argc < 4) return 2;
  CHECK(cudaFree(0));
  CUmodule module;
  CHECK(cuModuleLoad(&module, argv[2]));
  const auto number = [&](int i) { return std::strtoul(argv[i], nullptr, 10); };
  if (what == "run" && argc > 7)
    compare(module, argv[3], number(4), std::strtod(argv[5], nullptr), number(6), number(7), argc > 8 ? number(8) : 0);
  else
    descriptors(module, argv[3], what == "few_descriptors");
  return 0;
}
