#!/usr/bin/env python3
"""The table of public programs in docs/results/agreement.md, from docs/results/collections.json.

  page.py                                                       writes the table
  page.py --add RUN.json --collection NAME --revision COMMIT    first takes over what `./dev programs FOLDER --json RUN.json` found

collections.json has one row for each collection: `fails` has the programs that do not pass, or their number, by reason. A run's
reasons are those that programs.py gives; PROGRAM=REASON after the options says it in better words.
"""
import argparse
import datetime
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "docs"))
import pages

RESULTS = os.path.join(ROOT, "docs", "results", "collections.json")
PAGE = os.path.join(ROOT, "docs", "results", "agreement.md")


def number(programs):
    return programs if isinstance(programs, int) else len(programs)


def table(rows):
    lines = []
    for row in rows:
        fails = sorted(row["fails"].items(), key=lambda reason: -number(reason[1]))
        name = row["collection"] + (f" ({row['revision']})" if row.get("revision") else "")
        lines.append((name, row["date"], row["tried"], row["tried"] - sum(number(programs) for _, programs in fails),
                      "; ".join(f"{number(programs)}: {reason}" for reason, programs in fails)))
    return pages.table(["collection", "date", "tried", "pass", "why others do not"], lines, numbers=False)


def row_of(run, collection, revision, reasons, date):
    """A row of collections.json. `run`: {program: why it does not pass, or ""}; `reasons`: {program: why, in better words}."""
    fails = {}
    for program, why in sorted(run.items()):
        if why:
            fails.setdefault(reasons.get(program, why), []).append(program)
    unknown = sorted(program for program in reasons if not run.get(program))
    if unknown:
        sys.exit(f"error: no program that fails: {', '.join(unknown)}")
    return {"collection": collection, "revision": revision, "date": date, "tried": len(run), "fails": fails}


def main(words):
    parser = argparse.ArgumentParser(prog="page.py", description="Writes the table of public programs.")
    parser.add_argument("--add", default="", metavar="RUN.json")
    parser.add_argument("--collection", default="")
    parser.add_argument("--revision", default="")
    parser.add_argument("reasons", nargs="*", metavar="PROGRAM=REASON")
    options = parser.parse_args(words)
    with open(RESULTS) as file:
        rows = json.load(file)
    if options.add:
        with open(options.add) as file:
            run = json.load(file)
        row = row_of(run, options.collection, options.revision, dict(r.split("=", 1) for r in options.reasons), str(datetime.date.today()))
        known = [k for k, r in enumerate(rows) if r["collection"] == options.collection]
        rows[known[0] if known else len(rows):(known[0] + 1 if known else None)] = [row]
        with open(RESULTS, "w") as file:
            file.write("[\n" + ",\n".join(" " + json.dumps(r) for r in rows) + "\n]\n")
    pages.replace(PAGE, "public programs", table(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
