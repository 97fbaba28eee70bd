// Running native code: what a kernel keeps beside its code, and the helpers that the code calls.
#include "native/load.h"

#include <cstring>
#include <exception>
#include <map>
#include <stdexcept>

#include "machine/execute/block.h"
#include "machine/execute/memory_ops.h"
#include "machine/observe/traffic.h"
#include "native/elf.h"
#include "native/frame.h"

namespace coalesce::native {

using namespace machine;

namespace {

// ---- The kernel ----------------------------------------------------------------------------------------------------

struct Plan {
  bool native = false, exits = false;
  std::map<uint32_t, uint32_t> position;  // by block
};

class Kernel : public NativeKernel, public std::enable_shared_from_this<Kernel> {
 public:
  Kernel(const Code& code, const Object& object);
  bool enters(uint32_t region) const override { return regions[region].native; }
  std::unique_ptr<NativeRunner> runner(BlockRun& owner) const override;

  const Code& code;
  Executable loaded;
  std::vector<Plan> regions;
  std::vector<Step> pure;        // on the scratch
  std::vector<Step> steps;       // on the warp's slots
  std::vector<uint32_t> window;  // by step: the memory operation whose allocation it looks up
  std::vector<uint32_t> passed;  // memory operations that remember accesses by all warps
  uint32_t memos = 0;
  std::vector<bool> lazy;  // by register: its slot may hold any NaN, where the interpreter has one only
};

// Operand k of a computing step is at 512 k of the scratch, result k at 512 (4 + k).
constexpr std::size_t kOperand = 512, kResults = 4, kScratch = kOperand * 6;

Kernel::Kernel(const Code& of, const Object& object) : code(of), loaded(load_elf(object.code)) {
  auto next = object.words.begin();
  const auto take = [&] {
    if (next == object.words.end()) throw std::runtime_error("cut off");
    return *next++;
  };
  if (take() != code.program->regions.size()) throw std::runtime_error("of another kernel");
  for (std::size_t r = 0; r < code.program->regions.size(); ++r) {
    Plan plan;
    plan.native = take();
    plan.exits = take();
    for (uint32_t n = take(); n > 0; --n) {
      const uint32_t block = take();
      plan.position[block] = take();
    }
    regions.push_back(std::move(plan));
  }
  for (uint32_t n = take(); n > 0; --n) {
    const uint32_t index = take();
    const PureOp& op = *code.program->code.at(index & 0x7fffffffu).pure;
    Step s;
    s.run = index >> 31 ? op.scalar : op.full;
    s.extra = op.extra;
    for (uint32_t k = 0; k < 4; ++k) s.src[k] = static_cast<Slot>(kOperand * k) | kWarp;
    for (uint32_t k = 0; k < 2; ++k) s.dst[k] = static_cast<Slot>(kOperand * (kResults + k)) | kWarp;
    pure.push_back(s);
  }
  std::map<uint32_t, Step> by_instruction;
  const auto remember = [&](const Step& s) {
    const void* extra = s.extra;
    for (const auto& a : code.accesses)
      if (a.get() == extra) by_instruction.emplace(a->instruction, s);
    for (const auto& o : code.lane_ops)
      if (o.get() == extra) by_instruction.emplace(o->index, s);
  };
  for (const Step& s : code.steps) {
    if (!s.extra) continue;
    remember(s);
    for (const auto& g : code.guards)
      if (g.get() == s.extra) remember(g->inner);
  }
  for (uint32_t n = take(); n > 0; --n) {
    const uint32_t index = take();
    steps.push_back(by_instruction.at(index));
    const Instruction& i = code.program->code[index];
    const bool caches = i.memory != kNone && i.kind != Kind::atomic &&
                        (code.program->memory[i.memory].space == AddressSpace::global ||
                         code.program->memory[i.memory].space == AddressSpace::constant);
    window.push_back(caches ? i.memory : kNone);
  }
  for (uint32_t n = take(); n > 0; --n) passed.push_back(take());
  memos = take();
  lazy.assign(code.program->registers.size(), false);
  while (next != object.words.end()) lazy.at(take()) = true;
}

class Runner : public NativeRunner {
 public:
  Runner(std::shared_ptr<const Kernel> kernel, BlockRun& owner);
  // Ranges of touched bytes grow over all its thread blocks; what is left of them is marked now.
  ~Runner() override {
    for (uint32_t k = 0; k < sites_.size(); ++k) mark_all(k);
    touched_.mark_all();
  }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  NativeStop run(uint64_t block, uint64_t end, uint32_t region) override;

