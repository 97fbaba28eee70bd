// What one warp does with its share of ragged segments (segments.cuh): a stretch of elements and the segments that end
// in it.
//
// Elements come in tiles, which are copied to shared memory while the tiles before them are worked at: nothing waits
// for memory but the first tile, and no warp for another. A lane has 32 neighbouring elements of a tile (128 bytes of
// them at most) and goes through them one by one; a bit for each says whether a segment ends there. What it has then
// goes to a slot in shared memory, and it begins anew: the same few instructions in all lanes, whatever the segments
// are. The first end of a lane lacks what the lanes before have left open, which a segmented scan brings; as many steps
// of it as there are lanes between two ends. At last a lane for each segment writes its result, in order.
//
// Where segments end is read ahead, each offset once: to registers, and a round later to a ring in shared memory. A
// tile in which more segments end than the ring holds is worked at in several rounds.
//
// Banks: a lane's vectors are neighbours, which would put those of 8 lanes in the same 4 banks. Vector v of the tile
// lies at v ^ (v / 8), of whose last bits only as many are changed as keep it with its lane. Slots have a gap behind
// each row of banks, so that lanes which end equally many segments do not meet.
#pragma once

#include "../block/stage.cuh"
#include "launch.cuh"

namespace coalesce::detail {

// Whether A's merge must have what comes first on the left. What many lanes have then is put together at once.
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

// How a warp's tiles lie. Elements of one array are staged as they are in memory; those of two, or of sizes that no
// vector is made of, one by one.
template <class A, class Source>
struct segment_tiles {
  static constexpr bool as_in_memory = Source::inputs == 1;
  using staged =
      typename std::conditional_t<as_in_memory, tag<typename Source::memory>, tag<typename A::element>>::type;
  static constexpr int size = sizeof(staged);
  static constexpr bool by_vectors = as_in_memory && 16 % size == 0;
  static constexpr int width = by_vectors ? 16 / size : 1;
  // Of a lane. An odd number of odd sizes: no two lanes then begin in one bank.
  static constexpr int items = by_vectors ? (size <= 4 ? 32 : 128 / size) : size <= 16 ? 7 : size <= 40 ? 3 : 1;
  static constexpr int elements = 32 * items;
  // 8 KB, of which what is not worked at is on its way. One by one there is nothing on its way.
  static constexpr int stages = by_vectors ? 8192 / (elements * size) : 1;
  // Segments that may end in a round, and whose ends are kept: 4 warps are to have enough with 48 KB, and 5 times 4
  // with a multiprocessor's.
  static constexpr int words = shape<A>::state_words, slots = words <= 2 ? 192 : words <= 4 ? 96 : 32;
  static constexpr int ring = 256;
};

// Values in shared memory, by words of 8 bytes or of 4. Where there are many, each lane's own have a gap before them:
// so lanes that end equally many segments do not meet in a bank, unless that is an odd number.
template <class T, int N>
struct segment_slots {
  using word = std::conditional_t<sizeof(T) % 8 == 0, unsigned long long, unsigned int>;
  static constexpr int count = (sizeof(T) + sizeof(word) - 1) / sizeof(word);
  static constexpr int size = N > 32 ? N + 32 : N;
  word words[count][size];

  __device__ __forceinline__ word* at(int slot) { return &words[0][slot]; }
  __device__ __forceinline__ static void put(word* at, const T& value) {
    word bits[count] = {};
    memcpy(bits, &value, sizeof(T));
#pragma unroll
    for (int w = 0; w < count; ++w) at[w * size] = bits[w];
  }
  __device__ __forceinline__ T get(int slot) const {
    word bits[count];
#pragma unroll
    for (int w = 0; w < count; ++w) bits[w] = words[w][slot];
    T value;
    memcpy(static_cast<void*>(&value), bits, sizeof(T));
    return value;
  }
};

// Shared memory of a warp.
template <class A, class Source>
struct segments_room {
  using tiles = segment_tiles<A, Source>;
  room<typename tiles::staged, tiles::elements> elements[tiles::stages];
  segment_slots<typename A::state, tiles::slots> slots;
  int ring[tiles::ring];  // segment s ends at ring[s % size], counted from the warp's first tile
  unsigned int ends[32];  // a bit for each element of a lane: the last one of a segment
};

// What a warp or a block leaves to the others.
template <class State>
struct segments_left {
  State head;            // of the first segment that ended, what was read of it
  State tail;            // of the segment that is open at the end
  std::int64_t segment;  // the first that ended; -1: none
};

template <class A, class Source, class Offsets>
class segments_walk {
  using offset = std::decay_t<decltype(std::declval<const Offsets&>()[0])>;
  using tiles = segment_tiles<A, Source>;
  using staged = typename tiles::staged;
  using element = typename A::element;
  using state_type = typename A::state;
  static constexpr int width = tiles::width, items = tiles::items, slots = tiles::slots, stages = tiles::stages;
  static constexpr int ahead = 6;  // registers for what comes into the ring
  static constexpr unsigned int all = 0xffffffffu;

