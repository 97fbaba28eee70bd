// judge FIRST COUNT [reference|all|small] [JOBS]: runs random kernels (tests/random) on a GPU and on the machine, and
// compares what they leave in memory bit by bit. Run by hand; needs NVIDIA's driver, but no toolkit: the driver
// compiles the PTX.
//
// One line for each kernel that differs, then a summary; exit code 0: none differs. A kernel that faults on the machine
// is counted and not given to the GPU, whose context would not survive it. Each job is a process of its own with a
// context of its own; a kernel that does not end or that destroys the context costs its process, and the job goes on
// with the next seed.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "machine/machine.h"
#include "tests/random/generator.h"

namespace coalesce::machine::test {
namespace {

// ---- NVIDIA's driver: the few functions that one launch takes ------------------------------------------------------

using Pointer = unsigned long long;

struct Refused : std::runtime_error {  // the driver's compiler does not take the PTX; the context goes on
  using runtime_error::runtime_error;
};

class Gpu {
 public:
  Gpu() : library_(dlopen("libcuda.so.1", RTLD_NOW)) {
    if (!library_) throw std::runtime_error("no libcuda.so.1: this needs NVIDIA's driver");
    call("cuInit", 0u);
    int device = 0;
    call("cuDeviceGet", &device, 0);
    void* context = nullptr;
    call("cuDevicePrimaryCtxRetain", &context, device);
    call("cuCtxSetCurrent", context);
  }
  Pointer allocate(std::size_t bytes) {
    Pointer at = 0;
    call("cuMemAlloc_v2", &at, bytes);
    return at;
  }
  void write(Pointer to, const std::vector<uint8_t>& from) { call("cuMemcpyHtoD_v2", to, from.data(), from.size()); }
  void read(std::vector<uint8_t>& to, Pointer from) { call("cuMemcpyDtoH_v2", to.data(), from, to.size()); }
  // Throws where the driver refuses the PTX, where the kernel faults, and where it takes more than ten seconds.
  void run(const GeneratedKernel& k, void** arguments) {
    void *module = nullptr, *function = nullptr;
    const auto load = reinterpret_cast<int (*)(void**, const void*)>(address("cuModuleLoadData"));
    if (const int code = load(&module, k.ptx.c_str()); code) throw Refused("refused: error " + std::to_string(code));
    call("cuModuleGetFunction", &function, module, "k");
    call("cuLaunchKernel", function, k.grid[0], k.grid[1], k.grid[2], k.block[0], k.block[1], k.block[2], 0u,
         static_cast<void*>(nullptr), arguments, static_cast<void**>(nullptr));
    const auto query = reinterpret_cast<int (*)(void*)>(address("cuStreamQuery"));
    constexpr int kNotReady = 600;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    int code = 0;
    while ((code = query(nullptr)) == kNotReady)
      if (std::chrono::steady_clock::now() > end) throw std::runtime_error("does not end");
    if (code) throw std::runtime_error("cuStreamQuery: error " + std::to_string(code));
    call("cuModuleUnload", module);
  }

