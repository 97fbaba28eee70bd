#include "native/run/kernel.h"

#include <exception>
#include <stdexcept>

#include "machine/execute/memory_ops.h"
#include "native/run/runner.h"

namespace coalesce::native {

using namespace machine;

Kernel::Kernel(const Code& of, const Object& object) : code(of), loaded(load_elf(object.code)) {
  auto next = object.words.begin();
  const auto take = [&] {
    if (next == object.words.end()) throw std::runtime_error("cut off");
    return *next++;
  };
  if (take() != code.program->regions.size()) throw std::runtime_error("of another kernel");
  for (std::size_t r = 0; r < code.program->regions.size(); ++r) {
    RegionWords plan;
    plan.native = take();
    plan.exits = take();
    for (uint32_t n = take(); n > 0; --n) {
      const uint32_t block = take();
      plan.position[block] = take();
    }
    regions.push_back(std::move(plan));
  }
  for (uint32_t n = take(); n > 0; --n) {
    const uint32_t index = take();
    const PureOp& op = *code.program->code.at(index & 0x7fffffffu).pure;
    Step s;
    s.run = index >> 31 ? op.scalar : op.full;
    s.extra = op.extra;
    for (uint32_t k = 0; k < 4; ++k) s.src[k] = static_cast<Slot>(kOperand * k) | kWarp;
    for (uint32_t k = 0; k < 2; ++k) s.dst[k] = static_cast<Slot>(kOperand * (kResults + k)) | kWarp;
    pure.push_back(s);
  }
  std::map<uint32_t, Step> by_instruction;
  const auto remember = [&](const Step& s) {
    const void* extra = s.extra;
    for (const auto& a : code.accesses)
      if (a.get() == extra) by_instruction.emplace(a->instruction, s);
    for (const auto& o : code.lane_ops)
      if (o.get() == extra) by_instruction.emplace(o->index, s);
  };
  for (const Step& s : code.steps) {
    if (!s.extra) continue;
    remember(s);
    for (const auto& g : code.guards)
      if (g.get() == s.extra) remember(g->inner);
  }
  for (uint32_t n = take(); n > 0; --n) {
    const uint32_t index = take();
    steps.push_back(by_instruction.at(index));
    const Instruction& i = code.program->code[index];
    const bool caches = i.memory != kNone && i.kind != Kind::atomic &&
                        (code.program->memory[i.memory].space == AddressSpace::global ||
                         code.program->memory[i.memory].space == AddressSpace::constant);
    window.push_back(caches ? i.memory : kNone);
  }
  for (uint32_t n = take(); n > 0; --n) remembered.push_back(take());
  memos = take();
  any_nan.assign(code.program->registers.size(), false);
  while (next != object.words.end()) any_nan.at(take()) = true;
}

std::unique_ptr<NativeRunner> Kernel::runner(BlockRun& owner) const {
  return std::make_unique<Runner>(shared_from_this(), owner);
}

std::shared_ptr<const NativeKernel> load(const Code& code, const Object& object) {
  if (object.code.empty()) return nullptr;
  try {
    return std::make_shared<Kernel>(code, object);
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace coalesce::native
