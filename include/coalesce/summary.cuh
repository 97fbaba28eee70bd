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
// T is __half, __nv_bfloat16, float, double or an integer of 8 to 64 bits. Mean and variance are rounded once; NaN and
// infinities as in coalesce/exact.cuh, min and max as in coalesce/reduce.cuh, of zeros +0.
#pragma once

#include <coalesce/detail/exact/summary.cuh>
#include <coalesce/exact.cuh>
#include <coalesce/reduce.cuh>

namespace coalesce {

// A summary keeps these. Each costs a reading of the data; of integers one reading finds all.
struct parts_of_summary {
  bool sum = true, squares = true, extremes = true;
};

namespace detail {

// Where the sums lie on the line of powers of two. Those of integers of 64 bits have up to 128 and 192 bits.
template <class T, bool = is_summed_integer<T>>
struct ranges_of_summary {
  static constexpr coalesce::exact::range sum = coalesce::exact::range::narrow, squares = sum;
};
template <class T>
struct ranges_of_summary<T, false> {
  static constexpr coalesce::exact::range sum = coalesce::exact::format<T>::sum,
                                          squares = coalesce::exact::format<T>::dot;
};

// As it lies in device memory and travels: the bytes of one summary are the same on every rank.
template <class T>
struct summary_state {
  coalesce::exact::total<ranges_of_summary<T>::sum> sum;
  coalesce::exact::total<ranges_of_summary<T>::squares> squares;
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
// A call leaves this of its part.
template <class T>
using found_in_part = std::conditional_t<is_summed_integer<T>, integers_found, both_found>;

// Positions of a part become those of the whole.
template <class T>
__device__ void add_extremes(summary_state<T>* into, both_found& part, unsigned long long first) {
  for (found* one : {&part.low, &part.high}) {
    if (one->place != 0) one->place -= first;  // it is ~ the position
  }
  both_positions<T>().merge(into->extremes, part);
  part = {{0, 0}, {0, 0}};
}
// sum += the words' integer.
template <coalesce::exact::range R, int Words>
__device__ void add_integer(coalesce::exact::total<R>& sum, const std::uint64_t (&words)[Words], bool is_signed) {
  constexpr int one = -coalesce::exact::layout<R>::unit;
  for (int i = 0; i < 2 * Words; ++i) {
    const auto half = static_cast<std::uint32_t>(words[i / 2] >> 32 * (i % 2));
    const bool top = is_signed && i == 2 * Words - 1;
    coalesce::exact::add_at(sum, top ? static_cast<std::int32_t>(half) : std::int64_t{half}, one + 32 * i);
  }
  coalesce::exact::set_flags(sum, coalesce::exact::something);
}
template <class T>
__global__ void add_part(summary_state<T>* into, both_found* part, unsigned long long first, unsigned long long count) {
  into->count += count;
  add_extremes(into, *part, first);
}
template <class T>
__global__ void add_part(summary_state<T>* into, integers_found* part, unsigned long long first,
                         unsigned long long count) {
  into->count += count;
  add_integer(into->sum, part->sum, true);
  add_integer(into->squares, part->squares, false);
  add_extremes(into, part->extremes, first);
}
template <class T>
__global__ void read_summary(const summary_state<T>* s, statistics<T>* out, parts_of_summary parts) {
  namespace ex = coalesce::exact;
  using real = typename real_result<T>::type;
  using low = extreme_position<T, smaller>;
  using high = extreme_position<T, larger>;
  out->count = static_cast<std::int64_t>(s->count);
  const both_found extremes = parts.extremes ? s->extremes : both_found{{0, 0}, {0, 0}};
  out->min = static_cast<T>(low::value_of(extremes.low));
  out->max = static_cast<T>(high::value_of(extremes.high));
  out->argmin = low().finish(extremes.low, 0);
  out->argmax = high().finish(extremes.high, 0);
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
  static constexpr bool of_integers = detail::is_summed_integer<T>;
  static_assert(detail::exact::has_format<T> || of_integers,
                "coalesce: summary is of __half, __nv_bfloat16, float, double or integers");

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
    status done;
    if constexpr (of_integers) {
      done = detail::reduce_array(detail::summary_of_integers<T>(), detail::array<T>{in, {}}, count, false,
                                  &memory_->part, bytes, {}, stream, work);
    } else {
      done = add_floats(in, count, bytes, device, stream, work);
    }
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
    detail::found_in_part<T> part;
  };
  status add_floats(const T* in, std::int64_t count, const detail::span& bytes, const detail::device_facts& device,
                    cudaStream_t stream, workspace* work) {
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
    return done;
  }
  parts_of_summary parts_;
  memory* memory_ = nullptr;
  status error_;
};

}  // namespace coalesce
