// nvcuda::wmma: products of small matrices by all lanes of a warp, over the compiler's builtins.
#pragma once
#include "coalesce_cuda/plain_names_away.h"
#ifdef __CUDA__
#pragma GCC system_header
#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime.h"

namespace nvcuda {
namespace wmma {

enum layout_t { mem_row_major, mem_col_major };
struct row_major {};
struct col_major {};
struct matrix_a {};
struct matrix_b {};
struct accumulator {};

namespace precision {
struct tf32 {};
}  // namespace precision
namespace experimental {
namespace precision {
struct u4 {};
struct s4 {};
struct b1 {};
}  // namespace precision
enum bmmaBitOp { bmmaBitOpXOR = 1, bmmaBitOpAND = 2 };
enum bmmaAccumulateOp { bmmaAccumulateOpPOPC = 1 };
}  // namespace experimental

namespace detail {

// How an element is stored in memory and in a fragment, and how many a lane has of a factor.
template <class T>
struct Element {
  using type = T;
  static constexpr int count(int cells) { return cells / 32; }
};
template <>
struct Element<__half> {
  using type = __half;
  static constexpr int count(int) { return 16; }
};
template <>
struct Element<precision::tf32> {
  using type = float;
  static constexpr int count(int cells) { return cells / 32; }
};
struct Packed {  // 32 bits of elements
  using type = int;
  static constexpr int count(int) { return 1; }
};
template <>
struct Element<experimental::precision::u4> : Packed {};
template <>
struct Element<experimental::precision::s4> : Packed {};
template <>
struct Element<experimental::precision::b1> : Packed {};

template <class Use, int M, int N, int K, class T>
struct Count {
  static constexpr int value = M * N / 32;
};
template <int M, int N, int K, class T>
struct Count<matrix_a, M, N, K, T> {
  static constexpr int value = Element<T>::count(M * K);
};
template <int M, int N, int K, class T>
struct Count<matrix_b, M, N, K, T> {
  static constexpr int value = Element<T>::count(K * N);
};

template <class Layout>
struct Column {
  static constexpr int value = 0;
};
template <>
struct Column<col_major> {
  static constexpr int value = 1;
};

// The builtins by shape and type. L: 0 by rows, 1 by columns; of a product 2 * L of a + L of b.
template <int M, int N, int K, class T>
struct Factors;
template <int M, int N, int K, class T>
struct Sums;
template <int M, int N, int K, class T, class D, class C>
struct Product;

#define COALESCE_FACTORS(M, N, K, T, P, A, B)                          \
  template <>                                                          \
  struct Factors<M, N, K, T> {                                         \
    template <int L>                                                   \
    static __device__ void a(void* d, const void* p, unsigned int s) { \
      A(static_cast<P*>(d), static_cast<const P*>(p), s, L);           \
    }                                                                  \
    template <int L>                                                   \
    static __device__ void b(void* d, const void* p, unsigned int s) { \
      B(static_cast<P*>(d), static_cast<const P*>(p), s, L);           \
    }                                                                  \
  };
#define COALESCE_SUMS(M, N, K, T, P, LOAD, STORE)                                           \
  template <>                                                                               \
  struct Sums<M, N, K, T> {                                                                 \
    static __device__ void load(void* d, const void* p, unsigned int s, layout_t layout) {  \
      if (layout == mem_row_major)                                                          \
        LOAD(static_cast<P*>(d), static_cast<const P*>(p), s, 0);                           \
      else                                                                                  \
        LOAD(static_cast<P*>(d), static_cast<const P*>(p), s, 1);                           \
    }                                                                                       \
    static __device__ void store(void* p, const void* d, unsigned int s, layout_t layout) { \
      if (layout == mem_row_major)                                                          \
        STORE(static_cast<P*>(p), static_cast<const P*>(d), s, 0);                          \
      else                                                                                  \
        STORE(static_cast<P*>(p), static_cast<const P*>(d), s, 1);                          \
    }                                                                                       \
  };
#define COALESCE_PRODUCT(M, N, K, T, D, C, PD, PA, PC, MMA)                                                            \
  template <>                                                                                                          \
  struct Product<M, N, K, T, D, C> {                                                                                   \
    template <int L, int S>                                                                                            \
    static __device__ void run(void* d, const void* a, const void* b, const void* c) {                                 \
      MMA(static_cast<PD*>(d), static_cast<const PA*>(a), static_cast<const PA*>(b), static_cast<const PC*>(c), L, S); \
    }                                                                                                                  \
  };

#define COALESCE_SHAPE(M, N, S)                                                                        \
  COALESCE_FACTORS(M, N, 16, __half, int, __hmma_##S##_ld_a, __hmma_##S##_ld_b)                        \
  COALESCE_SUMS(M, N, 16, __half, int, __hmma_##S##_ld_c_f16, __hmma_##S##_st_c_f16)                   \
  COALESCE_SUMS(M, N, 16, float, float, __hmma_##S##_ld_c_f32, __hmma_##S##_st_c_f32)                  \
  COALESCE_PRODUCT(M, N, 16, __half, __half, __half, int, int, int, __hmma_##S##_mma_f16f16)           \
  COALESCE_PRODUCT(M, N, 16, __half, float, __half, float, int, int, __hmma_##S##_mma_f32f16)          \
  COALESCE_PRODUCT(M, N, 16, __half, __half, float, int, int, float, __hmma_##S##_mma_f16f32)          \
  COALESCE_PRODUCT(M, N, 16, __half, float, float, float, int, float, __hmma_##S##_mma_f32f32)         \
  COALESCE_FACTORS(M, N, 16, __nv_bfloat16, int, __mma_bf16_##S##_ld_a, __mma_bf16_##S##_ld_b)         \
  COALESCE_PRODUCT(M, N, 16, __nv_bfloat16, float, float, float, int, float, __mma_bf16_##S##_mma_f32) \
  COALESCE_FACTORS(M, N, 16, signed char, int, __imma_##S##_ld_a_s8, __imma_##S##_ld_b_s8)             \
  COALESCE_FACTORS(M, N, 16, unsigned char, int, __imma_##S##_ld_a_u8, __imma_##S##_ld_b_u8)           \
  COALESCE_SUMS(M, N, 16, int, int, __imma_##S##_ld_c, __imma_##S##_st_c_i32)                          \
  COALESCE_PRODUCT(M, N, 16, signed char, int, int, int, int, int, __imma_##S##_mma_s8)                \
  COALESCE_PRODUCT(M, N, 16, unsigned char, int, int, int, int, int, __imma_##S##_mma_u8)
COALESCE_SHAPE(16, 16, m16n16k16)
COALESCE_SHAPE(32, 8, m32n8k16)
COALESCE_SHAPE(8, 32, m8n32k16)
COALESCE_FACTORS(16, 16, 8, precision::tf32, int, __mma_tf32_m16n16k8_ld_a, __mma_tf32_m16n16k8_ld_b)
COALESCE_SUMS(16, 16, 8, float, float, __mma_tf32_m16n16k8_ld_c, __mma_m16n16k8_st_c_f32)
COALESCE_PRODUCT(16, 16, 8, precision::tf32, float, float, float, int, float, __mma_tf32_m16n16k8_mma_f32)
COALESCE_FACTORS(8, 8, 4, double, double, __dmma_m8n8k4_ld_a, __dmma_m8n8k4_ld_b)
COALESCE_SUMS(8, 8, 4, double, double, __dmma_m8n8k4_ld_c, __dmma_m8n8k4_st_c_f64)
COALESCE_PRODUCT(8, 8, 4, double, double, double, double, double, double, __dmma_m8n8k4_mma_f64)
COALESCE_SUMS(8, 8, 32, int, int, __imma_m8n8k32_ld_c, __imma_m8n8k32_st_c_i32)
COALESCE_FACTORS(8, 8, 32, experimental::precision::s4, int, __imma_m8n8k32_ld_a_s4, __imma_m8n8k32_ld_b_s4)
COALESCE_FACTORS(8, 8, 32, experimental::precision::u4, int, __imma_m8n8k32_ld_a_u4, __imma_m8n8k32_ld_b_u4)
COALESCE_PRODUCT(8, 8, 32, experimental::precision::s4, int, int, int, int, int, __imma_m8n8k32_mma_s4)
COALESCE_PRODUCT(8, 8, 32, experimental::precision::u4, int, int, int, int, int, __imma_m8n8k32_mma_u4)
COALESCE_SUMS(8, 8, 128, int, int, __bmma_m8n8k128_ld_c, __bmma_m8n8k128_st_c_i32)
COALESCE_FACTORS(8, 8, 128, experimental::precision::b1, int, __bmma_m8n8k128_ld_a_b1, __bmma_m8n8k128_ld_b_b1)
#undef COALESCE_SHAPE
#undef COALESCE_PRODUCT
#undef COALESCE_SUMS
#undef COALESCE_FACTORS

}  // namespace detail

// x[i] are elements of the matrix; which lane has which is as on the hardware for halves and sums of 16 by 16.
template <class Use, int M, int N, int K, class T, class Layout = void>
class __align__(8) fragment {
 public:
  using element_type = typename detail::Element<T>::type;
  using storage_element_type = element_type;
  enum { num_elements = detail::Count<Use, M, N, K, T>::value, num_storage_elements = num_elements };
  element_type x[num_elements];
};

template <int M, int N, int K, class T, class Layout, class P>
__device__ inline void load_matrix_sync(fragment<matrix_a, M, N, K, T, Layout>& f, const P* p, unsigned int stride) {
  detail::Factors<M, N, K, T>::template a<detail::Column<Layout>::value>(f.x, p, stride);
}
template <int M, int N, int K, class T, class Layout, class P>
__device__ inline void load_matrix_sync(fragment<matrix_b, M, N, K, T, Layout>& f, const P* p, unsigned int stride) {
  detail::Factors<M, N, K, T>::template b<detail::Column<Layout>::value>(f.x, p, stride);
}
template <int M, int N, int K, class T>
__device__ inline void load_matrix_sync(fragment<accumulator, M, N, K, T>& f, const T* p, unsigned int stride,
                                        layout_t layout) {
  detail::Sums<M, N, K, T>::load(f.x, p, stride, layout);
}
template <int M, int N, int K, class T>
__device__ inline void store_matrix_sync(T* p, const fragment<accumulator, M, N, K, T>& f, unsigned int stride,
                                         layout_t layout) {
  detail::Sums<M, N, K, T>::store(p, f.x, stride, layout);
}
template <class Use, int M, int N, int K, class T, class Layout, class V>
__device__ inline void fill_fragment(fragment<Use, M, N, K, T, Layout>& f, const V& v) {
  for (auto& x : f.x) x = static_cast<typename fragment<Use, M, N, K, T, Layout>::element_type>(v);
}
template <int M, int N, int K, class T, class LayoutA, class LayoutB, class D, class C>
__device__ inline void mma_sync(fragment<accumulator, M, N, K, D>& d, const fragment<matrix_a, M, N, K, T, LayoutA>& a,
                                const fragment<matrix_b, M, N, K, T, LayoutB>& b,
                                const fragment<accumulator, M, N, K, C>& c) {
  detail::Product<M, N, K, T, D, C>::template run<2 * detail::Column<LayoutA>::value + detail::Column<LayoutB>::value,
                                                  0>(d.x, a.x, b.x, c.x);
}
// With satf sums of integers stay within theirs.
template <int M, int N, int K, class T, class LayoutA, class LayoutB>
__device__ inline void mma_sync(fragment<accumulator, M, N, K, int>& d,
                                const fragment<matrix_a, M, N, K, T, LayoutA>& a,
                                const fragment<matrix_b, M, N, K, T, LayoutB>& b,
                                const fragment<accumulator, M, N, K, int>& c, bool satf) {
  constexpr int layout = 2 * detail::Column<LayoutA>::value + detail::Column<LayoutB>::value;
  if (satf)
    detail::Product<M, N, K, T, int, int>::template run<layout, 1>(d.x, a.x, b.x, c.x);
  else
    detail::Product<M, N, K, T, int, int>::template run<layout, 0>(d.x, a.x, b.x, c.x);
}
__device__ inline void bmma_sync(fragment<accumulator, 8, 8, 128, int>& d,
                                 const fragment<matrix_a, 8, 8, 128, experimental::precision::b1, row_major>& a,
                                 const fragment<matrix_b, 8, 8, 128, experimental::precision::b1, col_major>& b,
                                 const fragment<accumulator, 8, 8, 128, int>& c,
                                 experimental::bmmaBitOp op = experimental::bmmaBitOpXOR,
                                 experimental::bmmaAccumulateOp = experimental::bmmaAccumulateOpPOPC) {
  if (op == experimental::bmmaBitOpXOR)
    __bmma_m8n8k128_mma_xor_popc_b1(d.x, a.x, b.x, c.x, 1);
  else
    __bmma_m8n8k128_mma_and_popc_b1(d.x, a.x, b.x, c.x, 1);
}

// The nearest number of 10 fraction bits, ties away from zero.
__device__ inline float __float_to_tf32(float v) {
  unsigned int bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(v));
  return __builtin_bit_cast(float, bits);
}

namespace experimental {
using wmma::bmma_sync;
using wmma::col_major;
using wmma::fragment;
using wmma::row_major;
}  // namespace experimental

}  // namespace wmma
}  // namespace nvcuda
#endif
#include "coalesce_cuda/plain_names_back.h"
