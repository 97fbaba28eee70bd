#!/usr/bin/env python3
"""Checks what docs/internals/design.md says about the rooms, and how much there is to read:

- every `#include "..."` between rooms is an arrow of the table "room | holds | may include";
- an arrow of the table points to an earlier row, so the table has no circles;
- folders do not include each other in circles;
- files have at most 400 lines (tables excepted), and the median is at most 130;
- the documents have at most 20,000 words, README at most 70 lines, a page of results at most 150 lines;
- links and paths that the documents name exist.

A room is one or more paths: a folder, or the files of one stem (`machine/diagnostic` is diagnostic.h and diagnostic.cpp).
The longest path that fits a file names its room. `tests` and `bench` may include everything.

  design_test.py [ROOT]
"""
import collections
import os
import re
import statistics
import sys

ROOT = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CODE = (".h", ".cpp", ".cu", ".cuh", ".hpp", ".def", ".js", ".mjs", ".py", ".sh")
SKIPPED = {"build", "node_modules", "dist", ".git", ".gpu", ".ci", ".github", "truth"}
TABLES = (".def",)  # tables may be longer than LINES
LINES, MEDIAN, WORDS, README_LINES, RESULT_LINES = 400, 130, 20_000, 70, 150

errors = []


def sources():
    for folder, folders, files in os.walk(ROOT):
        folders[:] = sorted(f for f in folders if f not in SKIPPED and not f.startswith("build-"))
        for name in sorted(files):
            if name.endswith(CODE):
                yield os.path.relpath(os.path.join(folder, name), ROOT)


def text_of(path):
    with open(os.path.join(ROOT, path), errors="replace") as file:
        return file.read()


def rooms_of_table():
    """[(paths of a room, paths that it may include)] in the table's order."""
    rows, inside = [], False
    for line in text_of("docs/internals/design.md").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells == ["room", "holds", "may include"]:
            inside = True
        elif inside and not line.startswith("|"):
            break
        elif inside and not cells[0].startswith("---"):
            named = [[path.rstrip("/") for path in re.findall(r"`([^`]+)`", cell)] for cell in (cells[0], cells[2])]
            rows.append((named[0], ["*"] if cells[2] == "everything" else named[1]))
    return rows


def exists(path):
    """The path of a folder, of a file, or of files of that stem."""
    return any(os.path.exists(os.path.join(ROOT, path + end)) for end in ("", *CODE))


def fits(path, file):
    return file == path or file.startswith((path + "/", path + "."))


def room_of(rows, file):
    best = max(((len(path), number) for number, (paths, _) in enumerate(rows) for path in paths if fits(path, file)), default=None)
    return None if best is None else best[1]


def includes(files):
    """(file, file that it includes) of our own headers."""
    known = set(files)
    for file in files:
        if not file.endswith((".h", ".cpp", ".cu", ".cuh", ".hpp", ".def")):
            continue
        for wanted in re.findall(r'^\s*#\s*include\s*["<]([^">]+)[">]', text_of(file), re.M):
            for base in (os.path.dirname(file), "", "include", "cudart/include"):
                found = os.path.normpath(os.path.join(base, wanted))
                if found in known:
                    yield file, found
                    break


def check_table(rows):
    if not rows:
        errors.append('docs/internals/design.md has no table "room | holds | may include"')
    for number, (paths, allowed) in enumerate(rows):
        earlier = [path for row in rows[:number] for path in row[0]]
        for path in allowed:
            if path != "*" and not any(path == e or e.startswith(path + "/") for e in earlier):
                errors.append(f"docs/internals/design.md: {paths[0]} may include {path}, which is not an earlier row")
        for path in paths:
            if not exists(path):
                errors.append(f"docs/internals/design.md: there is no room {path}")


def check_arrows(rows, files, pairs):
    without = sorted({os.path.dirname(f) or f for f in files if room_of(rows, f) is None and os.path.dirname(f).split("/")[0] not in ("docs",)})
    for folder in without:
        errors.append(f"docs/internals/design.md: {folder} is in no room")
    for file, target in pairs:
        a, b = room_of(rows, file), room_of(rows, target)
        if a is None or b is None or a == b:
            continue
        allowed = rows[a][1]
        if "*" not in allowed and not any(fits(path, target) for path in allowed):
            errors.append(f"an arrow that docs/internals/design.md forbids: {(file, target)}")


def circles(edges):
    """Strongly connected groups of more than one folder, sorted."""
    def reach(start):
        seen, todo = set(), [start]
        while todo:
            for target in edges.get(todo.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
        return seen

    reached = {folder: reach(folder) for folder in edges}
    return {tuple(sorted(b for b in mine | {a} if a in reached.get(b, ()) and b in mine)) for a, mine in reached.items() if a in mine}


def check_circles(pairs):
    edges = collections.defaultdict(set)
    for file, target in pairs:
        a, b = os.path.dirname(file), os.path.dirname(target)
        if a != b and not a.startswith(("tests", "bench")):
            edges[a].add(b)
    for circle in sorted(circles(edges)):
        errors.append(f"folders include each other in a circle: {circle}")


def check_lengths(files):
    lengths = {file: text_of(file).count("\n") for file in files}
    for file, lines in lengths.items():
        if lines > LINES and not file.endswith(TABLES):
            errors.append(f"{file} has {lines} lines, more than {LINES}: split it along a seam")
    median = statistics.median(lengths.values())
    if median > MEDIAN:
        errors.append(f"the median file has {median:g} lines, more than {MEDIAN}")
    return median, max(lengths.values())


def documents():
    pages = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
    for folder, _, names in os.walk(os.path.join(ROOT, "docs")):
        pages += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names if name.endswith(".md")]
    return pages


def check_paths(rows):
    """Relative links, and paths in backticks that begin with a room: `tests/docs/design_test.py`."""
    tops = {path.split("/")[0] for paths, _ in rows for path in paths} | {"docs", ".github"}
    for page in [*documents(), "SECURITY.md", "report/README.md"]:
        text = re.sub(r"^```.*?^```", "", text_of(page), flags=re.M | re.S)
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            if not os.path.exists(os.path.join(ROOT, os.path.dirname(page), link)):
                errors.append(f"{page}: there is no {link}")
        for path in re.findall(r"`([\w.-]+/[\w./-]+)`", text):
            if path.split("/")[0] in tops and "NAME" not in path and not exists(path):
                errors.append(f"{page}: there is no {path}")


def check_words():
    pages = documents()
    # A word or a figure has a letter or a digit; the bars and rules of tables have none.
    words = sum(len([word for word in text_of(page).split() if any(map(str.isalnum, word))]) for page in pages)
    if words > WORDS:
        errors.append(f"the documents have {words} words, more than {WORDS}")
    for page in pages:
        lines = text_of(page).count("\n")
        most = README_LINES if page == "README.md" else RESULT_LINES if page.startswith("docs/results/") else None
        if most and lines > most:
            errors.append(f"{page} has {lines} lines, more than {most}")
    return words


def main():
    files, rows = list(sources()), rooms_of_table()
    pairs = list(includes(files))
    check_table(rows)
    check_arrows(rows, files, pairs)
    check_circles(pairs)
    median, longest = check_lengths(files)
    words = check_words()
    check_paths(rows)
    for error in errors:
        print(error)
    print(f"{len(files)} files, median {median:g} lines, longest {longest}; {len(pairs)} includes of our own; {words} words; {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