 private:
  static Runner& of(Frame* f) { return *reinterpret_cast<Holder*>(f)->runner; }
  static void start_block(Frame* f);
  static Status step(Frame* f, uint32_t index, uint32_t warp, uint32_t mask, uint32_t block);
  static void touch(Frame* f, uint32_t site, uint32_t warp, uint64_t low, uint64_t high);
  static void touch_all(Frame* f, uint32_t site, uint64_t first, uint64_t step);
  static void gaps(Frame* f, uint32_t site, uint64_t base, uint32_t mask);
  static uint64_t affine_cost(Frame* f, uint32_t base, uint32_t stride, uint32_t mask, uint32_t how);
  static void judge(Frame* f, Memo* memo, uint32_t mask, uint32_t how);
  static void count_atomics(Frame* f);
  static void shared_atomic(Frame* f, uint32_t memory, uint32_t mask);
  static Status tick(Frame* f, uint32_t warp, uint32_t mask, uint32_t block, uint64_t instructions);

  Track& track(uint32_t site, uint32_t warp) { return tracks_[(site * alive_.size()) + (warp & sites_[site].own)]; }
  void mark(uint32_t site, Track& track);
  void mark_all(uint32_t site);
  void look_for_all(uint32_t site);
  void adopt_window(uint32_t site);
  void count_faulted();
  void end_warps(uint32_t region);

  struct Holder {  // the frame, and whose it is
    Frame frame;
    Runner* runner;
  };
  std::shared_ptr<const Kernel> kernel_;
  BlockRun& owner_;
  Worker& worker_;
  const Launch& launch_;
  const Decoded& program_;
  Holder holder_;
  Frame& frame_;
  std::vector<uint32_t> alive_;
  std::vector<SiteState> sites_;
  std::vector<Track> tracks_;                   // by site, then warp
  std::vector<const Allocation*> allocations_;  // by site
  TouchedLines touched_;
  std::vector<Passed> passed_;
  std::vector<Memo> memo_space_;
  Uncounted uncounted_{};
  std::vector<std::byte> scratch_space_;
  Context context_{};
  std::exception_ptr thrown_;
  uint64_t prepaid_ = 0;  // instructions charged for while the code runs
  uint32_t fault_warp_ = 0, fault_block_ = 0;
  std::vector<std::pair<Slot, std::size_t>> zeroed_;  // registers of a warp read before they are written
};

template <class T>
T* align64(T* p) {
  return reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(p) + 63) / 64 * 64);
}

std::size_t slot_bytes(const Register& r) {
  const std::size_t each = r.element == Element::b64    ? 8
                           : r.element == Element::b128 ? 16
                           : r.element == Element::b32  ? 4
                                                        : 2;
  return r.element == Element::pred ? 4 : r.lanes == LaneClass::general ? kLanes * each : 16;
}

