#!/usr/bin/env python3
"""Tests what turns measurements of time into files and pages: gpu/times.py, limits.py, time_judge.py, time_page.py. No GPU: a
CSV as ncu writes it, and a script that stands in for `coalesce`."""
import contextlib
import io
import json
import math
import os
import pathlib
import re
import stat
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "gpu"))
import limits
import time_judge as judge
import time_measure
import time_page
import times

COLUMNS = {"us": "gpu__time_duration.sum", "read": "dram__bytes_read.sum", "written": "dram__bytes_write.sum", "registers": "launch__registers_per_thread",
           "static": "launch__shared_mem_per_block_static", "dynamic": "launch__shared_mem_per_block_dynamic", "sm": times.COMPUTE, "memory": times.MEMORY,
           "dram": times.SHARES["dram"], "l2": times.SHARES["l2"]}


def ncu(*rows):
    """A log of ncu: rows are (kernel, grid, dictionary of COLUMNS' keys)."""
    out = io.StringIO()
    out.write('==PROF== Connected to process 7\n')
    titles = ["ID", "Kernel Name", "Grid Size", "Block Size", *COLUMNS.values()]
    out.write(",".join(f'"{t}"' for t in titles) + "\n" + ",".join('""' for _ in titles) + "\n")
    for i, (kernel, grid, values) in enumerate(rows):
        cells = [str(i), kernel, f"({grid}, 1, 1)", "(256, 1, 1)", *(values.get(k, "0") for k in COLUMNS)]
        out.write(",".join(f'"{c}"' for c in cells) + "\n")
    return times.measured_rows(out.getvalue())


def counted(*kernels):
    return [{"kernel": k, "grid": [g, 1, 1], "block": [256, 1, 1]} for k, g in kernels]


class FromNcu(unittest.TestCase):
    def test_the_nth_measured_is_the_nth_of_that_kernel_and_shape(self):
        rows = ncu(("void f<(int)2, (bool)1>(int *)", 4, {"us": "1,000"}), ("g(float)", 4, {"us": "2000"}), ("void f<(int)2, (bool)1>(int *)", 4, {"us": "3000"}))
        launches = counted(("g(float)", 8), ("void n::f<2, true>(int*)", 4), ("g(float)", 4), ("void n::f<3, true>(int*)", 4), ("void n::f<2, true>(int*)", 4))
        self.assertEqual([(float(r["gpu__time_duration.sum"].replace(",", "")), i) for r, i in times.joined(rows, launches)], [(1000, 1), (2000, 2), (3000, 4)])

    def test_what_the_machine_did_not_launch_is_left_out(self):
        self.assertEqual(list(times.joined(ncu(("f()", 4, {"us": "1"}), ("f()", 4, {"us": "1"})), counted(("f()", 4), ("f()", 5))))[1:], [])

    def test_figures_of_a_launch(self):
        row, = times.launches_of("lab-reduce.n_9", ["--n", "9"], ncu(("f(int *)", 4, {
            "us": "12,500", "read": "1,024", "written": "64", "registers": "20", "static": "1,000", "dynamic": "24", "sm": "10.5", "memory": "75.2", "dram": "75.2"})), counted(("f(int*)", 4)))
        self.assertEqual({k: row[k] for k in ("program", "arguments", "launch", "us", "dram_read_bytes", "dram_write_bytes", "registers", "shared", "bound_by")},
                         {"program": "lab/reduce", "arguments": ["--n", "9"], "launch": 0, "us": 12.5, "dram_read_bytes": 1024, "dram_write_bytes": 64,
                          "registers": 20, "shared": 1024, "bound_by": "dram"})

    def test_bound_by_is_latency_where_no_unit_is_busy(self):
        for values, expected in (({"sm": "59.9", "memory": "12", "dram": "12"}, "latency"), ({"sm": "60", "memory": "12", "dram": "12"}, "issue"),
                                 ({"memory": "90", "dram": "10", "l2": "90"}, "l2"), ({"sm": "60", "memory": "70", "dram": "20", "l2": "40"}, "shared"),
                                 ({"memory": "69.3", "dram": "69.8", "l2": "30"}, "dram")):
            self.assertEqual(times.bound(ncu(("f()", 1, {"us": "1", **values}))[0]), expected)

    def test_memory_is_not_bound_by_a_unit_that_is_busier_than_memory_is(self):
        self.assertEqual(times.bound(ncu(("f()", 1, {"us": "1", "sm": "22", "memory": "63.8", "dram": "63.8", "l2": "69.5"}))[0]), "dram")

    def test_bound_by_is_unknown_without_shares(self):
        self.assertIsNone(times.bound({**ncu(("f()", 1, {"us": "1"}))[0], times.SHARES["l2"]: ""}))

    def test_a_log_without_launches(self):
        self.assertEqual(times.measured_rows("==ERROR== no\n"), [])

    def test_what_is_not_reported_is_to_fit_on(self):
        self.assertEqual([times.set_of(p, ["hec/ne"]) for p in ("lab/matmul", "hec/merge", "hec/ne")], ["fit", "fit", "report"])

    def test_the_seed_alone_chooses(self):
        names = [f"hec/{k}" for k in range(64)]
        self.assertEqual(times.chosen_by("s", names), times.chosen_by("s", names[::-1]))
        self.assertNotEqual(times.chosen_by("s", names), times.chosen_by("t", names))
        few = times.chosen_by("s", names)[:9]
        self.assertEqual(times.chosen_by("s", few), few)


