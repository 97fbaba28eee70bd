// Which process this is. getpid() is a system call, which costs as much as the rest of a small launch on some machines.
#pragma once

#include <sys/types.h>

namespace coalesce::record {

// getpid(), remembered in memory that a child made by fork() finds wiped.
pid_t this_process();

}  // namespace coalesce::record
