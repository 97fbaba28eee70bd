#!/usr/bin/env python3
"""Measures the limits of the GPU of this computer by microbenchmarks of our own (./dev gpu --limits): gpu/limits/*.cu.

  limits.py [--figures FILE] [--table]

Compiles them with nvcc, runs each, and prints one JSON object: the device, every limit that the model of time reads
(machine/time/limits.h; LIMITS below says which figure each is), and all figures. Takes half a minute, without the
compiler. FILE has what an earlier run printed; then nothing is measured. --table prints the limits as a Markdown table.
"""
import argparse
import concurrent.futures
import datetime
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
from common import ROOT, run
from pages import table

PROGRAMS = ("launch", "alu", "chase", "atomics", "bandwidth", "paths", "code")
SCHEMA = "coalesce.limits/1"
FLAGS = ["-O3", "-std=c++17", "-arch=native"]


def each(name):
    return lambda f: f[name]


def best(prefix):
    return lambda f: max(v for n, v in f.items() if n.startswith(prefix))


def slope(prefix, few, many, per):
    """What `per` more warps, passes or blocks cost."""
    return lambda f: (f[prefix + many] - f[prefix + few]) / per


def scaled(figure, by):
    return lambda f: figure(f) * by


def cycles(seconds):
    """At the clock that was measured."""
    return lambda f: seconds(f) * f["device/clock"]


def code(near, far, lines):
    """Cycles a line of 128 bytes of code, between two lengths that have `lines` lines more."""
    return slope("code/cold/", f"{near}KiB", f"{far}KiB", lines)


def code_ahead(f):
    """Bytes of code at which lines begin to take what far ones do: where two straight lines meet."""
    near, far = code(16, 32, 128)(f), code(128, 256, 1024)(f)
    return 128 * (f["code/cold/16KiB"] + near * (2048 - 128) - f["code/cold/256KiB"] + (far - near) * 2048) / (far - near)


BLOCKS = 1 << 20
RATE = "instructions/cycle"
# The model's limits that are measured, by machine/time/limits.h's names and units, and how each follows from the figures.
LIMITS = {
    "clock_ghz": ("GHz", scaled(each("device/clock"), 1e-9)),
    "fp32": (RATE, each("alu/fma.rn.f32/rate")),
    "alu": (RATE, each("alu/lop3.b32/rate")),
    "fp64": (RATE, each("alu/fma.rn.f64/rate")),
    "half": (RATE, each("alu/fma.rn.f16x2/rate")),
    "special": (RATE, each("alu/ex2.approx.ftz.f32/rate")),
    "shuffle": (RATE, each("alu/shfl.sync.bfly.b32/rate")),
    "lat_fp32": ("cycles", each("alu/fma.rn.f32/latency")),
    "lat_alu": ("cycles", each("alu/lop3.b32/latency")),
    "lat_mul": ("cycles", each("alu/mad.lo.s32/latency")),
    "lat_fp64": ("cycles", each("alu/fma.rn.f64/latency")),
    "lat_half": ("cycles", each("alu/fma.rn.f16x2/latency")),
    "lat_special": ("cycles", each("alu/ex2.approx.ftz.f32/latency")),
    "lat_convert": ("cycles", each("alu/cvt.rni.f32.f32/latency")),
    "lat_shuffle": ("cycles", each("alu/shfl.sync.bfly.b32/latency")),
    "lat_shared": ("cycles", each("latency/shared/32bit")),  # with an addition
    "lat_constant": ("cycles", each("latency/constant/1KiB")),  # with a shift
    "lat_constant_far": ("cycles", each("latency/constant/16KiB")),
    "lat_constant_word": ("cycles", slope("latency/constant_apart/", "1words", "32words", 31)),
    "constant_cycles": ("cycles", lambda f: f["rate/constant/32words"] / 32),
    "branch_cycles": ("cycles", lambda f: f["loop/1"] - 2 * f["alu/lop3.b32/latency"]),  # besides counting and comparing
    "lat_host": ("cycles", each("latency/host")),
    "host_gbs": ("GB/s", lambda f: (1 << 26) / (f["host/read/65536KiB"] - f["host/nothing"]) / 1e3),
    "lat_l1": ("cycles", each("latency/l1/16KiB")),
    "lat_l2": ("cycles", each("latency/l2/4MiB")),
    "lat_dram": ("cycles", each("latency/dram/1024MiB")),
    "lat_atomic": ("cycles", each("latency/atomic_global/1lanes_same")),
    "lsu": ("wavefronts/cycle", lambda f: 1 / f["requests/shared_store/step1"]),
    "port_sectors": ("sectors/cycle", lambda f: 4 / f["requests/l2_load/step1"]),
    "store_sectors": ("sectors/cycle", lambda f: 4 / f["requests/global_store/step1"]),
    "l2_gbs": ("GB/s", scaled(best("bandwidth/l2_read/"), 1e-9)),
    "l2_write_gbs": ("GB/s", scaled(best("bandwidth/l2_write/"), 1e-9)),
    "dram_read_gbs": ("GB/s", scaled(best("bandwidth/dram_read/"), 1e-9)),
    "dram_copy_gbs": ("GB/s", scaled(best("bandwidth/dram_copy/"), 1e-9)),
    "l2_bytes": ("bytes", each("device/l2")),
    "dispatch_cycles": ("cycles", cycles(slope("launch/empty/", "131072x256", f"{BLOCKS}x256", BLOCKS - 131072))),
    "code_cycles": ("cycles", code(16, 32, 128)),
    "code_far_cycles": ("cycles", code(128, 256, 1024)),
    "code_ahead_bytes": ("bytes", code_ahead),
    "loop_shared": ("cycles", lambda f: f["atomics_shared/atom.add.f32/32threads/lanes_in_turn/1"] / 32),
    "loop_shared_wide": ("cycles", lambda f: f["atomics_shared/atom.add.f64/32threads/lanes_in_turn/1"] / 32),
    "barrier_cycles": ("cycles", each("barrier/32")),
    "barrier_warp_cycles": ("cycles", slope("barrier/", "32", "1024", 31)),
    "fence_cycles": ("cycles", each("fence/device/32")),
    "atom_same": ("atomics/cycle", lambda f: f["atomics/red.add.u32/lanes_in_turn/1"] / f["device/clock"]),
    "atom_same_real": ("atomics/cycle", lambda f: f["atomics/red.add.f32/lanes_in_turn/1"] / f["device/clock"]),
    "atom_shared": ("wavefronts/cycle", lambda f: 1 / f["atomics_shared/red.add.u32/1024threads/lanes_in_turn/32"]),
}


