// The row `video`: any video instruction, described by its last source (video.h). Those that compilers make of
// intrinsics have rows of their own (video.cpp).
#include "machine/execute/ops/rows.h"
#include "machine/isa/video.h"

namespace coalesce::machine {
namespace {

__extension__ typedef __int128 Exact;

// Writes or reads a form field by field: one list of them for both.
template <class Form, class Field>
void each_field(Form& f, Field field) {
  field(f.op, 4);
  field(f.compare, 3);
  field(f.second, 2);
  field(f.signed_a, 1);
  field(f.signed_b, 1);
  field(f.signed_d, 1);
  field(f.saturates, 1);
  field(f.lanes, 3);
  if (f.lanes > 1) {
    field(f.mask, 4);
    field(f.a, 16);
    field(f.b, 16);
    return;
  }
  field(f.wraps, 1);
  field(f.minus_ab, 1);
  field(f.minus_c, 1);
  field(f.plus_one, 1);
  field(f.scale, 4);
  for (auto* bits : {&f.a_bits, &f.b_bits, &f.d_bits}) field(*bits, 6);
  for (auto* at : {&f.a_at, &f.b_at, &f.d_at}) field(*at, 5);
}

Exact number(uint64_t bits, unsigned n, bool is_signed) {
  bits &= (uint64_t{1} << n) - 1;
  return static_cast<Exact>(bits) - (is_signed && bits >> (n - 1) ? Exact{1} << n : 0);
}

Exact clamped(Exact v, unsigned n, bool is_signed) {
  const Exact low = is_signed ? -(Exact{1} << (n - 1)) : 0, high = (Exact{1} << (is_signed ? n - 1 : n)) - 1;
  return std::clamp(v, low, high);
}

bool holds(VideoCompare c, Exact x, Exact y) {
  switch (c) {
    case VideoCompare::eq:
      return x == y;
    case VideoCompare::ne:
      return x != y;
    case VideoCompare::lt:
      return x < y;
    case VideoCompare::le:
      return x <= y;
    case VideoCompare::gt:
      return x > y;
    default:
      return x >= y;
  }
}

Exact computed(const VideoForm& f, Exact x, Exact y) {
  switch (f.op) {
    case VideoOp::add:
      return x + y;
    case VideoOp::sub:
      return x - y;
    case VideoOp::absdiff:
      return x < y ? y - x : x - y;
    case VideoOp::min:
      return std::min(x, y);
    case VideoOp::max:
      return std::max(x, y);
    case VideoOp::avrg:  // rounded away from zero
      return (x + y + (x + y >= 0 ? 1 : 0)) >> 1;
    case VideoOp::set:
      return holds(f.compare, x, y);
    case VideoOp::shl:
      return x << static_cast<unsigned>(f.wraps ? y & 31 : std::min<Exact>(y, 32));
    case VideoOp::shr:
      return x >> static_cast<unsigned>(f.wraps ? y & 31 : std::min<Exact>(y, 32));
    default:
      return 0;
  }
}

uint32_t of_lanes(const VideoForm& f, uint32_t a, uint32_t b, uint32_t c) {
  const unsigned n = 32u / f.lanes;
  const uint32_t part = (1u << n) - 1;
  const uint64_t both = a | uint64_t{b} << 32;
  uint32_t sum = c, merged = c;
  for (unsigned lane = 0; lane < f.lanes; ++lane) {
    if (!(f.mask >> lane & 1)) continue;
    const Exact x = number(both >> (n * (f.a >> 4 * lane & 7u)), n, f.signed_a);
    const Exact y = number(both >> (n * (f.b >> 4 * lane & 7u)), n, f.signed_b);
    Exact r = computed(f, x, y);
    if (f.saturates) r = clamped(r, n, f.signed_d);
    sum += static_cast<uint32_t>(r);
    merged = (merged & ~(part << n * lane)) | (static_cast<uint32_t>(r) & part) << n * lane;
  }
  return f.second == VideoSecond::none ? merged : sum;
}

uint32_t multiplied(const VideoForm& f, Exact x, Exact y, uint32_t c) {
  const bool is_signed = f.signed_a || f.signed_b || f.minus_ab || f.minus_c;
  const Exact product = f.minus_ab ? -(x * y) : x * y;
  const Exact addend = f.minus_c ? -number(c, 32, true) : number(c, 32, is_signed);
  Exact r = (product + addend + (f.plus_one ? 1 : 0)) >> f.scale;
  if (f.saturates) r = clamped(r, 32, is_signed);
  return static_cast<uint32_t>(r);
}

uint32_t of_one(const VideoForm& f, uint32_t a, uint32_t b, uint32_t c) {
  const Exact x = number(a >> f.a_at, f.a_bits, f.signed_a), y = number(b >> f.b_at, f.b_bits, f.signed_b);
  if (f.op == VideoOp::mad) return multiplied(f, x, y, c);
  Exact r = computed(f, x, y);
  if (f.saturates) r = clamped(r, f.d_bits, f.signed_d);
  const Exact third = number(c, 32, f.signed_d);
  if (f.second == VideoSecond::add) r += third;
  if (f.second == VideoSecond::min) r = std::min(r, third);
  if (f.second == VideoSecond::max) r = std::max(r, third);
  if (f.d_bits == 32) return static_cast<uint32_t>(r);
  // The upper half, as ptxas has it (measured: tests/truth/spellings.txt), is that of the result, not its lower half.
  if (f.d_bits == 16 && f.d_at == 16) return (c & 0xffffu) | (static_cast<uint32_t>(r) & 0xffff0000u);
  const uint32_t part = ((1u << f.d_bits) - 1) << f.d_at;
  return (c & ~part) | (static_cast<uint32_t>(r) << f.d_at & part);
}

}  // namespace

uint64_t word_of(const VideoForm& form) {
  uint64_t word = 0;
  unsigned at = 0;
  each_field(form, [&](const auto& value, unsigned bits) {
    word |= static_cast<uint64_t>(value) << at;
    at += bits;
  });
  return word;
}

VideoForm form_of(uint64_t word) {
  VideoForm form;
  unsigned at = 0;
  each_field(form, [&](auto& value, unsigned bits) {
    value = static_cast<std::remove_reference_t<decltype(value)>>(word >> at & ((uint64_t{1} << bits) - 1));
    at += bits;
  });
  return form;
}

void video_any_rows(Rows& row) {
  row.rare("video", [](uint32_t a, uint32_t b, uint32_t c, uint64_t word) {
    const VideoForm form = form_of(word);
    return form.lanes > 1 ? of_lanes(form, a, b, c) : of_one(form, a, b, c);
  });
}

}  // namespace coalesce::machine
