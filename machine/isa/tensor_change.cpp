// tensormap.replace: kernels change descriptions of tensors.
#include <algorithm>

#include "machine/isa/tensor_map.h"

namespace coalesce::machine {

namespace {

struct TensorFieldRow {
  std::string_view word;
  TensorField field;
  bool ordinal, wide;
};
constexpr TensorFieldRow kTensorFields[] = {{"global_address", TensorField::address, false, true},
                                            {"rank", TensorField::rank, false, false},
                                            {"box_dim", TensorField::box, true, false},
                                            {"global_dim", TensorField::dim, true, false},
                                            {"global_stride", TensorField::stride, true, true},
                                            {"element_stride", TensorField::step, true, false},
                                            {"elemtype", TensorField::type, false, false},
                                            {"interleave_layout", TensorField::interleave, false, false},
                                            {"swizzle_mode", TensorField::swizzle, false, false},
                                            {"fill_mode", TensorField::fill, false, false}};
// PTX's numbers of types.
constexpr TensorType kPtxTypes[] = {TensorType::u8,      TensorType::u16, TensorType::u32,  TensorType::s32,
                                    TensorType::u64,     TensorType::s64, TensorType::f16,  TensorType::f32,
                                    TensorType::f32_ftz, TensorType::f64, TensorType::bf16, TensorType::tf32,
                                    TensorType::tf32_ftz};
constexpr uint64_t kLargestSide = 256, kLargestStep = 8;

}  // namespace

bool TensorMap::blank() const {
  const auto* const from = reinterpret_cast<const uint8_t*>(this);
  return std::all_of(from, from + sizeof *this, [](uint8_t byte) { return byte == 0; });
}

bool TensorChange::from(const std::vector<std::string_view>& suffixes) {
  bool named = false, whole = false, tile = false, replaces = false;
  std::string_view type;
  for (std::string_view s : suffixes) {
    bool known = false;
    for (const TensorFieldRow& r : kTensorFields)
      if (r.word == s) {
        if (named) return false;
        known = named = true;
        field = r.field, ordinal = r.ordinal, wide = r.wide;
      }
    if (known) continue;
    if (s == "replace")
      replaces = true;
    else if (s == "tile")
      tile = true;
    else if (s == "shared::cta")
      shared = true;
    else if (s == "b1024")
      whole = true;
    else if (s == "b32" || s == "b64")
      type = s;
    else if (s != "global")
      return false;
  }
  return replaces && tile && named && whole && type == (wide ? "b64" : "b32");
}

std::string change_tensor(TensorMap& m, TensorField field, uint64_t ordinal, uint64_t value) {
  const auto is = [&](const char* what) { return "replaces " + std::string(what) + " by " + std::to_string(value); };
  if (m.im2col) return "is about a tensor map of pixels (cuTensorMapEncodeIm2col)";
  if (ordinal >= (field == TensorField::stride ? kTensorRank - 1 : kTensorRank))
    return "names dimension " + std::to_string(ordinal);
  const auto k = static_cast<std::size_t>(ordinal);
  m.changed = 1;
  switch (field) {
    case TensorField::address:
      m.address = value;
      return {};
    case TensorField::rank:  // less one
      if (value >= kTensorRank) return is("the rank");
      m.rank = static_cast<uint8_t>(value + 1);
      return {};
    case TensorField::box:
      if (value == 0 || value > kLargestSide) return is("a side of the box");
      m.box[k] = static_cast<uint16_t>(value);
      return {};
    case TensorField::dim:
      if (value == 0) return is("a dimension");
      m.last[k] = static_cast<uint32_t>(value - 1);
      return {};
    case TensorField::stride:
      m.strides[k] = value;
      return {};
    case TensorField::step:
      if (value == 0 || value > kLargestStep) return is("a step between elements");
      m.steps[k] = static_cast<uint8_t>(value);
      return {};
    case TensorField::type:
      if (value >= kTensorTypes) return is("the type");
      m.type = static_cast<uint8_t>(kPtxTypes[value]);
      return {};
    case TensorField::interleave:
      if (value > 2) return is("the interleaving");
      m.interleave = static_cast<uint8_t>(value);
      return {};
    case TensorField::swizzle:
      if (value > 3) return is("the swizzle");
      m.swizzle = static_cast<uint8_t>(value);
      return {};
    case TensorField::fill:
      if (value > 1) return is("the fill");
      m.fill = static_cast<uint8_t>(value);
      return {};
  }
  return {};
}

std::string wrong_with(const TensorMap& m) {
  std::array<uint64_t, kTensorRank> dims{};
  std::array<uint32_t, kTensorRank> box{}, steps{};
  for (std::size_t k = 0; k < kTensorRank; ++k) {
    dims[k] = uint64_t{m.last[k]} + 1;
    box[k] = m.box[k];
    steps[k] = m.steps[k];
  }
  TensorWords w;
  w.type = m.type, w.rank = m.rank, w.address = m.address;
  w.dims = dims.data(), w.strides = m.strides.data(), w.box = box.data(), w.steps = steps.data();
  w.interleave = m.interleave, w.swizzle = m.swizzle, w.l2 = m.l2, w.fill = m.fill;
  TensorMap same;
  return describe_tensor(w, false, same);
}

}  // namespace coalesce::machine
