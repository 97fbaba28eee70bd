#pragma once
#include "coalesce_cuda/vectors.h"
