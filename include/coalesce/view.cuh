// coalesce::view is an array of any shape and layout.
#pragma once

#include <coalesce/types/view.cuh>
