// Bulk copies, the mbarrier objects that hear of them, and products of warp groups.
#pragma once

#include "cases.h"

__device__ inline uint at(const void* p) { return static_cast<uint>(__cvta_generic_to_shared(p)); }
__device__ inline void init(void* object, uint count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" : : "r"(at(object)), "r"(count) : "memory");
}
__device__ inline void expect(void* object, uint bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" : : "r"(at(object)), "r"(bytes) : "memory");
}
__device__ inline void wait(void* object, uint phase) {
  asm volatile("{\n.reg .pred p;\nAGAIN:\nmbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@!p bra AGAIN;\n}"
               :
               : "r"(at(object)), "r"(phase)
               : "memory");
}
// As macros, so that the line that uses one is the access's.
#define BRING(to, from, bytes, object)                                                                   \
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" \
               :                                                                                         \
               : "r"(at(to)), "l"(from), "r"(bytes), "r"(at(object))                                     \
               : "memory")
#define TAKE(to, from, bytes)                                                \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" \
               :                                                             \
               : "l"(to), "r"(at(from)), "r"(bytes)                          \
               : "memory")
__device__ inline void commit() { asm volatile("cp.async.bulk.commit_group;" : : : "memory"); }
template <int N>
__device__ inline void wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" : : "n"(N) : "memory");
}
template <int N>
__device__ inline void wait_group() {
  asm volatile("cp.async.bulk.wait_group %0;" : : "n"(N) : "memory");
}
// One thread takes a tile to global memory and waits until it is there.
#define TAKE_WHOLE(to, from, bytes) \
  if (threadIdx.x == 0) {           \
    TAKE(to, from, bytes);          \
    commit();                       \
    wait_group<0>();                \
  }
// The fence makes stores of threads visible to bulk copies and products.
__device__ inline void publish() { asm volatile("fence.proxy.async;" : : : "memory"); }

// Products of a warp group: 64 x 16 halves by 16 x 8. Tiles of 8 rows and 16 bytes lie one behind the other.
__device__ inline unsigned long long described(const void* tiles) {
  return (at(tiles) >> 4 & 0x3fff) | 8ull << 16 | 16ull << 32;
}
#define MULTIPLY(d, left, right)                                                                     \
  asm volatile(                                                                                      \
      "wgmma.fence.sync.aligned;\n"                                                                  \
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;\n" \
      "wgmma.commit_group.sync.aligned;"                                                             \
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                               \
      : "l"(described(left)), "l"(described(right))                                                  \
      : "memory")
template <int N>
__device__ inline void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(N) : "memory");
}