Runner::Runner(std::shared_ptr<const Kernel> kernel, BlockRun& owner)
    : kernel_(std::move(kernel)),
      owner_(owner),
      worker_(owner.worker()),
      launch_(worker_.launch),
      program_(*launch_.program),
      holder_{{}, this},
      frame_(holder_.frame),
      alive_(owner.warps().size()),
      sites_(program_.memory.size()),
      tracks_(program_.memory.size() * owner.warps().size()),
      allocations_(program_.memory.size()),
      passed_(kernel_->passed.size() * Passed::kMany),
      memo_space_((kernel_->memos * owner.warps().size()) + 1),
      scratch_space_(kScratch + 64) {
  frame_.grid_x = launch_.grid[0];
  frame_.grid_y = launch_.grid[1];
  frame_.multiprocessors = std::max(1u, launch_.device->multiprocessors);
  frame_.launch_area = launch_.area.base;
  frame_.alive = alive_.data();
  frame_.tally = worker_.tally.words.data();
  frame_.sites = sites_.data();
  for (std::size_t k = 0; k < kernel_->passed.size(); ++k)
    sites_[kernel_->passed[k]].passed = &passed_[k * Passed::kMany];
  frame_.tracks = tracks_.data();
  frame_.memos = memo_space_.data();
  frame_.uncounted = &uncounted_;
  frame_.touched = touched_.data();
  frame_.scratch = align64(scratch_space_.data());
  context_.base[kLaunch] = context_.base[kBlock] = context_.base[kWarp] = frame_.scratch;
  context_.active = ~0u;
  frame_.context = &context_;
  frame_.pure = kernel_->pure.data();
  frame_.start_block = start_block;
  frame_.step = step;
  frame_.touch = touch;
  frame_.touch_all = touch_all;
  frame_.gaps = gaps;
  frame_.affine_cost = affine_cost;
  frame_.judge = judge;
  frame_.tick = tick;
  frame_.count_atomics = count_atomics;
  frame_.shared_atomic = shared_atomic;
  for (uint32_t r : program_.blocks[0].live_in) {
    const Register& reg = program_.registers[r];
    const Slot slot = reg.lanes == LaneClass::general ? kernel_->code.homes[r].vector : kernel_->code.homes[r].scalar;
    if (reg.builtin == Builtin::none && reg.lanes > LaneClass::block_uniform)
      zeroed_.push_back({slot, slot_bytes(reg)});
  }
}

std::unique_ptr<NativeRunner> Kernel::runner(BlockRun& owner) const {
  return std::make_unique<Runner>(shared_from_this(), owner);
}

NativeStop Runner::run(uint64_t block, uint64_t end, uint32_t region) {
  std::vector<Warp>& warps = owner_.warps();
  frame_.block_area = owner_.block_area();
  frame_.warp_area = warps[0].base[kWarp];
  frame_.shared = warps[0].shared;
  frame_.shared_bytes = warps[0].shared_bytes;
  frame_.local = warps[0].local;
  frame_.end = end;
  frame_.block = block;
  frame_.region = region;
  if (!owner_.native_fresh() || region != 0) {  // in the middle of a block
    for (std::size_t w = 0; w < warps.size(); ++w) alive_[w] = warps[w].alive;
    if (region == 0) frame_.region = program_.regions.size();
  }
  for (;;) {
    frame_.alive_warps = frame_.alive_lanes = 0;
    for (const uint32_t mask : alive_) {
      frame_.alive_warps += mask != 0;
      frame_.alive_lanes += count_lanes(mask);
    }
    const uint32_t outcome = kernel_->loaded.entry(&frame_);
    count_atomics(&frame_);
    worker_.instructions += frame_.instructions - std::exchange(prepaid_, 0);
    for (std::size_t w = 0; w < warps.size(); ++w) warps[w].alive = alive_[w];
    if (outcome == kPaused) {
      const uint32_t at = program_.regions[frame_.region].chain.front();
      owner_.native_charge(frame_.block, 0, at, warps[0].alive);
      if (frame_.region == 0) frame_.region = program_.regions.size();
      continue;
    }
    if (outcome == kFaulted) {
      count_faulted();
      owner_.native_at(frame_.block, fault_warp_, fault_block_);
      std::rethrow_exception(std::exchange(thrown_, nullptr));
    }
    if (worker_.instructions > (1u << 16)) owner_.native_charge(frame_.block, 0, 0, warps[0].alive);
    if (outcome == kDone) return {frame_.block, kNone};
    end_warps(static_cast<uint32_t>(frame_.region));
    return {frame_.block, static_cast<uint32_t>(frame_.region)};
  }
}

