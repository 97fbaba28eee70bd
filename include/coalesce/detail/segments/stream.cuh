// A warp's reads of ragged segments (warp.cuh): tiles of elements, copied to shared memory while earlier ones are in
// work, and the ends of segments, each offset once, in a ring.
#pragma once

#include <coalesce/detail/segments/tiles.cuh>

namespace coalesce::detail {

template <class A, class Source, class Offsets>
class segment_stream {
  using offset = offset_type<Offsets>;
  using tiles = segment_tiles<A, Source>;
  using staged = typename tiles::staged;
  static constexpr int width = tiles::width, stages = tiles::stages;
  static constexpr std::int64_t more_than_cached = 128 << 20;  // bytes: L2 has up to 60 MB

 protected:
  static constexpr int ring = tiles::bytes_of_ends / sizeof(offset);  // segments whose ends are kept
  static constexpr unsigned int all = 0xffffffffu;
  static constexpr int fetched_ahead = 160;  // ends, about: at least

  struct shared {
    // A copied line must not lie in two lines of shared memory: that costs two accesses.
    alignas(128) room<staged, tiles::elements> elements[stages];
    offset ends[ring];  // segment s ends at ends[s % ring]
  };

  // Segments segment ... segment + count - 1 end in elements first ... end - 1, or behind the last of these; `begin` is
  // where the first of them begins. There are elements from `lowest` to `highest` - 1, in all.
  //
  // Elements are counted from the warp's first tile, which begins at a line of the cache; segments from its first one.
  __device__ __forceinline__ segment_stream(const Source& in, const Offsets& offsets, shared& room,
                                            std::int64_t segment, int count, std::int64_t begin, std::int64_t first,
                                            std::int64_t end, std::int64_t lowest, std::int64_t highest)
      : base_(tile_of(in, first)),
        in_(in.from(base_)),
        offsets_(offsets_from(offsets, segment)),
        room_(room),
        lane_(threadIdx.x % 32),
        count_(count),
        first_(static_cast<int>(first - base_)),
        end_(static_cast<int>(end - base_)),
        low_(first - lowest >= width ? first_ - width : first_ - static_cast<int>(first - lowest)),
        high_(highest - end >= width ? end_ + width : end_ + static_cast<int>(highest - end)),
        begin_(begin - base_),
        policy_(
            policy_of((highest - lowest) * tiles::size > more_than_cached ? place_in_l2::first : place_in_l2::usual)) {}

  // Starts to copy.
  __device__ __forceinline__ void start() {
    if (lane_ == 0) {
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
  }

  // The tile that begins with element `tile`. All lanes are done with the one before.
  __device__ __forceinline__ staged* wait_for_tile(int tile) {
    staged* const elements = &room_.elements[at_][0];
    fetch_ends();
    stage(tile + (stages - 1) * tiles::elements, at_ == 0 ? stages - 1 : at_ - 1);
    wait_for_groups<stages - 1>();
    ready_ = stages == 1 ? loaded_ : copied_[0];
#pragma unroll
    for (int k = 0; k + 2 < stages; ++k) copied_[k] = copied_[k + 1];
    copied_[stages < 2 ? 0 : stages - 2] = loaded_;
    __syncwarp();
    at_ = at_ == stages - 1 ? 0 : at_ + 1;
    return elements;
  }

  // Until the ends of the next 32 segments are there, or there are no more.
  __device__ __forceinline__ void know_ends() {
#pragma unroll 1
    while (segment_ + 32 > ready_ && ready_ < count_) {
      if (ready_ == loaded_) {
        __syncwarp();  // others may still look at the ends in whose places these come
        fetch_ends();
        end_group();
      }
      wait_for_ends();
    }
  }
  // Within a tile: issues loads of ends into the places of ends that have been used, so that they arrive with the next
  // tile.
  __device__ __forceinline__ void fetch_ahead() {
    if constexpr (stages == 2) {
      if (loaded_ + fetched_ahead < segment_ + ring && loaded_ < count_) {
        __syncwarp();  // others may still look at the ends in whose places these come
        fetch_ends();
        end_group();
        copied_[0] = loaded_;
      }
    }
  }
  // The beginning of the tile that holds `first`.
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
      // Places without an element get a neighbour's, because they are read by vectors.
      for (int i = lane_; i < tiles::elements && tile < end_; i += 32) {
        const int here = tile + i < first_ ? first_ : tile + i < end_ ? tile + i : end_ - 1;
        if (tiles::by_vectors || here == tile + i) to[i] = in_.at(here);
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
      offset* const there = &room_.ends[place_of(i)];
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
  // In the ring, of segment i, from -1 on.
  __device__ __forceinline__ static int place_of(int i) {
    if constexpr ((ring & (ring - 1)) == 0) {
      return i & (ring - 1);
    } else {
      return static_cast<int>(static_cast<unsigned int>(i + ring) % ring);
    }
  }
  // The end of segment i, or the beginning of segment i + 1. Both it and base_ may be large, but not what is between.
  __device__ __forceinline__ int end_of(int i) const {
    return static_cast<int>(static_cast<unsigned int>(room_.ends[place_of(i)]) - static_cast<unsigned int>(base_));
  }

  const std::int64_t base_;
  const Source in_;
  const Offsets offsets_;
  shared& room_;
  const int lane_;
  const int count_;                  // segments
  const int first_, end_;            // elements of this warp
  const int low_, high_;             // as far as there are elements, and no further than a vector
  const std::int64_t begin_;         // where the first segment begins
  const unsigned long long policy_;  // of copies of elements
  int segment_ = 0;                  // the open one
  int ready_ = 0, loaded_ = 0;       // segments whose ends are in the ring; and on their way there
  int copied_[stages];               // what loaded_ was when the tiles were asked for that are on their way
  int at_ = 0;                       // where the next tile is
};

}  // namespace coalesce::detail
