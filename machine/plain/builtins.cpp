// Functions that the machine provides to kernels: vprintf, malloc, free, __assertfail; and alloca.
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "machine/execute/calls.h"
#include "machine/isa/service.h"
#include "machine/plain/run.h"

namespace coalesce::machine::plain {

std::byte* bytes_at(Warp& w, const Op& op, uint32_t lane, uint64_t address, uint64_t bytes) {
  const uint64_t window = address / kWindowSize * kWindowSize, offset = address % kWindowSize;
  if (window == kLocalWindow)
    if (std::byte* at = w.local.find(lane, offset, bytes)) return at;
  if (window == kSharedWindow && offset + bytes <= w.grid->shared_bytes) return w.block->shared.data() + offset;
  if (window == kSharedWindow && offset > kClusterOffset)
    if (std::byte* at = w.block->cluster->find(rank_of(w.block->rank, static_cast<uint32_t>(offset)),
                                               offset & kClusterOffset, bytes))
      return at;
  if (w.grid->find(address, bytes)) return reinterpret_cast<std::byte*>(address);
  char text[96];
  std::snprintf(text, sizeof text, "%s reads %" PRIu64 " bytes at 0x%" PRIx64 ", which is ", op.text.c_str(), bytes,
                address);
  throw Stop{Fault::illegal_address, text + w.grid->launch->memory->describe(address, bytes), 1u << lane, {}};
}

namespace {

constexpr std::size_t kLongest = 1u << 16;  // of a string that is printed

// One lane of a warp, which calls a function with arguments in its .param variables.
struct Caller {
  Warp& w;
  Frame& f;
  const Op& op;
  uint32_t lane;

  std::byte* variable(const std::string& name) const {
    return w.local.find(lane, LaneMemory::kParams + f.param_base + f.code->params.at(name).at, 1);
  }
  uint64_t argument(std::size_t k, std::size_t bytes) const {
    uint64_t v = 0;
    if (k < op.callee.arguments.size()) std::memcpy(&v, variable(op.callee.arguments[k]), bytes);
    return v;
  }
  void result(uint64_t v, std::size_t bytes) const {
    if (!op.callee.results.empty()) std::memcpy(variable(op.callee.results[0]), &v, bytes);
  }

