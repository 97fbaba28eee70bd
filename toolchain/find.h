// The compilers of CUDA on this computer, and the words with which clang compiles without a toolkit.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace coalesce::toolchain {

// The newest PTX that both compilers write; newer devices run it as it is.
inline constexpr unsigned kNewestArchitecture = 90;
inline constexpr int kOldestClang = 16;

// An executable of that name on PATH (or the path itself when it has a slash); empty: none.
std::filesystem::path find_program(const std::string& name);

// clang++ of version kOldestClang or later; empty: none.
std::filesystem::path find_clang();

// Whether this nvcc writes PTX for the architecture (75 for compute_75); each release drops old ones.
bool nvcc_knows(const std::filesystem::path& nvcc, unsigned architecture);

// For device and host code. `headers`: the folder cudart/include.
std::vector<std::string> clang_words(unsigned architecture, const std::filesystem::path& headers,
                                     const std::string& standard = "c++17");
// Beside those, in front of all sources: the CUDA headers.
std::vector<std::string> clang_header_words();
// Beside those: PTX out.
std::vector<std::string> clang_device_words();

}  // namespace coalesce::toolchain
