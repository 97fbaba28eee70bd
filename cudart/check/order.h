// The order of the work that a program gives to its streams: a vector clock for each stream, for the
// host and for each event, by CUDA's rules. Work that nobody has waited for may run at any time until somebody does.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace coalesce::cudart {

using StreamKey = const void*;  // a cudaStream_t
using EventKey = const void*;   // a cudaEvent_t

// A sequence of work: a stream's, or that of a branch of a graph.
using Line = uint32_t;

struct Moment {
  Line line = 0;
  uint64_t number = 0;  // from 1 within its line
};

// The work that has surely ended: of each line, all up to a number.
class WorkClock {
 public:
  bool covers(const Moment& m) const {
    const auto at = ends_.find(m.line);
    return at != ends_.end() && at->second >= m.number;
  }
  bool covers(const WorkClock& other) const;
  void join(const WorkClock& other);
  void join(const Moment& m);
  bool empty() const { return ends_.empty(); }

 private:
  std::map<Line, uint64_t> ends_;
};

// All threads of the host count as one: their own order is not known. A stream of the program's that has been
// destroyed goes on as a line without a name.
class Order {
 public:
  // Work given to `stream`: what comes before it (itself included), and its moment.
  Moment begin(StreamKey stream, bool blocking, WorkClock& before, bool kernel = false);
  // The same of a kernel's first part, which may run beside the kernel before it; begin() for the rest comes next.
  Moment begin_early(StreamKey stream, bool blocking, WorkClock& before);
  // cudaEventRecord, cudaStreamWaitEvent, in a stream.
  void record(EventKey event, StreamKey stream, bool blocking);
  void wait(StreamKey stream, bool blocking, EventKey event);
  void forget_stream(StreamKey stream) { named_.erase(stream); }
  void forget_event(EventKey event) { events_.erase(event); }

  // The host waits, for a stream, for an event, for all.
  void host_waits(StreamKey stream, bool blocking);
  void host_waits_for_event(EventKey event);
  void host_waits_for(const Moment& m, const WorkClock& before);
  void host_waits_for_all();
  const WorkClock& host() const { return host_; }
  // True: the host has waited for everything. Then all begins anew.
  bool settle();

  // A graph launched into a stream: `node` is one node's work, after that of `needs` (none: after the stream's work so
  // far). end_graph: the stream goes on after all of them.
  void begin_graph(StreamKey stream, bool blocking);
  Moment node(const void* node, const std::vector<const void*>& needs, WorkClock& before);
  void end_graph();

  // "stream 2" in the order of creation, "the default stream".
  std::string name(StreamKey stream);
  void created(StreamKey stream);

 private:
  struct Stream {
    Line line = 0;
    uint64_t number = 0;
    bool blocking = true;
    WorkClock seen;  // its last work, and what that came after
    // If its last work is a kernel: what came before that, and with it.
    bool kernel = false;
    WorkClock early, left;
  };
  Stream& find(StreamKey stream, bool blocking);
  // The stream, ready for its next work.
  Stream& arrive(StreamKey stream, bool blocking);

  std::vector<std::shared_ptr<Stream>> streams_;
  std::unordered_map<StreamKey, std::shared_ptr<Stream>> named_;
  std::unordered_map<StreamKey, uint32_t> numbers_;
  std::unordered_map<EventKey, WorkClock> events_;
  WorkClock host_;
  Line lines_ = 0;
  uint32_t created_ = 0;

  struct NodeEnd {
    Moment moment;
    WorkClock seen;
    bool continued = false;  // another node has gone on in its line
  };
  struct Graph {
    std::shared_ptr<Stream> stream;
    bool continued = false;
    std::unordered_map<const void*, NodeEnd> nodes;
  };
  std::vector<Graph> graphs_;  // the innermost last
};

}  // namespace coalesce::cudart
