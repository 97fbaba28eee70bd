// Bulk copies of tensors against what an H100 left in shared and global memory: tests/truth/tensors.txt.
#include <gtest/gtest.h>

#include <fstream>

#include "harness.h"
#include "machine/isa/tensor_map.h"
#include "tests/hardware/tensors.h"
#include "tests/sanitized.h"

namespace coalesce::machine::test {
namespace {

// How often a block asks for its bytes: the machine's come while the cluster's first block has its first turn.
constexpr uint32_t kPolls = 500;

// `memory_after`, `counters`: where to leave the bytes around the tensor, and what was counted, if anywhere.
std::string answer(Bench& bench, Program& program, const tensors::Case& c, std::vector<uint8_t>* memory_after = nullptr,
                   Counters* counters = nullptr) {
  const std::vector<uint8_t> global = tensors::bytes_of(c, tensors::kGlobal, 1),
                             tile = tensors::bytes_of(c, tensors::kTile, 2);
  Machine& machine = bench.machine();
  const Allocation* memory = machine.memory().allocate(tensors::kGlobal, Origin::device, "cudaMalloc");
  const uint64_t base = memory->base;
  std::memcpy(reinterpret_cast<void*>(base), global.data(), global.size());
  TensorMap map;
  TensorWords w;
  const uint64_t none = 0;
  w.type = c.type, w.rank = c.rank, w.address = base + c.base, w.dims = c.dims.data();
  w.strides = c.strides.empty() ? &none : c.strides.data();
  w.box = c.box.data(), w.steps = c.steps.data(), w.lower = c.lower.data(), w.upper = c.upper.data();
  w.channels = c.channels, w.pixels = c.pixels;
  w.interleave = c.interleave, w.swizzle = c.swizzle, w.l2 = c.l2, w.fill = c.fill;
  if (!c.plain() && !describe_tensor(w, c.im2col, map).empty()) return "encode 1";
  if (!c.runs) return "encode 0";
  Shape shape;
  shape.grid = {c.blocks(), 1, 1};
  shape.cluster = shape.grid;
  shape.block = {tensors::kThreads, 1, 1};
  shape.dynamic_shared_bytes = tensors::kShared;
  std::vector<uint8_t> bytes(sizeof map);
  std::memcpy(bytes.data(), &map, sizeof map);
  const uint64_t first = base + c.base + (c.plain() ? static_cast<uint32_t>(c.at[0]) * c.width() : 0);
  if (c.plain()) std::memcpy(bytes.data(), &first, sizeof first);
  std::vector<Argument> arguments{{false, bytes, 64}, buffer(tile),     zeros<uint8_t>(4 * tensors::kOut),
                                  value(c.to),        value(c.bytes()), value(c.mask)};
  for (std::size_t k = 0; k < 5; ++k) arguments.push_back(value(k < c.at.size() ? c.at[k] : 0));
  for (std::size_t k = 0; k < 3; ++k)
    arguments.push_back(value(static_cast<uint16_t>(k < c.offsets.size() ? c.offsets[k] : 0)));
  const Ran r = bench.run(program, arguments, shape, c.kernel());
  std::vector<uint8_t> after(tensors::kGlobal);
  std::memcpy(after.data(), reinterpret_cast<const void*>(base), after.size());
  machine.memory().release(base);
  if (memory_after) *memory_after = after;
  if (counters) *counters = r.counters();
  if (r.report.fault == Fault::illegal_instruction) return "encode 0 fault 715";
  if (r.report.fault == Fault::misaligned_address) return "encode 0 fault 716";
  if (r.report.fault != Fault::none) return "encode 0 fault " + r.message();
  bool all = true;
  for (uint32_t b = 0; b < c.blocks(); ++b) all = all && r.buffers[1][b * tensors::kOut + tensors::kTile] != 0;
  char text[128];
  std::snprintf(text, sizeof text, "encode 0 tile %016llx memory %016llx %s",
                static_cast<unsigned long long>(tensors::digest(r.buffers[1].data(), c.blocks() * tensors::kOut)),
                static_cast<unsigned long long>(tensors::digest(after.data(), after.size())), all ? "all" : "not-all");
  return text;
}

TEST(Tensors, CopiesLeaveWhatAnH100Leaves) {
  std::ifstream file(std::string(COALESCE_SOURCE_DIR) + "/tests/truth/tensors.txt");
  std::vector<tensors::Case> cases;
  std::vector<std::string> expected;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    cases.push_back(tensors::parse(line));
    expected.push_back(line.substr(line.find(" : ") + 3));
  }
  ASSERT_GT(cases.size(), 100u);
  Bench bench(1);
  const auto program = bench.machine().load(tensors::module_text(cases, kPolls), "tensors");
  // The quick test runs all that fail or fill, and every twelfth of the others; sanitizers every 48th of all.
  std::size_t left = 0;
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const bool fails = !cases[k].runs || expected[k].find("fault") != std::string::npos;
    const bool always = !kSanitized && (fails || cases[k].fill);
    if (few_cases() && !always && left++ % (kSanitized ? 48 : 12) != 0) continue;
    const std::string is = answer(bench, *program, cases[k]);
    EXPECT_EQ(is, expected[k]) << cases[k].text;
  }
}

