"""Examples of NVIDIA's CUTLASS, unmodified, built by nvcc and run without a GPU; writes docs/results/programs.md.

    python3 tests/clients/cutlass.py CHECKOUT-OF-CUTLASS COMMAND FOLDER [NAME...]

COMMAND is `coalesce`. Programs are built in FOLDER, once. The basic examples compare their results with the host's and end in
0. The tutorials of CuTe compare nothing: cutlass_verify.h calls their gemm() and compares, to 2e-3 where results are halves,
whose last place is 2^-11 of them, else to 1e-5.
"""

import datetime
import os
import pathlib
import platform
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
EXAMPLES = {
    "basic_gemm": ("00_basic_gemm", "80"),
    "cutlass_utilities": ("01_cutlass_utilities", "80"),
    "tile_iterator": ("04_tile_iterator", "80"),
    "batched_gemm": ("05_batched_gemm", "80"),
    "splitk_gemm": ("06_splitK_gemm", "75"),
    "turing_tensorop_gemm": ("08_turing_tensorop_gemm", "75"),
    "gemm_bias_relu": ("12_gemm_bias_relu", "75"),
    "ampere_tf32_tensorop_gemm": ("14_ampere_tf32_tensorop_gemm", "80"),
    "simt_canonical": ("20_simt_canonical", "80"),
}


def build(root, folder, name):
    program = folder / name
    if program.exists():
        return program
    if name in TUTORIALS:
        file, architecture, words = TUTORIALS[name]
        source = folder / (name + ".cu")
        source.write_text(TUTORIAL.format(file=file, **words))
    else:
        place, architecture = EXAMPLES[name]
        source = root / "examples" / place / (name + ".cu")
    includes = [f"-I{p}" for p in (root, root / "include", root / "tools/util/include", root / "examples/common", HERE)]
    line = ["nvcc", "-std=c++17", "-O1", f"-arch=sm_{architecture}", "--expt-relaxed-constexpr", "-cudart", "shared", *includes,
            str(source), "-o", str(program), "-lcuda", "-L/usr/local/cuda/lib64/stubs"]
    done = subprocess.run(line, capture_output=True, text=True)
    return program if done.returncode == 0 else None


def main():
    root, command, folder = map(lambda p: pathlib.Path(p).resolve(), sys.argv[1:4])
    folder.mkdir(exist_ok=True)
    rows = []
    for name in sys.argv[4:] or [*TUTORIALS, *EXAMPLES]:
        program = build(root, folder, name)
        begin = time.monotonic()
        try:
            ran = subprocess.run([command, "run", "-q", program], capture_output=True, text=True, timeout=600) if program else None
        except subprocess.TimeoutExpired:
            ran = None
        passed = ran is not None and ran.returncode == 0 and ("passed" in ran.stdout.lower() or ": 0 of " in ran.stdout)
        said = "does not compile" if program is None else "no end in 600 s" if ran is None else (ran.stderr.strip().splitlines() or [""])[0]
        rows.append((name, "passes" if passed else said))
        print(*rows[-1], f"{time.monotonic() - begin:.0f} s", flush=True)
    passes = sum(row[1] == "passes" for row in rows)
    with open(PAGE, "w") as page:
        page.write(f"# CUTLASS\n\n{passes} of {len(rows)} examples of NVIDIA's CUTLASS pass, unmodified; the host compares each.\n\n")
        page.write(f"- **Run** on {platform.machine()}, {os.cpu_count()} cores, no GPU, {datetime.date.today()}.\n")
        page.write("- **Repeat:** `tests/clients/cutlass.py`.\n\n| example | result |\n|---|---|\n")
        for row in rows:
            page.write("| " + " | ".join(row) + " |\n")


main()
