// One reduction over all elements of one or more arrays, end to end.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "reduce/array.h"
#include "reduce/operation.h"

namespace coalesce::reduce {

// The arrays' elements, one array after the other, have positions 0 .. count - 1; within an array they are row-major.
// A state covers those that lie in memory at indices begin .. done - 1 of that row of arrays, and ends at `end`.
struct State {
  uint64_t begin = 0, done = 0, end = 0;
  std::string summary;  // Summary<T>::store()
};

State empty_state(Element element, uint64_t begin, uint64_t end);

// Reads from state.done to state.end by `threads` threads. Calls `more` after each chunk of some 50 ms; where it
// answers false, the reduction stops there and can go on later. All arrays have one element type. Throws
// std::runtime_error if a file loses bytes meanwhile; the state is then that of the chunk before.
void reduce(const std::vector<Array>& arrays, const Needs& needs, unsigned threads, State& state,
            const std::function<bool(const State&)>& more);

// Merges the summary of another range of the same arrays.
void merge(Element element, State& into, const State& from);

// Throws std::runtime_error if the bytes are no summary of the element type.
std::vector<Result> results(Element element, const State& state, const std::vector<Operation>& operations);

}  // namespace coalesce::reduce
