// Bulk copies of boxes of tensors (cp.async.bulk.tensor), a thread at a time, done when they are issued. What an H100
// leaves in shared and global memory is in tests/truth/tensors.txt: so a store writes units of 16 bytes that a row of
// the tensor begins in whole, whatever the row's end.
#include <algorithm>
#include <cstring>
#include <string>

#include "machine/execute/bulk.h"
#include "machine/execute/cluster.h"
#include "machine/isa/tensor_map.h"
#include "machine/memory/memory.h"

namespace coalesce::machine {

namespace {

using A = const uint64_t*;
using T = ServiceThread;

constexpr uint64_t kTileUnit = 128;  // bytes: of a tile's address in shared memory
constexpr int64_t kChunk = 16;       // bytes that a swizzle leaves together
constexpr uint32_t kSpatial = kTensorRank - 2;

// The words of a service (isa/service.h).
struct TensorWords {
  uint64_t shared, map, object, mask;
  TensorForm form;
  std::array<int64_t, kTensorRank> at{};
  std::array<int64_t, kSpatial> offsets{};

  explicit TensorWords(A a) : shared(a[0]), map(a[1]), object(a[2]), mask(a[3]), form(TensorForm::of(a[4])) {
    for (uint32_t k = 0; k < kTensorRank; ++k) at[k] = static_cast<int32_t>(a[5 + k]);
    for (uint32_t k = 0; k < kSpatial; ++k) offsets[k] = static_cast<int64_t>(a[5 + kTensorRank + k] & 0xffff);
  }
};

TensorMap map_of(T& t, const TensorWords& w) {
  TensorMap m;
  need_multiple(t, w.map, 64, "a tensor map at");
  std::memcpy(&m, t.read(w.map, sizeof m), sizeof m);
  if (!m.valid())
    t.fail("a copy by a tensor map that neither cuTensorMapEncodeTiled nor cuTensorMapEncodeIm2col has made");
  if (m.changed)
    if (const std::string wrong = wrong_with(m); !wrong.empty())
      t.fail("a copy by a tensor map that tensormap.replace has made wrong: " + wrong);
  if (m.rank != w.form.rank)
    t.fail("a copy in " + std::to_string(w.form.rank) + " dimensions by the map of a tensor that has " +
           std::to_string(m.rank));
  if (m.im2col != w.form.im2col)
    t.fail(m.im2col ? "a copy of a tile by a tensor map of pixels (cuTensorMapEncodeIm2col)"
                    : "a copy of pixels (.im2col) by a tensor map of tiles (cuTensorMapEncodeTiled)");
  return m;
}

// The rows of a box, in the order in which they lie in shared memory: elements side by side. Of an interleaved tensor
// elements are slices, and a box has one place of dimension rank - 2, whatever its size there.
class Rows {
 public:
  Rows(const TensorMap& m, const TensorWords& w) : m_(m), at_(w.at) {
    for (uint32_t k = 0; k < m.rank; ++k) counts_[k] = (m.box[k] + m.steps[k] - 1u) / m.steps[k];
    if (!m.interleave || m.steps[0] == 1) counts_[0] = 1;
    if (m.interleave) counts_[m.rank - 2u] = 1;
    for (uint32_t k = 0; k < m.rank; ++k) left_ *= counts_[k];
    if (m.im2col) left_ = m.pixels;
    for (uint32_t k = 0; m.im2col && k + 2 < m.rank; ++k) offsets_[m.spatial() + k] = w.offsets[k];
  }
  bool more() const { return left_ != 0; }
  uint64_t offset() const { return offset_; }  // of the row in the tile
  uint32_t elements() const {
    if (!m_.interleave) return m_.im2col ? m_.channels : m_.box[0];
    if (m_.steps[0] != 1) return 1;
    return m_.im2col ? static_cast<uint32_t>(std::min<int64_t>(left_, highest(0) - at_[0] + 1)) : m_.box[0];
  }
  uint32_t bytes() const { return elements() * m_.element(); }
  int64_t first() const { return (at_[0] + offsets_[0]) * m_.element(); }  // its byte of the tensor's row
  // Where coordinate 0 of the row lies; false: outside of the tensor.
  bool address(uint64_t& row) const {
    row = m_.address;
    for (uint32_t k = 1; k < m_.rank; ++k) {
      const int64_t c = at_[k] + offsets_[k];
      if (c < 0 || c > int64_t{m_.last[k]}) return false;
      row += static_cast<uint64_t>(c) * m_.strides[k - 1];
    }
    return true;
  }
  // Whether the first pixel, before the offsets, lies in the pixels' box.
  bool begins_within() const {
    for (uint32_t k = 0; k + 2 < m_.rank; ++k)
      if (at_[m_.spatial() + k] < m_.lower[k] || at_[m_.spatial() + k] > highest(k)) return false;
    return true;
  }
  void next(const TensorWords& w) {
    offset_ += pitch();
    if (m_.im2col) return next_pixels();
    --left_;
    for (uint32_t k = 0; k < m_.rank; ++k) {
      at_[k] += m_.steps[k];
      if (++done_[k] < counts_[k]) return;
      done_[k] = 0;
      at_[k] = w.at[k];
    }
  }
  // Bytes from the tile's beginning to its end.
  uint64_t extent() const { return uint64_t{left_} * (m_.im2col && m_.interleave ? m_.element() : pitch()); }

