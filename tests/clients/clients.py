#!/usr/bin/python3
"""Runs programs and libraries of others: all of Numba's tests for CUDA, hashcat, ffmpeg's filters, OpenMP, cuBLAS, cuRAND.

usage: clients.py COALESCE OUT.md KEPT.json [--only PATTERN] [--jobs N] [--seconds N] [--samples FOLDER]

Needs Debian's python3-numba, hashcat and ffmpeg, and the NVVM, cuBLAS and cuRAND of a CUDA toolkit. Numba's tests run module by
module. OUT.md gets a row a client or module and a line for each cause of failures. What others said before is kept in KEPT.
Exit code: 0 all ran, 1 a client did not run at all, 3 something is missing.
"""
import argparse
import concurrent.futures
import datetime
import functools
import glob
import json
import os
import platform
import re
import subprocess
import sys
import tempfile

import ffmpeg
import libraries
import machine_code
import openmp
import samples

# Causes of failures: a pattern of the error or of the test's name. Those of the machine say "ours".
CAUSES = [
    ("NVVM_ERROR_INVALID_OPTION", "asks NVVM for an older architecture"),
    ("IR_VERSION_MISMATCH", "hands NVVM code of version 1"),
    ("not found in '//", "expects an older NVVM's text"),
    ("BINARY_ADD|test_invalid_array_type", "expects an older Python or NumPy"),
    ("undersubscribe", "needs more memory"),
    ("test_struct_model_type_arr|test_type_with_struct_data_model", "writes past its array; the error lasts"),
    ("right, then ffmpeg ends with", "is right, then ffmpeg calls a freed device"),
    ("No images found compatible", "LLVM's plug-in does not take CUDA 13's machine code"),
    ("no end within", "takes longer"),
    ("libcufft", "cuFFT's runtime has no symbols"),
    ("holds machine code only", "joins machine code"),
    ("cudaGetExportTable", "cuBLAS's own code asks for NVIDIA's private tables"),
]

HERE = os.path.dirname(os.path.abspath(__file__))
NUMBA = "numba.cuda.tests."
PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's modules


def cuda_home():
    return os.environ.get("CUDA_HOME", "/usr/local/cuda")


def toolkit(folder):
    """A folder as Numba expects CUDA's, made of links: newer toolkits keep NVVM elsewhere."""
    home = cuda_home()

    def first(*patterns):
        for pattern in patterns:
            for found in sorted(glob.glob(os.path.join(home, pattern))):
                return found
        sys.exit(f"error: {home} has no {patterns[0]}; set CUDA_HOME")

    for name, target in [
        ("nvvm/lib64/libnvvm.so.4", first("nvvm/lib64/libnvvm.so*", "lib*/libnvvm.so*", "targets/*/lib/libnvvm.so*")),
        ("nvvm/libdevice", first("nvvm/libdevice")),
        ("lib64/libcudadevrt.a", first("lib64/libcudadevrt.a", "lib/libcudadevrt.a", "targets/*/lib/libcudadevrt.a")),
        ("lib64/libcudart.so", first("lib64/libcudart.so*", "lib/libcudart.so*", "targets/*/lib/libcudart.so*")),
    ]:
        link = os.path.join(folder, name)
        os.makedirs(os.path.dirname(link), exist_ok=True)
        os.symlink(target, link)
    return folder


def modules(environment):
    code = (
        "import pkgutil, numba.cuda.tests as t\n"
        "for m in pkgutil.walk_packages(t.__path__, t.__name__ + '.'):\n"
        "    if not m.ispkg and m.name.rsplit('.', 1)[1].startswith('test_') and '.nocuda.' not in m.name: print(m.name)"
    )
    done = subprocess.run([PYTHON, "-c", code], env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"error: Numba cannot be imported: {done.stderr.strip().splitlines()[-1]}\nhint: apt-get install python3-numba")
    return done.stdout.split()


