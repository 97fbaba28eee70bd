#include "machine/execute/launch.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <utility>

#include "machine/execute/block.h"
#include "machine/execute/native.h"
#include "machine/execute/pool.h"

namespace coalesce::machine {

namespace {

constexpr std::size_t kMaxResident = 64;               // blocks one worker keeps alive while they wait for others
constexpr uint64_t kChunk = 64, kLongestChunk = 1024;  // blocks
constexpr auto kShortChunk = std::chrono::milliseconds(1);
constexpr uint32_t kIdleYields = 64;

}  // namespace

static std::array<uint32_t, 3> thread_of(const Launch& launch, uint32_t warp, uint32_t lane) {
  const uint32_t t = warp * kLanes + lane;
  return {t % launch.block[0], t / launch.block[0] % launch.block[1], t / launch.block[0] / launch.block[1]};
}

Diagnostic diagnose(const Launch& launch, const BlockRun& run, uint32_t instruction, uint32_t lanes, Diagnostic d) {
  const Decoded& p = *launch.program;
  d.kernel = p.kernel;
  d.block = run.coordinates();
  d.warp = run.current_warp();
  d.lanes = lanes;
  if (lanes) {
    d.thread = thread_of(launch, d.warp, lowest(lanes));
  }
  if (instruction != kNone) {
    const Instruction& i = p.code[instruction];
    const Place& place = p.places[i.place];
    d.ptx_line = i.ptx_line;
    d.place = place.source;
    d.inlined_at = launch.observer && launch.observer->checks() ? inlined_to(p, instruction) : place.inlined_at;
  }
  return d;
}

namespace {

class Executor {
 public:
  Executor(Launch& launch, Pool& pool, unsigned number)
      : launch_(launch), number_(number), worker_(launch, pool.kept(number)) {
    for (const Instruction& i : launch.program->code) turns_ = turns_ || i.kind == Kind::call;
    turns_ = turns_ || launch.program->ordered_atomics;
  }

  void run(const std::function<void(uint64_t)>& progress) {
    auto last = std::chrono::steady_clock::now();
    uint64_t at = 0, end = 0;
    for (;;) {
      if (at == end && waiting_.size() < limit() && !take(&at, &end) && waiting_.empty()) break;
      if (at < end && clustered_) {
        start_cluster(at);
        at = end;
      } else if (at < end) {
        std::unique_ptr<BlockRun> block = fresh();
        // A watched block is interpreted; it ends a run of native ones.
        const uint64_t watched = launch_.observer ? launch_.observer->next_watched(at) : end;
        if (launch_.native) {
          if (!native_) native_ = launch_.native->find(launch_);
          block->use(watched == at ? nullptr : native_);
        }
        set_position(at);
        if (launch_.schedule != 0) {
          block->start(scheduled(launch_.schedule, 0, at, launch_.blocks));
          advance(std::move(block));
          ++at;
        } else {
          block->start(at, turns_ || watched == at ? at + 1 : std::min(end, watched));
          at = advance(std::move(block)) + 1;
        }
      }
      if (!waiting_.empty() && (at == end || waiting_.size() >= limit())) {
        // Blocks that wait for others: each in turn. Of a grid whose blocks may wait for all others, none before all
        // have begun; nor where they are to overtake one another.
        if ((launch_.cooperative || launch_.overtaken()) && waiting_.size() < limit() && take(&at, &end)) continue;
        std::vector<std::unique_ptr<BlockRun>> now;
        now.swap(waiting_);
        for (auto& b : now) advance(std::move(b));
        end_if_deadlocked();
      }
      if (number_ == 0 && progress) {
        const auto t = std::chrono::steady_clock::now();
        if (t - last >= std::chrono::seconds(1)) {
          last = t;
          progress(launch_.done.load(std::memory_order_relaxed));
        }
      }
    }
    set_position(~uint64_t{0});
    launch_.executors.fetch_sub(1);
    launch_.instructions.fetch_add(worker_.instructions, std::memory_order_relaxed);
  }

  Tally& tally() { return worker_.tally; }

 private:
  std::size_t limit() const { return launch_.cooperative ? ~std::size_t{0} : clustered_ ? 1 : kMaxResident; }

  std::unique_ptr<BlockRun> fresh() {
    if (spare_.empty()) return std::make_unique<BlockRun>(worker_);
    std::unique_ptr<BlockRun> block = std::move(spare_.back());
    spare_.pop_back();
    return block;
  }

