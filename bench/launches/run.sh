#!/usr/bin/env bash
# Measures a start and a small launch; writes its part of docs/results/speed.md (half a minute; needs nvcc).
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
exec python3 "$root/bench/launches/launches.py" "$root/build/bin/coalesce" --docs "$root/docs/results" "$@"
