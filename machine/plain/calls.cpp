// Calls: frames, arguments and results, and where lanes that called together go on.
#include <algorithm>

#include "machine/plain/run.h"

namespace coalesce::machine::plain {

namespace {

constexpr uint32_t kDeepest = 4096;  // calls
constexpr uint32_t kLargestStack = 64u << 20;

}  // namespace

Frame* Warp::enter(const Code& code, Frame* caller, uint32_t returns_to) {
  std::unique_ptr<Frame> f;
  for (auto& s : spare)
    if (s && s->code == &code) {
      f = std::move(s);
      std::swap(s, spare.back());
      spare.pop_back();
      break;
    }
  if (!f) f = std::make_unique<Frame>();
  f->code = &code;
  f->cells.assign(code.cell_bytes / 8, 0);
  f->caller = caller;
  f->returns_to = returns_to;
  f->local_base = caller ? caller->local_base + caller->code->local_bytes : 0;
  f->param_base = caller ? caller->param_base + caller->code->param_bytes : 0;
  f->depth = caller ? caller->depth + 1 : 0;
  if (f->depth > kDeepest || f->local_base > kLargestStack || f->param_base > kLargestStack)
    throw Stop{Fault::stack_overflow, "calls nested " + std::to_string(f->depth) + " deep", now.lanes, {}};
  local.parts[0].grow(f->local_base + code.local_bytes);
  local.parts[1].grow(f->param_base + code.param_bytes);
  for (const Code::OwnAddress& a : code.own_addresses) {
    const uint64_t address =
        static_cast<uint64_t>(a.offset) + (a.is_param ? LaneMemory::kParams + f->param_base : f->local_base);
    std::fill_n(f->cells.begin() + a.cells / 8, kLanes, address);
  }
  frames.push_back(std::move(f));
  return frames.back().get();
}

void Warp::drop(Frame* frame) {
  for (auto f = frames.rbegin(); f != frames.rend(); ++f)
    if (f->get() == frame) {
      spare.push_back(std::move(*f));
      std::swap(*f, frames.back());
      frames.pop_back();
      return;
    }
}

// Bytes of a variable of one frame to a variable of another, of some lanes.
static void copy_variable(Warp& w, const Frame& from, const std::string& a, const Frame& to, const std::string& b,
                          uint32_t lanes) {
  const Variable &x = from.code->params.at(a), &y = to.code->params.at(b);
  const uint64_t bytes = std::min(x.size, y.size);
  for (uint32_t l = 0; l < kLanes && bytes; ++l)
    if (lanes >> l & 1)
      std::copy_n(w.local.find(l, LaneMemory::kParams + from.param_base + x.at, bytes), bytes,
                  w.local.find(l, LaneMemory::kParams + to.param_base + y.at, bytes));
}

void Warp::call_one(const Op& op, const ptx::Function* function, uint32_t lanes, const MeetPointer& meet) {
  const auto code = grid->bodies.codes.find(function);
  if (code == grid->bodies.codes.end()) throw Stop{Fault::invalid_pc, "call to no function of the program", lanes, {}};
  Frame* const caller = now.frame;
  Frame* const f = enter(*code->second, caller, now.at);
  for (std::size_t k = 0; k < op.callee.arguments.size(); ++k)
    copy_variable(*this, *caller, op.callee.arguments[k], *f, function->params[k].name, lanes);
  auto back = std::make_shared<Meet>();
  back->frame = f;
  back->at = static_cast<uint32_t>(code->second->ops.size());
  back->returns = true;
  back->pending = 1;
  back->outer = meet;
  Split s{f, 0, lanes, back};
  ready.push_back(s);
}

void Warp::call(const Op& op) {
  running = false;
  if (op.callee.function) return call_one(op, op.callee.function, now.lanes, now.meet);
  // Through a pointer: lanes that call the same function call it together, and all meet behind the call.
  std::vector<std::pair<const ptx::Function*, uint32_t>> groups;
  uint32_t left = now.lanes;
  for (const ptx::Function* f : op.callee.candidates) {
    const uint64_t address = grid->launch->symbols->function_address(f->name);
    uint32_t lanes = 0;
    for (uint32_t l = 0; l < kLanes; ++l)
      if ((left >> l & 1) && value(*this, op.in[0], l) == address) lanes |= 1u << l;
    left &= ~lanes;
    if (lanes) groups.emplace_back(f, lanes);
  }
  if (left) throw Stop{Fault::invalid_pc, "call through a pointer to no function of the program", left, {}};
  if (groups.size() == 1) return call_one(op, groups[0].first, groups[0].second, now.meet);
  MeetPointer meet = now.meet;
  if (meet && meet->frame == now.frame && meet->at == now.at + 1) {
    meet->pending += static_cast<uint32_t>(groups.size()) - 1;
  } else {
    meet = std::make_shared<Meet>();
    meet->frame = now.frame;
    meet->at = now.at + 1;
    meet->pending = static_cast<uint32_t>(groups.size());
    meet->outer = now.meet;
  }
  const Split whole = now;
  for (auto g = groups.rbegin(); g != groups.rend(); ++g) {
    now = whole;
    call_one(op, g->first, g->second, meet);
  }
}

void Warp::finish_call(const Meet& meet, uint32_t lanes) {
  Frame* const caller = meet.frame->caller;
  const Op& op = caller->code->ops[meet.frame->returns_to];
  const auto& returns = meet.frame->code->function->returns;
  for (std::size_t k = 0; k < op.callee.results.size() && k < returns.size(); ++k)
    copy_variable(*this, *meet.frame, returns[k].name, *caller, op.callee.results[k], lanes);
}

}  // namespace coalesce::machine::plain
