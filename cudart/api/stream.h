// Streams are names only: work is done when the call that asks for it returns.
#pragma once

#include "cudart/core/abi.h"

namespace coalesce::cudart {

// A live stream, or one of the default ones (0, 1 legacy, 2 per thread). Under the lock.
bool is_stream(cudaStream_t stream);

// One of the streams that are there without being made.
bool is_default(cudaStream_t stream);
// The device of a stream; the default ones are those of the device in use. Under the lock.
unsigned device_of(cudaStream_t stream);
// cudaDeviceReset of one of several devices calls these. Under the lock.
void end_streams_of(unsigned device);
void end_events_of(unsigned device);

// It waits for the legacy stream, and that for it. Under the lock.
bool is_blocking(cudaStream_t stream);

// The stream that the _ptsz and _ptds forms of calls take the default one for.
inline cudaStream_t of_thread(cudaStream_t stream) {
  return stream == nullptr ? reinterpret_cast<cudaStream_t>(2) : stream;
}

}  // namespace coalesce::cudart
