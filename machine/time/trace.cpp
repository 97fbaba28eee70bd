#include "machine/time/trace.h"

#include <algorithm>

#include "machine/execute/block.h"
#include "machine/memory/memory.h"
#include "machine/observe/traffic.h"

namespace coalesce::machine {

uint64_t Watched::next(uint64_t from) const {
  if (number == 0) return blocks;
  // The smallest k with block(k) >= from: block() grows with k.
  uint64_t low = 0, high = number;
  while (low < high) {
    const uint64_t middle = (low + high) / 2;
    if (block(middle) >= from)
      high = middle;
    else
      low = middle + 1;
  }
  return low == number ? blocks : block(low);
}

Watched watch(uint64_t blocks, uint32_t multiprocessors, uint64_t most) {
  Watched w;
  w.blocks = blocks;
  w.apart = std::max(1u, multiprocessors);
  // The multiprocessor of the last block, which may do what is left to do when all others have ended.
  w.first = blocks == 0 ? 0 : (blocks - 1) % w.apart;
  w.of_all = blocks == 0 ? 0 : (blocks - 1) / w.apart + 1;
  w.number = std::min(w.of_all, std::max<uint64_t>(1, most));
  return w;
}

class BlockTracer : public BlockObserver {
 public:
  explicit BlockTracer(TimeTrace& trace) : trace_(trace) {}
  ~BlockTracer() override { keep(); }

  void begin(uint64_t block) override {
    keep();
    block_ = block;
    now_.warps.assign(trace_.warps_, {});
  }
  void access(const Access& a, Warp& w) override;
  void event(const Instruction&, Warp&) override {}
  void lanes(const LaneOp&, Warp&) override {}
  void enters(uint32_t block, Warp& w) override {
    if (room(w)) put(w, TraceWord::head(TraceKind::block, block));
  }
  void computes(uint32_t, Warp&) override {}
  void decides(uint32_t, uint32_t, Warp&) override {}
  void barrier(const std::vector<Arrival>&, uint32_t, bool) override {}
  void arrive(uint32_t, uint32_t) override {}

 private:
  // A block or an access goes in whole, or not at all.
  bool room(const Warp& w) {
    if (now_.warps[w.index].size() < trace_.most_words_) return true;
    trace_.cut_ = true;
    return false;
  }
  void put(const Warp& w, uint64_t word) { now_.warps[w.index].push_back(word); }
  void lines(const Access& a, Warp& w, TraceKind kind, const uint64_t* address);
  void shared(const Access& a, Warp& w, const uint64_t* address);
  void keep() {
    if (now_.warps.empty()) return;
    const std::lock_guard lock(trace_.mutex_);
    trace_.blocks_[block_] = std::move(now_);
    now_.warps.clear();
  }

  TimeTrace& trace_;
  BlockTrace now_;
  uint64_t block_ = 0;
};

std::unique_ptr<BlockObserver> TimeTrace::observe_blocks() { return std::make_unique<BlockTracer>(*this); }

namespace {

Kind kind_of(const Access& a, const Warp& w) { return w.worker->launch.program->code[a.instruction].kind; }

// The addresses of all lanes.
void addresses_of(const Access& a, const Warp& w, uint64_t* address) {
  const uint64_t stride = a.shape == AddressShape::contiguous ? a.bytes
                          : a.shape == AddressShape::strided  ? a.stride
                                                              : 0;
  const auto offset = static_cast<uint64_t>(a.offset);
  if (a.shape == AddressShape::vector) {
    for (uint32_t l = 0; l < kLanes; ++l)
      address[l] = (a.address_is_64 ? w.at<uint64_t>(a.address)[l] : w.at<uint32_t>(a.address)[l]) + offset;
    return;
  }
  const uint64_t base = (a.address_is_64 ? *w.at<uint64_t>(a.address) : *w.at<uint32_t>(a.address)) + offset;
  for (uint32_t l = 0; l < kLanes; ++l) address[l] = base + l * stride;
}

}  // namespace

void BlockTracer::lines(const Access& a, Warp& w, TraceKind kind, const uint64_t* address) {
  uint64_t line[kLanes];
  uint32_t n = 0, passes = 0;
  const auto add = [&](uint64_t at) {
    const uint64_t tag = at / 128;
    const uint32_t sector = 1u << (at / 32 % 4);
    for (uint32_t k = n; k-- > 0;)
      if (line[k] >> 4 == tag) {
        line[k] |= sector;
        return;
      }
    line[n++] = tag << 4 | sector;
  };
  for (uint32_t m = w.active; m; m &= m - 1) {
    const uint64_t at = address[lowest(m)];
    add(at);
  }
  // Lanes of one address go one after the other.
  if (kind == TraceKind::atomic) {
    passes =
        global_atomic_cost(address, w.active, std::min<uint32_t>(a.op->width, 16), a.op->op == AtomicOp::cas ? 64 : 128)
            .sectors;
  } else {
    passes = std::max<uint32_t>(n, (count_lanes(w.active) * a.bytes + 127) / 128);
  }
  put(w, TraceWord::head(kind, a.instruction, passes, n));
  for (uint32_t k = 0; k < n; ++k) put(w, line[k]);
}

void BlockTracer::shared(const Access& a, Warp& w, const uint64_t* address) {
  alignas(64) uint32_t at[kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) at[l] = static_cast<uint32_t>(address[l]);
  const MemoryOp& op = *a.op;
  uint32_t waves = 1;
  switch (kind_of(a, w)) {
    case Kind::atomic:
      waves = shared_atomic_cost(at, w.active, op.width).wavefronts * (op.op == AtomicOp::cas ? 2 : 1);
      break;
    case Kind::load:
      waves = shared_load_cost(at, w.active, a.bytes).wavefronts;
      break;
    default:
      waves = shared_store_cost(at, w.active, a.bytes).wavefronts;
  }
  put(w, TraceWord::head(TraceKind::shared, a.instruction, waves));
}

void BlockTracer::access(const Access& a, Warp& w) {
  if (w.active == 0 || !room(w)) return;
  AddressSpace space = a.op->space;
  if (space == AddressSpace::constant || space == AddressSpace::param) return;
  alignas(64) uint64_t address[kLanes];
  addresses_of(a, w, address);
  if (space == AddressSpace::generic) {
    const uint64_t at = address[lowest(w.active)], window = at & ~(kWindowSize - 1);
    space = window == kSharedWindow  ? AddressSpace::shared
            : window == kLocalWindow ? AddressSpace::local
            : window == kParamWindow ? AddressSpace::param
                                     : AddressSpace::global;
    if (space == AddressSpace::param) return;
    if (space != AddressSpace::global)
      for (uint64_t& x : address) x -= window;
  }
  switch (space) {
    case AddressSpace::shared:
      return shared(a, w, address);
    case AddressSpace::local: {
      uint32_t offset[kLanes];
      for (uint32_t l = 0; l < kLanes; ++l) offset[l] = static_cast<uint32_t>(address[l]);
      const uint32_t sectors = local_sectors(offset, w.active, a.bytes);
      return put(w, TraceWord::head(TraceKind::local, a.instruction, std::max(1u, (sectors + 3) / 4)));
    }
    default:
      return lines(a, w, kind_of(a, w) == Kind::atomic ? TraceKind::atomic : TraceKind::global, address);
  }
}

}  // namespace coalesce::machine
