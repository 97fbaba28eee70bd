// What one warp does with its share of ragged segments (segments.cuh): a stretch of elements and the segments that end
// in it.
//
// Elements come in tiles, which are copied to shared memory while the tiles before them are worked at: nothing waits
// for memory but the first tile, and no warp for another. A lane has some neighbouring elements of a tile, and goes
// through them in one of three ways (segments_parts.cuh, segments_words.cuh, segments_slots.cuh). At last a lane for
// each segment that ended takes what it came to and writes the result, in order.
//
// Where segments end is copied ahead to a ring in shared memory, each offset once. A tile in which more segments end
// than the ring holds is worked at in several rounds, each up to the last end that is known.
#pragma once

#include "segments_parts.cuh"
#include "segments_slots.cuh"
#include "segments_words.cuh"

namespace coalesce::detail {

template <class A, class Source, bool ByWords = segment_tiles<A, Source>::by_words,
          bool ByParts = segment_tiles<A, Source>::by_parts>
struct segment_lanes {
  using type = segment_slots<A, Source>;
};
template <class A, class Source>
struct segment_lanes<A, Source, false, true> {
  using type = segment_parts<A, Source>;
};
template <class A, class Source>
struct segment_lanes<A, Source, true, false> {
  using type = segment_words<A, Source>;
};

template <class A, class Source, class Offsets>
class segments_walk {
  using offset = offset_type<Offsets>;
  using tiles = segment_tiles<A, Source>;
  using lanes = typename segment_lanes<A, Source>::type;
  using staged = typename tiles::staged;
  using state_type = typename A::state;
  using left_type = segments_left<state_type>;
  static constexpr int width = tiles::width, stages = tiles::stages;
  static constexpr int ring = (tiles::by_words ? 2048 : 1024) / sizeof(offset);  // segments whose ends are kept
  static constexpr unsigned int all = 0xffffffffu;
  static constexpr std::int64_t more_than_cached = 128 << 20;  // bytes: L2 has up to 60 MB

 public:
  struct shared {  // of a warp
    // A line of what is copied must not lie in two lines of shared memory: that is two accesses.
    alignas(128) room<staged, tiles::elements> elements[stages];
    typename lanes::shared lanes_room;
    offset ends[ring];  // segment s ends at ends[s % ring]
  };
  static constexpr int tile_elements = tiles::elements;

  // Segments segment ... segment + count - 1 end in elements first ... end - 1, or behind the last of these; `begin` is
  // where the first of them begins. There are elements from `lowest` to `highest` - 1, in all.
  //
  // Elements are counted from the warp's first tile, which begins at a line of the cache; segments from its first one.
  __device__ __forceinline__ segments_walk(const A& a, const Source& in, const Offsets& offsets,
                                           typename A::result* out, shared& room, std::int64_t segment, int count,
                                           std::int64_t begin, std::int64_t first, std::int64_t end,
                                           std::int64_t lowest, std::int64_t highest)
      : a_(a),
        base_(tile_of(in, first)),
        in_(in.from(base_)),
        offsets_(offsets_from(offsets, segment)),
        out_(out + segment),
        room_(room),
        lanes_(a, in_, room.lanes_room),
        lane_(threadIdx.x % 32),
        first_segment_(segment),
        count_(count),
        first_(static_cast<int>(first - base_)),
        end_(static_cast<int>(end - base_)),
        low_(first - lowest >= width ? first_ - width : first_ - static_cast<int>(first - lowest)),
        high_(highest - end >= width ? end_ + width : end_ + static_cast<int>(highest - end)),
        begin_(begin - base_),
        policy_(
            policy_of((highest - lowest) * tiles::size > more_than_cached ? place_in_l2::first : place_in_l2::usual)) {}

