// coalesce::status is the result of every function of the library.
#pragma once

#include <coalesce/types/status.cuh>
