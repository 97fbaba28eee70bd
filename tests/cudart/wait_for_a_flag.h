// A kernel that waits for another's store, as tests of launches that run beside the host need it.
#pragma once

namespace coalesce::cudart {

// wait(u32* flag, u32* to): to[0] = the flag, as soon as it is not 0.
inline constexpr char kWaitForAFlag[] = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry wait(.param .u64 f, .param .u64 t) {
	.reg .pred %p<2>;
	.reg .b32 %r<2>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [f];
	ld.param.u64 %rd2, [t];
AGAIN:
	ld.volatile.global.u32 %r1, [%rd1];
	setp.eq.u32 %p1, %r1, 0;
	@%p1 bra AGAIN;
	st.global.u32 [%rd2], %r1;
	ret;
}
)";

}  // namespace coalesce::cudart
