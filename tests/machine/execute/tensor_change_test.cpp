// tensormap.replace: a kernel that changes every field of one tensor's description to those of another makes the
// description that the encoder makes of the other.
#include <gmock/gmock.h>

#include <cstddef>
#include <cstring>

#include "harness.h"
#include "machine/isa/tensor_map.h"

namespace coalesce::machine::test {
namespace {

struct Tensor {
  uint32_t type = 7, rank = 3, interleave = 0, swizzle = 0, fill = 0;
  uint64_t address = 0x1000;
  std::array<uint64_t, 5> dims{64, 32, 16, 8, 4};
  std::array<uint64_t, 4> strides{256, 8192, 131072, 1048576};
  std::array<uint32_t, 5> box{8, 4, 2, 2, 2}, steps{1, 1, 1, 1, 1};
};

TensorMap described(const Tensor& t) {
  TensorWords w;
  w.type = t.type, w.rank = t.rank, w.address = t.address, w.dims = t.dims.data(), w.strides = t.strides.data();
  w.box = t.box.data(), w.steps = t.steps.data(), w.interleave = t.interleave, w.swizzle = t.swizzle, w.fill = t.fill;
  TensorMap map;
  EXPECT_EQ(describe_tensor(w, false, map), "");
  return map;
}

// Changes the description at p, in shared memory, and publishes it at q.
std::string changing(const std::string& changes) {
  return ".version 8.8\n.target sm_90a\n.address_size 64\n.shared .align 128 .b8 S[128];\n"
         ".visible .entry k(.param .u64 p, .param .u64 q)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n"
         "ld.param.u64 %rd1, [p];\nld.param.u64 %rd2, [q];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, %r1, 4;\n"
         "add.u64 %rd3, %rd3, %rd1;\nld.global.b32 %r2, [%rd3];\nmov.u32 %r3, S;\nshl.b32 %r4, %r1, 2;\n"
         "add.u32 %r4, %r4, %r3;\nst.shared.b32 [%r4], %r2;\nbar.sync 0;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra "
         "CHANGED;\n" +
         changes +
         "CHANGED:\nbar.sync "
         "0;\ntensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
         "[%rd2], [%r3], 128;\nret;\n}\n";
}
std::string change(const std::string& field, const std::string& type, const std::string& operands) {
  return "tensormap.replace.tile." + field + ".shared::cta.b1024." + type + " [%r3], " + operands + ";\n";
}

Ran after(const TensorMap& map, const std::string& changes, bool plain) {
  std::vector<uint8_t> bytes(sizeof map);
  std::memcpy(bytes.data(), &map, sizeof map);
  Bench bench(1);
  bench.machine().use_plain(plain);
  Shape shape;
  shape.block = {32, 1, 1};
  return bench.run(changing(changes), {buffer(bytes), zeros<uint8_t>(sizeof map)}, shape, "k");
}

TEST(TensorChanges, EveryFieldIsReplaced) {
  Tensor one, other;
  other.type = 6, other.rank = 5, other.swizzle = 2, other.fill = 1, other.address = 0x7fff00;
  other.dims = {48, 7, 9, 3, 5}, other.strides = {96, 672, 6048, 18144}, other.box = {16, 3, 5, 1, 4};
  other.steps = {1, 2, 1, 3, 1};
  std::string changes = "mov.u64 %rd4, 0x7fff00;\n" + change("global_address", "b64", "%rd4") +
                        change("rank", "b32", "4") + change("elemtype", "b32", "6") +
                        change("swizzle_mode", "b32", "2") + change("fill_mode", "b32", "1") +
                        change("interleave_layout", "b32", "0");
  for (std::size_t k = 0; k < 5; ++k) {
    const auto is = [&](uint64_t v) { return std::to_string(k) + ", " + std::to_string(v); };
    changes += "mov.u32 %r5, " + std::to_string(other.dims[k]) + ";\n" +
               change("global_dim", "b32", std::to_string(k) + ", %r5") + change("box_dim", "b32", is(other.box[k])) +
               change("element_stride", "b32", is(other.steps[k]));
    if (k < 4)
      changes += "mov.u64 %rd5, " + std::to_string(other.strides[k]) + ";\n" +
                 change("global_stride", "b64", std::to_string(k) + ", %rd5");
  }
  TensorMap expected = described(other), blank{};
  expected.changed = 1;
  blank.mark = 0;
  for (const TensorMap& before : {described(one), blank})
    for (const bool plain : {false, true}) {
      const Ran r = after(before, changes, plain);
      ASSERT_EQ(r.report.fault, Fault::none) << r.message();
      EXPECT_EQ(std::memcmp(r.buffers[1].data(), &expected, offsetof(TensorMap, rest)), 0) << plain;
    }
}

TEST(TensorChanges, WhatNoTensorHasIsRefused) {
  const struct {
    std::string change, message;
  } kWrong[] = {{change("rank", "b32", "5"), "the rank by 5"},
                {change("elemtype", "b32", "13"), "the type by 13"},
                {change("box_dim", "b32", "0, 257"), "a side of the box by 257"},
                {change("element_stride", "b32", "1, 9"), "a step between elements by 9"},
                {change("global_stride", "b64", "4, 16"), "names dimension 4"},
                {change("box_dim", "b32", "%r1, 4"), "tensormap.replace.tile.box_dim"},
                {change("box_dims", "b32", "0, 1"), "tensormap.replace.tile.box_dims"}};
  for (const auto& w : kWrong)
    for (const bool plain : {false, true})
      EXPECT_THAT(after(described({}), w.change, plain).message(), testing::HasSubstr(w.message)) << w.change;
  TensorMap none{};
  none.mark = 1;
  EXPECT_THAT(after(none, change("rank", "b32", "1"), false).message(), testing::HasSubstr("is no tensor map"));
}

TEST(TensorChanges, AWrongDescriptionSaysWhatIsWrong) {
  TensorMap map = described({});
  EXPECT_EQ(wrong_with(map), "");
  EXPECT_EQ(change_tensor(map, TensorField::box, 0, 3), "");
  EXPECT_EQ(wrong_with(map), "boxDim[0] is 12 bytes, no multiple of 16");
}

// A copy by such a description does not happen, and says what is wrong.
TEST(TensorChanges, ACopyByAWrongDescription) {
  const std::string text =
      ".version 8.8\n.target sm_90a\n.address_size 64\n.shared .align 128 .b8 S[4096];\n.shared .align 8 .b64 B;\n"
      ".visible .entry k(.param .align 64 .b8 m[128])\n{\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;\nmov.b64 %rd1, m;\n"
      "cvta.param.u64 %rd1, %rd1;\nmov.u32 %r1, S;\nmov.u32 %r2, B;\nmov.u32 %r3, 0;\n"
      "mbarrier.init.shared.b64 [%r2], 1;\nmbarrier.arrive.expect_tx.shared.b64 _, [%r2], 64;\n"
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r3, %r3, %r3}],"
      " [%r2];\nret;\n}\n";
  for (const uint64_t side : {8, 3, 4}) {
    Bench bench(1);
    Tensor t;
    t.address = bench.machine().memory().allocate(1 << 20, Origin::device, "cudaMalloc")->base;
    TensorMap map = described(t);
    ASSERT_EQ(change_tensor(map, TensorField::box, 0, side), "");
    std::vector<uint8_t> bytes(sizeof map);
    std::memcpy(bytes.data(), &map, sizeof map);
    const Ran r = bench.run(text, {{false, bytes, 64}}, {.block = {1, 1, 1}}, "k");
    EXPECT_EQ(r.report.fault, side == 3 ? Fault::illegal_instruction : Fault::none) << side << r.message();
    if (side == 3)
      EXPECT_THAT(r.message(), testing::HasSubstr("tensormap.replace has made wrong: boxDim[0] is 12 bytes"));
  }
}

}  // namespace
}  // namespace coalesce::machine::test