 private:
  void* address(const char* name) {
    void* const at = dlsym(library_, name);
    if (!at) throw std::runtime_error(std::string("the driver has no ") + name);
    return at;
  }
  template <class... A>
  void call(const char* name, A... arguments) {
    const int code = reinterpret_cast<int (*)(A...)>(address(name))(arguments...);
    if (code) throw std::runtime_error(std::string(name) + ": error " + std::to_string(code));
  }
  void* library_;
};

// ---- One kernel on both --------------------------------------------------------------------------------------------

struct Left {  // what a kernel leaves: `out`, then `acc`
  std::vector<uint8_t> out, acc = std::vector<uint8_t>(4 * kAccWords);
};

std::vector<uint8_t> input(Breadth breadth) {
  const std::vector<uint32_t> words = generated_input(breadth);
  std::vector<uint8_t> bytes(4 * words.size());
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

constexpr uint32_t kN = 37, kM = 1000003;

void replace(std::string& text, std::string_view from, std::string_view to, std::size_t at = 0) {
  while ((at = text.find(from, at)) != std::string::npos) {
    text.replace(at, from.size(), to);
    at += to.size();
  }
}

// Instructions that clear the registers that `declarations` names: what they hold at first is undefined.
std::string zeros(const std::string& declarations) {
  std::string text;
  for (std::size_t at = 0; (at = declarations.find(".reg .", at)) != std::string::npos; ++at) {
    char type[8], name[8];
    unsigned count = 0;
    if (std::sscanf(declarations.c_str() + at, ".reg .%7s %%%7[a-z]<%u>", type, name, &count) != 3) continue;
    for (unsigned i = 0; i < count; ++i) {
      const std::string reg = std::string("%") + name + std::to_string(i);
      if (std::string(type) == "pred")
        text += "  setp.ne.u32 " + reg + ", %s_tid_x, %s_tid_x;\n";
      else if (std::string(type) == "b128")
        text += "  mov.b128 " + reg + ", {%rd0, %rd0};\n";
      else
        text += "  mov." + std::string(type) + " " + reg + ", 0;\n";
    }
  }
  return text;
}

// The kernel as ptxas takes it, which the machine's reader does not ask for: registers of bits wherever integers and
// floats share them, special registers as operands of `mov` only. And %warpid from the thread's indices: hardware gives
// a warp's slot.
GeneratedKernel legal(GeneratedKernel k) {
  replace(k.ptx, ".reg .f32 %f<6>;", ".reg .b32 %f<6>;");
  const std::size_t entry = k.ptx.find(".visible .entry"), first = k.ptx.find("\n  ", entry) + 1;
  std::string body = k.ptx.substr(first);
  for (const char* const name : {"laneid", "warpid", "tid.x", "tid.y", "tid.z", "ntid.x", "ntid.y", "ctaid.x"}) {
    std::string own = std::string("%s_") + name;
    replace(own, ".", "_");
    replace(body, std::string("%") + name, own);
  }
  std::string start =
      ".reg .b32 %s_laneid, %s_warpid, %s_tid_x, %s_tid_y, %s_tid_z, %s_ntid_x, %s_ntid_y, %s_ctaid_x;\n";
  for (const char* const name : {"laneid", "tid.x", "tid.y", "tid.z", "ntid.x", "ntid.y", "ctaid.x"}) {
    std::string own = std::string("%s_") + name;
    replace(own, ".", "_");
    start += "  mov.u32 " + own + ", %" + name + ";\n";
  }
  start +=
      "  mad.lo.u32 %s_warpid, %s_tid_z, %s_ntid_y, %s_tid_y;\n  mad.lo.u32 %s_warpid, %s_warpid, %s_ntid_x, "
      "%s_tid_x;\n"
      "  shr.u32 %s_warpid, %s_warpid, 5;\n";
  k.ptx = k.ptx.substr(0, first) + start + zeros(k.ptx.substr(entry, first - entry)) + body;
  return k;
}

// Why the kernel's result is left open; empty: it is not.
std::string open(const std::string& ptx) {
  // Which lanes are together is for the compiler to choose.
  for (const char* const name : {"activemask", "elect.sync"})
    if (ptx.find(name) != std::string::npos) return "asks which lanes are together";
  // The old value depends on the order of warps and blocks.
  if (ptx.find(" atom.") != std::string::npos) return "reads an atomic's old value";
  // Results within a bound, not to the bit (docs/results/agreement.md).
  for (const char* const name : {".approx", "div.full", "tanh"})
    if (ptx.find(name) != std::string::npos) return "computes an approximation";
  // ptxas 13.0 drops the guard of `set` and of `testp`: lanes without it have the result of false.
  for (std::size_t at = 0; (at = ptx.find("  @", at)) != std::string::npos; at += 3)
    for (const char* const name : {" set.", " testp."})
      if (ptx.compare(ptx.find(' ', at + 2), std::strlen(name), name) == 0) return "guards set or testp";
  return "";
}

class Both {
 public:
  explicit Both(Breadth breadth) : in_(input(breadth)) {
    in_here_ = machine_.memory().allocate(in_.size(), Origin::device, "in")->base;
    in_there_ = gpu_.allocate(in_.size());
    out_there_ = gpu_.allocate(kMostBytes);
    acc_there_ = gpu_.allocate(4 * kAccWords);
  }

  // Empty: the same; otherwise the first difference. `faulted`: the machine says that the kernel faults, races, or
  // reads what nothing has written.
  std::string compare(const GeneratedKernel& k, bool& faulted) {
    const std::size_t threads = std::size_t{k.block[0]} * k.block[1] * k.block[2] * k.grid[0] * k.grid[1] * k.grid[2];
    Left here, there;
    here.out.resize(threads * kOutBytesPerThread);
    there = here;
    faulted = !run_here(k, here);
    if (faulted) return "";
    gpu_.write(in_there_, in_);
    gpu_.write(out_there_, there.out);
    gpu_.write(acc_there_, there.acc);
    uint32_t n = kN, m = kM;
    void* arguments[] = {&out_there_, &in_there_, &acc_there_, &n, &m};
    gpu_.run(k, arguments);
    gpu_.read(there.out, out_there_);
    gpu_.read(there.acc, acc_there_);
    const std::string out = first(here.out, there.out, "out");
    return out.empty() ? first(here.acc, there.acc, "acc") : out;
  }

 private:
  static constexpr std::size_t kMostBytes = 1 << 22;

  static std::string first(const std::vector<uint8_t>& here, const std::vector<uint8_t>& there, const char* name) {
    for (std::size_t at = 0; at + 4 <= here.size(); at += 4) {
      uint32_t a, b;
      std::memcpy(&a, &here[at], 4);
      std::memcpy(&b, &there[at], 4);
      if (a == b) continue;
      char text[100];
      std::snprintf(text, sizeof text, "%s + %zu: machine %08x, GPU %08x", name, at, a, b);
      return text;
    }
    return "";
  }

  bool run_here(const GeneratedKernel& k, Left& left) {
    Memory& memory = machine_.memory();
    const uint64_t out = memory.allocate(left.out.size(), Origin::device, "out")->base;
    const uint64_t acc = memory.allocate(left.acc.size(), Origin::device, "acc")->base;
    std::memcpy(reinterpret_cast<void*>(in_here_), in_.data(), in_.size());
    std::memcpy(reinterpret_cast<void*>(out), left.out.data(), left.out.size());
    std::memcpy(reinterpret_cast<void*>(acc), left.acc.data(), left.acc.size());
    LaunchConfig config{k.grid, k.block, 0, false, std::vector<uint8_t>(32)};
    const uint64_t pointers[] = {out, in_here_, acc};
    const uint32_t words[] = {kN, kM};
    std::memcpy(config.parameters.data(), pointers, sizeof pointers);
    std::memcpy(config.parameters.data() + sizeof pointers, words, sizeof words);
    const LaunchReport report = machine_.launch(*machine_.load(k.ptx, "random.ptx"), "k", config);
    std::memcpy(left.out.data(), reinterpret_cast<const void*>(out), left.out.size());
    std::memcpy(left.acc.data(), reinterpret_cast<const void*>(acc), left.acc.size());
    memory.release(out);
    memory.release(acc);
    return report.fault == Fault::none && report.diagnostics.empty();
  }

  const std::vector<uint8_t> in_;
  Machine machine_{*find_device("h200"),
                   Options{.threads = 1, .max_instructions = 100'000'000, .progress = {}, .output = {}, .check = true}};
  Gpu gpu_;
  uint64_t in_here_ = 0;
  Pointer in_there_ = 0, out_there_ = 0, acc_there_ = 0;
};

// ---- Many
// ------------------------------------------------------------------------------------------------------------

struct Count {  // of a process, sent through a pipe
  uint64_t next = 0, compared = 0, left_open = 0, faulted = 0, refused = 0, differ = 0, failed = 0;
};

// Compares the seeds [from, to), every `step`th, until one costs the context. Returns what was done; `next` is where to
// go on.
Count work(uint64_t from, uint64_t to, uint64_t step, Breadth breadth) {
  Count c{from};
  try {
    Both both(breadth);
    for (; c.next < to; c.next += step) {
      bool faulted = false;
      std::string wrong;
      const GeneratedKernel kernel = legal(generate_kernel(c.next, breadth));
      if (!open(kernel.ptx).empty()) {
        ++c.left_open;
        continue;
      }
      try {
        wrong = both.compare(kernel, faulted);
      } catch (const Refused&) {
        ++c.refused;
        continue;
      }
      ++(faulted ? c.faulted : c.compared);
      if (wrong.empty()) continue;
      ++c.differ;
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(c.next), wrong.c_str());
      std::fflush(stdout);
    }
  } catch (const std::exception& e) {
    ++c.failed;
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(c.next), e.what());
    std::fflush(stdout);
    c.next += step;
  }
  return c;
}

Count job(uint64_t from, uint64_t to, uint64_t step, Breadth breadth) {
  Count all{from};
  while (all.next < to && all.failed < 100) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    const pid_t child = fork();
    if (child == 0) {
      const Count c = work(all.next, to, step, breadth);
      _exit(write(ends[1], &c, sizeof c) == sizeof c ? 0 : 1);
    }
    close(ends[1]);
    Count c;
    const bool sent = read(ends[0], &c, sizeof c) == sizeof c;
    close(ends[0]);
    waitpid(child, nullptr, 0);
    if (!sent) throw std::runtime_error("a job ended by itself");
    all.next = c.next;
    all.compared += c.compared, all.left_open += c.left_open, all.faulted += c.faulted, all.refused += c.refused,
        all.differ += c.differ, all.failed += c.failed;
  }
  return all;
}

