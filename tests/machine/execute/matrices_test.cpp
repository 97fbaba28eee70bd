// The tensor cores' instructions: products of small integers, which are exact by any rule, beside the host's; layouts
// of registers by the manual's figures; what loads and stores of matrices cost.
#include <bit>

#include "harness.h"
#include "tests/sanitized.h"

namespace coalesce::machine::test {

namespace matrices {

struct Type {
  std::string name;
  uint32_t bits;
};

uint32_t as_half(int v) {  // of few bits
  if (v == 0) return 0;
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(v));
  return (bits >> 16 & 0x8000) | ((bits >> 23 & 255) - 112) << 10 | (bits >> 13 & 1023);
}
// A small integer as an element of that type.
uint64_t element(const std::string& type, int v) {
  if (type == "f16") return as_half(v);
  if (type == "bf16") return std::bit_cast<uint32_t>(static_cast<float>(v)) >> 16;
  if (type == "tf32" || type == "f32") return std::bit_cast<uint32_t>(static_cast<float>(v));
  if (type == "f64") return std::bit_cast<uint64_t>(static_cast<double>(v));
  return static_cast<uint32_t>(v);
}
uint32_t bits_of_type(const std::string& t) {
  if (t == "f64") return 64;
  if (t == "f16" || t == "bf16") return 16;
  if (t == "s8" || t == "u8") return 8;
  if (t == "s4" || t == "u4") return 4;
  return t == "b1" ? 1 : 32;
}

// A matrix in memory: row by row, or column by column, lines of `stride` elements.
struct Stored {
  std::vector<uint8_t> bytes;
  uint32_t stride;
  bool by_rows;
  std::string type;
  Stored(uint32_t rows, uint32_t columns, bool rows_first, const std::string& t)
      : stride((rows_first ? columns : rows) + 128 / bits_of_type(t)), by_rows(rows_first), type(t) {
    bytes.resize(std::size_t{rows_first ? rows : columns} * stride * bits_of_type(t) / 8);
  }
  void put(uint32_t r, uint32_t c, int v) {
    const std::size_t bit = ((by_rows ? r : c) * stride + (by_rows ? c : r)) * bits_of_type(type);
    const uint64_t e = element(type, v);
    for (uint32_t b = 0; b < bits_of_type(type); ++b)
      bytes[(bit + b) / 8] |= static_cast<uint8_t>((e >> b & 1) << (bit + b) % 8);
  }
  uint64_t get(uint32_t r, uint32_t c, const std::vector<uint8_t>& from) const {
    const std::size_t at = ((by_rows ? r : c) * stride + (by_rows ? c : r)) * bits_of_type(type) / 8;
    uint64_t v = 0;
    std::memcpy(&v, from.data() + at, bits_of_type(type) / 8);
    return v;
  }
};

struct Product {
  uint32_t m, n, k;
  std::string factor, sum;
  bool a_rows, b_rows, c_rows;
  std::string space;  // ".global", ".shared" or nothing
};

std::string registers(const std::string& prefix, uint32_t n) {
  std::string list = "{";
  for (uint32_t k = 0; k < n; ++k) list += (k ? ", " : "") + prefix + std::to_string(k);
  return list + "}";
}
uint32_t factor_registers(const std::string& t, uint32_t elements) {
  if (t == "f16") return 8;
  return std::max(1u, elements / 32 * bits_of_type(t) / (t == "f64" ? 64 : 32));
}

// Loads the three matrices from one buffer (by way of shared memory where `space` says so), stores the product over c.
std::string wmma(const Product& p, const Stored& a, const Stored& b, const Stored& c) {
  const std::string shape = "m" + std::to_string(p.m) + "n" + std::to_string(p.n) + "k" + std::to_string(p.k);
  const auto layout = [](bool rows) { return std::string(rows ? ".row" : ".col"); };
  const std::size_t at_b = a.bytes.size(), at_c = at_b + b.bytes.size(), end = at_c + c.bytes.size();
  const bool shared = p.space == ".shared", wide = p.factor == "f64";
  const uint32_t sums = p.sum == "f16" ? p.m * p.n / 64 : p.m * p.n / 32;
  const std::string ra = registers("%a", factor_registers(p.factor, p.m * p.k));
  const std::string rb = registers("%b", factor_registers(p.factor, p.k * p.n));
  const std::string rc = registers("%c", sums), rd = registers("%d", sums);
  const std::string file = wide ? ".b64" : ".b32";
  std::string t = ".shared .align 128 .b8 S[" + std::to_string(end) + "];\n.reg " + file +
                  " %a<8>, %b<8>, %c<8>, %d<8>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmov.u64 %rd9, S;\n";
  const auto copy = [&](const std::string& from, const std::string& to, const std::string& label) {
    return "mul.wide.u32 %rd2, %r1, 4;\n" + label + ":\nadd.u64 %rd3, %rd1, %rd2;\nadd.u64 %rd4, %rd9, %rd2;\nld" +
           from + ".u32 %r2, [" + (from == ".global" ? "%rd3" : "%rd4") + "];\nst" + to + ".u32 [" +
           (to == ".global" ? "%rd3" : "%rd4") + "], %r2;\nadd.u64 %rd2, %rd2, 128;\nsetp.lt.u64 %p1, %rd2, " +
           std::to_string(end) + ";\n@%p1 bra " + label + ";\nbar.warp.sync 0xffffffff;\n";
  };
  if (shared)
    t += copy(".global", ".shared", "IN") + "mov.u64 %rd8, %rd9;\n";
  else
    t += "mov.u64 %rd8, %rd1;\n";
  const auto memory = [&](const std::string& head, const std::string& lay, const std::string& type, std::size_t at,
                          const std::string& r, uint32_t stride) {
    const bool store = head == "store.d";
    const std::string place = "[%rd8+" + std::to_string(at) + "]";
    return "wmma." + head + ".sync.aligned" + lay + "." + shape + p.space + "." + type + " " + (store ? place : r) +
           ", " + (store ? r : place) + ", " + std::to_string(stride) + ";\n";
  };
  t += memory("load.a", layout(p.a_rows), p.factor, 0, ra, a.stride);
  t += memory("load.b", layout(p.b_rows), p.factor, at_b, rb, b.stride);
  t += memory("load.c", layout(p.c_rows), p.sum, at_c, rc, c.stride);
  const std::string types =
      p.factor == "f16" ? "." + p.sum + "." + p.sum : "." + p.sum + "." + p.factor + "." + p.factor + "." + p.sum;
  t += "wmma.mma" + std::string(p.factor == "b1" ? ".xor.popc" : "") + ".sync.aligned" + layout(p.a_rows) +
       layout(p.b_rows) + "." + shape + types + " " + rd + ", " + ra + ", " + rb + ", " + rc + ";\n";
  t += memory("store.d", layout(p.c_rows), p.sum, at_c, rd, c.stride);
  if (shared) t += "bar.warp.sync 0xffffffff;\n" + copy(".shared", ".global", "OUT");
  return kernel(".param .u64 p", t);
}

int small(uint32_t i, uint32_t j, const std::string& type) {
  const int v = static_cast<int>((i * 7 + j * 3 + i * j) % 5);
  if (type == "b1") return v & 1;
  return type == "u8" || type == "u4" ? v : v - 2;
}

Ran check_product(const Product& p) {
  Stored a(p.m, p.k, p.a_rows, p.factor), b(p.k, p.n, p.b_rows, p.factor), c(p.m, p.n, p.c_rows, p.sum);
  std::vector<int> expected(p.m * p.n);
  for (uint32_t i = 0; i < p.m; ++i)
    for (uint32_t k = 0; k < p.k; ++k) a.put(i, k, small(i, k, p.factor));
  for (uint32_t k = 0; k < p.k; ++k)
    for (uint32_t j = 0; j < p.n; ++j) b.put(k, j, small(j + 1, k, p.factor));
  for (uint32_t i = 0; i < p.m; ++i)
    for (uint32_t j = 0; j < p.n; ++j) {
      c.put(i, j, small(i, j + 2, p.sum));
      int& sum = expected[i * p.n + j] = small(i, j + 2, p.sum);
      for (uint32_t k = 0; k < p.k; ++k) {
        const int x = small(i, k, p.factor), y = small(j + 1, k, p.factor);
        sum += p.factor == "b1" ? x ^ y : x * y;
      }
    }
  std::vector<uint8_t> all = a.bytes;
  all.insert(all.end(), b.bytes.begin(), b.bytes.end());
  const std::size_t at_c = all.size();
  all.insert(all.end(), c.bytes.begin(), c.bytes.end());
  Ran r = run(wmma(p, a, b, c), {buffer(all)});
  const std::string name = p.factor + " " + p.sum + " " + std::to_string(p.m) + "x" + std::to_string(p.n) + p.space +
                           (p.a_rows ? " r" : " c") + (p.b_rows ? "r" : "c") + (p.c_rows ? "r" : "c");
  EXPECT_EQ(r.report.fault, Fault::none) << name << r.message();
  const std::vector<uint8_t> out = r.read<uint8_t>();
  const std::vector<uint8_t> left(out.begin() + static_cast<std::ptrdiff_t>(at_c), out.end());
  for (uint32_t i = 0; i < p.m; ++i)
    for (uint32_t j = 0; j < p.n; ++j) {
      const uint64_t want = element(p.sum, expected[i * p.n + j]);
      if (c.get(i, j, left) != want) {
        ADD_FAILURE() << name << ": element " << i << ", " << j;
        return r;
      }
    }
  return r;
}

TEST(Matrices, ProductsOfEveryShapeAndLayout) {
  struct Row {
    const char *factor, *sum;
    std::vector<std::array<uint32_t, 3>> shapes;
    bool any_layout;
  };
  const std::vector<std::array<uint32_t, 3>> three{{16, 16, 16}, {32, 8, 16}, {8, 32, 16}};
  const Row rows[] = {{"f16", "f32", three, true},        {"f16", "f16", three, true},
                      {"bf16", "f32", three, true},       {"s8", "s32", three, true},
                      {"u8", "s32", three, true},         {"tf32", "f32", {{16, 16, 8}}, true},
                      {"f64", "f64", {{8, 8, 4}}, true},  {"s4", "s32", {{8, 8, 32}}, false},
                      {"u4", "s32", {{8, 8, 32}}, false}, {"b1", "s32", {{8, 8, 128}}, false}};
  int turn = 0;
  for (const Row& r : rows)
    for (const auto& s : r.shapes)
      for (const char* space : {".global", ".shared"})
        for (uint32_t layouts = 0; layouts < 8; ++layouts) {
          if (!r.any_layout && (layouts & 3) != 1) continue;
          // All layouts once; of each shape in each space two.
          if (r.any_layout && !(s == r.shapes[0]) && layouts != 1 && layouts != 6) continue;
          if (few_cases() && turn++ % (kSanitized ? 6 : 3) != 0) continue;
          check_product(
              {s[0], s[1], s[2], r.factor, r.sum, (layouts & 1) != 0, (layouts & 2) != 0, (layouts & 4) != 0, space});
        }
}

// Fragments as ptxas loads them: rows of shared halves by ldmatrix, sums of neighbours two at a time.
TEST(Matrices, FragmentsCostWhatTheirAccessesCost) {
  const Ran global = check_product({16, 16, 16, "f16", "f32", true, false, true, ".global"});
  EXPECT_EQ(global.counters().global_load_requests, 4 + 4 + 4);
  EXPECT_EQ(global.counters().global_store_requests, 4);
  EXPECT_EQ(global.counters().global_load_bytes_requested, 512 + 512 + 1024);
  const Ran shared = check_product({16, 16, 16, "f16", "f32", true, false, true, ".shared"});
  const uint64_t copies = shared.counters().global_load_requests;  // in, then out again
  EXPECT_EQ(shared.counters().shared_load_requests - copies, 1 + 1 + 4);
  EXPECT_EQ(shared.counters().shared_store_requests - copies, 4);
}

// Each lane's registers from a buffer, in the order of d, a, b, c; the product to the first of them.
std::string mma(const std::string& name, uint32_t d, uint32_t a, uint32_t b, uint32_t c, bool wide) {
  const std::string type = wide ? "b64" : "b32";
  const uint32_t all = a + b + c;
  std::string t = ".reg ." + type +
                  " %x<32>, %d<8>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmul.lo.u32 %r2, %r1, " +
                  std::to_string(all * (wide ? 8 : 4)) + ";\ncvt.u64.u32 %rd2, %r2;\nadd.u64 %rd1, %rd1, %rd2;\n";
  for (uint32_t k = 0; k < all; ++k)
    t += "ld.global." + type + " %x" + std::to_string(k) + ", [%rd1+" + std::to_string(k * (wide ? 8 : 4)) + "];\n";
  const auto list = [&](uint32_t first, uint32_t n) {
    std::string s = "{";
    for (uint32_t k = 0; k < n; ++k) s += (k ? ", %x" : "%x") + std::to_string(first + k);
    return s + "}";
  };
  t += name + " " + registers("%d", d) + ", " + list(0, a) + ", " + list(a, b) + ", " + list(a + b, c) + ";\n";
  for (uint32_t k = 0; k < d; ++k)
    t += "st.global." + type + " [%rd1+" + std::to_string(k * (wide ? 8 : 4)) + "], %d" + std::to_string(k) + ";\n";
  return kernel(".param .u64 p", t);
}

// The figures of the manual for mma.m16n8k16 with halves and .m16n8k32 with bytes: groups of four lanes are rows.
TEST(Matrices, RegistersLieAsTheManualShows) {
  for (const bool bytes : {false, true}) {
    const uint32_t each = bytes ? 4 : 2, k_size = bytes ? 32 : 16;
    std::vector<std::vector<int>> a(16, std::vector<int>(k_size)), b(k_size, std::vector<int>(8));
    for (uint32_t i = 0; i < 16; ++i)
      for (uint32_t k = 0; k < k_size; ++k) a[i][k] = static_cast<int>((i * 5 + k * 3 + i * k) % 9) - 4;
    for (uint32_t k = 0; k < k_size; ++k)
      for (uint32_t j = 0; j < 8; ++j) b[k][j] = static_cast<int>((k * 2 + j * 7 + j * k) % 7) - 3;
    const auto packed = [&](int v) { return bytes ? uint32_t{static_cast<uint8_t>(v)} : as_half(v); };
    std::vector<uint32_t> words(32 * 10);
    for (uint32_t l = 0; l < 32; ++l) {
      const uint32_t group = l / 4, in_group = l % 4;
      for (uint32_t e = 0; e < 4 * each; ++e) {  // a0 ...
        const uint32_t row = (e / each) % 2 ? group + 8 : group;
        const uint32_t column = in_group * each + e % each + (e >= 2 * each ? 4 * each : 0);
        words[10 * l + e / each] |= packed(a[row][column]) << 32 / each * (e % each);
      }
      for (uint32_t e = 0; e < 2 * each; ++e) {  // b0 ...
        const uint32_t row = in_group * each + e % each + (e >= each ? 4 * each : 0);
        words[10 * l + 4 + e / each] |= packed(b[row][group]) << 32 / each * (e % each);
      }
      for (uint32_t e = 0; e < 4; ++e)
        words[10 * l + 6 + e] = bytes ? 1000 * l + e : std::bit_cast<uint32_t>(static_cast<float>(1000 * l + e));
    }
    const Ran r = run(mma(bytes ? "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"
                                : "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
                          4, 4, 2, 4, false),
                      {buffer(words)});
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    for (uint32_t l = 0; l < 32; ++l)
      for (uint32_t e = 0; e < 4; ++e) {
        const uint32_t i = l / 4 + (e >= 2 ? 8 : 0), j = l % 4 * 2 + e % 2;
        int sum = static_cast<int>(1000 * l + e);
        for (uint32_t k = 0; k < k_size; ++k) sum += a[i][k] * b[k][j];
        const uint32_t want = bytes ? static_cast<uint32_t>(sum) : std::bit_cast<uint32_t>(static_cast<float>(sum));
        ASSERT_EQ(r.read()[10 * l + e], want) << "lane " << l << ", d" << e;
      }
  }
}

// Every other shape runs, alike in all executors.
TEST(Matrices, OtherShapesOfMma) {
  struct Row {
    const char* name;
    uint32_t d, a, b, c;
  };
  const Row rows[] = {{"m16n8k8.row.col.f32.f16.f16.f32", 4, 2, 1, 4},
                      {"m16n8k8.row.col.f16.f16.f16.f16", 2, 2, 1, 2},
                      {"m16n8k16.row.col.f16.f16.f16.f16", 2, 4, 2, 2},
                      {"m16n8k8.row.col.f32.bf16.bf16.f32", 4, 2, 1, 4},
                      {"m16n8k16.row.col.f32.bf16.bf16.f32", 4, 4, 2, 4},
                      {"m16n8k4.row.col.f32.tf32.tf32.f32", 4, 2, 1, 4},
                      {"m16n8k8.row.col.f32.tf32.tf32.f32", 4, 4, 2, 4},
                      {"m16n8k32.row.col.f32.e4m3.e5m2.f32", 4, 4, 2, 4},
                      {"m16n8k32.row.col.f16.e5m2.e5m2.f16", 2, 4, 2, 2},
                      {"m8n8k16.row.col.s32.s8.u8.s32", 2, 1, 1, 2},
                      {"m16n8k16.row.col.satfinite.s32.u8.s8.s32", 4, 2, 1, 4},
                      {"m8n8k32.row.col.s32.s4.u4.s32", 2, 1, 1, 2},
                      {"m16n8k32.row.col.s32.u4.u4.s32", 4, 2, 1, 4},
                      {"m16n8k64.row.col.s32.s4.s4.s32", 4, 4, 2, 4},
                      {"m8n8k128.row.col.s32.b1.b1.s32.xor.popc", 2, 1, 1, 2},
                      {"m16n8k128.row.col.s32.b1.b1.s32.and.popc", 4, 2, 1, 4},
                      {"m16n8k256.row.col.s32.b1.b1.s32.and.popc", 4, 4, 2, 4}};
  for (const Row& row : rows) {
    std::vector<uint32_t> words(32 * (row.a + row.b + row.c));
    for (uint32_t k = 0; k < words.size(); ++k) words[k] = k * 2654435761u ^ k << 7;
    const Ran r =
        run(mma("mma.sync.aligned." + std::string(row.name), row.d, row.a, row.b, row.c, false), {buffer(words)});
    EXPECT_EQ(r.report.fault, Fault::none) << row.name << r.message();
  }
  for (const Row& row : {Row{"m8n8k4", 2, 1, 1, 2}, Row{"m16n8k4", 4, 2, 1, 4}, Row{"m16n8k8", 4, 4, 2, 4},
                         Row{"m16n8k16", 4, 8, 4, 4}}) {
    std::vector<double> words(32 * (row.a + row.b + row.c));
    for (uint32_t k = 0; k < words.size(); ++k) words[k] = 1.0 / (k + 3);
    const Ran r = run(
        mma("mma.sync.aligned." + std::string(row.name) + ".row.col.f64.f64.f64.f64", row.d, row.a, row.b, row.c, true),
        {buffer(words)});
    EXPECT_EQ(r.report.fault, Fault::none) << row.name << r.message();
  }
}

TEST(Matrices, RowsMoveBetweenSharedMemoryAndRegisters) {
  for (const uint32_t count : {1u, 2u, 4u})
    for (const bool transposed : {false, true})
      for (const uint32_t stride : {16u, 128u}) {
        const std::string x = ".x" + std::to_string(count), trans = transposed ? ".trans" : "";
        const std::string list = registers("%r2", count);  // %r20 ...
        const std::string t =
            ".shared .align 128 .b8 S[8192];\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmov.u32 %r9, S;\n"
            "mad.lo.u32 %r10, %r1, " +
            std::to_string(stride) +
            ", %r9;\nshl.b32 %r3, %r1, 3;\n"
            // Lane l's row: halves 8 l ... 8 l + 7.
            "mad.lo.u32 %r4, %r3, 65537, 65536;\nadd.u32 %r5, %r4, 131074;\nadd.u32 %r6, %r5, 131074;\nadd.u32 %r7, "
            "%r6, "
            "131074;\nst.shared.v4.b32 [%r10], {%r4, %r5, %r6, %r7};\nbar.warp.sync 0xffffffff;\n"
            "ldmatrix.sync.aligned.m8n8" +
            x + trans + ".shared.b16 " + list +
            ", [%r10];\n"
            "mad.lo.u32 %r11, %r1, " +
            std::to_string(stride) +
            ", %r9;\nadd.u32 %r11, %r11, 4096;\n"
            "stmatrix.sync.aligned.m8n8" +
            x + trans + ".shared.b16 [%r11], " + list +
            ";\n"
            "mul.wide.u32 %rd2, %r1, 16;\nadd.u64 %rd3, %rd1, %rd2;\nst.global.b32 [%rd3], %r20;\n"
            "bar.warp.sync 0xffffffff;\nsetp.lt.u32 %p1, %r1, " +
            std::to_string(8 * count) +
            ";\n@%p1 ld.shared.b32 %r12, "
            "[%r11+4];\n@%p1 st.global.b32 [%rd3+4], %r12;\nmovmatrix.sync.aligned.m8n8.trans.b16 %r13, %r20;\n"
            "st.global.b32 [%rd3+8], %r13;\n";
        const Ran r = run(kernel(".param .u64 p", t), {zeros<uint32_t>(128)});
        ASSERT_EQ(r.report.fault, Fault::none) << r.message();
        for (uint32_t l = 0; l < 32; ++l) {
          const auto at = [](uint32_t row, uint32_t column) { return 8 * row + column; };
          const uint32_t row = l / 4, column = l % 4 * 2;
          const uint32_t straight = at(row, column) | at(row, column + 1) << 16;
          const uint32_t turned = at(column, row) | at(column + 1, row) << 16;
          EXPECT_EQ(r.read()[4 * l], transposed ? turned : straight) << l;
          EXPECT_EQ(r.read()[4 * l + 2], transposed ? straight : turned) << l;
          if (l < 8 * count) EXPECT_EQ(r.read()[4 * l + 1], at(l, 2) | at(l, 3) << 16) << "back as it was";
        }
        // Rows side by side: one pass a matrix. A line apart: eight.
        const uint64_t passes = stride == 16 ? count : 8 * count, whole = stride == 16 ? 4 : 32;
        EXPECT_EQ(r.counters().shared_load_requests, 2);
        EXPECT_EQ(r.counters().shared_load_wavefronts_ideal, count + 1);
        EXPECT_EQ(r.counters().shared_load_wavefronts - passes, stride == 16 ? std::max(1u, count) : 8u * count);
        EXPECT_EQ(r.counters().shared_store_wavefronts, whole + passes);
      }
}

TEST(Matrices, WrongAddressesAreFaults) {
  const auto load = [](const std::string& at) {
    return kernel(".param .u64 p",
                  ".shared .align 128 .b8 S[512];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, S;\nmad.lo.u32 %r3, "
                  "%r1, 16, %r2;\n" +
                      at + "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%r3];\n");
  };
  EXPECT_EQ(run(load(""), {zeros<uint32_t>(1)}).report.fault, Fault::none);
  EXPECT_EQ(run(load("add.u32 %r3, %r3, 8;\n"), {zeros<uint32_t>(1)}).report.fault, Fault::misaligned_address);
  EXPECT_EQ(run(load("add.u32 %r3, %r3, 16;\n"), {zeros<uint32_t>(1)}).report.fault, Fault::illegal_address);
}

TEST(Matrices, WhatOtherDevicesHaveIsRefusedWithItsName) {
  const auto message = [](const std::string& line) {
    return run(kernel(".param .u64 p", line + "\n"), {zeros<uint32_t>(1)}).message();
  };
  EXPECT_THAT(message("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [%r3];"),
              testing::HasSubstr("sm_100a"));
  EXPECT_THAT(message("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r3, %r4}, "
                      "{%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8};"),
              testing::HasSubstr("registers"));
  EXPECT_THAT(
      message("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, "
              "{%f1, %f2, %f3, %f4};"),
      testing::HasSubstr("registers"));
  EXPECT_THAT(message("tcgen05.fence::before_thread_sync;"),
              testing::AllOf(testing::HasSubstr("compute capability 10.0"), testing::HasSubstr("tcgen05.fence")));
  EXPECT_THAT(message("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, "
                      "{%r1, %r2, %r3, %r4}, {%r1, %r2, %r3, %r4}, {%f1, %f2, %f3, %f4}, %r1, 2;"),
              testing::HasSubstr("selector"));
  EXPECT_THAT(message("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, %p1, 1, 1;"),
              testing::HasSubstr("operands"));
  EXPECT_THAT(message("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, %r1, 2, "
                      "%p1, 1, 1, 0, 0;"),
              testing::HasSubstr("selector"));
}

}  // namespace matrices
}  // namespace coalesce::machine::test
