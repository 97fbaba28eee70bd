#include "machine/time/trace.h"

#include <algorithm>
#include <array>

#include "machine/execute/block.h"
#include "machine/memory/memory.h"
#include "machine/observe/traffic.h"

namespace coalesce::machine {

uint64_t Watched::next(uint64_t from) const {
  const auto at = std::lower_bound(numbers.begin(), numbers.end(), from);
  return at == numbers.end() ? blocks : *at;
}

Watched watch(uint64_t blocks, uint32_t multiprocessors, uint64_t most) {
  constexpr uint64_t kBlocks = 132;  // of all multiprocessors together, where one has fewer
  Watched w;
  w.blocks = blocks;
  w.apart = std::max(1u, multiprocessors);
  if (blocks == 0) return w;
  // The multiprocessor of the last block may do what is left to do when all others have ended.
  const uint64_t last = (blocks - 1) % w.apart, all = std::min(w.apart, blocks);
  w.of_all = (blocks - 1) / w.apart + 1;
  const uint64_t of_one = std::min(w.of_all, std::max<uint64_t>(1, most));
  const uint64_t several = std::clamp<uint64_t>(of_one < w.of_all ? 1 : kBlocks / of_one, 1, all);
  for (uint64_t m = 0; m < several; ++m) {
    // From the last one on, evenly around.
    const uint64_t first = (last + m * all / several) % all;
    const uint64_t its = (blocks - 1 - first) / w.apart + 1, number = std::min(its, of_one);
    for (uint64_t k = 0; k < number; ++k)
      w.numbers.push_back(first + (number > 1 ? k * (its - 1) / (number - 1) : its - 1) * w.apart);
  }
  std::sort(w.numbers.begin(), w.numbers.end());
  return w;
}

class BlockTracer : public BlockObserver {
 public:
  explicit BlockTracer(TimeTrace& trace) : trace_(trace) {}
  ~BlockTracer() override { keep(); }

  void begin(uint64_t block) override {
    keep();
    block_ = block;
    now_.beyond.clear();
    warps_.resize(trace_.warps_);
    now_.instructions.assign(trace_.warps_, 0);
  }
  void access(const Access& a, Warp& w) override;
  void event(const Instruction&, Warp&) override {}
  void lanes(const LaneOp&, Warp&) override {}
  void enters(uint32_t block, Warp& w) override {
    now_.instructions[w.index] += trace_.program_.blocks[block].instructions;
    if (room(w)) put(w, TraceWord::head(TraceKind::block, block));
  }
  void computes(uint32_t, Warp&) override {}
  void decides(uint32_t, uint32_t, Warp&) override {}
  void barrier(const std::vector<Arrival>&, uint32_t, bool) override {}
  void arrive(uint32_t, uint32_t) override {}

 private:
  // A block or an access goes in whole, or not at all.
  bool room(const Warp& w) {
    if (warps_[w.index].size() < trace_.most_words_) return true;
    trace_.cut_ = true;
    return false;
  }
  void put(const Warp& w, uint64_t word) { warps_[w.index].push_back(word); }
  void lines(const Access& a, Warp& w, TraceKind kind, const uint64_t* address);
  void beyond(const Access& a, const Warp& w, const uint64_t* address);
  void shared(const Access& a, Warp& w, const uint64_t* address);
  void local(const Access& a, Warp& w, const uint64_t* address);
  void constant(const Access& a, Warp& w, const uint64_t* address);
  // The words are copied: those of the next block find room that has been used before.
  void keep() {
    if (warps_.empty()) return;
    now_.warps.assign(warps_.begin(), warps_.end());
    for (std::vector<uint64_t>& warp : warps_) warp.clear();
    const std::lock_guard lock(trace_.mutex_);
    trace_.blocks_[block_] = std::move(now_);
    now_ = {};
  }
  uint32_t load_waves(const Access& a, const Warp& w, const uint64_t* address);

