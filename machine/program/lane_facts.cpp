#include "machine/program/lane_facts.h"

#include <algorithm>
#include <utility>

namespace coalesce::machine {

namespace {

__extension__ using Wide = __int128;
constexpr uint32_t kMaxAlignment = 1u << 30;

// Takes a stride that 64 bits hold, whatever is made of it next.
bool bounded(Wide stride, int64_t* out) {
  constexpr Wide kMost = Wide{1} << 40;
  if (stride < -kMost || stride > kMost) return false;
  *out = static_cast<int64_t>(stride);
  return true;
}

// The range [low, high] as a signed value of `bits`; unknown when it does not fit.
Range fit(Wide low, Wide high, unsigned bits) {
  const Wide limit = Wide{1} << (bits - 1);
  if (low < -limit || high >= limit) return {};
  return {static_cast<int64_t>(low), static_cast<int64_t>(high)};
}

}  // namespace

uint32_t alignment_of(uint64_t v) {
  return v == 0 ? kMaxAlignment : static_cast<uint32_t>(std::min<uint64_t>(kMaxAlignment, v & (~v + 1)));
}

Fact fact_of_builtin(const Register& r, const LaunchShape& shape) {
  const auto& block = shape.block;
  const auto& grid = shape.grid_below;
  const bool flat = block[1] == 1 && block[2] == 1, rows = block[0] % kLanes == 0;
  const auto upto = [](uint64_t n) { return fit(0, static_cast<Wide>(n) - 1, 64); };
  const auto exactly = [](uint64_t n) { return Fact{LaneClass::constant, 0, fit(n, n, 64), alignment_of(n)}; };
  switch (r.builtin) {
    case Builtin::tid_x:
      if (flat || rows) return {LaneClass::affine, 1, upto(block[0]), rows ? 32u : 1u};
      return {LaneClass::general, 0, upto(block[0]), 1};
    case Builtin::tid_y:
      if (block[1] == 1) return exactly(0);
      return {rows ? LaneClass::warp_uniform : LaneClass::general, 0, upto(block[1]), 1};
    case Builtin::tid_z:
      if (block[2] == 1) return exactly(0);
      return {rows ? LaneClass::warp_uniform : LaneClass::general, 0, upto(block[2]), 1};
    case Builtin::ntid_x:
      return exactly(block[0]);
    case Builtin::ntid_y:
      return exactly(block[1]);
    case Builtin::ntid_z:
      return exactly(block[2]);
    case Builtin::ctaid_x:
      return {LaneClass::block_uniform, 0, upto(grid[0]), 1};
    case Builtin::ctaid_y:
      return {LaneClass::block_uniform, 0, upto(grid[1]), 1};
    case Builtin::ctaid_z:
      return {LaneClass::block_uniform, 0, upto(grid[2]), 1};
    case Builtin::nctaid_x:
      return {LaneClass::constant, 0, fit(1, grid[0], 64), 1};
    case Builtin::nctaid_y:
      return {LaneClass::constant, 0, fit(1, grid[1], 64), 1};
    case Builtin::nctaid_z:
      return {LaneClass::constant, 0, fit(1, grid[2], 64), 1};
    case Builtin::laneid:
      return {LaneClass::affine, 1, upto(kLanes), kMaxAlignment};
    case Builtin::warpid:
      return {LaneClass::warp_uniform, 0, upto((uint64_t{block[0]} * block[1] * block[2] + kLanes - 1) / kLanes), 1};
    case Builtin::smid:
      return {LaneClass::block_uniform, 0, upto(1u << 16), 1};
    case Builtin::lanemask_eq:
    case Builtin::lanemask_le:
    case Builtin::lanemask_lt:
    case Builtin::lanemask_ge:
    case Builtin::lanemask_gt:
      return {LaneClass::general, 0, {}, 1};
    default:
      return {LaneClass::constant, 0, {}, 1};
  }
}

uint32_t alignment_of_all(const Fact& f) {
  return f.lanes == LaneClass::affine ? std::min(f.alignment, alignment_of(static_cast<uint64_t>(f.stride)))
                                      : f.alignment;
}

namespace {

Fact result_of(const LinearRule& r, const Fact* f, LaneClass top) {
  Fact out;
  out.lanes = top;
  const auto known = [&](int n) {
    for (int k = 0; k < n; ++k)
      if (!f[k].range.known()) return false;
    return true;
  };
  const auto product = [&](const Range& a, const Range& b, Wide* low, Wide* high) {
    const Wide c[] = {Wide{a.low} * b.low, Wide{a.low} * b.high, Wide{a.high} * b.low, Wide{a.high} * b.high};
    *low = *std::min_element(c, c + 4);
    *high = *std::max_element(c, c + 4);
  };
  // stride of a product: only one factor may vary, and the other must be a known constant
  const auto scaled = [&](const Fact& a, const Fact& b, int64_t* stride) {
    const Fact& varying = a.lanes == LaneClass::affine ? a : b;
    const Fact& factor = a.lanes == LaneClass::affine ? b : a;
    if (varying.lanes != LaneClass::affine) return *stride = 0, true;
    if (factor.range.low != factor.range.high) return false;
    return bounded(Wide{varying.stride} * factor.range.low, stride);
  };
  const bool affine = top == LaneClass::affine;
  const auto lost = [&] {
    if (affine) out.lanes = LaneClass::general;
  };
  switch (r.rule) {
    case Rule::add:
    case Rule::sub: {
      const bool adds = r.rule == Rule::add;
      if (known(2)) {
        out.range = adds ? fit(Wide{f[0].range.low} + f[1].range.low, Wide{f[0].range.high} + f[1].range.high, r.bits)
                         : fit(Wide{f[0].range.low} - f[1].range.high, Wide{f[0].range.high} - f[1].range.low, r.bits);
      }
      out.alignment = std::min(f[0].alignment, f[1].alignment);
      const Wide other = adds ? Wide{f[1].stride} : -Wide{f[1].stride};
      if (affine && !bounded(f[0].stride + other, &out.stride)) lost();
      break;
    }
    case Rule::mul_low:
    case Rule::mul_wide:
    case Rule::mad_low:
    case Rule::mad_wide: {
      const bool wide = r.rule == Rule::mul_wide || r.rule == Rule::mad_wide;
      const bool adds = r.rule == Rule::mad_low || r.rule == Rule::mad_wide;
      // Wide products read their factors with the signedness of the type: right only where the range says so.
      const auto proven = [&](const Fact& a) { return a.range.known() && (r.is_signed || a.range.low >= 0); };
      bool ok = scaled(f[0], f[1], &out.stride);
      if (wide && (f[0].lanes == LaneClass::affine || f[1].lanes == LaneClass::affine))
        ok = ok && proven(f[0]) && proven(f[1]);
      if (f[0].range.known() && f[1].range.known() && (!wide || (proven(f[0]) && proven(f[1])))) {
        Wide low, high;
        product(f[0].range, f[1].range, &low, &high);
        out.range = fit(low, high, r.bits);
        if (adds) {
          if (out.range.known() && f[2].range.known())
            out.range = fit(Wide{out.range.low} + f[2].range.low, Wide{out.range.high} + f[2].range.high, r.bits);
          else
            out.range = {};
        }
      }
      out.alignment =
          static_cast<uint32_t>(std::min<uint64_t>(kMaxAlignment, uint64_t{f[0].alignment} * f[1].alignment));
      if (adds) {
        out.alignment = std::min(out.alignment, f[2].alignment);
        if (f[2].lanes == LaneClass::affine) ok = bounded(Wide{out.stride} + f[2].stride, &out.stride) && ok;
      }
      if (!ok) lost();
      break;
    }
    case Rule::shift_left: {
      const bool by_constant = f[1].range.low == f[1].range.high && f[1].range.low >= 0 && f[1].range.low < 32;
      if (!by_constant) {
        lost();
        break;
      }
      const int64_t factor = int64_t{1} << f[1].range.low;
      if (f[0].range.known()) out.range = fit(Wide{f[0].range.low} * factor, Wide{f[0].range.high} * factor, r.bits);
      out.alignment =
          static_cast<uint32_t>(std::min<uint64_t>(kMaxAlignment, uint64_t{f[0].alignment} << f[1].range.low));
      if (affine && !bounded(Wide{f[0].stride} * factor, &out.stride)) lost();
      break;
    }
    case Rule::minus:
      if (known(1)) out.range = fit(-Wide{f[0].range.high}, -Wide{f[0].range.low}, r.bits);
      out.stride = -f[0].stride;
      out.alignment = f[0].alignment;
      break;
    case Rule::move:
      out = f[0];
      break;
    case Rule::widen_signed:
    case Rule::widen_unsigned: {
      const bool proven = f[0].range.known() && (r.rule == Rule::widen_signed || f[0].range.low >= 0);
      out.stride = f[0].stride;
      out.alignment = f[0].alignment;
      if (proven)
        out.range = f[0].range;
      else
        lost();
      break;
    }
    case Rule::truncate:
      out.stride = f[0].stride;
      out.alignment = f[0].alignment;
      if (known(1)) out.range = fit(f[0].range.low, f[0].range.high, r.bits);
      break;
    case Rule::other:
      lost();
      break;
  }
  return out;
}

}  // namespace

Fact fact_of_result(const LinearRule& rule, const Fact* sources, LaneClass top) {
  Fact out = result_of(rule, sources, top);
  if (out.lanes != LaneClass::general) return out;
  Fact all[4];
  for (std::size_t k = 0; k < 4; ++k) {
    all[k] = sources[k];
    all[k].alignment = alignment_of_all(sources[k]);
  }
  out.alignment = result_of(rule, all, top).alignment;
  return out;
}

void apply_bound(const BoundRule& b, Fact x, Fact by, Fact* out) {
  x.alignment = alignment_of_all(x);
  by.alignment = alignment_of_all(by);
  if (b.bound == Bound::mask && x.range.low == x.range.high && x.range.known()) std::swap(x, by);
  if (!by.range.known() || by.range.low != by.range.high) return;
  const int64_t n = by.range.low;
  const bool positive = x.range.known() && x.range.low >= 0;
  switch (b.bound) {
    case Bound::mask:
      if (n >= 0)
        out->range = {0, positive ? std::min(n, x.range.high) : n};
      else if (positive)
        out->range = {0, x.range.high};
      out->alignment = std::max(x.alignment, by.alignment);
      break;
    case Bound::shift_right:
      if (n < 1 || n >= b.bits) break;
      if (positive || (b.is_signed && x.range.known()))
        out->range = {x.range.low >> n, x.range.high >> n};
      else if (!b.is_signed)
        out->range = {0, static_cast<int64_t>((~uint64_t{0} >> (64 - b.bits)) >> n)};
      break;
    default:  // remainder
      if (n > 0 && (positive || !b.is_signed)) out->range = {0, n - 1};
      break;
  }
}

}  // namespace coalesce::machine
