#!/usr/bin/env python3
"""Tests design_test.py and prose_test.py on small trees: each check finds its mistake, and a tree without mistakes passes."""
import os
import subprocess
import sys
import tempfile
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
TABLE = "| room | holds | may include |\n|---|---|---|\n| `base` | b | |\n| `base/abi` | a | |\n| `upper` | u | `base` |\n| `tests` | t | everything |\n"
GOOD = {"README.md": "x\n", "CONTRIBUTING.md": "x\n", "CHANGELOG.md": "x\n", "SECURITY.md": "x\n", "report/README.md": "x\n",
        "docs/internals/design.md": TABLE, "base/b.h": "int b;\n", "base/abi.h": "int a;\n", "upper/u.cpp": '#include "base/b.h"\n',
        "tests/t.cpp": '#include "upper/u.h"\n', "upper/u.h": "int u;\n"}


def run(script="design_test.py", **changes):
    """What the script prints for the good tree with some files changed (`/` is written `__`, `.` is written `_DOT_`)."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in {**GOOD, **{k.replace("__", "/").replace("_DOT_", "."): v for k, v in changes.items()}}.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w") as file:
                file.write(text)
        done = subprocess.run([sys.executable, os.path.join(FOLDER, script), root], capture_output=True, text=True)
        lines = [line for line in done.stdout.splitlines() if not line.startswith("note: ")]
        return done.returncode, lines[:-1]


class Checks(unittest.TestCase):
    def finds(self, message, script="design_test.py", **changes):
        code, lines = run(script, **changes)
        self.assertEqual(code, 1)
        self.assertTrue(any(message in line for line in lines), lines)

    def test_a_good_tree(self):
        self.assertEqual(run(), (0, []))

    def test_a_forbidden_arrow(self):
        self.finds("forbids: ('base/b.h', 'upper/u.h')", base__b_DOT_h='#include "upper/u.h"\n')

    def test_a_room_of_files_within_a_folder(self):
        self.finds("forbids: ('base/b.h', 'base/abi.h')", base__b_DOT_h='#include "base/abi.h"\n')
        self.assertEqual(run(base__abi_DOT_cpp='#include "base/abi.h"\n')[0], 0)

    def test_a_circle_of_folders(self):
        self.finds("circle: ('base', 'upper')", base__b_DOT_h='#include "upper/u.h"\n')

    def test_an_arrow_of_the_table_that_points_down(self):
        self.finds("not an earlier row", docs__internals__design_DOT_md=TABLE.replace("| b | |", "| b | `upper` |"))

    def test_a_folder_without_a_room(self):
        self.finds("other is in no room", other__o_DOT_cpp="int o;\n")

    def test_a_long_file(self):
        self.finds("base/long.cpp has 401 lines, more than 400", base__long_DOT_cpp="//\n" * 401)
        self.assertEqual(run(base__table_DOT_def="//\n" * 401)[0], 0)

    def test_words_and_lines(self):
        self.finds("more than 20000", docs__words_DOT_md="word " * 20000)
        self.finds("README.md has 71 lines", README_DOT_md="x\n" * 71)
        self.finds("more than 150", docs__results__page_DOT_md="x\n" * 151)

    def test_links_and_paths(self):
        self.finds("docs/a.md: there is no gone.md", docs__a_DOT_md="[a](gone.md)\n")
        self.finds("docs/a.md: there is no base/gone.h", docs__a_DOT_md="`base/gone.h`\n")
        self.assertEqual(run(docs__a_DOT_md="[a](internals/design.md#x) `base/b.h` `base/b`\n")[0], 0)

    def test_no_table(self):
        self.finds("has no table", docs__internals__design_DOT_md="x\n")

    def test_prose(self):
        self.assertEqual(run("prose_test.py"), (0, []))
        self.finds("base/b.h:2: the comment opens without its subject", "prose_test.py", base__b_DOT_h="int b;\n// What is left.\n")
        self.finds("base/b.h:1: history", "prose_test.py", base__b_DOT_h="// The sum\n// was once an int.\n")
        self.finds("docs/a.md:1: history, or a wish of code: 'wants'", "prose_test.py", docs__a_DOT_md="A lane wants it.\n")
        self.finds("README.md:1: a date", "prose_test.py", README_DOT_md="Measured on 2026-01-01.\n")
        self.assertEqual(run("prose_test.py", docs__results__a_DOT_md="2026-01-01\n", base__b_DOT_h="// The sum.\n")[0], 0)


if __name__ == "__main__":
    unittest.main()
