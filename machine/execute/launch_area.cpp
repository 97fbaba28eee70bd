// The values that are equal for a launch: constants, parameters, sizes.
#include <cstring>

#include "machine/execute/launch.h"

namespace coalesce::machine {

void fill_launch_area(const Launch& launch, const Code& code, LaunchArea& area) {
  area.bytes.assign(code.launch_bytes + 128, std::byte{0});
  area.base = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(area.bytes.data()) + 63) / 64 * 64);
  const auto put = [&](Slot scalar, Slot vector, Element e, uint64_t bits, const uint32_t* each) {
    const std::size_t size = e == Element::pred                      ? 4
                             : e == Element::b16 || e == Element::b8 ? 2
                             : e == Element::b64                     ? 8
                             : e == Element::b128                    ? 16
                                                                     : 4;
    if (scalar != kNoSlot) std::memcpy(area.base + (scalar & ~3u), &bits, std::min<std::size_t>(size, 8));
    if (vector == kNoSlot || e == Element::pred) return;
    for (uint32_t l = 0; l < kLanes; ++l) {
      const uint64_t v = each ? each[l] : bits;
      std::memcpy(area.base + (vector & ~3u) + l * size, &v, std::min<std::size_t>(size, 8));
    }
  };
  for (const Constant& c : code.constants) put(c.scalar, c.vector, c.element, c.bits, nullptr);
  for (const BuiltinSlot& slot : code.builtins) {
    const Register& r = launch.program->registers[slot.reg];
    uint64_t v = 0;
    uint32_t of_lane[kLanes];
    const uint32_t* by_lane = nullptr;
    const auto per_lane = [&](auto f) {
      for (uint32_t l = 0; l < kLanes; ++l) of_lane[l] = f(l);
      by_lane = of_lane;
    };
    switch (r.builtin) {
      case Builtin::tid_x:
      case Builtin::tid_y:
      case Builtin::tid_z:
        if (r.lanes != LaneClass::constant) continue;
        break;
      case Builtin::warpid:
      case Builtin::ctaid_x:
      case Builtin::ctaid_y:
      case Builtin::ctaid_z:
      case Builtin::smid:
        continue;
      case Builtin::ntid_x:
        v = launch.block[0];
        break;
      case Builtin::ntid_y:
        v = launch.block[1];
        break;
      case Builtin::ntid_z:
        v = launch.block[2];
        break;
      case Builtin::nctaid_x:
        v = launch.grid[0];
        break;
      case Builtin::nctaid_y:
        v = launch.grid[1];
        break;
      case Builtin::nctaid_z:
        v = launch.grid[2];
        break;
      case Builtin::nwarpid:
        v = launch.device->threads_per_multiprocessor / kLanes;
        break;
      case Builtin::nsmid:
        v = launch.device->multiprocessors;
        break;
      case Builtin::dynamic_smem_size:
        v = launch.dynamic_shared_bytes;
        break;
      case Builtin::envreg1:
        v = launch.grid_workspace >> 32;
        break;
      case Builtin::envreg2:
        v = launch.grid_workspace & 0xffffffffu;
        break;
      case Builtin::current_graph_exec:
        v = launch.graph;
        break;
      case Builtin::total_smem_size:
        v = launch.shared_bytes;
        break;
      case Builtin::laneid:
        per_lane([](uint32_t l) { return l; });
        break;
      case Builtin::lanemask_eq:
        per_lane([](uint32_t l) { return 1u << l; });
        break;
      case Builtin::lanemask_lt:
        per_lane([](uint32_t l) { return (1u << l) - 1; });
        break;
      case Builtin::lanemask_le:
        per_lane([](uint32_t l) { return (2u << l) - 1; });
        break;
      case Builtin::lanemask_gt:
        per_lane([](uint32_t l) { return ~((2u << l) - 1); });
        break;
      case Builtin::lanemask_ge:
        per_lane([](uint32_t l) { return ~((1u << l) - 1); });
        break;
      case Builtin::parameter: {
        const std::vector<uint8_t>& bytes = *launch.parameters;
        if (r.parameter_size > 8) {  // 128-bit: written whole here
          u128 wide = 0;
          std::memcpy(&wide, bytes.data() + r.parameter_offset, 16);
          if (slot.scalar != kNoSlot) std::memcpy(area.base + (slot.scalar & ~3u), &wide, 16);
          if (slot.vector != kNoSlot)
            for (uint32_t l = 0; l < kLanes; ++l) std::memcpy(area.base + (slot.vector & ~3u) + 16 * l, &wide, 16);
          continue;
        }
        std::memcpy(&v, bytes.data() + r.parameter_offset, r.parameter_size);
        const unsigned unused = 64 - 8 * r.parameter_size;
        if (r.parameter_signed && unused) v = static_cast<uint64_t>(static_cast<int64_t>(v << unused) >> unused);
        break;
      }
      default:
        break;
    }
    put(slot.scalar, slot.vector, r.element, v, by_lane);
  }
}

}  // namespace coalesce::machine
