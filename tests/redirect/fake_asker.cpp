// Asks the fake compiler for machine code and PTX.
#include <cstdio>

extern "C" {
int nvrtcGetPTX();
int nvrtcGetPTXSize();
int nvrtcGetCUBIN();
int nvrtcGetCUBINSize();
}

int main() { std::printf("%d %d %d %d\n", nvrtcGetPTX(), nvrtcGetPTXSize(), nvrtcGetCUBIN(), nvrtcGetCUBINSize()); }
