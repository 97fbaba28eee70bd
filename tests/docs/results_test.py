#!/usr/bin/env python3
"""Tests the scripts that write docs/results/library.md and speed.md (bench/) on figures of a few lines: shares of the limits,
causes of missed aims, least and most, targets; and that no claim copies what they write. tests/gpu/agreement_test.py tests the pages of `./dev gpu`."""
import contextlib
import glob
import io
import json
import os
import re
import sys
import tempfile
import tomllib
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(ROOT, folder) for folder in ("docs", "bench", "bench/library", "bench/exact")]
import chart
import random_shapes
import speed
import table

GIB = 2**30


def cell(library, op, seconds, shape="268435456", part="flat", axes="", mode="eager", bytes=GIB, type="float"):
    return {"library": library, "part": part, "op": op, "type": type, "shape": shape, "axes": axes, "offset": 0, "mode": mode,
            "bytes": bytes, "seconds": seconds}


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def file(self, name, rows):
        path = os.path.join(self.folder, name)
        with open(path, "w") as out:
            out.write("\n".join(map(json.dumps, rows)) + "\n")
        return path

    def page(self, name, *markers):
        with open(os.path.join(self.folder, name), "w") as out:
            out.writelines(f"<!-- begin: {marker} -->\n<!-- end -->\n" for marker in markers)

    def read(self, name):
        with open(os.path.join(self.folder, name)) as file:
            return file.read()

    def run_main(self, module, *words):
        before, sys.argv = sys.argv, [module.__file__, *words]
        try:
            with contextlib.redirect_stdout(io.StringIO()) as said:
                module.main()
        finally:
            sys.argv = before
        return said.getvalue()


class Library(InFolder):
    def test_shares_of_the_limit_and_of_the_best_peer(self):
        file = self.file("f.jsonl", [{"machine": "G", "driver": "1", "date": "2026-01-01"}, cell("limit", "read", 1.0),
                                     cell("limit", "copy", 1.0), cell("coalesce", "sum", 1.25), cell("coalesce", "sum", 1.0, "268435455"),
                                     cell("cub", "sum", 2.5), cell("torch", "sum", 3.0)])
        self.page("library.md", table.MARKER)
        said = self.run_main(table, "--docs", self.folder, file)
        self.assertEqual(said, "sum float 268435456: 80% of the read limit\n")
        text = self.read("library.md")
        self.assertIn("Of 2 cells of 256 MiB and more, 1 reach 95% of the read limit.", text)
        self.assertIn("| whole arrays | sum | 2 | 80% to 100% | 2.00 | 2.00 |", text)
        self.assertIn("| 1 | sum |", text)  # the cause of the one miss
        self.assertIn("<svg", self.read("library-flat.svg"))

    def test_a_page_without_markers_is_an_error(self):
        self.page("library.md")
        with self.assertRaises(SystemExit):
            self.run_main(table, "--docs", self.folder, self.file("f.jsonl", [cell("limit", "read", 1.0), cell("coalesce", "sum", 1.0)]))


class RandomShapes(InFolder):
    def test_shares_of_the_read_beside(self):
        def row(op, shape, axes, size, seconds, library="coalesce"):
            return {"library": library, "part": "random", "op": op, "type": "float", "shape": shape, "axes": axes, "offset": 0, "bytes": size, "mode": "eager", "seconds": seconds}

        file = self.file("f.jsonl", [{"machine": "G", "driver": "1", "date": "2026-01-01"},
                                     row("read", "1024", "", 4096, 1.0, "limit beside float-sum"), row("sum", "4x256", "1", 4112, 2.0),
                                     row("read", "1028", "", 4112, 1.0, "limit beside float-sum"), row("sum", "2x512", "1", 4104, 1.0)])
        self.page("library.md", random_shapes.MARKER)
        said = self.run_main(random_shapes, "--docs", self.folder, file)
        self.assertEqual(said, "sum 4x256 over 1: 50%\n")  # beside the read of 4112 bytes
        text = self.read("library.md")
        self.assertIn("Of 2 cells, 1 reach 95%", text)  # the other beside that of 4096, whole vectors
        self.assertIn("| sum | 2 | 1 | 75% | 50% | 50% |", text)
        self.assertIn("| 4x256 over 1 | 0 | 50% | - | - |", text)
        self.assertNotIn("| 2x512", text)


