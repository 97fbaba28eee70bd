#include "cudart/check/order.h"

#include <algorithm>
#include <string>

namespace coalesce::cudart {
namespace {

bool is_legacy_stream(StreamKey stream) { return reinterpret_cast<uintptr_t>(stream) <= 1; }

// 0 and 1 are one stream; 2 is another for each thread.
StreamKey one_name(StreamKey stream) {
  static thread_local char of_this_thread;
  if (is_legacy_stream(stream)) return nullptr;
  return reinterpret_cast<uintptr_t>(stream) == 2 ? reinterpret_cast<StreamKey>(&of_this_thread) : stream;
}

}  // namespace

bool WorkClock::covers(const WorkClock& other) const {
  return std::all_of(other.ends_.begin(), other.ends_.end(),
                     [&](const auto& end) { return covers(Moment{end.first, end.second}); });
}

void WorkClock::join(const WorkClock& other) {
  for (const auto& [line, number] : other.ends_) join(Moment{line, number});
}

void WorkClock::join(const Moment& m) {
  uint64_t& end = ends_[m.line];
  end = std::max(end, m.number);
}

Order::Stream& Order::find(StreamKey stream, bool blocking) {
  std::shared_ptr<Stream>& entry = named_[one_name(stream)];
  if (entry == nullptr) {
    entry = std::make_shared<Stream>();
    entry->line = ++lines_;
    entry->blocking = blocking;
    streams_.push_back(entry);
  }
  return *entry;
}

// The legacy stream waits for all blocking ones, and they for it.
Order::Stream& Order::arrive(StreamKey stream, bool blocking) {
  Stream& s = find(stream, blocking);
  s.seen.join(host_);
  if (is_legacy_stream(stream)) {
    for (const auto& other : streams_)
      if (other->blocking) s.seen.join(other->seen);
  } else if (blocking) {
    if (const auto legacy = named_.find(nullptr); legacy != named_.end()) s.seen.join(legacy->second->seen);
  }
  return s;
}

Moment Order::begin(StreamKey stream, bool blocking, WorkClock& before, bool kernel) {
  Stream& s = arrive(stream, blocking);
  const Moment now{s.line, ++s.number};
  s.kernel = kernel;
  if (kernel) s.early = s.seen;
  s.seen.join(now);
  if (kernel) s.left = s.seen;
  before = s.seen;
  return now;
}

// Only a kernel behind a kernel overlaps it: with anything between the two, it begins when all before it has ended.
Moment Order::begin_early(StreamKey stream, bool blocking, WorkClock& before) {
  Stream& s = arrive(stream, blocking);
  s.left.join(host_);
  before = s.kernel && s.left.covers(s.seen) ? s.early : s.seen;
  before.join(host_);
  const Moment now{++lines_, 1};
  before.join(now);
  s.seen.join(now);
  return now;
}

void Order::record(EventKey event, StreamKey stream, bool blocking) {
  Stream& s = arrive(stream, blocking);
  s.kernel = false;
  events_[event] = s.seen;
}

void Order::wait(StreamKey stream, bool blocking, EventKey event) {
  const auto at = events_.find(event);
  if (at == events_.end()) return;
  Stream& s = arrive(stream, blocking);
  s.kernel = false;
  s.seen.join(at->second);
}

void Order::host_waits(StreamKey stream, bool blocking) { host_.join(arrive(stream, blocking).seen); }

void Order::host_waits_for_event(EventKey event) {
  if (const auto at = events_.find(event); at != events_.end()) host_.join(at->second);
}

void Order::host_waits_for(const Moment& m, const WorkClock& before) {
  host_.join(before);
  host_.join(m);
}

void Order::host_waits_for_all() {
  for (const auto& s : streams_) host_.join(s->seen);
}

bool Order::settle() {
  const auto waited = [&](const auto& s) { return host_.covers(s->seen); };
  if (!graphs_.empty() || !std::all_of(streams_.begin(), streams_.end(), waited)) return false;
  streams_.clear();
  named_.clear();
  events_.clear();
  host_ = {};
  lines_ = 0;
  return true;
}

void Order::begin_graph(StreamKey stream, bool blocking) {
  arrive(stream, blocking);
  graphs_.push_back({named_[one_name(stream)], false, {}});
}

Moment Order::node(const void* node, const std::vector<const void*>& needs, WorkClock& before) {
  Graph& g = graphs_.back();
  before = {};
  NodeEnd* only = nullptr;
  if (needs.empty()) before = g.stream->seen;
  for (const void* need : needs) {
    NodeEnd& end = g.nodes[need];
    before.join(end.seen);
    only = needs.size() == 1 ? &end : nullptr;
  }
  // A chain of nodes is one line: the stream's own, for the first.
  Moment now;
  if (needs.empty() && !g.continued) {
    now = {g.stream->line, ++g.stream->number};
    g.continued = true;
  } else if (only != nullptr && only->moment.number != 0 && !only->continued) {
    now = {only->moment.line, only->moment.number + 1};
    if (now.line == g.stream->line) g.stream->number = now.number;
    only->continued = true;
  } else {
    now = {++lines_, 1};
  }
  before.join(now);
  g.nodes[node] = {now, before, false};
  return now;
}

void Order::end_graph() {
  Graph& g = graphs_.back();
  for (const auto& [node, end] : g.nodes) g.stream->seen.join(end.seen);
  graphs_.pop_back();
}

void Order::created(StreamKey stream) {
  named_.erase(stream);  // of an older one at the same place
  numbers_[stream] = ++created_;
}

std::string Order::name(StreamKey stream) {
  if (is_legacy_stream(stream)) return "the default stream";
  const auto at = numbers_.find(stream);
  return at != numbers_.end() ? "stream " + std::to_string(at->second) : "the thread's default stream";
}

}  // namespace coalesce::cudart