  std::byte* readable(uint64_t address, uint64_t bytes) const { return bytes_at(w, op, lane, address, bytes); }
  std::string text(uint64_t address) const {
    if (address == 0) return "(null)";
    std::string s;
    while (s.size() < kLongest) {
      const char c = static_cast<char>(*readable(address + s.size(), 1));
      if (!c) break;
      s += c;
    }
    return s;
  }
};

template <class... T>
std::string formatted(const std::string& pattern, T... values) {
  const int n = std::snprintf(nullptr, 0, pattern.c_str(), values...);
  std::string text(static_cast<std::size_t>(std::max(0, n)) + 1, 0);
  std::snprintf(text.data(), text.size(), pattern.c_str(), values...);
  text.pop_back();
  return text;
}

// Prints as printf does. Arguments lie one after the other in memory, each aligned to its size: 4 bytes of int, 8 of
// all else.
int print(const Caller& c, const std::string& pattern, uint64_t arguments, std::string& out) {
  uint64_t at = 0;
  int used = 0;
  const auto next = [&](uint64_t bytes) {
    at = (at + bytes - 1) / bytes * bytes;
    uint64_t v = 0;
    std::memcpy(&v, c.readable(arguments + at, bytes), bytes);
    at += bytes;
    ++used;
    return v;
  };
  for (std::size_t k = 0; k < pattern.size();) {
    if (pattern[k] != '%') {
      out += pattern[k++];
      continue;
    }
    std::string how = "%";
    std::size_t j = k + 1;
    for (; j < pattern.size() && std::strchr("-+ #0123456789.*", pattern[j]); ++j)
      how += pattern[j] == '*' ? std::to_string(static_cast<int32_t>(next(4))) : std::string(1, pattern[j]);
    if (how.size() > 24) how.resize(24);
    bool is_long = false;
    std::string halves;  // h or hh: the host's printf cuts these numbers
    for (; j < pattern.size() && std::strchr("hlLzjtq", pattern[j]); ++j)
      if (pattern[j] == 'h')
        halves += 'h';
      else
        is_long = true;
    if (j >= pattern.size()) {
      out += pattern.substr(k);
      break;
    }
    const char kind = pattern[j];
    const std::size_t from = k;
    k = j + 1;
    if (kind == '%') {
      out += '%';
    } else if (!is_long && (halves == "h" || halves == "hh") && std::strchr("diuxXo", kind)) {
      out += formatted(how + halves + kind, static_cast<int>(next(4)));
    } else if (kind == 'd' || kind == 'i') {
      const uint64_t v = next(is_long ? 8 : 4);
      out +=
          formatted(how + "lld", is_long ? static_cast<long long>(v) : static_cast<long long>(static_cast<int32_t>(v)));
    } else if (std::strchr("uxXo", kind)) {
      out += formatted(how + "ll" + kind, static_cast<unsigned long long>(next(is_long ? 8 : 4)));
    } else if (kind == 'c') {
      out += formatted(how + "c", static_cast<int>(next(4)));
    } else if (std::strchr("fFeEgGaA", kind)) {
      const uint64_t bits = next(8);
      double d;
      std::memcpy(&d, &bits, sizeof d);
      out += formatted(how + kind, d);
    } else if (kind == 'p') {
      out += formatted(how + "p", reinterpret_cast<void*>(next(8)));
    } else if (kind == 's') {
      out += formatted(how + "s", c.text(next(8)).c_str());
    } else {
      out += pattern.substr(from, k - from);
    }
  }
  return used;
}

}  // namespace

void run_builtin(Warp& w, Frame& f, const Op& op, uint32_t on) {
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (!(on >> l & 1)) continue;
    const Caller c{w, f, op, l};
    if (op.text == "vprintf") {
      std::string& out = w.grid->output[w.block->number];
      c.result(static_cast<uint64_t>(print(c, c.text(c.argument(0, 8)), c.argument(1, 8), out)), 4);
    } else if (op.text == "malloc") {
      c.result(w.grid->launch->heap->allocate(c.argument(0, 8)), 8);
    } else if (op.text == "free") {
      const uint64_t at = c.argument(0, 8);
      if (at && !w.grid->launch->heap->release(at))
        throw Stop{
            Fault::illegal_address, "free of a pointer that malloc did not return, or freed already", 1u << l, {}};
    } else {
      throw Stop{Fault::assertion,
                 "assertion `" + c.text(c.argument(0, 8)) + "' failed",
                 on,
                 {"in " + c.text(c.argument(3, 8)) + " at " + c.text(c.argument(1, 8)) + ":" +
                  std::to_string(c.argument(2, 4))}};
    }
  }
}

namespace {
class CallerThread final : public ServiceThread {
 public:
  explicit CallerThread(const Caller& caller) : caller_(caller) {
    runtime = caller.w.grid->launch->runtime;
    heap = caller.w.grid->launch->heap;
    block = caller.w.block->number;
    thread = caller.w.index * kLanes + caller.lane;
  }
  std::byte* at(uint64_t address, uint64_t bytes) override { return caller_.readable(address, bytes); }
  const std::byte* read(uint64_t address, uint64_t bytes) override {
    const std::vector<uint8_t>& p = caller_.w.grid->launch->parameters;
    if (address >= kParamWindow && address - kParamWindow + bytes <= p.size())
      return reinterpret_cast<const std::byte*>(p.data()) + (address - kParamWindow);
    return at(address, bytes);
  }
  void touch(uint64_t address, uint64_t bytes) override {
    if (caller_.w.grid->launch->memory->find(address))
      for (uint64_t s = address / 32; bytes && s <= (address + bytes - 1) / 32; ++s) caller_.w.grid->touched.add(s);
  }
  void sectors(uint64_t count) override {
    Counters& c = counters_of(caller_.w, caller_.op);
    const auto traffic = static_cast<Traffic>(caller_.op.mode);
    (traffic == Traffic::load    ? c.bulk_load_sectors
     : traffic == Traffic::store ? c.bulk_store_sectors
                                 : c.bulk_reduction_sectors) += count;
  }
  Cluster& cluster(uint32_t& rank) override {
    rank = caller_.w.block->rank;
    return *caller_.w.block->cluster;
  }
  [[noreturn]] void fail(const std::string& message) override {
    throw Stop{Fault::illegal_instruction, message, 1u << caller_.lane, {}};
  }
  [[noreturn]] void astray(const std::string& message) override {
    throw Stop{Fault::illegal_address, message, 1u << caller_.lane, {}};
  }
  [[noreturn]] void misaligned(const std::string& message) override {
    throw Stop{Fault::misaligned_address, message, 1u << caller_.lane, {}};
  }