 public:
  using shared = segments_room<A, Source>;
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
        lane_(threadIdx.x % 32),
        first_segment_(segment),
        count_(count),
        first_(static_cast<int>(first - base_)),
        end_(static_cast<int>(end - base_)),
        low_(first - lowest >= width ? first_ - width : first_ - static_cast<int>(first - lowest)),
        high_(highest - end >= width ? end_ + width : end_ + static_cast<int>(highest - end)),
        open_from_(begin - base_) {}

  // All lanes call it.
  __device__ __forceinline__ void run(segments_left<state_type>& left) {
    fetch_offsets();
    open_ = a_.identity();
    if (lane_ == 0) left.segment = -1;
    room_.ends[lane_] = 0;
    if (lane_ == 0) end_of(-1) = open_from_ < -1 ? -1 : static_cast<int>(open_from_);
#pragma unroll 1
    for (int k = 0; k < stages - 1; ++k) stage(k * tiles::elements, k);
    int at = 0, tile = 0;
#pragma unroll 1
    do {
      stage(tile + (stages - 1) * tiles::elements, at == 0 ? stages - 1 : at - 1);
      wait_for_groups<stages - 1>();
      __syncwarp();
      work(tile, &room_.elements[at][0], left);
      at = at == stages - 1 ? 0 : at + 1;
      tile += tiles::elements;
      __syncwarp();  // the next copies are to where these elements were
    } while (tile < end_);
    gather();
    if (lane_ == 0) left.tail = open_;
  }

 private:
  // Where the tile begins in which `first` is.
  __device__ __forceinline__ static std::int64_t tile_of(const Source& in, std::int64_t first) {
    int lead = 0;
    if constexpr (tiles::by_vectors) {
      lead = static_cast<int>(reinterpret_cast<std::uintptr_t>(in.data) % 128) / tiles::size;
    }
    const std::int64_t i = first + lead;
    return i - i % tiles::elements - lead;
  }
  __device__ __forceinline__ static int place_of_vector(int vector) {
    return vector ^ (vector / 8 & (items / width - 1));
  }

  // The end of segment i, or the beginning of segment i + 1.
  __device__ __forceinline__ int& end_of(int i) { return room_.ring[i & (tiles::ring - 1)]; }

