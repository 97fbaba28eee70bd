// A thread block: its warps take turns, and wait for each other at barriers.
#include <algorithm>
#include <cstdio>

#include "machine/plain/run.h"

namespace coalesce::machine::plain {

Block::Block(Grid& g, uint64_t n) : grid(g), number(n) {
  const Launch& launch = *g.launch;
  coordinates = block_at(launch.grid, launch.cluster, n);
  shared.resize(g.shared_bytes);
  const Code& code = *g.bodies.codes.at(launch.kernel);
  for (uint32_t first = 0; first < g.threads; first += kLanes) {
    auto w = std::make_unique<Warp>();
    w->block = this;
    w->grid = &g;
    w->index = first / kLanes;
    w->alive = g.threads - first >= kLanes ? ~0u : (1u << (g.threads - first)) - 1;
    fill_specials(*w);
    w->base[kBlock] = reinterpret_cast<std::byte*>(w->specials.data());
    w->now = {w->enter(code, nullptr, 0), 0, w->alive, nullptr};
    w->running = true;
    warps.push_back(std::move(w));
  }
  join(std::make_shared<Cluster>(1, g.threads), 0);
}

void Block::join(std::shared_ptr<Cluster> to, uint32_t as) {
  if (cluster) cluster->set(rank, nullptr);
  cluster = std::move(to);
  rank = as;
  member.shared = shared.data();
  member.shared_bytes = shared.size();
  cluster->set(rank, &member);
}

uint32_t Block::alive_lanes() const {
  uint32_t n = 0;
  for (const auto& w : warps) n += lanes_in(w->alive);
  return n;
}

Block::Status Block::advance() {
  bool ran = false, progress = false;
  const uint32_t before = alive_lanes();
  for (const auto& w : warps) {
    if (!w->alive) continue;
    current = w.get();
    switch (w->run()) {
      case Warp::End::waits:
      case Warp::End::exited:
        w->stalled = 0;
        break;
      case Warp::End::turn:
        ran = true;
        break;
    }
    if (w->interrupted()) throw Stop{Fault::budget, "interrupted", 0, {}};
    if (grid.executed > grid.launch->max_instructions)
      throw Stop{Fault::budget,
                 "the kernel has executed " + std::to_string(grid.launch->max_instructions) +
                     " warp instructions and has not ended (--max-instructions); it was in the loop here",
                 w->now.lanes,
                 {}};
  }
  // Lanes that exit count as progress: they are what a lock is handed on to.
  progress = alive_lanes() != before;
  ran = ran || progress;
  if (alive_lanes() == 0) return Status::done;
  if (release_barriers(false)) progress = ran = true;
  if (!ran && !release_barriers(true)) {
    bool any = false;
    for (const auto& w : warps) any = w->let_lanes_go(true) || any;
    if (!any) deadlock();
  }
  return !ran || progress ? Status::runs : Status::idle;
}

// A barrier is complete when all lanes of the block that are alive wait at it, or as many threads as it names. Where
// nothing else can run (`stuck`), it is enough that every warp has some lanes there, as on hardware.
bool Block::release_barriers(bool stuck) {
  bool released = false;
  for (uint32_t id = 0; id < 16; ++id) {
    struct Here {
      Warp* warp;
      Split split;
      const Op* op;
    };
    std::vector<Here> here;
    uint32_t lanes = 0, threads = arrived[id], warps_here = 0, warps_alive = 0;
    uint64_t wanted = 0;
    uint32_t votes = 0;
    const auto operand = [](Warp& w, const Split& s, std::size_t k, uint32_t lane) {
      w.base[kWarp] = reinterpret_cast<std::byte*>(s.frame->cells.data());
      w.base[kLaunch] =
          const_cast<std::byte*>(reinterpret_cast<const std::byte*>(s.frame->code->constants.data()));  // NOLINT
      return value(w, s.frame->code->ops[s.at].in[k], lane) & 0xffffffff;
    };
    for (const auto& w : warps) {
      warps_alive += w->alive != 0;
      bool some = false;
      for (const Split& s : w->at_barrier) {
        const uint32_t first = first_lane(s.lanes);
        if ((operand(*w, s, 0, first) & 15) != id) continue;
        here.push_back({w.get(), s, &s.frame->code->ops[s.at]});
        some = true;
        lanes += lanes_in(s.lanes);
        threads += kLanes;
        wanted = operand(*w, s, 1, first);
        if (here.back().op->mode >= 2)
          for (uint32_t l = 0; l < kLanes; ++l)
            if (s.lanes >> l & 1) votes += operand(*w, s, 2, l) != 0;
      }
      warps_here += some;
    }
    if (here.empty()) continue;
    const bool all = lanes == alive_lanes() || (stuck && warps_here == warps_alive);
    if (wanted == 0 ? !all : threads < wanted) continue;
    released = true;
    arrived[id] = 0;
    for (const Here& h : here) {
      if (h.op->out.empty()) continue;
      for (uint32_t l = 0; l < kLanes; ++l) {
        if (!(h.split.lanes >> l & 1)) continue;
        if (h.op->mode == 2)
          put(*h.split.frame, h.op->out[0], l, votes, 4);
        else
          put_predicate(*h.split.frame, h.op->out[0], l, h.op->mode == 3 ? votes == lanes : votes > 0);
      }
    }
    for (const auto& w : warps) {
      std::vector<Split> still, go_on;
      for (const Split& s : w->at_barrier) {
        if ((operand(*w, s, 0, first_lane(s.lanes)) & 15) != id) {
          still.push_back(s);
          continue;
        }
        // Lanes that came one after the other go on as one.
        const auto same = std::find_if(go_on.begin(), go_on.end(), [&](const Split& o) {
          return o.frame == s.frame && o.at == s.at && o.meet == s.meet;
        });
        if (same == go_on.end()) {
          go_on.push_back(s);
        } else {
          same->lanes |= s.lanes;
          if (s.meet) s.meet->pending -= 1;
        }
      }
      w->at_barrier = std::move(still);
      for (const Split& s : go_on) {
        if (w->let_go) warn_if_apart(*w, s);
        if (s.lanes == w->alive) w->let_go = false;
        w->stalled = 0;
        w->resume(s);
      }
    }
  }
  return released;
}

void Block::warn_if_apart(const Warp& w, const Split& s) {
  if (!s.frame->code->ops[s.at].together || s.lanes == w.alive) return;
  Diagnostic d = diagnostic(w, s, s.lanes);
  d.severity = Severity::warning;
  d.hazard = Hazard::divergent_barrier;
  d.message = "barrier reached by some lanes of a warp while others are elsewhere";
  d.thread = {};
  for (const Diagnostic& o : warnings)
    if (o.ptx_line == d.ptx_line) return;
  warnings.push_back(std::move(d));
}

void Block::deadlock() {
  Stop stop{Fault::deadlock, "deadlock: no thread of the block can go on; a real GPU would hang here", 0, {}};
  for (const auto& w : warps)
    for (const bool at_barrier : {false, true})
      for (const Split& s : at_barrier ? w->at_barrier : w->at_sync) {
        char text[128];
        std::snprintf(text, sizeof text, "warp %u, lanes 0x%08x wait at PTX line %u (%s)", w->index, s.lanes,
                      s.frame->code->ops[s.at].written->line,
                      at_barrier ? "a barrier of the block" : "for lanes of their warp that never come");
        if (stop.lanes == 0) {
          stop.lanes = s.lanes;
          current = w.get();
          w->now = s;
        }
        if (stop.notes.size() < 8) stop.notes.push_back(text);
      }
  throw stop;
}

}  // namespace coalesce::machine::plain
