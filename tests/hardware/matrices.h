// The tensor cores' instructions whose results are compared with an H100's, bit by bit: their names, kernels in PTX
// that carry one out, and the numbers that they get. The probe (matrices_probe.cu) and the test (tests/machine/isa)
// share it.
#pragma once

#include "matrices_forms.h"

namespace matrices {

// ---- The numbers

ON_BOTH inline uint64_t mixed(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Eight families, by the tile's number: any finite number; exponents close together; exponents far apart; the same with
// infinities, NaNs, zeros and extremes; few bits, which cancel; mostly zeros; around the subnormal; around overflow.
ON_BOTH inline uint64_t real(Cell cell, char which, uint32_t tile, uint64_t tile_hash, uint64_t h) {
  const uint32_t e = cell == Cell::f16 || cell == Cell::e5m2 ? 5 : cell == Cell::e4m3 ? 4 : cell == Cell::f64 ? 11 : 8;
  const uint32_t f = cell == Cell::f16    ? 10
                     : cell == Cell::bf16 ? 7
                     : cell == Cell::e4m3 ? 3
                     : cell == Cell::e5m2 ? 2
                     : cell == Cell::f64  ? 52
                                          : 23;
  const int top = (1 << e) - 1, bias = (1 << (e - 1)) - 1, last = cell == Cell::e4m3 ? top : top - 1;
  const uint32_t family = tile & 7;
  const uint64_t sign = h & 1, ones = (uint64_t{1} << f) - 1;
  uint64_t fraction = (h >> 1) & ones;
  const uint32_t r = static_cast<uint32_t>(mixed(h) >> 16);
  const uint32_t spare = r >> 16, small = r & 0xffff;
  // Middles of the exponents, less the bias, of the tile's factors; the addend's is about their sum.
  const int width = e == 5 ? 6 : e == 4 ? 3 : e == 11 ? 200 : 30;
  int middle_a = static_cast<int>(tile_hash % (2 * width + 1)) - width;
  int middle_b = static_cast<int>((tile_hash >> 20) % (2 * width + 1)) - width;
  if (family == 6)
    middle_a = e == 8 ? -62 - static_cast<int>(tile_hash % 8) : 1 - bias, middle_b = e == 8 ? -62 : -width;
  if (family == 7) middle_a = middle_b = e == 8 ? 62 : bias - 3;
  int middle = which == 'a'   ? middle_a
               : which == 'b' ? middle_b
                              : middle_a + middle_b + static_cast<int>(tile_hash >> 40 & 7) - 4;
  int exponent = bias + middle;
  switch (family) {
    case 0:
      exponent = static_cast<int>(spare % (last + 1));
      break;
    case 1:
      exponent += static_cast<int>(small % 4);
      break;
    case 2:
      exponent += static_cast<int>(small % 31) - 15;
      break;
    case 3:
      exponent += static_cast<int>(small % 4);
      if (spare % 48 == 0) {
        const uint32_t pick = spare / 48 % 8;
        exponent = pick < 3 ? top : pick == 3 ? last : pick < 6 ? 0 : 1;
        fraction = pick == 0 || pick == 4 || pick == 6 ? 0 : pick == 3 ? ones : pick == 5 ? 1 : fraction;
      }
      break;
    case 4:
      exponent += static_cast<int>(small % 3);
      fraction = fraction >> (f - 2) << (f - 2);
      break;
    case 5:
      exponent += static_cast<int>(small % 25) - 12;
      if (spare % 4) exponent = 0, fraction = 0;
      break;
    case 6:
      exponent = spare % 4 == 0 ? 0 : exponent + static_cast<int>(small % 8);
      break;
    default:
      exponent += static_cast<int>(small % 4);
      break;
  }
  if (exponent < 0) exponent = 0, fraction = family & 1 ? 0 : fraction;
  if (exponent > last && !(family == 3 && exponent == top)) exponent = last;
  if (cell == Cell::e4m3 && family != 3 && exponent == top && fraction == ones) fraction = 0;
  return sign << (e + f) | static_cast<uint64_t>(exponent) << f | fraction;
}

// Word `word` of a tile.
ON_BOTH inline uint32_t word_of(Cell a, Cell b, Cell c, uint32_t words_a, uint32_t words_b, uint32_t words_c,
                                uint32_t tile, uint32_t word) {
  const uint64_t seed = 29, tile_hash = mixed(seed << 32 | tile), h = mixed(tile_hash + word);
  const char which = word < words_a                       ? 'a'
                     : word < words_a + words_b           ? 'b'
                     : word < words_a + words_b + words_c ? 'c'
                                                          : 'e';
  if (which == 'e') {                   // two different places of four; of tf32 one pair of two
    const uint32_t pairs = 0x44448ce9;  // (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), written 4 8 c 9 d e
    (void)pairs;
    uint32_t v = 0;
    for (uint32_t i = 0; i < 8; ++i) {
      const uint32_t pick = static_cast<uint32_t>(h >> 8 * i & 255);
      const uint32_t six = 0xed9c84;
      v |= (a == Cell::tf32 ? (pick & 1 ? 0xe : 0x4) : six >> 4 * (pick % 6) & 15) << 4 * i;
    }
    return v;
  }
  const Cell cell = which == 'a' ? a : which == 'b' ? b : c;
  const uint32_t bits = bits_of(cell);
  const bool is_real = cell <= Cell::e5m2;
  if (cell == Cell::f64) {
    const uint64_t v = real(cell, which, tile, tile_hash, mixed(tile_hash + (word & ~1u)));
    return static_cast<uint32_t>(word & 1 ? v >> 32 : v);
  }
  if (is_real) {
    uint32_t v = 0;
    for (uint32_t at = 0; at < 32; at += bits)
      v |= static_cast<uint32_t>(real(cell, which, tile, tile_hash, mixed(h + at)) << at);
    return v;
  }
  const uint32_t family = tile & 7;
  if (cell == Cell::s32) {
    const uint32_t near = static_cast<uint32_t>(h >> 32) % 20000;
    return family < 5 ? static_cast<uint32_t>(h) : h & 1 ? 0x7fffffffu - near : 0x80000000u + near;
  }
  if (family != 3 || cell == Cell::b1) return static_cast<uint32_t>(h);
  uint32_t v = 0;  // extremes
  for (uint32_t at = 0; at < 32; at += bits) {
    const uint32_t pick = static_cast<uint32_t>(h >> at & 3), half = 1u << (bits - 1);
    v |= (pick == 0 ? half : pick == 1 ? half - 1 : pick == 2 ? 2 * half - 1 : 0) << at;
  }
  return v;
}
inline uint32_t word_of(const Form& f, uint32_t tile, uint32_t word) {
  return word_of(f.a, f.b, f.c, f.words_a, f.words_b, f.words_c, tile, word);
}

// The first tiles, whose results tests/truth/matrices.txt has, one digest for each family.
inline constexpr uint32_t kKept = 64;
// Results as one number: the sum of each word mixed with its place.
ON_BOTH inline uint64_t digest(uint64_t place, uint32_t word) { return mixed(place << 32 | word); }

// ---- The kernels: .param .u64 from, .param .u64 to; blocks of 128 threads, four tiles each, or one of a warp group

inline std::string list(const char* prefix, uint32_t first, uint32_t n) {
  std::string s = "{";
  for (uint32_t i = 0; i < n; ++i) s += std::string(i ? ", " : "") + prefix + std::to_string(first + i);
  return s + "}";
}

inline std::string kernel(const Form& f, const std::string& entry) {
  const bool group = f.lanes == 128, wide = f.a == Cell::f64;
  const uint32_t each = wide ? 8 : 4;
  const std::string type = wide ? ".b64" : ".b32";
  std::string t = ".visible .entry " + entry + "(.param .u64 from, .param .u64 to)\n{\n";
  t += ".reg .b32 %r<16>;\n.reg .b64 %rd<16>;\n.reg .pred %p<2>;\n.reg " + type + " %x<64>, %y<16>;\n";
  if (group) t += ".shared .align 1024 .b8 S[4096];\n";
  t += "ld.param.u64 %rd1, [from];\nld.param.u64 %rd2, [to];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n";
  if (group)
    t += "mov.u32 %r3, %r1;\nmov.u32 %r4, %r2;\n";
  else
    t += "and.b32 %r3, %r1, 31;\nshr.u32 %r4, %r1, 5;\nmad.lo.u32 %r4, %r2, 4, %r4;\n";
  t += "mul.wide.u32 %rd3, %r4, " + std::to_string(4 * f.words()) + ";\nadd.u64 %rd1, %rd1, %rd3;\n";
  t += "mul.wide.u32 %rd4, %r4, " + std::to_string(4 * f.words_d) + ";\nadd.u64 %rd2, %rd2, %rd4;\n";
  t += "mul.wide.u32 %rd5, %r3, " + std::to_string(each) + ";\nadd.u64 %rd6, %rd1, %rd5;\nadd.u64 %rd7, %rd2, %rd5;\n";
  const uint32_t words_in_register = f.lanes * each / 4;
  const auto load = [&](uint32_t first, uint32_t from_word, uint32_t words) {
    for (uint32_t r = 0; r < words / words_in_register; ++r)
      t += "ld.global" + type + " %x" + std::to_string(first + r) + ", [%rd6+" +
           std::to_string(4 * from_word + r * f.lanes * each) + "];\n";
    return words / words_in_register;
  };
  const std::size_t blank = f.name.find(' ');
  const std::string name = f.name.substr(0, blank);
  const uint32_t d = f.words_d / words_in_register;
  if (!group) {
    const uint32_t a = load(0, 0, f.words_a), b = load(a, f.words_a, f.words_b);
    const uint32_t c = load(a + b, f.words_a + f.words_b, f.words_c);
    if (f.sparse) load(a + b + c, f.words_a + f.words_b + f.words_c, 32);
    t +=
        name + " " + list("%y", 0, d) + ", " + list("%x", 0, a) + ", " + list("%x", a, b) + ", " + list("%x", a + b, c);
    if (f.sparse) t += ", %x" + std::to_string(a + b + c) + ", 0x" + f.name.substr(blank + 1);
    t += ";\n";
  } else {
    // Shared memory: factor a (2048 bytes), then b; blocks of 8 rows of 16 bytes, the next ones along k 128 bytes on,
    // those of the next 8 rows 256.
    t += "mov.u32 %r5, S;\nshl.b32 %r6, %r1, 2;\nadd.u32 %r6, %r5, %r6;\n";
    const bool shared = f.unit == Unit::group_shared;
    if (shared)
      for (uint32_t r = 0; r < 4; ++r)
        t += "ld.global.b32 %r7, [%rd6+" + std::to_string(512 * r) + "];\nst.shared.b32 [%r6+" +
             std::to_string(512 * r) + "], %r7;\n";
    t += "setp.lt.u32 %p1, %r1, " + std::to_string(f.words_b) + ";\n@%p1 ld.global.b32 %r7, [%rd6+2048];\n" +
         "@%p1 st.shared.b32 [%r6+2048], %r7;\nfence.proxy.async;\nbar.sync 0;\n";
    const uint32_t a = shared ? 0 : load(0, 0, f.words_a);
    for (uint32_t r = 0; r < d; ++r)
      t += "ld.global.b32 %y" + std::to_string(r) + ", [%rd6+" + std::to_string(4 * (f.words_a + f.words_b) + 512 * r) +
           "];\n";
    // Leading 128 bytes, stride 256.
    t += "shr.u32 %r8, %r5, 4;\nand.b32 %r8, %r8, 16383;\ncvt.u64.u32 %rd8, %r8;\nor.b64 %rd8, %rd8, 0x1000080000;\n"
         "add.u64 %rd9, %rd8, 128;\nsetp.eq.u32 %p1, %r1, %r1;\nwgmma.fence.sync.aligned;\n";
    if (f.sparse) load(60, f.words_a + f.words_b + f.words_c, f.words_e);
    t += name + " " + list("%y", 0, d) + ", " + (shared ? "%rd8" : list("%x", 0, a)) + ", %rd9";
    t += f.sparse ? ", %x60, " + f.name.substr(blank + 1) + ", %p1" : ", %p1";
    const bool integer = f.d == Cell::s32, half = f.a == Cell::f16 || f.a == Cell::bf16;
    if (!integer) t += ", 1, 1";
    if (half) t += shared ? ", 0, 0" : ", 0";
    t += ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
  }
  for (uint32_t r = 0; r < d; ++r)
    t += "st.global" + type + " [%rd7+" + std::to_string(r * f.lanes * each) + "], %y" + std::to_string(r) + ";\n";
  return t + "ret;\n}\n";
}
// ---- Descriptors: halves of 1 to 8 and -1 to -8 in shared memory, of which one wgmma makes 64 by 128 sums

inline std::string described(bool a_turned, bool b_turned) {
  const std::string name = std::string("described_") + char('0' + a_turned) + char('0' + b_turned);
  std::string t = ".visible .entry " + name + "(.param .u64 from, .param .u64 to, .param .u64 a, .param .u64 b)\n{\n";
  t += ".reg .b32 %r<16>;\n.reg .b64 %rd<16>;\n.reg .pred %p<2>;\n.reg .f32 %f<64>;\n";
  t +=
      "ld.param.u64 %rd1, [from];\nld.param.u64 %rd2, [to];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, %r1, 4;\n"
      "add.u64 %rd1, %rd1, %rd3;\nadd.u64 %rd2, %rd2, %rd3;\nmov.u32 %r2, D;\nshl.b32 %r3, %r1, 2;\nadd.u32 %r3, %r3, "
      "%r2;\n"
      "mov.u32 %r4, 0;\nfill:\nld.global.b32 %r5, [%rd1];\nst.shared.b32 [%r3], %r5;\nadd.u64 %rd1, %rd1, 512;\n"
      "add.u32 %r3, %r3, 512;\nadd.u32 %r4, %r4, 1;\nsetp.lt.u32 %p1, %r4, 440;\n@%p1 bra "
      "fill;\nfence.proxy.async;\nbar.sync 0;\n"
      "shr.u32 %r8, %r2, 4;\nand.b32 %r8, %r8, 16383;\ncvt.u64.u32 %rd8, %r8;\nld.param.u64 %rd9, [a];\nld.param.u64 "
      "%rd10, [b];\n"
      "add.u64 %rd9, %rd9, %rd8;\nadd.u64 %rd10, %rd10, %rd8;\nsetp.ne.u32 %p1, %r1, %r1;\nwgmma.fence.sync.aligned;\n";
  t += "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 " + list("%f", 0, 64) + ", %rd9, %rd10, %p1, 1, 1, " +
       char('0' + a_turned) + ", " + char('0' + b_turned) +
       ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
  for (uint32_t r = 0; r < 64; ++r)
    t += "st.global.f32 [%rd2+" + std::to_string(512 * r) + "], %f" + std::to_string(r) + ";\n";
  return t + "ret;\n}\n";
}
inline uint32_t shared_word(uint32_t w) {
  uint32_t v = 0;
  for (uint32_t e = 0; e < 2; ++e) {
    const uint64_t h = mixed(1000003 + 2 * w + e);
    static const uint16_t halves[] = {0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700, 0x4800};
    v |= uint32_t(halves[h & 7] | (h >> 3 & 1) << 15) << 16 * e;
  }
  return v;
}
constexpr uint32_t kSharedBytes = 225280;

inline std::string entry_of(std::size_t index) { return "form_" + std::to_string(index); }
inline std::string module_header() {
  return ".version 8.8\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 D[];\n";
}

}  // namespace matrices
