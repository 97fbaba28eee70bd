"""A sum offloaded by Debian's clang-19 and its libomptarget, which open the driver by themselves. The plug-in takes no
machine code of CUDA 13 (other ELF flags than it knows), so the program carries LLVM's code, and the plug-in compiles it by
the toolkit's ptxas. Debian's plug-in leaves the target to others to register: the program does."""
import glob
import os
import subprocess
import tempfile

PROGRAM = """#include <omp.h>
#include <stdio.h>
int main(void) {
  static double a[1000];
  double sum = 0;
  int on_device = 0;
  for (int i = 0; i < 1000; ++i) a[i] = i;
#pragma omp target teams distribute parallel for map(to: a) map(tofrom: sum, on_device) reduction(+: sum) reduction(max: on_device)
  for (int i = 0; i < 1000; ++i) {
    sum += a[i];
    on_device = !omp_is_initial_device();
  }
  printf("%d %g\\n", on_device, sum);
}
"""
TARGET = """void LLVMInitializeNVPTXTargetInfo(void), LLVMInitializeNVPTXTarget(void);
void LLVMInitializeNVPTXTargetMC(void), LLVMInitializeNVPTXAsmPrinter(void);
__attribute__((constructor)) static void enter(void) {
  LLVMInitializeNVPTXTargetInfo(), LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC(), LLVMInitializeNVPTXAsmPrinter();
}
"""


def check(coalesce, home, place, device, options, more):
    """[pass or fail, why] of the program, compiled with `options` and the source `more`."""
    folder = os.path.dirname(device)
    source, program, target = (os.path.join(place, name) for name in ("sum.c", "sum", "target.c"))
    for path, text in ((source, PROGRAM), (target, more)):
        with open(path, "w") as file:
            file.write(text)
    built = subprocess.run(["clang-19", "-O1", "-fopenmp", "-fopenmp-targets=nvptx64-nvidia-cuda", "--offload-arch=sm_90", f"--cuda-path={home}",
                            f"--libomptarget-nvptx-bc-path={device}", *options, source, "-c", "-o", source + ".o"], capture_output=True, text=True)
    if not built.returncode:
        built = subprocess.run(["clang-19", "-O1", target, "-c", "-o", target + ".o"], capture_output=True, text=True)
    if not built.returncode:
        built = subprocess.run(["clang-19", "-fopenmp", "-fopenmp-targets=nvptx64-nvidia-cuda", "--offload-arch=sm_90", f"--cuda-path={home}", *options,
                                f"--libomptarget-nvptx-bc-path={device}", source + ".o", target + ".o", "-o", program, f"-L{folder}", f"-Wl,-rpath,{folder}",
                                *(["-Wl,--embed-bitcode", os.path.join(folder, "libLLVM.so.19.1")] if more else [])], capture_output=True, text=True)
    if built.returncode:
        return ["fail", (built.stderr.strip().splitlines() or ["does not compile"])[0][:200]]
    # With line numbers ptxas keeps the PTX, which our driver takes.
    with open(os.path.join(place, "ptxas"), "w") as file:
        file.write(f'#!/bin/sh\nexec "{home}/bin/ptxas" -lineinfo "$@"\n')
        os.fchmod(file.fileno(), 0o755)
    done = subprocess.run([coalesce, "run", "-q", program], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
                          env=dict(os.environ, OMP_TARGET_OFFLOAD="MANDATORY", PATH=place + os.pathsep + os.environ["PATH"]))
    if done.stdout == "1 499500\n":
        return ["pass", ""]
    return ["fail", "; ".join((done.stderr or done.stdout).strip().splitlines())[:300] or "no word"]


def run(coalesce, home):
    """{check: [pass, fail or skip, why]}. `home`: of the toolkit, whose ptxas clang and the plug-in call."""
    device = glob.glob("/usr/lib/llvm-19/lib/libomptarget-nvptx-sm_90.bc")
    if not device:
        return {"sum": ["skip", "libomp-19-dev is not installed"]}
    with tempfile.TemporaryDirectory() as place:
        return {"sum, as machine code": check(coalesce, home, place, device[0], [], ""),
                "sum, as LLVM's code": check(coalesce, home, place, device[0], ["-foffload-lto"], TARGET)}
