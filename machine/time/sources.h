// Where limits come from, beside measurements.
#pragma once

#include "machine/time/limits.h"

namespace coalesce::machine {

inline constexpr std::string_view kMeasured = "measured, NVIDIA H100 80GB HBM3, 2026-11-26, gpu/limits";
inline constexpr std::string_view kMeasuredH200 = "measured, NVIDIA H200, docs/results/h200.md";
inline constexpr std::string_view kStraight =
    "measured, NVIDIA H100 80GB HBM3, 2026-11-26, straight code of 256 to 16,384 instructions under ncu";
inline constexpr std::string_view kLoops =
    "measured, NVIDIA H100 80GB HBM3, 2026-11-26, atomics on 1 to 32 words of shared memory by 1 to 32 warps";
inline constexpr std::string_view kFitted =
    "fitted to the times of the launches that tests/truth/times.json marks for it";
inline constexpr std::string_view kAsH100 = "assumed to be the H100's: nobody has measured it on this device";
inline constexpr std::string_view kDataSheet =
    "NVIDIA's data sheet; bandwidth less what refreshing DRAM and turning its bus take";
inline constexpr std::string_view kPeak = "NVIDIA's data sheet: bits of the bus, at the clock of DRAM";
inline constexpr std::string_view kWhitePaper = "NVIDIA's white paper of the architecture";
inline constexpr std::string_view kGuide = "CUDA C++ programming guide, throughput of arithmetic instructions";
inline constexpr std::string_view kHopper =
    "Luo et al., Benchmarking and Dissecting the Nvidia Hopper GPU Architecture, 2024; an assumption where it has none";
inline constexpr std::string_view kVolta =
    "Jia et al., Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking, 2018; an assumption where it has "
    "none";

}  // namespace coalesce::machine