class Truth(unittest.TestCase):
    """The file of this repository."""

    def setUp(self):
        with open(os.path.join(ROOT, "tests/truth/times.json")) as file:
            self.truth = json.load(file)

    def test_sets_follow_from_the_reported_programs(self):
        self.assertEqual(self.truth["schema"], times.SCHEMA)
        reported = self.truth["reported"]
        self.assertEqual(times.chosen_by(self.truth["seed"], reported), reported)
        self.assertEqual(set(reported) - {launch["program"] for launch in self.truth["launches"]}, set())
        for launch in self.truth["launches"]:
            self.assertEqual(launch["set"], times.set_of(launch["program"], reported), launch["program"])

    def test_each_launch_has_a_time_and_stands_once(self):
        names = [time_page.name_of(launch) for launch in self.truth["launches"]]
        self.assertEqual(len(names), len(set(names)))
        self.assertTrue(all(launch["us"] > 1 for launch in self.truth["launches"]))  # no launch takes less than an empty one


STANDS_IN = """#!/usr/bin/env python3
import json, os, sys
name, words = os.path.basename(sys.argv[0]), sys.argv[1:]
if name == "nvidia-smi":
    print("NVIDIA Test, 1.2")
elif name == "ncu":
    open(words[words.index("--log-file") + 1], "w").write(open(os.environ["TEST_CSV"]).read())
else:
    open(words[words.index("--json") + 1], "w").write(json.dumps({"launches": [{"kernel": "f(int*)", "grid": [4, 1, 1], "block": [256, 1, 1]}]}))
"""


class Measure(unittest.TestCase):
    """The script of `./dev gpu --time`, with scripts that stand in for nvidia-smi, ncu and coalesce."""

    def measured(self, *programs):
        with tempfile.TemporaryDirectory() as where:
            for name in ("nvidia-smi", "ncu", "coalesce", *programs):
                path = pathlib.Path(where, name)
                path.write_text(STANDS_IN)
                path.chmod(path.stat().st_mode | stat.S_IXUSR)
            titles = ["ID", "Kernel Name", "Grid Size", "Block Size", *COLUMNS.values()]
            cells = ["0", "f(int *)", "(4, 1, 1)", "(256, 1, 1)", *({"us": "1500", "dram": "70", "memory": "70"}.get(k, "0") for k in COLUMNS)]
            pathlib.Path(where, "log.csv").write_text("\n".join(",".join(f'"{c}"' for c in row) for row in (titles, ["" for _ in titles], cells)) + "\n")
            truth = pathlib.Path(where, "times.json")
            truth.write_text(json.dumps({"seed": "s", "reported": ["hec/ne"], "sources": "s", "launches": [{"program": "hec/ne", "arguments": ["1"]}, {"program": "hec/gone", "arguments": []}]}))
            environment = {**os.environ, "PATH": where + ":" + os.environ["PATH"], "TEST_CSV": os.path.join(where, "log.csv")}
            done = subprocess.run([sys.executable, time_measure.__file__, "--programs", where, "--coalesce", os.path.join(where, "coalesce"), "--truth", str(truth),
                                   "--no-estimates"], env=environment, capture_output=True, text=True)
            return done, json.loads(truth.read_text())

    def test_a_program_is_measured_and_one_that_is_missing_is_named(self):
        done, truth = self.measured("hec-ne")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("hec/gone : not in the folder", done.stderr)
        self.assertEqual((truth["device"], truth["driver"], truth["sources"]), ("NVIDIA Test", "1.2", "s"))
        launch, = truth["launches"]
        self.assertEqual([launch[k] for k in ("program", "arguments", "launch", "us", "set", "bound_by")], ["hec/ne", ["1"], 0, 1.5, "report", "dram"])

    def test_nothing_measured_leaves_the_file(self):
        done, truth = self.measured()
        self.assertIn("nothing was measured", done.stderr)
        self.assertEqual((done.returncode, len(truth["launches"])), (1, 2))