// At the beginning of `region` for the interpreter: scalars are in their slots, here come their vector forms, and NaNs
// of single precision arithmetic as PTX has them.
void Runner::end_warps(uint32_t region) {
  const Code& code = kernel_->code;
  const auto expand = [&](uint32_t r, Warp& w) {
    const Register& reg = program_.registers[r];
    const Home& home = code.homes[r];
    const std::size_t size = slot_bytes(reg) == 16 ? (reg.element == Element::b64    ? 8
                                                      : reg.element == Element::b128 ? 16
                                                      : reg.element == Element::b32  ? 4
                                                                                     : 2)
                                                   : 0;
    if (!size || home.vector == kNoSlot || home.vector == home.scalar) return;
    u128 value = 0;
    std::memcpy(&value, w.at<std::byte>(home.scalar), size);
    for (uint32_t l = 0; l < kLanes; ++l, value += static_cast<u128>(static_cast<uint64_t>(reg.stride)))
      std::memcpy(w.at<std::byte>(home.vector) + l * size, &value, size);
  };
  for (uint32_t r : program_.blocks[program_.regions[region].chain.front()].live_in) {
    const Register& reg = program_.registers[r];
    if (reg.builtin != Builtin::none) continue;
    if (reg.lanes == LaneClass::general) {
      if (!kernel_->lazy[r]) continue;
      for (Warp& w : owner_.warps()) {
        auto* lanes = w.at<uint32_t>(code.homes[r].vector);
        for (uint32_t l = 0; l < kLanes; ++l)
          if ((lanes[l] & 0x7fffffffu) > 0x7f800000u) lanes[l] = 0x7fffffffu;
      }
      continue;
    }
    for (Warp& w : owner_.warps()) {
      expand(r, w);
      if (reg.lanes <= LaneClass::block_uniform) break;
    }
  }
}

// A fault ends the block in the middle of a region whose warps are counted at its end: counts those that have run.
void Runner::count_faulted() {
  const Plan& plan = kernel_->regions[frame_.region];
  if (plan.exits) return;
  const std::vector<uint32_t>& chain = program_.regions[frame_.region].chain;
  for (uint32_t w = 0; w <= fault_warp_; ++w) {
    if (!alive_[w]) continue;
    for (uint32_t k = 0; k < chain.size(); ++k) {
      if (program_.blocks[chain[k]].divergent) continue;
      if (w == fault_warp_ && k > plan.position.at(fault_block_)) break;
      worker_.tally.executions[chain[k]] += 1;
      worker_.tally.lanes[chain[k]] += count_lanes(alive_[w]);
      worker_.instructions += program_.blocks[chain[k]].instructions;
    }
  }
}

// ---- What generated code calls ------------------------------------------------------------------------------------

void Runner::start_block(Frame* f) {
  Runner& r = of(f);
  std::vector<Warp>& warps = r.owner_.warps();
  if (r.program_.local_bytes) std::memset(f->local, 0, std::size_t{warps[0].local_bytes} * kLanes * warps.size());
  for (const auto& [slot, bytes] : r.zeroed_)
    for (Warp& w : warps) std::memset(w.at<std::byte>(slot), 0, bytes);
}

Status Runner::step(Frame* f, uint32_t index, uint32_t warp, uint32_t mask, uint32_t block) {
  Runner& r = of(f);
  const Step& s = r.kernel_->steps[index];
  Warp& w = r.owner_.warps()[warp];
  w.active = mask;
  w.alive = r.alive_[warp];
  try {
    s.run(s, w);
  } catch (...) {
    r.thrown_ = std::current_exception();
    r.fault_warp_ = warp;
    r.fault_block_ = block;
    return 1;
  }
  if (const uint32_t window = r.kernel_->window[index]; window != kNone) r.adopt_window(window);
  return 0;
}

