// cuRAND's generators on the device against its generators on the host (curandCreateGeneratorHost), which need no
// device.
//
// usage: curand [NAME...]: prints "NAME<tab>right" or "NAME<tab>why not" a line, for all or for those whose names are
// given.
//
// Bits, uniform and Poisson values are equal, bit by bit. Normal values of double precision are those of an H100
// (cuRAND 10.4.0), of which TRUTH has a hash for each generator: the host's differ in their last bits,
// MTGP32's more.
//
// Normal values of single precision come from sines that the device approximates within 2^-20.5 (PTX manual,
// sin.approx), times a radius of sqrt(-2 * log(2^-33)) = 6.8 at most; logarithm, root and the last product and sum
// round within 2^-19 of the 16 that no value reaches. With a deviation of 2 all of that is less than 2^-15. Log-normal
// values with a deviation of 1 are e to such a value, so their relative error is less than 2^-16.
#include <cuda_runtime_api.h>
#include <curand.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#ifndef TRUTH
#define TRUTH "curand_h100.txt"
#endif

namespace {

constexpr size_t kCount = 1000;

struct Generator {
  const char* name;
  curandRngType_t type;
  bool quasi, wide;  // wide: of 64 bits
};
constexpr Generator kGenerators[] = {
    {"xorwow", CURAND_RNG_PSEUDO_XORWOW, false, false},
    {"mrg32k3a", CURAND_RNG_PSEUDO_MRG32K3A, false, false},
    {"mtgp32", CURAND_RNG_PSEUDO_MTGP32, false, false},
    {"philox", CURAND_RNG_PSEUDO_PHILOX4_32_10, false, false},
    {"mt19937", CURAND_RNG_PSEUDO_MT19937, false, false},
    {"sobol32", CURAND_RNG_QUASI_SOBOL32, true, false},
    {"scrambled32", CURAND_RNG_QUASI_SCRAMBLED_SOBOL32, true, false},
    {"sobol64", CURAND_RNG_QUASI_SOBOL64, true, true},
    {"scrambled64", CURAND_RNG_QUASI_SCRAMBLED_SOBOL64, true, true},
};

std::map<std::string, std::string> truth;
int wrong = 0;

void succeed(int error, const char* what) {
  if (error == 0) return;
  std::printf("%s\tstatus %d\n", what, error);
  std::exit(1);
}

std::string hash_of(const std::vector<char>& bytes) {  // FNV-1a
  uint64_t h = 14695981039346656037u;
  for (const char c : bytes) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(h));
  return text;
}

// One call on both generators, which moves both on alike.
enum class Rule { equal, within, relative, hash };
template <typename T, typename Call>
void compare(const std::string& name, Rule rule, curandGenerator_t device, curandGenerator_t host, T* place,
             Call&& call) {
  std::vector<char> got(kCount * sizeof(T)), expected(kCount * sizeof(T));
  succeed(call(device, place), name.c_str());
  succeed(call(host, reinterpret_cast<T*>(expected.data())), name.c_str());
  succeed(cudaMemcpy(got.data(), place, got.size(), cudaMemcpyDeviceToHost), name.c_str());
  std::string why;
  if (rule != Rule::hash) {
    size_t differ = 0;
    for (size_t i = 0; i < kCount; ++i) {
      T a, b;
      std::memcpy(&a, &got[i * sizeof(T)], sizeof(T));
      std::memcpy(&b, &expected[i * sizeof(T)], sizeof(T));
      const double away = std::fabs(static_cast<double>(a) - static_cast<double>(b));
      const double least = rule == Rule::within ? std::ldexp(1, -15) : std::ldexp(static_cast<double>(b), -16);
      differ += rule == Rule::equal ? a != b : !(away < least);
    }
    if (differ != 0) why = std::to_string(differ) + " of " + std::to_string(kCount) + " values are not the host's";
  } else if (const auto at = truth.find(name); at == truth.end()) {
    why = "hash " + hash_of(got) + ", and no truth of a GPU";
  } else if (at->second != hash_of(got)) {
    why = "hash " + hash_of(got) + " is not an H100's " + at->second;
  }
  std::printf("%s\t%s\n", name.c_str(), why.empty() ? "right" : why.c_str());
  std::fflush(stdout);
  wrong += !why.empty();
}

void run(const Generator& g) {
  curandGenerator_t device, host;
  const std::string name = g.name;
  succeed(curandCreateGenerator(&device, g.type), g.name);
  succeed(curandCreateGeneratorHost(&host, g.type), g.name);
  for (const curandGenerator_t each : {device, host})
    succeed(g.quasi ? curandSetQuasiRandomGeneratorDimensions(each, 4) : curandSetPseudoRandomGeneratorSeed(each, 1234),
            g.name);
  void* place = nullptr;
  succeed(cudaMalloc(&place, kCount * sizeof(double)), g.name);
  const auto floats = static_cast<float*>(place);
  const auto doubles = static_cast<double*>(place);
  const auto words = static_cast<unsigned*>(place);
  const auto longs = static_cast<unsigned long long*>(place);
  if (g.wide)
    compare(name + " bits", Rule::equal, device, host, longs,
            [](auto gen, auto* p) { return curandGenerateLongLong(gen, p, kCount); });
  else
    compare(name + " bits", Rule::equal, device, host, words,
            [](auto gen, auto* p) { return curandGenerate(gen, p, kCount); });
  compare(name + " uniform", Rule::equal, device, host, floats,
          [](auto gen, auto* p) { return curandGenerateUniform(gen, p, kCount); });
  compare(name + " uniform64", Rule::equal, device, host, doubles,
          [](auto gen, auto* p) { return curandGenerateUniformDouble(gen, p, kCount); });
  compare(name + " normal", Rule::within, device, host, floats,
          [](auto gen, auto* p) { return curandGenerateNormal(gen, p, kCount, 1, 2); });
  compare(name + " normal64", Rule::hash, device, host, doubles,
          [](auto gen, auto* p) { return curandGenerateNormalDouble(gen, p, kCount, 1, 2); });
  compare(name + " lognormal", Rule::relative, device, host, floats,
          [](auto gen, auto* p) { return curandGenerateLogNormal(gen, p, kCount, 0, 1); });
  compare(name + " poisson", Rule::equal, device, host, words,
          [](auto gen, auto* p) { return curandGeneratePoisson(gen, p, kCount, 10); });
  for (const curandGenerator_t each : {device, host}) succeed(curandDestroyGenerator(each), g.name);
  succeed(cudaFree(place), g.name);
}

}  // namespace

int main(int arguments, char** text) {
  std::ifstream file(TRUTH);
  for (std::string generator, kind, hash; file >> generator >> kind >> hash;) truth[generator + ' ' + kind] = hash;
  for (const Generator& g : kGenerators) {
    bool asked = arguments == 1;
    for (int k = 1; k < arguments; ++k)
      asked = asked || std::string(text[k]).rfind(std::string(g.name) + ' ', 0) == 0 || g.name == std::string(text[k]);
    if (asked) run(g);
  }
  return wrong != 0;
}