  TimeTrace& trace_;
  BlockTrace now_;
  std::vector<std::vector<uint64_t>> warps_;  // the block's words so far
  uint64_t block_ = 0;
  // Passes of a load of all lanes, by its shape and the bytes of a lane; 0: not known yet.
  std::array<std::array<uint32_t, 17>, 2> waves_{};
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

// Lines, each once, with their sectors.
struct Lines {
  uint64_t line[4 * kLanes];
  uint32_t n = 0;
  uint64_t highest = 0;
  void add(uint64_t tag, uint32_t sector) {
    if (n == 0 || tag > highest) {
      highest = tag;
      line[n++] = tag << 4 | sector;
      return;
    }
    for (uint32_t k = n; k-- > 0;)
      if (line[k] >> 4 == tag) {
        line[k] |= sector;
        return;
      }
    line[n++] = tag << 4 | sector;
  }
};

// Words, each once, with the number of lanes on it.
struct Words {
  uint64_t word[kLanes];
  uint32_t lanes[kLanes];
  uint32_t n = 0;
  void add(uint64_t at) {
    for (uint32_t k = 0; k < n; ++k)
      if (word[k] == at) return void(++lanes[k]);
    word[n] = at;
    lanes[n++] = 1;
  }
};

}  // namespace

// Loads have as many passes wherever they begin, since the banks go around.
uint32_t BlockTracer::load_waves(const Access& a, const Warp& w, const uint64_t* address) {
  const bool uniform = a.shape == AddressShape::uniform, known = uniform || a.shape == AddressShape::contiguous;
  uint32_t* const waves =
      known && w.active == ~0u && a.bytes <= 16 && address[0] % a.bytes == 0 ? &waves_[uniform][a.bytes] : nullptr;
  if (waves && *waves) return *waves;
  // L1 has the banks of shared memory (measured: loads that hit, by the stride of their lanes).
  alignas(64) uint32_t at[kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) at[l] = static_cast<uint32_t>(address[l]);
  const uint32_t found = shared_load_cost(at, w.active, a.bytes).wavefronts;
  if (waves) *waves = found;
  return found;
}

void BlockTracer::lines(const Access& a, Warp& w, TraceKind kind, const uint64_t* address) {
  Lines touched;
  const auto add = [&](uint64_t at) { touched.add(at / 128, 1u << (at / 32 % 4)); };
  if (a.shape == AddressShape::uniform)
    add(address[lowest(w.active)]);
  else if (a.shape == AddressShape::contiguous && w.active == ~0u && a.bytes <= 32)  // no sector is left out
    for (uint64_t at = address[0] / 32; at <= address[kLanes - 1] / 32; ++at) add(32 * at);
  else
    for (uint32_t m = w.active; m; m &= m - 1) add(address[lowest(m)]);
  const uint32_t n = touched.n;
  uint32_t passes = 0;
  // Lanes of one address go one after the other, but where ptxas knows it to be one and joins them first.
  if (kind == TraceKind::atomic && is_joined(trace_.program_, *a.op)) {
    passes = 1;
  } else if (kind == TraceKind::atomic) {
    passes =
        global_atomic_cost(address, w.active, std::min<uint32_t>(a.op->width, 16), a.op->op == AtomicOp::cas ? 64 : 128)
            .sectors;
  } else if (kind_of(a, w) == Kind::load) {
    passes = std::max(load_waves(a, w, address), (n + 3) / 4);  // L1 looks up four lines at a time (measured)
  } else {
    passes = std::max<uint32_t>(n, (count_lanes(w.active) * a.bytes + 127) / 128);
  }
  put(w, TraceWord::head(kind, a.instruction, passes, n));
  for (uint32_t k = 0; k < n; ++k) put(w, touched.line[k]);
}

void BlockTracer::beyond(const Access& a, const Warp& w, const uint64_t* address) {
  const Kind kind = kind_of(a, w);
  uint64_t before = ~uint64_t{0};
  for (uint32_t m = w.active; m; m &= m - 1) {
    const uint64_t first = address[lowest(m)], line = first / 128;
    if (first / 32 == before) continue;
    before = first / 32;
    if (now_.beyond.size() >= kMostBeyond && !now_.beyond.contains(line)) continue;
    const uint32_t sector = 1u << (first / 32 % 4);
    now_.beyond[line] |=
        static_cast<uint8_t>((kind == Kind::store ? 0 : sector) | (kind == Kind::load ? 0 : sector << 4));
  }
}

void BlockTracer::shared(const Access& a, Warp& w, const uint64_t* address) {
  const TimeTrace::Joined& joined = trace_.joined_[a.instruction];
  if (joined.is_member && joined.bytes == 0) return;
  const uint32_t bytes = joined.is_member ? joined.bytes : a.bytes;
  alignas(64) uint32_t at[kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) at[l] = static_cast<uint32_t>(address[l] + static_cast<uint64_t>(joined.moved));
  const MemoryOp& op = *a.op;
  uint32_t waves = 1;
  switch (kind_of(a, w)) {
    case Kind::atomic:
      waves = is_joined(trace_.program_, op) ? 1
              : adds_lanes(op)
                  ? shared_store_cost(at, w.active, op.width).wavefronts
                  : shared_atomic_cost(at, w.active, op.width).wavefronts * (op.op == AtomicOp::cas ? 2 : 1);
      break;
    case Kind::load:
      waves = shared_load_cost(at, w.active, bytes).wavefronts;
      break;
    default:
      waves = shared_store_cost(at, w.active, bytes).wavefronts;
  }
  if (kind_of(a, w) != Kind::atomic || !is_loop(op))
    return put(w, TraceWord::head(TraceKind::shared, a.instruction, waves));
  Words words;
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
  uint32_t sectors = 0;
  for (uint32_t k = 0; k < lines.n; ++k) sectors += count_lanes(lines.line[k] & 15);
  put(w, TraceWord::head(TraceKind::local, a.instruction, (sectors + 3) / 4, lines.n));
  for (uint32_t k = 0; k < lines.n; ++k) put(w, lines.line[k]);
}

// A pass for each different word.
void BlockTracer::constant(const Access& a, Warp& w, const uint64_t* address) {
  Lines words, lines;
  for (uint32_t m = w.active; m; m &= m - 1) {
    words.add(address[lowest(m)] / 4, 1);
    lines.add(address[lowest(m)] / 64, 1);
  }
  put(w, TraceWord::head(TraceKind::constant, a.instruction, words.n, lines.n));
  for (uint32_t k = 0; k < lines.n; ++k) put(w, lines.line[k]);
}

void BlockTracer::access(const Access& a, Warp& w) {
  if (w.active == 0) return;
  const bool fits = room(w);
  AddressSpace space = a.op->space;
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
  if (!fits) {
    if (space == AddressSpace::global) beyond(a, w, address);
    if (space == AddressSpace::constant || space == AddressSpace::param)
      for (uint32_t m = w.active; m; m &= m - 1) now_.constants_beyond.insert(address[lowest(m)] / 64);
    return;
  }
  switch (space) {
    case AddressSpace::shared:
      return shared(a, w, address);
    case AddressSpace::local:
      return local(a, w, address);
    case AddressSpace::constant:
    case AddressSpace::param:
      return constant(a, w, address);
    default:
      return lines(a, w, kind_of(a, w) == Kind::atomic ? TraceKind::atomic : TraceKind::global, address);
  }
}

}  // namespace coalesce::machine
