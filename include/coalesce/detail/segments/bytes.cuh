// Extremes of ragged segments of bytes: one of four ways through a tile (see warp.cuh). Four bytes at a time, because
// the memory leaves six instructions for each.
//
// Each word has a place that holds what is open before it in its lane. Before that the place holds a selector for
// `prmt`: it says whether a segment ends in the word, and drops what is before the last end. The lane of a segment's
// result reads the word of its end once more and adds what was open before that word and before its lane.
#pragma once

#include <coalesce/detail/segments/tiles.cuh>

namespace coalesce::detail {

template <class A, class Source>
class segment_words : public open_segment<A> {
  using base = open_segment<A>;
  using base::a_;
  using base::all;
  using base::lane_;
  using tiles = segment_tiles<A, Source>;
  using staged = typename tiles::staged;
  using element = typename A::element;
  using state_type = typename A::state;
  static constexpr int width = tiles::width, items = tiles::items, words = items / 4, vectors = items / width;
  static constexpr unsigned int nothing = A::no_bytes;
  static constexpr unsigned int whole_word = 0x3210, other_bytes = 0x4444, ends = 1u << 31;

 public:
  struct shared {
    alignas(16) unsigned int of_word[32 * words];  // a mark, then what is open before the word
  };

  __device__ __forceinline__ segment_words(const A& a, const Source& in, shared& room)
      : base(a), in_(in), room_(room) {}

  // In all lanes alike.
  __device__ __forceinline__ state_type open() {
    gather();
    return a_.of_bytes(bytes_);
  }

  __device__ __forceinline__ void begin_anew() { bytes_ = nothing; }

  // A tile in which no segment ends.
  __device__ __forceinline__ void without_ends(const staged* elements) {
    if (!spread_ && lane_ != 0) bytes_ = nothing;
    spread_ = true;
#pragma unroll
    for (int i = lane_ * items; i < (lane_ + 1) * items; i += width) {
      const uint4 four = load_four(elements + i);
      bytes_ = a_.add_word(bytes_, word_of(&four.x));
      bytes_ = a_.add_word(bytes_, word_of(&four.y));
      bytes_ = a_.add_word(bytes_, word_of(&four.z));
      bytes_ = a_.add_word(bytes_, word_of(&four.w));
    }
  }

  // Nothing is marked.
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int w = lane_ * words; w < (lane_ + 1) * words; w += 4) {
      store_four(room_.of_word + w, make_uint4(whole_word, whole_word, whole_word, whole_word));
    }
    __syncwarp();
  }
  // A segment ends before element `end`. Of several in a word the last one's mark is the largest number.
  __device__ __forceinline__ void mark(unsigned int end) {
    const unsigned int behind = ~0u << 4 * (end % 4);
    atomicMax(&room_.of_word[end / 4], ((ends | whole_word) & behind) | (other_bytes & ~behind));
  }

  // Looks at a tile.
  __device__ __forceinline__ void look_at(const staged* elements) {
    gather();
    __syncwarp();
    unsigned int state = nothing, marks = 0;
    uint4 four[vectors], mark[vectors];  // all loads first: each would be waited for
#pragma unroll
    for (int k = 0; k < vectors; ++k) {
      four[k] = load_four(elements + lane_ * items + k * width);
      mark[k] = load_four(room_.of_word + lane_ * words + 4 * k);
    }
#pragma unroll
    for (int k = 0; k < vectors; ++k) {
      uint4 before;
      before.x = pass(state, word_of(&four[k].x), mark[k].x);
      before.y = pass(state, word_of(&four[k].y), mark[k].y);
      before.z = pass(state, word_of(&four[k].z), mark[k].z);
      before.w = pass(state, word_of(&four[k].w), mark[k].w);
      marks |= mark[k].x | mark[k].y | mark[k].z | mark[k].w;
      store_four(room_.of_word + lane_ * words + 4 * k, before);
    }
    const bool any = static_cast<int>(marks) < 0;
    const int owner = base::owner_of(any), reach = any ? 0 : owner < 0 ? lane_ : lane_ - owner;
    if (lane_ == 0 && !any) state = a_.join_bytes(bytes_, state);
#pragma unroll 1
    for (int step = 1; __any_sync(all, reach >= step); step *= 2) {
      const unsigned int other = __shfl_up_sync(all, state, step);
      if (reach >= step) state = a_.join_bytes(other, state);
    }
    before_lane_ = __shfl_up_sync(all, state, 1);
    if (lane_ == 0) before_lane_ = bytes_;
    bytes_ = __shfl_sync(all, state, 31);
    __syncwarp();
  }

  // The extreme of elements begin ... end - 1, `end` in the tile, among which no segment ends; `begin` may be before
  // it.
  __device__ __forceinline__ state_type between(const staged* elements, int begin, unsigned int end) const {
    return a_.of_bytes(bytes_between(elements, begin, end));
  }
  // Elements end behind element `to` - 1, in the midst of the tile, and the open segment begins at `begin`.
  __device__ __forceinline__ void cut(const staged* elements, int begin, int to) {
    bytes_ = bytes_between(elements, begin, to);
  }

 private:
  // Returns what is open before a word, and leaves in `state` what is open behind it.
  __device__ __forceinline__ unsigned int pass(unsigned int& state, unsigned int word, unsigned int mark) const {
    const unsigned int before = state;
    if (static_cast<int>(mark) < 0) state = nothing;
    state = a_.add_word(state, __byte_perm(word, nothing, mark));
    return before;
  }
  __device__ __forceinline__ unsigned int bytes_between(const staged* elements, int begin, unsigned int end) const {
    const unsigned int first = end & ~3u, lane = end / items;
    const int of_lane = static_cast<int>(lane * items);
    const unsigned int word = word_of(elements + first);
    const bool before = begin < static_cast<int>(first);
    const unsigned int not_yet = before ? 0 : ~behind(static_cast<unsigned int>(begin));
    const unsigned int kept = ~(behind(end) | not_yet);
    const unsigned int carried = __shfl_sync(all, before_lane_, static_cast<int>(lane));
    unsigned int state = nothing;
    if (before) state = *reinterpret_cast<const unsigned int*>(reinterpret_cast<const char*>(room_.of_word) + first);
    state = a_.join_bytes(state, begin < of_lane ? carried : nothing);
    return a_.add_word(state, (word & kept) | (nothing & ~kept));
  }
  // The bytes of a word from i % 4 on.
  __device__ __forceinline__ static unsigned int behind(unsigned int i) { return __funnelshift_l(0, ~0u, 8 * i); }
  // Gathers from all lanes.
  __device__ __forceinline__ void gather() {
    if (!spread_) return;
    spread_ = false;
#pragma unroll
    for (int step = 16; step > 0; step /= 2) bytes_ = a_.join_bytes(bytes_, __shfl_xor_sync(all, bytes_, step));
  }
  __device__ __forceinline__ unsigned int word_of(const void* from) const {
    typename Source::template vector_of<4> vector;
    memcpy(static_cast<void*>(&vector), from, 4);
    element four[4];
    in_.template unpack<4>(vector, four);
    unsigned int word;
    memcpy(&word, four, 4);
    return word;
  }

  const Source in_;
  shared& room_;
  unsigned int bytes_ = nothing;  // of the open segment, in all lanes alike or spread over them
  bool spread_ = false;
  unsigned int before_lane_ = nothing;  // what is open before this lane's elements
};

}  // namespace coalesce::detail
