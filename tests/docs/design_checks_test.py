#!/usr/bin/env python3
"""Tests design_test.py on small trees: each check finds its mistake, and a tree without mistakes passes."""
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "design_test.py")
TABLE = "| room | holds | may include |\n|---|---|---|\n| `base` | b | |\n| `base/abi` | a | |\n| `upper` | u | `base` |\n| `tests` | t | everything |\n"
GOOD = {"README.md": "x\n", "CONTRIBUTING.md": "x\n", "CHANGELOG.md": "x\n", "SECURITY.md": "x\n", "report/README.md": "x\n",
        "docs/internals/design.md": TABLE, "base/b.h": "int b;\n", "base/abi.h": "int a;\n", "upper/u.cpp": '#include "base/b.h"\n',
        "tests/t.cpp": '#include "upper/u.h"\n', "upper/u.h": "int u;\n"}


def run(**changes):
    """What the script prints for the good tree with some files changed (`/` is written `__`, `.` is written `_DOT_`)."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in {**GOOD, **{k.replace("__", "/").replace("_DOT_", "."): v for k, v in changes.items()}}.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w") as file:
                file.write(text)
        done = subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True)
        lines = [line for line in done.stdout.splitlines() if not line.startswith("note: ")]
        return done.returncode, lines[:-1]


class Checks(unittest.TestCase):
    def finds(self, message, **changes):
        code, lines = run(**changes)
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
        self.finds("more than 400 lines: base/long.cpp", base__long_DOT_cpp="//\n" * 401)
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


if __name__ == "__main__":
    unittest.main()