class Limits(unittest.TestCase):
    def test_limits_follow_from_figures(self):
        figures = {"device/clock": 2e9, "barrier/32": 15.0, "barrier/1024": 77.0, "requests/shared_store/step1": 2.0, "launch/empty/131072x256": 1e-4,
                   "launch/empty/1048576x256": 1e-4 + 917504e-9, "bandwidth/dram_read/a": 1e12, "bandwidth/dram_read/b": 3e12}
        with contextlib.redirect_stderr(io.StringIO()) as said:
            found = limits.limits_of(figures)
        self.assertEqual(found, {"clock_ghz": 2.0, "barrier_cycles": 15.0, "barrier_warp_cycles": 2.0, "lsu": 0.5, "dispatch_cycles": 2.0,
                                 "dram_read_gbs": 3000.0})
        self.assertIn("warning: fp32 was not measured", said.getvalue())

    def test_what_a_run_printed_is_read_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "limits.json")
            path.write_text(json.dumps({"schema": "coalesce.limits/1", "device": "one", "date": "2026-01-02", "figures": {"device/clock": 2e9}}))
            self.assertEqual(limits.earlier(path)["figures"], {"device/clock": 2e9})
            for text in ('{"name": "device/clock", "value": 2e9}', '{"a": 1}\n{"b": 2}', ""):
                path.write_text(text)
                with self.assertRaises(SystemExit) as refused:
                    limits.earlier(path)
                self.assertIn(str(path), str(refused.exception))

    def test_limits_are_the_models(self):
        rows = re.findall(r'X\((\w+), "([^"]+)"', pathlib.Path(ROOT, "machine/time/limits.h").read_text())
        self.assertGreater(len(rows), 30)
        for name, (unit, _) in limits.LIMITS.items():
            self.assertEqual(dict(rows).get(name), unit, name)

    def test_every_figure_is_one_that_a_program_prints(self):
        """Names are put together from strings, so that only their beginning is in the text."""
        text = "".join(p.read_text() for p in pathlib.Path(ROOT, "gpu/limits").iterdir())

        class Names(dict):
            def __missing__(self, name):
                asked.append(name)
                return 1.0

        asked = []
        for _, of in limits.LIMITS.values():
            with contextlib.suppress(ValueError, ZeroDivisionError):
                of(Names())
        self.assertGreater(len(asked), 30)
        for name in asked:
            for part in name.split("/")[:2]:
                self.assertTrue(part in text or part.isdigit(), name)


def launch(us, kernel="k", program="p", which="report", bound="dram", read=2**22, arguments=(), index=0):
    return {"program": program, "arguments": list(arguments), "launch": index, "kernel": kernel, "us": us, "set": which, "bound_by": bound,
            "dram_read_bytes": read, "dram_write_bytes": 0, "registers": 32, "occupancy": .9, "grid": [1, 1, 1], "block": [32, 1, 1]}


