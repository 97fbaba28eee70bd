// 128-bit integers, which compilers make of carry chains: quotients, remainders, products, sums, differences and order
// of pairs, signed and unsigned, against the host's. COALESCE_PAIRS: how many random pairs; a million takes some
// minutes.
#include <cstdlib>

#include "check.h"

__extension__ typedef unsigned __int128 Unsigned;
__extension__ typedef __int128 Signed;

struct Results {
  Unsigned quotient, remainder, signed_quotient, signed_remainder, sum, difference, product;
  int order;
};

__host__ __device__ inline Results computed(Unsigned a, Unsigned b) {
  Results r;
  const Signed x = Signed(a), y = Signed(b);
  r.quotient = b == 0 ? 0 : a / b;
  r.remainder = b == 0 ? 0 : a % b;
  const bool defined = y != 0 && !(y == -1 && a == Unsigned(1) << 127);
  r.signed_quotient = defined ? Unsigned(x / y) : 0;
  r.signed_remainder = defined ? Unsigned(x % y) : 0;
  r.sum = a + b;
  r.difference = a - b;
  r.product = a * b;
  r.order = (a < b) + 2 * (x < y) + 4 * (a == b) + 8 * (x <= y);
  return r;
}

__global__ void compute(const Unsigned* a, const Unsigned* b, Results* r, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) r[i] = computed(a[i], b[i]);
}

static unsigned long long state = 25;
static unsigned long long next() {
  state += 0x9e3779b97f4a7c15ull;
  unsigned long long z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

// 0, 1, -1, powers of two and their neighbours, the limits; else anything, of any length.
static Unsigned number() {
  const int bit = int(next() % 128);
  switch (next() % 8) {
    case 0:
      return Unsigned(next() % 3) - 1;
    case 1:
      return Unsigned(1) << bit;
    case 2:
      return (Unsigned(1) << bit) + Unsigned(next() % 3) - 1;
    case 3:
      return Unsigned(0) - (Unsigned(1) << bit) + Unsigned(next() % 3) - 1;
    case 4:
      return (Unsigned(1) << 127) + Unsigned(next() % 3) - 1;
    default:
      return (Unsigned(next()) << 64 | next()) >> bit;
  }
}

int main() {
  const char* wanted = std::getenv("COALESCE_PAIRS");
  const int n = wanted ? std::atoi(wanted) : 1500;
  EXPECT(n > 0);
  std::vector<Unsigned> a(n), b(n);
  for (int i = 0; i < n; ++i) {
    a[i] = number();
    b[i] = number();
    const Unsigned low = ~0ull;
    if (i % 5 == 0) b[i] = (a[i] & ~low) | (b[i] & low);  // equal high words
    if (i % 7 == 0) b[i] &= low;
    if (i % 11 == 0) b[i] = a[i];
  }
  a[0] = 100, b[0] = 7;
  Results* out = upload(std::vector<Results>(n));
  compute<<<(n + 127) / 128, 128>>>(upload(a), upload(b), out, n);
  const std::vector<Results> results = download(out, n);
  for (int i = 0; i < n; ++i) {
    const Results r = results[i], e = computed(a[i], b[i]);
    EXPECT(r.quotient == e.quotient);
    EXPECT(r.remainder == e.remainder);
    EXPECT(r.signed_quotient == e.signed_quotient);
    EXPECT(r.signed_remainder == e.signed_remainder);
    EXPECT(r.sum == e.sum);
    EXPECT(r.difference == e.difference);
    EXPECT(r.product == e.product);
    EXPECT(r.order == e.order);
  }
}
