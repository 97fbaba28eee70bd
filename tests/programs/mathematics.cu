// The mathematical functions against the host's, to the few units in the last place that CUDA documents.
#include <cmath>

#include "check.h"

__global__ void floats(const float* x, float* out, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  float* o = out + i * 12;
  o[0] = sinf(x[i]), o[1] = cosf(x[i]), o[2] = expf(x[i]), o[3] = logf(fabsf(x[i])), o[4] = tanhf(x[i]),
  o[5] = erff(x[i]);
  o[6] = powf(fabsf(x[i]), 1.5f), o[7] = atanf(x[i]), o[8] = cbrtf(x[i]), o[9] = log2f(fabsf(x[i])), o[10] = tanf(x[i]),
  o[11] = expm1f(x[i]);
}
__global__ void doubles(const double* x, double* out, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  double* o = out + i * 12;
  o[0] = sin(x[i]), o[1] = cos(x[i]), o[2] = exp(x[i]), o[3] = log(fabs(x[i])), o[4] = tanh(x[i]), o[5] = erf(x[i]);
  o[6] = pow(fabs(x[i]), 1.5), o[7] = atan(x[i]), o[8] = cbrt(x[i]), o[9] = log2(fabs(x[i])), o[10] = tan(x[i]),
  o[11] = expm1(x[i]);
}

template <class T>
void compare(T got, double want, double ulps, int k,
             double x) {  // `want` is exact beside a float; one more ulp for libm's double
  const double unit = std::ldexp(std::fabs(want), sizeof(T) == 4 ? -23 : -52);
  if (std::fabs(double(got) - want) > ulps * unit) {
    std::fprintf(stderr, "function %d of %.17g: %.17g, expected %.17g\n", k, x, double(got), want);
    std::exit(1);
  }
}

template <class T>
void run(void (*kernel)(const T*, T*, int)) {
  std::vector<T> x;
  for (int i = 0; i < 60; ++i) x.push_back(T((i - 30) * 0.37 + 0.01));
  x.push_back(T(1e-6)), x.push_back(T(12345.678)), x.push_back(T(-30.5)), x.push_back(T(80.1));
  const int n = int(x.size());
  T *dx = upload(x), *out = upload(std::vector<T>(12 * n, T(0)));
  kernel<<<1, 64>>>(dx, out, n);
  const std::vector<T> r = download(out, 12 * n);
  for (int i = 0; i < n; ++i) {
    const double v = x[i], a = std::fabs(v);
    const double want[12] = {std::sin(v),      std::cos(v),  std::exp(v),  std::log(a),  std::tanh(v), std::erf(v),
                             std::pow(a, 1.5), std::atan(v), std::cbrt(v), std::log2(a), std::tan(v),  std::expm1(v)};
    for (int k = 0; k < 12; ++k) {
      if (sizeof(T) == 4 && v > 80 && (k == 2 || k == 11) && v > 88.7) continue;
      if (std::isinf(double(T(want[k])))) {
        EXPECT(std::isinf(double(r[12 * i + k])));
        continue;
      }
      if (std::fabs(want[k]) < 1e-37 && sizeof(T) == 4) continue;
      compare(r[12 * i + k], want[k], 5, k, v);
    }
  }
}

// Where a function is steep, close to 0 or nearly out of range: argument by argument.
__global__ void gammas(const double* x, double* out, int n) {
  const int i = threadIdx.x;
  if (i < n) out[2 * i] = lgamma(x[i]), out[2 * i + 1] = lgammaf(float(x[i]));
}
__global__ void normals(const double* x, double* out, int n) {
  const int i = threadIdx.x;
  if (i < n) out[i] = normcdf(x[i]);
}

void special() {
  std::vector<double> x = {-1e-300, 1e-300, -1e-30, 1 - 1e-9, 1 + 1e-9, 2 - 1e-9, 2 + 1e-9, 0.994, 1.006, 1.99, 2.01};
  for (int i = 1; i < 20; ++i) x.push_back(i * 0.15);
  const int n = int(x.size());
  double *dx = upload(x), *out = upload(std::vector<double>(2 * n, 0));
  gammas<<<1, 64>>>(dx, out, n);
  std::vector<double> r = download(out, 2 * n);
  for (int i = 0; i < n; ++i) {
    compare(r[2 * i], double(std::lgamma(static_cast<long double>(x[i]))), 5, 100, x[i]);
    compare(float(r[2 * i + 1]), double(std::lgamma(static_cast<long double>(float(x[i])))), 6, 101, x[i]);
  }
  x.clear();
  for (int i = 0; i < 60; ++i) x.push_back((i - 50) * 0.73);
  dx = upload(x);
  normals<<<1, 64>>>(dx, out, int(x.size()));
  r = download(out, x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double want = double(std::erfc(x[i] / -std::sqrt(2.0L)) / 2);
    if (want > 1e-300) compare(r[i], want, 6, 102, x[i]);
  }
}

int main() {
  run<float>(floats);
  run<double>(doubles);
  special();
}
