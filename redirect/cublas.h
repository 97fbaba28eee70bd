// cuBLAS on the machine. It takes its workspace and chooses the kernels of its products by private interfaces of
// NVIDIA's runtime, which nobody answers here; public functions of its own do without them. Programs that bind to it
// call a wrapper first:
//
// - a handle has a workspace for each of its streams, by cublasSetWorkspace, of the largest size that cuBLAS documents;
// - a product of single precision is a batch of two products, each with half of the columns;
// - a triangular solution is a batch of one.
//
// What is counted is those kernels; a GPU chooses others.
#pragma once

#include <link.h>

#include <cstdint>
#include <string_view>

#include "redirect/mapped_file.h"

namespace coalesce::redirect {

bool is_cublas(std::string_view path);
// Reads where its functions are. The first one of a process is meant, where there are several.
void know_cublas(const link_map& object, const elf::File& file);
// The address of the wrapper of cuBLAS's function; 0: it has none.
uint64_t cublas_instead(std::string_view name);
// Where the shared runtime's function is; 0: there is none (yet). Defined by who uses this.
uint64_t runtime_function(std::string_view name);

}  // namespace coalesce::redirect