  // All blocks of a cluster begin before any of them runs.
  void start_cluster(uint64_t first) {
    if (waiting_.empty()) clusters_.clear();
    const uint32_t blocks = launch_.cluster_blocks();
    clusters_.push_back(std::make_unique<Cluster>(blocks, launch_.threads_per_block));
    set_position(first);
    for (uint32_t rank = 0; rank < blocks; ++rank) {
      waiting_.push_back(fresh());
      waiting_.back()->start(first + rank);
      waiting_.back()->seat().join(*clusters_.back(), rank);
    }
  }

  bool take(uint64_t* first, uint64_t* last) {
    std::lock_guard lock(launch_.turn_mutex);
    const uint64_t next = launch_.next_block.load(std::memory_order_relaxed);
    if (next >= launch_.blocks || next > launch_.fault_block.load(std::memory_order_relaxed)) return false;
    // Fewer towards the end, so that no thread is left alone with many. Neighbours often read the same; where blocks
    // wait for their turn, few keep the others waiting less.
    const uint64_t parts = launch_.positions.size() * (turns_ ? 16 : 4);
    const uint64_t chunk = clustered_
                               ? launch_.cluster_blocks()
                               : std::clamp<uint64_t>((launch_.blocks - next) / parts, 1, turns_ ? kChunk : at_once());
    *first = next;
    *last = std::min(launch_.blocks, next + chunk);
    launch_.next_block.store(*last, std::memory_order_relaxed);
    launch_.positions[number_].store(next);
    return true;
  }

  // The most blocks to take now: twice as many when those before went by in a moment, half as many when they did not.
  // Long runs of neighbours read memory as a CPU expects it (two threads on a tree: 7 to 10 % faster than with 64 each
  // time); short times keep progress, interrupts and the switch to native code prompt.
  uint64_t at_once() {
    const auto now = std::chrono::steady_clock::now();
    const auto took = std::exchange(taken_, now);
    if (now - took < kShortChunk) {
      chunk_ = std::min(2 * chunk_, kLongestChunk);
    } else if (now - took > 4 * kShortChunk) {
      chunk_ = std::max(chunk_ / 2, kChunk);
    }
    return chunk_;
  }

  void set_position(uint64_t block) {
    launch_.positions[number_].store(block);
    if (launch_.waiting_for_turn.load()) {
      std::lock_guard lock(launch_.turn_mutex);
      launch_.turn_changed.notify_all();
    }
  }

  // Runs the block, and those after it that it was started with. Returns the last one that has ended, faulted or waits.
  uint64_t advance(std::unique_ptr<BlockRun> block) {
    const uint64_t first = block->index();
    uint64_t last = first;
    try {
      const uint64_t faulted = launch_.fault_block.load(std::memory_order_relaxed);
      if (block->index() > faulted || (checks() && faulted != ~uint64_t{0})) throw TurnAbandoned{};
      // A block that polls is given time before the next one starts beside it: what it waits for is most often a lock
      // within the block, and as long as it runs alone, in its turn, results and counters are those of one thread.
      BlockRun::Status status;
      do status = block->advance();
      while (status == BlockRun::Status::yielded && !launch_.together() && !launch_.overtaken() &&
             block->idle_yields() < kIdleYields && !block->waits_for_others());
      last = block->index();
      if (status == BlockRun::Status::yielded) {
        launch_.waited.store(true, std::memory_order_relaxed);
        launch_.done.fetch_add(last - first, std::memory_order_relaxed);
        waiting_.push_back(std::move(block));
        return last;
      }
      launch_.done.fetch_add(last - first + 1, std::memory_order_relaxed);
      warn(*block);
      if (BlockObserver* o = block->observer()) o->ends();
      block->seat().leave();
      spare_.push_back(std::move(block));
    } catch (const KernelFault& f) {
      last = block->index();
      fault(f, *block);
    } catch (const TurnAbandoned&) {  // NOLINT(bugprone-empty-catch): the lower block has said why
    }
    return last;
  }

  void fault(const KernelFault& f, const BlockRun& block) {
    Diagnostic d;
    d.fault = f.fault;
    d.message = f.message;
    d.notes = f.notes;
    d = diagnose(launch_, block, f.instruction, f.lanes, std::move(d));
    if (f.fault == Fault::deadlock && f.warp != kNone) {
      d.warp = f.warp;
      d.thread = thread_of(launch_, d.warp, lowest(f.lanes));
    }
    std::lock_guard lock(launch_.turn_mutex);
    launch_.diagnostics.emplace(block.index(), std::move(d));
    launch_.fault_block.store(std::min(launch_.fault_block.load(), block.index()));
    launch_.turn_changed.notify_all();
  }

