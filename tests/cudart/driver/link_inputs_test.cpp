// Fat binaries in links at run time, held against what an H100's driver says (tests/truth/link_inputs.txt, made by
// tests/hardware/link_inputs_probe.cu). The device of these tests has the same capability.
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "tests/cudart/api.h"
#include "tests/cudart/driver/driver_api.h"
#include "tests/cudart/driver/driver_functions.h"
#include "tests/hardware/fat_binaries.h"

namespace coalesce::cudart {
namespace {

class LinkInputs : public Driver {
 protected:
  void add_kernels(const std::string& what, CUresult loaded, const cudaLibrary_t& module) {
    said_[what + ".Load"] = loaded;
    if (loaded != CUDA_SUCCESS) return;
    for (const char* kernel : {"k", "other"}) {
      cudaKernel_t found = nullptr;
      said_[what + "." + kernel] = cuModuleGetFunction(&found, module, kernel);
    }
    EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
  }

  void add_link(const std::string& name, std::string image, const std::string& order) {
    constexpr int kPtx = 1, kFatBinary = 2;
    std::string other = link_inputs::other_text();
    const std::string what = name + " cuLink" + order;
    CUlinkState state = nullptr;
    ASSERT_EQ(cuLinkCreate_v2(0, nullptr, nullptr, &state), CUDA_SUCCESS);
    const auto put = [&](const char* which, int type, std::string& with) {
      said_[what + "." + which] = cuLinkAddData_v2(state, type, with.data(), with.size(), "input", 0, nullptr, nullptr);
    };
    if (order == "(behind)") put("AddOther", kPtx, other);
    put("Add", kFatBinary, image);
    if (order == "(before)") put("AddOther", kPtx, other);
    void* made = nullptr;
    const CUresult complete = cuLinkComplete(state, &made, nullptr);
    said_[what + ".Complete"] = complete;
    cudaLibrary_t module = nullptr;
    if (complete == CUDA_SUCCESS) {
      const CUresult loaded = cuModuleLoadData(&module, made);
      add_kernels(what, loaded, module);
    }
    EXPECT_EQ(cuLinkDestroy(state), CUDA_SUCCESS);
  }

  std::map<std::string, int> said_;
};

TEST_F(LinkInputs, AnswersAreAnH100s) {
  std::ifstream file(COALESCE_SOURCE_DIR "/tests/truth/link_inputs.txt");
  std::map<std::string, int> truth;
  for (std::string line; std::getline(file, line);) {
    const std::size_t last = line.rfind(' ');
    if (!line.empty() && line[0] != '#') truth[line.substr(0, last)] = std::stoi(line.substr(last));
  }
  ASSERT_GT(truth.size(), 7u * 4);
  ::testing::internal::CaptureStderr();
  for (const auto& [name, image] : link_inputs::inputs()) {
    cudaLibrary_t module = nullptr;
    const CUresult loaded = cuModuleLoadData(&module, image.data());
    add_kernels(name + " cuModule", loaded, module);
    for (const char* order : {"", "(behind)", "(before)"}) add_link(name, image, order);
  }
  ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(said_, truth);
}

}  // namespace
}  // namespace coalesce::cudart
