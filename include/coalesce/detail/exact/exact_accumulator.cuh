// A sum in the making, in device memory: ranges are added on a stream, accumulators merged, and the result read when
// wanted.
#pragma once

#include <coalesce/detail/exact/functions.cuh>

namespace coalesce {

namespace detail::exact {

template <range Range>
__global__ void merge_total(total<Range>* into, const total<Range>* from) {
  merge(*into, *from);
}
template <range Range, class R>
__global__ void read_total(const total<Range>* sum, R* out, reading how, std::uint64_t count) {
  *out = from_bits<R>(read<R>(*sum, how, count));
}

}  // namespace detail::exact

// An accumulator of sums of T (the default), or of sums of products of two T: Range = exact::format<T>::dot. All calls
// are asynchronous on their stream; calls for one accumulator belong on one stream, or have to be ordered by events.
// Its 56 to 552 bytes of device memory are allocated with it and freed with it.
//
// The stored form (docs/exact.md) is the device memory itself: a sum has one form, in which host and device agree byte
// for byte.
template <class T, exact::range Range = exact::format<T>::sum>
class exact_accumulator {
  static_assert(detail::exact::has_format<T>,
                "coalesce: exact_accumulator is of __half, __nv_bfloat16, float or double");

 public:
  using total = exact::total<Range>;

  // Empty. error() says whether there was memory.
  exact_accumulator() {
    const detail::relaxed_capture relaxed;
    total empty;
    exact::clear(empty);
    error_ = cudaMalloc(&total_, sizeof(total));
    if (error_.ok()) error_ = cudaMemcpy(total_, &empty, sizeof(total), cudaMemcpyHostToDevice);
  }
  ~exact_accumulator() { cudaFree(total_); }
  exact_accumulator(const exact_accumulator&) = delete;
  exact_accumulator& operator=(const exact_accumulator&) = delete;

  status error() const { return error_; }
  // The stored form, in device memory, for libraries that move bytes between devices (coalesce/nccl.cuh).
  total* data() { return total_; }
  const total* data() const { return total_; }

  status add(const T* in, std::int64_t count, cudaStream_t stream = nullptr, workspace* work = nullptr) {
    static_assert(Range == exact::format<T>::sum, "coalesce: this accumulator holds products: use add_products");
    detail::span bytes;
    if (const status s = detail::check_input(in, count, bytes); !s) return s;
    return add_input(detail::exact::elements<T>{in}, count, stream, work);
  }
  status add_products(const T* a, const T* b, std::int64_t count, cudaStream_t stream = nullptr,
                      workspace* work = nullptr) {
    static_assert(Range == exact::format<T>::dot,
                  "coalesce: for products: exact_accumulator<T, coalesce::exact::format<T>::dot>");
    detail::span bytes;
    if (const status s = detail::check_input(a, count, bytes); !s) return s;
    if (const status s = detail::check_input(b, count, bytes); !s) return s;
    return add_input(detail::exact::products_of<T>{a, b}, count, stream, work);
  }
  status merge(const exact_accumulator& other, cudaStream_t stream = nullptr) {
    if (!error_) return error_;
    detail::exact::merge_total<Range><<<1, 1, 0, stream>>>(total_, other.total_);
    return cudaGetLastError();
  }

  // The sum, the sum / count, the sum's square root: rounded once to R, written to device memory.
  template <class R>
  status sum(R* out, cudaStream_t stream = nullptr) const {
    return read(out, exact::reading::sum, 1, stream);
  }
  template <class R>
  status mean(std::uint64_t count, R* out, cudaStream_t stream = nullptr) const {
    return read(out, exact::reading::mean, count, stream);
  }
  template <class R>
  status root(R* out, cudaStream_t stream = nullptr) const {
    return read(out, exact::reading::root, 1, stream);
  }

  // The stored form, to and from the host: wait for the stream. load() refuses what store() has not written.
  status store(total& to, cudaStream_t stream = nullptr) const {
    if (!error_) return error_;
    if (const cudaError_t e = cudaMemcpyAsync(&to, total_, sizeof(total), cudaMemcpyDeviceToHost, stream);
        e != cudaSuccess)
      return e;
    return cudaStreamSynchronize(stream);
  }
  status load(const total& from, cudaStream_t stream = nullptr) {
    if (!error_) return error_;
    total canonical = from;
    exact::set_flags(canonical, from.flags());
    if (memcmp(&canonical, &from, sizeof(total)) != 0) {
      return detail::refuse(
          "these bytes are no stored exact sum of this range and version: pass what store() has written");
    }
    if (const cudaError_t e = cudaMemcpyAsync(total_, &from, sizeof(total), cudaMemcpyHostToDevice, stream);
        e != cudaSuccess)
      return e;
    return cudaStreamSynchronize(stream);
  }

 private:
  template <class Input>
  status add_input(const Input& in, std::int64_t count, cudaStream_t stream, workspace* work) {
    if (!error_) return error_;
    detail::device_facts device;
    if (const status s = detail::current_device(device); !s) return s;
    return detail::exact::start_runs(in, detail::exact::result_to<T>{nullptr, exact::reading::sum},
                                     detail::exact::one_run(count), total_, device, stream, work);
  }
  template <class R>
  status read(R* out, exact::reading how, std::uint64_t count, cudaStream_t stream) const {
    if (!error_) return error_;
    if (const status s = detail::check_out(out, 1, sizeof(R), alignof(R)); !s) return s;
    detail::exact::read_total<Range><<<1, 1, 0, stream>>>(total_, out, how, count);
    return cudaGetLastError();
  }

  total* total_ = nullptr;
  status error_;
};

}  // namespace coalesce
