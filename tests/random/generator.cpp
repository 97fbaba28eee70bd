// A kernel as a whole: declarations, what registers hold at first, what is stored in the end.
#include <iterator>

#include "tests/random/generator_class.h"

namespace coalesce::machine::test {

namespace {
std::string varying_first(int i) { return "%v" + std::to_string(i); }
}  // namespace

GeneratedKernel Generator::make() {
  GeneratedKernel k;
  constexpr std::array<uint32_t, 3> shapes[] = {{32, 1, 1}, {64, 1, 1},  {96, 1, 1}, {33, 1, 1}, {50, 1, 1},
                                                {1, 1, 1},  {127, 1, 1}, {16, 2, 1}, {8, 8, 1},  {32, 2, 1},
                                                {64, 2, 1}, {10, 5, 1},  {7, 3, 2},  {4, 4, 4},  {32, 1, 2}};
  k.block = shapes[below(std::size(shapes))];
  if (wide_ && chance(4)) k.block = chance(2) ? std::array{32u, 4u, 1u} : std::array{128u, 1u, 1u};
  if (sums_ != Sums::none && k.block[0] * k.block[1] * k.block[2] > 32) k.block = {32, 1, 1};
  k.grid = {1 + below(3), chance(4) ? 2u : 1u, 1};
  if (sums_ != Sums::none) k.grid = {1, 1, 1};
  const uint32_t threads = k.block[0] * k.block[1] * k.block[2];
  exits_ = threads % 32 != 0 || chance(2);  // else: shuffles, whose lanes must all be there
  whole_ = threads % 32 == 0;
  flat_ = k.block[1] == 1 && k.block[2] == 1;
  rows_ = flat_ || k.block[0] == 32;
  faulty_ = wide_ && chance(16);
  function();
  prologue(threads, threads * k.grid[0] * k.grid[1]);
  const std::size_t body = text_.size();
  const uint32_t parts = small_ ? 1 : 3 + below(5);
  for (uint32_t i = 0; i < parts; ++i) {
    const uint32_t kind = small_ ? turn(5) : wide_ && chance(8) ? 4 : 3;
    if (kind == 0)
      indexed();
    else if (kind == 1)
      any_width();
    else if (kind == 2 && turn(4) == 0)
      any_atomic();
    else if (kind == 4)
      decisions();
    else
      statement(true, 0);
  }
  if (small_) {
    digest(body);
    drop_unused(body);
  } else {
    epilogue();
  }
  k.ptx = std::string(".version 8.8\n.target sm_90\n.address_size 64\n") +
          ".const .align 4 .u32 K[16] = {1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 7, 6, 5, 4, 4294967295};\n" +
          function_ +
          ".visible .entry k(.param .u64 out, .param .u64 in, .param .u64 acc, .param .u32 n, .param .u32 m" +
          (wide_ ? ", .param .align " + std::to_string(kBagAlignment) + " .b8 bag[" + std::to_string(kBagBytes) + "]"
                 : "") +
          ")\n{\n"
          ".reg .pred %p<16>;\n.reg .b32 %u<8>;\n.reg .b32 %v<12>;\n.reg .b32 %t<16>;\n.reg .b32 %c<" +
          std::to_string(counters_ + 1) +
          ">;\n.reg .b64 %w<6>;\n.reg .b64 %rd<24>;\n.reg .b32 %f<6>;\n.reg .b32 %me;\n.reg .b32 %all;\n"
          ".reg .b32 %lk;\n.reg .b64 %la;\n.reg .pred %lp;\n.reg .b16 %h<6>;\n.reg .b128 %q<3>;\n.shared .align 16 "
          ".b32 X[64];\n"
          ".shared .align 16 .b32 A[128];\n.shared .align 16 .b32 B[512];\n.shared .align 4 .b32 S[32];\n.local "
          ".align 16 .b32 L[8];\n" +
          ".reg .b32 %i<" + std::to_string(own_words_ + 1) + ">;\n.reg .b64 %j<" + std::to_string(own_wides_ + 1) +
          ">;\n.reg .pred %o<" + std::to_string(own_predicates_ + 1) + ">;\n" +
          (columns_ ? ".shared .align 4 .b32 T[1504];\n.reg .b32 %k<11>;\n" : "") +
          (rows_read_ ? ".reg .b32 %y<7>;\n.reg .b64 %y9, %y10, %y11, %y12;\n" : "") + text_ + "}\n";
  return k;
}

void Generator::prologue(uint32_t threads, uint32_t total) {
  planes_ = 4 * total;
  line("ld.param.u64 %rd0, [out]");
  line("ld.param.u64 %rd1, [in]");
  line("ld.param.u64 %rd2, [acc]");
  line("ld.param.u32 %u0, [n]");
  line("ld.param.u32 %u1, [m]");
  line("mov.u32 %u2, %ctaid.x");
  line("mov.u32 %u3, %ntid.x");
  line("mov.u32 %u4, %nctaid.x");
  line("mov.u32 %u5, 5");
  line("add.u32 %u6, %u0, %u1");
  line("mov.u32 %u7, %ctaid.y");
  line("mov.u32 %me, %tid.x");
  if (!flat_) {
    line("mov.u32 %t0, %tid.y");
    line("mov.u32 %t1, %tid.z");
    line("mov.u32 %t2, %ntid.y");
    line("mad.lo.u32 %t0, %t1, %t2, %t0");
    line("mad.lo.u32 %me, %t0, %u3, %me");
  }
  line("mad.lo.u32 %t3, %u7, %u4, %u2");
  line("mad.lo.u32 %all, %t3, " + std::to_string(threads) + ", %me");
  line("mul.wide.u32 %rd3, %all, 4");
  line("add.s64 %rd3, %rd3, %rd0");
  line("mul.wide.u32 %rd4, %all, 32");
  line("add.s64 %rd4, %rd4, %rd0");
  line("add.s64 %rd4, %rd4, " + std::to_string(32 * total));
  for (int i = 0; i < 8; i += 4)
    line("st.local.v4.u32 [L+" + std::to_string(4 * i) + "], {1, 2, 3, " + std::to_string(i) + "}");
  line("mov.u32 %c0, B");
  counters_ = 2;
  static const char* const specials[] = {"%tid.x", "%tid.y", "%tid.z", "%laneid", "%warpid", "%ntid.y", "%ctaid.x"};
  for (int i = 0; i < 12; ++i)
    line("mov.u32 %v" + std::to_string(i) + ", " +
         (chance(2)   ? one(specials)
          : chance(2) ? number()
          : chance(2) ? "%all"
                      : uniform()));
  for (int i = 0; i < 16; ++i) line("mov.u32 %t" + std::to_string(i) + ", " + std::to_string(i));
  for (int i = 0; i < 6; ++i)
    line("cvt.u64.u32 %w" + std::to_string(i) + ", " + (chance(2) ? varying_first(i) : "%me"));
  for (int i = 0; i < 6; ++i) line("cvt.rn.f32.s32 %f" + std::to_string(i) + ", " + varying_first(i));
  if (wide_) {
    for (int i = 0; i < 6; ++i) line("cvt.u16.u32 %h" + std::to_string(i) + ", " + varying_first(i));
    for (int i = 0; i < 3; ++i)
      line("mov.b128 %q" + std::to_string(i) + ", {%w" + std::to_string(i) + ", %w" + std::to_string(i + 3) + "}");
  }
  for (int i = 0; i < 16; ++i)
    line("setp.lt.u32 %p" + std::to_string(i) + ", " +
         (chance(3)   ? uniform()
          : chance(2) ? "%me"
                      : varying()) +
         ", " + std::to_string(below(64)));
}

void Generator::epilogue() {
  if (wide_) {  // every register has a part in what is stored
    for (int i = 0; i < 6; ++i) {
      line("cvt.u32.u16 %t0, %h" + std::to_string(i));
      line("mad.lo.u32 %v4, %v4, 31, %t0");
      line("xor.b64 %w0, %w0, %w" + std::to_string(i));
      line("mov.b32 %t1, %f" + std::to_string(i));
      line("mad.lo.u32 %v5, %v5, 31, %t1");
    }
    for (int i = 0; i < 3; ++i) {
      line("mov.b128 {%rd20, %rd21}, %q" + std::to_string(i));
      line("add.u64 %w1, %w1, %rd20");
      line("xor.b64 %w1, %w1, %rd21");
    }
    for (int i = 0; i < 16; ++i) {
      line("selp.b32 %t0, " + std::to_string(1 << i) + ", 0, %p" + std::to_string(i));
      line("add.u32 %v6, %v6, %t0");
    }
  }
  line("xor.b32 %v0, %v0, %v1");
  line("xor.b32 %v0, %v0, %v2");
  for (int k = 0; k < 8; ++k)
    line("st.global.u32 [%rd3+" + std::to_string(planes_ * static_cast<uint32_t>(k)) + "], %v" +
         std::to_string(k == 0 ? 0 : k + 3));
  line("st.global.v2.u32 [%rd4], {%v3, %v11}");
  line("st.global.u64 [%rd4+8], %w0");
  line("st.global.u64 [%rd4+16], %w1");
  line("st.global.v2.f32 [%rd4+24], {%f0, %f1}");
  line("ret");
}

void Generator::function() {
  const std::string saved = std::move(text_);
  text_.clear();
  line("ld.param.u32 %r1, [a]");
  line("ld.param.u32 %r2, [b]");
  line("xor.b32 %r3, %r1, %r2");
  line("st.param.b32 [r+0], %r3");
  line("and.b32 %r4, %r1, " + std::to_string(1 + below(15)));
  line("setp.lt.u32 %q1, %r4, " + std::to_string(below(8)));
  if (chance(2))
    line("@%q1 ret");
  else {
    line("@%q1 bra $F1");
    line("add.u32 %r3, %r3, 7");
    put("$F1");
  }
  if (chance(2)) {
    line("and.b32 %r5, %r2, 3");
    put("$F2");
    line("mad.lo.u32 %r3, %r3, 5, %r5");
    line("add.s32 %r5, %r5, -1");
    line("setp.gt.s32 %q2, %r5, 0");
    line("@%q2 bra $F2");
  }
  line("st.param.b32 [r+0], %r3");
  line("ret");
  function_ = ".func (.param .b32 r) helper(.param .b32 a, .param .b32 b)\n{\n.reg .pred %q<4>;\n.reg .b32 %r<8>;\n" +
              text_ + "}\n";
  text_ = saved;
}

GeneratedKernel generate_kernel(uint64_t seed, Breadth breadth, Sums sums) {
  return Generator(seed, breadth, sums).make();
}

}  // namespace coalesce::machine::test
