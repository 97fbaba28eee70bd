#!/usr/bin/env bash
# Refuses commit titles on standard input, one a line, that are not `room: what changes` or longer than 72 characters
# (CONTRIBUTING.md).
titles=$(cat)
[[ -n $titles ]] || exit 0
bad=$(LC_ALL=C.UTF-8 grep -vxE '[[:alnum:]_/, +-]+: .+' <<<"$titles"; LC_ALL=C.UTF-8 grep -E '.{73}' <<<"$titles")
[[ -z $bad ]] && exit 0
echo "$bad" >&2
echo "error: a commit's title is \`room: what changes\`, at most 72 characters long" >&2
exit 1
