// Barriers of the block and the warp, memory fences, clocks. __syncthreads itself is a builtin of clang.
#pragma once

#include "qualifiers.h"

static __device__ COALESCE_INLINE int __syncthreads_count(int predicate) { return __nvvm_bar0_popc(predicate); }
static __device__ COALESCE_INLINE int __syncthreads_and(int predicate) { return __nvvm_bar0_and(predicate); }
static __device__ COALESCE_INLINE int __syncthreads_or(int predicate) { return __nvvm_bar0_or(predicate); }
static __device__ COALESCE_INLINE void __syncwarp(unsigned int mask = 0xffffffffu) { __nvvm_bar_warp_sync(mask); }

static __device__ COALESCE_INLINE void __threadfence_block() { __nvvm_membar_cta(); }
static __device__ COALESCE_INLINE void __threadfence() { __nvvm_membar_gl(); }
static __device__ COALESCE_INLINE void __threadfence_system() { __nvvm_membar_sys(); }

static __device__ COALESCE_INLINE int clock() { return __nvvm_read_ptx_sreg_clock(); }
static __device__ COALESCE_INLINE long long clock64() { return __nvvm_read_ptx_sreg_clock64(); }
static __device__ COALESCE_INLINE unsigned long long __globaltimer() { return __nvvm_read_ptx_sreg_globaltimer(); }
static __device__ COALESCE_INLINE void __nanosleep(unsigned int nanoseconds) {
  asm volatile("nanosleep.u32 %0;" ::"r"(nanoseconds));
}
static __device__ COALESCE_INLINE void __trap() { asm volatile("trap;"); }
static __device__ COALESCE_INLINE void __brkpt() { asm volatile("brkpt;"); }
static __device__ COALESCE_INLINE void __prof_trigger(int) {}

// A launch that may begin while the one before it runs.
static __device__ COALESCE_INLINE void cudaGridDependencySynchronize() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
static __device__ COALESCE_INLINE void cudaTriggerProgrammaticLaunchCompletion() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// Address spaces of generic pointers.
#define COALESCE_IS(name, space)                                                                   \
  static __device__ COALESCE_INLINE unsigned int __is##name(const void* p) {                       \
    unsigned int yes;                                                                              \
    asm("{ .reg .pred p; isspacep." space " p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(yes) : "l"(p)); \
    return yes;                                                                                    \
  }
COALESCE_IS(Global, "global")
COALESCE_IS(Shared, "shared")
COALESCE_IS(Constant, "const")
COALESCE_IS(Local, "local")
#undef COALESCE_IS
#define COALESCE_TO(space)                                                              \
  static __device__ COALESCE_INLINE size_t __cvta_generic_to_##space(const void* p) {   \
    size_t address;                                                                     \
    asm("cvta.to." #space ".u64 %0, %1;" : "=l"(address) : "l"(p));                     \
    return address;                                                                     \
  }                                                                                     \
  static __device__ COALESCE_INLINE void* __cvta_##space##_to_generic(size_t address) { \
    void* p;                                                                            \
    asm("cvta." #space ".u64 %0, %1;" : "=l"(p) : "l"(address));                        \
    return p;                                                                           \
  }
COALESCE_TO(global)
COALESCE_TO(shared)
COALESCE_TO(local)
#undef COALESCE_TO