def limits_of(figures):
    """{limit: value} of {figure: value}; a limit whose figures are missing is left out."""
    out = {}
    for name, (_, of) in LIMITS.items():
        try:
            out[name] = float(f"{of(figures):.5g}")
        except (KeyError, ValueError, ZeroDivisionError):
            sys.stderr.write(f"warning: {name} was not measured\n")
    return out


def measured(folder):
    """Figures of all programs, compiled and run here; exits where nvcc or a program fails."""
    def compiled(name):
        return run(["nvcc", *FLAGS, "-o", os.path.join(folder, name), os.path.join(ROOT, "gpu/limits", name + ".cu")], 300)

    with concurrent.futures.ThreadPoolExecutor() as pool:
        for name, done in zip(PROGRAMS, pool.map(compiled, PROGRAMS)):
            if done is None or done.returncode:
                sys.exit(f"error: nvcc does not compile gpu/limits/{name}.cu: {done.stderr.strip() if done else 'took too long'}")
    lines = []
    for name in PROGRAMS:
        done = run([os.path.join(folder, name)], 120)
        if done is None or done.returncode:
            sys.exit(f"error: gpu/limits/{name}.cu: {done.stderr.strip() if done else 'took too long'}")
        lines += done.stdout.splitlines()
    return lines


def gpu_name():
    done = run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"])
    return done.stdout.strip().splitlines()[0] if done and done.stdout.strip() else ""


def earlier(path):
    """What an earlier run printed."""
    try:
        with open(path) as file:
            printed = json.load(file)
    except (OSError, ValueError) as problem:
        sys.exit(f"error: {path}: {problem}")
    if not isinstance(printed, dict) or printed.get("schema") != SCHEMA:
        sys.exit(f"error: {path} is not what `./dev gpu --limits` prints")
    return printed


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--figures", help="what an earlier run printed")
    options.add_argument("--table", action="store_true")
    chosen = options.parse_args()
    if chosen.figures:
        run_of = earlier(chosen.figures)
    elif not gpu_name():
        sys.exit("error: nvidia-smi names no GPU, and limits are measured on one")
    else:
        with tempfile.TemporaryDirectory() as folder:
            rows = map(json.loads, filter(None, measured(folder)))
            run_of = {"device": gpu_name(), "date": datetime.date.today().isoformat(), "figures": {r["name"]: r["value"] for r in rows}}
    figures = run_of["figures"]
    limits = limits_of(figures)
    if chosen.table:
        print(table(["limit", "value", "unit"], [[f"`{n}`", f"{v:g}", LIMITS[n][0]] for n, v in limits.items()], False), end="")
    else:
        json.dump({"schema": SCHEMA, "device": run_of["device"], "date": run_of["date"], "limits": limits, "figures": figures},
                  sys.stdout, indent=1)
        print()


if __name__ == "__main__":
    main()
