#include "machine/isa/tensor_map.h"

#include "machine/isa/service.h"

namespace coalesce::machine {

namespace {

constexpr uint64_t kUnit = 16;  // bytes: of addresses, strides and rows
constexpr uint32_t kMostBox = 256, kMostStep = 8, kMostPixels = 1024;
constexpr uint64_t kMostBytes = 228 << 10;  // of a tile: shared memory of a multiprocessor (5911 answers of the driver)
constexpr uint32_t kSwizzles = 4, kInterleaves = 3, kPromotions = 4, kFills = 2;

std::string number(uint64_t n) { return std::to_string(n); }

std::string of(const char* what, uint32_t k, uint64_t is, const std::string& rule) {
  return std::string(what) + "[" + number(k) + "] is " + number(is) + ", " + rule;
}

// The common part of tiles and im2col; says what is wrong.
std::string common(const TensorWords& w, TensorMap& m) {
  const uint64_t unit = w.interleave == 2 ? 2 * kUnit : kUnit;
  if (w.type >= kTensorTypes) return "tensorDataType " + number(w.type) + " is none that compute capability 9.0 has";
  if (w.rank == 0 || w.rank > kTensorRank) return "tensorRank is " + number(w.rank) + ", not 1 to 5";
  if (w.interleave >= kInterleaves) return "interleave is " + number(w.interleave) + ", not 0 to 2";
  if (w.interleave != 0 && w.rank < 3) return "an interleaved tensor has at least 3 dimensions";
  if (w.swizzle >= kSwizzles)
    return "swizzle is " + number(w.swizzle) + ", not 0 to 3 (others: compute capability 10.0)";
  // CUDA's documentation asks for the swizzle of 32 bytes where 32 are interleaved; the driver takes none, too.
  if (w.l2 >= kPromotions) return "l2Promotion is " + number(w.l2) + ", not 0 to 3";
  if (w.fill >= kFills) return "oobFill is " + number(w.fill) + ", not 0 or 1";
  const auto type = static_cast<TensorType>(w.type);
  if (w.fill == 1 && !is_real(type)) return "oobFill is NaN, the type has none";
  if (w.dims == nullptr || w.steps == nullptr || w.strides == nullptr) return "an array is null";
  if (w.address % unit != 0) return "globalAddress is no multiple of " + number(unit);
  for (uint32_t k = 0; k < w.rank; ++k) {
    if (w.dims[k] == 0 || w.dims[k] > uint64_t{1} << 32) return of("globalDim", k, w.dims[k], "not 1 to 2^32");
    if (w.steps[k] == 0 || w.steps[k] > kMostStep) return of("elementStrides", k, w.steps[k], "not 1 to 8");
    m.last[k] = static_cast<uint32_t>(w.dims[k] - 1);
    m.steps[k] = static_cast<uint8_t>(k == 0 && w.interleave == 0 ? 1 : w.steps[k]);
  }
  for (uint32_t k = 0; k + 1 < w.rank; ++k) {
    if (w.strides[k] % unit != 0) return of("globalStrides", k, w.strides[k], "no multiple of " + number(unit));
    if (w.strides[k] >= uint64_t{1} << 40) return of("globalStrides", k, w.strides[k], "not below 2^40");
    m.strides[k] = w.strides[k];
  }
  m.address = w.address;
  m.rank = static_cast<uint8_t>(w.rank);
  m.type = static_cast<uint8_t>(w.type);
  m.interleave = static_cast<uint8_t>(w.interleave);
  m.swizzle = static_cast<uint8_t>(w.swizzle);
  m.l2 = static_cast<uint8_t>(w.l2);
  m.fill = static_cast<uint8_t>(w.fill);
  return {};
}

// A row of `elements` in shared memory.
std::string row(const char* what, uint32_t elements, const TensorMap& m) {
  const uint32_t bytes = elements * m.width();
  if (bytes % kUnit != 0) return std::string(what) + " is " + number(bytes) + " bytes, no multiple of 16";
  if (m.interleave == 0 && m.span() != 0 && bytes > m.span())
    return std::string(what) + " is " + number(bytes) + " bytes, more than the swizzle's " + number(m.span());
  return {};
}

std::string tile(uint64_t elements, const TensorMap& m) {
  const uint64_t bytes = elements * m.width();
  return bytes > kMostBytes ? "a tile is " + number(bytes) + " bytes, more than " + number(kMostBytes) : "";
}

}  // namespace

uint32_t width_of(TensorType t) {
  constexpr uint8_t kWidths[kTensorTypes] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return kWidths[static_cast<uint8_t>(t)];
}

bool is_real(TensorType t) { return t >= TensorType::f16; }

bool TensorForm::from(const std::vector<std::string_view>& suffixes) {
  bool reduces = false, object = false, group = false, l2 = false, plain = false;
  std::vector<std::string_view> spaces;
  for (std::string_view s : suffixes) {
    if (s == "async" || s == "bulk" || s == "tensor") continue;
    if (s == "reduce")
      reduces = true;
    else if (s == "prefetch")
      action = TensorAction::prefetch;
    else if (s.size() == 2 && s[1] == 'd' && s[0] >= '1' && s[0] <= '5')
      rank = static_cast<uint8_t>(s[0] - '0');
    else if (s == "L2")
      l2 = true;
    else if (s == "global" || s == "shared::cta" || s == "shared::cluster")
      spaces.push_back(s);
    else if (s == "tile")
      plain = true;
    else if (s == "im2col" || s == "im2col_no_offs")
      im2col = true;
    else if (s == "mbarrier::complete_tx::bytes")
      object = true;
    else if (s == "bulk_group")
      group = true;
    else if (s == "multicast::cluster")
      multicast = true;
    else if (s == "L2::cache_hint")
      policy = true;
    else if (!reduces || op != BulkOp::copy || !op_from(s))
      return false;
  }
  if (rank == 0 || (plain && im2col) || (im2col && rank < 3)) return false;
  if (action == TensorAction::prefetch)
    return l2 && spaces.size() == 1 && spaces[0] == "global" && !object && !group && !multicast && !reduces;
  if (l2 || spaces.size() != 2) return false;
  action = spaces[0] == "global" ? TensorAction::store : TensorAction::load;
  if (action == TensorAction::load) return spaces[1] == "global" && object && !group && !reduces;
  return spaces[1] == "shared::cta" && group && !object && !multicast && reduces == (op != BulkOp::copy);
}

std::string describe_tensor(const TensorWords& w, bool im2col, TensorMap& map) {
  map = {};
  if (std::string wrong = common(w, map); !wrong.empty()) return wrong;
  if (!im2col) {
    if (w.box == nullptr) return "boxDim is null";
    for (uint32_t k = 0; k < w.rank; ++k) {
      if (w.box[k] == 0 || w.box[k] > kMostBox) return of("boxDim", k, w.box[k], "not 1 to 256");
      map.box[k] = static_cast<uint16_t>(w.box[k]);
    }
    uint64_t elements = 1;
    for (uint32_t k = 0; k < w.rank; ++k) elements *= w.box[k] / map.steps[k];  // whole steps, says the driver
    if (std::string wrong = tile(elements, map); !wrong.empty()) return wrong;
    return row("boxDim[0]", w.box[0], map);
  }
  if (w.rank < 3) return "tensorRank is " + number(w.rank) + ", not 3 to 5";
  if (w.lower == nullptr || w.upper == nullptr) return "an array is null";
  map.im2col = 1;
  const int32_t limit = w.rank == 3 ? 32768 : w.rank == 4 ? 128 : 16;
  for (uint32_t k = 0; k + 2 < w.rank; ++k) {
    for (const int32_t v : {w.lower[k], w.upper[k]})
      if (v < -limit || v >= limit)
        return "a corner of the pixels' box is " + std::to_string(v) + ", not " + std::to_string(-limit) + " to " +
               std::to_string(limit - 1);
    map.lower[k] = static_cast<int16_t>(w.lower[k]);
    map.upper[k] = static_cast<int16_t>(w.upper[k]);
    if (int64_t{map.last[map.spatial() + k]} + w.upper[k] < w.lower[k]) return "the pixels' box is empty";
  }
  if (w.channels == 0 || w.channels > kMostBox) return "channelsPerPixel is " + number(w.channels) + ", not 1 to 256";
  if (w.pixels == 0 || w.pixels > kMostPixels) return "pixelsPerColumn is " + number(w.pixels) + ", not 1 to 1024";
  map.channels = static_cast<uint16_t>(w.channels);
  map.pixels = static_cast<uint16_t>(w.pixels);
  if (std::string wrong = tile(uint64_t{w.channels} * w.pixels, map); !wrong.empty()) return wrong;
  return row("channelsPerPixel", w.channels, map);
}

}  // namespace coalesce::machine
