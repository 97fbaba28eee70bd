"""Times the product of half matrices on the machine and OpenBLAS's product, in turn: the least processor time of several
rounds, which other processes disturb least."""
import ctypes
import os
import platform
import subprocess
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before the library is loaded
command, source, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
ROUNDS, LAUNCHES = 3, 10


def machine(engine):
    """Processor seconds of the quickest launch."""
    run = [command, "run", "-q", "--threads", "1", "--engine", engine, source, str(n), str(LAUNCHES)]
    return float(subprocess.run(run, stdout=subprocess.PIPE, check=True).stdout.split()[-1])


try:
    blas = ctypes.CDLL("libopenblas.so.0")
except OSError:
    sys.exit("error: no libopenblas.so.0\nhint: apt-get install libopenblas0")
Matrix = ctypes.c_float * (n * n)
a, b, c = Matrix(*([0.5] * (n * n))), Matrix(*([0.25] * (n * n))), Matrix()


def openblas():
    row_major, plain, transposed = 101, 111, 112
    one, none = ctypes.c_float(1), ctypes.c_float(0)
    started = time.process_time()
    blas.cblas_sgemm(row_major, plain, transposed, n, n, n, one, a, n, b, n, none, c, n)
    return time.process_time() - started


least = {}
for _ in range(ROUNDS):
    for name, seconds in (("OpenBLAS", min(openblas() for _ in range(LAUNCHES))), ("native", machine("native")),
                          ("interpreter", machine("interpreter"))):
        least[name] = min(seconds, least.get(name, seconds))
print(f"{n} x {n} x {n}, one thread of {platform.processor() or platform.machine()}; GFLOP/s")
for name, seconds in least.items():
    print(f"{name:12} {2 * n**3 / seconds / 1e9:8.1f}   {least['OpenBLAS'] / seconds:5.1%}")
