// The part of NCCL's interface that coalesce/nccl.cuh uses, for one process: what the other ranks send is known
// beforehand. For tests on the machine, which has no NCCL.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <vector>

enum ncclResult_t { ncclSuccess = 0, ncclUnhandledCudaError = 1, ncclInvalidArgument = 4, ncclInProgress = 7 };
enum ncclDataType_t { ncclUint8 = 1, ncclFloat = 7 };

struct ncclComm {
  int rank = 0;
  std::vector<std::vector<unsigned char>> sent;  // by each rank; this rank's own entry is not looked at
  ncclResult_t answer = ncclSuccess;             // of the next gathering
};
using ncclComm_t = ncclComm*;

inline const char* ncclGetErrorString(ncclResult_t) { return "an error of the fake NCCL"; }
inline ncclResult_t ncclCommCount(const ncclComm* comm, int* count) {
  *count = static_cast<int>(comm->sent.size());
  return ncclSuccess;
}
// Within a group nothing starts before its end.
inline bool in_group = false;
inline std::vector<std::function<ncclResult_t()>> of_group;
inline ncclResult_t ncclGroupStart() {
  in_group = true;
  return ncclSuccess;
}
inline ncclResult_t ncclGroupEnd() {
  in_group = false;
  ncclResult_t result = ncclSuccess;
  for (const auto& call : of_group)
    if (const ncclResult_t r = call(); r != ncclSuccess) result = r;
  of_group.clear();
  return result;
}

inline ncclResult_t ncclAllGather(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                                  ncclComm_t comm, cudaStream_t stream) {
  if (in_group) {
    of_group.emplace_back([=] { return ncclAllGather(send, receive, count, type, comm, stream); });
    return ncclSuccess;
  }
  if (comm->answer != ncclSuccess || type != ncclUint8) return ncclInvalidArgument;
  for (std::size_t rank = 0; rank < comm->sent.size(); ++rank) {
    const bool own = static_cast<int>(rank) == comm->rank;
    if (!own && comm->sent[rank].size() != count) return ncclInvalidArgument;
    if (cudaMemcpyAsync(static_cast<char*>(receive) + rank * count, own ? send : comm->sent[rank].data(), count,
                        cudaMemcpyDefault, stream) != cudaSuccess)
      return ncclUnhandledCudaError;
  }
  return ncclSuccess;
}
