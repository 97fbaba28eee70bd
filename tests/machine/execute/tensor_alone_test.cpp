// Copies of tensors by a thread alone: all cases of tests/truth/tensors.txt, and what is told of each part that moves.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>
#include <tuple>

#include "alone.h"
#include "machine/isa/mbarrier.h"
#include "machine/isa/tensor_map.h"
#include "tests/hardware/tensors.h"
#include "tests/sanitized.h"

namespace coalesce::machine::test {
namespace alone {
namespace {

constexpr uint32_t kTileAt = 1024;  // of shared memory; the object lies at its beginning

TensorMap map_for(const tensors::Case& c, uint64_t base, bool& fits) {
  TensorMap map;
  TensorWords w;
  const uint64_t none = 0;
  w.type = c.type, w.rank = c.rank, w.address = base + c.base, w.dims = c.dims.data();
  w.strides = c.strides.empty() ? &none : c.strides.data();
  w.box = c.box.data(), w.steps = c.steps.data(), w.lower = c.lower.data(), w.upper = c.upper.data();
  w.channels = c.channels, w.pixels = c.pixels;
  w.interleave = c.interleave, w.swizzle = c.swizzle, w.l2 = c.l2, w.fill = c.fill;
  fits = describe_tensor(w, c.im2col, map).empty();
  return map;
}

TensorForm form_of(const tensors::Case& c) {
  TensorForm f;
  f.rank = static_cast<uint8_t>(c.rank);
  f.im2col = c.im2col;
  f.action = c.op == "load" ? TensorAction::load : c.op == "prefetch" ? TensorAction::prefetch : TensorAction::store;
  f.op_from(c.op);
  return f;
}

// Shared memory; global memory, which holds the tensor and the map behind it.
struct Bytes {
  decltype(ThreadAlone::shared) tile;
  decltype(ThreadAlone::global) global;
};

// Bytes as tensors::bytes_of has them, and their digest; those of most cases are the same.
struct Known {
  std::vector<uint8_t> bytes;
  uint64_t digest = 0;
};
const Known& bytes_for(const tensors::Case& c, uint32_t count, uint32_t seed) {
  static std::map<std::tuple<std::string, uint32_t, uint32_t>, Known> all;
  Known& k = all[{c.data, c.data == "bytes" ? 0 : c.type, seed}];
  if (k.bytes.empty()) k.bytes = tensors::bytes_of(c, count, seed), k.digest = tensors::digest(k.bytes.data(), count);
  return k;
}

// Does the case. CUDA's number of the error with which the launch ends, or 0.
int do_case(const tensors::Case& c, ThreadAlone& t, bool& fits, Bytes& before) {
  constexpr std::size_t at = 2 * tensors::kGlobal;  // some tensors end behind the bytes that are looked at
  map_for(c, 256, fits);
  if (!fits || !c.runs) return 0;
  std::memcpy(t.global.data(), bytes_for(c, tensors::kGlobal, 1).bytes.data(), tensors::kGlobal);
  std::memcpy(t.shared.data() + kTileAt, bytes_for(c, tensors::kTile, 2).bytes.data(), tensors::kTile);
  const uint64_t map_at = t.base() + at;
  const TensorMap map = map_for(c, t.base(), fits);
  std::memcpy(t.at(map_at, sizeof map), &map, sizeof map);
  const uint64_t bits = mbarrier_after(mbarrier_of(1), 1 | uint64_t{c.op == "load" ? c.bytes() : 0} << kMbarrierBytes);
  std::memcpy(t.shared.data(), &bits, sizeof bits);
  before = {t.shared, t.global};
  const TensorForm form = form_of(c);
  std::vector<uint64_t> words{kSharedWindow + kTileAt + c.to, map_at, c.op == "load" ? kSharedWindow : 0, 0,
                              form.word()};
  for (std::size_t k = 0; k < kTensorRank; ++k) words.push_back(k < c.at.size() ? static_cast<uint32_t>(c.at[k]) : 0);
  for (std::size_t k = 0; k + 2 < kTensorRank; ++k) words.push_back(k < c.offsets.size() ? c.offsets[k] : 0);
  return error_of(t, form.op == BulkOp::copy ? kTensorCopy : kTensorReduce, words);
}

std::string answer_alone(const tensors::Case& c) {
  const auto made = std::make_unique<std::pair<ThreadAlone, Bytes>>();
  auto& [t, before] = *made;
  bool fits = false;
  const int error = do_case(c, t, fits, before);
  if (!fits) return "encode 1";
  if (!c.runs) return "encode 0";
  if (error != 0) return "encode 0 fault " + std::to_string(error);
  uint64_t bits = 0;
  std::memcpy(&bits, t.shared.data(), sizeof bits);
  const bool all = bits >> kMbarrierPhase & 1;
  std::vector<uint8_t> out(tensors::kOut);
  std::memcpy(out.data(), t.shared.data() + kTileAt, tensors::kTile);
  out[tensors::kTile] = all;
  char text[128];
  std::snprintf(text, sizeof text, "encode 0 tile %016llx memory %016llx %s",
                static_cast<unsigned long long>(tensors::digest(out.data(), tensors::kOut)),
                static_cast<unsigned long long>(
                    t.global == before.global
                        ? bytes_for(c, tensors::kGlobal, 1).digest
                        : tensors::digest(reinterpret_cast<const uint8_t*>(t.global.data()), tensors::kGlobal)),
                all ? "all" : "not-all");
  return text;
}

// Carries out what the thread was told of: a part from nowhere is the tensor's fill.
std::string replayed(const tensors::Case& c, const ThreadAlone& t, Bytes& before) {
  const bool tf32 = c.type >= 11;
  for (const BulkPart& p : t.moved) {
    if (p.object != (c.op == "load" ? kSharedWindow : 0)) return "another object";
    if (p.reduces != (c.op != "load" && c.op != "store")) return "reduces";
    const bool loads = p.to - kSharedWindow < kWindowSize;
    if (loads != (c.op == "load")) return "the wrong way";
    std::byte* const to =
        loads ? before.tile.data() + (p.to - kSharedWindow) : before.global.data() + (p.to - t.base());
    if (p.from == 0)
      for (uint64_t k = 0; k < p.bytes; ++k)
        to[k] = std::byte{static_cast<uint8_t>(!c.fill ? 0 : (p.to + k) % 2 ? 0x7f : 0xf7)};
    else
      std::memcpy(to, loads ? t.global.data() + (p.from - t.base()) : t.shared.data() + (p.from - kSharedWindow),
                  p.bytes);
  }
  if (c.op != "load") return c.op != "store" || before.global == t.global ? "" : "global memory";
  std::copy_n(t.shared.begin(), kTileAt, before.tile.begin());
  return tf32 || before.tile == t.shared ? "" : "the tile";
}

TEST(TensorsAlone, CopiesLeaveWhatAnH100Leaves) {
  std::ifstream file(std::string(COALESCE_SOURCE_DIR) + "/tests/truth/tensors.txt");
  uint32_t cases = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const tensors::Case c = tensors::parse(line);
    if (c.plain() || c.op == "multicast") continue;
    ++cases;
    if (kSanitized && cases % 8 != 0) continue;
    EXPECT_EQ(answer_alone(c), line.substr(line.find(" : ") + 3)) << c.text;
  }
  EXPECT_GT(cases, 2000u);
}

TEST(TensorsAlone, AllThatMovesIsTold) {
  std::ifstream file(std::string(COALESCE_SOURCE_DIR) + "/tests/truth/tensors.txt");
  uint32_t number = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const tensors::Case c = tensors::parse(line);
    if (c.plain() || c.op == "multicast" || !c.runs || number++ % (kSanitized ? 32 : 4) != 0) continue;
    const auto made = std::make_unique<std::pair<ThreadAlone, Bytes>>();
    auto& [t, before] = *made;
    bool fits = false;
    if (do_case(c, t, fits, before) != 0 || !fits) continue;
    EXPECT_EQ(t.completed, c.op == "load" ? kSharedWindow : 0) << c.text;
    EXPECT_EQ(replayed(c, t, before), "") << c.text;
  }
}

// A description lies at a multiple of 64, and is one.
TEST(TensorsAlone, DescriptionsThatAreNone) {
  const tensors::Case c = tensors::parse("op=load type=0 dims=64 box=16 at=0");
  const auto made = std::make_unique<ThreadAlone>();
  ThreadAlone& t = *made;
  bool fits = false;
  const TensorMap map = map_for(c, t.base(), fits);
  ASSERT_TRUE(fits);
  for (const uint64_t off : {0u, 8u, 32u, 64u})
    for (const bool valid : {true, false}) {
      const uint64_t at = t.base() + 4096 + off;
      TensorMap there = map;
      if (!valid) there.mark ^= 1;
      std::memcpy(t.at(at, sizeof there), &there, sizeof there);
      const uint64_t bits = mbarrier_after(mbarrier_of(1), 1 | uint64_t{16} << kMbarrierBytes);
      std::memcpy(t.shared.data(), &bits, sizeof bits);
      t.touched = 0;
      EXPECT_EQ(error_of(t, kTensorCopy, {kSharedWindow + kTileAt, at, kSharedWindow, 0, form_of(c).word()}),
                off % 64 ? 716
                : valid  ? 0
                         : 715)
          << off;
      EXPECT_EQ(t.touched, off % 64 == 0 && valid ? 16u : 0u) << off;
      if (!valid) continue;
      EXPECT_EQ(error_of(t, kTensorChange, {at, static_cast<uint64_t>(TensorField::fill), 0, 0}), off % 64 ? 716 : 0);
      t.touched = 0;
      EXPECT_EQ(error_of(t, kTensorPublish, {t.base() + 8192, at}), off % 64 ? 716 : 0);
      EXPECT_EQ(error_of(t, kTensorPublish, {t.base() + 8192 + off, t.base() + 8192}), off % 64 ? 716 : 0);
      EXPECT_EQ(t.touched, off % 64 ? 0u : 256u);
    }
}

}  // namespace
}  // namespace alone
}  // namespace coalesce::machine::test