  // Starts copying the elements of a tile, those of this warp.
  __device__ __forceinline__ void stage(int tile, int at) {
    staged* const to = &room_.elements[at][0];
    if constexpr (tiles::by_vectors) {
      constexpr int vectors = tiles::elements / width;
      if (tile >= first_ && tile + tiles::elements <= end_) {
        const staged* const from = in_.data + tile + lane_ * width;
        staged* const even = to + place_of_vector(lane_) * width;
        staged* const odd = to + (place_of_vector(32 + lane_) - 32) * width;
#pragma unroll
        for (int k = 0; k < vectors; k += 32) start_copy16((k % 64 == 0 ? even : odd) + k * width, from + k * width);
      } else if (tile < end_) {
#pragma unroll 1
        for (int vector = lane_; vector < vectors; vector += 32) {
          const int from = tile + vector * width;
          staged* const there = to + place_of_vector(vector) * width;
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
        if (tile + i < first_ || tile + i >= end_) continue;
        if constexpr (tiles::as_in_memory) {
          to[i] = in_.data[tile + i];
        } else {
          to[i] = in_.at(tile + i);
        }
      }
    }
    end_group();
  }

  // Asks for the ends of the next segments, if many of those are gone that are here; room is for all but one.
  __device__ __forceinline__ void fetch_offsets() {
    const int here = loaded_ - segment_;
    if (here >= tiles::ring / 2 + 32 || loaded_ == count_) return;
    const int room = (tiles::ring - 1 - here) / 32 * 32, wanted = room < ahead * 32 ? room : ahead * 32;
    const int most = count_ - loaded_ < wanted ? count_ : loaded_ + wanted;
#pragma unroll
    for (int k = 0; k < ahead; ++k) {
      if (loaded_ + k * 32 + lane_ < most) coming_[k] = offsets_[loaded_ + k * 32 + lane_ + 1];
    }
    loaded_ = most;
  }
  __device__ __forceinline__ void store_offsets() {
    if (ready_ == loaded_) return;
#pragma unroll
    for (int k = 0; k < ahead; ++k) {
      const int at = ready_ + k * 32 + lane_;
      if (at < loaded_) end_of(at) = static_cast<int>(static_cast<std::int64_t>(coming_[k]) - base_);
    }
    ready_ = loaded_;
    __syncwarp();
  }

  // The tile that begins with element `tile`, in one round or in several.
  __device__ __forceinline__ void work(int tile, const staged* elements, segments_left<state_type>& left) {
    int from = tile < first_ ? first_ - tile : 0;
    const int limit = end_ - tile < tiles::elements ? end_ - tile : tiles::elements;
    bool more;
#pragma unroll 1
    do {
      store_offsets();
      // `count` segments end in this round, `filled` of them have elements. The round is over where the tile is, or
      // with as many as there are slots for, or known ends.
      int count = 0, filled = 0, to = limit;
      more = false;
#pragma unroll 1
      for (;;) {
        const int at = segment_ + count + lane_;
        bool here = false, has_elements = false;
        int last = 0;
        if (at < ready_) {
          last = end_of(at) - 1;
          here = last < limit + tile;
          has_elements = here && last >= end_of(at - 1);
        }
        if (has_elements) atomicOr(&room_.ends[(last - tile) / items], 1u << (last - tile) % items);
        const unsigned int all_here = __ballot_sync(all, here);
        filled += __popc(__ballot_sync(all, has_elements));
        count += __popc(all_here);
        if (all_here != all) break;
        if (count == slots || segment_ + count + 32 > ready_) {
          if (segment_ + count == count_) break;
          if (count < slots && ready_ == count_) continue;
          more = true;
          to = end_of(segment_ + count - 1) - tile;
          break;
        }
      }
      __syncwarp();
      round(tile, elements, from, to, filled);
      if (count != 0) write(tile, count, filled, left);
      segment_ += count;
      fetch_offsets();
      from = to;
    } while (more);
  }

  // Elements from ... to - 1 of the tile, in which `filled` segments with elements end.
  __device__ __forceinline__ void round(int tile, const staged* elements, int from, int to, int filled) {
    const bool whole = from == 0 && to == tiles::elements;
    if (filled == 0) {  // every lane keeps what it has
      const std::int64_t at = tile + lane_ * items - open_from_;
      if (ordered<A>) {
        state_type state = a_.identity();
        go(state, elements, at, 0, 0, bits_between(from - lane_ * items, to - lane_ * items));
        scan(state, lane_, 0);
      } else {
        if (!spread_ && lane_ != 0) open_ = a_.identity();
        spread_ = true;
        if (whole) {
          go_without_ends(open_, elements, at);
        } else {
          go(open_, elements, at, 0, 0, bits_between(from - lane_ * items, to - lane_ * items));
        }
      }
      return;
    }
    gather();
    const unsigned int ends = room_.ends[lane_];
    room_.ends[lane_] = 0;
    const unsigned int with_ends = __ballot_sync(all, ends != 0), below = with_ends & ((1u << lane_) - 1);
    const int owner = 31 - __clz(static_cast<int>(below));  // the last lane before with an end, or -1
    // Where this lane's ends go, and where the segment begins that is open before its first element.
    int slot = __popc(ends);
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const int other = __shfl_up_sync(all, slot, step);
      if (lane_ >= step) slot += other;
    }
    slot += gap(filled, lane_) - __popc(ends);
    std::int64_t open_from = open_from_;
    if constexpr (A::indexed) {
      const unsigned int theirs = __shfl_sync(all, ends, owner < 0 ? 0 : owner);
      if (owner >= 0) open_from = tile + owner * items + 32 - __clz(static_cast<int>(theirs));
    }
    state_type state = a_.identity();
    const std::int64_t at = tile + lane_ * items - open_from;
    if (whole) {
      go(state, elements, at, ends, slot, all);
    } else {
      go(state, elements, at, ends, slot, bits_between(from - lane_ * items, to - lane_ * items));
    }
    scan(state, ends != 0 ? 0 : owner < 0 ? lane_ : lane_ - owner, ends, slot);
    if constexpr (A::indexed) {
      const int last = 31 - __clz(static_cast<int>(with_ends));
      open_from_ = tile + last * items + 32 - __clz(static_cast<int>(__shfl_sync(all, ends, last)));
    }
  }
  __device__ __forceinline__ static int gap(int filled, int lane) { return filled > 32 ? lane : 0; }