void Runner::mark(uint32_t site, Track& t) {
  if (t.low < t.high) {
    const Allocation& a = *allocations_[site];
    const uint64_t first = (t.low - a.base) / 32, last = (t.high - 1 - a.base) / 32;
    sites_[site].ended += touched_.add(*a.touched, a.touched_at + first, last - first + 1);
  }
  t.low = t.high = 0;
}

// Of an allocation of which enough has been touched: whether that is all. Tried when only ranges that go on can be
// missing, which are counted from then on, and when the count is full; and each time that patience has ended.
void Runner::look_for_all(uint32_t site) {
  SiteState& s = sites_[site];
  if (!s.patience) s.patience = s.patient *= 2;
  s.enough = s.ended < s.size / 32 ? s.size / 32 : ~uint64_t{0};
  mark_all(site);
  touched_.mark_all();
  const Allocation& a = *allocations_[site];
  const uint64_t first = (s.base - a.base) / 32, last = (s.base + s.size - 1 - a.base) / 32;
  s.all = a.touched->holds(a.touched_at + first, last - first + 1);
  if (s.all) s.enough = ~uint64_t{0};
}

void Runner::mark_all(uint32_t site) {
  if (!allocations_[site]) return;
  const std::size_t ranges = sites_[site].own ? alive_.size() : 1;
  for (std::size_t w = 0; w < ranges; ++w) mark(site, track(site, static_cast<uint32_t>(w)));
}

// The interpreter has looked up this site's allocation: from now on it is checked against here.
void Runner::adopt_window(uint32_t site) {
  const Window& w = worker_.windows[site];
  SiteState& s = sites_[site];
  if (!w.allocation || (w.allocation == allocations_[site] && s.base == w.base && s.size == w.end - w.base)) return;
  mark_all(site);
  const MemoryOp& m = program_.memory[site];
  const bool uniform = !m.address.is_reg() || program_.registers[m.address.reg].lanes <= LaneClass::warp_uniform;
  const uint64_t needs = uniform ? m.bytes() : uint64_t{m.bytes()} * kLanes;
  allocations_[site] = w.allocation;
  s.base = w.base;
  s.size = w.end - w.base;
  s.limit = s.size >= needs ? s.size - needs + 1 : 0;
  s.marks = w.allocation->touched->marks(w.allocation->touched_at);
  if (s.passed) std::fill_n(s.passed, Passed::kMany, Passed{});
  // What the thread's own memory of sectors has room for is small enough to be in the CPU's caches: nothing is fetched
  // ahead there, either. Each warp may be in the middle of a range, such as a row of tiles.
  const uint64_t sectors = s.size / 32, open = std::min<uint64_t>(sectors / 8, alive_.size() * 64);
  s.all = 0;
  s.ended = 0;
  const bool small = sectors <= TouchedLines::kLines * 64;
  s.enough = small ? sectors - open : ~uint64_t{0};
  s.patience = s.patient = small ? sectors / 4 : 0;
}

void Runner::touch(Frame* f, uint32_t site, uint32_t warp, uint64_t low, uint64_t high) {
  constexpr uint32_t kMany = 256;
  Runner& r = of(f);
  SiteState& s = r.sites_[site];
  // Ranges that do not go on, but might have had the warps extended them the other way.
  const bool better = !s.own || (warp > 0 && r.track(site, warp - 1).high == low);
  if (better && ++s.jumps == kMany) {
    r.mark_all(site);
    s.own = ~s.own;
    s.jumps = 0;
  }
  Track& t = r.track(site, warp);
  r.mark(site, t);
  t.low = low;
  t.high = high;
  if (s.ended >= s.enough || (s.patient && !s.patience)) r.look_for_all(site);
}

