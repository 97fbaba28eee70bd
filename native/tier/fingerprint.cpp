#include "native/tier/fingerprint.h"

#include <type_traits>

#include "cache/hash.h"

namespace coalesce::native {
namespace {

using namespace machine;

// Fields one by one, never a struct's bytes: what lies between fields is anything.
class Writer {
 public:
  template <typename... T>
  void all(const T&... values) {
    (one(values), ...);
  }
  std::string hex() {
    flush();
    return hash_.hex();
  }

 private:
  template <typename T>
    requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
  void one(T value) {
    const auto bits = static_cast<uint64_t>(value);
    for (int k = 0; k < 64; k += 8) text_ += static_cast<char>(bits >> k & 0xff);
    if (text_.size() > 4096) flush();
  }
  void one(const std::string& text) { one(std::string_view(text)); }
  void one(std::string_view text) {
    one(text.size());
    text_ += text;
  }
  template <typename T, std::size_t N>
  void one(const std::array<T, N>& values) {
    for (const T& v : values) one(v);
  }
  template <typename T>
  void one(const std::vector<T>& values) {
    one(values.size());
    for (const T& v : values) one(v);
  }
  void one(const Value& v) { all(v.kind, v.reg, v.bits); }
  void one(const Register& r) {
    all(r.element, r.builtin, r.parameter_offset, r.parameter_size, r.parameter_signed, r.lanes, r.stride, r.range.low,
        r.range.high, r.alignment, r.definitions, r.defined_in, r.block_local);
  }
  void one(const Instruction& i) {
    all(i.kind, i.mode, i.counts, i.names_lanes, i.is_signed, i.together, i.guard_negated,
        i.pure ? i.pure->mnemonic : std::string_view(), i.guard, i.results, i.sources, i.memory, i.target, i.targets,
        i.guard_tally);
  }
  void one(const BasicBlock& b) {
    all(b.first, b.last, b.taken, b.next, b.table, b.reconverge, b.divergent_branch, b.divergent, b.waits, b.reachable,
        b.live_in, b.instructions);
  }
  void one(const Region& r) { all(r.chain, r.after); }
  void one(const MemoryOp& m) {
    all(m.space, m.width, m.count, m.sign_extend, m.is_volatile, m.ordered, m.returns, m.op, m.number, m.address,
        m.offset, m.values, m.value_bytes, m.result, m.site);
  }
  void one(const Site& s) { all(s.instruction, s.space, s.kind, s.returns, s.dynamic_requests, s.bytes); }

  void flush() {
    hash_.add(text_);
    text_.clear();
  }

  cache::Sha256 hash_;
  std::string text_;
};

}  // namespace

std::string fingerprint(const Decoded& p) {
  Writer w;
  w.all(p.shape.block, p.shape.grid_below, p.shape.cluster, p.registers, p.code, p.blocks, p.regions, p.region_of,
        p.memory, p.sites, p.guards, p.needs_general_mode, p.has_calls, p.ordered_atomics, p.static_shared_bytes,
        p.local_bytes);
  return w.hex();
}

}  // namespace coalesce::native
