// Runs one kernel of twins.cl on an OpenCL platform and prints one line of JSON: bench_machine starts it, beneath
// `oclgrind` or not.
//
//   machine_twins PLATFORM FILE.cl KERNEL SIZE REPETITIONS     PLATFORM: part of the platform's name
//
// {"device": name, "right": bool, "seconds": [from enqueueing a launch to its end, for each repetition]}
// A first launch, which compiles, is not timed where there is more than one repetition. Exit codes: 0; 1 OpenCL
// reported an error; 2 usage; 3 no such platform.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "bench/cases.h"

namespace {

using namespace coalesce::bench;

void require(cl_int status, const char* what) {
  if (status != CL_SUCCESS)
    throw std::runtime_error(std::string(what) + " failed: OpenCL error " + std::to_string(status));
}

std::string name_of(cl_platform_id platform) {
  char name[256] = {};
  require(clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, nullptr), "clGetPlatformInfo");
  return name;
}

cl_platform_id find_platform(const std::string& wanted) {
  cl_uint count = 0;
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0)
    return nullptr;  // the loader's way to say "none"
  std::vector<cl_platform_id> platforms(count);
  require(clGetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs");
  for (cl_platform_id platform : platforms)
    if (name_of(platform).find(wanted) != std::string::npos) return platform;
  return nullptr;
}

// Everything is released when the process ends.
nlohmann::json measure(cl_platform_id platform, const std::string& source, const Case& c, uint32_t n, int repetitions) {
  cl_device_id device = nullptr;
  require(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), "clGetDeviceIDs");
  char name[256] = {};
  require(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name - 1, name, nullptr), "clGetDeviceInfo");
  cl_int status = 0;
  cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status);
  require(status, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
  require(status, "clCreateCommandQueue");
  const char* text = source.c_str();
  cl_program program = clCreateProgramWithSource(context, 1, &text, nullptr, &status);
  require(status, "clCreateProgramWithSource");
  require(clBuildProgram(program, 1, &device, "", nullptr, nullptr), "clBuildProgram");
  cl_kernel kernel = clCreateKernel(program, std::string(c.kernel).c_str(), &status);
  require(status, "clCreateKernel");

  Words a(c.words_in(n)), b(c.words_in(n)), out(c.words_out(n));
  c.fill(n, a, b);
  cl_uint index = 0;
  cl_mem result = nullptr;
  for (Words* words : {&a, &b, &out}) {
    cl_mem buffer =
        clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, words->size() * 4, words->data(), &status);
    require(status, "clCreateBuffer");
    require(clSetKernelArg(kernel, index++, sizeof buffer, &buffer), "clSetKernelArg");
    result = buffer;
  }
  require(clSetKernelArg(kernel, index, sizeof n, &n), "clSetKernelArg");

  const auto grid = c.grid(n);
  const size_t local[2] = {c.block[0], c.block[1]};
  const size_t global[2] = {size_t{grid[0]} * local[0], size_t{grid[1]} * local[1]};
  std::vector<double> seconds;
  for (int i = repetitions > 1 ? -1 : 0; i < repetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    require(clEnqueueNDRangeKernel(queue, kernel, 2, nullptr, global, local, 0, nullptr, nullptr),
            "clEnqueueNDRangeKernel");
    require(clFinish(queue), "clFinish");
    if (i >= 0) seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  require(clEnqueueReadBuffer(queue, result, CL_TRUE, 0, out.size() * 4, out.data(), 0, nullptr, nullptr),
          "clEnqueueReadBuffer");
  return {{"device", name}, {"right", out == c.answer(n, a, b)}, {"seconds", seconds}};
}

}  // namespace

int main(int argc, char** argv) {
  const Case* c = argc == 6 ? find_case(argv[3]) : nullptr;
  const uint64_t n = c ? std::strtoull(argv[4], nullptr, 10) : 0;
  const int repetitions = c ? std::atoi(argv[5]) : 0;
  if (!c || !c->twin || (n != c->n && n != c->small_n) || repetitions < 1) {
    std::fprintf(stderr, "usage: machine_twins PLATFORM FILE.cl KERNEL SIZE REPETITIONS\n");
    return 2;
  }
  try {
    cl_platform_id platform = find_platform(argv[1]);
    if (!platform) return 3;
    std::ifstream file(argv[2]);
    const std::string source{std::istreambuf_iterator<char>(file), {}};
    if (source.empty()) throw std::runtime_error(std::string("cannot read ") + argv[2]);
    std::puts(measure(platform, source, *c, static_cast<uint32_t>(n), repetitions).dump().c_str());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "machine_twins: %s\n", e.what());
    return 1;
  }
}