void Runner::touch_all(Frame* f, uint32_t site, uint64_t first, uint64_t step) {
  Runner& r = of(f);
  SiteState& s = r.sites_[site];
  const uint64_t bytes = uint64_t{r.program_.memory[site].bytes()} * kLanes, warps = r.alive_.size();
  s.passed[Passed::place(first)] = {first, step};
  if (step == bytes) {  // one range
    const uint64_t end = first + warps * bytes;
    Track& t = r.track(site, 0);
    if (first == t.high) {
      t.high = end;
    } else if (first < t.low || end > t.high) {
      r.mark(site, t);
      const Allocation& a = *r.allocations_[site];
      s.ended += r.touched_.add(*a.touched, a.touched_at + (first - a.base) / 32, (end - first) / 32);
      t.low = t.high = end;
      if (s.ended >= s.enough || (s.patient && !s.patience)) r.look_for_all(site);
    }
    return;
  }
  const Allocation& a = *r.allocations_[site];
  s.ended += r.touched_.add_each(*a.touched, a.touched_at + (first - a.base) / 32, bytes / 32,
                                 static_cast<int64_t>(step) / 32, warps);
  if (s.ended >= s.enough) r.look_for_all(site);
}

void Runner::gaps(Frame* f, uint32_t site, uint64_t base, uint32_t mask) {
  Runner& r = of(f);
  const MemoryOp& m = r.program_.memory[site];
  SiteTally& t = r.worker_.tally.sites[m.site];
  const GlobalCost c = global_cost_contiguous(base, mask, m.bytes());
  t.sectors += c.sectors;
  t.lines += c.lines;
  t.bytes += c.bytes;
  const Allocation& a = *r.allocations_[site];
  // Gaps smaller than a sector, as in a tree's first steps: all the sectors between the first lane and the last.
  const uint64_t from = base + uint64_t{lowest(mask)} * m.bytes(),
                 to = base + uint64_t{highest(mask) + 1} * m.bytes() - 1;
  if (to / 32 - from / 32 + 1 == c.sectors) {
    const uint64_t first = (from - a.base) / 32;
    return Memory::mark(a, first, (to - a.base) / 32 - first + 1);
  }
  for (uint32_t left = mask; left; left &= left - 1) {
    const uint64_t low = base + uint64_t{lowest(left)} * m.bytes() - a.base, last = low + m.bytes() - 1;
    Memory::mark(a, low / 32, last / 32 - low / 32 + 1);
  }
}

uint64_t Runner::affine_cost(Frame*, uint32_t base, uint32_t stride, uint32_t mask, uint32_t how) {
  const SharedCost c = how & 256 ? shared_store_cost_affine(base, stride, mask, how & 255)
                                 : shared_load_cost_affine(base, stride, mask, how & 255);
  return c.wavefronts | uint64_t{c.ideal} << 32;
}

// `wavefronts` as the tally has them: of accesses up to 4 bytes only what exceeds one.
void Runner::judge(Frame*, Memo* memo, uint32_t mask, uint32_t how) {
  const uint32_t bytes = how & 255;
  const uint32_t* address = memo->address;
  // index * 2 * stride: lanes a step apart that nobody could know before.
  const uint32_t first = lowest(mask), step = address[(first + 1) & 31] - address[first];
  const bool store = how & 256;
  SharedCost c;
  if (affine(address, mask, step))
    c = store ? shared_store_cost_affine(address[first] - first * step, step, mask, bytes)
              : shared_load_cost_affine(address[first] - first * step, step, mask, bytes);
  else
    c = store ? shared_store_cost(address, mask, bytes) : shared_load_cost(address, mask, bytes);
  memo->wavefronts = bytes > 4 ? c.wavefronts : c.wavefronts - 1;
  memo->ideal = bytes > 4 ? c.ideal : 0;
}

