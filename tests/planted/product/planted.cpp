#include "tests/planted/planted.h"

namespace coalesce::planted {

char product_read(const char* text, std::size_t at) { return shared_read(text, at); }

int product_sum(int a, int b) { return shared_sum(a, b); }

void product_write(int* place, int value) { shared_write(place, value); }

}  // namespace coalesce::planted
