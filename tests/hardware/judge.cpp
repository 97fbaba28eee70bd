// judge FIRST COUNT [reference|all|small] [JOBS] [SECONDS]: runs random kernels (tests/random) on a GPU and on the
// machine, and compares what they leave in memory bit by bit. Run by hand; needs NVIDIA's driver, but no toolkit: the
// driver compiles the PTX, many kernels at once. After SECONDS no further kernels are begun.
// judge print|reduce FIRST COUNT ...: prints the kernels as one module; or makes each that differs small.
//
// What a kernel has to leave is what the plain executor leaves. The interpreter runs it first, and looks for faults,
// races and reads of what nothing has written: such a kernel is counted and not given to the GPU, whose context would
// not survive a fault. One line for each kernel that differs, then a summary; exit code 0: none differs. Each job is a
// process of its own with a context of its own; a kernel that does not end or that destroys the context costs its
// process, and the job goes on with the next seed.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <stdexcept>
#include <thread>

#include "machine/api/machine.h"
#include "tests/hardware/driver.h"
#include "tests/hardware/legal.h"
#include "tests/random/generator.h"
#include "tests/random/reduce.h"

namespace coalesce::machine::test {
namespace {

using Clock = std::chrono::steady_clock;

struct Left {  // what a kernel leaves: `out`, then `acc`
  std::vector<uint8_t> out, acc = std::vector<uint8_t>(4 * kAccWords);
};

struct Case {
  uint64_t seed = 0;
  GeneratedKernel kernel;
  Left left;  // by the plain executor
};

std::vector<uint8_t> input(Breadth breadth) {
  const std::vector<uint32_t> words = generated_input(breadth);
  std::vector<uint8_t> bytes(4 * words.size());
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

std::size_t out_bytes(const GeneratedKernel& k) {
  return std::size_t{k.block[0]} * k.block[1] * k.block[2] * k.grid[0] * k.grid[1] * k.grid[2] * kOutBytesPerThread;
}

// Empty: the same.
std::string first(const std::vector<uint8_t>& here, const std::vector<uint8_t>& there, const char* name) {
  for (std::size_t at = 0; at + 4 <= here.size(); at += 4) {
    uint32_t a, b;
    std::memcpy(&a, &here[at], 4);
    std::memcpy(&b, &there[at], 4);
    if (a == b) continue;
    char text[100];
    std::snprintf(text, sizeof text, "%s + %zu: %08x, not %08x", name, at, b, a);
    return text;
  }
  return "";
}

std::string first(const Left& here, const Left& there) {
  const std::string out = first(here.out, there.out, "out");
  return out.empty() ? first(here.acc, there.acc, "acc") : out;
}

constexpr uint32_t kN = 37, kM = 1000003;

// ---- On the machine ------------------------------------------------------------------------------------------------

class Here {
 public:
  explicit Here(Breadth breadth) : in_(input(breadth)) {
    at_ = machine_.memory().allocate(in_.size(), Origin::device, "in")->base;
  }
  // True: what the kernel leaves depends on where its variables lie.
  bool tells_places(const Case& c) {
    Left elsewhere;
    machine_.use_plain(false);
    return run(moved(c.kernel), elsewhere) && !first(c.left, elsewhere).empty();
  }
  // False: the machine says that the kernel faults, races, or reads what nothing has written. `apart`: in what the
  // interpreter differs from the plain executor.
  bool run(Case& c, std::string& apart) {
    Left interpreted;
    machine_.use_plain(false);
    if (!run(c.kernel, interpreted)) return false;
    machine_.use_plain(true);
    if (!run(c.kernel, c.left)) throw std::runtime_error("the plain executor alone has a fault to report");
    apart = first(c.left, interpreted);
    return true;
  }

 private:
  bool run(const GeneratedKernel& k, Left& left) {
    left.out.assign(out_bytes(k), 0);
    Memory& memory = machine_.memory();
    const uint64_t out = memory.allocate(left.out.size(), Origin::device, "out")->base;
    const uint64_t acc = memory.allocate(left.acc.size(), Origin::device, "acc")->base;
    std::memcpy(reinterpret_cast<void*>(at_), in_.data(), in_.size());
    std::memcpy(reinterpret_cast<void*>(out), left.out.data(), left.out.size());
    std::memcpy(reinterpret_cast<void*>(acc), left.acc.data(), left.acc.size());
    machine_.wrote(at_, in_.size());
    machine_.wrote(out, left.out.size());
    machine_.wrote(acc, left.acc.size());
    const std::shared_ptr<Program> program = machine_.load(k.ptx, "random.ptx");
    const KernelInfo& info = *program->kernel("k");
    LaunchConfig config{k.grid, k.block, 0, false, std::vector<uint8_t>(info.parameter_bytes)};
    const uint64_t pointers[] = {out, at_, acc};
    const uint32_t words[] = {kN, kM};
    std::memcpy(config.parameters.data(), pointers, sizeof pointers);
    std::memcpy(config.parameters.data() + sizeof pointers, words, sizeof words);
    if (info.parameters.size() > 5)
      std::memcpy(config.parameters.data() + info.parameters[5].offset, bag_.data(), bag_.size());
    const LaunchReport report = machine_.launch(*program, "k", config);
    std::memcpy(left.out.data(), reinterpret_cast<const void*>(out), left.out.size());
    std::memcpy(left.acc.data(), reinterpret_cast<const void*>(acc), left.acc.size());
    memory.release(out);
    memory.release(acc);
    return report.fault == Fault::none && report.diagnostics.empty();
  }

  const std::vector<uint8_t> in_, bag_ = generated_bag();
  Machine machine_{*find_device("h200"),
                   Options{.threads = 1, .max_instructions = 100'000'000, .progress = {}, .output = {}, .check = true}};
  uint64_t at_ = 0;
};

// ---- On the GPU ----------------------------------------------------------------------------------------------------

class There {
 public:
  explicit There(Breadth breadth) : in_(input(breadth)) {
    in_at_ = gpu_.allocate(in_.size());
    out_at_ = gpu_.allocate(kMostBytes);
    acc_at_ = gpu_.allocate(4 * kAccWords);
  }
  Gpu& gpu() { return gpu_; }
  Left run(void* module, std::size_t which, const GeneratedKernel& k) {
    Left left;
    left.out.resize(out_bytes(k));
    gpu_.write(in_at_, in_);
    gpu_.write(out_at_, left.out);
    gpu_.write(acc_at_, left.acc);
    uint32_t n = kN, m = kM;
    void* arguments[] = {&out_at_, &in_at_, &acc_at_, &n, &m, bag_.data()};
    gpu_.run(module, "k" + std::to_string(which), k.grid, k.block, arguments);
    gpu_.read(left.out, out_at_);
    gpu_.read(left.acc, acc_at_);
    return left;
  }

 private:
  static constexpr std::size_t kMostBytes = 1 << 22;
  const std::vector<uint8_t> in_;
  std::vector<uint8_t> bag_ = generated_bag();
  Gpu gpu_;
  Pointer in_at_ = 0, out_at_ = 0, acc_at_ = 0;
};

// ---- Many ----------------------------------------------------------------------------------------------------------

struct Count {                // of a job: in memory that its processes and their parent share
  uint64_t next = 0, at = 0;  // the next batch; the seed that is being worked on
  uint64_t compared = 0, left_open = 0, faulted = 0, refused = 0, apart = 0, differ = 0, failed = 0;
};

void say(uint64_t seed, const std::string& what) {
  std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), what.c_str());
  std::fflush(stdout);
}

// Cases of one module. Where the driver refuses it, its halves are tried, to the kernel that is to blame.
void compare(There& there, std::span<const Case> cases, Count& c) {
  if (cases.empty()) return;
  std::vector<std::string> texts;
  for (const Case& one : cases) texts.push_back(one.kernel.ptx);
  c.at = cases.front().seed;
  void* module = nullptr;
  try {
    module = there.gpu().load(module_of(texts));
  } catch (const Refused&) {
    if (cases.size() == 1) {
      ++c.refused;
      return;
    }
    compare(there, cases.first(cases.size() / 2), c);
    return compare(there, cases.subspan(cases.size() / 2), c);
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    c.at = cases[i].seed;
    const std::string wrong = first(cases[i].left, there.run(module, i, cases[i].kernel));
    ++c.compared;
    if (wrong.empty()) continue;
    ++c.differ;
    say(c.at, wrong);
  }
  there.gpu().unload(module);
}

// Whether a kernel goes to the GPU; counts those that do not.
bool wanted(Here& here, Case& one, Count& c) {
  if (!open(one.kernel.ptx).empty()) return ++c.left_open, false;
  std::string apart;
  if (!here.run(one, apart)) return ++c.faulted, false;
  if (here.tells_places(one)) return ++c.left_open, false;
  if (!apart.empty()) {
    ++c.apart;
    say(one.seed, "interpreter: " + apart);
  }
  return true;
}

// Compares every `step`th seed from c.next to `to`, until one costs the context or the process. A batch that such a
// seed ends counts as far as it came.
void work(Count& c, uint64_t to, uint64_t step, Breadth breadth, Clock::time_point end) {
  const std::size_t together = breadth == Breadth::small ? 64 : 16;
  try {
    Here here(breadth);
    There there(breadth);
    while (c.next < to) {
      if (Clock::now() > end) {
        c.next = to;
        break;
      }
      std::vector<Case> cases;
      uint64_t seed = c.next;
      for (; seed < to && cases.size() < together; seed += step) {
        c.at = seed;
        Case one{seed, legal(generate_kernel(seed, breadth)), {}};
        if (wanted(here, one, c)) cases.push_back(std::move(one));
      }
      compare(there, cases, c);
      c.next = seed;
    }
  } catch (const std::exception& e) {
    ++c.failed;
    say(c.at, e.what());
    c.next = c.at + step;
  }
}

void job(Count& c, uint64_t to, uint64_t step, Breadth breadth, Clock::time_point end) {
  while (c.next < to && c.failed < 100) {
    const pid_t child = fork();
    if (child == 0) {
      work(c, to, step, breadth, end);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFSIGNALED(status)) continue;
    ++c.failed;
    say(c.at, "ended by signal " + std::to_string(WTERMSIG(status)));
    c.next = c.at + step;
  }
}

int judge(uint64_t first, uint64_t count, Breadth breadth, uint64_t jobs, Clock::time_point until) {
  void* const shared = mmap(nullptr, jobs * sizeof(Count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::runtime_error("no shared memory");
  auto* const counts = static_cast<Count*>(shared);
  for (uint64_t j = 0; j < jobs; ++j) {
    counts[j] = Count{first + j};
    if (fork() == 0) {
      job(counts[j], first + count, jobs, breadth, until);
      _exit(0);
    }
  }
  while (wait(nullptr) > 0) {}
  Count all;
  for (uint64_t j = 0; j < jobs; ++j)
    for (const auto part : {&Count::compared, &Count::left_open, &Count::faulted, &Count::refused, &Count::apart,
                            &Count::differ, &Count::failed})
      all.*part += counts[j].*part;
  std::printf(
      "%llu kernels compared, %llu differ; %llu leave their result open, %llu fault or race on the machine, %llu are "
      "no PTX for the driver, %llu failed; the interpreter differs from the plain executor in %llu\n",
      static_cast<unsigned long long>(all.compared), static_cast<unsigned long long>(all.differ),
      static_cast<unsigned long long>(all.left_open), static_cast<unsigned long long>(all.faulted),
      static_cast<unsigned long long>(all.refused), static_cast<unsigned long long>(all.failed),
      static_cast<unsigned long long>(all.apart));
  return all.differ + all.failed + all.apart == 0 ? 0 : 1;
}

// Prints what is left of a kernel that differs after removing all lines that do not matter, and whether the driver's
// compiler without its optimisations makes what the machine says of it: then the difference is the compiler's.
void reduce(uint64_t seed, Breadth breadth) {
  Here here(breadth);
  There there(breadth);
  const auto differs = [&](const GeneratedKernel& k, bool optimised) -> std::string {
    try {
      Case one{seed, legal(k), {}};
      Count ignored;
      if (!wanted(here, one, ignored)) return "";
      void* const module = there.gpu().load(module_of({one.kernel.ptx}), optimised);
      const std::string wrong = first(one.left, there.run(module, 0, one.kernel));
      there.gpu().unload(module);
      return wrong;
    } catch (const Error&) {  // it is no kernel any more
      return "";
    } catch (const Refused&) {
      return "";
    }
  };
  GeneratedKernel k = generate_kernel(seed, breadth);
  const std::string all = differs(k, true);
  if (all.empty()) return say(seed, "does not differ");
  const std::string plainly = differs(k, false);
  k = reduced(k, [&](const GeneratedKernel& less) { return !differs(less, true).empty(); });
  const std::string left = differs(k, true), left_plainly = differs(k, false);
  std::printf(
      "seed %llu: %s; without optimisation %s\nreduced: %s; without optimisation %s\n// grid %u %u, block %u %u "
      "%u\n%s\n",
      static_cast<unsigned long long>(seed), all.c_str(), plainly.empty() ? "the same" : plainly.c_str(), left.c_str(),
      left_plainly.empty() ? "the same" : left_plainly.c_str(), k.grid[0], k.grid[1], k.block[0], k.block[1],
      k.block[2], k.ptx.c_str());
}

}  // namespace
}  // namespace coalesce::machine::test

// An exception ends the tool, with its text.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  using namespace coalesce::machine::test;  // NOLINT(google-build-using-namespace)
  const std::string verb = argc > 1 && *argv[1] >= 'a' ? argv[1] : "";
  if (!verb.empty()) --argc, ++argv;
  const auto number = [&](int i, uint64_t usual) { return argc > i ? std::strtoull(argv[i], nullptr, 10) : usual; };
  const std::string name = argc > 3 ? argv[3] : "all";
  if (argc < 3 || (name != "reference" && name != "all" && name != "small")) {
    std::fprintf(stderr, "usage: judge [print|reduce] FIRST COUNT [reference|all|small] [JOBS] [SECONDS]\n");
    return 2;
  }
  const Breadth breadth = name == "reference" ? Breadth::reference : name == "all" ? Breadth::all : Breadth::small;
  const uint64_t from = number(1, 1), count = number(2, 1);
  if (verb == "reduce") {
    for (uint64_t seed = from; seed < from + count; ++seed) reduce(seed, breadth);
    return 0;
  }
  if (verb == "print") {
    std::vector<std::string> texts;
    for (uint64_t seed = from; seed < from + count; ++seed) {
      const GeneratedKernel k = legal(generate_kernel(seed, breadth));
      if (!open(k.ptx).empty()) continue;
      std::printf("// k%zu: seed %llu, grid %u %u, block %u %u %u\n", texts.size(),
                  static_cast<unsigned long long>(seed), k.grid[0], k.grid[1], k.block[0], k.block[1], k.block[2]);
      texts.push_back(k.ptx);
    }
    std::printf("%s", texts.empty() ? "" : module_of(texts).c_str());
    return 0;
  }
  const auto jobs = std::max<uint64_t>(1, number(4, std::thread::hardware_concurrency()));
  return judge(from, count, breadth, jobs, Clock::now() + std::chrono::seconds(number(5, 1'000'000)));
}
