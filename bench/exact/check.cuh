// The part `check` of exact.cu: results against the CPU's exact sums.
#pragma once

#include "bench/exact/common.cuh"

namespace {

long checks, wrong;
void expect(const element* out, const host_element& expected, const char* what, long seed) {
  ++checks;
  if (exact::to_bits(*out) == exact::to_bits(expected)) return;
  if (++wrong <= 20) {
    std::printf("{\"wrong\": \"%s\", \"type\": \"%s\", \"case\": %ld, \"got\": \"%llx\", \"expected\": \"%llx\"}\n",
                what, type_name(), seed, static_cast<unsigned long long>(exact::to_bits(*out)),
                static_cast<unsigned long long>(exact::to_bits(expected)));
  }
}

// More than 2^31 elements: the largest number and its negative in turn, and in the end five of the smallest subnormal;
// then only that subnormal.
__global__ void extremes(element* x, std::int64_t n, bool small) {
  const bits largest = static_cast<bits>(exact::infinity<element> - 1);
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < n;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const bits sign = i % 2 != 0 ? exact::sign_bit<element> : bits(0);
    x[i] = exact::from_bits<element>(small || i >= n - 5 ? bits(1) : static_cast<bits>(largest | sign));
  }
}
void check_many() {
  const std::int64_t n = (std::int64_t(1) << 31) + 5;
  element* x;
  if (cudaMalloc(&x, static_cast<std::size_t>(n) * sizeof(element)) != cudaSuccess) {
    cudaGetLastError();
    std::printf("{\"skipped\": \"2^31 elements: not enough memory\", \"type\": \"%s\"}\n", type_name());
    return;
  }
  for (const bool small : {false, true}) {
    extremes<<<1320, 256>>>(x, n, small);
    REQUIRE(coalesce::exact_sum(x, n, results));
    element got;
    REQUIRE(cudaMemcpy(&got, results, sizeof(got), cudaMemcpyDeviceToHost));
    coalesce::host::exact_accumulator<host_element> sum, five;
    const host_element smallest = exact::from_bits<host_element>(bits(1));
    for (int i = 0; i < 5; ++i) five.add(smallest);
    if (small) {
      sum.add(smallest);
      for (int doubled = 0; doubled < 31; ++doubled) {
        const auto same = sum;
        sum.merge(same);
      }
    }
    if (small) {  // rows of more than a block adds at once: the same elements again and again
      const std::int64_t length = (std::int64_t(1) << 29) + 77;
      coalesce::host::exact_accumulator<host_element> row;
      row.add(smallest);
      for (int doubled = 0; doubled < 29; ++doubled) {
        const auto same = row;
        row.merge(same);
      }
      for (int i = 0; i < 77; ++i) row.add(smallest);
      const coalesce::view<element> rows(x, {120, length}, {0, 1});
      REQUIRE(coalesce::exact_sum(rows, coalesce::axes{1}, results + 1));
      element ends[2];
      REQUIRE(cudaMemcpy(ends, results + 1, sizeof(element), cudaMemcpyDeviceToHost));
      REQUIRE(cudaMemcpy(ends + 1, results + 120, sizeof(element), cudaMemcpyDeviceToHost));
      for (const element& end : ends) expect(&end, row.sum(), "rows of 2^29 subnormals", length);
    }
    sum.merge(five);
    expect(&got, sum.sum(), small ? "2^31 subnormals" : "2^31 largest numbers of both signs", n);
  }
  cudaFree(x);
}