def estimate(us, bound="dram", read=2**22, **more):
    return {"us": us, "bound_by": bound, "dram_read_bytes": read, "dram_write_bytes": 0, "registers": 32, "occupancy": .9, "roofline_us": us / 2, **more}


class Keep(unittest.TestCase):
    def test_only_what_took_too_long_keeps_its_earlier_estimate(self):
        found = {("a", 0): {"none": "took too long"}, ("b", 0): {"none": "it prints"}, ("c", 0): estimate(3), ("d", 0): {"none": "took too long"}}
        saved = {"where": {"commit": "older"}, "estimates": [[["a", 0], estimate(1)], [["b", 0], estimate(1)], [["c", 0], estimate(1)], [["d", 0], {"none": "it prints"}]]}
        self.assertEqual(time_page.keep(found, saved), {"commit": "older", "launches": 1})
        self.assertEqual([e.get("us") for e in found.values()], [1, None, 3, None])
        self.assertIsNone(time_page.keep({("c", 0): estimate(3)}, saved))


class Judge(unittest.TestCase):
    def test_quantiles_and_factors(self):
        self.assertEqual([judge.quantile([1, 2, 3, 4], q) for q in (.25, .5, .51, .9)], [1, 2, 3, 4])
        self.assertEqual((judge.factor(2, 3), judge.factor(3, 2), judge.factor(0, 1)), (1.5, 1.5, math.inf))

    def test_rank_correlation(self):
        self.assertAlmostEqual(judge.spearman([1, 2, 3, 4], [10, 20, 30, 40]), 1)
        self.assertAlmostEqual(judge.spearman([1, 2, 3, 4], [4, 3, 2, 1]), -1)
        # 1 - 6 sum d^2 / (n (n^2 - 1)) where no values are equal: d = 0, 1, 1, 0
        self.assertAlmostEqual(judge.spearman([1, 2, 3, 4], [1, 3, 2, 4]), 1 - 6 * 2 / (4 * 15))
        self.assertEqual(judge.ranks([5, 1, 5]), [2.5, 1, 2.5])
        self.assertTrue(math.isnan(judge.spearman([1, 1], [1, 2])))

    def test_bound_by_knows_what_nsight_has_no_word_for(self):
        self.assertTrue(judge.same_bound(launch(1, bound="latency"), estimate(1, "atomics")))
        self.assertFalse(judge.same_bound(launch(1, bound="dram"), estimate(1, "launch")))
        self.assertIsNone(judge.same_bound(launch(1, bound=None), estimate(1)))

    def test_ladders_count_only_rungs_that_differ(self):
        rows = [(launch(us, k, "lab/x", arguments=["--n", n]), estimate(e)) for n, k, us, e in
                (("1", "a", 10, 10), ("1", "b", 11, 5), ("1", "c", 20, 30), ("2", "a", 10, 9), ("2", "c", 20, 8))]
        self.assertEqual(judge.ladders(rows), (2, 3))  # a-c and b-c of n 1 are right; a-c of n 2 is not; a-b differ too little

    def test_aims(self):
        good = [(launch(us, program=f"p{us}"), estimate(us * 1.1)) for us in range(6, 26)]
        obtained = {what: (value, met) for what, _, value, met in judge.judged(good)}
        self.assertEqual(obtained["median factor"], ("1.10", True))
        self.assertEqual(obtained["within a factor of 1.5"], ("100 %", True))
        bad = good + [(launch(100, program=f"q{k}"), estimate(10, "l2", 2**23)) for k in range(5)]
        obtained = {what: (value, met) for what, _, value, met in judge.judged(bad)}
        self.assertEqual([obtained[k] for k in ("within a factor of 1.5", "DRAM bytes within 10 %", "bound by the same")], [("80 %", False)] * 3)
        self.assertEqual(obtained["the same, of 1 MiB and more"], ("80 %", False))
        few = [(launch(10, read=2**19, program="f"), estimate(10, read=1))]
        self.assertEqual(dict((what, value) for what, _, value, _ in judge.judged(few))["the same, of 1 MiB and more"], "")
        fitted = [({**m, "set": "fit"}, e) for m, e in bad]
        self.assertEqual(judge.judged(good + fitted)[:4], judge.judged(good)[:4])  # the fitted set does not count

    def test_causes(self):
        self.assertIn("caches", judge.cause(launch(10), estimate(30, read=2**24)))
        self.assertIn("occupancy", judge.cause(launch(10), estimate(30, registers=128, occupancy=.2)))
        self.assertEqual(judge.cause(launch(10, bound="latency"), estimate(4)), "bound by latency, taken for dram")
        self.assertEqual(judge.cause(launch(10), estimate(4)), "dram underestimated")
        self.assertEqual(judge.cause(launch(10), estimate(4, waits={"l1": .2, "barrier": .7})), "dram underestimated: barriers")
        self.assertEqual(judge.cause(launch(10), estimate(4, waits={"l1": .05, "barrier": 0})), "dram underestimated")

    def test_another_launch_or_binary_is_not_the_one_that_was_measured(self):
        measured = {"grid": [4, 1, 1], "block": [256, 1, 1], "registers": 32}
        same = {"grid": [4, 1, 1], "block": [256, 1, 1], "time": {"registers": 32, "registers_from": "ptxas"}}
        self.assertTrue(judge.same_launch(measured, same))
        self.assertFalse(judge.same_launch(measured, {**same, "grid": [8, 1, 1]}))
        self.assertFalse(judge.same_launch(measured, {**same, "time": {"registers": 36, "registers_from": "ptxas"}}))
        self.assertTrue(judge.same_launch(measured, {**same, "time": {"registers": 36, "registers_from": "liveness"}}))
        self.assertTrue(judge.same_launch({**measured, "registers": 16}, {**same, "time": {"registers": 9, "registers_from": "ptxas"}}))


