// Segments of elements with an accumulator's `part`: one of four ways through a tile (see warp.cuh). The part of a few
// neighbours is left in the place of each element.
//
// A lane adds its elements from left to right, anew behind each segment's last one, and in groups of up to 8, so that
// sums keep their bound (detail/accumulators/sum.cuh). That is one predicated addition for each element, whatever the
// number of segments. The part at a segment's end lacks the segment's elements in earlier groups: a segmented scan adds
// what is open before each group, in as many steps as there are lanes between two ends.
//
// An element outside this round counts as a segment's last, so that none is added to it.
#pragma once

#include <coalesce/detail/segments/tiles.cuh>

namespace coalesce::detail {

template <class A, class Source>
class segment_parts : public open_segment<A> {
  using base = open_segment<A>;
  using base::a_;
  using base::all;
  using base::lane_;
  using base::open_;
  using tiles = segment_tiles<A, Source>;
  using staged = typename tiles::staged;
  using element = typename A::element;
  using part = typename A::part;
  using state_type = typename A::state;
  static constexpr int width = tiles::width, items = tiles::items, part_width = 16 / static_cast<int>(sizeof(part));
  static constexpr int group = items % 7 == 0 ? 7 : items % 8 == 0 ? 8 : items % 6 == 0 ? 6 : 5, groups = items / group;
  static_assert(items % group == 0 && groups <= 4);
  static constexpr bool in_place = tiles::part_bytes == 0;
  // In the place of elements of a later round parts would be projected as if they were elements.
  static constexpr bool keeps_others = in_place && tiles::copied && Source::projects;
  // Elements of a lane, in vectors: an odd number of vectors where parts have room of their own.
  static constexpr int stored = (items + part_width - 1) / part_width * part_width;
  static constexpr int part_items = stored / part_width % 2 ? stored : stored + part_width;

 public:
  static constexpr int most = 1 << 30;  // ends in a round: any number

  struct in_elements {};
  struct of_its_own {
    room<part, 32 * part_items> parts;
  };
  struct shared : std::conditional_t<in_place, in_elements, of_its_own> {
    union {
      room<state_type, 32 * groups> carry;
      // Before the parts: a bit for each element of a lane that is a segment's last, a byte for each group.
      unsigned int marks[32];
    };
  };

  __device__ __forceinline__ segment_parts(const A& a, const Source& in, shared& room)
      : base(a), in_(in), room_(room) {}

  // Nothing is marked.
  __device__ __forceinline__ void clear() {
    room_.marks[lane_] = 0;
    __syncwarp();
  }

  // Element `last` is a segment's last.
  __device__ __forceinline__ void mark(unsigned int last) {
    const place at(last);
    atomicOr(&room_.marks[at.lane], 1u << bit_of(at.group, at.item));
  }

  // A tile in which no segment ends.
  __device__ __forceinline__ void without_ends(const staged* elements, std::int64_t) {
    base::spread();
    element tile[items];
#pragma unroll
    for (int i = 0; i < items; i += width) load_shared<A>(in_, elements, lane_ * items + i, tile + i);
    a_.add(open_, tile, positions<1>{0, 1});
  }

  // Elements from ... to - 1 of a tile, in which segments end where it is marked.
  __device__ __forceinline__ void round(staged* elements, int from, int to, std::int64_t) {
    if (from == 0 && to == tiles::elements) {
      go<true>(elements, from, to);
    } else {
      go<false>(elements, from, to);
    }
  }

  // The warp's result of the segment that ends with element `last`. `begin`: where it begins, if in this tile.
  __device__ __forceinline__ state_type value_at(staged* elements, unsigned int last, int begin) {
    const place at(last);
    state_type state = a_.identity();
    if (begin < static_cast<int>(last - at.item)) state = room_.carry[at.group * 32 + at.lane];
    a_.add_part(state, parts_of(elements)[in_place ? last : last + at.lane * (part_items - items)]);
    return state;
  }

