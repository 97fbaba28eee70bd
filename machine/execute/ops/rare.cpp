// The handlers of instructions seldom executed in number: a lane at a time, through the row's own function (RareOp).
#include "machine/execute/ops/rows.h"

namespace coalesce::machine {
namespace {

void lanes(const Step& step, Context& context, uint32_t active) {
  const RareOp& op = *static_cast<const RareOp*>(step.extra);
  const std::byte* from[4];
  std::byte* to[2];
  // Predicates are a bit a lane; their word is read before any is written, because a result may lie where a source
  // does.
  uint32_t predicate[4], truth[4], result[2], bits[2] = {0, 0};
  for (uint32_t k = 0; k < op.sources; ++k) {
    from[k] = context.at<std::byte>(step.src[k]);
    if (op.source_bytes[k] != 0) continue;
    predicate[k] = *context.at<uint32_t>(step.src[k]);
    from[k] = reinterpret_cast<const std::byte*>(&truth[k]);
  }
  for (uint32_t k = 0; k < op.results; ++k)
    to[k] = op.result_bytes[k] ? context.at<std::byte>(step.dst[k]) : reinterpret_cast<std::byte*>(&result[k]);
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if (active >> lane & 1u) {
      for (uint32_t k = 0; k < op.sources; ++k)
        if (op.source_bytes[k] == 0) truth[k] = predicate[k] >> lane & 1u;
      op.run(from, to);
      for (uint32_t k = 0; k < op.results; ++k)
        if (op.result_bytes[k] == 0) bits[k] |= (result[k] & 1u) << lane;
    }
    for (uint32_t k = 0; k < op.sources; ++k) from[k] += op.source_bytes[k];
    for (uint32_t k = 0; k < op.results; ++k) to[k] += op.result_bytes[k];
  }
  for (uint32_t k = 0; k < op.results; ++k) {
    if (op.result_bytes[k] != 0) continue;
    uint32_t& d = *context.at<uint32_t>(step.dst[k]);
    d = (d & ~active) | bits[k];
  }
}

}  // namespace

void rare_scalar(const Step& step, Context& context) {
  const RareOp& op = *static_cast<const RareOp*>(step.extra);
  const std::byte* from[4];
  std::byte* to[2];
  for (uint32_t k = 0; k < op.sources; ++k) from[k] = context.at<std::byte>(step.src[k]);
  for (uint32_t k = 0; k < op.results; ++k) to[k] = context.at<std::byte>(step.dst[k]);
  for (uint32_t left = context.together;;) {
    op.run(from, to);
    if (--left == 0) return;
    for (uint32_t k = 0; k < op.sources; ++k) from[k] += context.stride[step.src[k] & 3u];
    for (uint32_t k = 0; k < op.results; ++k) to[k] += context.stride[step.dst[k] & 3u];
  }
}
void rare_full(const Step& step, Context& context) { lanes(step, context, ~0u); }
void rare_masked(const Step& step, Context& context) { lanes(step, context, context.active); }

}  // namespace coalesce::machine
