// Bulk copies, reductions and asynchronous stores by a thread alone, byte by byte; the sectors that copies move.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>
#include <set>

#include "alone.h"
#include "machine/execute/bulk.h"
#include "machine/isa/mbarrier.h"

namespace coalesce::machine::test {
namespace alone {
namespace {

constexpr uint64_t kObject = kSharedWindow + 8, kPlace = kSharedWindow + 1024;

void prepare(ThreadAlone& t, uint64_t expected) {
  std::mt19937 random(5);
  for (std::byte* m : {t.global.data(), t.shared.data()})
    for (int k = 0; k < 4096; ++k) m[k] = std::byte{static_cast<uint8_t>(random())};
  const uint64_t bits = mbarrier_after(mbarrier_of(1), 1 | expected << kMbarrierBytes);
  std::memcpy(t.shared.data() + 8, &bits, 8);
}
uint64_t object_of(const ThreadAlone& t) {
  uint64_t bits;
  std::memcpy(&bits, t.shared.data() + 8, 8);
  return bits;
}

TEST(BulkAlone, CopiesOfBytes) {
  for (const bool loads : {true, false})
    for (const bool masked : {false, true})
      for (const uint64_t bytes : {0u, 16u, 48u, 1024u}) {
        if (loads && masked) continue;
        ThreadAlone t;
        prepare(t, bytes + 32);
        const uint64_t global = t.base() + 32, mask = masked ? 0x8421 : 0;
        BulkForm form;
        form.masked = masked;
        const auto wanted_global = t.global;
        const auto wanted_shared = t.shared;
        const uint64_t to = loads ? kPlace : global, from = loads ? global : kPlace, object = loads ? kObject : 0;
        ASSERT_EQ(error_of(t, kBulkCopy, {to, from, bytes, object, mask, form.word()}), 0);
        const std::byte* const is = t.at(to, bytes);
        for (uint64_t k = 0; k < bytes; ++k) {
          const std::byte source = loads ? wanted_global[global - t.base() + k] : wanted_shared[1024 + k];
          const std::byte kept = wanted_global[global - t.base() + k];
          ASSERT_EQ(is[k], masked && !(mask >> k % 16 & 1) ? kept : source) << k;
        }
        EXPECT_EQ((loads ? t.shared[1024 + bytes] : t.global[global - t.base() + bytes]),
                  (loads ? wanted_shared[1024 + bytes] : wanted_global[global - t.base() + bytes]));
        ASSERT_EQ(t.moved.size(), bytes ? 1u : 0u);
        EXPECT_EQ(object_of(t) >> kMbarrierBytes & kMbarrierBytesMask, loads ? 32 : bytes + 32);
        EXPECT_EQ(t.completed, loads && bytes ? kObject : 0);
        EXPECT_EQ(t.touched, 2 * bytes);
        if (bytes == 0) continue;
        const BulkPart& p = t.moved[0];
        EXPECT_TRUE(p.to == to && p.from == from && p.bytes == bytes && p.object == object && !p.reduces);
      }
}

TEST(BulkAlone, AddressesThatAreNoMultiples) {
  for (int which = 0; which < 3; ++which)
    for (const uint64_t off : {1, 4, 8, 15, 16}) {
      ThreadAlone t;
      prepare(t, 0);
      std::vector<uint64_t> words{kPlace, t.base(), 64, kObject, 0, BulkForm{}.word()};
      words[static_cast<std::size_t>(which)] += off;
      EXPECT_EQ(error_of(t, kBulkCopy, words), off == 16 ? 0 : 716) << which << " " << off;
      if (off != 16) EXPECT_TRUE(t.used.empty() && t.moved.empty());
    }
  for (const uint64_t off : {0, 1, 4, 8}) {
    ThreadAlone t;
    prepare(t, 64);
    EXPECT_EQ(error_of(t, kBulkCopy, {kPlace, t.base(), 64, kObject + off, 0, BulkForm{}.word()}), off % 8 ? 716 : 0);
    EXPECT_EQ(error_of(t, kStoreAsync, {kPlace, kObject + off, BulkForm{}.word(), 1}), off % 8 ? 716 : 0);
  }
  for (const BulkType type : {BulkType::b32, BulkType::b64})
    for (const uint8_t count : {1, 2, 4})
      for (uint64_t off = 0; off <= 32; off += 4)
        for (const BulkOp op : {BulkOp::copy, BulkOp::add}) {
          if (op == BulkOp::add && count != 1) continue;
          ThreadAlone t;
          prepare(t, 64);
          BulkForm form;
          form.type = op == BulkOp::add ? (type == BulkType::b32 ? BulkType::u32 : BulkType::u64) : type;
          form.op = op, form.count = count;
          const uint64_t bytes = uint64_t{form.width()} * count;
          const auto before = t.shared;
          const int error =
              error_of(t, kStoreAsync, {kPlace + off, kObject, form.word(), ~0u, 0x1122334455667788, 3, 4});
          ASSERT_EQ(error, off % bytes ? 716 : 0) << bytes << " bytes at " << off;
          if (error != 0) continue;
          ASSERT_EQ(t.moved.size(), 1u);
          const BulkPart& p = t.moved[0];
          EXPECT_TRUE(p.to == kPlace + off && p.from == 0 && p.bytes == bytes && p.object == kObject);
          EXPECT_EQ(p.reduces, op == BulkOp::add);
          EXPECT_EQ(object_of(t) >> kMbarrierBytes & kMbarrierBytesMask, 64 - bytes);
          const uint64_t values[] = {~0u, 0x1122334455667788, 3, 4};
          auto wanted = before;
          for (uint8_t k = 0; k < count; ++k) {
            std::byte* const at = wanted.data() + 1024 + off + std::size_t{k} * form.width();
            uint64_t old = 0;
            std::memcpy(&old, at, form.width());
            const uint64_t now = op == BulkOp::add ? old + values[k] : values[k];
            std::memcpy(at, &now, form.width());
          }
          std::memcpy(wanted.data() + 8, t.shared.data() + 8, 8);
          EXPECT_EQ(t.shared, wanted);
        }
}

// Integers of every width: an operation's definition in numbers that are wide enough.
TEST(BulkAlone, ReductionsOfIntegers) {
  struct {
    BulkType type;
    unsigned bits;
    bool has_sign;
  } const kTypes[] = {{BulkType::b32, 32, false}, {BulkType::u32, 32, false}, {BulkType::s32, 32, true},
                      {BulkType::b64, 64, false}, {BulkType::u64, 64, false}, {BulkType::s64, 64, true}};
  const uint64_t kValues[] = {
      0, 1, 2, 5, 0x7fffffff, 0x80000000, 0xffffffff, 0x7fffffffffffffff, 0x8000000000000000, ~uint64_t{0}};
  for (const auto& type : kTypes)
    for (int n = 0; n <= static_cast<int>(BulkOp::xor_); ++n) {
      BulkForm form;
      form.op = static_cast<BulkOp>(n), form.type = type.type;
      if (!form.valid() || form.op == BulkOp::copy) continue;
      const uint64_t cut = type.bits == 64 ? ~uint64_t{0} : 0xffffffff;
      std::vector<std::byte> to, from, wanted;
      const auto add = [&](std::vector<std::byte>& out, uint64_t v) {
        const auto* const b = reinterpret_cast<const std::byte*>(&v);
        out.insert(out.end(), b, b + type.bits / 8);
      };
      for (uint64_t a : kValues)
        for (uint64_t b : kValues) {
          a &= cut, b &= cut;
          const auto wide = [&](uint64_t v) {
            const bool negative = type.has_sign && v >> (type.bits - 1) & 1;
            return static_cast<__int128>(v) - (negative ? static_cast<__int128>(1) << type.bits : 0);
          };
          uint64_t r = 0;
          switch (form.op) {
            case BulkOp::add:
              r = a + b;
              break;
            case BulkOp::min:
              r = wide(a) < wide(b) ? a : b;
              break;
            case BulkOp::max:
              r = wide(a) < wide(b) ? b : a;
              break;
            case BulkOp::inc:
              r = a >= b ? 0 : a + 1;
              break;
            case BulkOp::dec:
              r = a == 0 || a > b ? b : a - 1;
              break;
            case BulkOp::and_:
              r = a & b;
              break;
            case BulkOp::or_:
              r = a | b;
              break;
            default:
              r = a ^ b;
              break;
          }
          add(to, a), add(from, b), add(wanted, r);
        }
      const std::size_t bytes = wanted.size();
      to.resize(bytes + 8), wanted.resize(bytes + 8);
      reduce(form, to.data(), from.data(), bytes);
      EXPECT_EQ(to, wanted) << n << " of type " << static_cast<int>(form.type);
    }
}

// A row's bytes in parts, by the words of bulk.h: a part ends where a line of shared memory does, where the tensor
// begins or ends, and, on the way to one of several blocks, where a line of global memory does.
struct RowPart {
  uint64_t first, last;
  bool within;
};
std::vector<RowPart> parts_of(uint64_t shared, uint64_t global, uint64_t length, uint64_t low, uint64_t high,
                              bool blocks) {
  std::vector<RowPart> parts;
  for (uint64_t k = 0; k < length; ++k) {
    const bool within = low <= k && k < high;
    if (k == 0 || within != parts.back().within || (shared + k) % 128 == 0 ||
        (blocks && within && (global + k) % 128 == 0))
      parts.push_back({k, k, within});
    parts.back().last = k;
  }
  return parts;
}

TEST(BulkAlone, SectorsOfRows) {
  std::mt19937 random(3);
  for (int n = 0; n < 3000; ++n) {
    const uint64_t shared = random() % 16 * 16, global = 4096 + random() % 256, length = 16 * (1 + random() % 24);
    uint64_t low = n % 3 ? random() % (length + 1) : 0, high = n % 5 ? random() % (length + 1) : length;
    if (low > high) std::swap(low, high);
    if (low == high) low = high = n % 2 ? length : 0;  // the tensor has nothing of the row
    const uint64_t end = low + (n % 4 ? random() % (high - low + 1) : high - low);
    for (const bool loads : {false, true}) {
      uint64_t wanted = 0;
      for (const RowPart& p : parts_of(shared, global, length, low, high, false)) {
        const uint64_t side = p.within ? global : shared;
        std::set<uint64_t> sectors;
        for (uint64_t k = p.first; k <= p.last; ++k) sectors.insert((side + k) / 32);
        if (p.within || loads) wanted += sectors.size();
      }
      ASSERT_EQ(sectors_of_row(shared, global, length, low, high, loads), wanted)
          << shared << " " << global << " " << length << " " << low << " " << high << " " << loads;
    }
    for (const bool changes : {false, true}) {
      uint64_t wanted = 0;
      for (const RowPart& p : parts_of(shared, global, length, low, high, true)) {
        const uint64_t side = p.within ? global : shared;
        std::set<uint64_t> sectors;
        for (uint64_t k = p.first; k <= p.last; ++k) sectors.insert((side + k) / 32);
        // Elements stay as they are where the tensor's end is not strictly within the part.
        const bool stay = p.within && !changes && !(p.first < end && end <= p.last);
        wanted += std::max<uint64_t>(stay ? 2 : 3, sectors.size());
      }
      ASSERT_EQ(sectors_to_blocks(shared, global, length, low, high, end, changes), wanted)
          << shared << " " << global << " " << length << " " << low << " " << high << " " << end << " " << changes;
    }
  }
}

}  // namespace
}  // namespace alone
}  // namespace coalesce::machine::test
