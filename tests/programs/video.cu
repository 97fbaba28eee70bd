// Intrinsics of four bytes or two halves in one word, each against its meaning piece by piece on the host.
#include "check.h"

// name, is signed, what becomes of the pieces x and y; low and high are the type's limits.
#define VIDEO(M)                                                \
  M(add, false, x + y)                                          \
  M(addss, true, clamp(x + y, low, high))                       \
  M(addus, false, clamp(x + y, low, high))                      \
  M(sub, false, x - y)                                          \
  M(subss, true, clamp(x - y, low, high))                       \
  M(subus, false, clamp(x - y, low, high))                      \
  M(maxs, true, x > y ? x : y)                                  \
  M(maxu, false, x > y ? x : y)                                 \
  M(mins, true, x < y ? x : y)                                  \
  M(minu, false, x < y ? x : y)                                 \
  M(absdiffu, false, x > y ? x - y : y - x)                     \
  M(avgu, false, (x + y + 1) / 2)                               \
  M(avgs, true, (x + y) % 2 == 0 ? (x + y) / 2 : away((x + y))) \
  M(haddu, false, (x + y) / 2)                                  \
  M(cmpeq, false, x == y ? -1 : 0)                              \
  M(cmpgts, true, x > y ? -1 : 0)                               \
  M(cmpgeu, false, x >= y ? -1 : 0)                             \
  M(cmples, true, x <= y ? -1 : 0)                              \
  M(setne, false, x != y)                                       \
  M(setltu, false, x < y)                                       \
  M(setges, true, x >= y)

int clamp(int v, int low, int high) { return v < low ? low : v > high ? high : v; }
int away(int odd) { return odd > 0 ? (odd + 1) / 2 : (odd - 1) / 2; }  // half of it, rounded away from zero

template <class Expression>
unsigned by_pieces(unsigned a, unsigned b, int pieces, bool is_signed, Expression expression) {
  const int bits = 32 / pieces, high = (1 << (is_signed ? bits - 1 : bits)) - 1, low = is_signed ? -high - 1 : 0;
  const unsigned mask = (1u << bits) - 1;
  unsigned result = 0;
  for (int i = 0; i < pieces; ++i) {
    int x = (a >> (i * bits)) & mask, y = (b >> (i * bits)) & mask;
    if (x > high) x -= 1 << bits;
    if (y > high) y -= 1 << bits;
    result |= (unsigned(expression(x, y, low, high)) & mask) << (i * bits);
  }
  return result;
}

constexpr int kPairs = 256;

__global__ void video(const unsigned* as, const unsigned* bs, unsigned* out) {
  const unsigned t = threadIdx.x, a = as[t], b = bs[t];
  out += t;
#define RUN(name, is_signed, expression) \
  out[0] = __v##name##4(a, b);           \
  out[kPairs] = __v##name##2(a, b);      \
  out += 2 * kPairs;
  VIDEO(RUN)
#undef RUN
  out[0] = __vsadu4(a, b);
  out[kPairs] = __vnegss2(a);
  out[2 * kPairs] = __byte_perm(a, b, a ^ b);  // a selector with all its bits
}

int main() {
  const unsigned edges[] = {0x80808080u, 0x7fff8000u, 0xffffffffu, 0,
                            0x7f7f7f7fu, 0x80008000u, 0x01ff00feu, 0x7fffffffu};
  std::vector<unsigned> a(kPairs), b(kPairs);
  for (int t = 0; t < kPairs; ++t) {
    const unsigned long long mixed = t * 0x9e3779b97f4a7c15ull + 12345;
    a[t] = t < 64 ? edges[t / 8] : unsigned(mixed >> 32);
    b[t] = t < 64 ? edges[t % 8] : unsigned(mixed >> 7);
  }
#define COUNT(...) +1
  constexpr int count = 0 VIDEO(COUNT);
  unsigned* out = upload(std::vector<unsigned>(((count + 1) * 2 + 1) * kPairs, 0));
  video<<<1, kPairs>>>(upload(a), upload(b), out);
  const std::vector<unsigned> all = download(out, ((count + 1) * 2 + 1) * kPairs);
  for (int t = 0; t < kPairs; ++t) {
    const unsigned* v = &all[t];
    const auto check = [&](const char* name, bool is_signed, auto expression) {
      for (int pieces : {4, 2}) {
        const unsigned expected = by_pieces(a[t], b[t], pieces, is_signed, expression);
        if (*v != expected) {
          std::fprintf(stderr, "__v%s%d(%08x, %08x) = %08x, expected %08x\n", name, pieces, a[t], b[t], *v, expected);
          std::exit(1);
        }
        v += kPairs;
      }
    };
#define CHECK_ONE(name, is_signed, expression) \
  check(#name, is_signed,                      \
        [](int x, int y, [[maybe_unused]] int low, [[maybe_unused]] int high) -> int { return expression; });
    VIDEO(CHECK_ONE)
    unsigned sum = 0;
    for (int i = 0; i < 32; i += 8) sum += std::abs(int(a[t] >> i & 255) - int(b[t] >> i & 255));
    EXPECT(v[0] == sum);
    EXPECT(v[kPairs] == by_pieces(a[t], 0, 2, true, [](int x, int, int, int high) { return -x > high ? high : -x; }));
    unsigned chosen = 0;
    for (int i = 0; i < 4; ++i) {
      const unsigned byte = (a[t] ^ b[t]) >> (4 * i) & 7;  // of four bits, three count
      chosen |= ((byte < 4 ? a[t] >> (8 * byte) : b[t] >> (8 * (byte - 4))) & 255) << (8 * i);
    }
    EXPECT(v[2 * kPairs] == chosen);
  }
}
