// Instructions of clusters and bulk copies, a thread at a time. A copy is done when it is issued, and tells its
// mbarrier object at once; programs that wait for it see no difference. Hardware's counters of loads and stores do not
// count it.
#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <type_traits>

#include "machine/execute/bulk.h"
#include "machine/execute/cluster.h"
#include "machine/execute/ops/ops.h"
#include "machine/isa/mbarrier.h"
#include "machine/isa/service.h"
#include "machine/memory/memory.h"

namespace coalesce::machine {

namespace {

using A = const uint64_t*;
using T = ServiceThread;

template <class V>
V combined(BulkOp op, V old, V v) {
  switch (op) {
    case BulkOp::add:
      return static_cast<V>(static_cast<std::make_unsigned_t<V>>(old) + static_cast<std::make_unsigned_t<V>>(v));
    case BulkOp::min:
      return v < old ? v : old;
    case BulkOp::max:
      return old < v ? v : old;
    case BulkOp::inc:
      return old >= v ? V{0} : static_cast<V>(old + 1);
    case BulkOp::dec:
      return old == V{0} || old > v ? v : static_cast<V>(old - 1);
    default:
      return v;
  }
}

template <class V>
void combine(BulkOp op, std::byte* to, const std::byte* from) {
  V old, v;
  std::memcpy(&old, to, sizeof old);
  std::memcpy(&v, from, sizeof v);
  if constexpr (std::is_unsigned_v<V>) {
    if (op == BulkOp::and_) v = old & v;
    if (op == BulkOp::or_) v = old | v;
    if (op == BulkOp::xor_) v = old ^ v;
  }
  v = combined(op, old, v);
  std::memcpy(to, &v, sizeof v);
}

// Two real numbers, by the row of the arithmetic: subnormals are kept, and NaNs are what a card makes of them (measured
// on an H100 for sums: tests/truth/bulk_sums.txt).
void combine_real(const PureOp* row, std::byte* to, const std::byte* from, uint32_t width) {
  uint64_t cells[3] = {};
  std::memcpy(&cells[1], to, width);
  std::memcpy(&cells[2], from, width);
  Context c{};
  c.base[0] = reinterpret_cast<std::byte*>(cells);
  Step s;
  s.extra = row->extra;
  s.src[0] = 8;
  s.src[1] = 16;
  row->scalar(s, c);
  std::memcpy(to, &cells[0], width);
}

// Null: not of real numbers.
const PureOp* real_row(const BulkForm& f) {
  const std::string op = f.op == BulkOp::add ? "add" : f.op == BulkOp::min ? "min" : "max";
  switch (f.type) {
    case BulkType::f16:
      return find_pure(op + ".f16");
    case BulkType::bf16:
      return find_pure(op + ".bf16");
    case BulkType::f32:
      return find_pure(op + ".f32");
    case BulkType::f64:
      return find_pure(op + ".f64");
    default:
      return nullptr;
  }
}

}  // namespace

void need_multiple(T& t, uint64_t address, uint64_t multiple, const char* what) {
  if (address % multiple == 0) return;
  char text[160];
  std::snprintf(text, sizeof text, "%s 0x%llx, which is not a multiple of %llu", what,
                static_cast<unsigned long long>(address), static_cast<unsigned long long>(multiple));
  t.misaligned(text);
}

void complete_bytes(T& t, uint64_t object, uint64_t bytes) {
  need_multiple(t, object, 8, "an mbarrier object at");
  t.completes(object);
  std::byte* const at = t.at(object, 8);
  uint64_t bits;
  std::memcpy(&bits, at, 8);
  bits = mbarrier_after(bits, ((0 - bytes) & kMbarrierBytesMask) << kMbarrierBytes);
  std::memcpy(at, &bits, 8);
}

uint64_t sectors_of_row(uint64_t shared, uint64_t global, uint64_t length, uint64_t low, uint64_t high, bool loads) {
  constexpr uint64_t kLine = 128, kSector = 32;
  uint64_t moved = 0;
  for (uint64_t from = 0, to = 0; from < length; from = to) {
    to = std::min(length, from + kLine - (shared + from) % kLine);
    if (from < low)
      to = std::min(to, low);
    else if (from < high)
      to = std::min(to, high);
    const bool within = low <= from && from < high;
    const uint64_t side = within ? global : shared;
    if (within || loads) moved += (side + to - 1) / kSector - (side + from) / kSector + 1;
  }
  return moved;
}

uint64_t sectors_to_blocks(uint64_t shared, uint64_t global, uint64_t length, uint64_t low, uint64_t high, uint64_t end,
                           bool changes) {
  constexpr uint64_t kLine = 128, kSector = 32;
  uint64_t moved = 0;
  for (uint64_t from = 0, to = 0; from < length; from = to) {
    to = std::min(length, from + kLine - (shared + from) % kLine);
    const bool within = low <= from && from < high;
    if (within)
      to = std::min({to, high, from + kLine - (global + from) % kLine});
    else if (from < low)
      to = std::min(to, low);
    const uint64_t side = within ? global : shared;
    const uint64_t least = within && !changes && (end <= from || to <= end) ? 2 : 3;
    moved += std::max(least, (side + to - 1) / kSector - (side + from) / kSector + 1);
  }
  return moved;
}

void reduce(const BulkForm& f, std::byte* to, const std::byte* from, uint64_t bytes) {
  const PureOp* const row = real_row(f);
  for (uint64_t k = 0; k < bytes; k += f.width()) {
    switch (f.type) {
      case BulkType::b32:
      case BulkType::u32:
        combine<uint32_t>(f.op, to + k, from + k);
        break;
      case BulkType::s32:
        combine<int32_t>(f.op, to + k, from + k);
        break;
      case BulkType::b64:
      case BulkType::u64:
        combine<uint64_t>(f.op, to + k, from + k);
        break;
      case BulkType::s64:
        combine<int64_t>(f.op, to + k, from + k);
        break;
      default:
        combine_real(row, to + k, from + k, f.width());
        break;
    }
  }
}

uint64_t in_block(uint64_t generic, uint32_t own, uint32_t other) {
  return kSharedWindow + cluster_address(own, other, static_cast<uint32_t>(generic) & kClusterOffset);
}

namespace {

uint64_t arrive(T& t, bool releases) {
  uint32_t rank = 0;
  Cluster& cluster = t.cluster(rank);
  t.arrives(cluster.phase(), releases);
  cluster.arrive(rank, t.thread);
  return 0;
}
uint64_t arrive_releasing(T& t, A) { return arrive(t, true); }
uint64_t arrive_relaxed(T& t, A) { return arrive(t, false); }
uint64_t wait(T& t, A) {
  uint32_t rank = 0;
  Cluster& cluster = t.cluster(rank);
  if (!cluster.passed(rank, t.thread)) return 0;
  t.passes(cluster.waits_for(rank, t.thread));
  return 1;
}

uint64_t bulk(T& t, A a) {
  const uint64_t to = a[0], from = a[1], bytes = a[2], object = a[3], mask = a[4];
  const BulkForm form = BulkForm::of(a[5]);
  need_multiple(t, to, kBulkUnit, "a bulk copy to");
  need_multiple(t, from, kBulkUnit, "a bulk copy from");
  need_multiple(t, bytes, kBulkUnit, "a bulk copy of a size of");
  if (bytes == 0) return 0;
  const std::byte* const source = t.at(from, bytes);
  t.touch(from, bytes);
  t.touch(to, bytes);
  const bool loads = object != 0;
  // To several blocks as a row of a tensor, which was measured.
  t.sectors(!loads           ? sectors_of_row(from, to, bytes, 0, bytes, false)
            : form.multicast ? static_cast<uint64_t>(std::popcount(mask)) *
                                   sectors_to_blocks(to, from, bytes, 0, bytes, bytes, false)
                             : sectors_of_row(to, from, bytes, 0, bytes, true));
  if (form.multicast) {
    uint32_t own = 0;
    const uint32_t blocks = t.cluster(own).size();
    if (mask >> blocks) t.fail("a bulk copy to blocks that the cluster does not have");
    for (uint32_t rank = 0; rank < blocks; ++rank) {
      if (!(mask >> rank & 1)) continue;
      std::byte* const there = t.at(in_block(to, own, rank), bytes);
      t.moves({in_block(to, own, rank), from, bytes, in_block(object, own, rank), false});
      std::memmove(there, source, bytes);
      complete_bytes(t, in_block(object, own, rank), bytes);
    }
    return 0;
  }
  std::byte* const target = t.at(to, bytes);
  t.moves({to, from, bytes, object, form.op != BulkOp::copy});
  if (form.op != BulkOp::copy) {
    reduce(form, target, source, bytes);
  } else if (form.masked) {
    for (uint64_t k = 0; k < bytes; ++k)
      if (mask >> k % kBulkUnit & 1) target[k] = source[k];
  } else {
    std::memmove(target, source, bytes);
  }
  if (object) complete_bytes(t, object, bytes);
  return 0;
}

uint64_t store(T& t, A a) {
  const BulkForm form = BulkForm::of(a[2]);
  const uint32_t width = form.width(), bytes = width * form.count;
  need_multiple(t, a[0], bytes, "an asynchronous store to");
  std::byte* const to = t.at(a[0], bytes);
  t.moves({a[0], 0, bytes, a[1], form.op != BulkOp::copy});
  for (uint32_t k = 0; k < form.count; ++k) {
    if (form.op == BulkOp::copy)
      std::memcpy(to + k * width, &a[3 + k], width);
    else
      reduce(form, to, reinterpret_cast<const std::byte*>(&a[3]), width);
  }
  complete_bytes(t, a[1], bytes);
  return 0;
}

constexpr Service kBulkServices[] = {
    {kClusterArrive, "", '0', false, arrive_releasing},
    {kClusterArriveRelaxed, "", '0', false, arrive_relaxed},
    {kClusterWait, "", '4', false, wait},
    {kBulkCopy, "888888", '0', false, bulk},
    {kBulkReduce, "888888", '0', true, bulk},
    {kStoreAsync, "8888888", '0', false, store},
};

}  // namespace

const Service* find_bulk_service(std::string_view name) {
  for (const Service& s : kBulkServices)
    if (s.name == name) return &s;
  return find_tensor_service(name);
}

}  // namespace coalesce::machine
