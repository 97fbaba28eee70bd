// Vector types: sizes, alignment, wide loads and stores, cached loads, copies inside structures.
#include "check.h"

static_assert(sizeof(float3) == 12 && alignof(float3) == 4 && sizeof(float4) == 16 && alignof(float4) == 16, "");
static_assert(sizeof(double2) == 16 && alignof(double2) == 16 && alignof(char4) == 4 && alignof(short4) == 8, "");
static_assert(sizeof(uint2) == 8 && alignof(uint2) == 8 && alignof(int4) == 16 && sizeof(uchar3) == 3, "");

struct Particle {
  float4 position;
  int2 cell;
  double2 spin;
};

__global__ void move(Particle* p, const float4* velocity, float3* out, uchar4* colours, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Particle q = p[i];
  const float4 v = __ldg(&velocity[i]);
  q.position.x += v.x, q.position.y += v.y, q.position.z += v.z, q.position.w *= v.w;
  q.cell = make_int2(q.cell.y, q.cell.x);
  q.spin = {q.spin.y, q.spin.x + 1};
  p[i] = q;
  out[i] = make_float3(q.position.z, q.position.y, q.position.x);
  uchar4 c = colours[i];
  c.w = c.x + c.y;
  colours[i] = c;
}

int main() {
  const int n = 100;
  std::vector<Particle> p(n);
  std::vector<float4> v(n);
  std::vector<uchar4> colours(n);
  for (int i = 0; i < n; ++i) {
    const float f = float(i);
    p[i].position = make_float4(f, f + 1, f + 2, f + 3), p[i].cell = make_int2(i, -i),
    p[i].spin = make_double2(i, 2 * i);
    v[i] = make_float4(1, 2, 3, 4), colours[i] = make_uchar4(i, 2, 3, 4);
  }
  Particle* dp = upload(p);
  float4* dv = upload(v);
  float3* out = upload(std::vector<float3>(n));
  uchar4* dc = upload(colours);
  move<<<4, 32>>>(dp, dv, out, dc, n);
  const std::vector<Particle> q = download(dp, n);
  const std::vector<float3> o = download(out, n);
  const std::vector<uchar4> c = download(dc, n);
  for (int i = 0; i < n; ++i) {
    const float f = float(i);
    EXPECT(q[i].position.x == f + 1 && q[i].position.y == f + 3 && q[i].position.z == f + 5 &&
           q[i].position.w == 4 * (f + 3));
    EXPECT(q[i].cell.x == -i && q[i].cell.y == i && q[i].spin.x == 2 * i && q[i].spin.y == i + 1);
    EXPECT(o[i].x == f + 5 && o[i].z == f + 1 && c[i].w == i + 2 && c[i].x == i);
  }
}
