#pragma once
#include "coalesce_cuda/api.h"
#include "coalesce_cuda/plain_names_away.h"
#include "coalesce_cuda/plain_names_back.h"
