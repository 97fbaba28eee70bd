#!/usr/bin/env python3
"""Measures ranks and files on the CPU: ranks.py COALESCE RANKS_PROGRAM FOLDER > RESULTS.jsonl, where RANKS_PROGRAM is
ranks.cpp (mpicxx -O3 -march=native -std=c++17 -Iinclude bench/ranks/ranks.cpp). FOLDER takes a file of 8 GiB. Wants two
quiet cores; COALESCE_RANKS_GIB makes the file smaller. tests/hardware/scale_page.py makes the page."""
import json
import os
import platform
import subprocess
import sys
import time

COALESCE, PROGRAM, FOLDER = map(os.path.abspath, sys.argv[1:4])
GIB = int(os.environ.get("COALESCE_RANKS_GIB", "8"))
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
ROUNDS = 3


def say(**row):
    print(json.dumps(row), flush=True)


def mpirun(count, *words):
    done = subprocess.run(["mpirun", "--oversubscribe", "--bind-to", "none", "-np", str(count), PROGRAM, *words], text=True,
                          env=os.environ | ROOT, stdout=subprocess.PIPE, cwd=FOLDER, timeout=120)
    print("".join(line + "\n" for line in done.stdout.splitlines() if line.startswith("{")), end="", flush=True)


def ranks(count, file, threads):
    """Seconds until `count` ranks, started at once without a launcher, have answered."""
    begin, name = time.monotonic(), f"job{time.monotonic_ns()}"
    running = [subprocess.Popen([COALESCE, "reduce", "--op", "exact_sum", "--type", "float32", "--threads", str(threads), file],
                                stdout=subprocess.DEVNULL, env=os.environ | ({} if count == 1 else {
                                    "OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": str(count),
                                    "OMPI_COMM_WORLD_LOCAL_SIZE": str(count), "PMIX_NAMESPACE": name})) for rank in range(count)]
    if any([one.wait(timeout=100) for one in running]):
        sys.exit("error: a rank failed")
    return time.monotonic() - begin


def measure_file(path, kind):
    """Reading and summing in turn, so that both meet the same machine."""
    tries = {(1, 1): [], (1, 2): [], (2, 1): [], (4, 1): []}
    reads = {1: [], 2: []}
    for _ in range(ROUNDS):
        for threads, found in reads.items():
            found.append(json.loads(subprocess.run([PROGRAM, "read", path, str(threads)], stdout=subprocess.PIPE, check=True).stdout))
        for (count, threads), found in tries.items():
            found.append(ranks(count, path, threads))
    tiny = path + ".tiny"
    with open(tiny, "wb") as file:
        file.write(bytes(400))
    for count in (1, 4):  # what starting costs, which is within the times below
        say(what="start", kind=kind, ranks=count, seconds=sorted(ranks(count, tiny, 1) for _ in range(9))[4])
    os.remove(tiny)
    for threads, found in reads.items():
        say(**(sorted(found, key=lambda row: row["seconds"])[ROUNDS // 2] | {"kind": kind}))
    for (count, threads), found in tries.items():
        say(what="file", kind=kind, ranks=count, threads=threads, bytes=os.path.getsize(path), seconds=sorted(found)[ROUNDS // 2],
            load=os.getloadavg()[0])


def main():
    with open("/proc/cpuinfo") as file:
        cpu = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), platform.machine())
    say(what="machine", cpu=cpu, cores=os.cpu_count(), mpi=subprocess.run(["mpirun", "--version"], text=True, env=os.environ | ROOT,
        stdout=subprocess.PIPE).stdout.splitlines()[0])
    for count in (1, 2, 4, 8, 16):
        mpirun(count, "sums")
    for count in (2, 4, 8):
        if count <= os.cpu_count():
            mpirun(count, "steps")
    try:
        import numpy
        values = numpy.fromfile(os.path.join(FOLDER, "values.f32"), dtype="<f4")
        begin = time.monotonic()
        total = numpy.sum(values)
        say(what="numpy", version=numpy.__version__, bits=f"{total.view(numpy.uint32):08x}", value=float(total),
            seconds=time.monotonic() - begin)
    except ImportError:
        pass
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:2]))
    path = os.path.join(FOLDER, "large.f32")
    for kind in ("normal", "wide"):
        if kind == "normal":
            subprocess.run([PROGRAM, "normal", path, str(GIB)], check=True)
        else:
            with open(os.path.join(FOLDER, "values.f32"), "rb") as values, open(path, "wb") as file:
                block = values.read()
                for _ in range(GIB << 30 >> 26):
                    file.write(block)
        measure_file(path, kind)
        os.remove(path)
    os.remove(os.path.join(FOLDER, "values.f32"))


if __name__ == "__main__":
    main()
