// 16 bytes as four words: taken from any byte address, and turned round element by element.
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

namespace coalesce::detail {

// Bytes shift ... shift + 15 of the 32 that `low` and `high` are; shift from 0 to 15.
__device__ inline uint4 window(uint4 low, uint4 high, unsigned int shift) {
  const bool two = shift & 8, one = shift & 4;
  const unsigned int bits = (shift & 3) * 8;
  // Whole words first, by 2 and by 1; five of them are needed.
  const unsigned int a = two ? low.z : low.x, b = two ? low.w : low.y, c = two ? high.x : low.z;
  const unsigned int d = two ? high.y : low.w, e = two ? high.z : high.x, f = two ? high.w : high.y;
  const unsigned int v = one ? b : a, w = one ? c : b, x = one ? d : c, y = one ? e : d, z = one ? f : e;
  return make_uint4(__funnelshift_r(v, w, bits), __funnelshift_r(w, x, bits), __funnelshift_r(x, y, bits),
                    __funnelshift_r(y, z, bits));
}

// The elements of Size bytes (1, 2, 4, 8 or 16) in the opposite order.
template <int Size>
__device__ inline uint4 mirrored(uint4 v) {
  if constexpr (Size == 16) return v;
  if constexpr (Size == 8) return make_uint4(v.z, v.w, v.x, v.y);
  constexpr unsigned int within = Size == 1 ? 0x0123 : Size == 2 ? 0x1032 : 0x3210;
  return make_uint4(__byte_perm(v.w, 0, within), __byte_perm(v.z, 0, within), __byte_perm(v.y, 0, within),
                    __byte_perm(v.x, 0, within));
}

// The unsigned integer, or pair or quadruple of words, of Size bytes.
template <int Size>
struct unit_of;
template <>
struct unit_of<1> {
  using type = unsigned char;
};
template <>
struct unit_of<2> {
  using type = unsigned short;
};
template <>
struct unit_of<4> {
  using type = unsigned int;
};
template <>
struct unit_of<8> {
  using type = uint2;
};
template <>
struct unit_of<16> {
  using type = uint4;
};

// Types that a copy of their bytes is a copy of. (is_trivially_copyable would also ask for the assignment, which vector
// types such as double2 may have of their own to be moved in one piece.)
template <class T>
inline constexpr bool is_bytes = std::is_trivially_copy_constructible_v<T> && std::is_trivially_destructible_v<T>;

// Bytes of the unit an element is moved in: what its alignment allows, 16 at most.
template <class T>
inline constexpr int unit_bytes = alignof(T) < 16 ? static_cast<int>(alignof(T)) : 16;

}  // namespace coalesce::detail