  // `state` is what is open behind this lane, of the lanes from lane - reach on, which is the last one at or before it
  // with an end, or lane 0. The first end of a lane (in `slot`) gets what was open before. Then open_ is what is open
  // behind all.
  __device__ __forceinline__ void scan(state_type state, int reach, unsigned int ends, int slot = 0) {
    if (lane_ == 0 && ends == 0) {
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
    if (ends != 0) {
      a_.merge(before, room_.slots.get(slot));
      room_.slots.put(room_.slots.at(slot), before);
    }
    __syncwarp();
    open_ = warp::from_lane(state, 31);
  }
  // What lanes have kept of the open segment.
  __device__ __forceinline__ void gather() {
    if (!spread_) return;
    open_ = merge_lanes(a_, open_, 32);
    spread_ = false;
  }

  // This lane's elements of which there is a bit in `inside`; `at` is the position of its first one. State by state to
  // the slots; what is open at the end stays in `state`.
  __device__ __forceinline__ void go(state_type& state, const staged* elements, std::int64_t at, unsigned int ends,
                                     int slot, unsigned int inside) {
    auto* to = room_.slots.at(slot);
#pragma unroll 1
    for (int i = 0; i < items; i += width) {
      element tile[width];
      if (inside == all || (inside & all >> (32 - width)) != 0) load(elements, i, tile);
#pragma unroll
      for (int k = 0; k < width; ++k) {
        const element one[1] = {tile[k]};
        if (inside >> k & 1) a_.add(state, one, positions<1>{at + i + k, 0});
        if (ends >> k & 1) {
          room_.slots.put(to, state);
          ++to;
          state = a_.identity();
          if constexpr (A::indexed) at = -(i + k + 1);
        }
      }
      if constexpr (width < 32) {
        ends >>= width;
        if (inside != all) inside >>= width;
      }
    }
  }
  // Bits low ... high - 1 of a lane's.
  __device__ __forceinline__ static unsigned int bits_between(int low, int high) {
    if (high <= 0 || low >= 32 || low >= high) return 0;
    return (high >= 32 ? all : (1u << high) - 1) & (low <= 0 ? all : all << low);
  }
  __device__ __forceinline__ void go_without_ends(state_type& state, const staged* elements, std::int64_t at) {
    constexpr int together = items / width < 4 ? 1 : 4;
#pragma unroll 1
    for (int i = 0; i < items; i += width * together) {
      element tile[width * together];
#pragma unroll
      for (int k = 0; k < together; ++k) load(elements, i + k * width, tile + k * width);
      a_.add(state, tile, positions<1>{at + i, 1});
    }
  }
  __device__ __forceinline__ void load(const staged* elements, int i, element* tile) const {
    if constexpr (tiles::by_vectors) {
      typename Source::template vector_of<width> vector;
      const uint4 bits = load_four(elements + lane_ * items + (i ^ turn_));
      memcpy(static_cast<void*>(&vector), &bits, sizeof(bits));
      in_.template unpack<width>(vector, tile);
    } else if constexpr (tiles::as_in_memory) {
      tile[0] = in_.project(elements[lane_ * items + i]);
    } else {
      tile[0] = elements[lane_ * items + i];
    }
  }

  // The results of the round's segments, a lane each.
  __device__ __forceinline__ void write(int tile, int count, int filled, segments_left<state_type>& left) {
    int slot = 0;
#pragma unroll 1
    for (int i = lane_; i - lane_ < count; i += 32) {
      const int at = segment_ + i, end = i < count ? end_of(at) : 0, before = i < count ? end_of(at - 1) : 0;
      const bool has_elements = i < count && end > before;
      const unsigned int with_elements = __ballot_sync(all, has_elements);
      const int mine = slot + __popc(with_elements & ((1u << lane_) - 1));
      slot += __popc(with_elements);
      state_type state = a_.identity();
      if (has_elements) state = room_.slots.get(mine + gap(filled, (end - 1 - tile) / items));
      if (has_elements && mine == 0 && !ended_) {
        left.head = state;
        left.segment = first_segment_ + at;
      } else if (i < count) {
        out_[at] = a_.finish(state, end - before);
      }
    }
    if (filled != 0) ended_ = true;
    __syncwarp();
  }

  const A& a_;
  const std::int64_t base_;
  const Source in_;
  const Offsets offsets_;
  typename A::result* const out_;
  shared& room_;
  const int lane_;
  const int turn_ = (lane_ * items / width / 8 & (items / width - 1)) * width;  // see place_of_vector
  const std::int64_t first_segment_;
  const int count_;             // segments
  const int first_, end_;       // elements of this warp
  const int low_, high_;        // as far as there are elements, and no further than a vector
  std::int64_t open_from_;      // where the open segment begins
  int segment_ = 0;             // the open one
  int ready_ = 0, loaded_ = 0;  // segments whose ends are in the ring; and in registers
  offset coming_[ahead];
  state_type open_;                      // what is open: in all lanes alike, or spread over them
  bool spread_ = false, ended_ = false;  // ended_: whether a segment has
};

}  // namespace coalesce::detail
