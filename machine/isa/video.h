// The video instructions with everything that PTX lets one write: parts of operands, masks of results, types that
// differ, a second operation. What is written becomes one word, the last source of the row `video`.
#pragma once

#include <cstdint>

namespace coalesce::machine {

enum class VideoOp : uint8_t { add, sub, absdiff, min, max, avrg, set, shl, shr, mad };
enum class VideoCompare : uint8_t { eq, ne, lt, le, gt, ge };
enum class VideoSecond : uint8_t { none, add, min, max };  // of the result with c

struct VideoForm {
  VideoOp op = VideoOp::add;
  VideoCompare compare = VideoCompare::eq;
  VideoSecond second = VideoSecond::none;
  bool signed_a = false, signed_b = false, signed_d = false;
  bool saturates = false;
  bool wraps = false;     // shifts: by the amount modulo 32; else by 32 at most
  bool minus_ab = false;  // mad
  bool minus_c = false;   // mad
  bool plus_one = false;  // mad: .po
  uint8_t scale = 0;      // mad: bits by which its result is shifted to the right
  uint8_t lanes = 1;      // 1: scalar; 2 halves; 4 bytes
  uint8_t mask = 0xf;     // lanes: those that are written
  // For operations on lanes, the part of {a, b} that lane k takes, in bits 4k (3 of them). Scalar: bits of the part,
  // and from which on.
  uint16_t a = 0, b = 0;
  uint8_t a_bits = 32, b_bits = 32, d_bits = 32, a_at = 0, b_at = 0, d_at = 0;
};

uint64_t word_of(const VideoForm& form);
VideoForm form_of(uint64_t word);

}  // namespace coalesce::machine
