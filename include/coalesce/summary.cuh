// Exact statistics of data in device memory that comes in parts, or lies on several devices: the exact sum, the exact
// sum of squares, the least and the largest element with their positions, the count. Parts merge in any order to the
// same bytes.
//
//   coalesce::summary<float> all;
//   all.add(part, count, first, stream);              // elements first … first + count - 1 of the whole
//   coalesce::nccl::allreduce(all, gathered, comm, stream);      // or all.merge(other, stream)
//   all.read(out, stream);                            // coalesce::statistics<float> in device memory
//
//   reproducible   (words: coalesce/reduce.cuh)
//   summary        elements and their positions, however they were added and merged
//
// T is __half, __nv_bfloat16, float or double. Mean and variance are rounded once; NaN and infinities as in
// coalesce/exact.cuh, min and max as in coalesce/reduce.cuh, of zeros +0.
#pragma once

#include <coalesce/detail/exact/variance.hpp>
#include <coalesce/exact.cuh>
#include <coalesce/reduce.cuh>

namespace coalesce {

// A summary keeps these. Each costs a reading of the data.
struct parts_of_summary {
  bool sum = true, squares = true, extremes = true;
};

namespace detail {

struct both_found {
  found low, high;
};

// The least and the largest element's keys and positions in one reading.
template <class T>
struct both_positions {
  using element = T;
  using result = both_found;
  using state = both_found;
  static constexpr bool indexed = true;
  using smallest = extreme_position<T, smaller>;
  using largest = extreme_position<T, larger>;

  __device__ state identity() const { return {smallest().identity(), largest().identity()}; }
  template <int N, class At>
  __device__ __forceinline__ void add(state& s, const T (&tile)[N], At at) const {
    const auto least = first_of_tile<smaller, false>(tile);
    const auto most = first_of_tile<larger, false>(tile);
    smallest().add_best(s.low, least, tile, at);
    largest().add_best(s.high, most, tile, at);
  }
  __device__ __forceinline__ void merge(state& into, const state& from) const {
    smallest().merge(into.low, from.low);
    largest().merge(into.high, from.high);
  }
  __device__ __forceinline__ void merge_warp(state& s) const {
    smallest().merge_warp(s.low);
    largest().merge_warp(s.high);
  }
  __device__ result finish(const state& s, std::int64_t) const { return s; }
};

// As it lies in device memory and travels: the bytes of one summary are the same on every rank.
template <class T>
struct summary_state {
  coalesce::exact::total<coalesce::exact::format<T>::sum> sum;
  coalesce::exact::total<coalesce::exact::format<T>::dot> squares;
  unsigned long long count;
  both_found extremes;
};

template <class T>
COALESCE_EXACT_CALL void clear(summary_state<T>& s) {
  coalesce::exact::clear(s.sum);
  coalesce::exact::clear(s.squares);
  s.count = 0;
  s.extremes = {{0, 0}, {0, 0}};
}
template <class T>
__device__ void merge(summary_state<T>& into, const summary_state<T>& from) {
  coalesce::exact::merge(into.sum, from.sum);
  coalesce::exact::merge(into.squares, from.squares);
  into.count += from.count;
  both_positions<T>().merge(into.extremes, from.extremes);
}

template <class T>
__global__ void clear_summary(summary_state<T>* s) {
  clear(*s);
}
template <class T>
__global__ void merge_summary(summary_state<T>* into, const summary_state<T>* from) {
  merge(*into, *from);
}
// Positions of a part become those of the whole.
template <class T>
__global__ void add_part(summary_state<T>* into, both_found* part, unsigned long long first, unsigned long long count) {
  into->count += count;
  for (found* one : {&part->low, &part->high}) {
    if (one->place != 0) one->place -= first;  // it is ~ the position
  }
  both_positions<T>().merge(into->extremes, *part);
  *part = {{0, 0}, {0, 0}};
}
template <class T>
__global__ void read_summary(const summary_state<T>* s, statistics<T>* out, parts_of_summary parts) {
  namespace ex = coalesce::exact;
  using real = typename real_result<T>::type;
  using low = extreme_position<T, smaller>;
  using high = extreme_position<T, larger>;
  out->count = static_cast<std::int64_t>(s->count);
  out->min = static_cast<T>(low::value_of(s->extremes.low));
  out->max = static_cast<T>(high::value_of(s->extremes.high));
  out->argmin = low().finish(s->extremes.low, 0);
  out->argmax = high().finish(s->extremes.high, 0);
  out->mean =
      ex::from_bits<real>(parts.sum ? ex::read<real>(s->sum, ex::reading::mean, s->count) : ex::quiet_nan<real>);
  out->variance = ex::from_bits<real>(parts.sum && parts.squares ? ex::variance<real>(s->sum, s->squares, s->count)
                                                                 : ex::quiet_nan<real>);
}

}  // namespace detail

// All calls are asynchronous on their stream; calls for one summary belong on one stream, or have to be ordered by
// events.
template <class T>
class summary {
  static_assert(detail::exact::has_format<T>, "coalesce: summary is of __half, __nv_bfloat16, float or double");

