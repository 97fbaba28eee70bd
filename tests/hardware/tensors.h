// Copies of tensors (cp.async.bulk.tensor): cases as lines of text, the kernels that carry them out, the bytes they
// work on. Shared by the probe, which runs them on a GPU, and the test, which runs them on the machine.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace tensors {

constexpr uint32_t kTile = 16384;           // bytes of shared memory that a case may change
constexpr uint32_t kShared = 1024 + kTile;  // an mbarrier object lies before them
constexpr uint32_t kGlobal = 65536;         // bytes around the tensor
constexpr uint32_t kThreads = 128;

// op: load, store, prefetch, multicast, or a reduction (add, min, ...); modes tile and im2col. Numbers of CUtensorMap's
// enumerations. `to`: bytes from the start of the tile; `base`: of the tensor from the start of its memory. Copies
// without a tensor: bulk, bulkstore, bulkadd, of box[0] elements from at[0] on. `run=0`: the driver is asked only.
struct Case {
  std::string op = "load", data = "bytes", text;
  bool im2col = false, runs = true;
  uint32_t type = 0, rank = 1, interleave = 0, swizzle = 0, l2 = 0, fill = 0, to = 0, base = 0, mask = 0, channels = 0,
           pixels = 0;
  std::vector<uint64_t> dims, strides;
  std::vector<uint32_t> box, steps, offsets;
  std::vector<int32_t> at, lower, upper;

