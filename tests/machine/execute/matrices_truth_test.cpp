// Results of the tensor cores beside an H100's (tests/truth/matrices.txt, by tests/hardware/matrices_probe.cu), bit by
// bit: every form and family of numbers, and descriptors of shared memory.
#include <fstream>
#include <map>
#include <sstream>

#include "harness.h"
#include "tests/hardware/matrices.h"
#include "tests/sanitized.h"

namespace coalesce::machine::test {
namespace {

namespace probe = ::matrices;

struct MatrixTruth {
  std::map<std::string, std::vector<uint64_t>> forms;  // label -> a digest for each family
  struct Described {
    uint64_t digest, descriptor, turned;
  };
  std::vector<Described> descriptors;
};
MatrixTruth matrix_truth() {
  MatrixTruth truth;
  std::ifstream file(std::string(COALESCE_SOURCE_DIR) + "/tests/truth/matrices.txt");
  EXPECT_TRUE(file.good());
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    words >> std::hex;
    if (line.find(" descriptor ") != line.npos) {
      MatrixTruth::Described d{};
      std::string word;
      words >> d.digest >> word >> d.descriptor >> d.turned;
      truth.descriptors.push_back(d);
      continue;
    }
    std::vector<uint64_t> digests(8);
    for (uint64_t& d : digests) words >> d;
    std::string label;
    std::getline(words >> std::ws, label);
    truth.forms[label] = digests;
  }
  return truth;
}

// Runs it by the interpreter and by the plain executor, which must agree.
Ran by_both(const std::string& ptx, const std::vector<Argument>& arguments, const Shape& shape,
            const std::string& entry) {
  Bench interpreter(2), plain(1);
  plain.machine().use_plain(true);
  Ran r = interpreter.run(ptx, arguments, shape, entry);
  EXPECT_EQ(difference_from_plain(plain.run(ptx, arguments, shape, entry), r), "") << entry;
  return r;
}

TEST(MatrixTruth, EveryFormGivesAnH100sBits) {
  const MatrixTruth truth = matrix_truth();
  const std::vector<probe::Form> all = probe::forms();
  std::size_t known = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const probe::Form& f = all[i];
    const auto row = truth.forms.find(probe::label(f));
    // The executors must agree also where no GPU has judged the form.
    const bool judged = row != truth.forms.end();
    const uint32_t tiles = judged ? probe::kKept : 8;
    known += judged;
    if (few_cases() && i % (kSanitized ? 8 : 2) != 0) continue;
    std::vector<uint32_t> in;
    for (uint32_t t = 0; t < tiles; ++t)
      for (uint32_t w = 0; w < f.words(); ++w) in.push_back(probe::word_of(f, t, w));
    Shape shape;
    shape.grid = {f.lanes == 128 ? tiles : tiles / 4, 1, 1};
    shape.block = {128, 1, 1};
    const std::string entry = probe::entry_of(i);
    const Ran r = by_both(probe::module_header() + probe::kernel(f, entry),
                          {buffer(in), zeros<uint32_t>(std::size_t{tiles} * f.words_d)}, shape, entry);
    ASSERT_EQ(r.report.fault, Fault::none) << f.name << ": " << r.message();
    if (!judged) continue;
    const std::vector<uint32_t> out = r.read<uint32_t>(1);
    std::vector<uint64_t> digests(8);
    for (std::size_t w = 0; w < out.size(); ++w) digests[w / f.words_d & 7] += probe::digest(w, out[w]);
    EXPECT_EQ(digests, row->second) << probe::label(f);
  }
  EXPECT_EQ(known, truth.forms.size()) << "each row is of a form";
  EXPECT_GT(known, 100u);
}

TEST(MatrixTruth, DescriptorsNameAnH100sPlaces) {
  const MatrixTruth truth = matrix_truth();
  EXPECT_GT(truth.descriptors.size(), 250u);
  std::vector<uint32_t> shared(probe::kSharedBytes / 4);
  for (uint32_t w = 0; w < shared.size(); ++w) shared[w] = probe::shared_word(w);
  for (std::size_t k = 0; k < truth.descriptors.size(); k += kSanitized ? 40 : 5) {
    const auto& d = truth.descriptors[k];
    const bool a = d.turned / 2, b = d.turned % 2;
    const std::string entry = std::string("described_") + (a ? "1" : "0") + (b ? "1" : "0");
    Shape shape;
    shape.block = {128, 1, 1};
    shape.dynamic_shared_bytes = probe::kSharedBytes;
    const Ran r =
        by_both(probe::module_header() + probe::described(a, b),
                {buffer(shared), zeros<uint32_t>(8192), value(d.descriptor), value(d.descriptor + 1024)}, shape, entry);
    ASSERT_EQ(r.report.fault, Fault::none) << r.message();
    uint64_t sum = 0;
    const std::vector<uint32_t> out = r.read<uint32_t>(1);
    for (std::size_t w = 0; w < out.size(); ++w) sum += probe::digest(w, out[w]);
    EXPECT_EQ(sum, d.digest) << std::hex << d.descriptor << " " << d.turned;
  }
}

// The product's negative, and sums that are not added: beside the host's. A warp group; factors of one row's number.
TEST(MatrixTruth, GroupsNegateAndBegin) {
  for (const bool added : {false, true})
    for (const int sign : {1, -1}) {
      const std::string s = std::to_string(sign), p = added ? "eq" : "ne";
      const std::string text =
          ".shared .align 1024 .b8 S[4096];\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, S;\n"
          // Factor a: 64 rows, of each 16 halves 1; factor b: row n has halves 2.
          "shl.b32 %r3, %r1, 4;\nadd.u32 %r4, %r2, %r3;\nmov.u32 %r5, 0x3c003c00;\nst.shared.v4.b32 [%r4], {%r5, %r5, "
          "%r5, %r5};\nsetp.lt.u32 %p1, %r1, 16;\nmov.u32 %r5, 0x40004000;\n@%p1 st.shared.v4.b32 [%r4+2048], {%r5, "
          "%r5, "
          "%r5, %r5};\nfence.proxy.async;\nbar.sync 0;\nshr.u32 %r6, %r2, 4;\ncvt.u64.u32 %rd2, %r6;\n"
          "or.b64 %rd2, %rd2, 0x1000080000;\nadd.u64 %rd3, %rd2, 128;\nmov.f32 %f1, 0f42C80000;\nmov.f32 %f2, %f1;\n"
          "mov.f32 %f3, %f1;\nmov.f32 %f4, %f1;\nsetp." +
          p +
          ".u32 %p2, %r1, %r1;\nwgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, "
          "%f2, "
          "%f3, %f4}, %rd2, %rd3, %p2, 1, " +
          s +
          ", 0, 0;\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nmul.wide.u32 %rd4, %r1, 16;\n"
          "add.u64 %rd4, %rd4, %rd1;\nst.global.v4.f32 [%rd4], {%f1, %f2, %f3, %f4};\n";
      Shape shape;
      shape.block = {128, 1, 1};
      const Ran r = run(kernel(".param .u64 p", text), {zeros<float>(512)}, shape);
      ASSERT_EQ(r.report.fault, Fault::none) << r.message();
      for (const float f : r.read<float>()) ASSERT_EQ(f, (added ? 100.0f : 0.0f) + static_cast<float>(sign * 16 * 2));
      EXPECT_EQ(r.counters().shared_load_requests, 0) << "a tensor core reads";
    }
}

}  // namespace
}  // namespace coalesce::machine::test
