// Kernels as Triton compiles them, by every executor, against what an H100 left, bit by bit, and what Nsight counted.
#include <algorithm>

#include "harness.h"
#include "machine/isa/tensor_map.h"
#include "machine/observe/counters.h"
#include "tests/sanitized.h"
#include "tests/triton/definition.h"

namespace coalesce::machine::test {
namespace {

using Is = triton::Argument::Is;

std::vector<uint8_t> description(const triton::Argument& a, uint64_t address) {
  const uint64_t dims[] = {a.shape[1], a.shape[0]}, stride = a.shape[1] * triton::width_of(a.kind);
  const uint32_t box[] = {a.box[1], a.box[0]}, steps[] = {1, 1};
  TensorWords w;
  w.type = triton::tensor_type(a.kind), w.rank = 2, w.address = address, w.dims = dims, w.strides = &stride;
  w.box = box, w.steps = steps, w.swizzle = a.swizzle;
  TensorMap map;
  EXPECT_EQ(describe_tensor(w, false, map), "");
  std::vector<uint8_t> bytes(sizeof map);
  std::memcpy(bytes.data(), &map, sizeof map);
  return bytes;
}

// `results`: the buffers that hold them, and of what.
std::vector<Argument> arguments_of(const triton::Case& c, std::vector<std::pair<std::size_t, std::string>>& results) {
  std::vector<Argument> arguments;
  std::size_t buffers = 0;
  for (const triton::Argument& a : c.arguments) {
    if (a.is == Is::value) {
      Argument v = value(a.value);
      v.bytes.resize(a.bytes);
      arguments.push_back(v);
      continue;
    }
    if (a.result()) results.emplace_back(buffers, a.kind);
    arguments.push_back(buffer(triton::bytes_of(a)));
    if (a.is == Is::described) {
      arguments.back().hidden = true;
      Argument map;
      map.bytes.resize(sizeof(TensorMap));
      map.alignment = 64;
      map.from = [a, buffers](const std::vector<uint64_t>& at) { return description(a, at[buffers]); };
      arguments.push_back(map);
    }
    ++buffers;
  }
  return arguments;
}

int64_t counter(const Counters& c, const std::string& name) {
#define COALESCE_COUNTER(id, ...) \
  if (name == #id) return static_cast<int64_t>(c.id);
  COALESCE_COUNTERS(COALESCE_COUNTER)
#undef COALESCE_COUNTER
  ADD_FAILURE() << "no counter " << name;
  return -1;
}

class Triton : public testing::TestWithParam<triton::Case> {};

TEST_P(Triton, LeavesWhatAnH100Leaves) {
  const triton::Case& c = GetParam();
  Shape shape;
  shape.grid = {c.grid[0] * c.cluster, c.grid[1], c.grid[2]};
  shape.block = {c.threads, 1, 1};
  shape.cluster = {c.cluster, 1, 1};
  shape.dynamic_shared_bytes = c.shared;
  std::vector<std::pair<std::size_t, std::string>> results;
  const std::vector<Argument> arguments = arguments_of(c, results);
  const Ran r = run(c.ptx, arguments, shape, c.entry);
  ASSERT_EQ(r.report.fault, Fault::none) << r.message();
  const std::vector<triton::Expected> expected = triton::expected(c);
  ASSERT_EQ(results.size(), expected.empty() ? c.digests.size() : expected.size());
  for (std::size_t k = 0; k < results.size(); ++k) {
    const auto& [buffer, kind] = results[k];
    if (expected.empty())
      EXPECT_EQ(triton::digest(r.buffers[buffer]), c.digests[k]) << "result " << k;
    else
      EXPECT_EQ(triton::wrong_with(expected[k], kind, r.buffers[buffer]), "") << "result " << k;
  }
  for (const auto& [name, n] : c.counters) EXPECT_EQ(counter(r.counters(), name), n) << name;
}

// Every executor with several numbers of threads takes seconds; those of a second run in every change.
std::vector<triton::Case> chosen(bool nightly) {
  const auto quick = [](const triton::Case& c) {
    for (const char* name : {"softmax", "matmul_given", "matmul_described", "matmul_clusters", "matmul_i8"})
      if (c.name.starts_with(name)) return !kSanitized || c.name.starts_with("softmax");
    return false;
  };
  std::vector<triton::Case> all = triton::cases(COALESCE_SOURCE_DIR);
  std::erase_if(all, [&](const triton::Case& c) { return quick(c) == nightly; });
  return all;
}

std::string name_of(const testing::TestParamInfo<triton::Case>& c) { return c.param.name; }

INSTANTIATE_TEST_SUITE_P(Kernels, Triton, testing::ValuesIn(chosen(false)), name_of);
INSTANTIATE_TEST_SUITE_P(Nightly, Triton, testing::ValuesIn(chosen(true)), name_of);

}  // namespace
}  // namespace coalesce::machine::test