  bool checks() const { return launch_.observer && launch_.observer->checks(); }

  // All blocks that run wait for each other, or for blocks that cannot begin.
  void end_if_deadlocked() {
    if (!checks()) return;
    const bool more = launch_.next_block.load() < launch_.blocks;
    if (waiting_.empty() || (more && waiting_.size() < limit()) ||
        !std::all_of(waiting_.begin(), waiting_.end(), [](const auto& b) { return b->waits_for_others(); }))
      return;
    std::sort(waiting_.begin(), waiting_.end(), [](const auto& a, const auto& b) { return a->index() < b->index(); });
    KernelFault f{Fault::deadlock, "deadlock: no thread that runs can go on; a real GPU would hang here", kNone, 0, {}};
    for (const auto& b : waiting_) b->add_waits(f);
    if (more) f.notes.push_back("blocks that have not begun wait for the end of one of these");
    fault(f, *waiting_.front());
    waiting_.clear();
  }

  void warn(const BlockRun& block) {
    for (Diagnostic d : block.warnings()) {
      const auto noted = [&](std::size_t k) { return static_cast<uint32_t>(std::stoul(d.notes[k])); };
      const uint32_t instruction = noted(0), absent = noted(1);
      const auto who = thread_of(launch_, d.warp, lowest(absent));
      const int more = std::popcount(absent) - 1;
      d.notes = {"thread (" + std::to_string(who[0]) + ", " + std::to_string(who[1]) + ", " + std::to_string(who[2]) +
                 ")" + (more ? " and " + std::to_string(more) + " more of the warp are" : " is") + " not there"};
      const uint32_t warp = d.warp, mask = d.lanes;
      d = diagnose(launch_, block, instruction, 0, std::move(d));
      d.warp = warp;
      d.lanes = mask;
      d.thread = thread_of(launch_, warp, lowest(mask));
      std::lock_guard lock(launch_.report_mutex);
      launch_.diagnostics.emplace(block.index(), std::move(d));
    }
  }

  Launch& launch_;
  unsigned number_;
  Worker worker_;
  const bool clustered_ = launch_.cluster_blocks() > 1;
  bool turns_ = false;           // blocks may have to wait for their turn, which positions say: one at a time
  uint64_t chunk_ = kChunk / 2;  // at_once() doubles it before the first
  std::chrono::steady_clock::time_point taken_ = std::chrono::steady_clock::now();
  std::shared_ptr<const NativeKernel> native_;
  std::vector<std::unique_ptr<Cluster>> clusters_;  // of the blocks that wait
  std::vector<std::unique_ptr<BlockRun>> spare_, waiting_;
};

}  // namespace

void Launch::wait_turn(uint64_t mine_index) {
  if (positions.size() <= 1) return;
  const auto mine = [&] {
    for (const auto& p : positions)
      if (p.load() < mine_index) return false;
    return true;
  };
  if (mine()) return;
  std::unique_lock lock(turn_mutex);
  waiting_for_turn.fetch_add(1);
  bool abandoned = false;
  while (!mine() && !(abandoned = fault_block.load() < mine_index))
    turn_changed.wait_for(lock, std::chrono::milliseconds(20));
  waiting_for_turn.fetch_sub(1);
  if (abandoned) throw TurnAbandoned{};
}

void Launch::abandon(unsigned number) {
  std::lock_guard lock(turn_mutex);
  fault_block.store(0);
  positions[number].store(~uint64_t{0});
  turn_changed.notify_all();
}

void run_blocks(Launch& launch, Pool& pool, unsigned threads, Tally& total,
                const std::function<void(uint64_t)>& progress) {
  launch.positions = std::vector<std::atomic<uint64_t>>(threads);
  launch.executors.store(threads);
  for (auto& p : launch.positions) p.store(0);  // until each has taken its first blocks nobody's turn has come
  std::mutex merge;
  pool.run(threads, [&](unsigned number) {
    try {
      Executor executor(launch, pool, number);
      executor.run(number == 0 ? progress : std::function<void(uint64_t)>());
      std::lock_guard lock(merge);
      total.add(executor.tally());
    } catch (...) {  // such as no memory: the caller of launch() gets it, once the others have ended
      launch.abandon(number);
      throw;
    }
  });
}

}  // namespace coalesce::machine