class Exact(InFolder):
    def test_least_and_most_by_type(self):
        def row(part, type, case, of_plain):
            return {"part": part, "type": type, "case": case, "bytes": GIB, "plain": 200, "exact": 200 / of_plain, "of_plain": of_plain}

        file = self.file("f.jsonl", [{"machine": "G", "driver": "1", "date": "2026-01-01"},
                                     row("flat 1 GiB", "float", "normal", 0.98), row("flat 1 GiB", "float", "wide", 0.9),
                                     row("rows, 1 GiB", "half", "1 of 4", 0.7), row("rows, 1 GiB", "half", "1 of 4096", 0.96),
                                     {"part": "errors", "case": "wide", "n": 4, "sum": 2.0, "torch": 2.0, "exact": 2.0},
                                     {"part": "errors", "case": "wide", "n": 1024, "sum": 2.0, "torch": 2.5, "exact": 2.0}])
        os.makedirs(os.path.join(self.folder, "results"))
        os.makedirs(os.path.join(self.folder, "images"))
        self.page("exact.md", chart.MARKER)
        self.page("results/library.md", chart.MARKER)
        self.run_main(chart, "--docs", self.folder, file)
        text = self.read("results/library.md")
        self.assertIn("| 1 GiB, nine kinds of data | 90 % to 98 % |", text)
        self.assertIn("| rows of 4 to 256 |  | 70 % |", text)
        self.assertIn("| rows of 1024 and more |  | 96 % |", text)
        self.assertIn("| wide | 2^10 | 2.5e-01 | 0.0e+00 |", self.read("exact.md"))


class Speed(InFolder):
    def rows(self, **more):
        return {"kernel": "k", "n": 8, "times": 1, "target": 100, "faster_target": 0, "bound_by_memory": False, "faster": 4.0, "native_ratio": 1.8,
                "one_thread": {"median": 25.0}, "native": {"median": 100.0, "seconds": [1.0]}, "native_two": {"median": 180.0},
                "first_launch": {"interpreter": [1.0, 2.0, 3.0], "cold": [1.01, 2.05, 3.015]}, **more}

    def test_targets(self):
        data = {"rows": [self.rows()], "start_up": {"median": 0.2}}
        found = {what: speed.met((what, *rest)) for what, *rest in speed.targets(data, {"reduce": 1.6})}
        self.assertEqual(found, {"k": True, "k, two threads / one": False, "first launch by `auto` against interpreted, at worst (k)": True,
                                 "`coalesce run` of an empty kernel": False, "`coalesce lab reduce`": False})

    def test_a_kernel_limited_by_memory_is_held_to_a_plain_loop(self):
        row = self.rows(bound_by_memory=True, plain_seconds=[0.8], target=0)
        del row["first_launch"]
        (target,) = speed.targets({"rows": [row]}, {})
        self.assertEqual(target[0], "k, native / plain loop")
        self.assertFalse(speed.met(target))

    def test_page(self):
        file = os.path.join(self.folder, "f.json")
        with open(file, "w") as out:
            json.dump({"rows": [self.rows(one_thread={"median": 25.0, "share_of_cores": 0.5})]}, out)
        self.page("speed.md", speed.MARKER)
        self.run_main(speed, file, "--machine", "M, D", "--docs", self.folder)
        text = self.read("speed.md")
        self.assertIn("- **Measured** on M, D.", text)
        self.assertIn("| k | 8 | 25.0 | 100 | 180 | 4.00 |", text)
        self.assertIn("Of 3 targets 2 are met.", text)
        self.assertIn("| k, two threads / one | at least 1.9 | 1.80 |", text)
        self.assertIn("**Disturbed:**", text)


class Claims(unittest.TestCase):
    # Times of a GPU of ours stand where `./dev gpu` writes them. A claim quotes a document's times, with the device's name.
    TIME = re.compile(r"\d ?(ns|us|ms|s|GB/s)\b")

    def misplaced(self, file):
        for claim in file["claim"]:
            own = claim["document"] == "measured"
            if self.TIME.search(claim.get("note", "")) or (self.TIME.search(claim["text"]) and (own or "device" not in claim)):
                yield claim["text"]

    def test_no_measured_time_is_copied(self):
        files = glob.glob(os.path.join(ROOT, "lab", "*", "claims.toml"))
        self.assertGreaterEqual(len(files), 12)
        for file in files:
            with open(file, "rb") as text:
                self.assertEqual(list(self.misplaced(tomllib.load(text))), [], file)

    def test_such_a_time_is_noticed(self):
        for wrong in ({"document": "guide", "text": "a", "note": "An H200 takes 84.6 us."}, {"document": "guide", "text": "1.5 ms"},
                      {"document": "measured", "device": "H200", "text": "from 84.6 us to 33.6 us"}):
            self.assertEqual(len(list(self.misplaced({"claim": [wrong]}))), 1, wrong)


if __name__ == "__main__":
    unittest.main()
