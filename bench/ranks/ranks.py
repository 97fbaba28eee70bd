#!/usr/bin/env python3
"""Measures ranks and files on the CPU: ranks.py COALESCE RANKS_PROGRAM FOLDER [PART...] > RESULTS.jsonl, where
RANKS_PROGRAM is ranks.cpp (mpicxx -O3 -march=native -std=c++17 -Iinclude bench/ranks/ranks.cpp). FOLDER takes a file of
8 GiB, which each sum reads COALESCE_RANKS_TIMES times (4), so that starting is little of it. PART: sums, beside, steps, normal,
wide; none: all. Wants two quiet cores; COALESCE_RANKS_GIB makes the file smaller. tests/hardware/scale_page.py makes the page."""
import json
import os
import platform
import shutil
import subprocess
import sys
import threading
import time

COALESCE, PROGRAM, FOLDER = map(os.path.abspath, sys.argv[1:4])
PARTS = sys.argv[4:] or ["sums", "beside", "steps", "normal", "wide"]
GIB, TIMES = int(os.environ.get("COALESCE_RANKS_GIB", "8")), int(os.environ.get("COALESCE_RANKS_TIMES", "4"))
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
ROUNDS = 7
MPIRUN = shutil.which("mpirun") is not None  # "normal" and "wide" do without it


def say(**row):
    print(json.dumps(row), flush=True)


def mpirun(count, *words):
    to = "core" if count <= os.cpu_count() else "none"
    done = subprocess.run(["mpirun", "--oversubscribe", "--bind-to", to, "-np", str(count), PROGRAM, *words], text=True,
                          env=os.environ | ROOT, stdout=subprocess.PIPE, cwd=FOLDER, timeout=120)
    print("".join(line + "\n" for line in done.stdout.splitlines() if line.startswith("{")), end="", flush=True)


def seconds_of(*commands):
    """Seconds until all commands, started at once, have ended. The wait blocks: one with a time limit polls, up to 50 ms late."""
    begin = time.monotonic()
    running = [subprocess.Popen(words, stdout=subprocess.DEVNULL, env=os.environ | ROOT | more) for words, more in commands]
    guard = threading.Timer(100, lambda: [one.kill() for one in running])
    guard.start()
    codes = [one.wait() for one in running]
    taken = time.monotonic() - begin
    guard.cancel()
    if any(codes):
        sys.exit("error: a rank failed")
    return taken


def reduction(file, threads, times):
    return [COALESCE, "reduce", "--op", "exact_sum", "--type", "float32", "--threads", str(threads), *[file] * times]


def ranks(count, file, threads, times=1):
    """Of `count` ranks without a launcher, which meet as those of Open MPI do."""
    name = f"job{time.monotonic_ns()}"
    return seconds_of(*[(reduction(file, threads, times), {} if count == 1 else {
        "OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": str(count), "OMPI_COMM_WORLD_LOCAL_SIZE": str(count),
        "PMIX_NAMESPACE": name}) for rank in range(count)])


def launched(count, *words):
    """The same by mpirun."""
    return seconds_of((["mpirun", "--oversubscribe", "--bind-to", "none", "-np", str(count), *words], {}))


def median(values):
    return sorted(values)[len(values) // 2]


def measure_file(path, kind):
    """Reading and summing in turn, so that all meet the same machine."""
    tries = {(1, 1): [], (1, 2): [], (2, 1): [], (4, 1): []}
    reads, by_mpirun = {(way, 2): [] for way in ("copied", "mapped")}, []
    for _ in range(ROUNDS):
        for (way, threads), found in reads.items():
            found.append(json.loads(subprocess.run([PROGRAM, "read", path, str(threads), way], stdout=subprocess.PIPE, check=True).stdout))
        for (count, threads), found in tries.items():
            found.append(ranks(count, path, threads, TIMES))
        if MPIRUN:
            by_mpirun.append(launched(4, *reduction(path, 1, TIMES)))
    tiny = path + ".tiny"
    with open(tiny, "wb") as file:
        file.write(bytes(400))
    starts = {(1, 1): [], (1, 2): [], (4, 1): []}  # what starting costs, which is within the times
    floors = {1: [], 4: []}  # of any program
    for _ in range(15):
        for (count, threads), found in starts.items():
            found.append(ranks(count, tiny, threads))
        for count, found in floors.items():
            found.append(seconds_of(*[(["true"], {})] * count))
    for (count, threads), found in starts.items():
        say(what="start", kind=kind, ranks=count, threads=threads, seconds=median(found))
    for count, found in floors.items():
        say(what="start of true", kind=kind, ranks=count, seconds=median(found))
    if MPIRUN:
        say(what="start of true by mpirun", kind=kind, ranks=4, seconds=median([launched(4, "true") for _ in range(5)]))
    os.remove(tiny)
    size, load = TIMES * os.path.getsize(path), os.getloadavg()[0]
    for found in reads.values():
        say(**(sorted(found, key=lambda row: row["seconds"])[ROUNDS // 2] | {"kind": kind}))
    for (count, threads), found in tries.items():
        say(what="file", kind=kind, ranks=count, threads=threads, bytes=size, seconds=median(found), all=found, load=load)
    if MPIRUN:
        say(what="file by mpirun", kind=kind, ranks=4, threads=1, bytes=size, seconds=median(by_mpirun))


def numpy_sum():
    try:
        import numpy
    except ImportError:
        return
    values = numpy.fromfile(os.path.join(FOLDER, "values.f32"), dtype="<f4")
    begin = time.monotonic()
    total = numpy.sum(values)
    say(what="numpy", version=numpy.__version__, bits=f"{total.view(numpy.uint32):08x}", value=float(total),
        seconds=time.monotonic() - begin)
    os.remove(os.path.join(FOLDER, "values.f32"))


def main():
    with open("/proc/cpuinfo") as file:
        cpu = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), platform.machine())
    say(what="machine", cpu=cpu, cores=os.cpu_count(), mpi=subprocess.run(["mpirun", "--version"], text=True, env=os.environ | ROOT,
        stdout=subprocess.PIPE).stdout.splitlines()[0] if MPIRUN else "no MPI")
    if "sums" in PARTS:
        for count in (1, 2, 4, 8, 16):
            mpirun(count, "sums")
        numpy_sum()
    if "beside" in PARTS:
        print(subprocess.run([PROGRAM, "beside"], stdout=subprocess.PIPE, text=True, check=True).stdout, end="", flush=True)
    if "steps" in PARTS:
        for count in (2, 4, 8):
            if count <= os.cpu_count():
                mpirun(count, "steps")
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:2]))
    path = os.path.join(FOLDER, "large.f32")
    for kind in ("normal", "wide"):
        if kind not in PARTS:
            continue
        subprocess.run([PROGRAM, kind, path, str(GIB)], check=True)
        measure_file(path, kind)
        os.remove(path)


if __name__ == "__main__":
    main()
