// Bulk copies and asynchronous stores that are no tensors': bytes move when the instruction is carried out, and the
// mbarrier object hears of them at once.
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "machine/plain/decoder.h"
#include "machine/plain/run.h"

namespace coalesce::machine::plain {

namespace {

enum Kind : uint8_t { kCopy = 0, kReduce = 1, kStore = 2, kToBlocks = 4, kByMask = 8 };  // Op::mode

constexpr uint64_t kUnit = 16, kQuiet = uint64_t{1} << 51;

struct Lane {
  Warp& w;
  const Op& op;
  uint32_t lane;

  uint64_t word(std::size_t k) const { return word_of(w, op, lane, k); }
  std::byte* bytes(uint64_t address, uint64_t n) const { return bytes_at(w, op, lane, address, n); }
  void need_multiple(uint64_t address, uint64_t of, const char* what) const {
    if (address % of == 0) return;
    char text[128];
    std::snprintf(text, sizeof text, "%s %s 0x%" PRIx64 ", which is no multiple of %" PRIu64, op.text.c_str(), what,
                  address, of);
    throw Stop{Fault::misaligned_address, text, 1u << lane, {}};
  }
  // Sectors of global memory: the launch has touched them.
  void touch(uint64_t address, uint64_t n) const {
    if (!w.grid->launch->memory->find(address)) return;
    for (uint64_t at = address / 32 * 32; at < address + n; at += 32) w.grid->touched.add(at / 32);
  }
  // Units of 16 bytes that begin a sector of global memory or a line of shared memory cost one.
  uint64_t sectors(uint64_t global, uint64_t shared, uint64_t n) const {
    uint64_t count = 0;
    for (uint64_t k = 0; k < n; k += kUnit) count += k == 0 || (global + k) % 32 == 0 || (shared + k) % 128 == 0;
    return count;
  }
  // The same to one of several blocks: units that begin a line of either memory begin a part, of at least two.
  uint64_t sectors_of_parts(uint64_t global, uint64_t shared, uint64_t n) const {
    uint64_t count = 0, part = 0;
    for (uint64_t k = 0; k < n; k += kUnit) {
      const bool begins = k == 0 || (global + k) % 128 == 0 || (shared + k) % 128 == 0;
      if (begins) count += part == 1, part = 0;
      const bool sector = begins || (global + k) % 32 == 0;
      count += sector, part += sector;
    }
    return count + (part == 1);
  }
  void tell(uint64_t object, uint64_t n) const {
    need_multiple(object, 8, "object at");
    std::byte* const at = bytes(object, 8);
    uint64_t bits;
    std::memcpy(&bits, at, 8);
    bits = mbarrier_result(Arithmetic::complete, bits, n);
    std::memcpy(at, &bits, 8);
  }
  // A sum of two NaNs, doubles: the one that comes stays (tests/truth/bulk_sums.txt).
  bool sum_of_nans(uint64_t a, uint64_t b) const {
    const auto is_nan = [](uint64_t bits) { return bits << 1 > uint64_t{0x7ff} << 53; };
    return op.memory.number == Number::f64 && is_nan(a) && is_nan(b);
  }
  // Element by element: what is there, and what comes. Sums keep subnormal numbers wherever they are, as those in
  // shared memory do.
  void reduce(std::byte* to, const std::byte* from, uint64_t n) const {
    const uint32_t width = op.memory.width;
    for (uint64_t k = 0; k < n; k += width) {
      uint64_t old = 0, more = 0;
      std::memcpy(&old, to + k, width);
      std::memcpy(&more, from + k, width);
      old = sum_of_nans(old, more) ? more | kQuiet : updated(op.memory, Space::shared, old, more, 0);
      std::memcpy(to + k, &old, width);
    }
  }
};

// Words: to, from, bytes, the object or 0, a mask.
void copy(const Lane& l) {
  const uint64_t to = l.word(0), from = l.word(1), n = l.word(2), object = l.word(3), mask = l.word(4);
  l.need_multiple(to, kUnit, "to");
  l.need_multiple(from, kUnit, "from");
  l.need_multiple(n, kUnit, "of a size of");
  if (n == 0) return;
  const std::byte* const source = l.bytes(from, n);
  l.touch(from, n);
  l.touch(to, n);
  const auto within = [](uint64_t address) { return address >= kSharedWindow && address < kLocalWindow; };
  Counters& counters = counters_of(l.w, l.op);
  if (within(to) && !within(from))
    counters.bulk_load_sectors += l.op.mode & kToBlocks
                                      ? static_cast<uint64_t>(std::popcount(mask)) * l.sectors_of_parts(from, to, n)
                                      : l.sectors(from, to, n);
  if (!within(to))
    (l.op.mode & kReduce ? counters.bulk_reduction_sectors : counters.bulk_store_sectors) += l.sectors(to, from, n);
  if (l.op.mode & kToBlocks) {
    const Cluster& cluster = *l.w.block->cluster;
    const auto there = [&](uint64_t address, uint32_t rank) {  // the same place in that block's shared memory
      return kSharedWindow + cluster_address(l.w.block->rank, rank, static_cast<uint32_t>(address) & kClusterOffset);
    };
    if (mask >> cluster.size())
      throw Stop{Fault::illegal_instruction, l.op.text + " to blocks that the cluster does not have", 1u << l.lane, {}};
    for (uint32_t rank = 0; rank < cluster.size(); ++rank)
      if (mask >> rank & 1) {
        std::memmove(l.bytes(there(to, rank), n), source, n);
        l.tell(there(object, rank), n);
      }
    return;
  }
  std::byte* const target = l.bytes(to, n);
  if (l.op.mode & kReduce)
    l.reduce(target, source, n);
  else if (l.op.mode & kByMask)
    for (uint64_t k = 0; k < n; ++k) target[k] = mask >> k % kUnit & 1 ? source[k] : target[k];
  else
    std::memmove(target, source, n);
  if (object) l.tell(object, n);
}

// Words: to, the object, and a value for each element.
void store(const Lane& l) {
  const uint32_t width = l.op.memory.width, n = l.op.memory.bytes();
  const uint64_t to = l.word(0);
  l.need_multiple(to, n, "to");
  std::byte* const target = l.bytes(to, n);
  for (uint32_t k = 0; k < l.op.memory.count; ++k) {
    const uint64_t v = l.word(2 + k);
    std::byte bytes[8];
    std::memcpy(bytes, &v, 8);
    if (l.op.mode & kReduce)
      l.reduce(target + k * width, bytes, width);
    else
      std::memcpy(target + k * width, bytes, width);
  }
  l.tell(l.word(1), n);
}

struct Type {
  std::string_view name;
  uint8_t width;
  Number number;
};
constexpr Type kTypes[] = {{"b32", 4, Number::bits},        {"b64", 8, Number::bits},
                           {"u32", 4, Number::is_unsigned}, {"s32", 4, Number::is_signed},
                           {"u64", 8, Number::is_unsigned}, {"s64", 8, Number::is_signed},
                           {"f16", 2, Number::f16},         {"bf16", 2, Number::bf16},
                           {"f32", 4, Number::f32},         {"f64", 8, Number::f64}};
constexpr std::pair<std::string_view, Arithmetic> kOperations[] = {
    {"add", Arithmetic::add}, {"min", Arithmetic::min},  {"max", Arithmetic::max}, {"inc", Arithmetic::inc},
    {"dec", Arithmetic::dec}, {"and", Arithmetic::and_}, {"or", Arithmetic::or_},  {"xor", Arithmetic::xor_}};

bool exists(const MemoryForm& m) {
  const bool real = m.number >= Number::f16, half = real && m.width == 2, bits = m.number == Number::bits;
  if (m.what == Arithmetic::add) return !bits;
  if (m.what == Arithmetic::min || m.what == Arithmetic::max) return !bits && (!real || half);
  if (m.what == Arithmetic::inc || m.what == Arithmetic::dec) return m.number == Number::is_unsigned && m.width == 4;
  return bits;
}

}  // namespace

void run_bulk(Warp& w, Frame&, const Op& op, uint32_t on) {
  for (uint32_t l = 0; l < kLanes; ++l)
    if (on >> l & 1) op.mode& kStore ? store({w, op, l}) : copy({w, op, l});
}

// The type and the operation among the words of an instruction; each of them at most once.
bool Decoder::element() {
  int types = 0, operations = 0;
  for (const std::string_view word : words_->rest) {
    for (const Type& t : kTypes)
      if (t.name == word) op_->memory.width = t.width, op_->memory.number = t.number, ++types;
    for (const auto& [name, what] : kOperations)
      if (name == word) op_->memory.what = what, ++operations;
  }
  if (operations == 1) op_->mode |= kReduce;
  return types < 2 && operations < 2 && (operations == 0 || (types == 1 && exists(op_->memory)));
}

void Decoder::bulk_copy() {
  if (has("tensor")) return tensor_copy();
  if (has("commit_group") || has("wait_group") || has("prefetch")) return nothing();
  std::vector<std::string_view> spaces;
  const bool reduces = has("reduce"), objects = has("mbarrier::complete_tx::bytes"), group = has("bulk_group"),
             policy = has("L2::cache_hint"), to_blocks = has("multicast::cluster"), by_mask = has("cp_mask");
  for (const std::string_view w : words_->rest) {
    bool known = w.starts_with("shared::") || w == "global";
    if (known) spaces.push_back(w);
    for (const std::string_view k : {"reduce", "async", "bulk", "noftz", "mbarrier::complete_tx::bytes", "bulk_group",
                                     "L2::cache_hint", "multicast::cluster", "cp_mask"})
      known = known || w == k;
    for (const Type& t : kTypes) known = known || (reduces && w == t.name);
    for (const auto& [name, what] : kOperations) known = known || (reduces && w == name);
    if (!known) return unknown();
  }
  if (spaces.size() != 2 || objects == group || !element()) return unknown();
  const bool to_shared = spaces[0] != "global", from_shared = spaces[1] != "global";
  const std::size_t at = objects ? 4 : 3;
  if (objects != to_shared || (group && !from_shared) || reduces != ((op_->mode & kReduce) != 0) ||
      (to_blocks && (from_shared || reduces)) || operands() != at + to_blocks + policy + by_mask)
    return unknown();
  word(operand(0), to_shared);
  word(operand(1), from_shared);
  word(operand(2), false);
  if (objects)
    word(operand(3), true);
  else
    word(uint64_t{0});
  if (to_blocks || by_mask)
    word(operand(to_blocks ? at : at + policy), false);
  else
    word(uint64_t{0});
  op_->mode |= static_cast<uint8_t>(to_blocks ? kToBlocks : by_mask ? kByMask : 0);
  op_->text = in_->mnemonic;
  op_->run = run_bulk;
}

void Decoder::store_async() {
  const bool reduces = words_->opcode == "red", vector = has("v2") || has("v4");
  for (const std::string_view w : words_->rest) {
    bool known = !reduces && (w == "v2" || w == "v4");
    for (const std::string_view k :
         {"async", "shared::cluster", "mbarrier::complete_tx::bytes", "weak", "relaxed", "cluster"})
      known = known || w == k;
    for (const Type& t : kTypes) known = known || w == t.name;
    for (const auto& [name, what] : kOperations) known = known || (reduces && w == name);
    if (!known) return unknown();
  }
  op_->memory.width = 0;  // no type yet
  op_->memory.count = has("v4") ? 4 : has("v2") ? 2 : 1;
  const ptx::Operand& what = operand(1);
  if (!element() || operands() != 3 || !has("mbarrier::complete_tx::bytes") || op_->memory.width < 4 ||
      reduces != ((op_->mode & kReduce) != 0) || (what.kind == ptx::Operand::Kind::vector) != vector ||
      (vector && what.elements.size() != op_->memory.count))
    return unknown();
  op_->mode |= kStore;
  word(operand(0), true);
  word(operand(2), true);
  for (uint8_t k = 0; k < op_->memory.count; ++k) {
    op_->in.push_back(source(vector ? what.elements[k] : what, op_->memory.width));
    for (int zero = 0; zero < 2; ++zero) op_->in.push_back(constant(0));
  }
  op_->text = in_->mnemonic;
  op_->run = run_bulk;
}

}  // namespace coalesce::machine::plain
