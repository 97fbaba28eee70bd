#!/usr/bin/env python3
"""Writes docs/results/mutation.md from what ./dev mutate found.

usage: page.py RESULTS.jsonl MACHINE DATE
"""
import collections
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main():
    path, machine, date = sys.argv[1:]
    rooms = collections.defaultdict(collections.Counter)
    with open(path) as file:
        for found in map(json.loads, file):
            room = "/".join(found["place"].split("/")[:2])
            rooms[room]["killed" if found["by"] else "not reached" if found["by"] is None else "survive"] += 1
    every = sum(rooms.values(), collections.Counter())
    number = sum(every.values())
    lines = [
        "# Do the tests notice small mistakes?",
        "",
        f"The quick tests of the machine notice {every['killed']} of {number} small mistakes ({100 * every['killed'] / number:.1f} %); the aim is 95 %.",
        "",
        f"- **Run** on {machine}, {date}. A mutant is one flipped comparison, dropped case or the like, drawn by a fixed seed.",
        "- **Tests:** those of the rooms `analyse`, `machine`, `execute` and `native`. End-to-end tests, which reach textures, are not among them.",
        "- **A survivor** is a gap of the tests, or changes only speed, or nothing; nobody has sorted them.",
        "- **Repeat:** `./dev mutate`, then `tests/mutation/page.py`.",
        "",
        "| room | mutants | killed | survive | reached by no test |",
        "|---|---:|---:|---:|---:|",
    ]
    for room, found in sorted(rooms.items()) + [("all", every)]:
        lines.append(f"| {room} | {sum(found.values())} | {found['killed']} | {found['survive']} | {found['not reached']} |")
    with open(os.path.join(ROOT, "docs", "results", "mutation.md"), "w") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
