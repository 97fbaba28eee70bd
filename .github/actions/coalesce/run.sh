#!/usr/bin/env bash
# Runs the command with the inputs of action.yml, which are in the environment: nothing in them is executed by a shell.
set -euo pipefail
split() { xargs -r -n1 printf '%s\0' <<<"$1"; } # at blanks, but for those in quotes
mapfile -d '' -t options < <(split "${COALESCE_WORDS_OPTIONS-}")
mapfile -d '' -t arguments < <(split "${COALESCE_WORDS_ARGUMENTS-}")
[[ -z ${COALESCE_WORDS_BUDGET-} ]] || options+=(--budget "$COALESCE_WORDS_BUDGET")
while IFS= read -r requirement; do
  [[ -z ${requirement//[[:space:]]/} ]] || options+=(--require "$requirement")
done <<<"${COALESCE_WORDS_REQUIRE-}"
exec coalesce "$COALESCE_WORDS_COMMAND" --format github --sarif "$COALESCE_WORDS_SARIF" --junit "$COALESCE_WORDS_JUNIT" \
  "${options[@]}" -- "$COALESCE_WORDS_PROGRAM" "${arguments[@]}"