  // All lanes call it.
  __device__ __forceinline__ void run(left_type& left) {
    if (lane_ == 0) {
      left.segment = -1;
      left.head = a_.identity();
      room_.ends[ring - 1] = static_cast<offset>(base_ + (begin_ < -1 ? -1 : begin_));  // no further, for end_of()
    }
    if constexpr (std::is_pointer_v<Offsets>) {  // 32 at a time, which begin at a line
      loaded_ = -static_cast<int>(reinterpret_cast<std::uintptr_t>(offsets_ + 1) / sizeof(offset) % 32);
    }
    fetch_ends();
#pragma unroll 1
    for (int k = 0; k < stages - 1; ++k) stage(k * tiles::elements, k);
#pragma unroll
    for (int k = 0; k < stages; ++k) copied_[k] = loaded_;
    int at = 0, tile = 0;
#pragma unroll 1
    do {
      fetch_ends();
      stage(tile + (stages - 1) * tiles::elements, at == 0 ? stages - 1 : at - 1);
      wait_for_groups<stages - 1>();
      ready_ = stages == 1 ? loaded_ : copied_[0];
#pragma unroll
      for (int k = 0; k + 2 < stages; ++k) copied_[k] = copied_[k + 1];
      copied_[stages < 2 ? 0 : stages - 2] = loaded_;
      __syncwarp();
      work(tile, &room_.elements[at][0], left);
      at = at == stages - 1 ? 0 : at + 1;
      tile += tiles::elements;
      __syncwarp();  // the next copies are to where these elements were
    } while (tile < end_);
    const state_type open = lanes_.open();
    if (lane_ == 0) left.tail = open;
  }

 private:
  // Where the tile begins in which `first` is.
  __device__ __forceinline__ static std::int64_t tile_of(const Source& in, std::int64_t first) {
    int lead = 0;
    if constexpr (tiles::copied) lead = static_cast<int>(reinterpret_cast<std::uintptr_t>(in.data) % 128) / tiles::size;
    const std::int64_t i = first + lead;
    return i - i % tiles::elements - lead;
  }

  // Starts copying the elements of a tile, those of this warp.
  __device__ __forceinline__ void stage(int tile, int at) {
    staged* const to = &room_.elements[at][0];
    if constexpr (tiles::copied) {
      constexpr int vectors = tiles::elements / width;
      if (tile >= first_ && tile + tiles::elements <= end_) {
        const staged* const from = in_.data + tile + lane_ * width;
#pragma unroll
        for (int k = 0; k < vectors; k += 32) start_copy16(to + (lane_ + k) * width, from + k * width, policy_);
      } else if (tile < end_) {
#pragma unroll 1
        for (int vector = lane_; vector < vectors; vector += 32) {
          const int from = tile + vector * width;
          staged* const there = to + vector * width;
          if (from + width <= first_ || from >= end_) continue;
          if (from >= low_ && from + width <= high_) {
            start_copy16(there, in_.data + from);
          } else {
            for (int k = 0; k < width; ++k) {  // where there is none, a neighbour: all of a vector is read
              const int here = from + k < low_ ? low_ : from + k < high_ ? from + k : high_ - 1;
              there[k] = in_.data[here];
            }
          }
        }
      }
    } else {
      for (int i = lane_; i < tiles::elements; i += 32) {
        if (tile + i >= first_ && tile + i < end_) to[i] = in_.at(tile + i);
      }
    }
    end_group();
  }

  // Starts copying the ends of the next segments, as far as there is room.
  __device__ __forceinline__ void fetch_ends() {
#pragma unroll 1
    for (; loaded_ < count_ && loaded_ + 32 < segment_ + ring; loaded_ += 32) {
      const int i = loaded_ + lane_;
      if (static_cast<unsigned int>(i) >= static_cast<unsigned int>(count_)) continue;
      offset* const there = &room_.ends[i & (ring - 1)];
      if constexpr (std::is_pointer_v<Offsets>) {
        start_copy_of_one(there, offsets_ + i + 1);
      } else {
        *there = offsets_[i + 1];
      }
    }
  }
  // Until all are there that have been asked for.
  __device__ __forceinline__ void wait_for_ends() {
    wait_for_groups<0>();
    __syncwarp();
    ready_ = loaded_;
#pragma unroll
    for (int k = 0; k < stages; ++k) copied_[k] = loaded_;
  }
  // The end of segment i, or the beginning of segment i + 1. Both it and base_ may be large, but not what is between.
  __device__ __forceinline__ int end_of(int i) const {
    return static_cast<int>(static_cast<unsigned int>(room_.ends[i & (ring - 1)]) - static_cast<unsigned int>(base_));
  }

  // A lane's segment of 32, counted from the tile; behind all else if it is none of `known`.
  struct extent {
    int begin, end;
    __device__ __forceinline__ bool filled() const { return end > begin; }
  };
  __device__ __forceinline__ extent look(int tile, int segment, int known) const {
    extent e = {0x7fffffff, 0x7fffffff};
    if (segment < known) e = {end_of(segment - 1) - tile, end_of(segment) - tile};
    return e;
  }
  // Marks the ends of those that end at `limit` or before. How many these are; `filled`: whether one has elements.
  __device__ __forceinline__ int mark(const extent& e, int limit, bool& filled) {
    const bool here = e.end <= limit, marked = here && e.filled();
    if (marked) lanes_.mark(static_cast<unsigned int>(e.end - 1));
    filled |= __any_sync(all, marked) != 0;
    return __popc(__ballot_sync(all, here));
  }