 public:
  using total = detail::summary_state<T>;

  // Empty. error() says whether there was memory.
  explicit summary(parts_of_summary parts = {}) : parts_(parts) {
    const detail::relaxed_capture relaxed;
    memory empty{};
    clear(empty.state);
    error_ = cudaMalloc(&memory_, sizeof(memory));
    if (error_.ok()) error_ = cudaMemcpy(memory_, &empty, sizeof(memory), cudaMemcpyHostToDevice);
  }
  ~summary() { cudaFree(memory_); }
  summary(const summary&) = delete;
  summary& operator=(const summary&) = delete;

  status error() const { return error_; }
  // For libraries that move bytes between devices (coalesce/nccl.cuh).
  total* data() { return &memory_->state; }
  const total* data() const { return &memory_->state; }

  // in[0] … in[count - 1] are the elements `first` … of the whole.
  status add(const T* in, std::int64_t count, std::int64_t first, cudaStream_t stream = nullptr,
             workspace* work = nullptr) {
    if (!error_) return error_;
    if (first < 0) return detail::refuse("the first element's position is negative");
    detail::span bytes;
    if (const status s = detail::check_input(in, count, bytes); !s) return s;
    if (count == 0) return {};
    detail::device_facts device;
    if (const status s = detail::current_device(device); !s) return s;
    const auto add_to = [&](auto* into, const auto& terms) {
      return detail::exact::start_runs(terms, detail::exact::result_to<T>{nullptr, exact::reading::sum},
                                       detail::exact::one_run(count), into, device, stream, work);
    };
    status done;
    if (parts_.sum) done = add_to(&memory_->state.sum, detail::exact::elements<T>{in});
    if (done && parts_.squares) done = add_to(&memory_->state.squares, detail::exact::products_of<T>{in, in});
    if (done && parts_.extremes)
      done = detail::reduce_array(detail::both_positions<T>(), detail::array<T>{in, {}}, count, false, &memory_->part,
                                  bytes, {}, stream, work);
    if (!done) return done;
    detail::add_part<T><<<1, 1, 0, stream>>>(&memory_->state, &memory_->part, static_cast<unsigned long long>(first),
                                             static_cast<unsigned long long>(count));
    return cudaGetLastError();
  }
  status merge(const summary& other, cudaStream_t stream = nullptr) {
    if (!error_) return error_;
    detail::merge_summary<T><<<1, 1, 0, stream>>>(data(), other.data());
    return cudaGetLastError();
  }
  // Empties it.
  status reset(cudaStream_t stream = nullptr) {
    if (!error_) return error_;
    detail::clear_summary<T><<<1, 1, 0, stream>>>(data());
    return cudaGetLastError();
  }

  // `out`: in device memory. What is not kept: mean and variance NaN, positions -1.
  status read(statistics<T>* out, cudaStream_t stream = nullptr) const {
    if (!error_) return error_;
    if (const status s = detail::check_out(out, 1, sizeof(*out), alignof(statistics<T>)); !s) return s;
    detail::read_summary<T><<<1, 1, 0, stream>>>(data(), out, parts_);
    return cudaGetLastError();
  }

 private:
  struct memory {
    total state;
    detail::both_found part;
  };
  parts_of_summary parts_;
  memory* memory_ = nullptr;
  status error_;
};

}  // namespace coalesce