def run_module(coalesce, name, environment, seconds):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.json")
        with open(os.path.join(folder, "log"), "w+") as log:
            try:
                subprocess.run(
                    [coalesce, "run", "-q", "--allow-stopped", "--devices", "2", PYTHON, os.path.join(HERE, "numba_module.py"), name, out, str(seconds)],
                    env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, timeout=20 * seconds)
            except subprocess.TimeoutExpired:
                pass
            try:
                with open(out) as file:
                    return json.load(file)
            except (OSError, ValueError):
                log.seek(0)
                last = log.read().strip().splitlines()[-1:] or [""]
                return {name: ["fail", f"the module did not run: {last[0][:200]}"]}


def hashcat(coalesce):
    """An MD5 that hashcat cracks after its own self-test."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "hash"), "w") as file:
            file.write("d0763edaa9d9bd2a9516280e9044d885\n")  # md5("monkey")
        with open(os.path.join(folder, "words"), "w") as file:
            file.write("dragon\nmonkey\nshadow\n")
        command = [coalesce, "run", "-q", "hashcat", "-m", "0", "-a", "0", "--backend-ignore-opencl", "--potfile-disable", "--force",
                   "hash", "words"]
        environment = dict(os.environ, HOME=folder)
        try:
            done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=7200)
        except FileNotFoundError:
            return {"MD5": ["skip", "hashcat is not installed"]}
        except subprocess.TimeoutExpired:
            return {"MD5": ["fail", "took longer than two hours"]}
        if "d0763edaa9d9bd2a9516280e9044d885:monkey" in done.stdout and "self-test failed" not in (done.stdout + done.stderr).lower():
            return {"MD5": ["pass", ""]}
        return {"MD5": ["fail", ((done.stderr or done.stdout).strip().splitlines() or ["no word"])[-1][:200]]}


# Clients beside Numba: name, what it checks, how it is run.
CLIENTS = [
    ("cuBLAS", "single precision, levels 1 to 3", lambda c, home: libraries.run(c, home, "cublas", 7200)),
    ("cuRAND", "sequences of the host or an H100", lambda c, home: libraries.run(c, home, "curand", 7200)),
    ("ffmpeg", "CUDA filters by their definitions", lambda c, home: ffmpeg.run(c)),
    ("OpenMP", "offload by clang 19", openmp.run),
    ("hashcat", "self-test, one MD5", lambda c, home: hashcat(c)),
]
SAMPLES = "cuda-samples"


def run_client(client, coalesce):
    try:
        return client(coalesce, cuda_home())
    except subprocess.TimeoutExpired as late:
        return {"run": ["fail", f"took longer than {late.timeout:.0f} seconds"]}


def kernels_of_toolkit():
    """Machine code only of each library, as machine_code.py finds it."""
    found = {}
    for name in ("curand", "nccl", "cublas", "cublasLt"):
        for path in glob.glob(os.path.join(cuda_home(), "lib*", f"lib{name}.so"))[:1]:
            one = machine_code.summary(path)
            found[name] = [one["kernels"], one["ptx"], len(one["names"])]
    return found


def page(results, kernels):
    def count(of, outcome):
        return sum(1 for kind, _ in of.values() if kind == outcome)

    def counts(of):
        return [len(of)] + [count(of, kind) for kind in ("pass", "fail", "skip")]

    numba = {name: of for name, of in results.items() if name.startswith(NUMBA)}
    total, passed, failing, skipped = (sum(row) for row in zip(*map(counts, numba.values()), [0] * 4))
    lines = [
        "# Programs of others",
        "",
        f"Of Numba's {total} tests for CUDA, {passed} pass, {failing} fail, {skipped} skip themselves.",
        "",
        f"- **Run** on {platform.machine()}, without a GPU, {datetime.date.today()}.",
        "- **Clients** are Debian's, libraries the toolkit's; expected failures pass.",
        "- **Repeat:** `./dev clients --samples FOLDER`.",
        "",
        "| client | what is checked | checks | pass | fail |",
        "|---|---|---:|---:|---:|",
    ]
    lines += ["| " + " | ".join([name, what, *map(str, counts(results[name])[:3])]) + " |" for name, what, _ in [*CLIENTS, (SAMPLES, "counters, either runtime", None)] if name in results]
    if "cuBLAS" in results:
        lines += ["", "`sgemm`, `sgemv`, `strsm` run as batched functions; `cublasGemmEx`, cublasLt need NVIDIA's private tables."]
    lines += ["", "| modules of numba.cuda.tests | tests | pass | fail |", "|---|---:|---:|---:|"]
    groups = {}
    for name, of in sorted(numba.items()):
        part = name[len(NUMBA):]
        key = part if count(of, "fail") else "the others"
        into = groups.setdefault(key, [0, 0, 0, 0])
        for i, n in enumerate(counts(of)):
            into[i] += n
    lines += ["| " + " | ".join([key, *map(str, row[:3])]) + " |" for key, row in sorted(groups.items())]
    failed = {}
    for of in results.values():
        for test, (kind, why) in of.items():
            if kind == "fail":
                causes = [cause for pattern, cause in CAUSES if re.search(pattern, why + " " + test)]
                failed.setdefault(causes[0] if causes else why[:120].replace("|", "\\|") or "no word", []).append(test)
    if failed:
        lines += ["", "## What fails", "", "| tests | cause | first of them |", "|---:|---|---|"]
        for why, tests in sorted(failed.items(), key=lambda same: -len(same[1])):
            lines.append(f"| {len(tests)} | {why} | `{'.'.join(tests[0].split('.')[-2:])}` |")
    cut = [(name, *re.findall(r"\d+", why)[:2]) for name, (_, why) in results.get(SAMPLES, {}).items() if why.startswith("no end")]
    if cut:
        lines += ["", "Processor seconds (launches until then): "
                  + ", ".join(f"`{name}` {seconds} ({launches})" for name, seconds, launches in sorted(cut)) + "."]
    if kernels:
        lines += ["", "## Kernels of the toolkit with machine code only", "", "`tests/clients/machine_code.py --names` names each.", "",
                  "| library | kernels | with PTX | without |", "|---|---:|---:|---:|"]
        lines += [f"| {name} | {all_of_it} | {ptx} | {without} |" for name, (all_of_it, ptx, without, *_) in kernels.items() if without]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("coalesce")
    parser.add_argument("out")
    parser.add_argument("kept")
    parser.add_argument("--only", default="", metavar="PATTERN", help="modules whose names contain PATTERN (a regular expression)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=300, help="for a class of tests")
    parser.add_argument("--samples", default="", metavar="FOLDER", help="build and run NVIDIA's cuda-samples in FOLDER, too (hours)")
    given = parser.parse_args()
    results = {}
    if os.path.exists(given.kept):
        with open(given.kept) as file:
            results = json.load(file)
    kernels = results.pop("kernels", None) or kernels_of_toolkit()
    coalesce = os.path.abspath(given.coalesce)
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, CUDA_HOME=toolkit(folder), PYTHONPATH=HERE,
                           NUMBA_CUDA_DEFAULT_PTX_CC="7.5")  # the oldest that CUDA 13 knows
        work = {name: functools.partial(run_client, client, coalesce) for name, _, client in CLIENTS}
        work.update({name: functools.partial(run_module, coalesce, name, environment, given.seconds) for name in modules(environment)})
        if given.samples:
            work[SAMPLES] = lambda: samples.judged(samples.run_all(coalesce, cuda_home(), given.samples))
        names = [name for name in work if re.search(given.only, name)]
        with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
            waiting = {pool.submit(work[name]): name for name in names}
            for i, done in enumerate(concurrent.futures.as_completed(waiting), 1):
                results[waiting[done]] = done.result()
                kinds = [kind for kind, _ in done.result().values()]
                print(f"[{i}/{len(names)}] {waiting[done]}: {kinds.count('pass')} pass, {kinds.count('fail')} fail, "
                      f"{kinds.count('skip')} skip", flush=True)
                with open(given.kept, "w") as file:
                    json.dump(results | {"kernels": kernels}, file, indent=0, sort_keys=True)
    with open(given.out, "w") as file:
        file.write(page(results, kernels))
    return 0 if results else 1


if __name__ == "__main__":
    sys.exit(main())
