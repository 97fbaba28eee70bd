// Promises between calls: many streams at once, graphs, one workspace for many calls, the same bits every time, and
// right results after a launch that failed.
#include <coalesce/reduce.cuh>
#include <thread>

#include "reference.h"

namespace {

using coalesce::view;

struct Stream {
  cudaStream_t stream = nullptr;
  Stream() { CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(stream); }
};

// Large enough for several blocks and a fold of their results, small enough for a machine without a GPU.
constexpr i64 kCount = 60000, kRows = 3, kColumns = kCount / kRows;

struct Problem {
  std::vector<float> host;
  Array<float> in, out, rows;
  Facts<float> all;
  std::vector<Facts<float>> of_rows;

  explicit Problem(std::uint64_t seed) : Problem(make(seed)) {}
  explicit Problem(std::vector<float> numbers)
      : host(std::move(numbers)), in(host), out(1), rows(kRows), all(facts(host)) {
    for (i64 r = 0; r < kRows; ++r) {
      of_rows.push_back(facts(std::vector<float>(host.begin() + r * kColumns, host.begin() + (r + 1) * kColumns)));
    }
  }
  static std::vector<float> make(std::uint64_t seed) {
    Random random(seed);
    return values<float>(kCount, random);
  }
  void start(cudaStream_t stream, coalesce::workspace* work = nullptr) {
    CALL(coalesce::sum(in.get(), kCount, out.get(), stream, work));
    CALL(coalesce::sum(view<float>(in.get(), {kRows, kColumns}), {1}, rows.get(), stream, work));
  }
  void check(const char* how) const {
    const What what{how};
    expect_near(out.first(), all.sum, sum_bound(all), "sum", what);
    const std::vector<float> results = rows.download();
    for (i64 r = 0; r < kRows; ++r)
      expect_near(results[r], of_rows[r].sum, sum_bound(of_rows[r]), "sum of a row", what);
  }
};

void many_streams() {
  Stream streams[4];
  Problem a(1), b(2), c(3), d(4);
  Problem* problems[] = {&a, &b, &c, &d};
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 4; ++i) problems[(i + round) % 4]->start(streams[i].stream);
    CHECK(cudaDeviceSynchronize());
  }
  for (const Problem* p : problems) p->check("on one of four streams");
}

void host_threads() {
  Problem a(5), b(6);
  const auto work = [](Problem* p) {
    Stream own;
    for (int i = 0; i < 10; ++i) p->start(own.stream);
    CHECK(cudaStreamSynchronize(own.stream));
  };
  std::thread first(work, &a), second(work, &b);
  first.join();
  second.join();
  a.check("from a thread of its own");
  b.check("from a thread of its own");
}

void one_workspace() {
  Stream stream;
  coalesce::workspace work;
  Problem a(7), b(8);
  for (int i = 0; i < 3; ++i) {
    a.start(stream.stream, &work);
    b.start(stream.stream, &work);
    float tiny = 0;
    CALL(coalesce::sum_host(a.in.get(), 5, tiny, stream.stream, &work));
  }
  CHECK(cudaStreamSynchronize(stream.stream));
  a.check("by a workspace that others used");
  b.check("by a workspace that others used");
  const std::size_t bytes = work.bytes();
  EXPECT(bytes > 0 && bytes <= 16 << 20, "a workspace of %zu bytes", bytes);
  a.start(stream.stream, &work);
  EXPECT(work.bytes() == bytes, "the workspace grew with the same call");
  CHECK(cudaStreamSynchronize(stream.stream));
}

void graphs() {
  Stream stream;
  Problem a(9);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  CHECK(cudaStreamBeginCapture(stream.stream, cudaStreamCaptureModeGlobal));
  a.start(stream.stream);
  a.start(stream.stream);
  CHECK(cudaStreamEndCapture(stream.stream, &graph));
  std::size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT(nodes == 4, "four calls were captured as %zu nodes", nodes);
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  Problem other(10);
  for (int i = 0; i < 3; ++i) {
    // Between replays the same stream is used for other calls, and the input changes.
    CHECK(cudaGraphLaunch(executable, stream.stream));
    other.start(stream.stream);
    CHECK(cudaStreamSynchronize(stream.stream));
    a.check("by a graph");
    other.check("beside a graph");
  }
  CHECK(cudaMemcpy(a.in.get(), other.host.data(), kCount * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());  // from pageable memory the copy may return sooner, and the stream waits for none
  CHECK(cudaGraphLaunch(executable, stream.stream));
  CHECK(cudaStreamSynchronize(stream.stream));
  expect_near(a.out.first(), other.all.sum, sum_bound(other.all), "sum", What{"by a graph whose input has changed"});
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
}

void same_bits() {
  Stream one, two;
  Problem a(11);
  a.start(one.stream);
  const float first = a.out.first();
  const std::vector<float> first_rows = a.rows.download();
  for (int i = 0; i < 10; ++i) {
    a.start(i % 2 ? one.stream : two.stream);
    const float again = a.out.first();
    const std::vector<float> rows = a.rows.download();
    EXPECT(std::memcmp(&again, &first, sizeof(first)) == 0, "the same sum came out as %.9g and as %.9g",
           static_cast<double>(first), static_cast<double>(again));
    EXPECT(std::memcmp(rows.data(), first_rows.data(), rows.size() * sizeof(float)) == 0, "sums of rows differ");
  }
}

// A launch into a capture that has become invalid fails, and leaves nothing behind: not in the workspace, not in the
// stream's own.
void failed_launch() {
  Stream stream;
  Problem a(12);
  coalesce::workspace work;
  coalesce::workspace* const both[] = {nullptr, &work};
  for (coalesce::workspace* with : both) a.start(stream.stream, with);
  CHECK(cudaStreamSynchronize(stream.stream));
  for (coalesce::workspace* with : both) {
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamBeginCapture(stream.stream, cudaStreamCaptureModeRelaxed));
    EXPECT(cudaStreamSynchronize(stream.stream) != cudaSuccess, "a capture cannot be waited for");
    const coalesce::status s = coalesce::sum(a.in.get(), kCount, a.out.get(), stream.stream, with);
    EXPECT(!s, "a launch into an invalid capture did not fail");
    EXPECT(std::strlen(s.message()) > 0, "no message");
    EXPECT(cudaStreamEndCapture(stream.stream, &graph) != cudaSuccess && !graph, "the capture was invalid");
    cudaGetLastError();
  }
  for (coalesce::workspace* with : both) {
    for (int i = 0; i < 2; ++i) {
      a.start(stream.stream, with);
      CHECK(cudaStreamSynchronize(stream.stream));
      a.check("after a launch that failed");
    }
  }
}

}  // namespace

int main() {
  many_streams();
  host_threads();
  one_workspace();
  graphs();
  same_bits();
  failed_launch();
  std::puts("streams: ok");
}
