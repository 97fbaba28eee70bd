#!/usr/bin/env python3
"""Writes docs/results/mutation.md from what ./dev mutate found.

usage: page.py RESULTS.jsonl MACHINE DATE
"""
import collections
import json
import os
import sys

sys.dont_write_bytecode = True
import mutants

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main():
    path, machine, date = sys.argv[1:]
    late = 0  # had no verdict when the run's time was over
    rooms, equivalents, samples = collections.defaultdict(collections.Counter), mutants.equivalents(), collections.defaultdict(collections.Counter)
    with open(path) as file:
        for found in map(json.loads, file):
            room = "/".join(found["place"].split("/")[:2])
            kind = "killed" if found["by"] else "equivalent" if mutants.key(found) in equivalents else "survive"
            rooms[room][kind] += 1
            samples[found["sample"]][kind] += 1
            late += found.get("late", False)

    def share(found):
        real = sum(found.values()) - found["equivalent"]
        return f"{found['killed']} of {real} small mistakes ({100 * found['killed'] / real:.1f} %)"

    every = sum(rooms.values(), collections.Counter())
    lines = [
        "# Do the tests notice small mistakes?",
        "",
        *(f"The quick tests of the machine notice {share(found)} {'for whose survivors tests were written' if seed == 'earlier' else f'of a fresh sample (seed {seed})'}; the aim is 95 %."
          for seed, found in sorted(samples.items(), reverse=True)),
        "",
        f"- **Run** on {machine}, {date}.",
        "- **Tests:** those of the rooms `analyse`, `machine`, `isa`, `execute`, `cudart` and `native`. End-to-end tests are not among them.",
        f"- **Equivalent:** {every['equivalent']} mutants compute the same for every input, or change only speed; [why each](../../tests/mutation/equivalent.txt).",
        *([f"- **Without a verdict** when the time was over: {late}, which count as survivors."] if late else []),
        "- **Repeat:** `./dev mutate`, then `tests/mutation/page.py`.",
        "",
        "| room | mutants | equivalent | killed | survive |",
        "|---|---:|---:|---:|---:|",
    ]
    for room, found in sorted(rooms.items()) + [("all", every)]:
        lines.append(f"| {room} | {sum(found.values())} | {found['equivalent']} | {found['killed']} | {found['survive']} |")
    with open(os.path.join(ROOT, "docs", "results", "mutation.md"), "w") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
