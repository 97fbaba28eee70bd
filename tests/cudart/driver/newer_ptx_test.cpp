// PTX for each architecture at each entry, held against what an H100's driver says (tests/truth/ptx_targets.txt, made
// by tests/hardware/ptx_targets_probe.cu). The device of these tests has the same capability.
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "tests/cudart/api.h"
#include "tests/cudart/driver/driver_api.h"
#include "tests/cudart/driver/driver_functions.h"

namespace coalesce::cudart {
namespace {

std::string ptx_for(const std::string& target, const std::string& version, const char* name = "k") {
  return ".version " + version + "\n.target " + target + "\n.address_size 64\n.visible .entry " + name +
         "(.param .u64 p)\n{\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\nst.global.u32 [%rd1], 7;\nret;\n}\n";
}

// {target: {entry: code}}; a line is "target version entry code".
using Truth = std::map<std::pair<std::string, std::string>, std::map<std::string, int>>;
Truth ptx_answers() {
  std::ifstream file(COALESCE_SOURCE_DIR "/tests/truth/ptx_targets.txt");
  Truth all;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string target, version, entry;
    int code = -1;
    if (line.empty() || line[0] == '#' || !(words >> target >> version >> entry >> code)) continue;
    all[{target, version}][entry] = code;
  }
  return all;
}

class PtxTargets : public Driver {
 protected:
  void add(const std::string& entry, int code) { said_[entry] = code; }

  void add_module(const std::string& entry, CUresult code, const cudaLibrary_t& module) {
    add(entry, code);
    if (code == CUDA_SUCCESS) EXPECT_EQ(cuModuleUnload(module), CUDA_SUCCESS);
  }

  void add_library(const std::string& entry, CUresult code, const cudaLibrary_t& library) {
    add(entry, code);
    if (code != CUDA_SUCCESS) return;
    cudaKernel_t found = nullptr;
    add(entry + ".GetKernel", cuLibraryGetKernel(&found, library, "k"));
    EXPECT_EQ(cuLibraryUnload(library), CUDA_SUCCESS);
  }

  void add_links(const std::string& text) {
    std::string old = ptx_for("sm_80", "7.0", "other"), mine = text;
    for (const std::string order : {"cuLink", "cuLink(behind)", "cuLink(before)"}) {
      CUlinkState link = nullptr;
      ASSERT_EQ(cuLinkCreate_v2(0, nullptr, nullptr, &link), CUDA_SUCCESS);
      const auto put = [&](std::string& what) {
        return cuLinkAddData_v2(link, 1, what.data(), what.size() + 1, "text", 0, nullptr, nullptr);
      };
      if (order == "cuLink(behind)") add(order + ".AddOld", put(old));
      add(order + ".Add", put(mine));
      if (order == "cuLink(before)") add(order + ".AddOld", put(old));
      void* image = nullptr;
      const CUresult complete = cuLinkComplete(link, &image, nullptr);
      add(order + ".Complete", complete);
      cudaLibrary_t module = nullptr;
      if (complete == CUDA_SUCCESS) add_module(order + ".Load", cuModuleLoadData(&module, image), module);
      EXPECT_EQ(cuLinkDestroy(link), CUDA_SUCCESS);
    }
  }

  void ask_all(const std::string& text) {
    const std::string path = ::testing::TempDir() + "ptx_targets_" + std::to_string(getpid()) + ".ptx";
    std::ofstream(path) << text;
    cudaLibrary_t m = nullptr;
    add_module("cuModuleLoadData", cuModuleLoadData(&m, text.c_str()), m);
    add_module("cuModuleLoadDataEx", cuModuleLoadDataEx(&m, text.c_str(), 0, nullptr, nullptr), m);
    add_module("cuModuleLoad", cuModuleLoad(&m, path.c_str()), m);
    add_library("cuLibraryLoadData", cuLibraryLoadData(&m, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0), m);
    add_library("cuLibraryLoadFromFile",
                cuLibraryLoadFromFile(&m, path.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0), m);
    std::remove(path.c_str());
    add_links(text);
    const cudaError_t runtime = cudaLibraryLoadData(&m, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0);
    add("cudaLibraryLoadData", runtime);
    if (runtime != cudaSuccess) return;
    cudaKernel_t found = nullptr;
    add("cudaLibraryLoadData.GetKernel", cudaLibraryGetKernel(&found, m, "k"));
    EXPECT_EQ(cudaLibraryUnload(m), cudaSuccess);
    cudaGetLastError();
  }

  std::map<std::string, int> said_;
};

TEST_F(PtxTargets, AnswersAreAnH100s) {
  const Truth all = ptx_answers();
  ASSERT_EQ(all.size(), 13u);
  ::testing::internal::CaptureStderr();
  for (const auto& [of, expected] : all) {
    said_.clear();
    ask_all(ptx_for(of.first, of.second));
    EXPECT_EQ(said_, expected) << of.first;
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("this PTX is for sm_120a, and the device has capability 9.0\n"
                      "coalesce: hint: compile it for an older architecture, or coalesce run --device rtx5090\n"),
            std::string::npos)
      << said.substr(0, 1000);
}

// A directive in a comment is none.
TEST_F(PtxTargets, CommentsNameNone) {
  cudaLibrary_t m = nullptr;
  const std::string text =
      "// .target sm_120\n/* .target sm_120 */\n/*\n.target sm_120\n*/\n" + ptx_for("sm_90", "7.8");
  ASSERT_EQ(cuModuleLoadData(&m, text.c_str()), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleUnload(m), CUDA_SUCCESS);
}

}  // namespace
}  // namespace coalesce::cudart
