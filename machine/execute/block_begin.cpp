// A block's beginning: the areas of its registers, its memory, the values of its builtin registers.
#include <algorithm>
#include <cstring>

#include "machine/execute/block.h"
#include "machine/execute/launch.h"
#include "machine/isa/row.h"

namespace coalesce::machine {

namespace {

// Registers of warps that run together, in bytes: what stays in the first cache beside the memory they use.
constexpr uint32_t kTogetherBytes = 24u << 10;
// Registers of a block that a thread keeps the memory of. Otherwise the system would take it back after each launch,
// and hand it out again page by page: with 256 KiB 0.03 of a launch's 3 ms.
constexpr std::size_t kKeptBytes = 4u << 20;

}  // namespace

BlockRun::BlockRun(Worker& worker)
    : worker_(worker),
      launch_(worker.launch),
      warps_(launch_.warps_per_block),
      warned_(launch_.program->blocks.size()) {
  // Full-width moves may touch up to 128 bytes beyond the lanes that are on: never outside the vector.
  shared_.resize(launch_.shared_bytes + 256 + 64);
  auto* shared = align64(shared_.data() + 128);
  const uint32_t local = (launch_.program->local_bytes + 15) / 16 * 16;
  local_.resize(std::size_t{local} * kLanes * warps_.size() + 64);
  auto* local_base = align64(local_.data());
  for (uint32_t w = 0; w < warps_.size(); ++w) {
    Warp& warp = warps_[w];
    warp.worker = &worker_;
    warp.owner = this;
    warp.index = w;
    warp.next = sizeof(Warp);
    warp.base[3] = nullptr;
    warp.shared = shared;
    warp.shared_bytes = launch_.shared_bytes;
    warp.local = local_base + std::size_t{local} * kLanes * w;
    warp.local_bytes = local;
  }
  turns_ = order_of_warps();
  std::swap(area_, worker_.kept);
  lay_out(*launch_.code);
  if (launch_.observer) own_observer_ = launch_.observer->observe_blocks();
}

BlockRun::~BlockRun() {
  const std::size_t size = area_.bytes.capacity();
  if (size > worker_.kept.bytes.capacity() && size <= kKeptBytes) std::swap(area_, worker_.kept);
}

void BlockRun::lay_out(const Code& code) {
  code_ = &code;
  const std::size_t size = code.block_bytes + std::size_t{code.warp_bytes} * warps_.size() + 64;
  // True if the registers lie as the previous block left them.
  const bool there = area_.code == code.id && area_.block == launch_.block && area_.bytes.size() == size;
  if (!there) area_.bytes.assign(size, std::byte{0});
  area_.code = code.id;
  area_.block = launch_.block;
  block_area_ = align64(area_.bytes.data());
  group_ = std::max(1u, kTogetherBytes / std::max(1u, code.warp_bytes));
  const auto& ntid = launch_.block;
  for (uint32_t w = 0; w < warps_.size(); ++w) {
    Warp& warp = warps_[w];
    warp.base[kLaunch] = code_ == launch_.code ? launch_.area.base : launch_.scattered_area.base;
    warp.base[kBlock] = block_area_;
    warp.base[kWarp] = block_area_ + code.block_bytes + std::size_t{code.warp_bytes} * w;
    warp.stride[kWarp] = code.warp_bytes;
  }
  if (there) return;
  for (const BuiltinSlot& slot : code.builtins) {
    const Register& r = launch_.program->registers[slot.reg];
    if (r.lanes == LaneClass::constant) continue;
    switch (r.builtin) {
      case Builtin::tid_x:
        // In a line of threads it goes on behind the last one.
        put_threads(slot, 1, ntid[1] == 1 && ntid[2] == 1 ? ~0u : ntid[0]);
        break;
      case Builtin::tid_y:
        put_threads(slot, ntid[0], ntid[1]);
        break;
      case Builtin::tid_z:
        put_threads(slot, ntid[0] * ntid[1], ~0u);
        break;
      case Builtin::warpid:
        put_threads(slot, kLanes, ~0u);
        break;
      default:
        break;
    }
  }
}

// For each thread t of the block: t / each % end. Counted up, as 2048 divisions for a block of 1024 threads take longer
// than all else that a launch begins with.
void BlockRun::put_threads(const BuiltinSlot& slot, uint32_t each, uint32_t end) {
  uint32_t value = 0, times = 0;
  for (Warp& warp : warps_) {
    uint32_t values[kLanes];
    for (uint32_t& v : values) {
      v = value;
      if (++times < each) continue;
      times = 0;
      if (++value == end) value = 0;
    }
    if (slot.scalar != kNoSlot) std::memcpy(warp.at<uint32_t>(slot.scalar), values, 4);
    if (slot.vector != kNoSlot) std::memcpy(warp.at<uint32_t>(slot.vector), values, sizeof values);
  }
}

void BlockRun::set_block_builtins(std::byte* block_area) {
  for (const BuiltinSlot& slot : code_->builtins) {
    uint32_t value = 0;
    switch (launch_.program->registers[slot.reg].builtin) {
      case Builtin::ctaid_x:
        value = ctaid_[0];
        break;
      case Builtin::ctaid_y:
        value = ctaid_[1];
        break;
      case Builtin::ctaid_z:
        value = ctaid_[2];
        break;
      case Builtin::smid:
        value = static_cast<uint32_t>(index_ % std::max(1u, launch_.device->multiprocessors));
        break;
      default:
        continue;
    }
    if (slot.scalar != kNoSlot) *reinterpret_cast<uint32_t*>(block_area + (slot.scalar & ~3u)) = value;
    if (slot.vector == kNoSlot) continue;
    auto* to = reinterpret_cast<uint32_t*>(block_area + (slot.vector & ~3u));
    std::fill(to, to + kLanes, value);
  }
}

// Bookkeeping of a new block in lockstep mode; registers and memory are as they are.
void BlockRun::begin(uint64_t index) {
  index_ = index;
  observer_ = nullptr;
  ctaid_ = block_at(launch_.grid, launch_.cluster, index);
  seat_.leave();
  set_block_builtins(block_area_);
  for (Warp& w : warps_) {
    w.let_go = false;
    w.base[kBlock] = block_area_;
    w.running = false;
    w.ready.clear();
    w.at_sync.clear();
    w.at_barrier.clear();
    w.joins.clear();
    w.free_join = kNone;
    w.frames.clear();
  }
  arrived_.fill(0);
  native_end_ = 0;
  region_ = 0;
  spins_ = released_ = false;
  idle_yields_ = alive_at_yield_ = 0;
  last_block_ = 0;
  executed_ = 0;
  uncounted_ = worker_.instructions;
  mode_ = Mode::lockstep;
}

void BlockRun::start(uint64_t index) {
  if (code_ != launch_.code) lay_out(*launch_.code);
  begin(index);
  for (Warp& w : warps_) {
    const uint32_t first = w.index * kLanes, left = launch_.threads_per_block - first;
    w.alive = left >= kLanes ? ~0u : (1u << left) - 1;
  }
  // Registers read before they are written, local and shared memory hold anything on hardware. Zeros make runs
  // repeatable, whatever ran here before.
  for (uint32_t r : launch_.program->blocks[0].live_in) {
    const Register& reg = launch_.program->registers[r];
    const Slot slot = reg.lanes == LaneClass::general ? code_->homes[r].vector : code_->homes[r].scalar;
    if (reg.builtin != Builtin::none || slot == kNoSlot) continue;
    const std::size_t bytes = reg.element == Element::pred ? 4
                              : reg.lanes == LaneClass::general
                                  ? std::size_t{kLanes} * std::max(2u, bytes_of(reg.element))
                                  : 16;
    for (Warp& w : warps_) std::memset(w.at<std::byte>(slot), 0, bytes);
  }
  std::fill(local_.begin(), local_.end(), std::byte{0});
  std::fill(shared_.begin(), shared_.end(), std::byte{0});
  observer_ = own_observer_ && launch_.observer->next_watched(index) == index ? own_observer_.get() : nullptr;
  if (observer_) observer_->begin(index);
  if (launch_.schedule != 0) turns_ = order_of_warps();
  if (launch_.program->needs_general_mode || launch_.schedule != 0) enter_general(kNone, 0, 0);
}

}  // namespace coalesce::machine
