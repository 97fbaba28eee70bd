#!/usr/bin/env python3
"""Memory counters of random CUDA programs assembled without optimisation: a GPU's beside the machine's.

  random_counters.py build FOLDER FIRST COUNT    sources of ten programs each, by nvcc -Xptxas -O0 (build/bin/random_cuda), and their PTX
  random_counters.py measure FOLDER SECONDS      on a GPU's host: one program in each run of ncu; writes FOLDER/measured.json
  random_counters.py page FOLDER GPU DATE        the machine's counters, and the table of docs/results/agreement.md

Launches are paired by their number and their kernel's name; a program with other launches here and there is left out.
"""
import collections
import concurrent.futures
import csv
import glob
import io
import json
import os
import queue
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMPARED = re.compile(r"^(global|local)_(load|store|atomic|reduction)_(requests|sectors)$|^shared_.*_wavefronts(_ideal)?$")
GROUPS = (("global requests and sectors", "global_"), ("shared wavefronts", "shared_"), ("local requests and sectors", "local_"))
PER_SOURCE = 10
BEGIN, END = "<!-- begin: random counters -->", "<!-- end -->"


def metrics():
    """{counter: Nsight Compute's name} of what is compared."""
    with open(os.path.join(ROOT, "machine", "observe", "counters.h")) as file:
        rows = re.findall(r'X\((\w+), *\w+, *"[^"]*", *"([^"]*)"', file.read())
    return {name: metric for name, metric in rows if metric and COMPARED.match(name)}


def build(folder, first, count):
    os.makedirs(folder, exist_ok=True)
    for seed in range(first, first + count, PER_SOURCE):
        base = os.path.join(folder, f"p{seed}")
        with open(base + ".cu", "w") as file:
            subprocess.run([os.path.join(ROOT, "build/bin/random_cuda"), "--seeds", f"{seed},{PER_SOURCE}", "--print"], stdout=file, check=True)
        compiler = ["nvcc", "-std=c++17", "-arch=sm_90", "-w", "-fmad=false", "-I" + os.path.join(ROOT, "tests/random_cuda/include"), base + ".cu"]
        subprocess.run([*compiler, "-Xptxas", "-O0", "-Xcompiler", "-fno-strict-aliasing,-static-libstdc++,-static-libgcc", "-o", base], check=True)
        subprocess.run([*compiler, "-ptx", "-o", base + ".ptx"], check=True)
    with open(os.path.join(folder, "metrics.json"), "w") as file:
        json.dump(metrics(), file)


def programs(folder):
    for path in sorted(glob.glob(os.path.join(folder, "p*"))):
        if re.fullmatch(r"p\d+", os.path.basename(path)):
            yield from ((path, int(os.path.basename(path)[1:]) + k) for k in range(PER_SOURCE))


def name_of(kernel):
    """Its function's own name: the program is known."""
    return re.sub(r"\(.*", "", kernel).split("::")[-1].replace("void ", "").strip()


def measured(path, seed, names, gpu):
    """A program's launches, [kernel, {counter: value}], or why there are none."""
    with tempfile.TemporaryDirectory() as own:  # one lock for each GPU
        done = subprocess.run(["timeout", "60", "ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base",
                               "--metrics", ",".join(names.values()), path, str(seed)], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env={**os.environ, "CUDA_VISIBLE_DEVICES": str(gpu), "TMPDIR": own})
    rows = [r for r in csv.reader(io.StringIO(done.stdout)) if len(r) > 10]
    if done.returncode not in (0, 1) or not rows:
        return f"exit code {done.returncode}: {(done.stdout + done.stderr)[-200:]}"
    kernel, launches = rows[0].index("Kernel Name"), []
    for r in rows[1:]:
        if r[0].isdigit():
            launches.append([name_of(r[kernel]), {c: int(float(r[rows[0].index(m)].replace(",", ""))) for c, m in names.items() if m in rows[0]}])
    return launches


def measure(folder, seconds):
    with open(os.path.join(folder, "metrics.json")) as file:
        names = json.load(file)
    until, gpus, found = time.monotonic() + seconds, queue.Queue(), {}
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout.count("\n")
    for gpu in range(listed):
        gpus.put(gpu)

    def one(path, seed):
        gpu = gpus.get()
        try:
            return seed, measured(path, seed, names, gpu) if time.monotonic() < until else "no time"
        finally:
            gpus.put(gpu)

    with concurrent.futures.ThreadPoolExecutor(max(1, listed)) as pool:
        for seed, launches in pool.map(lambda p: one(*p), list(programs(folder))):
            found[seed] = launches
            print(seed, launches if isinstance(launches, str) else f"{len(launches)} launches", flush=True)
            with open(os.path.join(folder, "measured.json"), "w") as file:
                json.dump(found, file)