int judge(uint64_t first, uint64_t count, Breadth breadth, uint64_t jobs) {
  std::vector<int> results;
  for (uint64_t j = 0; j < jobs; ++j) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    if (fork() == 0) {
      const Count c = job(first + j, first + count, jobs, breadth);
      _exit(write(ends[1], &c, sizeof c) == sizeof c ? 0 : 1);
    }
    close(ends[1]);
    results.push_back(ends[0]);
  }
  Count all;
  bool complete = true;
  for (const int end : results) {
    Count c;
    complete &= read(end, &c, sizeof c) == sizeof c;
    all.compared += c.compared, all.left_open += c.left_open, all.faulted += c.faulted, all.refused += c.refused,
        all.differ += c.differ, all.failed += c.failed;
  }
  std::printf(
      "%llu kernels compared, %llu differ; %llu leave their result open, %llu fault or race on the machine, %llu are "
      "no PTX for the driver, %llu failed on "
      "the GPU%s\n",
      static_cast<unsigned long long>(all.compared), static_cast<unsigned long long>(all.differ),
      static_cast<unsigned long long>(all.left_open), static_cast<unsigned long long>(all.faulted),
      static_cast<unsigned long long>(all.refused), static_cast<unsigned long long>(all.failed),
      complete ? "" : "; not all jobs ended");
  return complete && all.differ + all.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace coalesce::machine::test

