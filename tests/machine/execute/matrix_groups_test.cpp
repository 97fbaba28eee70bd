// Products that follow one another: one step does them, and they give the plain executor's bits, whatever they share.
#include <algorithm>
#include <random>

#include "harness.h"

namespace coalesce::machine::test {

namespace groups {

struct Form {
  const char* name;
  uint32_t left, right, sums;  // registers of a lane
};
constexpr Form kForms[] = {{"m16n8k16.row.col.f32.f16.f16.f32", 4, 2, 4},
                           {"m16n8k16.row.col.f16.f16.f16.f16", 4, 2, 2},
                           {"m16n8k8.row.col.f32.bf16.bf16.f32", 2, 1, 4},
                           {"m16n8k8.row.col.f32.tf32.tf32.f32", 4, 2, 4}};
// Products number their factors and sums; the factors' registers lie before the sums'.
struct Product {
  uint32_t left, right, sum, to;
};
constexpr uint32_t kLefts = 6, kRights = 6, kSums = 36;

std::string list(const char* prefix, uint32_t which, uint32_t n) {
  std::string text = "{";
  for (uint32_t k = 0; k < n; ++k) text += (k ? ", " : "") + std::string(prefix) + std::to_string(which * n + k);
  return text + "}";
}

// Bytes of one block's registers.
uint32_t block_bytes(const Form& f) { return 256 * (kLefts * f.left + kRights * f.right + kSums * f.sums); }

// Loads each lane's registers, multiplies as often as `products` says and stores the sums.
std::string kernel_of(const Form& f, const std::vector<Product>& products, const std::string& guard) {
  const uint32_t counts[] = {kLefts * f.left, kRights * f.right, kSums * f.sums};
  const char* const names[] = {"%a", "%b", "%c"};
  std::string text =
      ".reg .b32 %a<64>, %b<64>, %c<256>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\n"
      "mul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd1, %rd1, %rd2;\nsetp.lt.u32 %p1, %r1, 32;\nmov.u32 %r2, %ctaid.x;\n"
      "mul.wide.u32 %rd3, %r2, " +
      std::to_string(block_bytes(f)) + ";\nadd.u64 %rd1, %rd1, %rd3;\n";
  uint32_t at = 0;
  for (int i = 0; i < 3; ++i)
    for (uint32_t k = 0; k < counts[i]; ++k, at += 256)
      text += "ld.global.b32 " + (names[i] + std::to_string(k)) + ", [%rd1+" + std::to_string(at) + "];\n";
  for (const Product& p : products)
    text += guard + "mma.sync.aligned." + f.name + " " + list("%c", p.to, f.sums) + ", " + list("%a", p.left, f.left) +
            ", " + list("%b", p.right, f.right) + ", " + list("%c", p.sum, f.sums) + ";\n";
  at -= 256 * counts[2];
  for (uint32_t k = 0; k < counts[2]; ++k, at += 256)
    text += "st.global.b32 [%rd1+" + std::to_string(at) + "], %c" + std::to_string(k) + ";\n";
  return kernel(".param .u64 p", text);
}

// Numbers of few exponents; with `specials`, one word in 200 is whatever it is: infinite, not a number, subnormal.
std::vector<uint32_t> numbers(const Form& f, bool specials, std::mt19937& random, uint32_t blocks = 1) {
  const bool halves =
      std::string(f.name).find("f16.f16") != std::string::npos && std::string(f.name).find("bf16") == std::string::npos;
  const bool words = std::string(f.name).find("tf32") != std::string::npos;
  const uint32_t factors = kLefts * f.left + kRights * f.right;
  const uint32_t in_block = block_bytes(f) / 4;
  std::vector<uint32_t> all(std::size_t{blocks} * in_block);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto word = static_cast<uint32_t>(random());
    const uint32_t top = 124 + word % 7;
    const bool factor = i % in_block < 64 * factors;
    if (specials && random() % 200 == 0)
      all[i] = word;
    else if (factor ? halves : f.sums == 2)
      all[i] = (word & 0x83ff83ff) | (top - 112) << 10 | (top - 111) << 26;
    else if (factor && !words)
      all[i] = (word & 0x807f807f) | top << 7 | (top + 1) << 23;
    else
      all[i] = (word & 0x807fffff) | top << 23;
  }
  return all;
}

void expect_alike(const std::vector<Product>& products, const std::string& guard = "", uint32_t threads = 64) {
  std::mt19937 random(7);
  for (const Form& f : kForms)
    for (const bool specials : {false, true}) {
      const Ran r =
          run(kernel_of(f, products, guard), {buffer(numbers(f, specials, random))}, {.block = {threads, 1, 1}});
      EXPECT_EQ(r.report.fault, Fault::none) << f.name << r.message();
    }
}

}  // namespace groups

using namespace groups;

std::vector<Product> each_with_all() {
  std::vector<Product> products;
  for (int turn = 0; turn < 2; ++turn)
    for (uint32_t i = 0; i < kLefts; ++i)
      for (uint32_t j = 0; j < kRights; ++j) products.push_back({i, j, i * 6 + j, i * 6 + j});
  return products;
}

