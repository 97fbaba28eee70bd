#pragma once
#include "coalesce_cuda/qualifiers.h"
