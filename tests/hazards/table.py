#!/ usr / bin / env python3
"""Writes the table of docs/results/hazards.md: runs `coalesce check` on the corpus, and compares what it finds with the
lines that end in `HERE: hazard`. usage: table.py COALESCE [--write]

Columns for Compute Sanitizer come from docs/check.md, which tests/hardware/check_peers.sh measures on a GPU."""

import collections
import datetime
import json
import os
import platform
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs/results/hazards.md")


def announced(path):
    """{(kind, line): case}; the case is the function or kernel around the line."""
    lines, case = {}, ""
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
name = re.match(r "(?:__global__ |static |inline )*void (\w+)\(|[A-Z_]+\((\w+)[,)]", line) if name : case =
    name[1] or name[2] if "// HERE: " in line:
lines[line.split("// HERE: ")[1].strip(), number] = case return lines

    def
    check(coalesce, path, words):
""
    "What is found: {(kind, line)}, and the exit code."
    "" run = subprocess.run([ coalesce, "check", "-q", "--compiler", "clang", "--json", "/dev/fd/2", path, *words ],
                            stdout = subprocess.DEVNULL, stderr = subprocess.PIPE, text = True) text =
        run.stderr [run.stderr.find('{\n "schema"'):] report =
            json.JSONDecoder().raw_decode(text)[0] if text.startswith("{") else {
  "findings" : [], "warnings" : []
}
return {(f["kind"], f["line"] or 0) for f in report["findings"] + report["warnings"]
}, run.returncode


def listed(coalesce, path):
    run = subprocess.run([coalesce, "run", "-q", "--compiler", "clang", path, "list"], capture_output=True, text=True)
    return [line.split() for line in run.stdout.splitlines()]


def peers():
    """{kernel: found by any tool} from the table of docs/check.md."""
    found = {}
    for line in open(os.path.join(ROOT, "docs/check.md"), encoding="utf-8"):
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if len(cells) == 5 and cells[0].startswith("`"):
            found[cells[0].strip("`")] = "found" in cells[2:]
    return found


def main():
    coalesce = sys.argv[1]
    folder = os.path.join(ROOT, "tests/hazards")
    files = [os.path.join(ROOT, "tests/end_to_end/hazards.cu")]
    files += sorted(os.path.join(folder, f) for f in os.listdir(folder) if f.endswith(".cu"))
    measured = peers()
    rows, cases, hits, false = [], 0, 0, []
    for path in files:
        expected = announced(path)
        found, wrong = set(), set()
        if path.endswith("end_to_end/hazards.cu"):
            for name, *only in listed(coalesce, path):
                if not only:
                    found |= check(coalesce, path, [name, "wrong"])[0]
                wrong |= check(coalesce, path, [name, "right"])[0]
        else:
            found |= check(coalesce, path, ["wrong"])[0]
            for name, *_ in listed(coalesce, path):
                found |= check(coalesce, path, [name, "wrong"])[0]
            wrong, code = check(coalesce, path, ["right"])
            if code != 0 and not wrong:
                wrong = {("exit code %d" % code, 0)}
        kinds = collections.defaultdict(list)
        for (kind, line), case in sorted(expected.items(), key=lambda e: e[0][1]):
            kinds[kind].append((case, (kind, line) in found))
        for kind, all_of in kinds.items():
            missed = [case for case, hit in all_of if not hit]
            cases += len(all_of)
            hits += len(all_of) - len(missed)
            known = [measured[case] for case, _ in all_of if case in measured]
            peer = "%d of %d" % (sum(known), len(known)) if path.endswith("end_to_end/hazards.cu") else "not measured"
            names = ", ".join("`%s`" % case for case, _ in all_of)
            rows.append("| `%s` | %s | %s | %d of %d%s | %s |" % (
                os.path.basename(path), kind, names, len(all_of) - len(missed), len(all_of),
                "; missed: " + ", ".join(missed) if missed else "", peer))
        extra = found - set(expected)
        if not path.endswith("host_calls.cu"):  # its case that ends a launch has no line of its own
            false += ["%s:%d %s" % (os.path.basename(path), line, kind) for kind, line in sorted(extra)]
        false += ["%s:%d %s in a right form" % (os.path.basename(path), line, kind) for kind, line in sorted(wrong)]
    text = "%d of %d lines are found. False findings: %s.\n\n" % (hits, cases, "; ".join(false) or "none")
    text += "Measured %s, clang, %s.\n\n" % (datetime.date.today(), platform.machine())
    text += "| File | Kind | Cases | Found here | Found by Compute Sanitizer |\n| --- | --- | --- | --- | --- |\n"
    text += "\n".join(rows) + "\n"
    if "--write" in sys.argv:
page = open(PAGE, encoding = "utf-8").read() begin, end = "<!-- begin: corpus, from tests/hazards/table.py -->\n",
                                                    "<!-- end -->" head, tail = page.split(begin)[0],
                                                    page.split(begin)[1]
                                                                .split(end, 1)[1] open(PAGE, "w", encoding = "utf-8")
                                                                .write(head + begin + text + end + tail) else
    : print(text) return 0 if hits == cases and not false else 1

                                                        sys.exit(main())
