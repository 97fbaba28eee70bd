#include "machine/execute/textures.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "machine/execute/ops/half.h"
#include "machine/execute/warp.h"
#include "machine/memory/texture.h"
#include "machine/program/texture_op.h"

namespace coalesce::machine {
namespace {

using Texel = std::array<uint32_t, 4>;  // bits of what a register gets

struct Place {
  std::array<float, 3> at{};  // in texels, or fractions of the size
  uint32_t layer = 0;         // of layered textures and cube maps
  unsigned dimensions = 1;    // of `at` that count
  bool layered = false;
};

uint32_t channel(const Texture& t, const std::byte* from) {
  uint32_t raw = 0;
  std::memcpy(&raw, from, t.channel_bytes);
  const unsigned bits = 8u * t.channel_bytes;
  if (t.kind == TexelKind::real)
    return t.channel_bytes == 2 ? std::bit_cast<uint32_t>(to_float(Half{static_cast<uint16_t>(raw)})) : raw;
  const bool is_signed = t.kind == TexelKind::signed_integer;
  if (is_signed) raw = static_cast<uint32_t>(static_cast<int32_t>(raw << (32 - bits)) >> (32 - bits));
  if (!t.fractions) return raw;
  const auto most = static_cast<float>((1ull << (bits - (is_signed ? 1 : 0))) - 1);
  const float f =
      is_signed ? std::max(-1.f, static_cast<float>(static_cast<int32_t>(raw)) / most) : static_cast<float>(raw) / most;
  return std::bit_cast<uint32_t>(f);
}

// The texel of that number along each axis; it lies in the texture.
Texel texel(const Texture& t, uint32_t x, uint32_t y, uint32_t z) {
  const auto* from =
      reinterpret_cast<const std::byte*>(t.address + z * t.slice + y * t.row + uint64_t{x} * t.texel_bytes());
  Texel out{};
  for (unsigned c = 0; c < t.channels; ++c) out[c] = channel(t, from + c * t.channel_bytes);
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

// The coordinate in texels, kept where integers can hold it. NaN is 0. Fractions of the size are cut to 24 bits behind
// the point: on an H200 the float next above 1/13 is in texel 0 of 13, not in texel 1 (tests/gpu/textures_probe.cu).
// That fits what was measured but for some coordinates exactly on a border (3/7 is one): the hardware's rule is
// unknown.
double in_texels(const Texture& t, float u, uint32_t n) {
  if (u != u) return 0;
  constexpr double unit = 1 << 24;
  return std::clamp(t.normalised ? std::floor(double{u} * unit) / unit * n : double{u}, -1e9, 1e9);
}

// What a border's colour is in a texture whose integers are read as fractions: the nearest such fraction.
float as_fraction(const Texture& t, float colour) {
  const bool is_signed = t.kind == TexelKind::signed_integer;
  const auto most = static_cast<float>((1ull << (8 * t.channel_bytes - (is_signed ? 1 : 0))) - 1);
  return std::nearbyint(std::clamp(colour, is_signed ? -1.f : 0.f, 1.f) * most) / most;
}

Texel at_indices(const Texture& t, const Place& p, std::array<int64_t, 3> i) {
  bool inside = true;
  for (unsigned d = 0; d < p.dimensions; ++d) inside = settle(t, t.mode[d], i[d], t.size[d]) && inside;
  if (!inside) {
    Texel border;
    for (unsigned c = 0; c < 4; ++c)
      border[c] = t.fractions                 ? std::bit_cast<uint32_t>(as_fraction(t, t.border[c]))
                  : t.kind == TexelKind::real ? std::bit_cast<uint32_t>(t.border[c])
                                              : static_cast<uint32_t>(static_cast<int64_t>(t.border[c]));
    return border;
  }
  const uint32_t z = p.layered ? std::min(p.layer, t.size[2] - 1) : static_cast<uint32_t>(i[2]);
  return texel(t, static_cast<uint32_t>(i[0]), static_cast<uint32_t>(i[1]), z);
}

Texel sample(const Texture& t, const Place& p) {
  std::array<int64_t, 3> low{};
  std::array<float, 3> part{};
  for (unsigned d = 0; d < p.dimensions; ++d) {
    const double u = in_texels(t, p.at[d], t.size[d]) - (t.linear ? 0.5 : 0), floor = std::floor(u);
    low[d] = static_cast<int64_t>(floor);
    part[d] = t.linear ? static_cast<float>(std::nearbyint((u - floor) * 256) / 256) : 0.f;
  }
  if (!t.linear) return at_indices(t, p, low);
  std::array<float, 4> sum{};
  for (unsigned corner = 0; corner < 1u << p.dimensions; ++corner) {
    std::array<int64_t, 3> i = low;
    float weight = 1;
    for (unsigned d = 0; d < p.dimensions; ++d) {
      const bool high = corner >> d & 1;
      i[d] += high;
      weight *= high ? part[d] : 1 - part[d];
    }
    if (weight == 0) continue;
    const Texel here = at_indices(t, p, i);
    for (unsigned c = 0; c < 4; ++c) sum[c] += weight * std::bit_cast<float>(here[c]);
  }
  Texel out;
  for (unsigned c = 0; c < 4; ++c) out[c] = std::bit_cast<uint32_t>(sum[c]);
  return out;
}

// One component of the four texels that interpolation would use: from the lower left, against the clock.
Texel gather(const Texture& t, const Place& p, unsigned component) {
  std::array<int64_t, 3> low{};
  for (unsigned d = 0; d < 2; ++d) low[d] = static_cast<int64_t>(std::floor(in_texels(t, p.at[d], t.size[d]) - 0.5));
  constexpr int steps[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
  Texel out;
  for (unsigned k = 0; k < 4; ++k)
    out[k] = at_indices(t, p, {low[0] + steps[k][0], low[1] + steps[k][1], 0})[component];
  return out;
}

// A direction to a place on one of the cube's faces, which are layers 6 * cube + 0 to 5: +x -x +y -y +z -z.
void onto_cube(Place& p, uint32_t cube) {
  const auto [x, y, z] = p.at;
  const float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  float m, s, t;
  uint32_t face;
  if (ax >= ay && ax >= az) {
    face = x >= 0 ? 0 : 1, m = ax, s = x >= 0 ? -z : z, t = -y;
  } else if (ay >= az) {
    face = y >= 0 ? 2 : 3, m = ay, s = x, t = y >= 0 ? z : -z;
  } else {
    face = z >= 0 ? 4 : 5, m = az, s = z >= 0 ? x : -x, t = -y;
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
    p.at[d] = op.whole ? static_cast<float>(static_cast<int32_t>(bits)) : std::bit_cast<float>(bits);
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
  return i >= 0 && static_cast<uint32_t>(i) < t.size[0] ? texel(t, static_cast<uint32_t>(i), 0, 0) : Texel{};
}

template <class T>
void give(const Lane& l, unsigned result, T value) {
  if (l.op.results[result] != kNoSlot) l.w.at<T>(l.op.results[result])[l.op.scalar[result] ? 0 : l.lane] = value;
}

// Where a surface access begins; null: outside, and that is allowed.
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

}  // namespace

void texture_access(const Step& s, Context& c) {
  const LaneOp& lane_op = *static_cast<const LaneOp*>(s.extra);
  Warp& w = static_cast<Warp&>(c);
  const Launch& launch = w.worker->launch;
  const TextureOp op = TextureOp::of(w.at<uint32_t>(lane_op.sources[0])[0]);
  const Texture* t = nullptr;
  uint64_t handle = 0;
  for (uint32_t m = w.active; m; m &= m - 1) {
    const Lane l{w, lane_op, lowest(m)};
    if (const uint64_t mine = w.at<uint64_t>(lane_op.sources[1])[l.lane]; t == nullptr || mine != handle) {
      handle = mine;
      t = launch.textures->find(handle);
      if (t == nullptr) fault(l, Fault::illegal_address, " of a handle that is no texture or surface");
      const Allocation* a = launch.memory->find(t->address);
      if (a == nullptr || t->address + t->bytes() > a->base + a->size)
        fault(l, Fault::illegal_address, " of a texture or surface whose memory is gone");
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
