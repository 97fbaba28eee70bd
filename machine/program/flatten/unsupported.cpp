// Instructions of which the machine has only the name. Reaching one ends the launch, with what is missing in its
// message.
#include "machine/program/flatten/builder.h"

namespace coalesce::machine::flattening {

namespace {

struct Family {
  std::string_view prefix, what;
};
constexpr Family kUnsupported[] = {{"mma.", "tensor-core matrices"},
                                   {"wgmma.", "matrix products of warp groups"},
                                   {"tcgen05.", "tensor cores of compute capability 10.0"},
                                   {"cp.async.bulk", "this form of bulk copies"},
                                   {"cp.reduce.async.bulk", "this form of bulk copies"},
                                   {"tensormap.", "this form of changing tensor maps"},
                                   {"st.async", "this form of asynchronous stores"},
                                   {"red.async", "this form of asynchronous stores"},
                                   {"st.bulk", "bulk stores"},
                                   {"multimem.", "multicast memory"},
                                   {"clusterlaunchcontrol.", "cluster launches of compute capability 10.0"},
                                   {"tex.", "textures"},
                                   {"tld4.", "textures"},
                                   {"txq.", "textures"},
                                   {"istypep.", "textures"},
                                   {"suld.", "surfaces"},
                                   {"sust.", "surfaces"},
                                   {"sured.", "surfaces"},
                                   {"suq.", "surfaces"},
                                   {"alloca", "alloca"},
                                   {"stacksave", "alloca"},
                                   {"stackrestore", "alloca"}};

}  // namespace

std::string_view unsupported(std::string_view mnemonic) {
  for (const Family& f : kUnsupported)
    if (mnemonic.starts_with(f.prefix)) return f.what;
  return {};
}

}  // namespace coalesce::machine::flattening