  // The tile that begins with element `tile`, in one round or in several.
  __device__ __forceinline__ void work(int tile, staged* elements, left_type& left) {
    int from = tile < first_ ? first_ - tile : 0;
    const int limit = end_ - tile < tiles::elements ? end_ - tile : tiles::elements;
    bool more;
#pragma unroll 1
    do {
      // `count` segments end in this round. It is over where the tile is, or with the last end that is known.
      extent mine;
      int known, count;
      bool filled;
      for (;;) {
        known = ready_ < count_ ? ready_ : count_;
        if (lanes::most < ring && known > segment_ + lanes::most) known = segment_ + lanes::most;
        filled = false;
        mine = look(tile, segment_ + lane_, known);
        count = mark(mine, limit, filled);
        if (count == 32) {
          int also;
          do {
            also = mark(look(tile, segment_ + count + lane_, known), limit, filled);
            count += also;
          } while (also == 32);
        }
        more = segment_ + count == known && known < count_;
        if (!more || known < ready_ || ready_ == loaded_) break;
        wait_for_ends();  // rather than another round
      }
      const int to = !more ? limit : count != 0 ? end_of(known - 1) - tile : from;
      __syncwarp();
      if (!filled && from == 0 && to == tiles::elements) {
        lanes_.without_ends(elements, opened(tile));
      } else if (to > from || !more) {
        lanes_.round(elements, from, to, opened(tile));
      }
      if (count != 0) {
        if (filled && head_ < 0) take_head(tile, elements, count, left);
        write(elements, mine, lane_, count);
#pragma unroll 1
        for (int i = 32 + lane_; i - lane_ < count; i += 32) write(elements, look(tile, segment_ + i, known), i, count);
        __syncwarp();
        segment_ += count;
        out_ += count;
      }
      from = to;
      if (more && segment_ == ready_) {
        fetch_ends();
        end_group();
        wait_for_ends();
      }
    } while (more);
    if (limit < tiles::elements) lanes_.cut(elements, limit, end_of(segment_ - 1) - tile);
  }
  // Where the open segment begins, counted from the tile.
  __device__ __forceinline__ std::int64_t opened(int tile) const {
    if constexpr (!A::indexed) return 0;
    return (segment_ == 0 ? begin_ : end_of(segment_ - 1)) - tile;
  }

  // The first segment with elements, of `count`, may have begun before this warp's share: its result is not known here.
  __device__ __forceinline__ void take_head(int tile, staged* elements, int count, left_type& left) {
    for (int i = lane_;; i += 32) {
      const extent e = look(tile, segment_ + i, segment_ + count);
      const unsigned int filled = __ballot_sync(all, e.filled());
      if (filled == 0) continue;
      const int first = __ffs(static_cast<int>(filled)) - 1;
      head_ = segment_ + i - lane_ + first;
      if (lane_ == first) {
        left.head = lanes_.value_at(elements, static_cast<unsigned int>(e.end - 1), e.begin);
        left.segment = first_segment_ + head_;
      }
      return;
    }
  }
  // The result of a lane's segment, if it is one of `count`. That of the first with elements is written by others.
  __device__ __forceinline__ void write(staged* elements, const extent& e, int i, int count) {
    if (i >= count || segment_ + i == head_) return;
    state_type state = a_.identity();
    if (e.filled()) state = lanes_.value_at(elements, static_cast<unsigned int>(e.end - 1), e.begin);
    out_[i] = a_.finish(state, e.end - e.begin);
  }

  const A& a_;
  const std::int64_t base_;
  const Source in_;
  const Offsets offsets_;
  typename A::result* out_;  // of the open segment
  shared& room_;
  lanes lanes_;
  const int lane_;
  const std::int64_t first_segment_;
  const int count_;                  // segments
  const int first_, end_;            // elements of this warp
  const int low_, high_;             // as far as there are elements, and no further than a vector
  const std::int64_t begin_;         // where the first segment begins
  const unsigned long long policy_;  // of copies of elements
  int segment_ = 0;                  // the open one
  int ready_ = 0, loaded_ = 0;       // segments whose ends are in the ring; and on their way there
  int copied_[stages];               // what loaded_ was when the tiles were asked for that are on their way
  int head_ = -1;                    // the first that ended with elements
};

}  // namespace coalesce::detail