STAND_IN = """#!/usr/bin/env python3
import json, sys
words = sys.argv[1:]
assert words[:3] == ["run", "-q", "--time"], words
out = words[words.index("--json") + 1]
if "broken" in words[-1]:
    sys.exit("error: broken")
times = [{"us": 9.0, "bound_by": "dram", "dram_read_bytes": 4194304, "dram_write_bytes": 0, "registers": 30, "registers_from": "liveness", "occupancy": 0.9,
          "roofline_us": 5.0}, {"none": "spins on other blocks"}]
json.dump({"launches": [{"time": t} for t in times]}, open(out, "w"))
"""


class Page(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.coalesce = os.path.join(self.folder, "coalesce")
        with open(self.coalesce, "w") as out:
            out.write(STAND_IN)
        os.chmod(self.coalesce, os.stat(self.coalesce).st_mode | stat.S_IXUSR)
        for name in ("hec-a", "hec-broken"):
            pathlib.Path(self.folder, name).touch()
        truth = {"schema": times.SCHEMA, "device": "G", "driver": "1", "date": "2026-01-01", "seed": "s", "reported": ["hec/a"], "how": "ncu", "launches": [
            launch(10, program="hec/a"), launch(20, program="hec/a", index=1), launch(30, program="hec/a", index=2),
            launch(40, program="hec/broken"), launch(50, program="hec/absent")]}
        with open(os.path.join(self.folder, "times.json"), "w") as out:
            json.dump(truth, out)

    def run_main(self, *words):
        before, sys.argv = sys.argv, ["time_page.py", "--docs", self.folder, "--truth", os.path.join(self.folder, "times.json"), *words]
        try:
            with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
                time_page.main()
        finally:
            sys.argv = before
        with open(os.path.join(self.folder, "time.md")) as file:
            return file.read()

    def test_estimates_and_why_there_are_none(self):
        text = self.run_main("--coalesce", self.coalesce, "--programs", self.folder)
        self.assertIn("Half of 1 reported launches of 5 us and more are estimated within a factor of 1.11", text)
        for why in ("spins on other blocks", "the run was stopped before this launch", "error: broken", "no program"):
            self.assertIn(f"| {why} | 1 |", text)
        self.assertIn("within 2, nine of ten within 2 registers", text)
        self.assertIn("| reported, 5 us and more: a program counts once | 1 | 1.11 | 1.11 | 1.11 | 100 % | 100 % |", text)
        self.assertEqual(self.run_main("--again"), text)


if __name__ == "__main__":
    unittest.main()
