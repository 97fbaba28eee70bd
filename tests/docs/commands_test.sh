#!/usr/bin/env bash
# Runs every command that the README, or all other documents, show in an ```sh block, as printed, in a folder that looks like the
# root of a built tree. A comment that says "exit code N" is held to. usage: commands_test.sh SOURCE-DIR BINARY-DIR README|docs
# Left out, because other tests do the same: ./dev (this is part of it), cmake and podman (tests/install). Of `lab all` two
# experiments: tests/lab runs each with the same sizes.
set -euo pipefail
documents=$3 source=$(cd -- "$1" && pwd -P) binary=$(cd -- "$2" && pwd -P)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$binary" "$work/build"
ln -s "$source/examples" "$work/examples"
cp "$source/examples/saxpy.cu" "$work/saxpy.cu"
cd "$work"
# The README's by clang, as other tests, which is what a user without a toolkit has.
[[ $documents != README ]] || PATH=$(tr : '\n' <<<"$PATH" | while read -r folder; do [[ -x $folder/nvcc ]] || echo "$folder"; done | paste -sd :)
export PATH="$binary/bin:$PATH" XDG_CACHE_HOME=$binary/tests/cache # with what the other tests have compiled
ran=0
while IFS= read -r line; do
  command=${line%%  #*}
  case $command in
    '' | '#'* | ./dev* | cmake* | podman*) continue ;;
    nvcc*) command -v nvcc >/dev/null || { echo "skipped, no nvcc: $command"; continue; } ;;
  esac
  command=${command/lab all/lab banks latency}
  echo "\$ $command"
  expected=0 code=0
  [[ $line =~ "exit code "([0-9]+) ]] && expected=${BASH_REMATCH[1]}
  bash -euo pipefail -c "$command" >out.txt 2>&1 || code=$?
  if [[ $code != "$expected" ]]; then
    cat out.txt
    echo "FAILED with $code, not $expected: $command"
    exit 1
  fi
  ran=$((ran + 1))
done < <(
  if [[ $documents == README ]]; then files=("$source/README.md"); else files=("$source"/docs/*.md "$source"/docs/*/*.md); fi
  awk '/^```sh/ {on = 1; next} /^```/ {on = 0} on' "${files[@]}"
)
[[ $ran -gt 0 ]] || { echo "no command found"; exit 1; }
echo "$ran commands ran"
