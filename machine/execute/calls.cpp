#include "machine/execute/calls.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "machine/execute/block.h"
#include "machine/execute/launch.h"
#include "machine/execute/memory_ops.h"
#include "machine/execute/no_handler.h"
#include "machine/execute/textures.h"
#include "machine/isa/service.h"

namespace coalesce::machine {

namespace {

constexpr uint64_t kMaxString = 1u << 16;  // a %s or format longer than this is cut

const LaneOp& call_of(const Step& s) { return *static_cast<const LaneOp*>(s.extra); }

// `bytes` at a generic address of lane `lane`, or a fault.
const std::byte* readable(Warp& w, const LaneOp& op, uint64_t address, uint32_t lane, uint64_t bytes) {
  const uint64_t window = address & ~(kWindowSize - 1), offset = address & (kWindowSize - 1);
  if (window == kLocalWindow && offset + bytes <= w.local_bytes)
    return w.local + uint64_t{lane} * w.local_bytes + offset;
  if (window == kSharedWindow && offset + bytes <= w.shared_bytes) return w.shared + offset;
  if (window == kSharedWindow && offset > kClusterOffset)
    if (const std::byte* at = w.owner->seat().peer(static_cast<uint32_t>(offset), bytes)) return at;
  if (const Allocation* a = w.worker->launch.memory->find(address); a && address + bytes <= a->base + a->size)
    return reinterpret_cast<const std::byte*>(address);
  char text[96];
  std::snprintf(text, sizeof text, "%s reads %" PRIu64 " bytes at 0x%" PRIx64 ", which is ",
                op.instruction->text.c_str(), bytes, address);
  throw KernelFault{
      Fault::illegal_address, text + w.worker->launch.memory->describe(address, bytes), op.index, 1u << lane, {}};
}

std::string text_at(Warp& w, const LaneOp& op, uint64_t address, uint32_t lane) {
  if (address == 0) return "(null)";
  std::string s;
  while (s.size() < kMaxString) {
    const char c = static_cast<char>(*readable(w, op, address + s.size(), lane, 1));
    if (!c) break;
    s += c;
  }
  return s;
}

// Formats as printf does, arguments packed in memory as the compiler's vprintf ABI lays them out: 4-byte ints, 8-byte
// longs, doubles and pointers, each naturally aligned. Returns the number of arguments used.
int format(Warp& w, const LaneOp& op, uint32_t lane, const std::string& pattern, uint64_t arguments, std::string& out) {
  uint64_t at = 0;
  int used = 0;
  const auto next = [&](uint64_t bytes) {
    at = (at + bytes - 1) / bytes * bytes;
    uint64_t v = 0;
    std::memcpy(&v, readable(w, op, arguments + at, lane, bytes), bytes);
    at += bytes;
    ++used;
    return v;
  };
  for (std::size_t i = 0; i < pattern.size();) {
    if (pattern[i] != '%') {
      out += pattern[i++];
      continue;
    }
    std::size_t j = i + 1;
    std::string spec = "%";
    while (j < pattern.size() && std::strchr("-+ #0123456789.*", pattern[j])) {
      if (pattern[j] == '*')
        spec += std::to_string(static_cast<int32_t>(next(4)));
      else
        spec += pattern[j];
      ++j;
    }
    if (spec.size() > 24) spec.resize(24);  // widths beyond any use
    int longs = 0, halves = 0;
    while (j < pattern.size() && std::strchr("hlLzjtq", pattern[j]))
      longs += pattern[j] == 'l' || pattern[j] == 'z' || pattern[j] == 'j' || pattern[j] == 't' || pattern[j] == 'q',
          halves += pattern[j] == 'h', ++j;
    if (j >= pattern.size()) {
      out += pattern.substr(i);
      break;
    }
    const char kind = pattern[j];
    i = j + 1;
    char buffer[512];
    buffer[0] = 0;
    // An integer of the length, as its bits; hh and h cut it, as they do on an H100.
    const auto whole = [&] { return longs ? next(8) : next(4) & (halves > 1 ? 0xffu : halves ? 0xffffu : ~0u); };
    const int unused = 8 * (longs ? 0 : halves > 1 ? 7 : halves ? 6 : 4);
    switch (kind) {
      case '%':
        out += '%';
        continue;
      case 'd':
      case 'i':
        std::snprintf(buffer, sizeof buffer, (spec + "lld").c_str(),
                      static_cast<long long>(static_cast<int64_t>(whole() << unused) >> unused));
        break;
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        std::snprintf(buffer, sizeof buffer, (spec + "ll" + kind).c_str(), static_cast<unsigned long long>(whole()));
        break;
      case 'c':
        std::snprintf(buffer, sizeof buffer, (spec + "c").c_str(), static_cast<int>(next(4)));
        break;
      case 'f':
      case 'F':
      case 'e':
      case 'E':
      case 'g':
      case 'G':
      case 'a':
      case 'A': {
        const uint64_t bits = next(8);
        double d;
        std::memcpy(&d, &bits, sizeof d);
        std::snprintf(buffer, sizeof buffer, (spec + kind).c_str(), d);
        break;
      }
      case 'p':
        std::snprintf(buffer, sizeof buffer, (spec + "p").c_str(), reinterpret_cast<void*>(next(8)));
        break;
      case 's': {
        const std::string s = text_at(w, op, next(8), lane);
        const int n = std::snprintf(nullptr, 0, (spec + "s").c_str(), s.c_str());
        std::string long_one(static_cast<std::size_t>(n > 0 ? n : 0) + 1, 0);
        std::snprintf(long_one.data(), long_one.size(), (spec + "s").c_str(), s.c_str());
        long_one.pop_back();
        out += long_one;
        continue;
      }
      default:
        out += pattern.substr(i - 2, 2);
        continue;
    }
    out += buffer;
  }
  return used;
}

void print(const Step& s, Context& c) {
  const LaneOp& op = call_of(s);
  Warp& w = static_cast<Warp&>(c);
  if (op.sources.size() != 2)
    throw KernelFault{Fault::illegal_instruction, "vprintf takes two arguments", op.index, w.active, {}};
  const uint64_t* patterns = w.at<uint64_t>(op.sources[0]);
  const uint64_t* arguments = w.at<uint64_t>(op.sources[1]);
  std::string out;
  for (uint32_t m = w.active; m; m &= m - 1) {
    const uint32_t l = lowest(m);
    const int n = format(w, op, l, text_at(w, op, patterns[l], l), arguments[l], out);
    if (op.results[0] != kNoSlot && !op.scalar[0]) w.at<uint32_t>(op.results[0])[l] = static_cast<uint32_t>(n);
  }
  std::lock_guard lock(w.worker->launch.report_mutex);
  w.worker->launch.output[block_index(w)] += out;
}

void allocate(const Step& s, Context& c) {
  const LaneOp& op = call_of(s);
  Warp& w = static_cast<Warp&>(c);
  w.worker->launch.wait_turn(block_index(w));
  std::lock_guard lock(w.worker->launch.report_mutex);
  for (uint32_t m = w.active; m; m &= m - 1) {
    const uint64_t at = w.worker->launch.heap->allocate(w.at<uint64_t>(op.sources[0])[lowest(m)]);
    if (op.results[0] != kNoSlot) w.at<uint64_t>(op.results[0])[lowest(m)] = at;
    if (BlockObserver* o = w.owner->observer(); o && at) {
      w.worker->launch.heap->note_maker(at, w.owner->code(), op.index);
      o->gave(op.index, lowest(m), at, w);
    }
  }
}

void release(const Step& s, Context& c) {
  const LaneOp& op = call_of(s);
  Warp& w = static_cast<Warp&>(c);
  w.worker->launch.wait_turn(block_index(w));
  std::lock_guard lock(w.worker->launch.report_mutex);
  for (uint32_t m = w.active; m; m &= m - 1) {
    const uint64_t at = w.at<uint64_t>(op.sources[0])[lowest(m)];
    if (at && !w.worker->launch.heap->release(at))
      throw KernelFault{Fault::illegal_address,
                        "free of a pointer that malloc did not return, or freed already",
                        op.index,
                        1u << lowest(m),
                        {}};
  }
}

void assertion(const Step& s, Context& c) {
  const LaneOp& op = call_of(s);
  Warp& w = static_cast<Warp&>(c);
  const uint32_t l = lowest(w.active);
  const auto argument = [&](std::size_t k) {
    return k < op.sources.size() ? text_at(w, op, w.at<uint64_t>(op.sources[k])[l], l) : std::string();
  };
  std::string message = "assertion `" + argument(0) + "' failed";
  std::vector<std::string> notes;
  if (op.sources.size() >= 4)
    notes.push_back("in " + argument(3) + " at " + argument(1) + ":" +
                    std::to_string(w.at<uint32_t>(op.sources[2])[l]));
  throw KernelFault{Fault::assertion, message, op.index, w.active, notes};
}

// A lane of a warp that asks for a service.
class LaneThread final : public ServiceThread {
 public:
  LaneThread(Warp& w, const LaneOp& op) : warp_(w), op_(op) {
    runtime = w.worker->launch.runtime;
    heap = w.worker->launch.heap;
    block = block_index(w);
  }
  void use(uint32_t lane) {
    lane_ = lane;
    thread = warp_.index * kLanes + lane;
  }
  std::byte* at(uint64_t address, uint64_t bytes) override {
    return const_cast<std::byte*>(readable(warp_, op_, address, lane_, bytes));  // NOLINT: memory of the launch's
  }
  const std::byte* read(uint64_t address, uint64_t bytes) override {
    const std::vector<uint8_t>& p = *warp_.worker->launch.parameters;
    const uint64_t offset = address - kParamWindow;
    if (offset <= p.size() && bytes <= p.size() - offset) return reinterpret_cast<const std::byte*>(p.data()) + offset;
    return at(address, bytes);
  }
  void touch(uint64_t address, uint64_t bytes) override {
    const Allocation* a = bytes ? warp_.worker->launch.memory->find(address) : nullptr;
    if (a) Memory::mark(*a, address / 32 - a->base / 32, (address + bytes - 1) / 32 - address / 32 + 1);
  }
  void sectors(uint64_t count) override {
    if (op_.instruction->bulk != kNone) warp_.worker->tally.bulk_sectors[op_.instruction->bulk] += count;
  }
  Cluster& cluster(uint32_t& rank) override {
    Cluster& c = warp_.owner->seat().cluster();
    rank = warp_.owner->seat().rank();
    return c;
  }
  void moves(const BulkPart& part) override {
    if (BlockObserver* o = warp_.owner->observer()) o->moves(part, op_.index, lane_, warp_);
  }
  void completes(uint64_t object) override {
    if (BlockObserver* o = warp_.owner->observer()) o->completes(object, warp_);
  }
  void arrives(uint64_t phase, bool releases) override { meets(phase, releases ? Meets::arrives : Meets::relaxed); }
  void passes(uint64_t phase) override { meets(phase, Meets::passes); }
  // All lanes have been served.
  void finish() {
    BlockObserver* o = warp_.owner->observer();
    if (o && met_ != 0) o->meets(met_, phase_, how_, warp_);
  }
  [[noreturn]] void fail(const std::string& message) override {
    throw KernelFault{Fault::illegal_instruction, message, op_.index, 1u << lane_, {}};
  }
  [[noreturn]] void astray(const std::string& message) override {
    throw KernelFault{Fault::illegal_address, message, op_.index, 1u << lane_, {}};
  }
  [[noreturn]] void misaligned(const std::string& message) override {
    throw KernelFault{Fault::misaligned_address, message, op_.index, 1u << lane_, {}};
  }

