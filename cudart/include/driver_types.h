#pragma once
#include "coalesce_cuda/api_types.h"
