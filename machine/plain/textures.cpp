// tex, tld4, suld, sust: by the sampler of execute/, which is held to measurements of its own (execute/filter.h). It
// takes operands from a warp of the interpreter; here is one with nothing but these operands.
#include "machine/execute/textures.h"

#include <cstring>

#include "machine/execute/warp.h"
#include "machine/plain/run.h"
#include "machine/program/texture_op.h"

namespace coalesce::machine::plain {

void run_texture(plain::Warp& w, Frame& f, const Op& op, uint32_t on) {
  constexpr uint32_t kSlotBytes = 8 * kLanes;
  const TextureOp whole = TextureOp::of(op.extra);
  const bool is_surface = static_cast<TextureAction>(whole.action) >= TextureAction::load;
  const unsigned width = is_surface ? std::max(2u, static_cast<unsigned>(whole.width)) : 4;
  Decoded nothing;
  machine::Launch launch;
  launch.program = &nothing;
  launch.memory = w.grid->launch->memory;
  launch.textures = w.grid->launch->textures;
  KeptArea kept;
  Worker worker(launch, kept);
  machine::Warp sampler;
  sampler.worker = &worker;
  sampler.active = on;
  std::vector<uint64_t> slots((op.in.size() + 3) * kLanes);
  sampler.base[kLaunch] = reinterpret_cast<std::byte*>(slots.data());
  machine::Instruction instruction;
  instruction.text = op.text;
  LaneOp lanes;
  lanes.instruction = &instruction;
  lanes.index = 0;
  // Sources: the TextureOp, the handle, coordinates of 4 bytes, values that are stored.
  lanes.sources.push_back(0);
  const std::size_t first_value = 1 + coordinates(static_cast<Geometry>(whole.geometry));
  for (std::size_t k = 0; k < op.in.size(); ++k) {
    const unsigned bytes = k == 0 ? 8 : k < first_value ? 4 : width;
    lanes.sources.push_back(static_cast<Slot>((k + 1) * kSlotBytes));
    for (uint32_t l = 0; l < kLanes; ++l) {
      const uint64_t v = value(w, op.in[k], l);
      std::memcpy(sampler.base[kLaunch] + (k + 1) * kSlotBytes + std::size_t{l} * bytes, &v, bytes);
    }
  }
  // Two results at a time.
  Lanes results[4]{};
  for (uint32_t first = 0; first == 0 || first < op.out.size(); first += 2) {
    TextureOp part = whole;
    part.first = first & 3;
    const uint32_t bits = part.bits();
    std::memcpy(sampler.base[kLaunch], &bits, sizeof bits);
    const auto result_slot = static_cast<Slot>((op.in.size() + 1) * kSlotBytes);
    for (uint32_t k = 0; k < 2; ++k)
      lanes.results[k] = first + k < op.out.size() ? result_slot + k * kSlotBytes : kNoSlot;
    Step s;
    s.extra = &lanes;
    try {
      texture_access(s, sampler);
    } catch (const KernelFault& fault) {
      throw Stop{fault.fault, fault.message, fault.lanes, fault.notes};
    }
    for (uint32_t k = 0; k < 2 && first + k < op.out.size(); ++k)
      for (uint32_t l = 0; l < kLanes; ++l)
        std::memcpy(&results[first + k][l],
                    sampler.base[kLaunch] + result_slot + k * kSlotBytes + std::size_t{l} * width, width);
  }
  for (uint32_t k = 0; k < op.out.size(); ++k)
    for (uint32_t l = 0; l < kLanes; ++l)
      if (on >> l & 1) put(f, op.out[k], l, results[k][l], width);
}

}  // namespace coalesce::machine::plain
