#!/usr/bin/env python3
"""A program's macros leave the CUDA headers for clang alone, and are the program's own again behind each.

usage: header_names_test.py CLANG

Macros are each letter, usual names, and each name that coalesce_cuda/plain_names_away.h knows.
"""
import glob
import os
import re
import string
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEADERS = os.path.join(ROOT, "cudart", "include")
USUAL = """size count ptr pointer src dst source destination value values stream data index offset length result mask lane lanes
    width height depth pitch left right first last begin end num number block blocks grid thread threads warp tile group flags mode
    kind event graph node func function name address bytes from to in out val var tmp temp BLOCK_SIZE SIZE COUNT TYPE DATA THREADS
    BLOCKS TILE MASK MAX MIN PI real imag other all any arg args dim device host error property base limit sum part bits rows cols
    row col low high lo hi scale shift step rank order type word words""".split()


def main():
    clang = sys.argv[1]
    first = ["cuda_runtime.h"]  # as the command puts it
    headers = first + sorted(os.path.relpath(path, HEADERS) for folder in ("", "cooperative_groups")
                             for path in glob.glob(os.path.join(HEADERS, folder, "*.h")) if os.path.basename(path) not in first)
    names = set(string.ascii_letters) | set(USUAL)
    for path in glob.glob(os.path.join(HEADERS, "coalesce_cuda", "plain_names_away*.h")):
        with open(path, encoding="utf-8") as file:
            names.update(re.findall(r"^#undef (\w+)$", file.read(), re.M))
    failed = 0
    with tempfile.TemporaryDirectory() as work:
        source = os.path.join(work, "names.cu")
        with open(source, "w", encoding="utf-8") as file:
            for header in headers:
                file.write(f"#include <{header}>\n")
                file.writelines(f'static_assert({name} == 5, "{header}");\n' for name in sorted(names))
        for side in ("device", "host"):
            words = [clang, "-std=c++17", "-x", "cuda", "--cuda-path=/nonexistent", "-nocudainc", "-nocudalib", "-Xclang",
                     "-target-sdk-version=12.5", "--cuda-gpu-arch=sm_90", f"--cuda-{side}-only", "-fsyntax-only", "-isystem", HEADERS]
            words += ["--cuda-feature=+ptx83"] if side == "device" else []
            done = subprocess.run(words + [f"-D{name}=5" for name in sorted(names)] + [source], capture_output=True, text=True, check=False)
            failed += done.returncode != 0
            print("\n".join(done.stderr.splitlines()[:20]), file=sys.stderr)
    print(f"{len(names)} names, {len(headers)} headers, {failed} sides fail")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
