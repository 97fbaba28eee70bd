// Segments whose sums can be subtracted: one of four ways through a tile (see warp.cuh), for integers of 1 and 2 bytes,
// and true and false of elements of that size.
//
// Each word has a place that holds the sum before it, counted from the first word of its lane; a scan gives the sum
// before each lane. A segment's sum is the difference of the sums before its end and before its neighbour's end. No
// word is marked, and empty segments are no special case.
#pragma once

#include <coalesce/detail/segments/tiles.cuh>

namespace coalesce::detail {

template <class A, class Source>
class segment_prefixes : public open_segment<A> {
  using base = open_segment<A>;
  using base::a_;
  using base::all;
  using base::lane_;
  using base::open_;
  using tiles = segment_tiles<A, Source>;
  using staged = typename tiles::staged;
  using element = typename A::element;
  using state_type = typename A::state;
  static constexpr int items = tiles::items, size = tiles::size, of_word = 4 / size, words = items / of_word;

 public:
  struct shared {
    alignas(16) unsigned int before[32 * words];  // each word, of its lane
  };

  __device__ __forceinline__ segment_prefixes(const A& a, const Source& in, shared& room)
      : base(a), in_(in), room_(room) {}

  __device__ __forceinline__ void begin_anew() { open_ = a_.identity(); }

  // A tile in which no segment ends.
  __device__ __forceinline__ void without_ends(const staged* elements) {
    base::spread();
    a_.add_difference(open_, add_words<false>(elements));
  }

  // Looks at elements from ... to - 1 of a tile, and at whatever is in the places of others: it cancels out.
  __device__ __forceinline__ void look_at(const staged* elements, int from, int to) {
    base::open();
    const bool whole = from == 0 && to == tiles::elements;
    ended_ = 0;
    const unsigned int mine = add_words<true>(elements);
    unsigned int sum = mine;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const unsigned int other = __shfl_up_sync(all, sum, step);
      if (lane_ >= step) sum += other;
    }
    before_lane_ = sum - mine;
    __syncwarp();
    if (whole) {
      whole_ = __shfl_sync(all, sum, 31);
    } else {
      if (from != 0) ended_ = before(elements, from);
      whole_ = to == tiles::elements ? __shfl_sync(all, sum, 31) : before(elements, to);
    }
  }

  // The result of a lane's segment among these elements, which ends before element `end`; the first one includes what
  // was open. In all lanes, of which the first `count` have such segments, one after the other.
  __device__ __forceinline__ state_type next(const staged* elements, unsigned int end, int count, bool first) {
    const unsigned int here = before(elements, end);
    unsigned int last = __shfl_up_sync(all, here, 1);
    if (lane_ == 0) last = ended_;
    ended_ = __shfl_sync(all, here, count - 1);
    state_type state = first && lane_ == 0 ? open_ : a_.identity();
    a_.add_difference(state, here - last);
    return state;
  }
  // All that end in the tile have been asked for; `any`: there were such.
  __device__ __forceinline__ void end(bool any) {
    if (any) open_ = a_.identity();
    a_.add_difference(open_, whole_ - ended_);
  }

 private:
  // The sum before an element of the tile.
  __device__ __forceinline__ unsigned int before(const staged* elements, unsigned int i) const {
    const unsigned int byte = i * size, word = byte / 4;
    element x[of_word];
    load_word(reinterpret_cast<const char*>(elements) + word * 4, x);
    return a_.add_to_prefix(room_.before[word], x, static_cast<int>(byte % 4) / size) +
           __shfl_sync(all, before_lane_, static_cast<int>(i / items));
  }
  __device__ __forceinline__ void load_word(const void* from, element (&x)[of_word]) const {
    typename Source::template vector_of<of_word> word;
    memcpy(static_cast<void*>(&word), from, 4);
    in_.template unpack<of_word>(word, x);
  }

  // The sum of a lane's words. Each: also leaves the sum before each word. All loads come first: a store stays behind
  // earlier loads, and each of them would be waited for.
  template <bool Each>
  __device__ __forceinline__ unsigned int add_words(const staged* elements) {
    constexpr int vectors = items / tiles::width;
    uint4 four[vectors];
#pragma unroll
    for (int k = 0; k < vectors; ++k) four[k] = load_four(elements + lane_ * items + k * tiles::width);
    unsigned int sum = 0;
#pragma unroll
    for (int k = 0; k < vectors; ++k) {
      uint4 before;
      before.x = sum;
      before.y = sum = add_word(sum, four[k].x);
      before.z = sum = add_word(sum, four[k].y);
      before.w = sum = add_word(sum, four[k].z);
      sum = add_word(sum, four[k].w);
      if (Each) store_four(room_.before + lane_ * words + 4 * k, before);
    }
    return sum;
  }
  __device__ __forceinline__ unsigned int add_word(unsigned int sum, unsigned int word) const {
    element x[of_word];
    load_word(&word, x);
    return a_.add_to_prefix(sum, x);
  }

  const Source in_;
  shared& room_;
  unsigned int before_lane_ = 0, whole_ = 0, ended_ = 0;  // what comes before this lane; to all; to those that ended
};

}  // namespace coalesce::detail
