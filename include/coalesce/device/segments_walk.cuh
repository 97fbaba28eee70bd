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

// How a warp's tiles lie. Elements of one array are staged as they are in memory; those of two, or of sizes that no
// vector is made of, one by one.
template <class A, class Source, class Offset>
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
  // Segments that may end in a round: 4 warps are to have enough with 48 KB.
  static constexpr int words = shape<A>::state_words + static_cast<int>(sizeof(Offset)) / 4;
  static constexpr int slots = words <= 3 ? 256 : words <= 6 ? 128 : words <= 12 ? 64 : 32;
};

// Values in shared memory, by words of 8 bytes or of 4.
template <class T, int N>
struct segment_slots {
  using word = std::conditional_t<sizeof(T) % 8 == 0, unsigned long long, unsigned int>;
  static constexpr int count = (sizeof(T) + sizeof(word) - 1) / sizeof(word), row = 128 / sizeof(word);
  word words[count][N + N / row];

  __device__ __forceinline__ void put(unsigned int slot, const T& value) {
    word bits[count] = {};
    memcpy(bits, &value, sizeof(T));
#pragma unroll
    for (int w = 0; w < count; ++w) words[w][slot + slot / row] = bits[w];
  }
  __device__ __forceinline__ T get(unsigned int slot) const {
    word bits[count];
#pragma unroll
    for (int w = 0; w < count; ++w) bits[w] = words[w][slot + slot / row];
    T value;
    memcpy(static_cast<void*>(&value), bits, sizeof(T));
    return value;
  }
};

// Shared memory of a warp.
template <class A, class Source, class Offset>
struct segments_room {
  using tiles = segment_tiles<A, Source, Offset>;
  room<typename tiles::staged, tiles::elements> elements[tiles::stages];
  segment_slots<typename A::state, tiles::slots> slots;
  Offset ring[tiles::slots];  // segment s ends at ring[s % slots]
  unsigned int ends[32];      // a bit for each element of a lane: the last one of a segment
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
  using tiles = segment_tiles<A, Source, offset>;
  using staged = typename tiles::staged;
  using element = typename A::element;
  using state_type = typename A::state;
  static constexpr int width = tiles::width, items = tiles::items, slots = tiles::slots, stages = tiles::stages;
  static constexpr int ahead = slots < 128 ? slots / 32 : 4;  // registers for what comes into the ring
  static constexpr unsigned int all = 0xffffffffu;

 public:
  using shared = segments_room<A, Source, offset>;
  static constexpr int tile_elements = tiles::elements;

  __device__ __forceinline__ segments_walk(const A& a, const Source& in, const Offsets& offsets,
                                           typename A::result* out, shared& room)
      : a_(a), in_(in), offsets_(offsets), out_(out), room_(room), lane_(threadIdx.x % 32) {}

  // Segments segment ... stop - 1 end in elements first ... end - 1, or behind the last of these; `begin` is where the
  // first of them begins. There are elements from `lowest` to `highest` - 1, in all. All lanes call it.
  __device__ __forceinline__ void run(std::int64_t segment, std::int64_t stop, std::int64_t begin, std::int64_t first,
                                      std::int64_t end, std::int64_t lowest, std::int64_t highest,
                                      segments_left<state_type>& left) {
    segment_ = loaded_ = segment, stop_ = stop, begin_ = begin;
    first_ = first, end_ = end, lowest_ = lowest, highest_ = highest;
    fetch_offsets();
    carry_ = a_.identity();
    ended_ = false;
    if (lane_ == 0) left.segment = -1;
    room_.ends[lane_] = 0;
    // Tiles begin at a line of the cache.
    const int lead = tiles::by_vectors ? static_cast<int>(address() % 128) / tiles::size : 0;
    std::int64_t tile = (first + lead) / tiles::elements * tiles::elements - lead;
#pragma unroll 1
    for (int k = 0; k < stages - 1; ++k) stage(tile + k * tiles::elements, k);
    int at = 0;
    do {
      stage(tile + (stages - 1) * tiles::elements, at == 0 ? stages - 1 : at - 1);
      wait_for_groups<stages - 1>();
      __syncwarp();
      work(tile, &room_.elements[at][0], left);
      at = at == stages - 1 ? 0 : at + 1;
      tile += tiles::elements;
    } while (tile < end);
    if (lane_ == 0) left.tail = carry_;
  }

