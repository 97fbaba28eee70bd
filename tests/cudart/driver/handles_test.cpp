// Every exported function that does something, with handles that are null, destroyed or of another kind: CUDA's error
// for that kind of handle, and never a crash. Seeded sequences of calls every night.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "tests/cudart/driver/world.h"

namespace coalesce::cudart {
namespace {

// Names the function in which a test ends by a signal.
const char* volatile current_call = "";
void name_the_call(int number) {
  const char* name = current_call;
  [[maybe_unused]] ssize_t n = write(2, "in ", 3);
  n = write(2, name, std::strlen(name));
  n = write(2, "\n", 1);
  std::signal(number, SIG_DFL);
  std::raise(number);
}

class Handles : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE}) before_[number] = std::signal(number, name_the_call);
  }
  void TearDown() override {
    for (const auto& [number, handler] : before_) std::signal(number, handler);
  }
  std::map<int, void (*)(int)> before_;
};

CUresult run(const Signature& s, const std::vector<Argument>& arguments) {
  current_call = s.name.c_str();
  return call_words(s.function, arguments);
}

std::vector<Argument> good(World& world, const Signature& s) {
  world.enter();
  std::vector<Argument> all;
  for (const Parameter& p : s.parameters) all.push_back(world.good(p));
  return all;
}

// The errors of CUDA's manual for a handle of each kind that is none.
std::set<CUresult> errors_for(Kind kind) {
  switch (kind) {
    case Kind::context:
      return {CUDA_ERROR_INVALID_CONTEXT};
    case Kind::device:
      return {CUDA_ERROR_INVALID_DEVICE};
    case Kind::stream:
    case Kind::event:
    case Kind::function:
    case Kind::library:
    case Kind::link:
    case Kind::array:
      return {CUDA_ERROR_INVALID_HANDLE};
    case Kind::address:
      return {CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_FOUND};
    default:  // graphs, pools, textures, memory
      return {CUDA_ERROR_INVALID_VALUE};
  }
}

// "cuFunction 0": its parameter 0 may be null: the default stream, the current context, an answer that is not wanted,
// an option that is not given.
const std::set<std::string> kMayBeNull = {"cuCtxCreate_v4 1",
                                          "cuCtxGetApiVersion 0",
                                          "cuCtxGetDevice_v2 1",
                                          "cuCtxGetId 0",
                                          "cuCtxGetStreamPriorityRange 0",
                                          "cuCtxGetStreamPriorityRange 1",
                                          "cuCtxPopCurrent_v2 0",
                                          "cuCtxSetCurrent 0",
                                          "cuCtxSynchronize_v2 0",
                                          "cuEventRecord 1",
                                          "cuEventRecordWithFlags 1",
                                          "cuGetProcAddress_v2 4",
                                          "cuGraphGetNodes 1",
                                          "cuGraphGetRootNodes 1",
                                          "cuGraphInstantiate 2",
                                          "cuGraphInstantiate 3",
                                          "cuGraphLaunch 1",
                                          "cuGraphUpload 1",
                                          "cuLaunchCooperativeKernel 8",
                                          "cuLaunchHostFunc 0",
                                          "cuLaunchHostFunc 2",
                                          "cuLaunchKernel 10",
                                          "cuLaunchKernel 8",
                                          "cuLibraryLoadData 2",
                                          "cuLibraryLoadData 3",
                                          "cuLibraryLoadData 5",
                                          "cuLibraryLoadData 6",
                                          "cuLinkComplete 2",
                                          "cuLinkCreate_v2 1",
                                          "cuLinkCreate_v2 2",
                                          "cuMemAllocAsync 2",
                                          "cuMemAllocFromPoolAsync 3",
                                          "cuMemFreeAsync 0",
                                          "cuMemFreeAsync 1",
                                          "cuMemFreeHost 0",
                                          "cuMemFree_v2 0",
                                          "cuMemGetAddressRange_v2 0",
                                          "cuMemGetAddressRange_v2 1",
                                          "cuMemGetInfo_v2 0",
                                          "cuMemGetInfo_v2 1",
                                          "cuMemPrefetchAsync 3",
                                          "cuMemPrefetchAsync_v2 4",
                                          "cuMemcpyAsync 3",
                                          "cuMemcpyDtoDAsync_v2 3",
                                          "cuMemcpyDtoHAsync_v2 3",
                                          "cuMemcpyHtoDAsync_v2 3",
                                          "cuMemcpyPeer 1",
                                          "cuMemcpyPeer 3",
                                          "cuMemcpyPeerAsync 1",
                                          "cuMemcpyPeerAsync 3",
                                          "cuMemcpyPeerAsync 5",
                                          "cuMemsetD16Async 3",
                                          "cuMemsetD2D8Async 5",
                                          "cuMemsetD32Async 3",
                                          "cuMemsetD8Async 3",
                                          "cuOccupancyMaxPotentialBlockSize 3",
                                          "cuOccupancyMaxPotentialBlockSizeWithFlags 3",
                                          "cuProfilerInitialize 0",
                                          "cuProfilerInitialize 1",
                                          "cuStreamAddCallback 0",
                                          "cuStreamAddCallback 2",
                                          "cuStreamCopyAttributes 0",
                                          "cuStreamCopyAttributes 1",
                                          "cuStreamGetCaptureInfo_v2 0",
                                          "cuStreamGetCaptureInfo_v2 2",
                                          "cuStreamGetCaptureInfo_v2 3",
                                          "cuStreamGetCaptureInfo_v2 4",
                                          "cuStreamGetCaptureInfo_v2 5",
                                          "cuStreamGetCtx 0",
                                          "cuStreamGetDevice 0",
                                          "cuStreamGetFlags 0",
                                          "cuStreamGetId 0",
                                          "cuStreamGetPriority 0",
                                          "cuStreamIsCapturing 0",
                                          "cuStreamQuery 0",
                                          "cuStreamSynchronize 0",
                                          "cuStreamWaitEvent 0",
                                          "cuSurfObjectDestroy 0",
                                          "cuTexObjectDestroy 0"};
