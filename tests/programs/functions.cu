// Calls that stay calls: noinline functions, recursion, function pointers, virtual functions, a switch.
#include "check.h"

__noinline__ __device__ int collatz(int x) { return x % 2 ? 3 * x + 1 : x / 2; }
__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__device__ int twice(int x) { return 2 * x; }
__device__ int square(int x) { return x * x; }
__device__ int negate(int x) { return -x; }
typedef int (*Function)(int);
__device__ Function functions[3] = {twice, square, negate};

struct Shape {
  __device__ virtual ~Shape() {}
  __device__ virtual int area() const = 0;
};
struct Square : Shape {
  int a;
  __device__ explicit Square(int side) : a(side) {}
  __device__ int area() const override { return a * a; }
};
struct Box : Shape {
  int a, b;
  __device__ Box(int x, int y) : a(x), b(y) {}
  __device__ int area() const override { return a * b; }
};

__global__ void kernel(int* out, int n) {
  const int t = threadIdx.x;
  int steps = 0;
  for (int x = t + 1; x != 1; ++steps) x = collatz(x);
  out[t] = steps;
  out[n + t] = fibonacci(t % 12);
  out[2 * n + t] = functions[t % 3](t);
  Square s(t);
  Box b(t, 3);
  const Shape* shape = t % 2 ? static_cast<const Shape*>(&s) : &b;
  out[3 * n + t] = shape->area();
  int v = 0;
  switch (t % 7) {
    case 0:
      v = 11;
      break;
    case 1:
      v = t * 2;
      break;
    case 2:
      v = 5;  // falls through
    case 3:
      v += 100;
      break;
    case 5:
      v = -t;
      break;
    default:
      v = 1;
  }
  out[4 * n + t] = v;
}

int main() {
  const int n = 64;
  int* d = upload(std::vector<int>(5 * n, 0));
  kernel<<<1, n>>>(d, n);
  const std::vector<int> out = download(d, 5 * n);
  const int fib[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
  for (int t = 0; t < n; ++t) {
    int steps = 0;
    for (int x = t + 1; x != 1; ++steps) x = x % 2 ? 3 * x + 1 : x / 2;
    EXPECT(out[t] == steps);
    EXPECT(out[n + t] == fib[t % 12]);
    EXPECT(out[2 * n + t] == (t % 3 == 0 ? 2 * t : t % 3 == 1 ? t * t : -t));
    EXPECT(out[3 * n + t] == (t % 2 ? t * t : 3 * t));
    const int sevens[] = {11, 2 * t, 105, 100, 1, -t, 1};
    EXPECT(out[4 * n + t] == sevens[t % 7]);
  }
}
