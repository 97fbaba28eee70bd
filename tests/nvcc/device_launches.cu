// Kernels that launch kernels: a quicksort whose parts are children, and a tail launch that looks at what they left.
// The host sorts the same numbers.
#include <algorithm>
#include <random>

#include "../programs/check.h"

__global__ void look(const int* data, int n, int* sorted) {
  int good = 1;
  for (int k = 1; k < n; ++k) good &= data[k - 1] <= data[k];
  *sorted = good;
}

__global__ void sort(int* data, int n, int* launches) {
  atomicAdd(launches, 1);
  if (n <= 16) {
    for (int k = 1; k < n; ++k) {
      const int v = data[k];
      int at = k;
      for (; at > 0 && data[at - 1] > v; --at) data[at] = data[at - 1];
      data[at] = v;
    }
    return;
  }
  const int pivot = data[n / 2];
  int low = 0, high = n - 1;
  while (low <= high) {
    while (data[low] < pivot) ++low;
    while (data[high] > pivot) --high;
    if (low <= high) {
      const int v = data[low];
      data[low++] = data[high];
      data[high--] = v;
    }
  }
  cudaStream_t other;
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  if (high > 0) sort<<<1, 1>>>(data, high + 1, launches);
  if (low < n - 1) sort<<<1, 1, 0, other>>>(data + low, n - low, launches);
  cudaStreamDestroy(other);
}

__global__ void root(int* data, int n, int* launches, int* sorted) {
  look<<<1, 1, 0, cudaStreamTailLaunch>>>(data, n, sorted);
  sort<<<1, 1>>>(data, n, launches);
}

int main() {
  std::mt19937 random(7);
  std::vector<int> numbers(1000);
  for (int& v : numbers) v = static_cast<int>(random() % 500);
  int* data = upload(numbers);
  int* counts = upload(std::vector<int>{0, -1});
  root<<<1, 1>>>(data, 1000, counts, counts + 1);
  const std::vector<int> got = download(data, 1000), said = download(counts, 2);
  std::sort(numbers.begin(), numbers.end());
  EXPECT(got == numbers);
  EXPECT(said[0] > 1000 / 16);  // at least so many parts
  EXPECT(said[1] == 1);         // the tail launch came last
  return 0;
}