// It does not look at the parameter: advice; the context of calls that clients make without one (context.cpp).
const std::set<std::string> kIgnored = {"cuCtxGetDevice_v2 1",  "cuCtxSynchronize_v2 0", "cuMemAdvise 3",
                                        "cuMemPrefetchAsync 2", "cuSurfObjectDestroy 0", "cuTexObjectDestroy 0"};
// Something else about the call is refused first: these arguments' structures are zeros.
const std::set<std::string> kRefusedFirst = {
    "cuCtxCreate_v3 4",          "cuDeviceGetP2PAttribute 2",      "cuDeviceGetP2PAttribute 3",
    "cuDeviceGetPCIBusId 2",     "cuGraphAddKernelNode 1",         "cuGraphAddKernelNode 2",
    "cuGraphAddKernelNode_v2 1", "cuGraphAddKernelNode_v2 2",      "cuGraphAddMemcpyNode 5",
    "cuGraphAddMemsetNode 5",    "cuMemExportToShareableHandle 1", "cuMemSetAccess 0",
    "cuMemcpy2DAsync_v2 1",      "cuMemcpy3DAsync_v2 1",           "cuMemsetD2D16Async 5",
    "cuMemsetD2D32Async 5",      "cuOccupancyMaxActiveClusters 1", "cuStreamBeginCapture_v2 0",
    "cuStreamEndCapture 0"};

// Addresses of the host are good there: a wrong one is read, as by any program.
bool takes_host_addresses(const Signature& s) { return s.name == "cuMemcpy" || s.name == "cuMemcpyAsync"; }

std::string place_of(const Signature& s, size_t k) { return s.name + ' ' + std::to_string(k); }

TEST_F(Handles, EveryExportedFunctionIsInTheTable) {
  std::set<const void*> known;
  for (const Signature& s : signatures()) known.insert(s.function);
  EXPECT_GE(known.size(), 200u);
  ::testing::internal::CaptureStderr();  // that it is not supported, of each
  std::string missing;
  for (const Exported& e : exported()) {
    current_call = e.name;
    if (!known.contains(e.function) && call_words(e.function, {}) != CUDA_ERROR_NOT_SUPPORTED)
      missing += std::string(" ") + e.name;
  }
  ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(missing, "");
}

// A test calls it, in a file other than this one.
TEST_F(Handles, EveryFunctionHasATestOfWhatItDoes) {
  std::string tests;
  for (const char* folder : {"/tests/cudart/driver", "/tests/cudart"})
    for (const auto& file : std::filesystem::directory_iterator(std::string(COALESCE_SOURCE_DIR) + folder)) {
      const std::string name = file.path().filename().string();
      if (!name.ends_with("_test.cpp") || name == "handles_test.cpp") continue;
      std::ifstream in(file.path());
      tests.append(std::istreambuf_iterator<char>(in), {});
    }
  std::string missing;
  for (const Signature& s : signatures())
    if (tests.find(s.name + '(') == std::string::npos) missing += ' ' + s.name;
  EXPECT_EQ(missing, "");
}

TEST_F(Handles, GoodArgumentsReachTheirHandles) {
  unsigned done = 0;
  for (const Signature& s : signatures()) {
    World world;
    const CUresult result = run(s, good(world, s));
    done += result == CUDA_SUCCESS;
    if (std::getenv("COALESCE_SHOW")) std::printf("%s: %d\n", s.name.c_str(), result);
  }
  EXPECT_GE(done, signatures().size() * 2 / 3);
}

