// The instructions whose cost is measured (patterns_probe.cu) and held against the machine (tests/machine/observe):
// kind, name, bytes a lane, PTX. In it %0 is a 32-bit result, %1 the address, %2 a 32-bit value of the lane's own; for
// ASYNC_FROM, ASYNC_TO and ASYNC_BOTH, %0 and %1 are the addresses in shared and in global memory. The kinds say where
// the address lies and which lanes take part: MATRIX takes all lanes and rows of 16 bytes; of ASYNC_FROM the source has
// the pattern, of ASYNC_TO the destination, the other side is lane x bytes; of ASYNC_BOTH each side has one.
#pragma once

#define R32(text) ".reg .b32 r;" text " mov.b32 %0, r;"
#define R64(text) ".reg .b64 r, v; cvt.u64.u32 v, %2;" text " cvt.u32.u64 %0, r;"
#define R128(text)                                                                    \
  ".reg .b64 lo, hi, v; .reg .b128 r, q; cvt.u64.u32 v, %2; mov.b128 q, {v, v};" text \
  " mov.b128 {lo, hi}, r; "                                                           \
  "cvt.u32.u64 %0, lo;"
#define NONE(text) text " mov.b32 %0, 0;"
#define NONE64(text) ".reg .b64 v; cvt.u64.u32 v, %2;" text " mov.b32 %0, 0;"

