#!/usr/bin/env bash
# The project's own scripts refuse what they are to refuse. usage: habits_test.sh SOURCE-DIR
set -euo pipefail
cd -- "$1"
said=$(mktemp)
trap 'rm -f "$said"' EXIT

# expect CODE TEXT COMMAND...: ends by CODE, and TEXT is among what it says on standard error.
expect() {
  local expected=$1 text=$2 code=0
  shift 2
  "$@" 2>"$said" >/dev/null || code=$?
  if [[ $code != "$expected" || $(<"$said") != *"$text"* ]]; then
    echo "FAILED: '$*' ended by $code, not $expected, or did not say '$text':"
    cat "$said"
    exit 1
  fi
}
titles() { printf '%s\n' "$@" | .ci/titles.sh; }

long=$(printf 'machine: %064d' 0) # 73 characters
expect 0 '' titles 'machine: count sectors' 'lab, tests: Größe of a block' "${long%0}"
expect 0 '' .ci/titles.sh </dev/null
expect 1 "$long" titles 'machine: count sectors' "$long"
expect 1 'Fixed it' titles 'Fixed it' 'machine: count sectors'
expect 1 'room: what changes' titles 'machine:'
expect 2 "no group of packages is called 'nonsense'" ./dev setup nonsense
expect 2 "./dev help" ./dev nonsense
echo "all refused as they should be"
