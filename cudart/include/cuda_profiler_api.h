#pragma once
#include "coalesce_cuda/api.h"