 private:
  // The lanes of a warp come in the same phase: it ends when all have come.
  void meets(uint64_t phase, Meets how) {
    if (met_ == 0) phase_ = phase;
    met_ |= 1u << lane_;
    how_ = how;
  }

  Warp& warp_;
  const LaneOp& op_;
  uint32_t lane_ = 0, met_ = 0;
  uint64_t phase_ = 0;
  Meets how_ = Meets::arrives;
};

void serve(const Step& s, Context& c) {
  const LaneOp& op = call_of(s);
  Warp& w = static_cast<Warp&>(c);
  const Service& service = *find_service(op.instruction->text);
  std::unique_lock lock(w.worker->launch.report_mutex, std::defer_lock);
  if (service.ordered) {
    w.worker->launch.wait_turn(block_index(w));
    lock.lock();
  }
  LaneThread thread(w, op);
  for (uint32_t m = w.active; m; m &= m - 1) {
    const uint32_t l = lowest(m);
    uint64_t words[kMostServiceWords];
    for (std::size_t k = 0; k < op.sources.size() && k < kMostServiceWords; ++k)
      words[k] = w.at<uint64_t>(op.sources[k])[l];
    thread.use(l);
    const uint64_t result = service.run(thread, words);
    if (op.results[0] == kNoSlot) continue;
    if (service.result == '8')
      w.at<uint64_t>(op.results[0])[l] = result;
    else
      w.at<uint32_t>(op.results[0])[l] = static_cast<uint32_t>(result);
  }
  thread.finish();
}

}  // namespace

Handler call_handler(Callee callee) {
  switch (callee) {
    case Callee::printf:
      return print;
    case Callee::malloc:
      return allocate;
    case Callee::free:
      return release;
    case Callee::assertion:
      return assertion;
    case Callee::texture:
      return texture_access;
    case Callee::service:
      return serve;
    case Callee::function:
      break;
  }
  no_handler("the function", callee);
}

}  // namespace coalesce::machine
