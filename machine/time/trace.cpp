#include "machine/time/trace.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "machine/execute/block.h"
#include "machine/memory/memory.h"
#include "machine/observe/traffic.h"
#include "machine/time/lines.h"

namespace coalesce::machine {

namespace {
constexpr std::size_t kMostOfAccess = 1 + 4 * kLanes;     // words
constexpr std::size_t kMostPages = std::size_t{1} << 22;  // of all touches of a launch: 8 GiB of memory in a row
}  // namespace

TimeTrace::TimeTrace(const Decoded& program, const Limits& limits, Watched watched, uint32_t warps,
                     std::size_t most_words, TraceRoom& spare)
    : program_(program),
      limits_(limits),
      watched_(std::move(watched)),
      warps_(warps),
      most_words_(most_words),
      room_(most_words + kMostOfAccess),
      most_pages_(kMostPages / std::max<std::size_t>(1, watched_.numbers.size())),
      joined_(program.code.size()),
      spare_(spare),
      all_(std::exchange(spare, {})) {
  if (const std::size_t size = watched_.numbers.size() * warps * room_; all_.size < size)
    all_ = {std::make_unique_for_overwrite<uint64_t[]>(size), size};
  for (const JoinedAccess& j : joined_accesses(program))
    for (const uint32_t k : j.members) joined_[k] = {k == j.members.front() ? j.bytes : 0, j.moved, true};
}

TimeTrace::~TimeTrace() {
  if (spare_.size < all_.size) spare_ = std::move(all_);
}

class BlockTracer : public BlockObserver {
 public:
  explicit BlockTracer(TimeTrace& trace) : trace_(trace) {}
  ~BlockTracer() override { keep(); }

  void begin(uint64_t block) override {
    keep();
    block_ = block;
    const std::vector<uint64_t>& numbers = trace_.watched_.numbers;
    const auto place = std::lower_bound(numbers.begin(), numbers.end(), block) - numbers.begin();
    uint64_t* words = trace_.all_.words.get() + static_cast<std::size_t>(place) * trace_.warps_ * trace_.room_;
    for (uint32_t k = 0; k < trace_.warps_; ++k, words += trace_.room_)
      room_.push_back({words, words, words + trace_.most_words_});
    now_.instructions.assign(trace_.warps_, 0);
    constants_.fill(~uint64_t{0});
    tried_.clear();
    for (Recent& r : recent_) r.instruction = kNone;
  }
  void access(const Access& a, Warp& w) override;
  void event(const Instruction&, Warp&) override {}
  void lanes(const LaneOp&, Warp&) override {}
  void enters(uint32_t block, Warp& w) override {
    now_.instructions[w.index] += trace_.program_.blocks[block].instructions;
    if (has_room(w)) put(w, TraceWord::head(TraceKind::block, block));
  }
  void computes(uint32_t, Warp&) override {}
  void decides(uint32_t, uint32_t, Warp&) override {}
  void barrier(const std::vector<Arrival>&, uint32_t, bool) override {}
  void arrive(uint32_t, uint32_t) override {}

 private:
  struct Room {
    uint64_t *first, *next, *end;  // of a warp's words
  };
  // A block or an access goes in whole, or not at all.
  bool has_room(const Warp& w) const { return room_[w.index].next < room_[w.index].end; }
  void put(const Warp& w, uint64_t word) { *room_[w.index].next++ = word; }
  void put(const Warp& w, const uint64_t* words, uint32_t number) {
    room_[w.index].next = std::copy_n(words, number, room_[w.index].next);
  }
  void global(const Access& a, Warp& w, const uint64_t* address, bool fits);
  void touch(uint64_t page, uint64_t sectors, Kind kind);
  void touch_lanes(const uint64_t* address, uint32_t active, Kind kind);
  void change(const Access& a, const Warp& w, uint64_t line, uint32_t sectors, double passes);
  void shared(const Access& a, Warp& w, const uint64_t* address);
  void local(const Access& a, Warp& w, const uint64_t* address);
  void constant(const Access& a, Warp& w, const uint64_t* address, bool fits);
  void read_constant(uint64_t line) {
    uint64_t& latest = constants_[line % constants_.size()];
    if (latest != line) now_.constants.insert(latest = line);
  }
  void keep() {
    if (room_.empty()) return;
    for (const Room& r : room_) now_.warps.emplace_back(r.first, r.next);
    room_.clear();
    const std::lock_guard lock(trace_.mutex_);
    trace_.blocks_[block_] = std::move(now_);
    now_ = {};
  }
  uint32_t load_waves(const Warp& w, const uint64_t* address, int64_t moved, uint32_t bytes);

