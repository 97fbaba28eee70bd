// Segments of elements without parts: one of four ways through a tile (see warp.cuh), for accumulators that are large,
// look at positions, or take long to merge.
//
// A lane goes through its elements one by one. Where a bit says that a segment ends, the lane stores its state to a
// slot in shared memory and begins anew: the same few instructions in all lanes, whatever the segments. The first end
// of a lane lacks what earlier lanes left open; a segmented scan adds it.
#pragma once

#include <coalesce/detail/segments/tiles.cuh>

namespace coalesce::detail {

// Values in shared memory, by words of 8 bytes or of 4. Where there are many, each lane's own have a gap before them:
// so lanes that end equally many segments do not use the same bank, unless that is an odd number.
template <class T, int N>
struct segment_slot_room {
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

template <class A, class Source>
class segment_slots : public open_segment<A> {
  using base = open_segment<A>;
  using base::a_;
  using base::all;
  using base::lane_;
  using base::open_;
  using tiles = segment_tiles<A, Source>;
  using staged = typename tiles::staged;
  using element = typename A::element;
  using state_type = typename A::state;
  static constexpr int width = tiles::width, items = tiles::items;

 public:
  // Ends in a round. 4 warps are to have enough with 48 KB, and 5 times 4 with a multiprocessor's.
  static constexpr int most = shape<A>::state_words <= 2 ? 192 : shape<A>::state_words <= 4 ? 96 : 32;

  struct shared {
    segment_slot_room<state_type, most> slots;
    unsigned int ends[32];  // of the round: a bit for each element of a lane, the last one of a segment
    unsigned int done[32];  // of the round that was worked at
    int first[32];          // a lane's first slot
  };

  __device__ __forceinline__ segment_slots(const A& a, const Source& in, shared& room) : base(a), in_(in), room_(room) {
    room_.ends[lane_] = 0;
  }

  // The reader of marks clears them.
  __device__ __forceinline__ void clear() {}
  // Element `place` is a segment's last.
  __device__ __forceinline__ void mark(unsigned int place) {
    atomicOr(&room_.ends[place / items], 1u << place % items);
  }

  // A tile in which no segment ends; the open one begins at element `opened`.
  __device__ __forceinline__ void without_ends(staged* elements, std::int64_t opened) {
    if constexpr (ordered<A>) {
      round(elements, 0, tiles::elements, opened);
    } else {
      base::spread();
      add_vectors<0>(elements, opened);
    }
  }

  // Elements from ... to - 1 of a tile, in which segments end where it is marked.
  __device__ __forceinline__ void round(staged* elements, int from, int to, std::int64_t opened) {
    base::open();
    const unsigned int ends = room_.ends[lane_];
    const int owner = base::owner_of(ends != 0);
    // The slots of this lane's ends, and the beginning of the segment that is open before its first element.
    int slot = __popc(ends);
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const int other = __shfl_up_sync(all, slot, step);
      if (lane_ >= step) slot += other;
    }
    const bool many = __shfl_sync(all, slot, 31) > 32;
    slot += (many ? lane_ : 0) - __popc(ends);
    room_.ends[lane_] = 0;
    room_.done[lane_] = ends;
    room_.first[lane_] = slot;
    if constexpr (A::indexed) {
      const unsigned int theirs = __shfl_sync(all, ends, owner < 0 ? 0 : owner);
      if (owner >= 0) opened = owner * items + 32 - __clz(static_cast<int>(theirs));
    }
    state_type state = a_.identity();
    if (from == 0 && to == tiles::elements) {
      go(state, elements, lane_ * items - opened, ends, slot, all);
    } else {
      const unsigned int inside = base::bits_between(from - lane_ * items, to - lane_ * items);
      go(state, elements, lane_ * items - opened, ends, slot, inside);
    }
    scan(state, owner, ends, slot);
  }

  // The warp's result of the segment that ends with element `last`.
  __device__ __forceinline__ state_type value_at(staged*, unsigned int last, int) {
    const unsigned int lane = last / items, before = room_.done[lane] & ((1u << last % items) - 1);
    return room_.slots.get(room_.first[lane] + __popc(before));
  }

  // The warp's share ends here: what is open is that.
  __device__ __forceinline__ void cut(staged*, int, int) {}

 private:
  // All of this lane's elements from vector First on, a power of two of them together, as add() requires.
  template <int First>
  __device__ __forceinline__ void add_vectors(const staged* elements, std::int64_t opened) {
    constexpr int left = items / width - First, count = left >= 4 ? 4 : left >= 2 ? 2 : 1;
    const int first = lane_ * items + First * width;
    element tile[count * width];
#pragma unroll
    for (int k = 0; k < count; ++k) load_shared<A>(in_, elements, first + k * width, tile + k * width);
    a_.add(open_, tile, positions<1>{first - opened, 1});
    if constexpr (left > count) add_vectors<First + count>(elements, opened);
  }

  // The first end of a lane (in `slot`) gets what was open before. Then open_ is what is open behind all.
  __device__ __forceinline__ void scan(state_type state, int owner, unsigned int ends, int slot) {
    state_type before = base::scan_open(state, owner, ends != 0);
    if (ends != 0) {
      a_.merge(before, room_.slots.get(slot));
      room_.slots.put(room_.slots.at(slot), before);
    }
    __syncwarp();
    open_ = warp::from_lane(state, 31);
  }

  // This lane's elements of which there is a bit in `inside`; `at` is the position of its first one. State by state to
  // the slots; what is open at the end stays in `state`.
  __device__ __forceinline__ void go(state_type& state, const staged* elements, std::int64_t at, unsigned int ends,
                                     int slot, unsigned int inside) {
    auto* to = room_.slots.at(slot);
#pragma unroll 1
    for (int i = 0; i < items; i += width) {
      element tile[width];
      if ((inside & all >> (32 - width)) != 0) load_shared<A>(in_, elements, lane_ * items + i, tile);
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
      ends >>= width;
      if (inside != all) inside >>= width;
    }
  }

  const Source in_;
  shared& room_;
};

}  // namespace coalesce::detail