namespace {

// Lane after lane. `old`: whether the words as they were are asked for.
template <class T, class Update>
void update_lanes(std::byte* shared, uint32_t* scratch, uint32_t mask, bool old, Update update) {
  const uint32_t *address = scratch, *operand = scratch + 128;
  const auto one = [&](uint32_t l) {
    T value;
    std::memcpy(&value, shared + address[l], 4);
    if (old) scratch[256 + l] = static_cast<uint32_t>(value);
    value = update(value, static_cast<T>(operand[l]));
    std::memcpy(shared + address[l], &value, 4);
  };
  if (mask != ~0u) {
    for (uint32_t left = mask; left; left &= left - 1) one(lowest(left));
  } else if (old) {
    for (uint32_t l = 0; l < kLanes; ++l) one(l);
  } else {
    for (uint32_t l = 0; l < kLanes; l += 8)
      one(l), one(l + 1), one(l + 2), one(l + 3), one(l + 4), one(l + 5), one(l + 6), one(l + 7);
  }
}

}  // namespace

void Runner::count_atomics(Frame* f) {
  Uncounted& u = *f->uncounted;
  if (u.n == 0) return;
  SiteTally* sites = of(f).worker_.tally.sites;
  uint32_t wavefronts[Uncounted::kMost];
  shared_atomic_wavefronts(u.word, wavefronts);  // of those behind the last one, too, which nobody asks for
  for (uint64_t k = 0; k < u.n; ++k) sites[u.site[k]].wavefronts += wavefronts[k] - 1;
  u.n = 0;
}

void Runner::shared_atomic(Frame* f, uint32_t memory, uint32_t mask) {
  Runner& r = of(f);
  const MemoryOp& m = r.program_.memory[memory];
  uint32_t* address = reinterpret_cast<uint32_t*>(f->scratch);
  SiteTally& t = r.worker_.tally.sites[m.site];
  if (r.program_.sites[m.site].dynamic_requests) t.requests += 1;
  t.wavefronts +=
      (m.counts_lanes ? shared_store_cost(address, mask, 4) : shared_atomic_cost(address, mask, 4)).wavefronts - 1;
  const auto update = [&](auto zero, auto how) {
    update_lanes<decltype(zero)>(f->shared, address, mask, m.result != kNone, how);
  };
  const bool is_signed = m.number == Number::signed_;
  switch (m.op) {
    case AtomicOp::add:
      update(0u, [](uint32_t a, uint32_t b) { return a + b; });
      break;
    case AtomicOp::min:
      is_signed ? update(0, [](int32_t a, int32_t b) { return std::min(a, b); })
                : update(0u, [](uint32_t a, uint32_t b) { return std::min(a, b); });
      break;
    case AtomicOp::max:
      is_signed ? update(0, [](int32_t a, int32_t b) { return std::max(a, b); })
                : update(0u, [](uint32_t a, uint32_t b) { return std::max(a, b); });
      break;
    case AtomicOp::and_:
      update(0u, [](uint32_t a, uint32_t b) { return a & b; });
      break;
    case AtomicOp::or_:
      update(0u, [](uint32_t a, uint32_t b) { return a | b; });
      break;
    case AtomicOp::xor_:
      update(0u, [](uint32_t a, uint32_t b) { return a ^ b; });
      break;
    default:  // exch
      update(0u, [](uint32_t, uint32_t b) { return b; });
      break;
  }
}

Status Runner::tick(Frame* f, uint32_t warp, uint32_t mask, uint32_t block, uint64_t instructions) {
  Runner& r = of(f);
  try {
    r.worker_.instructions += instructions;
    r.prepaid_ += instructions;
    r.owner_.native_charge(f->block, warp, block, mask);
    return 0;
  } catch (...) {
    r.thrown_ = std::current_exception();
    r.fault_warp_ = warp;
    r.fault_block_ = block;
    return 1;
  }
}

}  // namespace

std::shared_ptr<const NativeKernel> load(const Code& code, const Object& object) {
  if (object.code.empty()) return nullptr;
  try {
    return std::make_shared<Kernel>(code, object);
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace coalesce::native
