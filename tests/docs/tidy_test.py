#!/usr/bin/env python3
"""Tests which files .ci/tidy.py chooses by --since, on a small repository."""
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".ci"))
import tidy

FILES = {"a.h": "int a;\n", "b.h": '#include "a.h"\n', "short.cpp": '#include "b.h"\n', "long.cpp": '#include "b.h"\nint much;\n', "other.cpp": "int o;\n"}


class Since(unittest.TestCase):
    def chosen(self, *changed):
        with tempfile.TemporaryDirectory() as root:
            git = lambda *words: subprocess.run(["git", "-C", root, "-c", "user.name=t", "-c", "user.email=t@t", *words], check=True, capture_output=True)
            git("init")
            for name, text in FILES.items():
                with open(os.path.join(root, name), "w") as file:
                    file.write(text)
            git("add", ".")
            git("commit", "-m", "x")
            for name in changed:
                with open(os.path.join(root, name), "a") as file:
                    file.write("int more;\n")
            tidy.ROOT = root
            tidy.contents.clear()
            tidy.includes.clear()
            found = [tidy.changed_since(revision, sorted(f for f in FILES if f.endswith(".cpp"))) for revision in ("HEAD", "nosuch")]
            self.assertIsNone(found[1])
            return found[0]

    def test_nothing_has_changed(self):
        self.assertEqual(self.chosen(), [])

    def test_a_file(self):
        self.assertEqual(self.chosen("other.cpp"), ["other.cpp"])

    def test_a_header_is_seen_through_the_shortest_file(self):
        self.assertEqual(self.chosen("a.h"), ["short.cpp"])

    def test_a_changed_file_shows_its_headers(self):
        self.assertEqual(self.chosen("a.h", "long.cpp"), ["long.cpp"])


if __name__ == "__main__":
    unittest.main()
