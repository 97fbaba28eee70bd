#include "machine/execute/textures.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>

#include "machine/execute/filter.h"
#include "machine/execute/ops/half.h"
#include "machine/execute/texture_plane.h"
#include "machine/execute/warp.h"
#include "machine/memory/texture.h"
#include "machine/program/texture_op.h"

namespace coalesce::machine {
namespace {

using Texel = std::array<uint32_t, 4>;  // bits of what a register gets

struct Place {
  std::array<double, 3> at{};  // in texels, or fractions of the size
  uint32_t layer = 0;          // of layered textures and cube maps
  unsigned dimensions = 1;     // of `at` that count
  bool layered = false;
};

// A stored value: an integer, sign-extended if it has a sign; of reals the bits of the float.
uint32_t stored(const Texture& t, const std::byte* from) {
  uint32_t raw = 0;
  std::memcpy(&raw, from, t.channel_bytes);
  if (t.kind == TexelKind::real)
    return t.channel_bytes == 2 ? std::bit_cast<uint32_t>(to_float(Half{static_cast<uint16_t>(raw)})) : raw;
  const unsigned unused = 32 - 8u * t.channel_bytes;
  return t.kind == TexelKind::signed_integer ? static_cast<uint32_t>(static_cast<int32_t>(raw << unused) >> unused)
                                             : raw;
}

float most(const Texture& t) {
  return static_cast<float>((1ull << (8 * t.channel_bytes - (t.kind == TexelKind::signed_integer ? 1 : 0))) - 1);
}

// A register's value of a texel that is not mixed with others.
Texel as_read(const Texture& t, Texel texel) {
  if (!t.fractions) return texel;
  for (uint32_t& c : texel) {
    const float f = t.kind == TexelKind::signed_integer
                        ? std::max(-1.f, static_cast<float>(static_cast<int32_t>(c)) / most(t))
                        : static_cast<float>(c) / most(t);
    c = std::bit_cast<uint32_t>(f);
  }
  return texel;
}

// The texel of that number along each axis; it lies in the texture.
Texel texel(const Texture& t, uint32_t x, uint32_t y, uint32_t z) {
  const auto* from =
      reinterpret_cast<const std::byte*>(t.address + z * t.slice + y * t.row + uint64_t{x} * t.texel_bytes());
  Texel out{};
  for (unsigned c = 0; c < t.channels; ++c) out[c] = stored(t, from + c * t.channel_bytes);
  return out;
}

// Texel number `i` of `n` by the address mode; false: the border. Wrapping and mirroring are for fractions only.
bool settle(const Texture& t, AddressMode mode, int64_t& i, int64_t n) {
  if (i >= 0 && i < n) return true;
  if (mode == AddressMode::border) return false;
  if (mode == AddressMode::clamp || !t.normalised) {
    i = std::clamp<int64_t>(i, 0, n - 1);
  } else if (mode == AddressMode::wrap) {
    i = (i % n + n) % n;
  } else {
    i = (i % (2 * n) + 2 * n) % (2 * n);
    i = i < n ? i : 2 * n - 1 - i;
  }
  return true;
}

// A channel of the border's colour, as a texel would hold it.
uint32_t border(const Texture& t, float colour) {
  if (t.kind == TexelKind::real) return std::bit_cast<uint32_t>(colour);
  if (!t.fractions) {  // the bits, cut to the channel's
    const auto bits = std::bit_cast<uint32_t>(colour);
    return stored(t, reinterpret_cast<const std::byte*>(&bits));
  }
  const float least = t.kind == TexelKind::signed_integer ? -1.f : 0.f;
  if (std::isnan(colour)) return 0;
  const float exact = std::clamp(colour, least, 1.f) * most(t);  // halves go to zero
  return static_cast<uint32_t>(static_cast<int32_t>(std::copysign(std::ceil(std::fabs(exact) - 0.5f), exact)));
}

Texel at_indices(const Texture& t, const Place& p, std::array<int64_t, 3> i) {
  bool inside = true;
  for (unsigned d = 0; d < p.dimensions; ++d) inside = settle(t, t.mode[d], i[d], t.size[d]) && inside;
  if (!inside) {
    Texel colour;
    for (unsigned c = 0; c < 4; ++c) colour[c] = border(t, t.border[c]);
    return colour;
  }
  const uint32_t z = p.layered ? std::min(p.layer, t.size[2] - 1) : static_cast<uint32_t>(i[2]);
  return texel(t, static_cast<uint32_t>(i[0]), static_cast<uint32_t>(i[1]), z);
}

Texel nearest(const Texture& t, const Place& p) {
  std::array<int64_t, 3> i{};
  for (unsigned d = 0; d < p.dimensions; ++d)
    i[d] = static_cast<int64_t>(std::floor(filter_coordinate(p.at[d], t.size[d], t.normalised)));
  return as_read(t, at_indices(t, p, i));
}

// A line is filtered as the first row of a plane, at that row's upper edge: half of it is what the plane's address mode
// puts above the row, which can be a border.
Texel interpolated(const Texture& t, Place p) {
  if (p.dimensions == 1) p.dimensions = 2;
  const unsigned corners = 1u << p.dimensions;
  std::array<int64_t, 3> low{};
  std::array<uint32_t, 3> part{};
  for (unsigned d = 0; d < p.dimensions; ++d) {
    FilterPlace f = filter_place(filter_coordinate(p.at[d], t.size[d], t.normalised));
    const bool outside = f.texel < 0 || f.texel >= int64_t{t.size[d]} - 1;
    if (outside && (t.mode[d] == AddressMode::clamp || (!t.normalised && t.mode[d] != AddressMode::border)))
      f = {std::clamp<int64_t>(f.texel, 0, int64_t{t.size[d]} - 1), 0};
    low[d] = f.texel;
    part[d] = f.part;
  }
  if (t.kind == TexelKind::real && t.channel_bytes == 4 && (part[0] | part[1] | part[2]) == 0) {
    Texel one = at_indices(t, p, low);
    for (unsigned c = 0; c < t.channels; ++c) one[c] = unmixed_real(one[c]);
    for (unsigned c = t.channels; c < 4; ++c) one[c] = 0;
    return one;
  }
  const std::array<uint32_t, 8> weights = filter_weights(std::span(part).first(p.dimensions));
  std::array<Texel, 8> around{};
  for (unsigned corner = 0; corner < corners; ++corner) {
    std::array<int64_t, 3> i = low;
    for (unsigned d = 0; d < p.dimensions; ++d) i[d] += corner >> d & 1;
    if (weights[corner] != 0) around[corner] = at_indices(t, p, i);
  }
  Texel out{};
  for (unsigned c = 0; c < t.channels; ++c) {
    const auto used = std::span(weights).first(corners);
    if (t.kind != TexelKind::real && !t.fractions) {
      std::array<int64_t, 8> whole;
      for (unsigned k = 0; k < corners; ++k)
        whole[k] = t.kind == TexelKind::signed_integer ? static_cast<int32_t>(around[k][c]) : int64_t{around[k][c]};
      out[c] = static_cast<uint32_t>(mix_integers(std::span(whole).first(corners), used, t.channel_bytes));
      continue;
    }
    std::array<float, 8> reals;
    std::array<int32_t, 8> integers;
    for (unsigned k = 0; k < corners; ++k)
      reals[k] = std::bit_cast<float>(around[k][c]), integers[k] = static_cast<int32_t>(around[k][c]);
    out[c] =
        std::bit_cast<uint32_t>(t.fractions ? mix_fractions(std::span(integers).first(corners), used, t.channel_bytes,
                                                            t.kind == TexelKind::signed_integer)
                                            : mix_reals(std::span(reals).first(corners), used, t.channel_bytes == 2));
  }
  return out;
}

Texel sample(const Texture& t, const Place& p) { return t.linear ? interpolated(t, p) : nearest(t, p); }

// One component of the four texels that interpolation would use: from the lower left, against the clock.
Texel gather(const Texture& t, const Place& p, unsigned component) {
  std::array<int64_t, 3> low{};
  for (unsigned d = 0; d < 2; ++d) low[d] = filter_place(filter_coordinate(p.at[d], t.size[d], t.normalised)).texel;
  constexpr int steps[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
  Texel out;
  for (unsigned k = 0; k < 4; ++k)
    out[k] = as_read(t, at_indices(t, p, {low[0] + steps[k][0], low[1] + steps[k][1], 0}))[component];
  return out;
}

// A direction to a place on one of the cube's faces, which are layers 6 * cube + 0 to 5: +x -x +y -y +z -z. On an edge
// an H100 takes z before y before x.
void onto_cube(Place& p, uint32_t cube) {
  const auto [x, y, z] = p.at;
  const double ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  double m, s, t;
  uint32_t face;
  if (az >= ax && az >= ay) {
    face = z >= 0 ? 4 : 5, m = az, s = z >= 0 ? x : -x, t = -y;
  } else if (ay >= ax) {
    face = y >= 0 ? 2 : 3, m = ay, s = x, t = y >= 0 ? z : -z;
  } else {
    face = x >= 0 ? 0 : 1, m = ax, s = x >= 0 ? -z : z, t = -y;
  }
  p.at = {(s / m + 1) / 2, (t / m + 1) / 2, 0};
  p.layer = 6 * cube + face;
  p.layered = true;
  p.dimensions = 2;
}

struct Lane {
  Warp& w;
  const LaneOp& op;
  uint32_t lane;
  uint32_t word(std::size_t source) const { return w.at<uint32_t>(op.sources[source])[lane]; }
  double real(std::size_t source) const { return std::bit_cast<float>(word(source)); }
};

Place place_of(const Lane& l, TextureOp op) {
  const auto geometry = static_cast<Geometry>(op.geometry);
  Place p;
  std::size_t next = 2;
  const bool layers = geometry == Geometry::layers1 || geometry == Geometry::layers2 || geometry == Geometry::cubes;
  if (layers) p.layer = l.word(next++);
  const std::size_t last = 2 + coordinates(geometry);
  p.dimensions = static_cast<unsigned>(last - next);
  p.layered = layers;
  for (unsigned d = 0; d < p.dimensions; ++d) {
    const uint32_t bits = l.word(next + d);
    p.at[d] = op.whole ? static_cast<double>(static_cast<int32_t>(bits)) : double{std::bit_cast<float>(bits)};
  }
  if (geometry == Geometry::cube || geometry == Geometry::cubes)
    onto_cube(p, geometry == Geometry::cubes ? p.layer : 0);
  return p;
}

[[noreturn]] void fault(const Lane& l, Fault kind, const std::string& what) {
  throw KernelFault{kind, l.op.instruction->text + what, l.op.index, 1u << l.lane, {}};
}

// Whole numbers into memory that is no array (tex1Dfetch): no rounding through float; zeros outside.
Texel fetch(const Texture& t, int32_t i) {
  return i >= 0 && static_cast<uint32_t>(i) < t.size[0] ? as_read(t, texel(t, static_cast<uint32_t>(i), 0, 0))
                                                        : Texel{};
}

template <class T>
void give(const Lane& l, unsigned result, T value) {
  if (l.op.results[result] != kNoSlot) l.w.at<T>(l.op.results[result])[l.op.scalar[result] ? 0 : l.lane] = value;
}

// The beginning of a surface access; null: outside, which is allowed.
std::byte* surface_place(const Lane& l, const Texture& t, TextureOp op) {
  const auto geometry = static_cast<Geometry>(op.geometry);
  const bool layers = geometry == Geometry::layers1 || geometry == Geometry::layers2;
  std::array<int64_t, 3> at{};
  for (std::size_t k = 0; k < coordinates(geometry) - (layers ? 1u : 0u); ++k)
    at[k] = static_cast<int32_t>(l.word(2 + (layers ? 1 : 0) + k));
  if (layers) at[2] = static_cast<int32_t>(l.word(2));
  const int64_t bytes = int64_t{op.width} * op.count;
  const std::array<int64_t, 3> last{int64_t{t.size[0]} * t.texel_bytes() - bytes, int64_t{t.size[1]} - 1,
                                    int64_t{t.size[2]} - 1};
  for (unsigned d = 0; d < 3; ++d) {
    if (at[d] >= 0 && at[d] <= last[d]) continue;
    if (static_cast<Boundary>(op.boundary) == Boundary::trap)
      fault(l, Fault::illegal_address,
            " outside of its surface, at (" + std::to_string(at[0]) + " bytes, " + std::to_string(at[1]) + ", " +
                std::to_string(at[2]) + ")");
    if (static_cast<Boundary>(op.boundary) == Boundary::zero) return nullptr;
    at[d] = std::clamp<int64_t>(at[d], 0, std::max<int64_t>(last[d], 0));
  }
  const auto [x, y, z] = at;
  if (x % bytes != 0) fault(l, Fault::misaligned_address, " at a place that is no multiple of its size");
  return reinterpret_cast<std::byte*>(t.address + static_cast<uint64_t>(z) * t.slice +
                                      static_cast<uint64_t>(y) * t.row + static_cast<uint64_t>(x));
}

template <class T>
void surface(const Lane& l, const Texture& t, TextureOp op) {
  std::byte* const at = surface_place(l, t, op);
  if (static_cast<TextureAction>(op.action) == TextureAction::store) {
    const std::size_t first = 2 + coordinates(static_cast<Geometry>(op.geometry));
    for (std::size_t k = 0; at && k < op.count; ++k)
      std::memcpy(at + k * op.width, &l.w.at<T>(l.op.sources[first + k])[l.lane], op.width);
    return;
  }
  for (unsigned k = op.first; k < op.count && k < op.first + 2u; ++k) {
    T value = 0;
    if (at) std::memcpy(&value, at + std::size_t{k} * op.width, op.width);
    give(l, k - op.first, value);
  }
}

const Texture& texture_of(const Lane& l, uint64_t handle) {
  const Launch& launch = l.w.worker->launch;
  const Texture* t = launch.textures->find(handle);
  if (t == nullptr) fault(l, Fault::illegal_address, " of a handle that is no texture or surface");
  const Allocation* a = launch.memory->find(t->address);
  if (a == nullptr || t->address + t->bytes() > a->base + a->size)
    fault(l, Fault::illegal_address, " of a texture or surface whose memory is gone");
  return *t;
}

// All lanes at once, where they read one plane in the usual way. False: lane by lane.
bool read_at_once(Warp& w, const LaneOp& op, TextureOp how) {
  if (static_cast<TextureAction>(how.action) != TextureAction::sample || how.whole ||
      static_cast<Geometry>(how.geometry) != Geometry::d2)
    return false;
  const uint32_t first = lowest(w.active);
  const uint64_t* const handles = w.at<uint64_t>(op.sources[1]);
  uint64_t differ = 0;
  for (uint32_t l = 0; l < kLanes; ++l) differ |= w.active >> l & 1 ? handles[l] ^ handles[first] : 0;
  if (differ != 0) return false;
  LaneWords values;
  if (!read_plane(texture_of({w, op, first}, handles[first]), w.at<uint32_t>(op.sources[2]),
                  w.at<uint32_t>(op.sources[3]), w.active, values))
    return false;
  for (unsigned r = 0; r < 2; ++r) {
    if (op.results[r] == kNoSlot) continue;
    uint32_t* const to = w.at<uint32_t>(op.results[r]);
    if (how.first + r > 0) values.fill(0);  // the texels have one channel
    if (op.scalar[r]) {
      to[0] = values[first];
      continue;
    }
    for (uint32_t l = 0; l < kLanes; ++l) to[l] = w.active >> l & 1 ? values[l] : to[l];
  }
  return true;
}

}  // namespace

void texture_access(const Step& s, Context& c) {
  const LaneOp& lane_op = *static_cast<const LaneOp*>(s.extra);
  Warp& w = static_cast<Warp&>(c);
  const TextureOp op = TextureOp::of(w.at<uint32_t>(lane_op.sources[0])[0]);
  if (read_at_once(w, lane_op, op)) return;
  const Texture* t = nullptr;
  uint64_t handle = 0;
  for (uint32_t m = w.active; m; m &= m - 1) {
    const Lane l{w, lane_op, lowest(m)};
    if (const uint64_t mine = w.at<uint64_t>(lane_op.sources[1])[l.lane]; t == nullptr || mine != handle) {
      handle = mine;
      t = &texture_of(l, handle);
    }
    switch (static_cast<TextureAction>(op.action)) {
      case TextureAction::sample:
      case TextureAction::gather: {
        const bool sampled = static_cast<TextureAction>(op.action) == TextureAction::sample;
        const bool fetched = sampled && op.whole && static_cast<Geometry>(op.geometry) == Geometry::d1;
        const Texel v = fetched   ? fetch(*t, static_cast<int32_t>(l.word(2)))
                        : sampled ? sample(*t, place_of(l, op))
                                  : gather(*t, place_of(l, op), op.component);
        give(l, 0, v[op.first]);
        give(l, 1, v[op.first + 1]);
        break;
      }
      case TextureAction::load:
      case TextureAction::store:
        if (op.width <= 2)
          surface<uint16_t>(l, *t, op);
        else if (op.width == 4)
          surface<uint32_t>(l, *t, op);
        else
          surface<uint64_t>(l, *t, op);
        break;
    }
  }
}

}  // namespace coalesce::machine
