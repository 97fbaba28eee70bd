// Runs rows of the table of computing instructions and compares them with references written another way.
//
// A reference gets the mnemonic split at its dots and the operands as raw bits; it returns false when the mnemonic is
// not its own. The coverage test asks every reference for every row, so a row that nobody can check fails the build of
// trust.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "machine/execute/ops/ops.h"
#include "tests/machine/isa/operations.h"
#include "tests/sanitized.h"

namespace coalesce::machine::ops_test {

using operations::cut;
using operations::file_bytes;
using operations::Raw;
__extension__ using Signed = __int128;
using Words = std::vector<std::string>;
// Fills out[]; what to compare is decided by the row's elements.
using Reference = bool (*)(const Words& words, const Raw* in, Raw* out);

bool integer_reference(const Words& words, const Raw* in, Raw* out);
bool bit_reference(const Words& words, const Raw* in, Raw* out);
bool move_reference(const Words& words, const Raw* in, Raw* out);
bool carry_reference(const Words& words, const Raw* in, Raw* out);
bool float_reference(const Words& words, const Raw* in, Raw* out);
bool half_reference(const Words& words, const Raw* in, Raw* out);
bool compare_reference(const Words& words, const Raw* in, Raw* out);
bool convert_reference(const Words& words, const Raw* in, Raw* out);
bool small_reference(const Words& words, const Raw* in, Raw* out);
// These are checked against documented errors, not for equality: see ops_approx_test.cpp.
bool is_approximate(const Words& words);

inline Words split(std::string_view mnemonic) {
  Words words(1);
  for (const char c : mnemonic) {
    if (c == '.')
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}
inline bool has(const Words& words, std::string_view word) {
  for (size_t k = 1; k < words.size(); ++k) {
    if (words[k] == word) return true;
  }
  return false;
}

// Which of two NaN payloads a double precision operation keeps is left open by PTX.
inline bool same(const Words& words, Element e, Raw got, Raw want) {
  const auto nan = [](Raw bits) { return (static_cast<uint64_t>(bits) << 1) > 0xffe0000000000000u; };
  return got == want || (e == Element::b64 && has(words, "f64") && nan(got) && nan(want));
}

// A warp of slots of 512 bytes: four sources, two results.
struct Bench {
  alignas(64) std::byte slots[6][kLanes * 16];
  Context context{};
  Step step{};
  const PureOp& op;

  explicit Bench(const PureOp& row) : op(row) {
    step.extra = op.extra;
    for (auto& base : context.base) base = slots[0];
    for (uint32_t k = 0; k < 4; ++k) step.src[k] = slot(k);
    for (uint32_t k = 0; k < 2; ++k) step.dst[k] = slot(4 + k);
  }
  static Slot slot(uint32_t k) { return static_cast<Slot>(k * sizeof(slots[0])) | kWarp; }

  void put(uint32_t k, uint32_t lane, Element e, Raw value) {
    if (e == Element::pred) {
      uint32_t& bits = *context.at<uint32_t>(slot(k));
      bits = (bits & ~(1u << lane)) | (static_cast<uint32_t>(value & 1) << lane);
    } else {
      std::memcpy(slots[k] + lane * file_bytes(e), &value, file_bytes(e));
    }
  }
  Raw get(uint32_t k, uint32_t lane, Element e) const {
    if (e == Element::pred) return *context.at<uint32_t>(slot(k)) >> lane & 1;
    Raw value = 0;
    std::memcpy(&value, slots[k] + lane * file_bytes(e), file_bytes(e));
    return value;
  }
};

// Operand bits that reach the corners: specials of every format, small numbers, single bits, near-equal floats, noise.
class Operands {
 public:
  explicit Operands(uint32_t seed) : random_(seed) {}
  Raw next(Element e) {
    const uint64_t r = random_();
    static constexpr uint16_t kHalves[] = {0,      0x8000, 1,      0x8001, 0x3ff,  0x400,  0x3c00, 0xbc00,
                                           0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 0xffff, 0x7fff,
                                           0x3f80, 0x7f80, 0xff80, 0x0080, 0x7f,   0x3800};
    static constexpr uint32_t kWords[] = {0,          0x80000000, 1,          0x80000001, 0x7fffff,   0x800000,
                                          0x807fffff, 0x3f800000, 0xbf800000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
                                          0xff800000, 0x7fc00000, 0x7f800001, 0xffffffff, 0x7fffffff, 0x4f000000,
                                          0xcf000000, 0x4f7fffff, 0x4f800000, 0x5f000000, 0x33800000, 0x3f000000,
                                          0x7e800001, 0x477fe000, 0x477ff000, 0x38800000};
    static constexpr uint64_t kLongs[] = {0,
                                          0x8000000000000000,
                                          1,
                                          0x8000000000000001,
                                          0x000fffffffffffff,
                                          0x0010000000000000,
                                          0x3ff0000000000000,
                                          0xbff0000000000000,
                                          0x7fefffffffffffff,
                                          0x7ff0000000000000,
                                          0xfff0000000000000,
                                          0x7ff8000000000000,
                                          0xffffffffffffffff,
                                          0x7fffffffffffffff,
                                          0x41e0000000000000,
                                          0x43e0000000000000,
                                          0x43f0000000000000,
                                          0x47efffffe0000000,
                                          0x47f0000000000000,
                                          0x3810000000000000,
                                          0x36a0000000000000,
                                          0x40effc0000000000};
    const unsigned bits = static_cast<unsigned>(8 * file_bytes(e));
    switch (e == Element::pred ? 7 : r % 7) {
      case 0:
        if (e == Element::b16) return kHalves[(r >> 8) % std::size(kHalves)];
        if (e == Element::b32) return kWords[(r >> 8) % std::size(kWords)];
        return kLongs[(r >> 8) % std::size(kLongs)];
      case 1:
        return cut(Raw{0} - (r >> 8) % 70, e);
      case 2:
        return (r >> 8) % 70;
      case 3:
        return Raw{1} << ((r >> 8) % bits);
      case 4: {  // floats around 1 whose sums and products round in every way
        if (e == Element::b16) return 0x3800 + (r >> 8) % 0x1000 + ((r >> 40) & 1) * 0x8000;
        if (e == Element::b32) return 0x3e000000 + (r >> 8) % 0x03000000 + ((r >> 40) & 1) * 0x80000000u;
        return 0x3fc0000000000000 + (r >> 8) % 0x0060000000000000 + (r << 63);
      }
      default:
        return cut(Raw{random_()} << 64 | random_(), e);
    }
  }

 private:
  std::mt19937_64 random_;
};

// Checks one row in its three forms, with every aliasing that the contract allows, on `warps` warps of operands.
inline void check_row(const PureOp& op, Reference reference, int warps) {
  SCOPED_TRACE(std::string(op.mnemonic));
  const Words words = split(op.mnemonic);
  Operands operands(static_cast<uint32_t>(std::hash<std::string_view>{}(op.mnemonic)));
  std::mt19937 masks(7);
  for (int warp = 0; warp < warps; ++warp) {
    Raw in[kLanes][4] = {}, want[kLanes][2] = {};
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      for (uint32_t k = 0; k < op.sources; ++k) in[lane][k] = operands.next(op.source[k]);
      ASSERT_TRUE(reference(words, in[lane], want[lane]));
    }
    // form: -1 full, otherwise masked; alias: the source whose slot the first result takes
    for (int masked = 0; masked < 2; ++masked) {
      for (int alias = -1; alias < op.sources; ++alias) {
        if (alias >= 0 && op.source[alias] != op.result[0]) continue;
        Bench bench(op);
        std::memset(bench.slots, 0xa5, sizeof(bench.slots));
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
          for (uint32_t k = 0; k < op.sources; ++k) bench.put(k, lane, op.source[k], in[lane][k]);
        }
        if (alias >= 0) bench.step.dst[0] = bench.step.src[alias];
        bench.context.active = masks();
        (masked ? op.masked : op.full)(bench.step, bench.context);
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
          const bool on = !masked || (bench.context.active >> lane & 1);
          for (uint32_t k = 0; k < op.results; ++k) {
            const uint32_t at = k == 0 && alias >= 0 ? static_cast<uint32_t>(alias) : 4 + k;
            Raw before = 0;
            std::memset(&before, 0xa5, sizeof(before));
            before = op.result[k] == Element::pred ? Raw{0xa5a5a5a5u >> lane & 1} : cut(before, op.result[k]);
            const Raw expected = on ? cut(want[lane][k], op.result[k]) : at < 4 ? in[lane][at] : before;
            const Raw got = bench.get(at, lane, op.result[k]);
            ASSERT_TRUE(same(words, op.result[k], got, expected))
                << (masked ? "masked" : "full") << " alias " << alias << " lane " << lane << " result " << k << std::hex
                << "\n got  " << static_cast<uint64_t>(got) << "\n want " << static_cast<uint64_t>(expected)
                << "\n of   " << static_cast<uint64_t>(in[lane][0]) << " " << static_cast<uint64_t>(in[lane][1]) << " "
                << static_cast<uint64_t>(in[lane][2]) << " " << static_cast<uint64_t>(in[lane][3]);
          }
        }
      }
    }
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      Bench bench(op);
      std::memset(bench.slots, 0xa5, sizeof(bench.slots));
      for (uint32_t k = 0; k < op.sources; ++k) {
        if (op.source[k] == Element::pred)
          *bench.context.at<uint32_t>(bench.step.src[k]) = in[lane][k] ? ~0u : 0u;
        else
          bench.put(k, 0, op.source[k], in[lane][k]);
      }
      op.scalar(bench.step, bench.context);
      for (uint32_t k = 0; k < op.results; ++k) {
        if (op.result[k] == Element::pred) {
          ASSERT_EQ(*bench.context.at<uint32_t>(bench.step.dst[k]), (want[lane][k] & 1) ? ~0u : 0u);
        } else {
          ASSERT_TRUE(same(words, op.result[k], bench.get(4 + k, 0, op.result[k]), cut(want[lane][k], op.result[k])))
              << "scalar, lane " << lane;
        }
      }
    }
  }
}

// Every row that a reference claims; at least `rows` of them. Under sanitizers a third of the operands.
inline void check_rows(Reference reference, size_t rows, int warps = 24) {
  if (kSanitized) warps = std::max(4, warps / 3);
  size_t checked = 0;
  for (const auto& family : all_pure()) {
    for (const PureOp& op : family) {
      const Raw zero[4] = {};
      Raw out[2] = {};
      const Words words = split(op.mnemonic);
      if (is_approximate(words) || !reference(words, zero, out)) continue;
      ++checked;
      check_row(op, reference, warps);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_GE(checked, rows);
}

}  // namespace coalesce::machine::ops_test
