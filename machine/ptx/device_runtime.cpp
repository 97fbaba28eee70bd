#include "machine/ptx/device_runtime.h"

#include <algorithm>
#include <string_view>

#include "machine/ptx/parser.h"

namespace coalesce::ptx {
namespace {

// The grid's barrier is the word at offset 4 of the workspace, as for CUDA's cooperative groups. Its highest bit
// changes once all blocks have arrived: block 0 adds what the ones of all others leave to 2^31.
constexpr std::string_view kDeviceRuntime = R"(.version 8.0
.target sm_80
.address_size 64

.weak .func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope)
{
	.reg .pred %p<2>;
	.reg .b32 %r<4>;
	.reg .b64 %rd<3>;
	ld.param.u32 %r1, [scope];
	mov.u32 %r2, %envreg1;
	mov.u32 %r3, %envreg2;
	mov.b64 %rd1, {%r3, %r2};
	setp.eq.s32 %p1, %r1, 1;
	selp.b64 %rd2, %rd1, 0, %p1;
	st.param.b64 [handle], %rd2;
	ret;
}

.weak .func (.param .b32 error) cudaCGSynchronize(.param .b64 handle, .param .b32 flags)
{
	.reg .pred %p<6>;
	.reg .b32 %r<32>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [handle];
	setp.eq.s64 %p1, %rd1, 0;
	@%p1 bra $L_invalid;
	bar.sync 0;
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, %tid.y;
	mov.u32 %r3, %tid.z;
	or.b32 %r4, %r1, %r2;
	or.b32 %r5, %r4, %r3;
	setp.ne.s32 %p2, %r5, 0;
	@%p2 bra $L_passed;
	mov.u32 %r6, %nctaid.x;
	mov.u32 %r7, %nctaid.y;
	mov.u32 %r8, %nctaid.z;
	mul.lo.s32 %r9, %r6, %r7;
	mul.lo.s32 %r10, %r9, %r8;
	sub.s32 %r11, 0x80000001, %r10;
	mov.u32 %r12, %ctaid.x;
	mov.u32 %r13, %ctaid.y;
	mov.u32 %r14, %ctaid.z;
	or.b32 %r15, %r12, %r13;
	or.b32 %r16, %r15, %r14;
	setp.eq.s32 %p3, %r16, 0;
	selp.b32 %r17, %r11, 1, %p3;
	membar.gl;
	atom.global.add.u32 %r18, [%rd1+4], %r17;
$L_poll:
	ld.volatile.global.u32 %r19, [%rd1+4];
	xor.b32 %r20, %r19, %r18;
	setp.gt.s32 %p4, %r20, -1;
	@%p4 bra $L_poll;
	membar.gl;
$L_passed:
	bar.sync 0;
	st.param.b32 [error], 0;
	ret;
$L_invalid:
	st.param.b32 [error], 1;
	ret;
}
)";

bool is_ours(const Function& f) { return f.name == "cudaCGGetIntrinsicHandle" || f.name == "cudaCGSynchronize"; }

}  // namespace

void add_device_runtime(std::vector<Module>& modules) {
  bool declared = false, defined = false;
  for (const Module& m : modules)
    for (const Function& f : m.functions)
      if (is_ours(f)) (f.is_declaration ? declared : defined) = true;
  if (declared && !defined) modules.push_back(parse(std::string(kDeviceRuntime), "device runtime"));
}

}  // namespace coalesce::ptx
