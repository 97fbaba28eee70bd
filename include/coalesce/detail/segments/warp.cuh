// One warp's share of ragged segments (segments.cuh): a stretch of elements and the segments that end in it.
//
// Tiles of elements are copied to shared memory while earlier ones are in work: only the first tile waits for memory,
// and no warp waits for another. A lane has neighbouring elements of a tile and goes through them in one of four ways
// (prefixes.cuh, parts.cuh, bytes.cuh, slots.cuh). Then one lane for each segment that ended writes its result, in
// order.
//
// The ends of segments are copied ahead to a ring in shared memory, each offset once. A tile with more ends than the
// ring holds is worked on in several rounds, each up to the last known end.
#pragma once

#include <coalesce/detail/segments/bytes.cuh>
#include <coalesce/detail/segments/parts.cuh>
#include <coalesce/detail/segments/prefixes.cuh>
#include <coalesce/detail/segments/slots.cuh>
#include <coalesce/detail/segments/stream.cuh>

namespace coalesce::detail {

template <class A, class Source>
constexpr auto segment_lanes() {
  using tiles = segment_tiles<A, Source>;
  if constexpr (tiles::by_prefixes) {
    return tag<segment_prefixes<A, Source>>();
  } else if constexpr (tiles::by_words) {
    return tag<segment_words<A, Source>>();
  } else if constexpr (tiles::by_parts) {
    return tag<segment_parts<A, Source>>();
  } else {
    return tag<segment_slots<A, Source>>();
  }
}

template <class A, class Source, class Offsets>
class segments_walk : segment_stream<A, Source, Offsets> {
  using base = segment_stream<A, Source, Offsets>;
  using base::all;
  using base::begin_;
  using base::count_;
  using base::end_;
  using base::end_of;
  using base::first_;
  using base::lane_;
  using base::loaded_;
  using base::ready_;
  using base::ring;
  using base::segment_;
  using tiles = segment_tiles<A, Source>;
  using lanes = typename decltype(segment_lanes<A, Source>())::type;
  using staged = typename tiles::staged;
  using state_type = typename A::state;
  using left_type = segments_left<state_type>;
  static constexpr int width = tiles::width;

 public:
  struct shared : base::shared {  // of a warp
    typename lanes::shared lanes_room;
  };
  static constexpr int tile_elements = tiles::elements;

  // See segment_stream; `out`: of all segments.
  __device__ __forceinline__ segments_walk(const A& a, const Source& in, const Offsets& offsets,
                                           typename A::result* out, shared& room, std::int64_t segment, int count,
                                           std::int64_t begin, std::int64_t first, std::int64_t end,
                                           std::int64_t lowest, std::int64_t highest)
      : base(in, offsets, room, segment, count, begin, first, end, lowest, highest),
        a_(a),
        out_(out + segment),
        lanes_(a, base::in_, room.lanes_room),
        first_segment_(segment) {}

  // All lanes call it.
  __device__ __forceinline__ void run(left_type& left) {
    if (lane_ == 0) {
      left.segment = -1;
      left.head = a_.identity();
    }
    base::start();
    int tile = 0;
#pragma unroll 1
    do {
      staged* const elements = base::wait_for_tile(tile);
      if constexpr (tiles::ends_before) {
        take(tile, elements, left);
      } else {
        work(tile, elements, left);
      }
      tile += tiles::elements;
      __syncwarp();  // the next copies are to where these elements were
    } while (tile < end_ || (tiles::ends_before && tile == end_ && segment_ < count_));
    const state_type open = lanes_.open();
    if (lane_ == 0) left.tail = open;
  }

 private:
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
  // Marks the ends of the segments that end at `limit` or before, and returns their number; `filled`: whether one has
  // elements.
  __device__ __forceinline__ int mark(const extent& e, int limit, bool& filled) {
    const bool here = e.end <= limit, marked = here && e.filled();
    if (marked) lanes_.mark(static_cast<unsigned int>(e.end - 1));
    filled |= __any_sync(all, marked) != 0;
    return __popc(__ballot_sync(all, here));
  }