  bool plain() const { return op.compare(0, 4, "bulk") == 0; }
  bool loads() const { return op == "load" || op == "multicast" || op == "prefetch" || op == "bulk"; }
  uint32_t blocks() const { return op == "multicast" ? 4 : 1; }
  uint32_t width() const {
    constexpr uint8_t kWidths[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    return type < 13 ? kWidths[type] : 0;
  }
  // Bytes that a load tells its object. An interleaved tensor's elements are slices, and a box has one of dimension
  // rank - 2.
  uint32_t bytes() const {
    const uint32_t element = interleave ? 16 * interleave : width();
    if (im2col) return (interleave ? 1 : channels) * pixels * element;
    uint32_t n = element;
    for (uint32_t k = 0; k < rank; ++k) {
      const uint32_t step = k == 0 && interleave == 0 ? 1 : steps[k];
      if (interleave == 0 || k + 2 != rank) n *= (box[k] + step - 1) / step;
    }
    return n;
  }
  std::string kernel() const { return op + "_" + (im2col ? "i" : "t") + std::to_string(rank); }
};

template <class T>
std::vector<T> numbers(const std::string& s) {
  std::vector<T> out;
  std::istringstream in(s);
  for (std::string n; std::getline(in, n, ',');) out.push_back(static_cast<T>(std::stoll(n)));
  return out;
}

// Words NAME=VALUE up to ':'.
inline Case parse(const std::string& line) {
  Case c;
  c.text = line.substr(0, line.find(" :"));
  std::istringstream in(c.text);
  for (std::string word; in >> word;) {
    const std::string name = word.substr(0, word.find('=')), value = word.substr(word.find('=') + 1);
    const auto number = [&] { return static_cast<uint32_t>(std::stoul(value)); };
    if (name == "op") c.op = value;
    if (name == "data") c.data = value;
    if (name == "run") c.runs = number() != 0;
    if (name == "im2col") c.im2col = number() != 0;
    if (name == "type") c.type = number();
    if (name == "interleave") c.interleave = number();
    if (name == "swizzle") c.swizzle = number();
    if (name == "l2") c.l2 = number();
    if (name == "fill") c.fill = number();
    if (name == "to") c.to = number();
    if (name == "base") c.base = number();
    if (name == "mask") c.mask = number();
    if (name == "channels") c.channels = number();
    if (name == "pixels") c.pixels = number();
    if (name == "dims") c.dims = numbers<uint64_t>(value);
    if (name == "strides") c.strides = numbers<uint64_t>(value);
    if (name == "box") c.box = numbers<uint32_t>(value);
    if (name == "steps") c.steps = numbers<uint32_t>(value);
    if (name == "offsets") c.offsets = numbers<uint32_t>(value);
    if (name == "at") c.at = numbers<int32_t>(value);
    if (name == "lower") c.lower = numbers<int32_t>(value);
    if (name == "upper") c.upper = numbers<int32_t>(value);
  }
  c.rank = static_cast<uint32_t>(c.dims.size());
  if (c.steps.empty()) c.steps.assign(c.rank, 1);
  return c;
}

inline uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

// `count` bytes: any, or small numbers of the type.
inline std::vector<uint8_t> bytes_of(const Case& c, uint32_t count, uint32_t seed) {
  std::vector<uint8_t> out(count);
  if (c.data == "bytes" || c.width() == 0) {
    for (uint32_t k = 0; k < count; k += 8) {
      const uint64_t word = mixed(k + 0x9e3779b97f4a7c15u * (seed + 1));
      std::memcpy(&out[k], &word, 8);
    }
    return out;
  }
  const uint32_t width = c.width();
  const bool real = c.type >= 6;
  for (uint32_t k = 0; k < count / width; ++k) {
    const int v = static_cast<int>((k * 7 + seed * 5) % 23) - (real || c.type == 3 || c.type == 5 ? 11 : 0);
    if (!real) {
      const int64_t wide = v;
      std::memcpy(&out[size_t{k} * width], &wide, width);
    } else if (width == 8) {
      const double d = v * 0.5;
      std::memcpy(&out[size_t{k} * 8], &d, 8);
    } else {
      const float f = static_cast<float>(v) * 0.5f;
      uint32_t bits;
      std::memcpy(&bits, &f, 4);
      if (c.type == 6 && v != 0)  // f16: another bias of the exponent
        bits = (bits >> 16 & 0x8000) | ((bits >> 23 & 255) - 112) << 10 | (bits >> 13 & 1023);
      else if (width == 2)
        bits >>= 16;
      std::memcpy(&out[size_t{k} * width], &bits, width);
    }
  }
  return out;
}

inline uint64_t digest(const uint8_t* bytes, size_t count) {
  uint64_t h = 0;
  for (size_t k = 0; k < count; k += 8) {
    uint64_t word;
    std::memcpy(&word, bytes + k, 8);
    h = mixed(h ^ word) + k;
  }
  return h;
}

// The kernel of a case: fills the tile with the bytes at `in`, copies, and writes the tile, of each block, to `out`. A
// word after them says whether all bytes have come, which it asks `polls` times.
//   KERNEL(map, in, out, to, bytes, mask, 5 coordinates, 3 offsets)
inline std::string kernel_text(const Case& c, uint32_t polls) {
  const std::string rank = std::to_string(c.rank);
  std::string place = "[%rd9, {";
  for (uint32_t k = 0; k < c.rank; ++k) place += (k ? ", %r" : "%r") + std::to_string(40 + k);
  place += "}]";
  std::string offsets;
  for (uint32_t k = 0; c.im2col && k + 2 < c.rank; ++k) offsets += (k ? ", %h" : ", {%h") + std::to_string(1 + k);
  if (!offsets.empty()) offsets += "}";
  const std::string form = "cp.async.bulk.tensor." + rank + "d";
  std::string work;
  if (c.op == "load" || c.op == "multicast")
    work = "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], %r11;\n" +
           std::string(c.op == "multicast" ? "@%p2 bra SENT;\n" : "") + form + ".shared::cluster.global" +
           (c.im2col ? ".im2col" : "") + ".mbarrier::complete_tx::bytes" +
           (c.op == "multicast" ? ".multicast::cluster" : "") + " [%r12], " + place + ", [%r1]" + offsets +
           (c.op == "multicast" ? ", %h8" : "") + ";\n" + (c.op == "multicast" ? "SENT:\n" : "");
  else if (c.op == "prefetch")
    work = "cp.async.bulk.prefetch.tensor." + rank + "d.L2.global" + (c.im2col ? ".im2col" : "") + " " + place +
           offsets + ";\nmbarrier.arrive.shared.b64 _, [%r1];\n";
  else if (c.op == "bulk")
    work =
        "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], %r11;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r12], [%rd10], %r11, [%r1];\n";
  else if (c.plain())
    work = std::string(c.op == "bulkstore" ? "cp.async.bulk.global.shared::cta.bulk_group"
                                           : "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32") +
           " [%rd10], [%r12], %r11;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n"
           "mbarrier.arrive.shared.b64 _, [%r1];\n";
  else
    work = (c.op == "store" ? form + ".global.shared::cta" + (c.im2col ? ".im2col_no_offs" : "")
                            : "cp.reduce.async.bulk.tensor." + rank + "d.global.shared::cta." + c.op +
                                  (c.im2col ? ".im2col_no_offs" : "")) +
           ".bulk_group " + place +
           ", [%r12];\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n"
           "mbarrier.arrive.shared.b64 _, [%r1];\n";
  const std::string meet = c.op == "multicast" ? "barrier.cluster.arrive;\nbarrier.cluster.wait;\n" : "bar.sync 0;\n";
  std::string text = ".visible .entry " + c.kernel() +
                     "(.param .align 64 .b8 map[128], .param .u64 in, .param .u64 out, .param .u32 to, .param .u32 "
                     "bytes, .param .u32 mask";
  for (int k = 0; k < 5; ++k) text += ", .param .u32 c" + std::to_string(k);
  for (int k = 0; k < 3; ++k) text += ", .param .u16 o" + std::to_string(k);
  text += ") {\n.reg .pred %p<8>;\n.reg .b16 %h<9>;\n.reg .b32 %r<60>;\n.reg .b64 %rd<20>;\n";
  for (int k = 0; k < 5; ++k) text += "ld.param.u32 %r" + std::to_string(40 + k) + ", [c" + std::to_string(k) + "];\n";
  for (int k = 0; k < 3; ++k) text += "ld.param.u16 %h" + std::to_string(1 + k) + ", [o" + std::to_string(k) + "];\n";
  text +=
      "ld.param.u64 %rd10, [map];\nld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nld.param.u32 %r10, "
      "[to];\nld.param.u32 %r11, [bytes];\n"
      "ld.param.u32 %r13, [mask];\ncvt.u16.u32 %h8, %r13;\nmov.b64 %rd9, map;\ncvta.param.u64 %rd9, %rd9;\n"
      "mov.u32 %r1, S;\nadd.u32 %r2, %r1, 1024;\nadd.u32 %r12, %r2, %r10;\nmov.u32 %r3, %tid.x;\nmov.u32 %r9, "
      "%ctaid.x;\n"
      "shl.b32 %r4, %r3, 2;\nsetp.ne.u32 %p1, %r3, 0;\nsetp.ne.u32 %p2, %r9, 0;\nmov.u32 %r5, %r4;\nFILL:\n"
      "cvt.u64.u32 %rd3, %r5;\nadd.u64 %rd3, %rd3, %rd1;\nld.global.u32 %r6, [%rd3];\nadd.u32 %r7, %r2, %r5;\n"
      "st.shared.u32 [%r7], %r6;\nadd.u32 %r5, %r5, 512;\nsetp.lt.u32 %p3, %r5, 16384;\n@%p3 bra FILL;\n"
      "@%p1 bra READY;\nmbarrier.init.shared.b64 [%r1], 1;\nfence.mbarrier_init.release.cluster;\nREADY:\n"
      "fence.proxy.async;\n" +
      meet + "mov.u32 %r14, 0;\nmov.u32 %r15, 0;\n@%p1 bra DONE;\n" + work +
      "WAIT:\nmbarrier.test_wait.parity.shared.b64 %p4, [%r1], 0;\nselp.u32 %r15, 1, 0, %p4;\nadd.u32 %r14, %r14, 1;\n"
      "nanosleep.u32 100;\nsetp.lt.u32 %p5, %r14, " +
      std::to_string(polls) + ";\n@%p4 bra DONE;\n@%p5 bra WAIT;\nDONE:\n" + meet +
      "mul.wide.u32 %rd4, %r9, 16400;\nadd.u64 %rd2, %rd2, %rd4;\nmov.u32 %r5, %r4;\nOUT:\nadd.u32 %r7, %r2, %r5;\n"
      "ld.shared.u32 %r6, [%r7];\ncvt.u64.u32 %rd3, %r5;\nadd.u64 %rd3, %rd3, %rd2;\nst.global.u32 [%rd3], %r6;\n"
      "add.u32 %r5, %r5, 512;\nsetp.lt.u32 %p3, %r5, 16384;\n@%p3 bra OUT;\n@%p1 bra END;\n"
      "st.global.u32 [%rd2+16384], %r15;\nEND:\nret;\n}\n";
  return text;
}

// All kernels of some cases. A GPU's bytes take their time.
inline std::string module_text(const std::vector<Case>& cases, uint32_t polls = 50000) {
  std::map<std::string, std::string> kernels;
  for (const Case& c : cases)
    if (c.runs) kernels.emplace(c.kernel(), kernel_text(c, polls));
  std::string text = ".version 8.3\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 S[];\n";
  for (const auto& [name, kernel] : kernels) text += kernel;
  return text;
}

constexpr uint32_t kOut = kTile + 16;  // bytes of each block

}  // namespace tensors
