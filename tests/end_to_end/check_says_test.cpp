// `coalesce check`'s words: the remedy is wide enough, the right thread is named, what is left out is said, and what
// is dropped or asserted is no hazard. One compilation; each mistake is a kernel of one program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/end_to_end/command.h"

namespace coalesce::end_to_end {
namespace {

using nlohmann::json;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kKernels = R"(#include <cassert>
#include <cstring>
__global__ void within_a_warp(int* out) {
  __shared__ int box[32];
  box[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = box[31 - threadIdx.x];
}
__global__ void lanes_first(int* out) {  // lanes of a warp meet, later whole warps: at one line
  __shared__ int box[64];
  box[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = box[threadIdx.x ^ 1] + box[threadIdx.x ^ 32];
}
__global__ void warp_one_skips(int* out) {
  if (threadIdx.x / 32 != 1) __syncthreads();
  out[threadIdx.x] = 1;
}
__global__ void warp_zero_skips(int* out) {
  if (threadIdx.x / 32 != 0) __syncthreads();
  out[threadIdx.x] = 1;
}
__global__ void lane_13_skips(int* out) {
  if (threadIdx.x != 45) __syncthreads();
  out[threadIdx.x] = 1;
}
__global__ void many_places(int* out) {
  __shared__ volatile int box[256];
#pragma unroll
  for (int k = 0; k < 256; ++k) box[k] = threadIdx.x + k;
  out[threadIdx.x] = box[threadIdx.x];
}
__global__ void dropped(int* out) {  // own[4] to own[7] are read and not used
  int own[8];
  for (int k = 0; k < out[255]; ++k) own[k] = k;
  const int value = own[threadIdx.x % 8];
  out[threadIdx.x] = threadIdx.x % 8 < out[255] ? value : -1;
}
__global__ void used(int* out) {
  int own[8];
  for (int k = 0; k < out[255]; ++k) own[k] = k;
  out[threadIdx.x] = own[threadIdx.x % 8];
}
__global__ void through_shared(int* out) {  // half of raw is unwritten
  __shared__ int raw[64], copy[64];
  if (threadIdx.x >= 32) raw[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  copy[threadIdx.x ^ 1] = raw[threadIdx.x];
  __syncthreads();
  if (copy[threadIdx.x] == 7) out[threadIdx.x] = 2;
}
__global__ void asserts(int* out) { assert(out[threadIdx.x] == 5); }
__global__ void unknown(int*) { asm volatile("mbarrier.no_such_form.b64 %0;" ::"r"(0)); }

int main(int argc, char** argv) {
  int* out;
  cudaMalloc(&out, 1024);
  int host[256] = {};
  host[255] = 4;
  cudaMemcpy(out, host, 1024, cudaMemcpyHostToDevice);
  const struct {
    const char* name;
    void (*kernel)(int*);
    int threads;
  } all[] = {
#define K(name, threads) {#name, name, threads}
      K(within_a_warp, 32), K(lanes_first, 64), K(warp_one_skips, 96), K(warp_zero_skips, 96), K(lane_13_skips, 64),
      K(many_places, 64), K(dropped, 32), K(used, 32), K(through_shared, 64), K(asserts, 32), K(unknown, 32)};
  for (const auto& c : all)
    if (argc > 1 && std::strcmp(argv[1], c.name) == 0) c.kernel<<<1, c.threads>>>(out);
  cudaDeviceSynchronize();
  cudaFree(out);
}
)";

struct Said {
  Said(const Workplace& here, const std::string& kernel, const std::vector<std::string>& options = {}) {
    std::vector<std::string> words = {kCommand, "check", "--json", "found", "--compiler", "clang"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {here.write("says.cu", kKernels).string(), kernel});
    const Result result = here.call(words);
    code = result.code;
    text = result.err;
    all = here.json("found");
  }
  json only() const {
    EXPECT_EQ(all["findings"].size(), 1u) << text;
    return all["findings"].empty() ? json::object() : all["findings"][0];
  }
  int code;
  std::string text;
  json all;
};

TEST(CheckSays, TheRemedyThatTheWidestPairNeeds) {
  const Workplace here;
  const Said within(here, "within_a_warp"), lanes(here, "lanes_first");
  EXPECT_THAT(within.text, HasSubstr("__syncwarp() has to come between them"));
  EXPECT_THAT(within.text, Not(HasSubstr("__syncthreads()")));
  for (const std::vector<std::string>& options : {std::vector<std::string>{}, {"-X", "-g0"}}) {
    const Said widest(here, "lanes_first", options);
    EXPECT_THAT(widest.text, HasSubstr("__syncthreads() has to come between them"));
    EXPECT_THAT(widest.text, Not(HasSubstr("__syncwarp()")));
    EXPECT_EQ(widest.only()["count"], 128) << "64 pairs of lanes, 64 of warps";
    EXPECT_EQ(widest.only()["line"].is_null(), !options.empty());
  }
}

TEST(CheckSays, WhoWaitsAtABarrierAndWhoIsNotThere) {
  const Workplace here;
  const auto thread = [](const json& f) { return f["thread"][0].get<int>(); };
  const json one = Said(here, "warp_one_skips").only(), zero = Said(here, "warp_zero_skips").only(),
             lane = Said(here, "lane_13_skips").only();
  for (const json& f : {one, zero, lane}) EXPECT_EQ(f["kind"], "divergent_barrier");
  EXPECT_NE(thread(one) / 32, 1);
  EXPECT_THAT(one.dump(), HasSubstr("warp 1 of the block has gone past it"));
  EXPECT_NE(thread(zero) / 32, 0);
  EXPECT_THAT(zero.dump(), HasSubstr("warp 0 of the block has gone past it"));
  EXPECT_EQ(thread(lane) / 32, 1);
  EXPECT_THAT(lane.dump(), HasSubstr("thread (45, 0, 0) is not there"));
  EXPECT_THAT(Said(here, "lane_13_skips").text, HasSubstr(": error: barrier reached by some lanes"));
}

TEST(CheckSays, WhereAnUndefinedValueComesFromThatSharedMemoryHasHeld) {
  const Workplace here;
  const Said said(here, "through_shared");
  EXPECT_EQ(said.only()["kind"], "uninitialised");
  EXPECT_THAT(said.text, HasSubstr("of shared memory 'raw'"));
  EXPECT_THAT(said.text, Not(HasSubstr("shared memory 'copy'")));
  EXPECT_THAT(said.text, HasSubstr("copy[threadIdx.x ^ 1] = raw[threadIdx.x];")) << "the read";
}

TEST(CheckSays, WhatIsBeyondTwoHundredPlaces) {
  const Workplace here;
  const Said many(here, "many_places");
  EXPECT_EQ(many.code, 4);
  EXPECT_THAT(many.text, HasSubstr("more than 200 places of this launch have hazards"));
  EXPECT_EQ(many.all["complete"], false);
  EXPECT_EQ(many.all["findings"].size(), 1u) << "one line";
  // Without lines one mistake is one finding, too, which says what it stands for.
  const Said bare(here, "many_places", {"-X", "-g0"});
  EXPECT_THAT(bare.all["findings"].size(), testing::Le(2u));
  EXPECT_THAT(bare.text, HasSubstr("pairs of PTX lines; a program compiled with -lineinfo tells them apart"));
}

TEST(CheckSays, NothingOfAValueThatIsDropped) {
  const Workplace here;
  const Said dropped(here, "dropped"), used(here, "used");
  EXPECT_EQ(dropped.code, 0) << dropped.text;
  EXPECT_EQ(dropped.all["complete"], true);
  EXPECT_EQ(used.code, 4);
  EXPECT_EQ(used.only()["kind"], "uninitialised");
}

TEST(CheckSays, ThatWhatStoppedWasNotChecked) {
  const Workplace here;
  for (const char* kernel : {"asserts", "unknown"}) {
    const Said said(here, kernel);
    EXPECT_EQ(said.code, 3) << said.text;
    EXPECT_EQ(said.all["complete"], false);
    EXPECT_EQ(said.all["findings"].size(), 0u);
    EXPECT_THAT(said.text, HasSubstr("warning: not checked: "));
    EXPECT_THAT(said.text, HasSubstr("not all was checked"));
  }
}

// An atomic beside a plain store: nvcc inlines it from a header of the toolkit, and says so.
TEST(CheckSaysNightly, TheUsersLineNotTheToolkits) {
  const Workplace here;
  NEEDS_COMPILER("nvcc");
  const auto program = here.write("add.cu", R"(
__global__ void add(int* p) {
  atomicAdd(p, 1);
  if (threadIdx.x == 0) *p = 5;
}
int main() {
  int* p;
  cudaMalloc(&p, 4);
  cudaMemset(p, 0, 4);
  add<<<1, 64>>>(p);
  cudaDeviceSynchronize();
  cudaFree(p);
}
)");
  const Result checked = here.call({kCommand, "check", "--json", "found", "--compiler", "nvcc", program.string()});
  EXPECT_EQ(checked.code, 4) << checked.err;
  EXPECT_THAT(checked.err, HasSubstr("add.cu:3: error: race in global memory"));
  EXPECT_EQ(here.json("found")["findings"][0]["line"], 3);
  // So do counters.
  const Result ran =
      here.call({kCommand, "run", "-q", "--json", "counted", "--lines", "--compiler", "nvcc", program.string()});
  EXPECT_EQ(ran.code, 0) << ran.err;
  std::vector<std::string> files;
  for (const json& line : here.json("counted")["launches"][0]["lines"]) files.push_back(line["file"]);
  EXPECT_THAT(files, Each(testing::EndsWith("add.cu")));
}

}  // namespace
}  // namespace coalesce::end_to_end
