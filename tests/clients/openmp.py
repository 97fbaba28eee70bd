"""A sum offloaded by Debian's clang-19 and its libomptarget, which open the driver by themselves."""
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


def run(coalesce, home):
    """{check: [pass, fail or skip, why]}. `home`: of the toolkit, whose ptxas clang calls."""
    device = glob.glob("/usr/lib/llvm-19/lib/libomptarget-nvptx-sm_90.bc")
    if not device:
        return {"sum": ["skip", "libomp-19-dev is not installed"]}
    folder = os.path.dirname(device[0])
    with tempfile.TemporaryDirectory() as place:
        source, program = os.path.join(place, "sum.c"), os.path.join(place, "sum")
        with open(source, "w") as file:
            file.write(PROGRAM)
        built = subprocess.run(["clang-19", "-O1", "-fopenmp", "-fopenmp-targets=nvptx64-nvidia-cuda", "--offload-arch=sm_90", f"--cuda-path={home}",
                                f"--libomptarget-nvptx-bc-path={device[0]}", source, "-o", program, f"-L{folder}", f"-Wl,-rpath,{folder}"],
                               capture_output=True, text=True)
        if built.returncode:
            return {"sum": ["fail", (built.stderr.strip().splitlines() or ["does not compile"])[0][:200]]}
        done = subprocess.run([coalesce, "run", "-q", program], env=dict(os.environ, OMP_TARGET_OFFLOAD="MANDATORY"), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300)
        if done.stdout == "1 499500\n":
            return {"sum": ["pass", ""]}
        return {"sum": ["fail", "; ".join((done.stderr or done.stdout).strip().splitlines())[:300] or "no word"]}
