// judge FIRST COUNT [reference|all|small] [JOBS] [SECONDS]: runs random kernels (tests/random) on a GPU and on the
// machine, and compares what they leave in memory bit by bit. Run by hand; needs NVIDIA's driver, but no toolkit: the
// driver compiles the PTX, many kernels at once. After SECONDS no further kernels are begun.
//
// What a kernel has to leave is what the plain executor leaves. The interpreter runs it first, and looks for faults,
// races and reads of what nothing has written: such a kernel is counted and not given to the GPU, whose context would
// not survive a fault. One line for each kernel that differs, then a summary; exit code 0: none differs. Each job is a
// process of its own with a context of its own; a kernel that does not end or that destroys the context costs its
// process, and the job goes on with the next seed.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <stdexcept>
#include <thread>

#include "machine/machine.h"
#include "tests/hardware/driver.h"
#include "tests/hardware/legal.h"
#include "tests/random/generator.h"

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

struct Count {  // of a process, sent through a pipe
  uint64_t next = 0, compared = 0, left_open = 0, faulted = 0, refused = 0, apart = 0, differ = 0, failed = 0;
};

void say(uint64_t seed, const std::string& what) {
  std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), what.c_str());
  std::fflush(stdout);
}

// Cases of one module. Where the driver refuses it, its halves are tried, to the kernel that is to blame. `at`: the
// seed that is running, for who catches what a GPU throws.
void compare(There& there, std::span<const Case> cases, Count& c, uint64_t& at) {
  if (cases.empty()) return;
  std::vector<std::string> texts;
  for (const Case& one : cases) texts.push_back(one.kernel.ptx);
  at = cases.front().seed;
  void* module = nullptr;
  try {
    module = there.gpu().load(module_of(texts));
  } catch (const Refused& e) {
    if (cases.size() == 1) {
      ++c.refused;
      return say(at, e.what());
    }
    compare(there, cases.first(cases.size() / 2), c, at);
    return compare(there, cases.subspan(cases.size() / 2), c, at);
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    at = cases[i].seed;
    const std::string wrong = first(cases[i].left, there.run(module, i, cases[i].kernel));
    ++c.compared;
    if (wrong.empty()) continue;
    ++c.differ;
    say(at, wrong);
  }
  there.gpu().unload(module);
}

// Compares the seeds [from, to), every `step`th, until one costs the context. Returns what was done; `next` is where to
// go on.
Count work(uint64_t from, uint64_t to, uint64_t step, Breadth breadth, Clock::time_point end) {
  Count c{from};
  const std::size_t together = breadth == Breadth::small ? 64 : 16;
  uint64_t at = from;
  try {
    Here here(breadth);
    There there(breadth);
    while (c.next < to) {
      if (Clock::now() > end) {
        c.next = to;
        break;
      }
      Count batch = c;
      std::vector<Case> cases;
      for (; batch.next < to && cases.size() < together; batch.next += step) {
        at = batch.next;
        Case one{at, legal(generate_kernel(at, breadth)), {}};
        if (!open(one.kernel.ptx).empty()) {
          ++batch.left_open;
          continue;
        }
        std::string apart;
        if (!here.run(one, apart)) {
          ++batch.faulted;
          continue;
        }
        if (!apart.empty()) {
          ++batch.apart;
          say(at, "interpreter: " + apart);
        }
        cases.push_back(std::move(one));
      }
      const uint64_t next = batch.next;
      c = batch;
      compare(there, cases, c, at);
      c.next = next;
    }
  } catch (const std::exception& e) {
    ++c.failed;
    say(at, e.what());
    c.next = at + step;
  }
  return c;
}

Count job(uint64_t from, uint64_t to, uint64_t step, Breadth breadth, Clock::time_point end) {
  Count all{from};
  while (all.next < to && all.failed < 100) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    const pid_t child = fork();
    if (child == 0) {
      const Count c = work(all.next, to, step, breadth, end);
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
        all.apart += c.apart, all.differ += c.differ, all.failed += c.failed;
  }
  return all;
}

int judge(uint64_t first, uint64_t count, Breadth breadth, uint64_t jobs, Clock::time_point until) {
  std::vector<int> results;
  for (uint64_t j = 0; j < jobs; ++j) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    if (fork() == 0) {
      const Count c = job(first + j, first + count, jobs, breadth, until);
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
        all.apart += c.apart, all.differ += c.differ, all.failed += c.failed;
  }
  std::printf(
      "%llu kernels compared, %llu differ; %llu leave their result open, %llu fault or race on the machine, %llu are "
      "no PTX for the driver, %llu failed on "
      "the GPU; the interpreter differs from the plain executor in %llu%s\n",
      static_cast<unsigned long long>(all.compared), static_cast<unsigned long long>(all.differ),
      static_cast<unsigned long long>(all.left_open), static_cast<unsigned long long>(all.faulted),
      static_cast<unsigned long long>(all.refused), static_cast<unsigned long long>(all.failed),
      static_cast<unsigned long long>(all.apart), complete ? "" : "; not all jobs ended");
  return complete && all.differ + all.failed + all.apart == 0 ? 0 : 1;
}

}  // namespace
}  // namespace coalesce::machine::test

int main(int argc, char** argv) {
  using namespace coalesce::machine::test;                         // NOLINT(google-build-using-namespace)
  const bool print = argc > 1 && std::string(argv[1]) == "print";  // one module of those kernels, for a look at it
  if (print) --argc, ++argv;
  const auto number = [&](int i, uint64_t usual) { return argc > i ? std::strtoull(argv[i], nullptr, 10) : usual; };
  const std::string name = argc > 3 ? argv[3] : "all";
  if (argc < 3 || (name != "reference" && name != "all" && name != "small")) {
    std::fprintf(stderr, "usage: judge [print] FIRST COUNT [reference|all|small] [JOBS] [SECONDS]\n");
    return 2;
  }
  const Breadth breadth = name == "reference" ? Breadth::reference : name == "all" ? Breadth::all : Breadth::small;
  const uint64_t from = number(1, 1), count = number(2, 1);
  if (print) {
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
