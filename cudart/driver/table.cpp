// The functions' addresses, in the order of driver.def. A file of its own: here the names are declared without
// arguments.
#define X(name, base, since) extern "C" int name();
#include "cudart/driver/driver.def"
#undef X

extern "C" {
extern const void* const coalesce_driver_table[];
const void* const coalesce_driver_table[] = {
#define X(name, base, since) reinterpret_cast<const void*>(&name),
#include "cudart/driver/driver.def"
#undef X
};
}