  // The part of the tile that begins with element `tile`: the elements of this warp, and the first place that is not
  // this tile's for the end of a segment. A segment that ends behind its last element ends before the next tile's
  // first.
  struct stretch {
    int from, to, limit;
    bool whole;
  };
  __device__ __forceinline__ stretch of_tile(int tile) const {
    const int from = tile < first_ ? first_ - tile : 0, to = end_ - tile;
    if (to < tiles::elements) return {from, to, to + 1, false};
    return {from, tiles::elements, tiles::elements, from == 0};
  }
  // The end of segment i, counted from the tile; `limit` or more if it is none of `known`.
  __device__ __forceinline__ int look_for_end(int tile, int i, int known, int limit) const {
    return i < known ? end_of(i) - tile : limit;
  }
  __device__ __forceinline__ static int how_many(bool here) { return __popc(__ballot_sync(all, here)); }
  // Writes the results of the segments of the first `count` lanes.
  __device__ __forceinline__ void put(const state_type& state, int count, left_type& left) {
    if (lane_ < count) put_one(state, lane_, left);
    segment_ += count;
    out_ += count;
  }
  // Fills missing vectors with a copy of one that exists, so that no projection sees a value that is no element, and no
  // load reads unwritten memory.
  __device__ __forceinline__ void fill(staged* elements, const stretch& here) {
    const uint4 copy = load_four(elements + here.from / width * width);
#pragma unroll 1
    for (int i = lane_ * width; i < tiles::elements; i += 32 * width) {
      if (i + width <= here.from || i >= here.to) store_four(elements + i, copy);
    }
    __syncwarp();
  }

  __device__ __forceinline__ void take(int tile, staged* elements, left_type& left) {
    const stretch here = of_tile(tile);
    if (here.from == here.to) {
      put_rest(left);
      return;
    }
    if (!here.whole) fill(elements, here);
    if constexpr (tiles::by_prefixes) {
      take_differences(tile, elements, here, left);
    } else {
      take_words(tile, elements, here, left);
    }
  }
  // Segments that end behind the last element of all.
  __device__ __forceinline__ void put_rest(left_type& left) {
#pragma unroll 1
    while (segment_ < count_) {
      base::know_ends();
      const int known = (ready_ < count_ ? ready_ : count_) - segment_;
      const state_type state = lanes_.open();
      put(lane_ == 0 ? state : a_.identity(), known < 32 ? known : 32, left);
      lanes_.begin_anew();
    }
  }

  // 32 segments at a time, as they are known.
  __device__ __forceinline__ void take_differences(int tile, staged* elements, const stretch& here, left_type& left) {
    const int before = segment_;
    bool looked = false;
    int count;
#pragma unroll 1
    do {
      base::know_ends();
      const int end = look_for_end(tile, segment_ + lane_, count_, here.limit);
      count = how_many(end < here.limit);
      if (!looked) {
        if (count == 0 && here.whole) return lanes_.without_ends(elements);
        lanes_.look_at(elements, here.from, here.to);
      }
      if (count != 0) put(lanes_.next(elements, end < here.limit ? end : 0, count, !looked), count, left);
      looked = true;
    } while (count == 32);
    lanes_.end(segment_ != before);
  }