int main(int argc, char** argv) {
  using coalesce::machine::test::Breadth;
  if (argc == 4 && std::string(argv[1]) == "print") {  // the kernel of a seed, for a look at it
    const std::string breadth = argv[3];
    const auto k = coalesce::machine::test::legal(coalesce::machine::test::generate_kernel(
        std::strtoull(argv[2], nullptr, 10), breadth == "reference" ? Breadth::reference
                                             : breadth == "all"     ? Breadth::all
                                                                    : Breadth::small));
    std::printf("// grid %u %u block %u %u %u\n%s", k.grid[0], k.grid[1], k.block[0], k.block[1], k.block[2],
                k.ptx.c_str());
    return 0;
  }
  const std::string breadth = argc > 3 ? argv[3] : "all";
  if (argc < 3 || (breadth != "reference" && breadth != "all" && breadth != "small")) {
    std::fprintf(stderr, "usage: judge FIRST COUNT [reference|all|small] [JOBS]; judge print SEED BREADTH\n");
    return 2;
  }
  const uint64_t jobs = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : std::thread::hardware_concurrency();
  return coalesce::machine::test::judge(std::strtoull(argv[1], nullptr, 10), std::strtoull(argv[2], nullptr, 10),
                                        breadth == "reference" ? Breadth::reference
                                        : breadth == "all"     ? Breadth::all
                                                               : Breadth::small,
                                        std::max<uint64_t>(1, jobs));
}
