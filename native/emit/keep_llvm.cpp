// A process may end while a kernel is being compiled, and does not wait for it. Nothing of LLVM may be destroyed then
// under the compiler's feet. LLVM makes static objects whenever it first needs one, so no exit handler of ours could be
// sure to run before their destructors do: instead they are not registered at all. LLVM and this library are linked
// into one file, in which this is the only __cxa_atexit; what would be destroyed goes when the process does.
extern "C" __attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }
