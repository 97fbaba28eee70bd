"""Programs of others, unmodified but for sizes, built by nvcc and run without a GPU; writes docs/results/programs.md.

    python3 tests/clients/programs.py COMMAND FOLDER --cutlass CHECKOUT --cccl CHECKOUT --llmc CHECKOUT
                                      --ggml TEST-BACKEND-OPS [--only PATTERN]

COMMAND is `coalesce`. Programs are built in FOLDER, once; results.json there keeps the results of earlier runs.
- CUTLASS: the basic examples compare their results with the host's and end in 0. The tutorials of CuTe compare nothing:
  cutlass_verify.h calls their gemm() and compares, to 2e-3 where results are halves, whose last place is 2^-11 of them,
  else to 1e-5.
- libcu++ (CCCL): its tests of barriers, pipelines and asynchronous copies, which end in 0.
- llm.c, dev/cuda: each kernel that calls no cuBLAS, against the file's own function for the CPU, at all block sizes. The
  sizes in main() become small, and the timing loops run once.
- llama.cpp (ggml): each product of quantized weights in its test-backend-ops that calls no cuBLAS, beside its own CPU
  backend. The program is built with -cudart shared, GGML_CUDA_FORCE_MMQ and an architecture from sm_80 on.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parent.parent / "docs/results/programs.md"
TUTORIAL = """#define main tutorial
#include "examples/cute/tutorial/{file}"
#undef main
#include "cutlass_verify.h"
int main() {{
  using H = {element};
  int r = 0;
  for (char t : {{{lefts}}})
    r |= verify<H, H, H>([&](H* a, int lda, H* b, int ldb, H* c, int ldc) {{
      gemm(t, t == 'N' ? 'T' : 'N', 256, 256, 192, H(1), a, lda, b, ldb, H(0), c, ldc);
    }}, 256, 256, 192, t, t == 'N' ? 'T' : 'N', {tolerance});
  return r;
}}
"""
HALF = dict(element="cute::half_t", lefts="'N', 'T'", tolerance="2e-3")
TUTORIALS = {  # the file, the architecture; sgemm_sm80 has halves in one layout only
    "wgmma_tma_sm90": ("hopper/wgmma_tma_sm90.cu", "90a", HALF),
    "wgmma_sm90": ("hopper/wgmma_sm90.cu", "90a", HALF),
    "sgemm_sm80": ("sgemm_sm80.cu", "80", {**HALF, "lefts": "'T'"}),
    "sgemm_sm70": ("sgemm_sm70.cu", "80", dict(element="float", lefts="'N', 'T'", tolerance="1e-5")),
}
EXAMPLES = {  # the folder, the architecture, arguments that make it small
    "basic_gemm": ("00_basic_gemm", "80", ""),
    "cutlass_utilities": ("01_cutlass_utilities", "80", ""),
    "tile_iterator": ("04_tile_iterator", "80", ""),
    "batched_gemm": ("05_batched_gemm", "80", ""),
    "ampere_tf32_tensorop_gemm": ("14_ampere_tf32_tensorop_gemm", "80", "--m=256 --n=256 --k=128 --iterations=1"),
    "ampere_sparse_tensorop_gemm": ("15_ampere_sparse_tensorop_gemm", "80", ""),
    "ampere_tensorop_conv2dfprop": (
        "16_ampere_tensorop_conv2dfprop", "80", "--n=1 --h=8 --w=8 --c=64 --k=64 --r=3 --s=3 --ref-check --iterations=1"),
    "fprop_per_channel_bias": ("17_fprop_per_channel_bias", "80", ""),
    "ampere_fp64_tensorop_affine2_gemm": ("18_ampere_fp64_tensorop_affine2_gemm", "80", ""),
    "tensorop_canonical": ("19_tensorop_canonical", "80", ""),
    "simt_canonical": ("20_simt_canonical", "80", ""),
    "48_hopper_warp_specialized_gemm": ("48_hopper_warp_specialized_gemm", "90a", "--m=256 --n=256 --k=128 --iterations=1"),
}


LIBCU = ["barrier", "memcpy_async", "pipeline"]
LEFT_OUT = r"compiles|feature_test|preconditions|_thread_scope_(device|system|thread)|_(8|64)b?\."  # no kernel, or much the same
LLMC = {  # the kernels that call no cuBLAS and have a form for bf16
    "adamw": [1, 2],
    "attention_forward": [1, 2],
    "classifier_fused": [1, 2, 3, 4, 5],
    "crossentropy_forward": [1],
    "crossentropy_softmax_backward": [1],
    "encoder_backward": [1, 2],
    "encoder_forward": [1, 2, 3],
    "fused_residual_forward": [1, 2, 3, 4, 5, 6],
    "gelu_backward": [1, 2],
    "gelu_forward": [1, 2],
    "global_norm": [1, 2, 3],  # the fourth is for small GPUs only, as its assertion says
    "layernorm_backward": [2, 3, 4, 5, 6, 7, 8, 9, 10],
    "layernorm_forward": [1, 2, 3, 4, 5, 6],
    "matmul_backward_bias": [1, 2, 3, 4, 7, 8],
    "matmul_forward": [1],
    "residual_forward": [1, 2],
    "softmax_forward": [1, 2, 3, 4, 5, 6, 7, 8],
}
SMALL = {"B": 2, "T": 64, "C": 768, "V": 1000, "NH": 6, "OC": 256}


def compiled(program, source, options):
    """Whether nvcc makes the program. One that is there stays."""
    if not program.exists():
        line = ["nvcc", "-std=c++17", "--expt-relaxed-constexpr", "-cudart", "shared", *options, str(source), "-o", str(program)]
        done = subprocess.run(line, capture_output=True, text=True)
        (program.parent / (program.name + ".log")).write_text(done.stdout + done.stderr)
        return done.returncode == 0
    return True


def ran(command, program, words, passed, seconds=600):
    """What is wrong with a run; empty: nothing."""
    try:
        run = subprocess.run([command, "run", "-q", program, *words], capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"no end in {seconds} s"
    if run.returncode == 0 and passed(run.stdout):
        return ""
    return ([line for line in (run.stderr + run.stdout).splitlines() if re.search("error|ismatch", line)] or [f"ends in {run.returncode}"])[0]


def cutlass(root, command, folder, name):
    if name in TUTORIALS:
        file, architecture, text = TUTORIALS[name]
        source, words = folder / (name + ".cu"), ""
        source.write_text(TUTORIAL.format(file=file, **text))
    else:
        place, architecture, words = EXAMPLES[name]
        source = root / "examples" / place / (name + ".cu")
    includes = [f"-I{p}" for p in (root, root / "include", root / "tools/util/include", root / "examples/common", HERE)]
    if not compiled(folder / name, source, ["-O1", f"-arch=sm_{architecture}", *includes, "-lcuda", "-L/usr/local/cuda/lib64/stubs"]):
        return "does not compile"
    return ran(command, folder / name, words.split(), lambda said: "passed" in said.lower() or ": 0 of " in said)


def libcu(root, command, folder, name):
    tests = root / "libcudacxx/test/libcudacxx"
    source = tests / "cuda" / (name + ".pass.cpp")
    program = folder / name.replace("/", ".")
    options = ["-O1", "-arch=sm_90", "-x", "cu", f"-I{root}/libcudacxx/include", f"-I{root}/libcudacxx/test/support", "-include", str(tests / "force_include.h")]
    if not compiled(program, source, options):
        return "does not compile"
    return ran(command, program, [], lambda said: "Testing on device" in said, 60)


def llmc(root, command, folder, name):
    file, kernel = name.split()
    text = (root / "dev/cuda" / (file + ".cu")).read_text()
    begin = text.index("int main(")
    main = re.sub(r"\b((?:const )?int(?:64_t)?) (B|T|C|V|NH|OC) = [^;]*;", lambda m: f"{m[1]} {m[2]} = {SMALL[m[2]]};", text[begin:])
    main = re.sub(r"repeat_times = \d+", "repeat_times = 1", re.sub(r"num_parameters = \d+", "num_parameters = 20000", main))
    source = folder / (file + ".cu")
    source.write_text(text[:begin] + main)
    options = ["-O3", "--use_fast_math", "-arch=sm_90", f"-I{root}/dev/cuda", f"-I{root}", "-lcublas", "-lcublasLt"]
    if not compiled(folder / file, source, options):
        return "does not compile"
    return ran(command, folder / file, [kernel], lambda said: "match" in said.lower())


PRODUCTS = ["-b", "CUDA0", "-o", "MUL_MAT"]


def products(program):
    """The products of quantized weights that the backend says it has, by their parameters."""
    words = [sys.argv[1], "run", "-q", program, "support", *PRODUCTS, "--output", "csv"]
    run = subprocess.run(words, capture_output=True, text=True, check=True)
    rows = [line[1:-1].split('","') for line in run.stdout.splitlines() if line.startswith('"CUDA0"')]
    return list(dict.fromkeys(row[2] for row in rows if "yes" in row and not re.match(r"type_a=b?f\d", row[2])))


def llama(root, command, folder, name):
    """None: the product calls cuBLAS."""
    pattern = "^" + re.sub(r"([\[\]])", r"\\\1", name) + "$"
    words = [command, "run", "-q", root, "test", *PRODUCTS, "-p", pattern]
    try:
        run = subprocess.run(words, capture_output=True, text=True, timeout=600)
    except subprocess.TimeoutExpired:
        return "no end in 600 s"
    if "cublasCreate" in run.stderr + run.stdout:
        return None
    return "" if run.returncode == 0 and "tests passed" in run.stdout else f"ends in {run.returncode}"


COLLECTIONS = {
    "CUTLASS": ("cutlass", cutlass, lambda root: [*TUTORIALS, *EXAMPLES]),
    "libcu++": ("cccl", libcu, lambda root: sorted(
        f"{f}/{p.name[:-len('.pass.cpp')]}" for f in LIBCU for p in (root / "libcudacxx/test/libcudacxx/cuda" / f).glob("*.pass.cpp")
        if not re.search(LEFT_OUT, p.name))),
    "llm.c": ("llmc", llmc, lambda root: [f"{file} {k}" for file, kernels in LLMC.items() for k in kernels]),
    "llama.cpp": ("ggml", llama, products),
}
ON_AN_H100 = ["fused_residual_forward 2", "layernorm_backward 10"]  # other sums; stores beyond shared memory


def page(results):
    """The page: how many of each collection pass, and what fails."""
    all_of = [(title, name, said) for title, names in results.items() for name, said in names.items()]
    programs = [said for title, _, said in all_of if title != "llama.cpp"]  # that is one program's cases
    lines = ["# Today's CUDA", "", f"{programs.count('')} of {len(programs)} programs pass; sizes are reduced.", "",
             f"- **Run** on {platform.machine()}, {os.cpu_count()} cores, {datetime.date.today()}.",
             "- **Repeat:** `tests/clients/programs.py`.", "", "| collection | programs | pass |", "|---|---:|---:|"]
    for title, names in results.items():
        what = {"CUTLASS": "examples", "libcu++": "tests", "llm.c": "dev/cuda", "llama.cpp": "quantized `MUL_MAT` cases"}[title]
        lines.append(f"| {title}, {what} | {len(names)} | {sum(said == '' for said in names.values())} |")
    failing, too = (", ".join(f"`{name}`" for _, name, said in all_of if said and (name in ON_AN_H100) == there)
                    for there in (False, True))
    lines += ["", f"Fail: {failing}; H100 too: {too}."] if failing else []
    return "\n".join(lines) + "\n"


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("command"), words.add_argument("folder", type=pathlib.Path)
    words.add_argument("--only", default="")
    for _, (option, _, _) in COLLECTIONS.items():
        words.add_argument("--" + option, type=pathlib.Path)
    words = words.parse_args()
    folder = words.folder.resolve()
    folder.mkdir(exist_ok=True)
    kept = folder / "results.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    for title, (option, judge, names) in COLLECTIONS.items():
        root = getattr(words, option)
        for name in names(root.resolve()) if root else []:
            if not re.search(words.only, name):
                continue
            begin = time.monotonic()
            said = judge(root.resolve(), pathlib.Path(words.command).resolve(), folder, name)
            if said is None:
                continue
            results.setdefault(title, {})[name] = said
            kept.write_text(json.dumps(results, indent=1))
            print(name, said or "passes", f"{time.monotonic() - begin:.0f} s", flush=True)
    PAGE.write_text(page(results))


main()
