// A launch: its blocks, one after the other, and its report.
#include <algorithm>
#include <deque>
#include <optional>

#include "machine/execute/calls.h"
#include "machine/plain/run.h"

namespace coalesce::machine::plain {

namespace {

constexpr uint32_t kIdleTurns = 64;    // turns in vain, after which the next block begins beside a block that polls
constexpr std::size_t kResident = 64;  // such blocks at a time

SourcePlace source_of(const ptx::Module& m, const ptx::Location& l) {
  SourcePlace s{{}, l.line, l.column};
  for (const auto& [index, path] : m.files)
    if (index == l.file) s.file = path;
  return s;
}

// Runs all blocks. A fault is left in `stopped`, with the block in which it was.
void run_all(Grid& g, std::optional<Diagnostic>& stopped, std::vector<Diagnostic>& warnings) {
  std::deque<std::unique_ptr<Block>> live;
  const uint32_t each = volume(g.launch->cluster);  // blocks that begin together
  const bool together = g.launch->cooperative || each > 1;
  uint64_t next = 0, done = 0;
  while (next < g.blocks || !live.empty()) {
    // The next block: when none is under way, or those that are poll in vain; in a cooperative launch all at once.
    const bool more =
        next < g.blocks && (live.empty() || g.launch->cooperative || (each == 1 && live.size() < kResident));
    if (more && each == 1) live.push_back(std::make_unique<Block>(g, next++));
    if (more && each > 1) {
      const auto cluster = std::make_shared<Cluster>(each, g.threads);
      for (uint32_t rank = 0; rank < each; ++rank) {
        live.push_back(std::make_unique<Block>(g, next++));
        live.back()->join(cluster, rank);
      }
    }
    const auto turn = [&](Block& b) {
      try {
        Block::Status status;
        do {
          status = b.advance();
          b.idle = status == Block::Status::idle ? b.idle + 1 : 0;
        } while (status != Block::Status::done && !together && b.idle < kIdleTurns);
        return status;
      } catch (const Stop& stop) {
        stopped = diagnostic(*b.current, b.current->now, stop.lanes);
        stopped->fault = stop.fault;
        stopped->message = stop.message;
        stopped->notes.insert(stopped->notes.begin(), stop.notes.begin(), stop.notes.end());
        return Block::Status::done;
      }
    };
    // One that has just begun alone has its turn alone.
    const std::size_t from = more && each == 1 ? live.size() - 1 : 0;
    for (std::size_t k = from; k < live.size();) {
      if (turn(*live[k]) != Block::Status::done) {
        ++k;
        continue;
      }
      if (stopped) return;
      warnings.insert(warnings.end(), live[k]->warnings.begin(), live[k]->warnings.end());
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(k));
      if (g.launch->progress && ++done % 64 == 0) g.launch->progress(done);
    }
  }
}

}  // namespace

Diagnostic diagnostic(const Warp& w, const Split& at, uint32_t lanes) {
  const Grid& g = *w.grid;
  Diagnostic d;
  d.kernel = g.launch->kernel->name;
  d.block = w.block->coordinates;
  d.warp = w.index;
  d.lanes = lanes;
  if (lanes) {
    const uint32_t t = w.index * kLanes + first_lane(lanes);
    const auto& n = g.launch->block;
    d.thread = {t % n[0], t / n[0] % n[1], t / n[0] / n[1]};
  }
  if (!at.frame || at.at >= at.frame->code->ops.size()) return d;
  const ptx::Instruction& in = *at.frame->code->ops[at.at].written;
  d.ptx_line = in.line;
  if (in.location < 0) return d;
  const auto& locations = at.frame->code->function->locations;
  const ptx::Location* l = &locations[static_cast<std::size_t>(in.location)];
  if (l->line == 0) return d;
  d.place = source_of(*g.launch->module, *l);
  for (int hops = 0; l->inlined_at >= 0 && hops < 64; ++hops) {
    l = &locations[static_cast<std::size_t>(l->inlined_at)];
    d.inlined_at.push_back(source_of(*g.launch->module, *l));
  }
  return d;
}

const Allocation* Grid::find(uint64_t address, uint64_t bytes) {
  const auto holds = [&](const Allocation* a) {
    return a && address >= a->base && bytes <= a->size && address - a->base <= a->size - bytes;
  };
  if (holds(last_found)) return last_found;
  last_found = launch->memory->find(address);
  return holds(last_found) ? last_found : nullptr;
}

Counters& counters_of(const Warp& w, const Op& op) {
  uint32_t& first = w.grid->first_lines[op.line];
  if (first == 0 || op.line_first < first) first = op.line_first;
  return w.grid->counters[op.line];
}

Result run(const Launch& launch, const Observer* observer) {
  Grid g;
  g.launch = &launch;
  g.observer = observer;
  g.bodies = decode(launch);
  if (g.bodies.allocates) launch.heap->prepare();
  g.blocks = uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  g.threads = launch.block[0] * launch.block[1] * launch.block[2];
  g.shared_bytes = g.bodies.static_shared_bytes + launch.dynamic_shared_bytes;
  g.counters.resize(g.bodies.line_places.size());
  g.first_lines.resize(g.bodies.line_places.size());
  Result result;
  std::optional<Diagnostic> stopped;
  run_all(g, stopped, result.diagnostics);
  // One warning for each place.
  std::vector<Diagnostic> warnings;
  warnings.swap(result.diagnostics);
  for (Diagnostic& d : warnings)
    if (std::none_of(result.diagnostics.begin(), result.diagnostics.end(),
                     [&](const Diagnostic& o) { return o.ptx_line == d.ptx_line; }))
      result.diagnostics.push_back(std::move(d));
  if (stopped) {
    result.fault = stopped->fault;
    result.diagnostics.insert(result.diagnostics.begin(), std::move(*stopped));
  }
  for (std::size_t k = 0; k < g.counters.size(); ++k) {
    if (g.first_lines[k] == 0) continue;
    result.counters += g.counters[k];
    result.lines.push_back({g.bodies.line_places[k], g.first_lines[k], g.counters[k]});
  }
  std::sort(result.lines.begin(), result.lines.end(), [](const LineCounters& a, const LineCounters& b) {
    return std::tuple(a.place.file, a.place.line, a.place.line ? 0 : a.ptx_line) <
           std::tuple(b.place.file, b.place.line, b.place.line ? 0 : b.ptx_line);
  });
  result.counters.compulsory_bytes = 32 * g.touched.sectors();
  result.output = std::move(g.output);
  result.spins = g.spins;
  return result;
}

}  // namespace coalesce::machine::plain