 private:
  const Caller& caller_;
};
}  // namespace

void run_service(Warp& w, Frame& f, const Op& op, uint32_t on) {
  const Service& service = *find_service(op.text);
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (!(on >> l & 1)) continue;
    const Caller c{w, f, op, l};
    std::array<uint64_t, kMostServiceWords> words{};
    std::size_t n = 0;
    for (std::size_t k = 0; k < service.arguments.size(); ++k) {
      if (service.arguments[k] != 'd') {
        words[n++] = c.argument(k, service.arguments[k] == '8' ? 8 : 4);  // NOLINT: at most kMostServiceWords
        continue;
      }
      uint32_t sides[3];
      std::memcpy(sides, c.variable(op.callee.arguments[k]), sizeof sides);
      for (const uint32_t side : sides) words[n++] = side;  // NOLINT: likewise
    }
    CallerThread thread(c);
    const uint64_t result = service.run(thread, words.data());
    if (service.result != '0') c.result(result, service.result == '8' ? 8 : 4);
  }
}

uint64_t word_of(const Warp& w, const Op& op, uint32_t lane, std::size_t k) {
  const uint64_t word = value(w, op.in[3 * k], lane) + value(w, op.in[3 * k + 1], lane);
  return value(w, op.in[3 * k + 2], lane) ? (word & 0xffffffff) + kSharedWindow : word;
}

// An instruction that is a service.
void run_words(Warp& w, Frame& f, const Op& op, uint32_t on) {
  const Service& service = *find_service(op.text);
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (!(on >> l & 1)) continue;
    const Caller c{w, f, op, l};
    std::array<uint64_t, kMostServiceWords> words{};
    for (std::size_t k = 0; 3 * k < op.in.size() && k < words.size(); ++k) words[k] = word_of(w, op, l, k);
    CallerThread thread(c);
    service.run(thread, words.data());
  }
}

bool passed_cluster_barrier(Warp& w, uint32_t on) {
  bool all = true;
  for (uint32_t l = 0; l < kLanes; ++l)
    if (on >> l & 1) all = w.block->cluster->passed(w.block->rank, w.index * kLanes + l) && all;
  return all;
}

// alloca: every lane's stack grows upwards in a part of local memory of its own.
void run_stack(Warp& w, Frame& f, const Op& op, uint32_t on) {
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (!(on >> l & 1)) continue;
    if (op.mode == 2) {
      w.stack[l] = value(w, op.in[0], l) - LaneMemory::kStack;
      continue;
    }
    uint64_t at = w.stack[l];
    if (op.mode == 0) {
      const uint64_t alignment = value(w, op.in[1], l);
      at = (at + alignment - 1) / alignment * alignment;
      w.stack[l] = at + value(w, op.in[0], l);
    }
    put(f, op.out[0], l, LaneMemory::kStack + at, 8);
  }
  w.local.parts[2].grow(w.grid->launch->stack_bytes);
}

}  // namespace coalesce::machine::plain