  // The warp's share ends behind element `to` - 1 of a round's, and the segment that is open there begins at `begin`.
  __device__ __forceinline__ void cut(staged* elements, int to, int begin) {
    open_ = a_.identity();
    if (begin < to) open_ = value_at(elements, to - 1, begin);
  }

 private:
  // The place of an element: the lane, the lane's group, and the number in that.
  struct place {
    unsigned int lane, group, item;
    __device__ __forceinline__ explicit place(unsigned int i) {
      lane = i / items;
      const unsigned int mine = i - lane * items;
      group = mine / segment_parts::group;
      item = mine - group * segment_parts::group;
    }
  };
  __device__ __forceinline__ static constexpr int bit_of(int g, int item) { return 8 * g + item; }
  __device__ __forceinline__ part* parts_of(staged* elements) {
    if constexpr (in_place) {
      return reinterpret_cast<part*>(elements);
    } else {
      return &static_cast<of_its_own&>(room_).parts[0];
    }
  }

  template <bool Whole>
  __device__ __forceinline__ void go(staged* elements, int from, int to) {
    base::open();
    const int first = lane_ * items;
    unsigned int bits = room_.marks[lane_];
    if (!Whole) {
#pragma unroll
      for (int k = 0; k < items; ++k) {
        if (first + k < from || first + k >= to) bits |= 1u << bit_of(k / group, k % group);
      }
    }
    const auto inside = [&](int i, int count) { return Whole || (first + i + count > from && first + i < to); };
    element x[items] = {};
#pragma unroll
    for (int i = 0; i < items; i += width) {
      if (inside(i, width)) load_shared<A>(in_, elements, first + i, x + i);
    }
    part p[stored] = {};
#pragma unroll
    for (int k = 0; k < items; ++k) {
      p[k] = a_.part_of(x[k]);
      if (k % group != 0 && !(bits >> bit_of(k / group, k % group - 1) & 1)) p[k] = a_.join(p[k - 1], p[k]);
    }
#pragma unroll
    for (int i = 0; i < stored; i += part_width) {
      if (!inside(i, part_width)) continue;
      uint4 four;
      memcpy(&four, p + i, 16);
      if constexpr (!Whole && keeps_others) {
        const uint4 elements_there = load_four(elements + first + i);
        part mine[part_width], others[part_width];
        memcpy(mine, &four, 16);
        memcpy(others, &elements_there, 16);
#pragma unroll
        for (int k = 0; k < part_width; ++k) {
          if (first + i + k < from || first + i + k >= to) mine[k] = others[k];
        }
        memcpy(&four, mine, 16);
      }
      store_four(parts_of(elements) + lane_ * part_items + i, four);
    }
    scan(bits, p);
  }

  __device__ __forceinline__ void scan(unsigned int bits, const part (&p)[stored]) {
    state_type state = a_.identity();
#pragma unroll
    for (int g = 0; g < groups; ++g) pass(state, bits, g, p);
    state_type carry[groups];
    carry[0] = base::scan_open(state, base::owner_of(bits != 0), bits != 0);
    open_ = warp::from_lane(state, 31);
#pragma unroll
    for (int g = 1; g < groups; ++g) {
      carry[g] = carry[g - 1];
      pass(carry[g], bits, g - 1, p);
    }
    __syncwarp();  // the marks have been looked at
#pragma unroll
    for (int g = 0; g < groups; ++g) room_.carry[g * 32 + lane_] = carry[g];
    __syncwarp();
  }
  // Leads from the state that is open before a group to the one behind it.
  __device__ __forceinline__ void pass(state_type& state, unsigned int bits, int g, const part (&p)[stored]) const {
    if (bits >> bit_of(g, 0) & ((1u << group) - 1)) state = a_.identity();
    if (!(bits >> bit_of(g, group - 1) & 1)) a_.add_part(state, p[g * group + group - 1]);
  }

  const Source in_;
  shared& room_;
};

}  // namespace coalesce::detail
