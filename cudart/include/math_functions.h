#pragma once
#include "coalesce_cuda/math.h"
