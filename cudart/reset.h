// cudaDeviceReset: what each file that keeps state of the context forgets. Under the lock.
#pragma once

#include <cstdint>

namespace coalesce::cudart {

void forget_captures();
void forget_execs();
void forget_graphs();
void forget_graph_memory();
void forget_streams();
void forget_events();
void forget_host_memory();
void forget_pools();
void forget_libraries();
void forget_arrays();
void forget_textures();

// Memory was released: the pool it came from, if any, gets it back on its account.
void pool_released(uint64_t address);

}  // namespace coalesce::cudart