// A copy moves sectors of its own kind only, as many as Nsight counted on an H100.
void expect_sectors(Bench& bench, Program& program, const tensors::Case& c, uint64_t sectors) {
  Counters is, expected;
  answer(bench, program, c, nullptr, &is);
  (c.loads()                                ? expected.bulk_load_sectors
   : c.op == "store" || c.op == "bulkstore" ? expected.bulk_store_sectors
                                            : expected.bulk_reduction_sectors) = sectors;
  EXPECT_EQ(is.bulk_load_sectors, expected.bulk_load_sectors) << c.text;
  EXPECT_EQ(is.bulk_store_sectors, expected.bulk_store_sectors) << c.text;
  EXPECT_EQ(is.bulk_reduction_sectors, expected.bulk_reduction_sectors) << c.text;
}

TEST(Tensors, CopiesMoveTheSectorsOfAnH100) {
  std::ifstream file(std::string(COALESCE_SOURCE_DIR) + "/tests/truth/tensor_sectors.txt");
  std::vector<tensors::Case> cases;
  std::vector<uint64_t> sectors;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    cases.push_back(tensors::parse(line));
    sectors.push_back(std::stoull(line.substr(line.find(" : ") + 3)));
  }
  ASSERT_GT(cases.size(), 300u);
  Bench bench(1);
  const auto program = bench.machine().load(tensors::module_text(cases, kPolls), "tensors");
  for (std::size_t k = 0; k < cases.size(); ++k) {
    // Blocks to which nothing comes wait in vain, and long.
    const bool waits = cases[k].op == "multicast" && cases[k].mask != 15;
    if (few_cases() && (waits || k % (kSanitized ? 97 : 7) != 0)) continue;
    expect_sectors(bench, *program, cases[k], sectors[k]);
  }
}

// All bytes of the tensor that the box has, whatever its length.
TEST(Tensors, StoresOfAnyLength) {
  for (const uint32_t length : {1u, 15u, 16u, 17u, 31u, 32u, 33u}) {
    const tensors::Case c = tensors::parse("op=store type=0 dims=" + std::to_string(length) + " box=48 at=0");
    Bench bench(1);
    std::vector<uint8_t> after;
    answer(bench, *bench.machine().load(tensors::module_text({c}, kPolls), "tensors"), c, &after);
    const std::vector<uint8_t> tile = tensors::bytes_of(c, tensors::kTile, 2);
    for (uint32_t k = 0; k < length; ++k) ASSERT_EQ(after[k], tile[k]) << k << " of " << length;
  }
}

}  // namespace
}  // namespace coalesce::machine::test
