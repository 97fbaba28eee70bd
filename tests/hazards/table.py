#!/usr/bin/env python3
"""Writes the tables of docs/results/hazards.md: runs `coalesce check` on the corpus, compares what it finds with the lines
that end in `HERE: hazard`, and sets beside it what Compute Sanitizer finds.

  table.py COALESCE [--write]       the tables, with docs/results/hazards.json for Compute Sanitizer
  table.py --measured CORPUS.json   makes docs/results/hazards.json of what tests/hardware/check_corpus.py has written

Compute Sanitizer has found a case if its report of the wrong form names a line, or anything at all, that its report of the
right form does not."""

import collections
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, "tests/hazards")
PAGE = os.path.join(ROOT, "docs/results/hazards.md")
MEASURED = os.path.join(ROOT, "docs/results/hazards.json")
TOOLS = ["memcheck", "racecheck", "initcheck", "synccheck"]
FOUND, ENDED = 9, 124  # exit codes: of a tool that has found something; of a case that did not end


def announced(path):
    """{case: {(kind, line)}}; the case is the function or kernel around the line."""
    cases, case = collections.defaultdict(set), ""
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        name = re.match(r"(?:__global__ |static |inline )*void (\w+)\(|KERNEL\((\w+)\)", line)
        if name:
            case = name[1] or name[2]
        if "// HERE: " in line:
            cases[case].add((line.split("// HERE: ")[1].strip(), number))
    return cases


def compiler(path):
    """libcu++'s own headers need nvcc."""
    return "nvcc" if os.path.basename(path).startswith("libcu_") else "clang"


def names(coalesce, path, which):
    run = subprocess.run([coalesce, "run", "-q", "--compiler", compiler(path), path, which], stdout=subprocess.PIPE, text=True, check=True)
    return [line.split() for line in run.stdout.splitlines()]


def check(coalesce, path, words):
    """What is found: {(kind, line)}, and the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "found")
        run = subprocess.run([coalesce, "check", "-q", "--leaks", "error", "--compiler", compiler(path), "--json", out, path, *words],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        with open(out, encoding="utf-8") as file:
            report = json.load(file)
    return {(f["kind"], f["line"]) for f in report["findings"] + report["warnings"] if f["line"]}, run.returncode


def measured():
    """{(file, case): {tool}} that Compute Sanitizer has found, {(file, tool): lines} of right forms, those not asked."""
    with open(MEASURED, encoding="utf-8") as file:
        runs = json.load(file)
    right = {(r[0], r[3]): set(r[5]) for r in runs["runs"] if r[2] == "right" and r[4] == FOUND}
    found, asked = collections.defaultdict(set), collections.defaultdict(set)
    for name, case, form, tool, code, lines in runs["runs"]:
        if form == "right":
            continue
        asked[name, case].add(tool)
        if code == FOUND and (not lines or set(lines) - right.get((name, tool), set())):
            found[name, case].add(tool)
    return runs, found, asked, right


def keep(path):
    with open(path, encoding="utf-8") as file:
        all_of = json.load(file)
    rows = [[r["file"], r["case"], r["form"], r["tool"], r["code"], r["lines"]] for r in all_of["runs"]]
    text = ",\n".join(json.dumps(r, separators=(",", ":")) for r in sorted(rows))
    head = {k: all_of[k] for k in ("tool", "gpu", "date")}
    with open(MEASURED, "w", encoding="utf-8") as file:
        file.write(json.dumps(head)[:-1] + ', "runs": [\n' + text + "\n]}\n")


def main():
    if sys.argv[1] == "--measured":
        return keep(sys.argv[2])
    coalesce = sys.argv[1]
    runs, peers, asked, right_lines = measured()
    rows, false, total = [], [], collections.Counter()
    for name in sorted(f[:-3] for f in os.listdir(FOLDER) if f.endswith(".cu")):
        path = os.path.join(FOLDER, name + ".cu")
        expected, found = announced(path), set()
        found |= check(coalesce, path, ["wrong"])[0]
        for case, in names(coalesce, path, "list"):
            lines = check(coalesce, path, [case, "wrong"])[0]
            # A launch that the host's mistake ends is found in a kernel that many cases use.
            found |= {f for f in lines if f in expected[case]} if name.startswith("host_") else lines
        clean, code = check(coalesce, path, ["right"])
        false += ["%s:%d %s" % (name, line, kind) for kind, line in sorted(clean | (found - set().union(*expected.values())))]
        if code and not clean:
            false.append("%s: exit code %d" % (name, code))
        of_kind = collections.defaultdict(list)
        for case, only in ((n[0], len(n) > 1) for n in names(coalesce, path, "names")):
            total["right"] += 1
            if not only:
                total["wrong"] += 1
                kinds = sorted({k for k, _ in expected[case]}) or ["(ends)"]
                of_kind[kinds[0]].append(case)
        for kind, cases in sorted(of_kind.items()):
            here = [c for c in cases if expected[c] <= found]
            total["here"] += len(here)
            cells = []
            for tool in TOOLS:
                those = [c for c in cases if tool in asked[name, c]]
                hits = [c for c in those if tool in peers[name, c]]
                total[tool] += len(hits)
                cells.append("%d" % len(hits) if those else "")
            total["asked"] += len([c for c in cases if asked[name, c]])
            some = [c for c in cases if peers[name, c]]
            total["any"] += len(some)
            missed = [c for c in cases if c not in here]
            rows.append("|`%s`|%s|%d|%d%s|%s|" % (
                name, kind, len(cases), len(here), " (not " + ", ".join(missed) + ")" if missed else "", "|".join(cells)))
    hangs = sum(1 for r in runs["runs"] if r[4] == ENDED)
    text = "%d cases with a mistake, %d put right. `check` finds %d; its false findings: %s. Compute Sanitizer finds %d of %d by some tool" % (
        total["wrong"], total["right"], total["here"], "; ".join(false) or "none", total["any"], total["asked"])
    noise = ["`%s` (%s: %s)" % (name, tool, ", ".join(str(n) for n in sorted(lines)) or "?")
             for (name, tool), lines in sorted(right_lines.items())]
    text += ("; %d of its runs did not end in time" % hangs if hangs else "") + ".\n"
    text += "It reports lines of right forms, too: " + "; ".join(noise) + ".\n\n" if noise else "\n"
    text += "`check`: %s, clang (`libcu_*`: nvcc). Compute Sanitizer %s: %s, %s, nvcc.\n\n" % (datetime.date.today(), runs["tool"], runs["gpu"], runs["date"])
    text += "|File|Kind|Cases|`check`|" + "|".join(TOOLS) + "|\n|---|---|" + "---:|" * 6 + "\n"
    text += "\n".join(rows) + "\n"
    if "--write" not in sys.argv:
        print(text)
    else:
        begin, end = "<!-- begin: corpus, from tests/hazards/table.py -->\n", "<!-- end -->"
        with open(PAGE, encoding="utf-8") as file:
            head, rest = file.read().split(begin)
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(head + begin + text + end + rest.split(end, 1)[1])
    return 0 if total["here"] == total["wrong"] and not false else 1


if __name__ == "__main__":
    sys.exit(main())
