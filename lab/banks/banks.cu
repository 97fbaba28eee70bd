// Which strides make the lanes of a warp collide on the banks of shared memory. One warp; each lane adds one to a word
// of its own, and the kernels differ only in which word that is.
//
//   banks [--stride S] [--width W] [--pad P] [--lanes L] [--rung NAME]
//
// The last rung takes any stride (0 to 1024 elements, default 2), width (1, 2, 4, 8 or 16 bytes an element, 4), padding
// (0 to 64 elements left unused after every S, 0) and number of lanes (1 to 32, 32). `coalesce banks` answers the same
// question without running anything.
#include "../program.h"

constexpr unsigned int kLanes = 32;

// An element is a number or two or four of them; all of it changes, so all of it is loaded and stored.
template <typename T>
__host__ __device__ inline void set(T& e, unsigned int v) {
  e = static_cast<T>(v);
}
__host__ __device__ inline void set(uint2& e, unsigned int v) { e = make_uint2(v, v); }
__host__ __device__ inline void set(uint4& e, unsigned int v) { e = make_uint4(v, v, v, v); }
template <typename T>
__device__ inline T one_more(T e) {
  return static_cast<T>(e + 1);
}
__device__ inline uint2 one_more(uint2 e) { return make_uint2(e.x + 1, e.y + 1); }
__device__ inline uint4 one_more(uint4 e) { return make_uint4(e.x + 1, e.y + 1, e.z + 1, e.w + 1); }

// Element `i` starts as i, goes up by one and is read once more: two stores and two loads of one pattern. The barriers
// keep the compiler from holding it in a register.
template <typename T>
__device__ inline void count_up(T* elements, unsigned int i, T* out) {
  T start;
  set(start, i);
  elements[i] = start;
  __syncwarp(__activemask());
  elements[i] = one_more(elements[i]);
  __syncwarp(__activemask());
  out[threadIdx.x] = elements[i];
}

// Rung 1. All lanes on one word.
// Counters: one wavefront for each load and store: a bank gives its word to all who ask, and of several stores to one
// word one wins. No conflict. (As a program it is a race; the lab needs the access, not the sum.)
__global__ void one_word(unsigned int* out) {
  extern __shared__ unsigned int words[];
  count_up(words, 0, out);
}

// Rung 2. Lane t on word t.
// Counters: 32 words in 32 banks: one wavefront, no conflict.
__global__ void stride_1(unsigned int* out) {
  extern __shared__ unsigned int words[];
  count_up(words, threadIdx.x, out);
}

// Rung 3. Lane t on word 4t.
// Counters: only every fourth bank is asked, each for 4 words: 4 wavefronts.
__global__ void stride_4(unsigned int* out) {
  extern __shared__ unsigned int words[];
  count_up(words, 4 * threadIdx.x, out);
}

// Rung 4. Lane t on word 8t.
// Counters: four banks, 8 words each: 8 wavefronts.
__global__ void stride_8(unsigned int* out) {
  extern __shared__ unsigned int words[];
  count_up(words, 8 * threadIdx.x, out);
}

// Rung 5. Lane t on word 32t: the column of a tile that is 32 words wide.
// Counters: bank 0 has all 32 words: 32 wavefronts, one lane at a time.
__global__ void stride_32(unsigned int* out) {
  extern __shared__ unsigned int words[];
  count_up(words, 32 * threadIdx.x, out);
}

// Rung 6. Lane t on word 33t: the same column with one unused word at the end of each row.
// Counters: 33t mod 32 = t: every lane has a bank to itself again.
__global__ void stride_33(unsigned int* out) {
  extern __shared__ unsigned int words[];
  count_up(words, 33 * threadIdx.x, out);
}

// Rung 7. Any stride, width and padding, from the command line.
// Counters: what the rule says; 8 and 16 bytes a lane are served by half and quarter warps.
template <typename T>
__global__ void any_stride(T* out, unsigned int step) {
  extern __shared__ uint4 memory[];
  count_up(reinterpret_cast<T*>(memory), step * threadIdx.x, out);
}

struct Rung {
  const char* name;
  void (*kernel)(unsigned int*);
  unsigned int stride;
};

const Rung kRungs[] = {
    {"one_word", one_word, 0}, {"stride_1", stride_1, 1},    {"stride_4", stride_4, 4},
    {"stride_8", stride_8, 8}, {"stride_32", stride_32, 32}, {"stride_33", stride_33, 33},
};

// With stride 0 all lanes count one element up, and how many of them a GPU lets in between load and store is its own
// affair: anything from 1 to all of them.
template <typename T>
bool right(const std::vector<T>& out, unsigned int step) {
  bool all = true;
  for (unsigned int lane = 0; lane < out.size(); ++lane) {
    T expected;
    set(expected, step * lane + 1);
    if (step) {
      all = all && !std::memcmp(&out[lane], &expected, sizeof(T));
    } else {
      unsigned char first = 0;  // the lowest byte tells: there are at most 32 lanes
      std::memcpy(&first, &out[lane], 1);
      all = all && first >= 1 && first <= out.size();
    }
  }
  return all;
}

template <typename T>
bool run_any(unsigned int step, unsigned int lanes) {
  Array<T> out(lanes);
  out.spoil();
  const size_t bytes = (static_cast<size_t>(step) * (lanes - 1) + 1) * sizeof(T);
  CHECK(cudaFuncSetAttribute(any_stride<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  any_stride<T><<<1, lanes, bytes>>>(out.get(), step);
  CHECK_KERNEL();
  return right(out.download(), step);
}

int main(int argc, char** argv) {
  Program program(argc, argv,
                  {{"--stride", 2, 0, 1024, Option::any},
                   {"--width", 4, 1, 16, Option::power_of_two},
                   {"--pad", 0, 0, 64, Option::any},
                   {"--lanes", 32, 1, kLanes, Option::any}});
  Array<unsigned int> out(kLanes);
  for (const Rung& rung : kRungs) {
    if (!program.wants(rung.name)) continue;
    out.spoil();
    rung.kernel<<<1, kLanes, (rung.stride * (kLanes - 1) + 1) * sizeof(unsigned int)>>>(out.get());
    CHECK_KERNEL();
    program.result(rung.name, right(out.download(), rung.stride));
  }
  if (program.wants("any_stride")) {
    const unsigned int stride = static_cast<unsigned int>(program["--stride"]);
    const unsigned int width = static_cast<unsigned int>(program["--width"]);
    const unsigned int step = stride + static_cast<unsigned int>(program["--pad"]);
    const unsigned int lanes = static_cast<unsigned int>(program["--lanes"]);
    const size_t bytes = (static_cast<size_t>(step) * (lanes - 1) + 1) * width;
    int device = 0, most = 0;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    if (bytes > static_cast<size_t>(most)) {
      std::fprintf(stderr, "error: %zu bytes of shared memory, and a block of this device may have %d\n", bytes, most);
      return 2;
    }
    const bool ok = width == 1   ? run_any<unsigned char>(step, lanes)
                    : width == 2 ? run_any<unsigned short>(step, lanes)
                    : width == 4 ? run_any<unsigned int>(step, lanes)
                    : width == 8 ? run_any<uint2>(step, lanes)
                                 : run_any<uint4>(step, lanes);
    program.result("any_stride", ok);
  }
  return program.end();
}
