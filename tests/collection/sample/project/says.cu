// Says that it is wrong, and ends with 0.
#include <cstdio>

int main(int count, char** words) {
  int devices = 0;
  cudaGetDeviceCount(&devices);
  std::printf("%s\n", count > 1 ? words[1] : "no argument");
  return devices == 1 ? 0 : 2;
}