// Random arrays, one behind the other: as segments, many in one launch; and some of them on their own.
void check(long segments) {
  namespace host = coalesce::host;
  std::vector<host_element> x, y;
  std::vector<std::int64_t> offsets = {0};
  for (long s = 0; s < segments; ++s) {
    cases::generator random(static_cast<std::uint64_t>(s));
    const std::size_t count = cases::size(random);
    const auto a = cases::array<host_element>(random, count), b = cases::array<host_element>(random, count);
    x.insert(x.end(), a.begin(), a.end());
    y.insert(y.end(), b.begin(), b.end());
    offsets.push_back(static_cast<std::int64_t>(x.size()));
  }
  element* second = data + x.size() + 8;
  std::int64_t* at;
  element* out;
  REQUIRE(cudaMalloc(&at, offsets.size() * sizeof(*at)));
  REQUIRE(cudaMalloc(&out, static_cast<std::size_t>(segments) * sizeof(element)));
  REQUIRE(cudaMemcpy(data, x.data(), x.size() * sizeof(element), cudaMemcpyHostToDevice));
  REQUIRE(cudaMemcpy(second, y.data(), y.size() * sizeof(element), cudaMemcpyHostToDevice));
  REQUIRE(cudaMemcpy(at, offsets.data(), offsets.size() * sizeof(*at), cudaMemcpyHostToDevice));
  std::vector<element> got(static_cast<std::size_t>(segments));
  const auto fetch = [&](std::size_t count) {
    REQUIRE(cudaMemcpy(got.data(), out, count * sizeof(element), cudaMemcpyDeviceToHost));
  };
  const auto begin = [&](long s) { return x.data() + offsets[static_cast<std::size_t>(s)]; };
  const auto size = [&](long s) {
    return static_cast<std::size_t>(offsets[static_cast<std::size_t>(s) + 1] - offsets[static_cast<std::size_t>(s)]);
  };
  REQUIRE(coalesce::exact_sum(data, at, segments, out));
  fetch(got.size());
  for (long s = 0; s < segments; ++s)
    expect(&got[static_cast<std::size_t>(s)], host::exact_sum(begin(s), size(s), 1), "segments, sum", s);
  REQUIRE(coalesce::exact_mean(data, at, segments, out));
  fetch(got.size());
  for (long s = 0; s < segments; ++s)
    expect(&got[static_cast<std::size_t>(s)], host::exact_mean(begin(s), size(s), 1), "segments, mean", s);
  REQUIRE(coalesce::exact_norm2(data, at, segments, out));
  fetch(got.size());
  for (long s = 0; s < segments; ++s)
    expect(&got[static_cast<std::size_t>(s)], host::exact_norm2(begin(s), size(s), 1), "segments, norm2", s);
  for (long s = 0; s < segments; s += 29) {
    const std::int64_t from = offsets[static_cast<std::size_t>(s)], n = static_cast<std::int64_t>(size(s));
    REQUIRE(coalesce::exact_dot(data + from, second + from, n, out));
    REQUIRE(coalesce::exact_sum(data + from, n, out + 1));
    fetch(2);
    expect(&got[0], host::exact_dot(begin(s), y.data() + from, size(s), 1), "dot", s);
    expect(&got[1], host::exact_sum(begin(s), size(s), 1), "sum", s);
  }
  for (std::int64_t columns : {1, 3, 17, 250, 1000, 5000}) {
    const std::int64_t rows = std::min<std::int64_t>(static_cast<std::int64_t>(x.size()) / columns, 3000);
    if (rows * columns > 3000000 || columns > segments) continue;
    REQUIRE(coalesce::exact_sum(coalesce::view<element>(data, {rows, columns}), coalesce::axes{0}, out));
    fetch(static_cast<std::size_t>(columns));
    std::vector<host_element> column(static_cast<std::size_t>(rows));
    for (std::int64_t c = 0; c < columns; ++c) {
      for (std::int64_t r = 0; r < rows; ++r)
        column[static_cast<std::size_t>(r)] = x[static_cast<std::size_t>(r * columns + c)];
      expect(&got[static_cast<std::size_t>(c)], host::exact_sum(column.data(), column.size(), 1), "columns", c);
    }
  }
  // Large arrays: each data set at once, by all blocks, and in pieces that are merged.
  for (int kind = 0; kind < kind_count; ++kind) {
    const std::int64_t n = (1 << 24) + 5;
    fill(data, n, kind);
    std::vector<host_element> h(static_cast<std::size_t>(n));
    REQUIRE(cudaMemcpy(h.data(), data, h.size() * sizeof(element), cudaMemcpyDeviceToHost));
    coalesce::exact_accumulator<element> whole, part;
    REQUIRE(coalesce::exact_sum(data, n, out));
    REQUIRE(whole.add(data + n / 3, n - n / 3));
    REQUIRE(part.add(data, n / 3));
    REQUIRE(whole.merge(part));
    REQUIRE(whole.sum(out + 1));
    fetch(2);
    const host_element expected = host::exact_sum(h.data(), h.size());
    expect(&got[0], expected, kinds[kind], n);
    expect(&got[1], expected, "merged", kind);
    coalesce::host::exact_accumulator<host_element> mine;
    mine.add(h.data(), h.size());
    coalesce::exact_accumulator<element>::total stored;
    REQUIRE(whole.store(stored));
    ++checks;
    if (std::memcmp(&stored, &mine.total(), sizeof(stored)) != 0) {
      ++wrong;
      std::printf("{\"wrong\": \"stored form\", \"type\": \"%s\", \"case\": \"%s\"}\n", type_name(), kinds[kind]);
    }
  }
  check_many();
  std::printf(
      "{\"part\": \"check\", \"type\": \"%s\", \"random arrays\": %ld, \"results compared\": %ld, \"wrong\": %ld}\n",
      type_name(), segments, checks, wrong);
  std::fflush(stdout);
}

}  // namespace
