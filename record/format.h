// The record of a run: what a CUDA runtime writes down while the program runs, one JSON value a line. The emulator's
// runtime writes it (cudart/), and so does the library in front of NVIDIA's (gpu/); the command reads it (tool/).
//
//   {"record":"coalesce.record/1","device":{"key","name","compute_capability":[9,0]},"program":argv0,"command":words}
//        "model":name         where the counted requests are not those of the PTX (machine/model.h)
//        "devices":n          more than one; each launch then has "device" and "peer_bytes": 32 x the distinct sectors
//                             of other devices' memory that it touched
//        "on":"gpu"           measured on a GPU; "device" then has "l2_bytes", too
//        "rank":r,"ranks":n   of a process that a launcher of parallel jobs started
//   {"kernel":id,"name":mangled}                       before the kernel's first launch
//   {"launch":i,"kernel":id,"grid":[x,y,z],"block":[x,y,z],"dynamic_shared_bytes":n,"seconds":s,"fault":"" or its name,
//    "counters":{name:value,...},"lines":[[file,line,ptx_line,{non-zero counters}],...]}
//        "counters"           every counter; from a GPU those that were read
//        "lines", "time"      left out: the same as those of the kernel's launch before
//        "interrupted":true   a signal ended the launch
//        "time":{"us",...}    an estimate of the launch's time on the device, where asked for (record/estimate.h);
//        null:
//                             none, unlike the launch before
//        "times":{"cold":[s,...],"warm":[s,...]}, "metrics":{CUPTI's name:value}     from a GPU, where asked for
//   {"diagnostic":{...}}                               after the launch it belongs to
//   {"note":text}                                      what could not be measured, once
//   {"copies":{"h2d":{"calls":n,"bytes":n},...}}       at exit; from a GPU with "seconds"
//   {"span":seconds}                                   host time from the first launch or copy to the last wait; GPU
//   only
//   {"end":true}                                       last, only at normal exit
//
// Each line ends with "pid":n. Several processes may write to one record at a time, each from its header on. A second
// header of a process begins where it resets its GPU: kernels' ids start anew, launches go on.
//
// Every line is in the file as soon as it is complete, so a program may die at any byte: a last line without its
// newline is no error, and everything before it counts. Where a line could not be written (a full disk), an empty file
// stands beside the record, with kTruncated behind the record's name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "machine/observe/counters.h"

namespace coalesce::record {

inline constexpr const char* kSchema = "coalesce.record/1";
inline constexpr const char* kTruncated = ".truncated";

enum class CopyPath : uint8_t { h2d, d2h, d2d, h2h, p2p };  // p2p: between devices
inline constexpr std::array<const char*, 5> kCopyNames = {"h2d", "d2h", "d2d", "h2h", "p2p"};

// Sets of counters: bit i stands for row i of kCounterRows.
inline constexpr uint64_t kAllCounters = (uint64_t{1} << machine::kCounterCount) - 1;
static_assert(machine::kCounterCount < 64);

}  // namespace coalesce::record