TEST(MatrixGroups, EachLeftFactorWithAllRightOnes) { expect_alike(each_with_all()); }

class NightlyMatrixGroups : public testing::TestWithParam<Form> {};

TEST_P(NightlyMatrixGroups, ManyTiles) {
  constexpr uint32_t kBlocks = 64, kRuns = 10;
  const std::vector<Product> products = each_with_all();
  const std::string text = kernel_of(GetParam(), products, "");
  std::mt19937 random(11);
  for (uint32_t k = 0; k < kRuns; ++k) {
    const std::vector<uint32_t> all = numbers(GetParam(), k % 2 == 1, random, kBlocks);
    const Ran r = run(text, {buffer(all)}, {.grid = {kBlocks, 1, 1}, .block = {64, 1, 1}});
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    ASSERT_FALSE(testing::Test::HasFailure()) << "run " << k;
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, NightlyMatrixGroups, testing::ValuesIn(kForms), [](const auto& form) {
  std::string name = form.param.name;
  std::ranges::replace(name, '.', '_');
  return name;
});

TEST(MatrixGroups, MoreLeftFactorsThanPlaces) {
  std::vector<Product> products;
  for (uint32_t j = 0; j < kRights; ++j)
    for (uint32_t i = 0; i < kLefts; ++i) products.push_back({j % 2 ? kLefts - 1 - i : i, j, i * 6 + j, i * 6 + j});
  expect_alike(products);
}

TEST(MatrixGroups, SumsOfSums) {
  expect_alike({{0, 0, 0, 1}, {0, 1, 1, 2}, {1, 0, 1, 0}, {1, 1, 2, 1}, {0, 0, 2, 2}, {0, 2, 0, 0}});
}

TEST(MatrixGroups, SomeWarpsOnly) { expect_alike({{0, 0, 0, 0}, {0, 1, 1, 1}, {1, 0, 2, 2}, {1, 1, 3, 3}}, "@%p1 "); }

// A block's last warp may have fewer lanes: what is multiplied without them is what their registers hold.
TEST(MatrixGroups, OfAWarpWithFewerLanes) {
  for (const uint32_t threads : {33u, 48u, 63u})
    expect_alike({{0, 0, 0, 0}, {1, 0, 6, 6}, {0, 1, 1, 1}, {1, 1, 7, 7}, {2, 0, 12, 12}, {2, 1, 13, 13}}, "", threads);
}

// Products of one shape whose factors have other types, one after the other: each type is a group of its own.
TEST(MatrixGroups, OfTwoTypes) {
  std::mt19937 random(5);
  const std::vector<Product> products{{0, 0, 0, 0}, {0, 1, 1, 1}, {1, 0, 6, 6},
                                      {1, 1, 7, 7}, {0, 2, 2, 2}, {2, 2, 14, 14}};
  for (const auto& [form, other] : {std::pair{"f32.f16.f16", "f32.bf16.bf16"}, {"f32.f16.f16", "f16.f16.f16"}}) {
    std::string text = kernel_of(kForms[0], products, "");
    std::size_t at = 0, number = 0;
    for (; (at = text.find("m16n8k16.row.col." + std::string(form) + ".f32", at)) != text.npos; ++at)
      if (number++ % 2 == 1) {
        const std::size_t type = at + std::string("m16n8k16.row.col.").size();
        if (std::string(other).starts_with("f32")) {
          text.replace(type, std::string(form).size(), other);
        } else {  // half as many sums
          const std::size_t end = text.find(';', at);
          std::string line = text.substr(at, end - at);
          line.replace(line.find(form), std::string(form).size() + 4, "f16.f16.f16.f16");
          for (std::size_t k = line.find("%c"); k != line.npos; k = line.find("%c", k + 1)) {
            const std::size_t third = line.find(',', line.find(',', k) + 1);
            line.erase(third, line.find('}', third) - third);
            k = line.find('}', k);
          }
          text.replace(at, end - at, line);
        }
      }
    ASSERT_EQ(number, products.size());
    const Ran r = run(text, {buffer(numbers(kForms[0], false, random))}, {.block = {64, 1, 1}});
    EXPECT_EQ(r.report.fault, Fault::none) << r.message();
  }
}

// A product's sums are the next one's factors: there the next group begins.
TEST(MatrixGroups, FactorsThatProductsMake) {
  std::string text = kernel_of(kForms[0], {{0, 0, 0, 0}, {0, 1, 1, 1}}, "");
  const std::string marker = "st.global.b32";
  const std::string more =
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%c8, %c9, %c10, %c11}, {%c0, %c1, %c2, %c3}, "
      "{%c4, %c5}, {%c8, %c9, %c10, %c11};\n";
  text.insert(text.find(marker), more + more);
  std::mt19937 random(9);
  const Ran r = run(text, {buffer(numbers(kForms[0], false, random))}, {.block = {64, 1, 1}});
  EXPECT_EQ(r.report.fault, Fault::none) << r.message();
}

}  // namespace coalesce::machine::test
