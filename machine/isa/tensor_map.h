// Descriptions of tensors in global memory (CUtensorMap), as bulk copies of tensors take them. Programs see 128 opaque
// bytes; these are ours. Dimension 0 is the one whose elements lie side by side.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace coalesce::machine {

enum class TensorType : uint8_t { u8, u16, u32, s32, u64, s64, f16, f32, f64, bf16, f32_ftz, tf32, tf32_ftz };
inline constexpr uint32_t kTensorTypes = 13;
uint32_t width_of(TensorType t);  // bytes
bool is_real(TensorType t);

inline constexpr uint32_t kTensorRank = 5;  // the most dimensions

struct TensorMap {
  static constexpr uint64_t kMark = 0x70614d726f736e54;  // a description that this library has made
  uint64_t mark = kMark;
  uint64_t address = 0;
  std::array<uint64_t, kTensorRank - 1> strides{};  // bytes, from dimension 1 on
  std::array<uint32_t, kTensorRank> last{};         // the last coordinate
  std::array<uint16_t, kTensorRank> box{};          // tiled: elements that a copy spans
  std::array<uint8_t, kTensorRank> steps{};         // between elements that it takes
  uint8_t rank = 0, type = 0, interleave = 0, swizzle = 0, l2 = 0, fill = 0, im2col = 0;
  // im2col: where the pixels of a box begin and end, relative to the tensor's first and last; for W, H, D.
  std::array<int16_t, kTensorRank - 2> lower{}, upper{};
  uint16_t channels = 0, pixels = 0;
  uint8_t changed = 0;  // by a kernel: it may be wrong
  uint8_t rest[21] = {};

  bool valid() const { return mark == kMark; }
  // Zeros alone: compilers (Triton) let a kernel fill such memory by tensormap.replace, field by field.
  bool blank() const;
  uint32_t width() const { return width_of(static_cast<TensorType>(type)); }
  // Bytes from one coordinate of dimension 0 to the next: of an interleaved tensor those are slices of 16 or 32 bytes.
  uint32_t element() const { return interleave ? 16u * interleave : width(); }
  // im2col: the first of the dimensions that pixels move in. Slices of channels are dimension rank - 2, else channels
  // 0.
  uint32_t spatial() const { return interleave ? 0 : 1; }
  // Bytes of the swizzle's pattern along a row; 0: none.
  uint32_t span() const { return swizzle == 0 ? 0 : swizzle >= 3 ? 128 : 16u << swizzle; }
};
static_assert(sizeof(TensorMap) == 128);
static_assert(std::has_unique_object_representations_v<TensorMap>, "programs copy and compare all its bytes");

// The arguments of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col; numbers of CUDA's enumerations.
struct TensorWords {
  uint32_t type = 0, rank = 0;
  uint64_t address = 0;
  const uint64_t* dims = nullptr;
  const uint64_t* strides = nullptr;
  const uint32_t* box = nullptr;   // tiled
  const int32_t* lower = nullptr;  // im2col
  const int32_t* upper = nullptr;
  uint32_t channels = 0, pixels = 0;
  const uint32_t* steps = nullptr;
  uint32_t interleave = 0, swizzle = 0, l2 = 0, fill = 0;
};

// Fields that tensormap.replace changes.
enum class TensorField : uint8_t { address, rank, box, dim, stride, step, type, interleave, swizzle, fill };
// The words of that instruction after its name; false: PTX 8.8 has none such for compute capability 9.0.
struct TensorChange {
  TensorField field = TensorField::address;
  bool ordinal = false;  // one of several, whose number is an operand
  bool wide = false;     // 64 bits
  bool shared = false;   // the description lies in shared memory
  bool from(const std::vector<std::string_view>& suffixes);
};
// Changes a tiled description; `value` as the instruction has it. Else says what is wrong.
std::string change_tensor(TensorMap& map, TensorField field, uint64_t ordinal, uint64_t value);
// Says what is wrong with one that a kernel has changed, by the same rules as describe_tensor.
std::string wrong_with(const TensorMap& map);

// Makes the description. Else says what is wrong, by the rules of CUDA's documentation.
std::string describe_tensor(const TensorWords& words, bool im2col, TensorMap& map);

}  // namespace coalesce::machine
