// Stands for NVRTC: says which of its functions was called.
#define SAYS(name, number) \
  extern "C" __attribute__((visibility("default"), aligned(16))) int name() { return number; }
SAYS(nvrtcGetPTX, 1)
SAYS(nvrtcGetPTXSize, 2)
SAYS(nvrtcGetCUBIN, 3)
SAYS(nvrtcGetCUBINSize, 4)
SAYS(last, 5)  // what is behind a function is not always code
