#!/usr/bin/env python3
"""Checks the prose of comments and pages:

- no comment opens without its subject ("What is left ...", "Of such a vector ...");
- no comment and no page speaks of history ("it was once ...") or of wishes of code ("a warp wants ...");
- dates stand in results, in the changelog, and beside the measured tables of the pages in DATED.

  prose_test.py [ROOT]
"""
import os
import re
import sys

ROOT = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CODE = {".h": "//", ".cpp": "//", ".cu": "//", ".cuh": "//", ".hpp": "//", ".def": "//", ".js": "//", ".mjs": "//", ".py": "#", ".sh": "#"}
SKIPPED = {"build", "node_modules", "dist", ".git", ".gpu", "truth"}
HEADLESS = re.compile(r"(What|Of|Who|Whoever|Behind|By)\b")
PHRASES = re.compile(r"\b(was once|were once|formerly|used to be|any ?more|nobody asks|nobody's business|wants?|came back|agreed design)\b", re.I)
DATE = re.compile(r"\b20\d\d-\d\d-\d\d\b|\b\d{1,2} (January|February|March|April|May|June|July|August|September|October|November|December) 20\d\d\b")
DATED = {"CHANGELOG.md", "docs/check.md", "docs/exact.md"}


def files():
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(f for f in folders if f not in SKIPPED and not f.startswith("build-"))
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), ROOT)
            if os.path.splitext(name)[1] in (*CODE, ".md") and not os.path.islink(os.path.join(folder, name)):
                yield path


def comments(text, mark):
    """(number of its first line, text) of each block of lines that are only a comment."""
    block, first = [], 0
    for number, line in enumerate([*text.split("\n"), ""], 1):
        line = line.strip()
        if line.startswith(mark) and not line.startswith("#!"):
            first = first or number
            block.append(line[len(mark):].strip())
        elif block:
            yield first, " ".join(block)
            block, first = [], 0


def main():
    errors, count = [], 0
    for path in files():
        with open(os.path.join(ROOT, path), errors="replace") as file:
            text = file.read()
        if path.endswith(".md"):
            blocks = list(enumerate(text.split("\n"), 1))
        else:
            blocks = list(comments(text, CODE[os.path.splitext(path)[1]]))
            count += len(blocks)
            for number, block in blocks:
                if HEADLESS.match(block):
                    errors.append(f"{path}:{number}: the comment opens without its subject: {block[:60]}")
        for number, block in blocks:
            for found in PHRASES.finditer(block):
                errors.append(f"{path}:{number}: history, or a wish of code: '{found[0]}'")
            if DATE.search(block) and path not in DATED and not path.startswith("docs/results/"):
                errors.append(f"{path}:{number}: a date outside results and changelog: {DATE.search(block)[0]}")
    for error in errors:
        print(error)
    print(f"{count} comments; {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
