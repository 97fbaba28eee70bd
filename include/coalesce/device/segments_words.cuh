// How the lanes of a warp go through a tile of ragged segments of bytes, the third of three ways (segments_parts.cuh,
// segments_slots.cuh): four of them at a time, as the memory leaves six instructions for each.
//
// What a word comes to behind its last end, joined with the words before it if it has none, is left in a place of the
// word's own. Where a segment ends within a word, the bytes of it are looked at once more by the lane that wants the
// result, with what the word before has left and what was open before its lane.
#pragma once

#include "segments_tiles.cuh"

namespace coalesce::detail {

template <class A, class Source>
class segment_words : public open_segment<A> {
  using base = open_segment<A>;
  using base::a_;
  using base::all;
  using base::lane_;
  using base::open_;
  using tiles = segment_tiles<A, Source>;
  using staged = typename tiles::staged;
  using element = typename A::element;
  using packed = typename A::packed;
  using state_type = typename A::state;
  static constexpr int width = tiles::width, items = tiles::items, words = items / 4;
  static constexpr int mark_words = (items + 31) / 32;

 public:
  static constexpr int most = 1 << 30;  // ends in a round: any number

  struct shared {
    alignas(16) packed behind[32 * words];  // what is open behind each word, of its lane
    room<state_type, 32> carry;             // and before each lane
    unsigned int marks[mark_words][32];     // a bit for each element of a lane that is a segment's last
  };

  __device__ __forceinline__ segment_words(const A& a, const Source& in, shared& room) : base(a), in_(in), room_(room) {
#pragma unroll
    for (int m = 0; m < mark_words; ++m) room_.marks[m][lane_] = 0;
  }

  // Element `last` is a segment's last.
  __device__ __forceinline__ void mark(unsigned int last) {
    const unsigned int lane = last / items, i = last - lane * items;
    atomicOr(&room_.marks[i / 32][lane], 1u << i % 32);
  }

  // A tile in which no segment ends.
  __device__ __forceinline__ void without_ends(const staged* elements, std::int64_t) {
    base::spread();
    element tile[items];
#pragma unroll
    for (int i = 0; i < items; i += width) load_staged<A>(in_, elements, lane_ * items + i, tile + i);
    a_.add(open_, tile, positions<1>{0, 1});
  }

  // Elements from ... to - 1 of a tile, in which segments end where it is marked.
  __device__ __forceinline__ void round(staged* elements, int from, int to, std::int64_t) {
    from_ = from;
    if (from == 0 && to == tiles::elements) {
      go<true>(elements, from, to);
    } else {
      go<false>(elements, from, to);
    }
  }

  // Of the segment that ends with element `last`, what this warp has read. `begin`: where it begins, if in this tile.
  __device__ __forceinline__ state_type value_at(const staged* elements, unsigned int last, int begin) {
    if (from_ != 0 && begin < from_) begin = from_;
    const unsigned int lane = last / items, word = last / 4;
    const int first = static_cast<int>(word * 4);
    unsigned int kept = ~0u >> 8 * (3 - last % 4);
    if (begin > first) kept &= ~0u << 8 * (begin - first);
    packed x = a_.packed_of(load_word(elements + first), kept);
    if (begin < first && word > lane * words) x = a_.join_packed(room_.behind[word - 1], x);
    state_type state = a_.identity();
    if (begin < static_cast<int>(lane * items)) state = room_.carry[lane];
    a_.add_packed(state, x);
    return state;
  }

  // The warp's share ends behind element `to` - 1 of a round's, and the segment that is open there begins at `begin`.
  __device__ __forceinline__ void cut(const staged* elements, int to, int begin) {
    open_ = a_.identity();
    if (begin < to) open_ = value_at(elements, to - 1, begin);
  }

 private:
  __device__ __forceinline__ unsigned int load_word(const staged* from) const {
    typename Source::template vector_of<4> vector;
    memcpy(static_cast<void*>(&vector), from, 4);
    element four[4];
    in_.template unpack<4>(vector, four);
    unsigned int word;
    memcpy(&word, four, 4);
    return word;
  }

  template <bool Whole>
  __device__ __forceinline__ void go(const staged* elements, int from, int to) {
    base::open();
    const int first = lane_ * items;
    unsigned int marks[mark_words], any = 0;
#pragma unroll
    for (int m = 0; m < mark_words; ++m) {
      marks[m] = room_.marks[m][lane_];
      room_.marks[m][lane_] = 0;
      if (!Whole) {  // what is not of this round ends, so that nothing is joined with it
        constexpr int last = items - (mark_words - 1) * 32;
        const unsigned int here = m < mark_words - 1 || last == 32 ? all : (1u << last % 32) - 1;
        marks[m] |= here & ~base::bits_between(from - first - m * 32, to - first - m * 32);
      }
      any |= marks[m];
    }
    packed before{};
#pragma unroll
    for (int i = 0; i < items; i += width) {
      element x[width] = {};
      if (Whole || (first + i + width > from && first + i < to)) load_staged<A>(in_, elements, first + i, x);
      unsigned int word[width / 4];
      memcpy(word, x, sizeof(word));
      packed behind[width / 4];
#pragma unroll
      for (int w = 0; w < width / 4; ++w) {
        const int bit = (i + 4 * w) % 32;
        const unsigned int ends = marks[i / 32] & 15u << bit;
        unsigned int kept = ~0u;  // behind the last end
        if (ends != 0) kept = 0xffffff00u << 8 * (31 - __clz(static_cast<int>(ends)) - bit);
        behind[w] = a_.packed_of(word[w], kept);
        if (i + w != 0 && ends == 0) behind[w] = a_.join_packed(before, behind[w]);
        before = behind[w];
      }
      uint4 four;
      static_assert(sizeof(behind) == sizeof(four));
      memcpy(&four, behind, sizeof(four));
      store_four(room_.behind + lane_ * words + i / 4, four);
    }
    state_type state = a_.identity();
    a_.add_packed(state, before);
    room_.carry[lane_] = base::scan_open(state, base::owner_of(any != 0), any != 0);
    open_ = warp::from_lane(state, 31);
    __syncwarp();
  }

  const Source in_;
  shared& room_;
  int from_ = 0;  // where the round began
};

}  // namespace coalesce::detail
