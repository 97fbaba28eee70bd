#include "tool/present/remedy.h"

namespace coalesce::tool {
namespace {

using machine::Fault;
using machine::Hazard;

std::string of_fault(Fault f) {
  switch (f) {
    case Fault::illegal_address:
      return "the address has to stay within memory that is allocated then: compare the index with the length";
    case Fault::misaligned_address:
      return "the address has to be a multiple of the element's size: align the pointer, or access smaller elements";
    case Fault::deadlock:
      return "a thread that can still run has to do what is waited for";
    case Fault::invalid_pc:
      return "a function's address has to be taken on the device";
    case Fault::stack_overflow:
      return "fewer calls within calls, or cudaDeviceSetLimit(cudaLimitStackSize, ...)";
    default:
      return {};
  }
}

}  // namespace

std::string remedy_of(const machine::Diagnostic& d) {
  switch (d.hazard) {
    case Hazard::none:
      return of_fault(d.fault);
    case Hazard::uninitialised:
      if (d.message.find("a variable") != std::string::npos) return "give the variable a value on every path";
      if (d.message.find("a shuffle") != std::string::npos)
        return "every lane that the mask names has to come to the shuffle: no return or branch around it";
      return "write it before it is read: an initial value, cudaMemset, or a barrier behind the thread that writes";
    case Hazard::uninitialised_copy:
      return "fill the memory first, or copy only what is written";
    case Hazard::out_of_array:
      return "the index has to stay below the array's length";
    case Hazard::divergent_barrier:
      return "every thread that the barrier is for has to come to it: no branch around it";
    case Hazard::bad_copy:
      return "compare both pointers, the size in bytes and the direction with what is allocated";
    case Hazard::bad_free:
      return "free what was allocated, by the call that belongs to it, once";
    case Hazard::failed_launch:
      return "change the launch; cudaGetLastError() behind it would have told";
    case Hazard::leak:
      return "free it when nothing uses it any more";
    default:
      return {};
  }
}

}  // namespace coalesce::tool
