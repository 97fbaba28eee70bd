// Products of matrices by the tensor cores. The numbers are small integers, so sums are exact whatever the order.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "check.h"

using namespace nvcuda;

// c = a * b + c, one warp a tile. a by rows, b by columns, or the other way round.
template <class T, class Element, class Sum, int M, int N, int K, class LayoutA, class LayoutB>
__global__ void multiply(const Element* a, const Element* b, Sum* c, int m, int n, int k, bool sums_by_rows) {
  const int row = static_cast<int>(blockIdx.y) * M, column = static_cast<int>(blockIdx.x) * N;
  constexpr bool a_rows = __is_same(LayoutA, wmma::row_major), b_rows = __is_same(LayoutB, wmma::row_major);
  wmma::fragment<wmma::matrix_a, M, N, K, T, LayoutA> left;
  wmma::fragment<wmma::matrix_b, M, N, K, T, LayoutB> right;
  wmma::fragment<wmma::accumulator, M, N, K, Sum> sum, before;
  wmma::fill_fragment(sum, static_cast<Sum>(0));
  for (int at = 0; at < k; at += K) {
    wmma::load_matrix_sync(left, a_rows ? a + row * k + at : a + at * m + row, a_rows ? k : m);
    wmma::load_matrix_sync(right, b_rows ? b + at * n + column : b + column * k + at, b_rows ? n : k);
    wmma::mma_sync(sum, left, right, sum);
  }
  const auto layout = sums_by_rows ? wmma::mem_row_major : wmma::mem_col_major;
  Sum* place = sums_by_rows ? c + row * n + column : c + column * m + row;
  wmma::load_matrix_sync(before, place, sums_by_rows ? n : m, layout);
  for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = static_cast<Sum>(sum.x[i] + before.x[i]);
  wmma::store_matrix_sync(place, sum, sums_by_rows ? n : m, layout);
}

template <class T, class Element, class Sum, int M, int N, int K, class LayoutA, class LayoutB>
void check(bool sums_by_rows) {
  const int m = 2 * M, n = 2 * N, k = 3 * K;
  const bool a_rows = __is_same(LayoutA, wmma::row_major), b_rows = __is_same(LayoutB, wmma::row_major);
  const auto value = [](int i, int j) { return (i * 7 + j * 5 + i * j) % 5 - 2; };
  std::vector<Element> a(m * k), b(k * n);
  std::vector<Sum> c(m * n);
  for (int i = 0; i < m; ++i)
    for (int l = 0; l < k; ++l)
      a[a_rows ? i * k + l : l * m + i] = static_cast<Element>(static_cast<float>(value(i, l)));
  for (int l = 0; l < k; ++l)
    for (int j = 0; j < n; ++j)
      b[b_rows ? l * n + j : j * k + l] = static_cast<Element>(static_cast<float>(value(j + 3, l)));
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      c[sums_by_rows ? i * n + j : j * m + i] = static_cast<Sum>(static_cast<float>(value(i, j)));
  Element *da = upload(a), *db = upload(b);
  Sum* dc = upload(c);
  multiply<T, Element, Sum, M, N, K, LayoutA, LayoutB><<<dim3(2, 2), 32>>>(da, db, dc, m, n, k, sums_by_rows);
  const std::vector<Sum> d = download(dc, c.size());
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      int sum = value(i, j);
      for (int l = 0; l < k; ++l) sum += value(i, l) * value(j + 3, l);
      EXPECT(static_cast<float>(d[sums_by_rows ? i * n + j : j * m + i]) == static_cast<float>(sum));
    }
  for (void* p : {static_cast<void*>(da), static_cast<void*>(db), static_cast<void*>(dc)}) CHECK(cudaFree(p));
}

template <class T, class Element, class Sum, int M, int N, int K>
void check_layouts() {
  using wmma::col_major;
  using wmma::row_major;
  check<T, Element, Sum, M, N, K, row_major, col_major>(true);
  check<T, Element, Sum, M, N, K, row_major, row_major>(false);
  check<T, Element, Sum, M, N, K, col_major, col_major>(true);
  check<T, Element, Sum, M, N, K, col_major, row_major>(false);
}

int main() {
  check_layouts<half, half, float, 16, 16, 16>();
  check_layouts<half, half, half, 16, 16, 16>();
  check_layouts<half, half, float, 32, 8, 16>();
  check_layouts<half, half, float, 8, 32, 16>();
  check_layouts<__nv_bfloat16, __nv_bfloat16, float, 16, 16, 16>();
  check_layouts<signed char, signed char, int, 16, 16, 16>();
  check_layouts<signed char, signed char, int, 8, 32, 16>();
  check_layouts<wmma::precision::tf32, float, float, 16, 16, 8>();
  check_layouts<double, double, double, 8, 8, 4>();
  std::puts("ok");
  return 0;
}
