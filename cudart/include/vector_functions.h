#pragma once
#include "coalesce_cuda/make_vectors.h"
