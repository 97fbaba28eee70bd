#!/usr/bin/env python3
"""NVIDIA's cuda-samples as nvcc builds them, with the static runtime, beside the same objects with the shared one.

usage: samples.py COALESCE FOLDER KEPT.json [--work FOLDER] [--only PATTERN] [--seconds N]

FOLDER is a copy of the samples (it has Common/ and Samples/); nothing is fetched, nothing in it changes. A sample is what its
CMakeLists.txt calls add_executable, compiled by `nvcc -arch=sm_90`. It passes if, built either way, it ends with exit code 0 and
prints no line that says FAIL, if the machine has all that it asks for, and if both builds launch the same kernels with the same counters. What two runs of one build count
otherwise is not compared; of runs that do not end, what they have launched is. KEPT gets {sample: [pass, fail or skip, why, launches compared]} and keeps what others said before.
N: processor seconds that a run may take. Exit code: 0 all ran, 2 wrong usage, 3 there is no nvcc.
"""
import argparse
import glob
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

# Things that samples need beside the toolkit's compiler and libraries: a pattern of CMakeLists.txt, and the thing.
NEEDS = [
    ("find_package\\(OpenGL|GLUT|EGL", "a screen (OpenGL)"),
    ("Vulkan", "a screen (Vulkan)"),
    ("d3d1|dxgi", "Windows"),
    ("CUDA::npp", "NPP"),
    ("CUDA::nvjpeg", "nvJPEG"),
    ("[Nn]v[Ss]ci|QNX REQUIRED", "NvSci"),
    ("find_package\\(MPI", "MPI"),
    ("FreeImage", "FreeImage"),
]
LIBRARIES = ["cublas", "cublasLt", "cusparse", "cusolver", "curand", "cufft", "nvrtc", "cuda", "cudadevrt", "nvJitLink"]
SAYS_FAILED = re.compile(r"\bFAIL(ED|URE)?\b")
# A sample need not look at what it was answered. A private table is asked for by cuBLAS, which tells the sample where it
# cannot do without.
REFUSED = re.compile(r"(?<!cudaGetExportTable is )not supported by this machine")
WAIVED = 2  # the samples' exit code where a machine lacks what they need
STAGES = (("static", []), ("shared", ["-cudart", "shared"]))


