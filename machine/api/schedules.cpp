// `check` in several orders of blocks and warps (Options::schedules): what one order does not meet, another may.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <system_error>
#include <tuple>

#include "machine/api/state.h"
#include "machine/check/launch_check.h"

namespace coalesce::machine {

namespace {

// Orders that nobody has asked for may cost a program some seconds.
constexpr uint64_t kShortLaunch = 1u << 20;      // warp instructions of one launch
constexpr uint64_t kFewInstructions = 16;        // of a warp, where its kernel's beginning has no more
constexpr uint64_t kAllLaunches = 4u << 20;      // of all
constexpr uint64_t kCopiedMemory = 2048u << 20;  // bytes of all copies of memory; four a launch

using Key = std::tuple<Hazard, Fault, uint32_t, uint32_t>;
Key key_of(const Diagnostic& d) { return {d.hazard, d.fault, d.ptx_line, d.other ? d.other->ptx_line : 0}; }

// True if what the kernel does may depend on who comes first: it reads what others may be about to write.
bool reads_what_others_write(const Decoded& p) {
  for (const Instruction& i : p.code) {
    if (i.memory == kNone) continue;
    const MemoryOp& m = p.memory[i.memory];
    if ((i.kind == Kind::load && m.order != Order::weak) || (i.kind == Kind::atomic && m.returns)) return true;
  }
  return false;
}

// True if it may matter who overtakes whom: an atomic tells the one that has got in.
bool lets_in(const Decoded& p) {
  return std::ranges::any_of(p.code, [&](const Instruction& i) {
    return i.kind == Kind::atomic && p.memory[i.memory].returns && p.memory[i.memory].op != AtomicOp::mbarrier;
  });
}

// Instructions that each warp executes, as a rule: those up to the first barrier that all come to.
uint64_t least_instructions(const Decoded& p) {
  uint64_t least = 0;
  if (!p.regions.empty())
    for (const uint32_t b : p.regions.front().chain) least += p.blocks[b].instructions;
  return std::max(least, kFewInstructions);
}

std::ptrdiff_t threads_of_process() {
  std::error_code unknown;
  return std::distance(std::filesystem::directory_iterator("/proc/self/task", unknown), {});
}

}  // namespace

Machine::State::Moment::Moment(const State& s, const LaunchCheck& check)
    : contents(s.memory, [&](const Allocation& a) { return !check.addresses.leaves_alone(a); }), heap(s.heap) {
  for (const auto& a : s.memory.all()) {
    if (a->live && check.addresses.leaves_alone(*a))
      left_out.insert(a.get());
    else if (a->live && a->shadow)
      written.emplace_back(a.get(), a->shadow->written);
  }
}

void Machine::State::Moment::put_back(const State& s) const {
  contents.put_back();
  for (const auto& a : s.memory.all()) {
    if (!a->live || !a->shadow || left_out.contains(a.get())) continue;
    const auto known =
        std::find_if(written.begin(), written.end(), [&](const auto& entry) { return entry.first == a.get(); });
    if (known == written.end())
      a->shadow.reset();
    else
      a->shadow->written = known->second;
  }
}

bool Machine::State::explores(const Launch& launch) {
  const uint64_t warps = launch.blocks * launch.warps_per_block;
  if (!options.check || options.schedules == 1 || warps < 2) return false;
  if (options.schedules == 0 && warps > kShortLaunch / least_instructions(*launch.program)) return false;
  for (const Instruction& i : launch.program->code)  // what kernels give the device to do cannot be taken back
    if (i.kind == Kind::call && static_cast<Callee>(i.mode) == Callee::service) return false;
  // Memory that other threads of the program may be writing to, or that nobody may, cannot be put back.
  uint64_t bytes = 0;
  bool of_host = false;
  for (const auto& a : memory.all()) {
    if (!a->live) continue;
    if (a->label == "cudaHostRegister" || a->label == "cuMemMap") return false;
    of_host = of_host || a->origin == Origin::host || a->origin == Origin::managed;
    bytes += a->size;
  }
  if (of_host && threads_of_process() > 1) return false;
  if (options.schedules > 1) return true;
  if (!reads_what_others_write(*launch.program) || explored_bytes + 4 * bytes > kCopiedMemory) return false;
  explored_bytes += 4 * bytes;
  return true;
}

void Machine::State::explore(const Moment& before, const Launch& usual, std::string_view kernel,
                             const LaunchConfig& config, const LoadedProgram& program, LaunchReport& report) {
  if (report.fault != Fault::none) return;
  const auto& first = static_cast<const LaunchCheck&>(*usual.observer);
  if (first.strays) return;  // it has written what has not been kept
  if (options.schedules == 0) {
    const uint64_t instructions = usual.instructions.load();
    if (instructions > kShortLaunch || explored_instructions + instructions > kAllLaunches) return;
    explored_instructions += instructions;
  }
  std::set<Key> known;
  for (const Diagnostic& d : report.diagnostics) known.insert(key_of(d));
  const Moment after(*this, first);
  const uint32_t orders = options.schedules != 0 ? options.schedules : lets_in(*usual.program) ? 3 : 2;
  for (uint32_t k = 1; k < orders && !interrupted.load(); ++k) {
    before.put_back(*this);
    Launch other;
    configure(other, *usual.code, config);
    DeviceHeap scratch = before.heap;
    other.heap = &scratch;
    other.schedule = k;
    other.parameters = usual.parameters;
    const std::unique_ptr<LaunchCheck> check = begin_check(other);
    other.observer = check.get();
    Tally total(*other.program);
    run(other, kernel, total);
    next_access = check->records.next();
    std::vector<Diagnostic> found = check->findings.take();
    spare_records = check->records.give();
    for (auto& [block, d] : other.diagnostics) found.push_back(std::move(d));
    for (Diagnostic& d : found) {
      if (!known.insert(key_of(d)).second) continue;
      d.ptx_text = program.line_text(d.ptx_line);
      d.notes.push_back(k == 1   ? "in the reverse order of blocks and warps"
                        : k == 2 ? "in an order in which others overtake a warp behind its atomics"
                                 : "in order " + std::to_string(k + 1) + " of blocks and warps (--schedules)");
      report.diagnostics.push_back(std::move(d));
    }
  }
  after.put_back(*this);
}

}  // namespace coalesce::machine