def counted(path, seed):
    with tempfile.TemporaryDirectory() as own:
        out = os.path.join(own, "run.json")
        done = subprocess.run([os.path.join(ROOT, "build/bin/coalesce"), "run", "-q", "--device", "h100", "--json", out, path, str(seed)],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if not os.path.exists(out):
            return f"exit code {done.returncode}: {done.stderr[-200:]}"
        with open(out) as file:
            return [[name_of(launch["kernel"]), launch["counters"]] for launch in json.load(file)["launches"]]


def unsteady(folder):
    """{(seed, kernel)} whose PTX, with what it calls, has compare-and-swap (a loop whose turns depend on other lanes), an
    atomic in shared memory that is one on hardware, or recursion (whose lanes come back apart)."""
    found = set()
    for path in glob.glob(os.path.join(folder, "p*.ptx")):
        with open(path) as file:
            functions = {m[2]: (m[1], m[3]) for m in re.finditer(r"^(?:\.visible |\.weak )?\.(func|entry)\s*(?:\([^)]*\)\s*)?([\w$]+)[^;{]*\{(.*?)^\}", file.read(), re.S | re.M)}

        def reached(name, seen):
            for other in functions:
                if other not in seen and re.search(re.escape(other) + r"(?![\w$])", functions[name][1]):
                    seen.add(other)
                    reached(other, seen)
            return seen

        for name, (kind, body) in functions.items():
            program = re.match(r"_ZN13program(\d{6})2(k\d)", name)
            if kind == "entry" and program:
                called = reached(name, set())
                text = body + "".join(functions[c][1] for c in called)
                if any(c in reached(c, set()) for c in called) or re.search(r"atom\.\S*cas|(?:atom|red)\.shared\S*(?:\.add\.[fu]64|\.add\.f|(?:min|max)\.[us]64)", text):
                    found.add((int(program[1]), program[2]))
    return found


def compare(folder):
    """([(seed, number, kernel, {counter: (counted, measured)})], {seed: why it is left out})"""
    with open(os.path.join(folder, "measured.json")) as file:
        hardware = {int(k): v for k, v in json.load(file).items()}
    rows, left = [], {}
    for path, seed in programs(folder):
        gpu = hardware.get(seed, "not measured")
        mine = counted(path, seed) if not isinstance(gpu, str) else gpu
        if isinstance(mine, str):
            left[seed] = mine
        elif [k for k, _ in mine] != [k for k, _ in gpu]:
            left[seed] = f"launches {[k for k, _ in mine]} / {[k for k, _ in gpu]}"
        else:
            for number, ((kernel, here), (_, there)) in enumerate(zip(mine, gpu)):
                rows.append((seed, number, kernel, {c: (here[c], v) for c, v in there.items() if here[c] or v}))
    return rows, left


def page(folder, gpu, date):
    (rows, left), loops = compare(folder), unsteady(folder)
    table, why = ["| launches equal in | " + " | ".join(title for title, _ in GROUPS) + " |", "|---|" + "---:|" * len(GROUPS)], collections.Counter()
    for title, wanted in (("without both", False), ("with `cas` loops or recursion", True)):
        cells = []
        for _, prefix in GROUPS:
            mine = [{c: v for c, v in counters.items() if c.startswith(prefix)} for seed, _, kernel, counters in rows if ((seed, kernel) in loops) == wanted]
            mine = [m for m in mine if m]
            cells.append(f"{sum(all(a == b for a, b in m.values()) for m in mine)} of {len(mine)}")
        table.append(f"| {title} | {' | '.join(cells)} |")
    for seed, number, kernel, counters in rows:
        differ = {c: v for c, v in counters.items() if v[0] != v[1]}
        if differ:
            print(seed, number, kernel, "with" if (seed, kernel) in loops else "without", differ)
            if (seed, kernel) not in loops:
                spills = all(c.startswith("local") and a == 0 for c, (a, _) in differ.items())
                why["less" if all(a > b for a, b in differ.values()) else "spills" if spills else "unknown"] += 1
    print("left out:", left)
    text = (f"**Random CUDA programs**, {len(rows)} launches of {len(set(r[0] for r in rows))}, {gpu}, {date}, `-Xptxas -O0`. Turns of `cas` loops\n"
            f"depend on timing, and lanes leave recursion apart. Of {sum(why.values())} others that differ, the GPU loads less than PTX says in {why['less']}, spills in\n"
            f"{why['spills']}; {why['unknown']} are unexplained.\n\n" + "\n".join(table))
    path = os.path.join(ROOT, "docs", "results", "agreement.md")
    with open(path) as file:
        old = file.read()
    head, tail = old.split(BEGIN, 1)[0], old.split(BEGIN, 1)[1].split(END, 1)[1]
    with open(path, "w") as file:
        file.write(head + BEGIN + "\n" + text + "\n" + END + tail)


if __name__ == "__main__":
    arguments = sys.argv[2:]
    if len(sys.argv) < 2 or len(arguments) != {"build": 3, "measure": 2, "page": 3}.get(sys.argv[1], -1):
        sys.exit(__doc__)
    if sys.argv[1] == "build":
        build(arguments[0], int(arguments[1]), int(arguments[2]))
    elif sys.argv[1] == "measure":
        measure(arguments[0], float(arguments[1]))
    else:
        page(*arguments)
