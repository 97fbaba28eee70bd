// inclusive_scan(group, value, operation), exclusive_scan(...): by rank, over a tile or a coalesced group. What is
// below rank 0 is T().
#pragma once
#include "../coalesce_cuda/plain_names_away.h"
#include "reduce.h"

namespace cooperative_groups {

template <class Group, class T, class F>
__device__ inline T inclusive_scan(const Group& group, T value, F&& operation) {
  for (unsigned int by = 1; by < group.size(); by *= 2) {
    const T below = group.shfl_up(value, by);
    if (group.thread_rank() >= by) value = operation(below, value);
  }
  return value;
}
template <class Group, class T>
__device__ inline T inclusive_scan(const Group& group, T value) {
  return inclusive_scan(group, value, plus<T>());
}

template <class Group, class T, class F>
__device__ inline T exclusive_scan(const Group& group, T value, F&& operation) {
  const T below = group.shfl_up(inclusive_scan(group, value, static_cast<F&&>(operation)), 1);
  return group.thread_rank() == 0 ? T() : below;
}
template <class Group, class T>
__device__ inline T exclusive_scan(const Group& group, T value) {
  return exclusive_scan(group, value, plus<T>());
}

}  // namespace cooperative_groups
#include "../coalesce_cuda/plain_names_back.h"