  TimeTrace& trace_;
  BlockTrace now_;
  std::vector<Room> room_;  // by warp
  uint64_t block_ = 0;
  std::array<uint64_t, 64> constants_{};               // lines that were read last, by their number
  std::unordered_map<uint64_t, uint32_t> tried_ = {};  // warps that have tried a swap with many lanes on one word
  // A warp's last access by an instruction: what is repeated touches nothing new, and has the same lines.
  struct Recent {
    uint32_t instruction = kNone, warp = 0, active = 0, number = 0;
    const uint64_t* lines = nullptr;  // in the trace, if it had room
    std::array<uint64_t, kLanes> sectors{};
    bool again(uint32_t by, const Warp& w, const uint64_t* address);
  };
  std::array<Recent, 64> recent_;  // of the block, one for each of some instructions and warps
  struct StrideWaves {
    uint64_t stride = 0;
    uint32_t bytes = 0, waves = 0;  // bytes of a lane; 0: none
  };
  std::array<StrideWaves, 64> waves_{};  // of loads of all lanes, one for each of some strides
};

std::unique_ptr<BlockObserver> TimeTrace::observe_blocks() { return std::make_unique<BlockTracer>(*this); }

namespace {

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

// Atomics at one address that ptxas gives a warp's lanes in one: their operands joined by redux, a population count or
// shuffles; of those that return the old value, and of 64 bits, sums of one number alone (read from its output for
// sm_90).
bool is_joined(const Decoded& p, const MemoryOp& m) {
  const auto is_uniform = [&](const Value& v) {
    return !v.is_reg() || p.registers[v.reg].lanes <= LaneClass::warp_uniform;
  };
  if (!is_uniform(m.address) || m.number >= Number::f16) return false;
  if (m.op == AtomicOp::add) return (m.width == 4 && !m.returns) || is_uniform(m.values[0]);
  if (m.returns || m.width != 4) return false;
  switch (m.op) {
    case AtomicOp::min:
    case AtomicOp::max:
    case AtomicOp::and_:
    case AtomicOp::or_:
    case AtomicOp::xor_:
      return true;
    default:
      return false;
  }
}

// Atomics on shared memory that are a loop around a compare-and-swap in machine code (read from ptxas' output for
// sm_90, seen in their times on an H100).
bool is_loop(const MemoryOp& m) {
  if (m.op == AtomicOp::cas || m.op == AtomicOp::exch || m.op == AtomicOp::mbarrier) return false;
  return m.width == 8 || m.number >= Number::f16;
}

}  // namespace

// L1 has the banks of shared memory (measured: loads that hit, by the stride of their lanes). Lanes of one stride have
// as many passes wherever they begin, since the banks go around, in steps of whole words.
uint32_t BlockTracer::load_waves(const Warp& w, const uint64_t* address, int64_t moved, uint32_t bytes) {
  const uint64_t stride = address[1] - address[0];
  StrideWaves* known = nullptr;
  if (w.active == ~0u && (stride % 4 == 0 || stride <= bytes) && stride >> 32 == 0 &&
      (address[0] + static_cast<uint64_t>(moved)) % bytes == 0 &&
      contiguous(address, ~0u, static_cast<uint32_t>(stride))) {
    known = &waves_[(stride / 4 + bytes) % waves_.size()];
    if (known->stride == stride && known->bytes == bytes) return known->waves;
  }
  alignas(64) uint32_t at[kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) at[l] = static_cast<uint32_t>(address[l] + static_cast<uint64_t>(moved));
  const uint32_t found = shared_load_cost(at, w.active, bytes).wavefronts;
  if (known) *known = {stride, bytes, found};
  return found;
}

// Sectors of a page, a bit each.
void BlockTracer::touch(uint64_t page, uint64_t sectors, Kind kind) {
  PageTable<PageSectors>& known = now_.touches.sectors;
  if (known.size() >= trace_.most_pages_ && !known.find(page)) return;
  known[page].touch(sectors, kind != Kind::store, kind != Kind::load);
}

// A store or atomic, which takes so many passes on the line.
void BlockTracer::change(const Access& a, const Warp& w, uint64_t line, uint32_t sectors, double passes) {
  constexpr double kManyLanes = 8;  // of a warp on one word
  PageChanges& c = now_.touches.changes[line / kLinesOfPage];
  const uint64_t marked = uint64_t{1} << 4 * (line % kLinesOfPage);
  double& cycles = c.cycles[line % kLinesOfPage];
  c.lines |= marked;
  if (trace_.program_.code[a.instruction].kind == Kind::store) {
    cycles += store_cycles(sectors);
    return;
  }
  c.atomic |= marked;
  cycles += atomic_cycles(*a.op, std::max(1.0, passes), std::popcount(sectors), trace_.limits_);
  if (a.op->op != AtomicOp::cas || passes < kManyLanes) return;
  uint32_t& tried = tried_[line];
  if (tried >> w.index & 1) c.again |= marked;
  tried |= 1u << w.index;
}

// All active lanes' sectors, of neighbours in one page at a time.
void BlockTracer::touch_lanes(const uint64_t* address, uint32_t active, Kind kind) {
  uint64_t page = address[lowest(active)] / kPageBytes, sectors = 0;
  for (uint32_t m = active; m; m &= m - 1) {
    const uint64_t at = address[lowest(m)];
    if (at / kPageBytes != page) {
      touch(page, sectors, kind);
      page = at / kPageBytes;
      sectors = 0;
    }
    sectors |= uint64_t{1} << at / 32 % 64;
  }
  touch(page, sectors, kind);
}

// Whether the warp's lanes had the same sectors when it did this last, which it is from now on.
bool BlockTracer::Recent::again(uint32_t by, const Warp& w, const uint64_t* address) {
  uint64_t different = (instruction ^ by) | (warp ^ w.index) | (active ^ w.active);
  instruction = by;
  warp = w.index;
  active = w.active;
  for (uint32_t l = 0; l < kLanes; ++l) {
    const uint64_t its = w.active >> l & 1 ? address[l] / 32 : 0;
    different |= sectors[l] ^ its;
    sectors[l] = its;
  }
  return different == 0;
}

void BlockTracer::global(const Access& a, Warp& w, const uint64_t* address, bool fits) {
  const Kind kind = trace_.program_.code[a.instruction].kind;
  Lines touched;
  if (a.shape == AddressShape::uniform || (a.shape == AddressShape::contiguous && w.active == ~0u && a.bytes <= 32)) {
    // No sector is left out.
    const uint32_t lanes = a.shape == AddressShape::uniform ? w.active & -w.active : ~0u;
    touch_lanes(address, lanes, kind);
    const uint64_t last = address[kLanes - 1 - static_cast<uint32_t>(std::countl_zero(lanes))] / 32;
    for (uint64_t at = address[lowest(lanes)] / 32; at <= last; ++at) touched.add_sector(32 * at);
  } else {
    Recent& recent = recent_[(w.index + 37 * a.instruction) % recent_.size()];
    if (!recent.again(a.instruction, w, address)) {
      touch_lanes(address, w.active, kind);
      if (w.active == ~0u && std::is_sorted(address, address + kLanes))
        touched.set_sorted(address);
      else
        for (uint32_t m = w.active; m; m &= m - 1) touched.add_sector(address[lowest(m)]);
      recent.number = touched.n;
      recent.lines = room_[w.index].next + 1;
    } else if (fits) {
      touched.n = recent.number;
      std::copy_n(recent.lines, touched.n, touched.line);
    }
  }
  if (!fits) return;
  const uint32_t n = touched.n;
  uint32_t passes = 0;
  // Lanes of one address go one after the other, but where ptxas knows it to be one and joins them first.
  if (kind == Kind::atomic && is_joined(trace_.program_, *a.op)) {
    passes = 1;
  } else if (kind == Kind::atomic) {
    passes =
        global_atomic_cost(address, w.active, std::min<uint32_t>(a.op->width, 16), a.op->op == AtomicOp::cas ? 64 : 128)
            .sectors;
  } else if (kind == Kind::load) {
    // L1 looks up four lines at a time (measured).
    passes = std::max(load_waves(w, address, 0, a.bytes), (n + 3) / 4);
  } else {
    passes = std::max<uint32_t>(n, (count_lanes(w.active) * a.bytes + 127) / 128);
  }
  put(w, TraceWord::head(kind == Kind::atomic ? TraceKind::atomic : TraceKind::global, a.instruction, passes, n));
  put(w, touched.line, n);
  if (kind == Kind::load) return;
  for (uint32_t k = 0; k < n; ++k)
    change(a, w, touched.line[k] >> 4, touched.line[k] & 15, static_cast<double>(passes) / n);
}

void BlockTracer::shared(const Access& a, Warp& w, const uint64_t* address) {
  const TimeTrace::Joined& joined = trace_.joined_[a.instruction];
  if (joined.is_member && joined.bytes == 0) return;
  const uint32_t bytes = joined.is_member ? joined.bytes : a.bytes;
  const Kind kind = trace_.program_.code[a.instruction].kind;
  if (kind == Kind::load)
    return put(w, TraceWord::head(TraceKind::shared, a.instruction, load_waves(w, address, joined.moved, bytes)));
  alignas(64) uint32_t at[kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) at[l] = static_cast<uint32_t>(address[l] + static_cast<uint64_t>(joined.moved));
  const MemoryOp& op = *a.op;
  uint32_t waves = 1;
  if (kind != Kind::atomic)
    waves = shared_store_cost(at, w.active, bytes).wavefronts;
  else if (!is_joined(trace_.program_, op))
    waves = adds_lanes(op) ? shared_store_cost(at, w.active, op.width).wavefronts
                           : shared_atomic_cost(at, w.active, op.width).wavefronts * (op.op == AtomicOp::cas ? 2 : 1);
  if (kind != Kind::atomic || !is_loop(op)) return put(w, TraceWord::head(TraceKind::shared, a.instruction, waves));
  LaneWords words;
  for (uint32_t m = w.active; m; m &= m - 1) words.add(at[lowest(m)] / op.width);
  put(w, TraceWord::head(TraceKind::shared, a.instruction, waves, words.n));
  for (uint32_t k = 0; k < words.n; ++k) put(w, TraceWord::word(words.word[k], words.lanes[k]));
}

// Words of one number of all lanes lie in one line.
void BlockTracer::local(const Access& a, Warp& w, const uint64_t* address) {
  Lines lines;
  for (uint32_t m = w.active; m; m &= m - 1) {
    const uint32_t lane = lowest(m);
    const uint64_t first = address[lane] / 4, last = (address[lane] + std::min<uint32_t>(a.bytes, 16) - 1) / 4;
    for (uint64_t word = first; word <= last; ++word) lines.add(word, 1u << lane / 8);
  }
  now_.has_local = true;
  uint32_t sectors = 0;
  for (uint32_t k = 0; k < lines.n; ++k) sectors += count_lanes(lines.line[k] & 15);
  put(w, TraceWord::head(TraceKind::local, a.instruction, (sectors + 3) / 4, lines.n));
  put(w, lines.line, lines.n);
}

// A pass for each different word.
void BlockTracer::constant(const Access& a, Warp& w, const uint64_t* address, bool fits) {
  Lines words, lines;
  for (uint32_t m = w.active; m; m &= m - 1) {
    words.add(address[lowest(m)] / 4, 1);
    lines.add(address[lowest(m)] / 64, 1);
    if (a.shape == AddressShape::uniform) break;
  }
  for (uint32_t k = 0; k < lines.n; ++k) read_constant(lines.line[k] >> 4);
  if (!fits) return;
  put(w, TraceWord::head(TraceKind::constant, a.instruction, words.n, lines.n));
  put(w, lines.line, lines.n);
}

void BlockTracer::access(const Access& a, Warp& w) {
  if (w.active == 0) return;
  const bool fits = has_room(w);
  AddressSpace space = a.op->space;
  if (!fits && (space == AddressSpace::shared || space == AddressSpace::local)) return;
  alignas(64) uint64_t address[kLanes];
  addresses_of(a, w, address);
  if (space == AddressSpace::generic) {
    const uint64_t at = address[lowest(w.active)], window = at & ~(kWindowSize - 1);
    space = window == kSharedWindow  ? AddressSpace::shared
            : window == kLocalWindow ? AddressSpace::local
            : window == kParamWindow ? AddressSpace::param
                                     : AddressSpace::global;
    if (space == AddressSpace::shared || space == AddressSpace::local)
      for (uint64_t& x : address) x -= window;
  }
  switch (space) {
    case AddressSpace::shared:
      if (fits) shared(a, w, address);
      return;
    case AddressSpace::local:
      if (fits) local(a, w, address);
      return;
    case AddressSpace::constant:
    case AddressSpace::param:
      return constant(a, w, address, fits);
    default:
      return global(a, w, address, fits);
  }
}

}  // namespace coalesce::machine