def samples_of(folder):
    """{name: folder of its CMakeLists.txt}."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "Samples", "[0-6]*", "*", "CMakeLists.txt"))):
        found[os.path.basename(os.path.dirname(path))] = os.path.dirname(path)
    return found


def sources_of(text):
    """The files of add_executable, without headers."""
    call = re.search(r"add_executable\(\s*\S+([^)]*)\)", text)
    return [word for word in call.group(1).split() if word.endswith((".cu", ".cpp", ".c"))] if call else []


def run_tool(words, folder, seconds=900):
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, errors="replace", timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"no end within {seconds} seconds"
    lines = [line for line in (done.stderr + done.stdout).splitlines() if "error" in line or "undefined" in line or "fatal" in line]
    return "" if done.returncode == 0 else (lines or ["exit code " + str(done.returncode)])[0].strip()[:160]


def build(place, text, common, home):
    """Compiles the sample in `place`, a copy of its folder; links it both ways. Why it does not build; "": it does."""
    nvcc = os.path.join(home, "bin", "nvcc")
    sources = sources_of(text)
    if not sources:
        return "CMakeLists.txt names no source"
    flags = ["-std=c++17", "-w", "-arch=sm_90", "-I", common, "-I", ".", "--extended-lambda"]
    flags += ["-Xcompiler", "-fopenmp"] if "OpenMP" in text else []
    flags += ["-rdc=true"] if os.path.basename(place).startswith("cdp") or "-rdc" in text else []
    # Kernels that the sample loads by itself: a file of PTX or a fat binary for each source that is not its own.
    for target, kind in re.findall(r'"?\$\{CMAKE_CURRENT_BINARY_DIR\}/([\w.]+?\.(ptx|fatbin))"', text):
        stem = re.sub(r"(64)?\.(ptx|fatbin)$", "", target)
        wrong = run_tool([nvcc, *flags, "-" + kind, stem + ".cu", "-o", target], place)
        if wrong:
            return wrong
    if "nvrtc" in text:  # CMakeLists.txt copies headers beside the sample
        for name in ("cooperative_groups", "cooperative_groups.h", "cccl/nv", "cccl/cuda", "cccl/cub", "cccl/thrust"):
            link, header = os.path.join(place, os.path.basename(name)), os.path.join(home, "include", name)
            if os.path.exists(header) and not os.path.lexists(link):
                os.symlink(header, link)
    objects = []
    for i, source in enumerate(sources):
        objects.append(f"object{i}.o")
        wrong = run_tool([nvcc, *flags, "-c", source, "-o", objects[-1]], place)
        if wrong:
            return wrong
    libraries = [f"-l{name}" for name in LIBRARIES] + ["-ldl", "-lgomp"]
    for stage, runtime in STAGES:
        wrong = run_tool([nvcc, *runtime, "-arch=sm_90", *([] if "-rdc=true" not in flags else ["-rdc=true"]), *objects, "-o", f"sample_{stage}",
                          "-Xlinker", "--as-needed", "-L", os.path.join(home, "lib64", "stubs"), *libraries,
                          "-Xlinker", f"-rpath={home}/lib64", "-Xlinker", f"-rpath-link={home}/lib64"], place)
        if wrong:
            return wrong
    return ""


def run(coalesce, place, stage, seconds):
    """(why it is wrong, or "" or "waived"; launches as [kernel, grid, block, counters])."""
    with tempfile.TemporaryDirectory() as scratch:
        record = os.path.join(scratch, "run.json")
        limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        try:
            done = subprocess.run([coalesce, "run", "-q", "--allow-stopped", "--json", record, f"./sample_{stage}"], cwd=place, preexec_fn=limit,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=20 * seconds)
        except subprocess.TimeoutExpired:
            return f"no end within {20 * seconds} seconds", []
        launches = []
        if os.path.exists(record) and os.path.getsize(record):
            with open(record) as file:
                launches = [[x["kernel"], x.get("grid"), x.get("block"), x.get("fault"), x["counters"]] for x in json.load(file)["launches"]]
    said = (done.stdout + "\n" + done.stderr).splitlines()
    refused = [line for line in said if REFUSED.search(line)]
    errors = refused or [line for line in said if "error: " in line] or [line for line in said if "rror" in line]
    if done.returncode == WAIVED:
        return "waived", launches
    if done.returncode in (-9, -24, 137, 152):
        return f"no end within {seconds} processor seconds", launches
    if done.returncode != 0:
        return f"exit code {done.returncode}: {(errors or said[-1:] or [''])[0].strip()[:200]}", launches
    wrong = refused + [line.strip() for line in said if SAYS_FAILED.search(line)]
    return (f"prints: {(errors or wrong)[0][:200]}" if wrong else ""), launches


def differs(one, other):
    """The first launch that differs, as text; "": none."""
    if [x[:4] for x in one] != [x[:4] for x in other]:
        return f"{len(one)} and {len(other)} launches" if len(one) != len(other) else "other launches"
    for i, (a, b) in enumerate(zip(one, other)):
        for counter, value in a[4].items():
            if b[4].get(counter) != value:
                return f"launch {i + 1}, {a[0]}: {counter} {value} and {b[4].get(counter)}"
    return ""


def judge(coalesce, place, seconds):
    wrong, static = run(coalesce, place, "static", seconds)
    also, shared = run(coalesce, place, "shared", seconds)
    cut = [why for why in (wrong, also) if why.startswith("no end")]
    if wrong != also and not cut:
        return "fail", f"static: {wrong or 'passes'}; shared: {also or 'passes'}", len(static)
    both = min(len(static), len(shared)) if cut else None  # of a run that was cut, what it had launched
    difference = differs(static[:both], shared[:both])
    varies = bool(difference) and bool(differs(shared[:both], run(coalesce, place, "shared", seconds)[1][:both]))
    if difference and not varies:
        return "fail", f"static and shared: {difference}", len(static)
    if cut:
        return "fail", f"{cut[0]}; {both} launches {'vary' if varies else 'are equal'}", both
    if varies:
        return ("fail" if wrong else "pass"), wrong or "counts otherwise in every run", 0
    return ("pass" if not wrong else "skip" if wrong == "waived" else "fail"), wrong, len(static)


def text_of(source):
    with open(os.path.join(source, "CMakeLists.txt")) as file:
        return file.read()


def needs(source):
    """Why a sample cannot be built here; "": nothing is known."""
    return next(("needs " + what for pattern, what in NEEDS if re.search(pattern, text_of(source))), "")


def one(coalesce, home, common, source, work, seconds):
    if needs(source):
        return ["skip", needs(source), 0]
    text = text_of(source)
    place = os.path.join(work, "Samples", "all", os.path.basename(source))  # as deep as it was: some include ../../../Common
    if not os.path.lexists(os.path.join(work, "Common")):
        os.makedirs(work, exist_ok=True)
        os.symlink(common, os.path.join(work, "Common"))
    if not os.path.exists(os.path.join(place, "sample_shared")):
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(source, place)
        wrong = build(place, text, common, home)
        if wrong:
            return ["skip", "does not build: " + wrong, 0]
    return list(judge(coalesce, place, seconds)) if seconds else ["skip", "built, not run", 0]


def judged(results):
    """{sample: [pass or fail, why]} of those that ran."""
    return {name: result[:2] for name, result in results.items() if result[0] != "skip"}


def run_all(coalesce, home, folder, work="", seconds=120, only="", kept=""):
    """{sample: [pass, fail or skip, why, launches]} of the samples in `folder` whose names contain `only`; `kept`: a file that keeps them."""
    results = {}
    if kept and os.path.exists(kept):
        with open(kept) as file:
            results = json.load(file)
    with tempfile.TemporaryDirectory() as scratch:
        for name, source in samples_of(folder).items():
            if not re.search(only, name):
                results.setdefault(name, ["skip", needs(source) or "not tried", 0])
                continue
            result = results[name] = one(coalesce, home, os.path.abspath(os.path.join(folder, "Common")), source, os.path.abspath(work or scratch), seconds)
            print(f"{result[0]}  {name}" + (f": {result[1]}" if result[1] else ""), flush=True)
            if kept:
                with open(kept, "w") as file:
                    json.dump(results, file, indent=0, sort_keys=True)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("coalesce")
    parser.add_argument("folder")
    parser.add_argument("kept")
    parser.add_argument("--work", default="", metavar="FOLDER", help="keep what is built there")
    parser.add_argument("--only", default="", metavar="PATTERN", help="samples whose names contain PATTERN (a regular expression)")
    parser.add_argument("--seconds", type=int, default=120, help="of processor time for a run (120); 0: only build")
    given = parser.parse_args()
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    if not os.access(os.path.join(home, "bin", "nvcc"), os.X_OK):
        print(f"error: {home} has no bin/nvcc\nhint: set CUDA_HOME", file=sys.stderr)
        return 3
    if not samples_of(given.folder):
        print(f"error: {given.folder} has no Samples/*/*/CMakeLists.txt\nhint: clone NVIDIA's cuda-samples", file=sys.stderr)
        return 2
    run_all(os.path.abspath(given.coalesce), home, given.folder, given.work, given.seconds, given.only, given.kept)
    return 0


if __name__ == "__main__":
    sys.exit(main())