// clang-format off
#define INSTRUCTIONS(X) \
  X(GLOBAL, gatom_add_u32, 4, R32("atom.global.add.u32 r, [%1], %2;")) \
  X(GLOBAL, gatom_min_s32, 4, R32("atom.global.min.s32 r, [%1], %2;")) \
  X(GLOBAL, gatom_and_b32, 4, R32("atom.global.and.b32 r, [%1], %2;")) \
  X(GLOBAL, gatom_inc_u32, 4, R32("atom.global.inc.u32 r, [%1], %2;")) \
  X(GLOBAL, gatom_exch_b32, 4, R32("atom.global.exch.b32 r, [%1], %2;")) \
  X(GLOBAL, gatom_cas_b32, 4, R32("atom.global.cas.b32 r, [%1], 0, %2;")) \
  X(GLOBAL, gatom_add_f32, 4, ".reg .f32 r; atom.global.add.f32 r, [%1], 0f3F800000; mov.b32 %0, r;") \
  X(GLOBAL, gatom_add_f16x2, 4, R32("atom.global.add.noftz.f16x2 r, [%1], %2;")) \
  X(GLOBAL, gatom_add_u64, 8, R64("atom.global.add.u64 r, [%1], v;")) \
  X(GLOBAL, gatom_max_s64, 8, R64("atom.global.max.s64 r, [%1], v;")) \
  X(GLOBAL, gatom_or_b64, 8, R64("atom.global.or.b64 r, [%1], v;")) \
  X(GLOBAL, gatom_exch_b64, 8, R64("atom.global.exch.b64 r, [%1], v;")) \
  X(GLOBAL, gatom_cas_b64, 8, R64("atom.global.cas.b64 r, [%1], 0, v;")) \
  X(GLOBAL, gatom_add_f64, 8, ".reg .f64 d; .reg .b64 r; atom.global.add.f64 d, [%1], 0d3FF0000000000000; mov.b64 r, d; cvt.u32.u64 %0, r;") \
  X(GLOBAL, gatom_v2_f32, 8, ".reg .f32 r, s, v; cvt.rn.f32.u32 v, %2; atom.global.v2.f32.add {r, s}, [%1], {v, v}; mov.b32 %0, r;") \
  X(GLOBAL, gatom_v4_f32, 16, ".reg .f32 r, s, t, u, v; cvt.rn.f32.u32 v, %2; atom.global.v4.f32.add {r, s, t, u}, [%1], {v, v, v, v}; mov.b32 %0, r;") \
  X(GLOBAL, gatom_exch_b128, 16, R128("atom.global.exch.b128 r, [%1], q;")) \
  X(GLOBAL, gatom_cas_b128, 16, R128("atom.global.cas.b128 r, [%1], q, q;")) \
  X(GLOBAL, gred_add_u32, 4, NONE("red.global.add.u32 [%1], %2;")) \
  X(GLOBAL, gred_one_u32, 4, NONE("red.global.add.u32 [%1], 1;")) \
  X(GLOBAL, gred_min_s32, 4, NONE("red.global.min.s32 [%1], %2;")) \
  X(GLOBAL, gred_or_b32, 4, NONE("red.global.or.b32 [%1], %2;")) \
  X(GLOBAL, gred_add_f32, 4, NONE("red.global.add.f32 [%1], 0f3F800000;")) \
  X(GLOBAL, gred_add_f16x2, 4, NONE("red.global.add.noftz.f16x2 [%1], %2;")) \
  X(GLOBAL, gred_add_u64, 8, NONE64("red.global.add.u64 [%1], v;")) \
  X(GLOBAL, gred_max_s64, 8, NONE64("red.global.max.s64 [%1], v;")) \
  X(GLOBAL, gred_add_f64, 8, NONE("red.global.add.f64 [%1], 0d3FF0000000000000;")) \
  X(GLOBAL, gred_v2_f32, 8, NONE("red.global.add.v2.f32 [%1], {0f3F800000, 0f3F800000};")) \
  X(GLOBAL, gred_v4_f32, 16, NONE("red.global.add.v4.f32 [%1], {0f3F800000, 0f3F800000, 0f3F800000, 0f3F800000};")) \
  X(GLOBAL, gnc_u8, 1, R32("ld.global.nc.u8 r, [%1];")) \
  X(GLOBAL, gnc_u16, 2, ".reg .b16 h; ld.global.nc.u16 h, [%1]; cvt.u32.u16 %0, h;") \
  X(GLOBAL, gnc_u32, 4, R32("ld.global.nc.u32 r, [%1];")) \
  X(GLOBAL, gnc_u64, 8, ".reg .b64 r; .reg .b32 a, b; ld.global.nc.u64 r, [%1]; mov.b64 {a, b}, r; xor.b32 %0, a, b;") \
  X(GLOBAL, gnc_v2_u32, 8, ".reg .b32 r, s; ld.global.nc.v2.u32 {r, s}, [%1]; xor.b32 %0, r, s;") \
  X(GLOBAL, gnc_v4_u32, 16, ".reg .b32 r<4>; ld.global.nc.v4.u32 {r0, r1, r2, r3}, [%1]; xor.b32 r0, r0, r1; xor.b32 r2, r2, r3; xor.b32 %0, r0, r2;") \
  X(GLOBAL, gld_v2_u8, 2, ".reg .b16 r, s; ld.global.v2.u8 {r, s}, [%1]; xor.b16 r, r, s; cvt.u32.u16 %0, r;") \
  X(GLOBAL, gld_v4_u8, 4, ".reg .b16 r<4>; ld.global.v4.u8 {r0, r1, r2, r3}, [%1]; xor.b16 r0, r0, r1; xor.b16 r2, r2, r3; xor.b16 r0, r0, r2; cvt.u32.u16 %0, r0;") \
  X(GLOBAL, gld_v4_u16, 8, ".reg .b16 r<4>; ld.global.v4.u16 {r0, r1, r2, r3}, [%1]; xor.b16 r0, r0, r1; xor.b16 r2, r2, r3; xor.b16 r0, r0, r2; cvt.u32.u16 %0, r0;") \
  X(GLOBAL, gld_v2_u64, 16, ".reg .b64 r, s; .reg .b32 a, b; ld.global.v2.u64 {r, s}, [%1]; xor.b64 r, r, s; mov.b64 {a, b}, r; xor.b32 %0, a, b;") \
  X(GLOBAL, gst_v4_u8, 4, ".reg .b16 h; cvt.u16.u32 h, %2; st.global.v4.u8 [%1], {h, h, h, h}; mov.b32 %0, 0;") \
  X(GLOBAL, gst_v2_u64, 16, NONE64("st.global.v2.u64 [%1], {v, v};")) \
  X(SHARED, satom_add_u32, 4, R32("atom.shared.add.u32 r, [%1], %2;")) \
  X(SHARED, satom_one_u32, 4, R32("atom.shared.add.u32 r, [%1], 1;")) \
  X(SHARED, satom_min_s32, 4, R32("atom.shared.min.s32 r, [%1], %2;")) \
  X(SHARED, satom_and_b32, 4, R32("atom.shared.and.b32 r, [%1], %2;")) \
  X(SHARED, satom_inc_u32, 4, R32("atom.shared.inc.u32 r, [%1], %2;")) \
  X(SHARED, satom_exch_b32, 4, R32("atom.shared.exch.b32 r, [%1], %2;")) \
  X(SHARED, satom_cas_b32, 4, R32("atom.shared.cas.b32 r, [%1], 0, %2;")) \
  X(SHARED, satom_exch_b64, 8, R64("atom.shared.exch.b64 r, [%1], v;")) \
  X(SHARED, satom_cas_b64, 8, R64("atom.shared.cas.b64 r, [%1], 0, v;")) \
  X(SHARED, sred_add_u32, 4, NONE("red.shared.add.u32 [%1], %2;")) \
  X(SHARED, sred_one_u32, 4, NONE("red.shared.add.u32 [%1], 1;")) \
  X(SHARED, sred_five_u32, 4, NONE("red.shared.add.u32 [%1], 5;")) \
  X(SHARED, sred_minus_u32, 4, NONE("red.shared.add.u32 [%1], -1;")) \
  X(SHARED, sred_max_s32, 4, NONE("red.shared.max.s32 [%1], %2;")) \
  X(SHARED, sred_or_b32, 4, NONE("red.shared.or.b32 [%1], 1;")) \
  X(SHARED, sred_inc_u32, 4, NONE("red.shared.inc.u32 [%1], -1;")) \
  X(SHARED, sld_v2_u32, 8, ".reg .b32 r, s; ld.shared.v2.u32 {r, s}, [%1]; xor.b32 %0, r, s;") \
  X(SHARED, sst_v2_u32, 8, NONE("st.shared.v2.u32 [%1], {%2, %2};")) \
  X(SHARED, sst_v4_u32, 16, NONE("st.shared.v4.u32 [%1], {%2, %2, %2, %2};")) \
  X(MATRIX, ldmatrix_x1, 16, R32("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r}, [%1];")) \
  X(MATRIX, ldmatrix_x2, 16, ".reg .b32 r, s; ldmatrix.sync.aligned.m8n8.x2.shared.b16 {r, s}, [%1]; xor.b32 %0, r, s;") \
  X(MATRIX, ldmatrix_x4, 16, ".reg .b32 r<4>; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {r0, r1, r2, r3}, [%1]; xor.b32 r0, r0, r1; xor.b32 r2, r2, r3; xor.b32 %0, r0, r2;") \
  X(MATRIX, ldmatrix_x4_trans, 16, ".reg .b32 r<4>; ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {r0, r1, r2, r3}, [%1]; xor.b32 r0, r0, r1; xor.b32 r2, r2, r3; xor.b32 %0, r0, r2;") \
  X(MATRIX, stmatrix_x1, 16, NONE("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%1], {%2};")) \
  X(MATRIX, stmatrix_x2, 16, NONE("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%1], {%2, %2};")) \
  X(MATRIX, stmatrix_x4, 16, NONE("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%1], {%2, %2, %2, %2};")) \
  X(LOCAL, lst_u8, 1, NONE("st.local.u8 [%1], %2;")) \
  X(LOCAL, lst_u16, 2, ".reg .b16 h; cvt.u16.u32 h, %2; st.local.u16 [%1], h; mov.b32 %0, 0;") \
  X(LOCAL, lst_u32, 4, NONE("st.local.u32 [%1], %2;")) \
  X(LOCAL, lst_u64, 8, NONE64("st.local.u64 [%1], v;")) \
  X(LOCAL, lst_v2_u32, 8, NONE("st.local.v2.u32 [%1], {%2, %2};")) \
  X(LOCAL, lst_v4_u32, 16, NONE("st.local.v4.u32 [%1], {%2, %2, %2, %2};")) \
  X(LOCAL, lld_u8, 1, R32("ld.local.u8 r, [%1];")) \
  X(LOCAL, lld_u32, 4, R32("ld.local.u32 r, [%1];")) \
  X(LOCAL, lld_u64, 8, ".reg .b64 r; .reg .b32 a, b; ld.local.u64 r, [%1]; mov.b64 {a, b}, r; xor.b32 %0, a, b;") \
  X(LOCAL, lld_v4_u32, 16, ".reg .b32 r<4>; ld.local.v4.u32 {r0, r1, r2, r3}, [%1]; xor.b32 r0, r0, r1; xor.b32 r2, r2, r3; xor.b32 %0, r0, r2;") \
  X(ASYNC_FROM, cfrom_ca_4, 4, "cp.async.ca.shared.global [%0], [%1], 4;") \
  X(ASYNC_FROM, cfrom_ca_8, 8, "cp.async.ca.shared.global [%0], [%1], 8;") \
  X(ASYNC_FROM, cfrom_ca_16, 16, "cp.async.ca.shared.global [%0], [%1], 16;") \
  X(ASYNC_FROM, cfrom_cg_16, 16, "cp.async.cg.shared.global [%0], [%1], 16;") \
  X(ASYNC_TO, cto_ca_4, 4, "cp.async.ca.shared.global [%0], [%1], 4;") \
  X(ASYNC_TO, cto_ca_8, 8, "cp.async.ca.shared.global [%0], [%1], 8;") \
  X(ASYNC_TO, cto_ca_16, 16, "cp.async.ca.shared.global [%0], [%1], 16;") \
  X(ASYNC_TO, cto_cg_16, 16, "cp.async.cg.shared.global [%0], [%1], 16;") \
  X(ASYNC_BOTH, cboth_ca_4, 4, "cp.async.ca.shared.global [%0], [%1], 4;") \
  X(ASYNC_BOTH, cboth_ca_8, 8, "cp.async.ca.shared.global [%0], [%1], 8;") \
  X(ASYNC_BOTH, cboth_ca_16, 16, "cp.async.ca.shared.global [%0], [%1], 16;") \
  X(ASYNC_BOTH, cboth_cg_16, 16, "cp.async.cg.shared.global [%0], [%1], 16;")
// clang-format on