 private:
  __device__ __forceinline__ std::uintptr_t address() const {
    if constexpr (tiles::by_vectors) return reinterpret_cast<std::uintptr_t>(in_.data);
    return 0;
  }
  // Where element i of a tile lies.
  __device__ __forceinline__ static int place(int i) {
    if constexpr (!tiles::by_vectors) return i;
    const int vector = i / width;
    return place_of_vector(vector) * width + i % width;
  }
  __device__ __forceinline__ static int place_of_vector(int vector) {
    return vector ^ (vector / 8 & (items / width - 1));
  }

  // Starts copying the elements of the tile that begins with element `tile`, those of this warp.
  __device__ __forceinline__ void stage(std::int64_t tile, int at) {
    staged* const to = &room_.elements[at][0];
    if constexpr (tiles::by_vectors) {
      constexpr int vectors = tiles::elements / width;
      if (tile >= first_ && tile + tiles::elements <= end_) {
#pragma unroll
        for (int k = 0; k < vectors; k += 32) {
          start_copy16(to + place_of_vector(k + lane_) * width, in_.data + tile + (k + lane_) * width);
        }
      } else {
#pragma unroll 1
        for (int vector = lane_; vector < vectors; vector += 32) {
          const std::int64_t from = tile + vector * width;
          staged* const there = to + place_of_vector(vector) * width;
          if (from + width <= first_ || from >= end_) continue;
          if (from >= lowest_ && from + width <= highest_) {
            start_copy16(there, in_.data + from);
          } else {
            for (int k = 0; k < width; ++k) {
              if (from + k >= lowest_ && from + k < highest_) there[k] = in_.data[from + k];
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

  // Asks for the ends of the next segments, as many as the ring will have room for.
  __device__ __forceinline__ void fetch_offsets() {
    const std::int64_t most = segment_ + slots < stop_ ? segment_ + slots : stop_;
    ready_ = loaded_;
#pragma unroll
    for (int k = 0; k < ahead; ++k) {
      if (loaded_ + k * 32 + lane_ < most) coming_[k] = offsets_[loaded_ + k * 32 + lane_ + 1];
    }
    loaded_ = loaded_ + ahead * 32 < most ? loaded_ + ahead * 32 : most;
  }
  __device__ __forceinline__ void store_offsets() {
#pragma unroll
    for (int k = 0; k < ahead; ++k) {
      const std::int64_t at = ready_ + k * 32 + lane_;
      if (at < loaded_) room_.ring[at % slots] = coming_[k];
    }
    ready_ = loaded_;
    __syncwarp();
  }

  // A bit in room_.ends for each segment that ends behind element `last` of the tile; `here` says whether one does.
  // Lanes are in the order of their ends: those with one word of bits are neighbours.
  __device__ __forceinline__ void mark(int last, bool here) {
    const int word = last >= 0 ? last / items : -1;
    unsigned int bits = here ? 1u << (last - word * items) : 0;
#pragma unroll 1
    for (int step = 1; step < 32; step *= 2) {
      const int other_word = __shfl_up_sync(all, word, step);
      const unsigned int other = __shfl_up_sync(all, bits, step);
      const bool same = lane_ >= step && other_word == word;
      if (same) bits |= other;
      if (!__any_sync(all, same)) break;
    }
    const int next = __shfl_down_sync(all, word, 1);
    if (bits && (lane_ == 31 || next != word)) room_.ends[word] |= bits;
    __syncwarp();
  }

  // The tile that begins with element `tile`.
  __device__ __forceinline__ void work(std::int64_t tile, const staged* elements, segments_left<state_type>& left) {
    int from = tile < first_ ? static_cast<int>(first_ - tile) : 0;
    const int limit = end_ - tile < tiles::elements ? static_cast<int>(end_ - tile) : tiles::elements;
    bool more = true;
    while (more) {
      store_offsets();
      // Which segments end in this round: `count` of them. The round is over where the tile is, or what the ring holds.
      int count = 0, filled = 0, to = limit;
      int before = begin_ < tile ? -1 : static_cast<int>(begin_ - tile);
      more = false;
      for (;;) {
        const std::int64_t at = segment_ + count + lane_;
        int end = tiles::elements + 1;
        if (at < stop_) {
          const std::int64_t away = static_cast<std::int64_t>(room_.ring[at % slots]) - tile;
          if (away < end) end = static_cast<int>(away);
        }
        const bool here = end <= limit;
        const int previous = __shfl_up_sync(all, end, 1);
        const bool has_elements = here && end != (lane_ == 0 ? before : previous);
        filled += __popc(__ballot_sync(all, has_elements));
        mark(end - 1, has_elements);
        const int how_many = __popc(__ballot_sync(all, here));
        count += how_many;
        if (how_many < 32) break;
        before = __shfl_sync(all, end, 31);
        if (segment_ + count == stop_) break;
        if (segment_ + count + 32 > ready_ && ready_ < stop_) {
          more = true;
          to = before;
          break;
        }
      }
      round(tile, elements, from, to, filled);
      write(count, filled, left);
      segment_ += count;
      fetch_offsets();
      from = to;
    }
  }

  // Elements from ... to - 1 of the tile, in which `filled` segments with elements end.
  __device__ __forceinline__ void round(std::int64_t tile, const staged* elements, int from, int to, int filled) {
    const unsigned int ends = room_.ends[lane_];
    const unsigned int with_ends = __ballot_sync(all, ends != 0), below = with_ends & ((1u << lane_) - 1);
    // What has ended in the lanes before, and where the segment begins that is open before this lane's first element.
    int slot = 0;
    std::int64_t open_begin = begin_;
    if (filled != 0) {
      int sum = __popc(ends);
#pragma unroll
      for (int step = 1; step < 32; step *= 2) {
        const int other = __shfl_up_sync(all, sum, step);
        if (lane_ >= step) sum += other;
      }
      slot = sum - __popc(ends);
      if constexpr (A::indexed) {
        const int owner = below ? 31 - __clz(static_cast<int>(below)) : 0;
        const unsigned int theirs = __shfl_sync(all, ends, owner);
        if (below) open_begin = tile + owner * items + 32 - __clz(static_cast<int>(theirs));
      }
      room_.ends[lane_] = 0;
    }
    const int first_slot = slot;
    state_type state = a_.identity();
    const std::int64_t at = tile + lane_ * items - open_begin;
    if (from == 0 && to == tiles::elements) {
      if (filled == 0) {
        go_without_ends(state, elements, at);
      } else {
        go(state, elements, at, ends, slot, 0, items);
      }
    } else {
      go(state, elements, at, ends, slot, from - lane_ * items, to - lane_ * items);
    }

    // What is open behind each lane: lane - reach is the last lane at or before it with an end, or lane 0.
    const unsigned int ended = with_ends & (all >> (31 - lane_));
    const int reach = ended ? lane_ - (31 - __clz(static_cast<int>(ended))) : lane_;
    if (lane_ == 0 && ends == 0) {
      state_type whole = carry_;
      a_.merge(whole, state);
      state = whole;
    }
#pragma unroll 1
    for (int step = 1; step < 32; step *= 2) {
      if (!__any_sync(all, reach >= step)) break;
      state_type other = warp::from_below(state, step);
      if (reach >= step) {
        a_.merge(other, state);
        state = other;
      }
    }
    if (filled != 0) {
      state_type open = warp::from_below(state, 1);
      if (lane_ == 0) open = carry_;
      if (ends != 0) {
        a_.merge(open, room_.slots.get(first_slot));
        room_.slots.put(first_slot, open);
      }
      __syncwarp();
    }
    carry_ = warp::from_lane(state, 31);
  }

  // This lane's elements low ... high - 1, of those it has; `at` is the position of its first one. State by state to
  // the slots; what is open at the end stays in `state`.
  __device__ __forceinline__ void go(state_type& state, const staged* elements, std::int64_t at, unsigned int ends,
                                     int slot, int low, int high) {
#pragma unroll 1
    for (int i = 0; i < items; i += width) {
      element tile[width];
      load(elements, i, tile);
#pragma unroll
      for (int k = 0; k < width; ++k) {
        const element one[1] = {tile[k]};
        if (i + k >= low && i + k < high) a_.add(state, one, positions<1>{at + i + k, 0});
        if (ends >> k & 1) {
          room_.slots.put(slot, state);
          ++slot;
          state = a_.identity();
          if constexpr (A::indexed) at = -(i + k + 1);
        }
      }
      if constexpr (width < 32) ends >>= width;
    }
  }
  __device__ __forceinline__ void go_without_ends(state_type& state, const staged* elements, std::int64_t at) {
#pragma unroll 1
    for (int i = 0; i < items; i += width) {
      element tile[width];
      load(elements, i, tile);
      a_.add(state, tile, positions<width>{at + i, 0});
    }
  }
  __device__ __forceinline__ void load(const staged* elements, int i, element (&tile)[width]) const {
    if constexpr (tiles::by_vectors) {
      typename Source::template vector_of<width> vector;
      const uint4 bits = load_four(elements + place_of_vector((lane_ * items + i) / width) * width);
      memcpy(static_cast<void*>(&vector), &bits, sizeof(bits));
      in_.template unpack<width>(vector, tile);
    } else if constexpr (tiles::as_in_memory) {
      tile[0] = in_.project(elements[lane_ * items + i]);
    } else {
      tile[0] = elements[lane_ * items + i];
    }
  }

  // The results of the round's segments, a lane each.
  __device__ __forceinline__ void write(int count, int filled, segments_left<state_type>& left) {
    int slot = 0;
    for (int i = 0; i < count; i += 32) {
      const std::int64_t at = segment_ + i + lane_;
      const bool here = i + lane_ < count;
      const std::int64_t end = here ? static_cast<std::int64_t>(room_.ring[at % slots]) : 0;
      std::int64_t before = warp::from_below(end, 1);
      if (lane_ == 0) before = begin_;
      const bool has_elements = here && end != before;
      const unsigned int with_elements = __ballot_sync(all, has_elements);
      const int mine = slot + __popc(with_elements & ((1u << lane_) - 1));
      if (here) {
        const state_type state = has_elements ? room_.slots.get(mine) : a_.identity();
        if (has_elements && mine == 0 && !ended_) {
          left.head = state;
          left.segment = at;
        } else {
          out_[at] = a_.finish(state, end - before);
        }
      }
      slot += __popc(with_elements);
      begin_ = warp::from_lane(end, count - i < 32 ? count - i - 1 : 31);
    }
    if (filled != 0) ended_ = true;
    __syncwarp();
  }

  const A& a_;
  const Source in_;
  const Offsets offsets_;
  typename A::result* const out_;
  shared& room_;
  const int lane_;

  std::int64_t segment_, stop_, begin_;  // the open segment, the one behind the last; where the open one begins
  std::int64_t ready_, loaded_;          // segments whose ends are in the ring; and in registers
  std::int64_t first_, end_;             // elements of this warp
  std::int64_t lowest_, highest_;        // of all
  offset coming_[ahead];
  state_type carry_;  // what is open, in all lanes alike
  bool ended_;        // whether a segment has
};

}  // namespace coalesce::detail
