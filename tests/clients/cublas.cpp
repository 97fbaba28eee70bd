// cuBLAS, single precision, against sums of products in double precision.
//
// usage: cublas [NAME...]: prints "NAME<tab>right" or "NAME<tab>why not" a line, for all or for those whose names are
// given. Names that begin with "workspace: " are the same with memory that the program gives (cublasSetWorkspace).
//
// Each function is a product alpha*A*B + beta*C, or solves A*X = B, which is judged by A*X. A sum of n products that
// are added in any order, each operation rounded once, is away from the exact value by less than g times the sum of the
// products' magnitudes, with g = n*u / (1 - n*u) and u = 2^-24 (Higham, Accuracy and Stability of Numerical
// Algorithms, 3.1); alpha, beta and the last addition are three operations more. A solution by substitution has half of
// that as its backward error.
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

using Floats = std::vector<float>;
using View = std::function<double(int, int)>;  // element (i, j) of a matrix

constexpr int kM = 67, kN = 45, kK = 53;
constexpr float kAlpha = 0.75f, kBeta = -0.5f, kOne = 1;

constexpr const char* kOwn = "workspace: ";

std::string before;  // each name
std::vector<std::string> wanted;
int wrong = 0;

float next() {
  static unsigned state = 12345;
  state = state * 1664525u + 1013904223u;
  return static_cast<float>(static_cast<int>(state >> 9) - (1 << 22)) / (1 << 22);
}
Floats made(size_t n) {
  Floats v(n);
  for (float& x : v) x = next();
  return v;
}