  // Words need all ends first: as many at a time as are known.
  __device__ __forceinline__ void take_words(int tile, staged* elements, const stretch& here, left_type& left) {
    int from = here.from;
    bool more;
#pragma unroll 1
    do {
      base::know_ends();
      const int known = ready_ < count_ ? ready_ : count_;
      // Two by two: what one waits for is time for the other.
      const auto end_after = [&](int marked) {
        return look_for_end(tile, segment_ + marked + lane_, known, here.limit);
      };
      int end = end_after(0), other = end_after(32), count = how_many(end < here.limit);
      if (count == 0 && here.whole && from == 0) return lanes_.without_ends(elements);
      lanes_.clear();
      if (from != 0 && lane_ == 0) lanes_.mark(from);
      int marked = 0;
#pragma unroll 1
      for (;;) {
        if (end < here.limit) lanes_.mark(end);
        if (other < here.limit) lanes_.mark(other);
        count = how_many(end < here.limit) + how_many(other < here.limit);
        marked += count;
        if (count != 64) break;
        end = end_after(marked);
        other = end_after(marked + 32);
      }
      more = segment_ + marked == known && known < count_;
      const int to = more ? end_of(known - 1) - tile : here.to;
      lanes_.look_at(elements);
      // The first segment's elements before `from` are not there, or in what is open.
      const int least = from != 0 ? from : -tiles::elements;
      const auto between = [&](int i, bool there) {
        int begin = 0;
        unsigned int end = 0;
        if (there) end = end_of(i) - tile;
        if (there) begin = end_of(i - 1) - tile;
        return lanes_.between(elements, begin < least ? least : begin, end);
      };
#pragma unroll 1
      for (; marked > 32; marked -= 64) {
        const state_type state = between(segment_ + lane_, true),
                         next = between(segment_ + 32 + lane_, lane_ + 32 < marked);
        put(state, 32, left);
        put(next, marked < 64 ? marked - 32 : 32, left);
        base::fetch_ahead();
      }
      if (marked > 0) put(between(segment_ + lane_, lane_ < marked), marked, left);
      if (to < tiles::elements) {
        const int begin = end_of(segment_ - 1) - tile;
        lanes_.cut(elements, begin < least ? least : begin, to);
      }
      from = to;
    } while (more);
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
      lanes_.clear();
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
        base::wait_for_ends();  // rather than another round
      }
      const int to = !more ? limit : count != 0 ? end_of(known - 1) - tile : from;
      __syncwarp();
      if (!filled && from == 0 && to == tiles::elements) {
        lanes_.without_ends(elements, opened(tile));
      } else if (to > from || !more) {
        lanes_.round(elements, from, to, opened(tile));
      }
      if (count != 0) {
        write(elements, mine, lane_, count, left);
#pragma unroll 1
        for (int i = 32 + lane_; i - lane_ < count; i += 32)
          write(elements, look(tile, segment_ + i, known), i, count, left);
        __syncwarp();
        segment_ += count;
        out_ += count;
      }
      from = to;
      if (more && segment_ == ready_) {
        base::fetch_ends();
        end_group();
        base::wait_for_ends();
      }
    } while (more);
    if (limit < tiles::elements) lanes_.cut(elements, limit, end_of(segment_ - 1) - tile);
  }
  // The beginning of the open segment, counted from the tile.
  __device__ __forceinline__ std::int64_t opened(int tile) const {
    if constexpr (!A::indexed) return 0;
    return (segment_ == 0 ? begin_ : end_of(segment_ - 1)) - tile;
  }

  // The result of a lane's segment, if it is one of `count`.
  __device__ __forceinline__ void write(staged* elements, const extent& e, int i, int count, left_type& left) {
    if (i >= count) return;
    state_type state = a_.identity();
    if (e.filled()) state = lanes_.value_at(elements, static_cast<unsigned int>(e.end - 1), e.begin);
    put_one(state, i, left);
  }
  // Writes the result of segment segment_ + i. The first of all may have begun before this warp's share.
  __device__ __forceinline__ void put_one(const state_type& state, int i, left_type& left) {
    if (segment_ + i == 0) {
      left.head = state;
      left.segment = first_segment_;
    } else {
      out_[i] = a_.finish(state, end_of(segment_ + i) - end_of(segment_ + i - 1));
    }
  }

  const A& a_;
  typename A::result* out_;  // of the open segment
  lanes lanes_;
  const std::int64_t first_segment_;
};

}  // namespace coalesce::detail
