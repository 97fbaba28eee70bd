// Tiles of ragged segments (segments.cuh) in shared memory, and the state that a warp's lanes hand on.
#pragma once

#include <coalesce/detail/block/async_copy.cuh>
#include <coalesce/detail/block/launch.cuh>
#include <coalesce/detail/l2_policy.cuh>

namespace coalesce::detail {

// True if A's merge needs the earlier state on the left. Then many lanes' states are combined at once.
template <class A, class = void>
inline constexpr bool ordered = false;
template <class A>
inline constexpr bool ordered<A, std::void_t<decltype(A::is_ordered)>> = A::is_ordered;

// Segments of equal length, one behind the other.
struct equal_segments {
  std::int64_t length, first = 0;
  __device__ __forceinline__ std::int64_t operator[](std::int64_t i) const { return (first + i) * length; }
};
template <class O>
__device__ __forceinline__ const O* offsets_from(const O* offsets, std::int64_t first) {
  return offsets + first;
}
__device__ __forceinline__ equal_segments offsets_from(const equal_segments& offsets, std::int64_t first) {
  return {offsets.length, offsets.first + first};
}
template <class Offsets>
using offset_type = std::decay_t<decltype(std::declval<const Offsets&>()[0])>;

// The state that a warp or a block leaves to the others.
template <class State>
struct segments_left {
  State head;            // of the first segment that ended, what was read of it
  State tail;            // of the segment that is open at the end
  std::int64_t segment;  // the first that ended; -1: none
};

// The layout of a warp's tiles. A lane has `items` neighbouring elements of a tile, in vectors where possible. Elements
// of one array are copied as they are in memory, while earlier tiles are in work; those of two arrays, or of sizes
// without vectors, one by one and without prefetch.
//
// Banks: a lane has an odd number of vectors, or of elements, so no two of 8 lanes, or of 32, begin in one bank.
template <class A, class Source>
struct segment_tiles {
  static constexpr bool copied = Source::inputs == 1 && 16 % Source::bytes == 0;
  using staged = typename std::conditional_t<copied, tag<typename Source::memory>, tag<typename A::element>>::type;
  static constexpr int size = sizeof(staged);
  static constexpr bool by_vectors = 16 % size == 0, by_prefixes = copied && size <= 2 && has_differences<A>;
  static constexpr bool by_words = size == 1 && has_words<A>;
  static constexpr bool ends_before = by_prefixes || by_words;  // see segments_walk::of_tile
  static constexpr bool by_parts = by_vectors && has_parts<A> && !ends_before;
  // Elements that the end of a segment counts as where work is dealt out.
  static constexpr int weight = ends_before ? 16 / size : 4;
  static constexpr int width = by_vectors ? 16 / size : 1;
  // A lane has at most 128 bytes, also of parts, and 32 elements.
  static constexpr int largest = by_parts && size_of_part<A> > size ? size_of_part<A> : size;
  static constexpr int most = 128 / largest < 32 ? 128 / largest : 32;
  static constexpr int vectors = ends_before ? 5 : (most / width - 1) / 2 * 2 + 1;
  static constexpr int items = by_vectors ? vectors * width : size <= 16 ? 7 : size <= 40 ? 3 : 1;
  static constexpr int elements = 32 * items;
  // Bytes for parts, where they have other sizes than elements; for words and prefixes, as many as for elements.
  static constexpr int part_bytes = ends_before                           ? elements * size
                                    : by_parts && size_of_part<A> != size ? elements * size_of_part<A>
                                                                          : 0;
  // 8 KB in all, of which what is not worked at is on its way.
  static constexpr int fit = (8192 - part_bytes) / (elements * size);
  static constexpr int stages = !copied ? 1 : fit < 2 ? 2 : fit < 4 ? fit : 4;
  // Room for ends: as much as leaves five blocks 196 KB (see segments_shared). A tile of a power law has up to 200 of
  // them, and those of the next tile are to be there by then.
  static constexpr int state_bytes = sizeof(typename A::state);
  static constexpr bool in_place = by_parts && part_bytes == 0;
  static constexpr int bytes_of_ends = ends_before || (in_place && state_bytes <= 4) ? 2048
                                       : in_place && state_bytes <= 8                ? 1536
                                                                                     : 1024;
};

// The elements of one vector of a tile, of which the first is element i.
template <class A, class Source>
__device__ __forceinline__ void load_shared(const Source& in, const typename segment_tiles<A, Source>::staged* tile,
                                            unsigned int i, typename A::element* to) {
  using tiles = segment_tiles<A, Source>;
  if constexpr (!tiles::by_vectors) {
    to[0] = tile[i];
  } else {
    const uint4 bits = load_four(tile + i);
    if constexpr (tiles::copied) {
      typename Source::template vector_of<tiles::width> vector;
      memcpy(static_cast<void*>(&vector), &bits, sizeof(bits));
      in.template unpack<tiles::width>(vector, to);
    } else {
      memcpy(static_cast<void*>(to), &bits, sizeof(bits));
    }
  }
}

// A warp's state of the open segment, and the way its lanes hand it on: the same for all ways through a tile.
template <class A>
class open_segment {
  using state_type = typename A::state;

 public:
  // In all lanes alike.
  __device__ __forceinline__ state_type open() {
    if (spread_) open_ = merge_lanes(a_, open_, 32);
    spread_ = false;
    return open_;
  }

 protected:
  static constexpr unsigned int all = 0xffffffffu;

  __device__ __forceinline__ explicit open_segment(const A& a) : a_(a), lane_(threadIdx.x % 32), open_(a.identity()) {}

  // From here on each lane adds to its own open_, until a call of open().
  __device__ __forceinline__ void spread() {
    if (!spread_ && lane_ != 0) open_ = a_.identity();
    spread_ = true;
  }

  // The last lane before this one with an end, or -1. `ends`: whether this one has any.
  __device__ __forceinline__ int owner_of(bool ends) const {
    const unsigned int with_ends = __ballot_sync(all, ends), below = with_ends & ((1u << lane_) - 1);
    return 31 - __clz(static_cast<int>(below));
  }

  // `state`, what is open behind this lane of its own elements, gets what the lanes have from the owner on. Returns
  // what is open before this lane. As many steps as there are lanes between two ends.
  __device__ __forceinline__ state_type scan_open(state_type& state, int owner, bool ends) const {
    const int reach = ends ? 0 : owner < 0 ? lane_ : lane_ - owner;
    if (lane_ == 0 && !ends) {
      state_type whole = open_;
      a_.merge(whole, state);
      state = whole;
    }
#pragma unroll 1
    for (int step = 1; __any_sync(all, reach >= step); step *= 2) {
      state_type other = warp::from_below(state, step);
      if (reach >= step) {
        a_.merge(other, state);
        state = other;
      }
    }
    state_type before = warp::from_below(state, 1);
    if (lane_ == 0) before = open_;
    return before;
  }

  // Bits low ... high - 1.
  __device__ __forceinline__ static unsigned int bits_between(int low, int high) {
    if (high <= 0 || low >= 32 || low >= high) return 0;
    return (high >= 32 ? all : (1u << high) - 1) & (low <= 0 ? all : all << low);
  }

  const A& a_;
  const int lane_;
  state_type open_;  // in all lanes alike, or spread over them

 private:
  bool spread_ = false;
};

}  // namespace coalesce::detail
