// Structures by value as kernel parameters: mixed alignment, arrays inside, padding; many parameters at once.
#include "check.h"

struct Inner {
  char tag;
  double weight;
  short shape[3];
};
struct Outer {
  float3 origin;
  Inner inner[2];
  const int* data;
  bool on;
};

__global__ void gather(Outer o, char a, short b, long long c, float4 d, double* out, int index) {
  out[0] = o.origin.x + o.origin.y + o.origin.z;
  out[1] = o.inner[index].tag + o.inner[index].weight + o.inner[1 - index].shape[index + 1];
  out[2] = o.on ? o.data[2] : -1;
  out[3] = a + b + c;
  out[4] = d.x + d.y * d.z - d.w;
}

int main() {
  int* data = upload(std::vector<int>{5, 6, 7});
  double* out = upload(std::vector<double>(5, 0));
  Outer o = {make_float3(1, 2, 3), {{'a', 0.5, {1, 2, 3}}, {'b', 0.25, {4, 5, 6}}}, data, true};
  gather<<<1, 1>>>(o, 1, -20, 1ll << 40, make_float4(1, 2, 3, 4), out, 1);
  EXPECT((download(out, 5) == std::vector<double>{6, 98 + 0.25 + 3, 7, double((1ll << 40) - 19), 3}));
}