void succeed(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

template <typename T>
struct OnDevice {
  T* p = nullptr;
  size_t n;
  explicit OnDevice(const std::vector<T>& v) : n(v.size()) {
    succeed(cudaMalloc(reinterpret_cast<void**>(&p), n * sizeof(T)), "cudaMalloc");
    succeed(cudaMemcpy(p, v.data(), n * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() { cudaFree(p); }
  std::vector<T> values() const {
    std::vector<T> v(n);
    succeed(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return v;
  }
};

struct Exact {
  std::vector<double> value, size;  // of the result, and the sum of its terms' magnitudes
  int operations = 0;
};

// rows x columns by column: alpha*A*B + beta*C with `inner` products each; `kept` elements are C as it was.
Exact product(int rows, int columns, int inner, double alpha, const View& a, const View& b, double beta, const View& c,
              const std::function<bool(int, int)>& kept = {}) {
  Exact e;
  e.operations = inner + 3;
  for (int j = 0; j < columns; ++j)
    for (int i = 0; i < rows; ++i) {
      if (kept && kept(i, j)) {
        e.value.push_back(c(i, j)), e.size.push_back(0);
        continue;
      }
      double sum = 0, size = 0;
      for (int k = 0; k < inner; ++k) {
        const double term = a(i, k) * b(k, j);
        sum += term, size += std::fabs(term);
      }
      const double old = beta == 0 ? 0 : beta * c(i, j);
      e.value.push_back(alpha * sum + old), e.size.push_back(std::fabs(alpha) * size + std::fabs(old));
    }
  return e;
}

bool asked(const char* name) {
  if (wanted.empty()) return true;
  for (const std::string& w : wanted)
    if (w == before + name) return true;
  return false;
}

void judge(const char* name, cublasStatus_t status, const Floats& got, const Exact& e) {
  constexpr double kUnit = 1.0 / (1 << 24);
  const double g = e.operations * kUnit / (1 - e.operations * kUnit);
  std::string why;
  if (status != CUBLAS_STATUS_SUCCESS)
    why = std::string("status ") + std::to_string(status) + ", " + cublasGetStatusString(status);
  for (size_t i = 0; i < got.size() && why.empty(); ++i)
    if (!(std::fabs(got[i] - e.value[i]) <= g * e.size[i]))
      why = "element " + std::to_string(i) + " is " + std::to_string(got[i]) + ", not " + std::to_string(e.value[i]);
  std::printf("%s%s\t%s\n", before.c_str(), name, why.empty() ? "right" : why.c_str());
  std::fflush(stdout);
  wrong += !why.empty();
}

View by_column(const Floats& v, int rows) {
  return [&v, rows](int i, int j) { return double{v[static_cast<size_t>(i + j * rows)]}; };
}
View turned(const View& a) {
  return [a](int i, int j) { return a(j, i); };
}
const View kNone = [](int, int) { return 0.0; };
const View kOnes = [](int, int) { return 1.0; };

void vectors(cublasHandle_t h) {
  const int n = 1000;
  const Floats x = made(n), y = made(n);
  const View vx = by_column(x, n), vy = by_column(y, n);
  const View size = [&](int, int k) { return std::fabs(vx(k, 0)); };
  const auto largest = [&](int sign) {
    int at = 0;
    for (int i = 1; i < n; ++i)
      if (sign * std::fabs(x[static_cast<size_t>(i)]) > sign * std::fabs(x[static_cast<size_t>(at)])) at = i;
    return Exact{{at + 1.0}, {0}, 1};
  };
  OnDevice<float> dx(x), dy(y);
  float r = 0;
  int index = 0;
  cublasStatus_t s;
  if (asked("sasum"))
    s = cublasSasum(h, n, dx.p, 1, &r), judge("sasum", s, {r}, product(1, 1, n, 1, size, kOnes, 0, kNone));
  if (asked("sdot"))
    s = cublasSdot(h, n, dx.p, 1, dy.p, 1, &r), judge("sdot", s, {r}, product(1, 1, n, 1, turned(vx), vy, 0, kNone));
  if (asked("snrm2")) {
    s = cublasSnrm2(h, n, dx.p, 1, &r);
    Exact e = product(1, 1, n, 1, turned(vx), vx, 0, kNone);
    e.value[0] = e.size[0] = std::sqrt(e.value[0]);
    judge("snrm2", s, {r}, e);
  }
  if (asked("isamax")) s = cublasIsamax(h, n, dx.p, 1, &index), judge("isamax", s, {float(index)}, largest(1));
  if (asked("isamin")) s = cublasIsamin(h, n, dx.p, 1, &index), judge("isamin", s, {float(index)}, largest(-1));
  // The rest change their vectors, in this order.
  const View a = [](int, int) { return double{kAlpha}; };
  if (asked("saxpy"))
    s = cublasSaxpy(h, n, &kAlpha, dx.p, 1, dy.p, 1), judge("saxpy", s, dy.values(), product(n, 1, 1, 1, vx, a, 1, vy));
  if (asked("sscal"))
    s = cublasSscal(h, n, &kAlpha, dx.p, 1), judge("sscal", s, dx.values(), product(n, 1, 1, 1, vx, a, 0, kNone));
  OnDevice<float> to(y), from(x), other(y);
  if (asked("scopy"))
    s = cublasScopy(h, n, from.p, 1, to.p, 1), judge("scopy", s, to.values(), product(n, 1, 0, 0, vx, a, 1, vx));
  if (asked("srot")) {
    const float c = 0.8f, d = 0.6f;
    s = cublasSrot(h, n, from.p, 1, other.p, 1, &c, &d);
    const View both = [&](int i, int k) { return k == 0 ? vx(i, 0) : vy(i, 0); };
    judge("srot", s, from.values(),
          product(n, 1, 2, 1, both, [&](int k, int) { return double{k == 0 ? c : d}; }, 0, kNone));
  }
  OnDevice<float> one(x), two(y);
  if (asked("sswap"))
    s = cublasSswap(h, n, one.p, 1, two.p, 1), judge("sswap", s, one.values(), product(n, 1, 0, 0, vx, a, 1, vy));
}

// Functions of a general matrix, a symmetric one and a triangular one.
void matrices(cublasHandle_t h) {
  const Floats a = made(kM * kN), square = made(kM * kM), p = made(kM * kK), q = made(kK * kN), c = made(kM * kN),
               x = made(kM), y = made(kM);
  Floats triangle = square;
  for (int k = 0; k < kM * kM; ++k) {
    float& t = triangle[static_cast<size_t>(k)];
    t = k % (kM + 1) == 0 ? 4 + std::fabs(t) : t / 8;  // well conditioned
  }
  const View va = by_column(a, kM), vs = by_column(square, kM), vt = by_column(triangle, kM), vp = by_column(p, kM),
             vq = by_column(q, kK), vc = by_column(c, kM), vx = by_column(x, kM), vy = by_column(y, kM);
  cublasStatus_t s;
  const OnDevice<float> da(a), dp(p), dq(q), dx(x), ds(square), dt(triangle);
  const auto run = [&](const char* name, const Floats& c0, const Exact& e, auto&& call) {
    if (!asked(name)) return;
    const OnDevice<float> out(c0);
    s = call(out.p);
    judge(name, s, out.values(), e);
  };
  run("sgemv", y, product(kM, 1, kN, kAlpha, va, vx, kBeta, vy),
      [&](float* o) { return cublasSgemv(h, CUBLAS_OP_N, kM, kN, &kAlpha, da.p, kM, dx.p, 1, &kBeta, o, 1); });
  run("sgemv, transposed", Floats(y.begin(), y.begin() + kN), product(kN, 1, kM, kAlpha, turned(va), vx, kBeta, vy),
      [&](float* o) { return cublasSgemv(h, CUBLAS_OP_T, kM, kN, &kAlpha, da.p, kM, dx.p, 1, &kBeta, o, 1); });
  run("sger", a, product(kM, kN, 1, kAlpha, vx, turned(vx), 1, va),
      [&](float* o) { return cublasSger(h, kM, kN, &kAlpha, dx.p, 1, dx.p, 1, o, kM); });
  run("sgemm", c, product(kM, kN, kK, kAlpha, vp, vq, kBeta, vc), [&](float* o) {
    return cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, kK, &kAlpha, dp.p, kM, dq.p, kK, &kBeta, o, kM);
  });
  run("sgemm, transposed", Floats(c.begin(), c.begin() + kK * 40),
      product(kK, 40, kM, kAlpha, turned(vp), turned(vs), kBeta, by_column(c, kK)), [&](float* o) {
        return cublasSgemm(h, CUBLAS_OP_T, CUBLAS_OP_T, kK, 40, kM, &kAlpha, dp.p, kM, ds.p, kM, &kBeta, o, kK);
      });
  const View both = [&](int i, int k) { return double{(k == 0 ? a : c)[static_cast<size_t>(i)]}; };
  const View weights = [](int k, int) { return double{k == 0 ? kAlpha : kBeta}; };
  run("sgeam", Floats(kM * kN), product(kM * kN, 1, 2, 1, both, weights, 0, kNone), [&](float* o) {
    const OnDevice<float> dc(c);
    return cublasSgeam(h, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, &kAlpha, da.p, kM, &kBeta, dc.p, kM, o, kM);
  });
  for (const bool upper : {false, true}) {
    const cublasFillMode_t fill = upper ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
    const std::string end = upper ? ", upper" : ", lower";
    const auto inside = [upper](int i, int j) { return i == j || (i < j) == upper; };
    const View symmetric = [&, inside](int i, int j) { return inside(i, j) ? vs(i, j) : vs(j, i); };
    const View half = [&, inside](int i, int j) { return inside(i, j) ? vt(i, j) : 0; };
    run(("ssymv" + end).c_str(), y, product(kM, 1, kM, kAlpha, symmetric, vx, kBeta, vy),
        [&](float* o) { return cublasSsymv(h, fill, kM, &kAlpha, ds.p, kM, dx.p, 1, &kBeta, o, 1); });
    run(("strmv" + end).c_str(), x, product(kM, 1, kM, 1, half, vx, 0, kNone),
        [&](float* o) { return cublasStrmv(h, fill, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, kM, dt.p, kM, o, 1); });
    run(("ssyrk" + end).c_str(), square,
        product(kM, kM, kK, kAlpha, vp, turned(vp), kBeta, vs, [inside](int i, int j) { return !inside(i, j); }),
        [&](float* o) { return cublasSsyrk(h, fill, CUBLAS_OP_N, kM, kK, &kAlpha, dp.p, kM, &kBeta, o, kM); });
    run(("ssymm" + end).c_str(), c, product(kM, kN, kM, kAlpha, symmetric, va, kBeta, vc), [&](float* o) {
      return cublasSsymm(h, CUBLAS_SIDE_LEFT, fill, kM, kN, &kAlpha, ds.p, kM, da.p, kM, &kBeta, o, kM);
    });
    run(("strmm" + end).c_str(), c, product(kM, kN, kM, kAlpha, half, va, 0, kNone), [&](float* o) {
      return cublasStrmm(h, CUBLAS_SIDE_LEFT, fill, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, kM, kN, &kAlpha, dt.p, kM, da.p,
                         kM, o, kM);
    });
    // A solution is judged by the right side that it gives.
    const auto solve = [&](const std::string& name, const Floats& right, int columns, auto&& call) {
      if (!asked(name.c_str())) return;
      const OnDevice<float> out(right);
      s = call(out.p);
      const Floats solution = out.values();
      judge(name.c_str(), s, right, product(kM, columns, kM, 1, half, by_column(solution, kM), 0, kNone));
    };
    solve("strsv" + end, x, 1,
          [&](float* o) { return cublasStrsv(h, fill, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, kM, dt.p, kM, o, 1); });
    solve("strsm" + end, a, kN, [&](float* o) {
      return cublasStrsm(h, CUBLAS_SIDE_LEFT, fill, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, kM, kN, &kOne, dt.p, kM, o, kM);
    });
    solve("strsmBatched" + end, a, kN, [&](float* o) {
      const OnDevice<float*> left(std::vector<float*>{dt.p}), right(std::vector<float*>{o});
      return cublasStrsmBatched(h, CUBLAS_SIDE_LEFT, fill, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, kM, kN, &kOne, left.p, kM,
                                right.p, kM, 1);
    });
  }
}

void batches(cublasHandle_t h) {
  constexpr int n = 24, count = 5, each = n * n;
  const Floats a = made(each * count), b = made(each * count), c = made(each * count);
  Exact all;
  for (int k = 0; k < count; ++k) {
    const auto part = [k](const Floats& v) -> View {
      return [&v, k](int i, int j) { return double{v[static_cast<size_t>(k * each + i + j * n)]}; };
    };
    const Exact one = product(n, n, n, kAlpha, part(a), part(b), kBeta, part(c));
    all.operations = one.operations;
    all.value.insert(all.value.end(), one.value.begin(), one.value.end());
    all.size.insert(all.size.end(), one.size.begin(), one.size.end());
  }
  const OnDevice<float> da(a), db(b), dc(c), dd(c);
  if (asked("sgemmStridedBatched")) {
    const cublasStatus_t s = cublasSgemmStridedBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &kAlpha, da.p, n, each,
                                                       db.p, n, each, &kBeta, dc.p, n, each, count);
    judge("sgemmStridedBatched", s, dc.values(), all);
  }
  if (asked("sgemmBatched")) {
    const auto places = [](float* p) {
      std::vector<float*> v;
      for (int k = 0; k < count; ++k) v.push_back(p + k * each);
      return v;
    };
    const OnDevice<float*> pa(places(da.p)), pb(places(db.p)), pd(places(dd.p));
    const cublasStatus_t s =
        cublasSgemmBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &kAlpha, pa.p, n, pb.p, n, &kBeta, pd.p, n, count);
    judge("sgemmBatched", s, dd.values(), all);
  }
}

}  // namespace

int main(int arguments, char** text) {
  for (int k = 1; k < arguments; ++k) wanted.push_back(text[k]);
  cublasHandle_t h = nullptr;
  if (const cublasStatus_t s = cublasCreate(&h); s != CUBLAS_STATUS_SUCCESS) {
    std::printf("create\tstatus %d, %s\n", s, cublasGetStatusString(s));
    return 1;
  }
  for (const char* each : {"", kOwn}) {
    before = each;
    if (!before.empty()) {
      constexpr size_t kBytes = 4 << 20;  // cuBLAS's documentation advises as much before Hopper
      void* workspace = nullptr;
      succeed(cudaMalloc(&workspace, kBytes), "cudaMalloc");
      cublasSetWorkspace(h, workspace, kBytes);
    }
    vectors(h);
    matrices(h);
    batches(h);
  }
  return wrong != 0;
}
