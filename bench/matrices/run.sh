#!/usr/bin/env bash
# A product of half matrices by tensor cores on the machine, beside OpenBLAS's single-precision product of the same shape, a
# core each: ./dev bench matrices [N]. Needs Debian's libopenblas0.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
"$root/dev" build coalesce-lab >&2
exec python3 "$root/bench/matrices/gemm.py" "$root/build/bin/coalesce" "$root/bench/matrices/gemm.cu" "${1-512}"
