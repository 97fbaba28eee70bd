// One-warp kernels for what the counters of atomics and cp.async do, to be run under Nsight Compute:
//   nvcc -arch=sm_90 -o probe atomics_probe.cu && ncu --clock-control none --csv --metrics ... ./probe
// The kernel's name says the operation; its argument the distance of neighbouring lanes in elements.
#include <cstdint>
#include <cstdio>

#define GLOBAL(name, type, text, ...)                        \
  __global__ void name(char* p, int stride, uint32_t* out) { \
    char* a = p + threadIdx.x * stride;                      \
    asm volatile(text ::"l"(a), __VA_ARGS__ : "memory");     \
  }
#define SHARED(name, text, ...)                                                \
  __global__ void name(char* p, int stride, uint32_t* out) {                   \
    extern __shared__ __align__(16) char s[];                                  \
    unsigned a = (unsigned)__cvta_generic_to_shared(s) + threadIdx.x * stride; \
    asm volatile(text ::"r"(a), __VA_ARGS__ : "memory");                       \
  }

GLOBAL(g_atom_add_u32_unused, u32, "{.reg .u32 r; atom.global.add.u32 r, [%0], %1;}", "r"(1))
GLOBAL(g_atom_add_u32_sink, u32, "atom.global.add.u32 _, [%0], %1;", "r"(1))
GLOBAL(g_red_add_u32, u32, "red.global.add.u32 [%0], %1;", "r"(1))
GLOBAL(g_atom_exch_b32_unused, u32, "{.reg .b32 r; atom.global.exch.b32 r, [%0], %1;}", "r"(1))
GLOBAL(g_atom_cas_b32_unused, u32, "{.reg .b32 r; atom.global.cas.b32 r, [%0], 0, %1;}", "r"(1))
GLOBAL(g_atom_add_f32_unused, f32, "{.reg .f32 r; atom.global.add.f32 r, [%0], %1;}", "f"(1.f))
GLOBAL(g_atom_add_f64_unused, f64, "{.reg .f64 r; atom.global.add.f64 r, [%0], %1;}", "d"(1.0))
GLOBAL(g_red_add_u64, u64, "red.global.add.u64 [%0], %1;", "l"(1ull))
GLOBAL(g_red_add_f16x2, u32, "red.global.add.noftz.f16x2 [%0], %1;", "r"(0x3c003c00))
GLOBAL(g_red_add_f16, u16, "red.global.add.noftz.f16 [%0], %1;", "h"((short)0x3c00))
GLOBAL(g_atom_cas_b16, u16, "{.reg .b16 r; atom.global.cas.b16 r, [%0], 0, %1;}", "h"((short)1))
GLOBAL(g_red_v2_f32, v2, "red.global.add.v2.f32 [%0], {%1, %1};", "f"(1.f))
GLOBAL(g_red_v4_f32, v4, "red.global.add.v4.f32 [%0], {%1, %1, %1, %1};", "f"(1.f))
GLOBAL(g_red_v4_f16x2, v4, "red.global.add.noftz.v4.f16x2 [%0], {%1, %1, %1, %1};", "r"(0x3c003c00))
GLOBAL(g_atom_exch_b128, v4, "{.reg .b128 r, q; mov.b128 q, {%1, %1}; atom.global.exch.b128 r, [%0], q;}", "l"(1ull))
SHARED(s_atom_add_u32_unused, "{.reg .u32 r; atom.shared.add.u32 r, [%0], %1;}", "r"(1))
SHARED(s_atom_add_u32_one, "atom.shared.add.u32 _, [%0], %1;", "r"(1))
SHARED(s_red_add_u64, "red.shared.add.u64 [%0], %1;", "l"(1ull))
SHARED(s_atom_exch_b64, "{.reg .b64 r; atom.shared.exch.b64 r, [%0], %1;}", "l"(1ull))
SHARED(s_atom_cas_b64, "{.reg .b64 r; atom.shared.cas.b64 r, [%0], 0, %1;}", "l"(1ull))
SHARED(s_atom_cas_b32, "{.reg .b32 r; atom.shared.cas.b32 r, [%0], 0, %1;}", "r"(1))
SHARED(s_red_add_f32, "red.shared.add.f32 [%0], %1;", "f"(1.f))
SHARED(s_atom_cas_b16, "{.reg .b16 r; atom.shared.cas.b16 r, [%0], 0, %1;}", "h"((short)1))
SHARED(s_atom_min_u64, "{.reg .b64 r; atom.shared.min.u64 r, [%0], %1;}", "l"(1ull))

#define ASYNC(name, bytes, kind)                                                                          \
  __global__ void name(char* p, int stride, uint32_t* out) {                                              \
    extern __shared__ __align__(16) char s[];                                                             \
    unsigned a = (unsigned)__cvta_generic_to_shared(s) + threadIdx.x * stride;                            \
    asm volatile("cp.async." kind ".shared.global [%0], [%1], " #bytes ";\n cp.async.wait_all;" ::"r"(a), \
                 "l"(p + threadIdx.x * stride)                                                            \
                 : "memory");                                                                             \
    out[threadIdx.x] = s[threadIdx.x];                                                                    \
  }
ASYNC(c_async_ca_4, 4, "ca")
ASYNC(c_async_ca_8, 8, "ca")
ASYNC(c_async_ca_16, 16, "ca")
ASYNC(c_async_cg_16, 16, "cg")

int main() {
  char* p;
  uint32_t* out;
  if (cudaMalloc(&p, 1 << 20) || cudaMalloc(&out, 4096)) return 1;
  cudaMemset(p, 0, 1 << 20);
#define RUN(name, ...) \
  for (int stride : {__VA_ARGS__}) name<<<1, 32, 16384>>>(p, stride, out);
  // clang-format off
  RUN(g_atom_add_u32_unused, 0, 4)
  RUN(g_atom_add_u32_sink, 0, 4)
  RUN(g_red_add_u32, 0, 4)
  RUN(g_atom_exch_b32_unused, 0, 4)
  RUN(g_atom_cas_b32_unused, 0, 4)
  RUN(g_atom_add_f32_unused, 0, 4)
  RUN(g_atom_add_f64_unused, 0, 8)
  RUN(g_red_add_u64, 0, 8)
  RUN(g_red_add_f16x2, 0, 4)
  RUN(g_red_add_f16, 0, 2, 4)
  RUN(g_atom_cas_b16, 0, 2, 4)
  RUN(g_red_v2_f32, 0, 8, 16)
  RUN(g_red_v4_f32, 0, 16, 32)
  RUN(g_red_v4_f16x2, 0, 16)
  RUN(g_atom_exch_b128, 0, 16)
  RUN(s_atom_add_u32_unused, 0, 4, 8)
  RUN(s_atom_add_u32_one, 0, 4)
  RUN(s_red_add_u64, 0, 8, 16)
  RUN(s_atom_exch_b64, 0, 8, 16, 128)
  RUN(s_atom_cas_b64, 0, 8, 16, 128)
  RUN(s_atom_cas_b32, 0, 4, 8)
  RUN(s_red_add_f32, 0, 4)
  RUN(s_atom_cas_b16, 0, 2, 4)
  RUN(s_atom_min_u64, 0, 8)
  RUN(c_async_ca_4, 4, 8)
  RUN(c_async_ca_8, 8, 16)
  RUN(c_async_ca_16, 16, 32)
  RUN(c_async_cg_16, 16, 32)
  // clang-format on
  cudaError_t e = cudaDeviceSynchronize();
  printf("%s\n", cudaGetErrorString(e));
  return e != cudaSuccess;
}
