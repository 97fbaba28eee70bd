// Values between registers and memory: one function for each pair of element and register width, chosen when the
// kernel is lowered. Where they go is known and checked by then (memory_*.cpp).
#include <cstring>
#include <type_traits>

#include "machine/execute/no_handler.h"
#include "machine/execute/warp.h"

namespace coalesce::machine {

namespace {

using Four = uint32_t __attribute__((vector_size(16)));
using Square = Four[4];
inline void turn(Square& s) {
  const Four a = __builtin_shufflevector(s[0], s[1], 0, 4, 1, 5), b = __builtin_shufflevector(s[0], s[1], 2, 6, 3, 7);
  const Four c = __builtin_shufflevector(s[2], s[3], 0, 4, 1, 5), d = __builtin_shufflevector(s[2], s[3], 2, 6, 3, 7);
  s[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5), s[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  s[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5), s[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

// M: the element in memory; R: the register. Sign extension is in M's and R's signedness.
template <class M, class R>
struct Move {
  static R get(const std::byte* p) {
    M m;
    std::memcpy(&m, p, sizeof m);
    return static_cast<R>(m);  // NOLINT(bugprone-signed-char-misuse): ld.s8 extends the sign
  }

  static void load_contiguous(const Access& a, Warp& w, std::byte* base, uint32_t mask) {
    if (a.op->count == 1 && mask == ~0u) {
      R* to = w.at<R>(a.values[0]);
      if constexpr (sizeof(M) == sizeof(R))
        std::memcpy(to, base, sizeof(R) * kLanes);
      else
        for (uint32_t l = 0; l < kLanes; ++l) to[l] = get(base + l * sizeof(M));
      return;
    }
    const std::size_t step = a.bytes;
    for (uint32_t k = 0; k < a.op->count; ++k) {
      R* to = w.at<R>(a.values[k]);
      const std::byte* from = base + k * sizeof(M);
      if (mask == ~0u)
        for (uint32_t l = 0; l < kLanes; ++l) to[l] = get(from + l * step);
      else
        for (uint32_t m = mask; m; m &= m - 1) to[lowest(m)] = get(from + lowest(m) * step);
    }
  }
  static void load_table(const Access& a, Warp& w, const uint64_t* host, uint32_t mask) {
    if constexpr (kQuads)
      if (a.op->count == 4 && mask == ~0u) return load_quads(a, w, host);
    for (uint32_t k = 0; k < a.op->count; ++k) {
      R* to = w.at<R>(a.values[k]);
      if (mask == ~0u)
        for (uint32_t l = 0; l < kLanes; ++l) to[l] = get(reinterpret_cast<const std::byte*>(host[l]) + k * sizeof(M));
      else
        for (uint32_t m = mask; m; m &= m - 1)
          to[lowest(m)] = get(reinterpret_cast<const std::byte*>(host[lowest(m)]) + k * sizeof(M));
    }
  }
  static void load_uniform(const Access& a, Warp& w, const std::byte* at, uint32_t mask) {
    for (uint32_t k = 0; k < a.op->count; ++k) {
      const R value = get(at + k * sizeof(M));
      R* to = w.at<R>(a.values[k]);
      if (a.scalar_results)
        *to = value;
      else if (mask == ~0u)
        for (uint32_t l = 0; l < kLanes; ++l) to[l] = value;
      else
        for (uint32_t m = mask; m; m &= m - 1) to[lowest(m)] = value;
    }
  }
  static void store_contiguous(const Access& a, Warp& w, std::byte* base, uint32_t mask) {
    if (a.op->count == 1 && mask == ~0u && sizeof(M) == sizeof(R)) {
      std::memcpy(base, w.at<R>(a.values[0]), sizeof(R) * kLanes);
      return;
    }
    for (uint32_t k = 0; k < a.op->count; ++k) {
      const R* from = w.at<R>(a.values[k]);
      for (uint32_t m = mask; m; m &= m - 1)
        put(base + lowest(m) * std::size_t{a.bytes} + k * sizeof(M), from[lowest(m)]);
    }
  }
  static void store_table(const Access& a, Warp& w, const uint64_t* host, uint32_t mask) {
    if constexpr (kQuads)
      if (a.op->count == 4 && mask == ~0u && lanes_of_a_pass(*a.op) == 8) return store_quads(a, w, host);
    const uint32_t pass = lanes_of_a_pass(*a.op);
    const uint32_t first_pass = pass == kLanes ? ~0u : (1u << pass) - 1;
    for (uint32_t first = 0; first < kLanes; first += pass)
      for (uint32_t m = mask & first_pass << first; m;) {
        const uint32_t l = highest(m);
        m &= ~(1u << l);
        for (uint32_t k = 0; k < a.op->count; ++k)
          put(reinterpret_cast<std::byte*>(host[l]) + k * sizeof(M), w.at<R>(a.values[k])[l]);
      }
  }
  // Vectors of four words: four lanes' as a square that is turned.
  static constexpr bool kQuads = std::is_same_v<M, uint32_t> && std::is_same_v<R, uint32_t>;
  static void load_quads(const Access& a, Warp& w, const uint64_t* host) {
    Square square;
    for (uint32_t l = 0; l < kLanes; l += 4) {
      for (uint32_t i = 0; i < 4; ++i) std::memcpy(&square[i], reinterpret_cast<const void*>(host[l + i]), 16);
      __builtin_prefetch(reinterpret_cast<const void*>(host[l] + 64), 0, 3);  // tiles of a matrix go on along its rows
      turn(square);
      for (uint32_t k = 0; k < 4; ++k) std::memcpy(w.at<R>(a.values[k]) + l, &square[k], 16);
    }
  }
  static void store_quads(const Access& a, Warp& w, const uint64_t* host) {
    Square square;
    for (uint32_t first = 0; first < kLanes; first += 8)
      for (uint32_t l = first + 8; l != first;) {
        l -= 4;
        for (uint32_t k = 0; k < 4; ++k) std::memcpy(&square[k], w.at<R>(a.values[k]) + l, 16);
        turn(square);
        for (uint32_t i = 4; i-- > 0;) std::memcpy(reinterpret_cast<void*>(host[l + i]), &square[i], 16);
      }
  }
  static void put(std::byte* p, R value) {
    const M m = static_cast<M>(value);
    std::memcpy(p, &m, sizeof m);
  }
};

struct Movers {
  MoveContiguous load_contiguous, store_contiguous;
  MoveTable load_table, store_table;
  void (*load_uniform)(const Access&, Warp&, const std::byte*, uint32_t);
};

template <class M, class R>
constexpr Movers movers() {
  using T = Move<M, R>;
  return {T::load_contiguous, T::store_contiguous, T::load_table, T::store_table, T::load_uniform};
}

template <class R, class S>  // R: unsigned register type, S: signed
Movers movers_for(unsigned width, bool sign) {
  switch (width) {
    case 1:
      return sign ? movers<int8_t, S>() : movers<uint8_t, R>();
    case 2:
      return sign ? movers<int16_t, S>() : movers<uint16_t, R>();
    case 4:
      return sign ? movers<int32_t, S>() : movers<uint32_t, R>();
    case 8:
      return movers<uint64_t, R>();
    case 16:
      return movers<u128, R>();
    default:
      no_handler("a load or store of the width", width);
  }
}

}  // namespace

void choose_movers(Access& a, Kind kind) {
  if (kind != Kind::load && kind != Kind::store) return;
  const MemoryOp& m = *a.op;
  Movers chosen;
  switch (m.value_bytes[0]) {
    case 2:
      if (m.width > 2) no_handler("registers of 16 bits beside memory of the width", m.width);
      chosen = movers_for<uint16_t, int16_t>(m.width, m.sign_extend && kind == Kind::load);
      break;
    case 4:
      chosen = movers_for<uint32_t, int32_t>(m.width, m.sign_extend && kind == Kind::load);
      break;
    case 8:
      chosen = movers_for<uint64_t, int64_t>(m.width, m.sign_extend && kind == Kind::load);
      break;
    case 16:
      chosen = movers_for<u128, u128>(m.width, false);
      break;
    default:
      no_handler("registers of the width", m.value_bytes[0]);
  }
  a.move_contiguous = kind == Kind::load ? chosen.load_contiguous : chosen.store_contiguous;
  a.move_table = kind == Kind::load ? chosen.load_table : chosen.store_table;
  a.move_uniform = chosen.load_uniform;
}

}  // namespace coalesce::machine
