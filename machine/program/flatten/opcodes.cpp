#include "machine/program/flatten/opcodes.h"

#include <map>

namespace coalesce::machine::flattening {

namespace {

constexpr uint8_t kAny = 255;

// The function that flattens an opcode. `operands`: how many it has in all its forms; kAny: the function says.
struct OpcodeRow {
  void (*flatten)(Builder&);
  uint8_t operands = kAny;
};

// Opcodes without a row compute. Never destroyed, as a destructor may launch a kernel.
const std::map<std::string_view, OpcodeRow>& opcode_table() {
  static const auto* table =
      new std::map<std::string_view, OpcodeRow>{{"mov", {move}},
                                                // Memory
                                                {"ld", {load}},
                                                {"ldu", {load}},
                                                {"st", {store}},
                                                {"atom", {atomic}},
                                                {"red", {reduction}},
                                                {"cvta", {address_conversion}},
                                                {"isspacep", {is_space}},
                                                {"tex", {texture}},
                                                {"tld4", {texture}},
                                                {"suld", {surface}},
                                                {"sust", {surface}},
                                                {"alloca", {allocate_stack}},
                                                {"stacksave", {save_stack}},
                                                {"stackrestore", {restore_stack}},
                                                // Control
                                                {"bra", {branch}},
                                                {"brx", {branch_table}},
                                                {"call", {[](Builder& b) { b.calls.call(); }}},
                                                {"ret", {[](Builder& b) { b.calls.leave(false); }, 0}},
                                                {"exit", {[](Builder& b) { b.calls.leave(true); }, 0}},
                                                {"trap", {trap, 0}},
                                                {"bar", {barrier}},
                                                {"barrier", {barrier}},
                                                // The lanes of a warp
                                                {"shfl", {shuffle}},
                                                {"vote", {vote}},
                                                {"activemask", {vote, 1}},
                                                {"match", {match}},
                                                {"redux", {reduce_lanes}},
                                                {"elect", {elect}},
                                                {"mma", {warp_matrix}},
                                                {"wmma", {warp_matrix}},
                                                {"wgmma", {group_matrix}},
                                                {"ldmatrix", {move_matrix}},
                                                {"stmatrix", {move_matrix}},
                                                {"movmatrix", {move_matrix}},
                                                // Clusters, asynchronous copies
                                                {"mapa", {map_address}},
                                                {"getctarank", {cluster_rank_of}},
                                                {"cp", {async_copy}},
                                                {"tensormap", {tensor_map}},
                                                {"mbarrier", {mbarrier}},
                                                // Fences and hints: counted only
                                                {"membar", {fence, 0}},
                                                {"fence", {fence}},
                                                {"griddepcontrol", {grid_control, 0}},
                                                {"prefetch", {nothing, 1}},
                                                {"prefetchu", {nothing, 1}},
                                                {"nanosleep", {nothing, 1}},
                                                {"discard", {nothing, 2}},
                                                {"applypriority", {nothing, 2}},
                                                {"brkpt", {nothing, 0}},
                                                {"pmevent", {nothing, 1}},
                                                {"setmaxnreg", {nothing, 1}}};
  return *table;
}

}  // namespace

void flatten_instruction(Builder& b, const ptx::Instruction& in) {
  const Mnemonic m(in.mnemonic);
  b.in = &in;
  b.m = &m;
  const auto row = opcode_table().find(m.opcode);
  if (row == opcode_table().end()) return compute(b);
  if (row->second.operands != kAny && in.operands.size() != row->second.operands) return b.wrong_number();
  row->second.flatten(b);
}

}  // namespace coalesce::machine::flattening