TEST_F(Handles, Null) {
  for (const Signature& s : signatures()) {
    World world;
    for (size_t k = 0; k < s.parameters.size(); ++k) {
      const Kind kind = s.parameters[k].kind;
      if (kind == Kind::address && takes_host_addresses(s)) continue;
      if (kind == Kind::number || kind == Kind::device || kind == Kind::ipc) continue;
      std::vector<Argument> arguments = good(world, s);
      arguments[k] = Argument::of(0);
      const CUresult result = run(s, arguments);
      EXPECT_EQ(result == CUDA_SUCCESS, kMayBeNull.contains(place_of(s, k))) << place_of(s, k) << ": " << result;
      if (result == CUDA_SUCCESS || !is_handle(kind) || kRefusedFirst.contains(place_of(s, k))) continue;
      std::set<CUresult> expected = errors_for(kind);
      expected.insert(CUDA_ERROR_INVALID_VALUE);
      EXPECT_TRUE(expected.contains(result)) << place_of(s, k) << ": " << result;
    }
  }
}

// Destroyed, of another kind, and no handle at all.
TEST_F(Handles, StaleAndForeign) {
  for (const Signature& s : signatures()) {
    if (!s.has_handle()) continue;
    World world;
    for (size_t k = 0; k < s.parameters.size(); ++k) {
      const bool list = s.parameters[k].kind == Kind::nodes;
      const Kind kind = list ? Kind::node : s.parameters[k].kind;
      if (!is_handle(kind) || (kind == Kind::address && takes_host_addresses(s))) continue;
      Argument other = world.live(kind == Kind::stream ? Kind::event : Kind::stream);
      Argument none = Argument::of(kind == Kind::device ? ~uint64_t{0} : 0x1000);
      if (kind == Kind::ipc) {
        other = none = world.live(kind);
        other.words[0] ^= 1;
        none.words.fill(0);
      }
      for (const Argument& bad : {world.dead(kind), other, none}) {
        std::vector<Argument> arguments = good(world, s);
        arguments[k] = list ? world.list_of(bad) : bad;
        const CUresult result = run(s, arguments);
        EXPECT_EQ(result == CUDA_SUCCESS, kIgnored.contains(place_of(s, k))) << place_of(s, k) << ": " << result;
        if (result == CUDA_SUCCESS || kRefusedFirst.contains(place_of(s, k))) continue;
        EXPECT_TRUE(errors_for(kind).contains(result)) << place_of(s, k) << ": " << result;
      }
    }
  }
}

// Calls in any order, of good and bad arguments. None ends the process, and afterwards the machine works.
void sequence(unsigned seed, unsigned calls) {
  std::mt19937 random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  World world;
  for (unsigned n = 0; n < calls; ++n) {
    const Signature& s = signatures()[below(signatures().size())];
    if (takes_host_addresses(s)) continue;
    if (s.name.starts_with("cuDevicePrimaryCtxRe") && below(8) != 0) continue;  // all handles would be stale
    std::vector<Argument> arguments = good(world, s);
    for (size_t k = 0; k < arguments.size(); ++k) {
      const Parameter& p = s.parameters[k];
      const size_t choice = below(8);
      if (is_handle(p.kind) && p.kind != Kind::ipc) {
        const auto kind = static_cast<Kind>(below(World::kKinds - 1));
        if (choice == 0) arguments[k] = world.dead(p.kind);
        if (choice == 1) arguments[k] = world.live(kind);
        if (choice == 2) arguments[k] = Argument::of(random() >> below(32));
      } else if (p.kind == Kind::number) {
        // Sizes of places stay within them.
        const uint64_t numbers[] = {0, 1, 2, 3, 31, 4, 0xffff'ffffu, 0x8000'0000u};
        const bool size = p.type == "size_t" || p.name == "count" || p.name == "room" || p.name == "length";
        if (choice < 4) arguments[k] = Argument::of(numbers[below(size || p.name.empty() ? 6 : 8)]);
      } else if (choice == 0 && p.kind != Kind::callback) {
        arguments[k] = Argument::of(0);
      }
    }
    run(s, arguments);
  }
}

TEST_F(Handles, Sequences) {
  ::testing::internal::CaptureStderr();
  for (unsigned seed = 1; seed <= 5; ++seed) sequence(seed, 200);
  ::testing::internal::GetCapturedStderr();
}

TEST_F(Handles, NightlySequences) {
  const char* chosen = std::getenv("COALESCE_SEED");
  const unsigned first = chosen != nullptr ? static_cast<unsigned>(std::atoi(chosen)) : 100;
  for (unsigned seed = first; seed < first + 500; ++seed) {
    ::testing::internal::CaptureStderr();
    sequence(seed, 1000);
    const std::string said = ::testing::internal::GetCapturedStderr();
    ASSERT_EQ(said.find("runtime error"), std::string::npos) << "seed " << seed << ": " << said;
  }
}

}  // namespace
}  // namespace coalesce::cudart
