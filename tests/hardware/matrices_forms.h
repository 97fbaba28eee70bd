// The instructions of tensor cores that matrices.h is about, by their names.
//
// A tile is one execution of the instruction. Its words lie one after the other: factor a, factor b, addend, and the
// metadata of sparse ones; of registers, register r of lane l is word r * lanes + l. Doubles are two words.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#ifdef __CUDACC__
#define ON_BOTH __host__ __device__
#else
#define ON_BOTH
#endif

namespace matrices {

enum class Cell : uint32_t { f16, bf16, tf32, f32, f64, e4m3, e5m2, s4, u4, s8, u8, s32, b1 };
inline const char* const kCellNames[] = {"f16", "bf16", "tf32", "f32", "f64", "e4m3", "e5m2",
                                         "s4",  "u4",   "s8",   "u8",  "s32", "b1"};
ON_BOTH inline uint32_t bits_of(Cell c) {
  return c == Cell::f16 || c == Cell::bf16                     ? 16
         : c == Cell::f64                                      ? 64
         : c == Cell::s4 || c == Cell::u4                      ? 4
         : c == Cell::b1                                       ? 1
         : c == Cell::tf32 || c == Cell::f32 || c == Cell::s32 ? 32
                                                               : 8;
}

enum class Unit { mma, sparse, wmma, group_shared, group_registers };
struct Form {
  std::string name;  // the instruction; the selector of a sparse one after a blank
  Unit unit = Unit::mma;
  uint32_t m = 0, n = 0, k = 0;
  Cell d = Cell::f32, a = Cell::f16, b = Cell::f16, c = Cell::f32;
  uint32_t words_a = 0, words_b = 0, words_c = 0, words_e = 0, words_d = 0;
  uint32_t lanes = 32;
  bool sparse = false;
  bool quads = false;  // m8n8k4 of halves
  uint32_t words() const { return words_a + words_b + words_c + words_e; }
};

inline Form form_of(const std::string& name) {
  Form f;
  f.name = name;
  std::vector<Cell> types;
  std::string word;
  for (const char ch : name + ".") {
    if (ch != '.' && ch != ' ') {
      word += ch;
      continue;
    }
    for (uint32_t t = 0; t < 13; ++t)
      if (word == kCellNames[t]) types.push_back(static_cast<Cell>(t));
    unsigned m, n, k;
    if (std::sscanf(word.c_str(), "m%un%uk%u", &m, &n, &k) == 3) f.m = m, f.n = n, f.k = k;
    word.clear();
  }
  if (types.size() == 2 && name.rfind("wmma", 0) == 0) types = {types[0], Cell::f16, Cell::f16, types[1]};
  if (types.size() == 3) types.push_back(types[0]);
  f.d = types[0], f.a = types[1], f.b = types[2], f.c = types[3];
  f.unit = name.rfind("wgmma", 0) == 0    ? Unit::group_shared
           : name.rfind("wmma", 0) == 0   ? Unit::wmma
           : name.rfind("mma.sp", 0) == 0 ? Unit::sparse
                                          : Unit::mma;
  if (f.unit == Unit::group_shared) f.lanes = 128;
  f.sparse = name.find(".sp") != std::string::npos;
  f.words_a = f.m * f.k * bits_of(f.a) / 32 / (f.sparse ? 2 : 1);
  f.words_b = f.n * f.k * bits_of(f.b) / 32;
  f.words_c = f.m * f.n * bits_of(f.c) / 32;
  f.words_d = f.m * f.n * bits_of(f.d) / 32;
  f.quads = f.m == 8 && f.n == 8 && f.k == 4 && f.a == Cell::f16;
  if (f.quads) f.words_a *= 4, f.words_b *= 4, f.words_c *= 4, f.words_d *= 4;
  if (f.unit == Unit::wmma && f.a == Cell::f16) f.words_a = f.words_b = 256;
  if (f.sparse) f.words_e = f.lanes;
  return f;
}

inline std::string label(const Form& f) { return f.name + (f.unit == Unit::group_registers ? " registers" : ""); }

inline std::vector<Form> forms() {
  std::vector<Form> all;
  const auto add = [&](const std::string& name) { all.push_back(form_of(name)); };
  const std::string mma = "mma.sync.aligned.", sp = "mma.sp::ordered_metadata.sync.aligned.";
  for (const char* k : {"m16n8k8", "m16n8k16"}) {
    add(mma + k + ".row.col.f32.f16.f16.f32");
    add(mma + k + ".row.col.f16.f16.f16.f16");
    add(mma + k + ".row.col.f32.bf16.bf16.f32");
  }
  add(mma + "m16n8k4.row.col.f32.tf32.tf32.f32");
  add(mma + "m16n8k8.row.col.f32.tf32.tf32.f32");
  for (const char* s : {"m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"}) add(mma + s + ".row.col.f64.f64.f64.f64");
  const char* const small[] = {"e4m3.e4m3", "e4m3.e5m2", "e5m2.e4m3", "e5m2.e5m2"};
  for (const char* t : small)
    for (const char* k : {"m16n8k16", "m16n8k32"})
      for (const char* d : {"f32", "f16"}) add(mma + k + ".row.col." + d + "." + t + "." + d);
  for (const char* s : {"m8n8k16", "m16n8k16", "m16n8k32"})
    for (const char* t : {"s8.s8", "s8.u8", "u8.s8", "u8.u8"}) {
      add(mma + s + ".row.col.s32." + t + ".s32");
      add(mma + s + ".row.col.satfinite.s32." + t + ".s32");
    }
  for (const char* s : {"m8n8k32", "m16n8k32", "m16n8k64"})
    for (const char* t : {"s4.s4", "s4.u4", "u4.u4"}) {
      add(mma + s + ".row.col.s32." + t + ".s32");
      add(mma + s + ".row.col.satfinite.s32." + t + ".s32");
    }
  for (const char* s : {"m8n8k128", "m16n8k128", "m16n8k256"})
    for (const char* o : {"xor", "and"}) add(mma + s + ".row.col.s32.b1.b1.s32." + o + ".popc");
  add("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32");
  add("wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16");
  add("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16");
  add("wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32");
  add("wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32");
  add("wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32");
  for (const char* l : {"row.col", "row.row", "col.col", "col.row"}) {
    add(mma + "m8n8k4." + l + ".f32.f16.f16.f32");
    add(mma + "m8n8k4." + l + ".f16.f16.f16.f16");
  }
  for (const char* e : {" 0", " 1"}) {
    for (const char* k : {"m16n8k16", "m16n8k32"}) {
      add(sp + k + ".row.col.f32.f16.f16.f32" + e);
      add(sp + k + ".row.col.f16.f16.f16.f16" + e);
      add(sp + k + ".row.col.f32.bf16.bf16.f32" + e);
    }
    add(sp + "m16n8k8.row.col.f32.tf32.tf32.f32" + e);
    add(sp + "m16n8k16.row.col.f32.tf32.tf32.f32" + e);
    add(sp + "m16n8k32.row.col.s32.s8.u8.s32" + e);
    add(sp + "m16n8k64.row.col.s32.s4.u4.s32" + e);
  }
  for (const char* e : {" 2", " 3"}) add(sp + "m16n8k16.row.col.f32.f16.f16.f32" + e);
  for (const char* e : {" 2", " 3"}) add(sp + "m16n8k8.row.col.f32.tf32.tf32.f32" + e);
  add(sp + "m16n8k64.row.col.satfinite.s32.s8.s8.s32 0");
  add(sp + "m16n8k128.row.col.s32.s4.s4.s32 0");
  add(sp + "m16n8k64.row.col.f32.e4m3.e5m2.f32 0");
  add(sp + "m16n8k64.row.col.f32.e5m2.e4m3.f32 0");
  const std::string group = "wgmma.mma_async.sync.aligned.";
  const auto both = [&](const std::string& name) {
    add(group + name);
    all.push_back(all.back());
    all.back().unit = Unit::group_registers;
  };
  both("m64n8k16.f32.f16.f16");
  both("m64n8k16.f16.f16.f16");
  both("m64n8k16.f32.bf16.bf16");
  both("m64n8k8.f32.tf32.tf32");
  for (const char* t : small)
    for (const char* d : {"f32.", "f16."}) both(std::string("m64n8k32.") + d + t);
  for (const char* t : {"s8.s8", "s8.u8", "u8.s8", "u8.u8"}) {
    both(std::string("m64n8k32.s32.") + t);
    both(std::string("m64n8k32.s32.") + t + ".satfinite");
  }
  both("m64n8k256.s32.b1.b1.and.popc");
  for (const char* l : {"row.col", "row.row", "col.col", "col.row"}) add(mma + "m8n8k4." + l + ".f32.f16.f16.f16");
  const auto thin = [&](const std::string& name) {
    add("wgmma.mma_async.sp.sync.aligned." + name);
    all.push_back(all.back());
    all.back().unit = Unit::group_registers;
  };
  for (const char* e : {" 0", " 1"}) {
    thin(std::string("m64n8k32.f32.f16.f16") + e);
    thin(std::string("m64n8k32.f16.f16.f16") + e);
    thin(std::string("m64n8k32.f32.bf16.bf16") + e);
    thin(std::string("m64n8k16.f32.tf32.tf32") + e);
  }
  for (const char* t : small)
    for (const char* d : {"f32.", "f16."}) thin(std::string("m64n8k64.") + d + t + " 0");
  for (const char* t : {"s8.s8", "s8.u8", "u8.s8", "u8.u8"}) {
    thin(std::string("m64n8k64.s32.") + t + " 0");
    thin(std::string("m64n8k64.s32.") + t + ".satfinite 0");
  }
  return all;
}

}  // namespace matrices