 private:
  int64_t highest(uint32_t k) const { return int64_t{m_.last[m_.spatial() + k]} + m_.upper[k]; }
  // From one row to the next in shared memory.
  uint32_t pitch() const { return m_.interleave ? bytes() : std::max(bytes(), m_.span()); }
  void next_pixels() {
    const uint32_t pixels = m_.interleave ? elements() : 1;
    left_ -= pixels;
    at_[0] += m_.interleave ? pixels - 1 : 0;
    for (uint32_t k = 0; k + 2 < m_.rank; ++k) {
      const uint32_t d = m_.spatial() + k;
      at_[d] += m_.steps[d];
      if (at_[d] <= highest(k)) return;
      at_[d] = m_.lower[k];
    }
    at_[m_.rank - 1u] += m_.steps[m_.rank - 1u];
  }

  const TensorMap& m_;
  std::array<int64_t, kTensorRank> at_, offsets_{};
  std::array<uint32_t, kTensorRank> counts_{}, done_{};
  uint32_t left_ = 1;  // rows; pixels
  uint64_t offset_ = 0;
};

// Where byte `offset` of a tile lies from its beginning on, which is at `address`: bits 4 to 6 of the address are
// exchanged by bits 7 to 9, as many of them as the span of the swizzle has.
uint64_t swizzled(uint32_t span, uint64_t address, uint64_t offset) {
  if (span == 0) return offset;
  const uint64_t plain = address + offset;
  return (plain ^ (plain >> 3 & (span - uint32_t{kChunk}))) - address;
}

// The elements outside of the tensor: zeros, or NaNs of the halves 0x7ff7.
std::array<std::byte, kChunk> fill_of(const TensorMap& m) {
  std::array<std::byte, kChunk> bytes{};
  for (uint32_t k = 0; m.fill && k < kChunk; ++k) bytes[k] = std::byte{static_cast<uint8_t>(k % 2 ? 0x7f : 0xf7)};
  return bytes;
}

// Elements on their way to shared memory: those of tf32 are rounded to 10 bits of mantissa, halves away from zero. No
// type flushes subnormal numbers there, whatever its name says.
bool rounds(const TensorMap& m) {
  const auto type = static_cast<TensorType>(m.type);
  return type == TensorType::tf32 || type == TensorType::tf32_ftz;
}
void convert(const TensorMap& m, std::byte* at, std::size_t bytes) {
  if (!rounds(m)) return;
  for (std::size_t k = 0; k < bytes; k += 4) {
    uint32_t bits;
    std::memcpy(&bits, at + k, 4);
    const bool nan = (bits & 0x7fffffff) > 0x7f800000;
    bits = nan ? 0x7fffe000 : (bits + 0x1000) & 0xffffe000;
    std::memcpy(at + k, &bits, 4);
  }
}

BulkForm reduction(const TensorMap& m, BulkOp op) {
  constexpr BulkType kTypes[kTensorTypes] = {BulkType::b32, BulkType::b32, BulkType::u32, BulkType::s32, BulkType::u64,
                                             BulkType::s64, BulkType::f16, BulkType::f32, BulkType::f64, BulkType::bf16,
                                             BulkType::f32, BulkType::f32, BulkType::f32};
  BulkForm form;
  form.op = op;
  form.type = kTypes[m.type];
  if (op >= BulkOp::and_ && form.width() >= 4) form.type = form.width() == 8 ? BulkType::b64 : BulkType::b32;
  return form;
}

// Whether the type has the reduction, as an H100 answers: it adds no signed 64-bit numbers, and combines no bits of
// those or of real ones.
bool reduces(const TensorMap& m, const BulkForm& form) {
  if (form.op == BulkOp::copy) return true;
  const auto type = static_cast<TensorType>(m.type);
  const bool ordered = form.op == BulkOp::min || form.op == BulkOp::max, bits = form.op >= BulkOp::and_;
  return type != TensorType::u8 && type != TensorType::u16 && form.valid() && (type != TensorType::s64 || ordered) &&
         !(bits && is_real(type));
}

// A row's bytes: where it begins in the tensor's row, how many, those that are in the tensor, the tensor's end.
struct RowBytes {
  int64_t first, length, low, high, size;
};
void count_sectors(T& t, const TensorMap& m, const TensorWords& w, uint64_t row, uint64_t offset, const RowBytes& b) {
  const auto word = [](int64_t n) { return static_cast<uint64_t>(n); };
  const uint64_t shared = (w.shared & kClusterOffset) + offset, global = row + word(b.first);
  if (!w.form.multicast) {
    t.sectors(
        sectors_of_row(shared, global, word(b.length), word(b.low), word(b.high), w.form.action == TensorAction::load));
    return;
  }
  t.sectors(sectors_to_blocks(shared, global, word(b.length), word(b.low), word(b.high),
                              word(std::clamp(b.size - b.first, b.low, b.high)), rounds(m)));
}

// `work`(bytes from the tile's beginning, which of the 16 there, how many, where they are in global memory) for each
// part of a row that stays together. Parts outside of the tensor have no bytes.
template <class Work>
void each_part(T& t, const TensorMap& m, const TensorWords& w, Work work) {
  Rows rows(m, w);
  const int64_t size = (int64_t{m.last[0]} + 1) * m.element();
  const int64_t units = (size + kChunk - 1) / kChunk * kChunk;
  const int64_t end = w.form.action == TensorAction::load ? size : units;
  for (; rows.more(); rows.next(w)) {
    uint64_t row = 0;
    const int64_t length = rows.bytes(), first = rows.first();
    // The bytes of the row that the tensor has.
    int64_t low = std::clamp<int64_t>(-first, 0, length), high = std::clamp<int64_t>(end - first, low, length);
    if (!rows.address(row)) low = high = 0;
    const int64_t whole = low < high ? std::clamp<int64_t>(units - first, low, length) : high;
    count_sectors(t, m, w, row, rows.offset(), {first, length, low, whole, size});
    std::byte* global = nullptr;
    if (low < high) {
      const uint64_t address = row + static_cast<uint64_t>(first + low);
      global = t.at(address, static_cast<uint64_t>(high - low));
      t.touch(address, static_cast<uint64_t>(high - low));
    }
    for (int64_t at = 0; at < length; at += kChunk) {
      const int64_t from = std::clamp(low, at, at + kChunk), to = std::clamp(high, at, at + kChunk);
      work(swizzled(m.span(), w.shared & kClusterOffset, rows.offset() + static_cast<uint64_t>(at)), from - at,
           to - from, to > from ? global + (from - low) : nullptr);
    }
  }
}

void load(T& t, const TensorMap& m, const TensorWords& w, uint64_t tile, uint64_t object) {
  std::byte* const to = t.at(tile, Rows(m, w).extent());
  uint64_t bytes = 0;
  const std::array<std::byte, kChunk> fill = fill_of(m);
  each_part(t, m, w, [&](uint64_t at, int64_t first, int64_t count, const std::byte* from) {
    if (count < kChunk) t.moves({tile + at, 0, static_cast<uint64_t>(kChunk), object, false});
    if (count > 0)
      t.moves({tile + at + static_cast<uint64_t>(first), reinterpret_cast<uint64_t>(from), static_cast<uint64_t>(count),
               object, false});
    std::memcpy(to + at, fill.data(), kChunk);
    if (count > 0) std::memcpy(to + at + first, from, static_cast<std::size_t>(count));
    convert(m, to + at + first, static_cast<std::size_t>(count));
    bytes += kChunk;
  });
  complete_bytes(t, object, bytes);
}

uint64_t tensor(T& t, A a) {
  const TensorWords w(a);
  const TensorMap m = map_of(t, w);
  if (w.form.action == TensorAction::prefetch) return 0;
  if (m.im2col && !Rows(m, w).begins_within())
    t.fail("a copy of pixels (.im2col) whose first pixel lies outside of the pixels' box");
  // An H100 ends such a copy with "illegal instruction".
  if (w.at[0] * m.element() % static_cast<int64_t>(kBulkUnit) != 0)
    t.fail("a copy of a tensor whose rows begin at coordinate " + std::to_string(w.at[0]) + ": byte " +
           std::to_string(w.at[0] * m.element()) + " is no multiple of 16");
  need_multiple(t, w.shared, kTileUnit, "a copy of a tensor with a tile at");
  if (w.form.action == TensorAction::load) {
    if (!w.form.multicast) {
      load(t, m, w, w.shared, w.object);
      return 0;
    }
    uint32_t own = 0;
    const uint32_t blocks = t.cluster(own).size();
    if (w.mask >> blocks) t.fail("a copy of a tensor to blocks that the cluster does not have");
    for (uint32_t rank = 0; rank < blocks; ++rank)
      if (w.mask >> rank & 1) load(t, m, w, in_block(w.shared, own, rank), in_block(w.object, own, rank));
    return 0;
  }
  for (uint32_t k = 0; k < m.rank; ++k)  // an H100 ends such a store with "illegal instruction", too
    if (w.at[k] < 0) t.fail("a store to a tensor from coordinate " + std::to_string(w.at[k]) + " on");
  if (m.im2col) t.fail("a store of pixels (.im2col_no_offs), with which an H100 ends the launch, too");
  const std::byte* const tile = t.at(w.shared, Rows(m, w).extent());
  const BulkForm form = reduction(m, w.form.op);
  if (!reduces(m, form)) t.fail("a reduction that the tensor's type does not have");
  each_part(t, m, w, [&](uint64_t at, int64_t first, int64_t count, std::byte* to) {
    if (count <= 0) return;
    t.moves({reinterpret_cast<uint64_t>(to), w.shared + at + static_cast<uint64_t>(first), static_cast<uint64_t>(count),
             0, form.op != BulkOp::copy});
    if (form.op == BulkOp::copy)
      std::memcpy(to, tile + at + first, static_cast<std::size_t>(count));
    else
      reduce(form, to, tile + at + first, static_cast<uint64_t>(count));
  });
  return 0;
}

uint64_t change(T& t, A a) {
  TensorMap m;
  need_multiple(t, a[0], 64, "a tensor map at");
  std::byte* const at = t.at(a[0], sizeof m);
  std::memcpy(&m, at, sizeof m);
  if (m.blank()) m = {};
  if (!m.valid())
    t.fail(
        "tensormap.replace of what is no tensor map: neither has cuTensorMapEncodeTiled made it, nor is it all zeros");
  const std::string wrong = change_tensor(m, static_cast<TensorField>(a[1]), a[2], a[3]);
  if (!wrong.empty()) t.fail("tensormap.replace " + wrong);
  std::memcpy(at, &m, sizeof m);
  return 0;
}

uint64_t publish(T& t, A a) {
  for (const uint64_t address : {a[0], a[1]}) need_multiple(t, address, 64, "a tensor map at");
  std::memmove(t.at(a[0], sizeof(TensorMap)), t.at(a[1], sizeof(TensorMap)), sizeof(TensorMap));
  t.touch(a[0], sizeof(TensorMap));
  return 0;
}

constexpr Service kTensorServices[] = {{kTensorCopy, "8888888888888", '0', false, tensor},
                                       {kTensorReduce, "8888888888888", '0', true, tensor},
                                       {kTensorChange, "8888", '0', false, change},
                                       {kTensorPublish, "88", '0', false, publish}};

}  // namespace

const Service* find_tensor_service(std::string_view name) {
  for (const Service& s : kTensorServices)
    if (s.name == name) return &s;
  return nullptr;
}

}  // namespace coalesce::machine
