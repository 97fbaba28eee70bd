#!/usr/bin/env python3
"""Tests the pages of `./dev gpu` (gpu/results.py, agreement.py, launches.py): percentages, causes, sections, and programs that
are slow, fail, or differ. No GPU: a script stands in for `coalesce`.

  agreement_test.py [ROOT]
"""
import json
import os
import shutil
import stat
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "gpu"))
import agreement
import common
import launches
import pages
import results


def row(level="O3", kernel="k", program="p", times=1, code=None, **counters):
    """counters: name=(counted, measured[, modelled])"""
    made = {"program": program, "kernel": kernel, "level": level, "launches": times, "counters": []}
    for name, values in counters.items():
        made["counters"].append(dict(zip(("counter", "counted", "measured", "modelled"), (name, *values))))
    if code:
        made["machine_code"] = code
    return made


def cause(*rows):
    agreement.explain(list(rows))
    return rows[-1].get("cause")


class Totals(unittest.TestCase):
    def test_percentages_are_of_launches(self):
        rows = [row(times=3, global_load_requests=(8, 8, 8), shared_load_wavefronts=(4, 2, 2)),
                row(times=1, global_load_requests=(8, 9, 8), global_load_sectors=(32, 32, 32)),
                row("O0", global_load_requests=(8, 8))]
        self.assertEqual(agreement.totals(rows), {
            "O3": {"global requests and sectors": [3, 4], "shared wavefronts": [0, 3]},
            "model": {"global requests and sectors": [3, 4], "shared wavefronts": [3, 3]},
            "O0": {"global requests and sectors": [1, 1]}})

    def test_what_has_no_right_figure_does_not_count(self):
        restless = row("O0", global_load_sectors=(8, 9))
        restless["counters"][0]["measured_between"] = [7, 9]
        printing = row("O0", global_store_requests=(0, 100))
        printing["prints"] = True
        self.assertEqual(agreement.totals([restless, printing]), {})

    def test_a_launch_the_model_did_not_reach_is_not_held_against_it(self):
        self.assertNotIn("model", agreement.totals([row(global_load_requests=(8, 8))]))


class Causes(unittest.TestCase):
    def test_equal_needs_none(self):
        self.assertIsNone(cause(row(global_load_requests=(8, 8, 8))))

    def test_merged_loads(self):
        self.assertEqual(cause(row("O0", shared_load_wavefronts=(8, 8)),
                               row(shared_load_wavefronts=(8, 2, 2), code={"LDS.128": 1})),
                         "ptxas merged neighbouring shared loads into wider ones (equal at -O0, as `--model ptxas` counts)")

    def test_lanes_counted(self):
        self.assertEqual(cause(row(shared_atomic_wavefronts=(9, 4, 4), code={"ATOMS.POPC.INC": 1})),
                         "the memory counts the lanes of an addition of 1 (ATOMS.POPC.INC) (as `--model ptxas` counts)")

    def test_gathered_updates(self):
        self.assertEqual(cause(row(global_reduction_sectors=(64, 2, 3))),
                         "ptxas gathers a warp's updates of one address into one")

    def test_loads_ahead_of_their_branch_and_of_unrolled_loops(self):
        self.assertIn("branches around", cause(row(global_load_requests=(8, 9, 8), global_load_sectors=(8, 9, 8))))
        self.assertIn("unrolled", cause(row(global_load_requests=(8, 9, 8), global_load_sectors=(8, 8, 8))))

    def test_stores_to_places_that_atomics_gave(self):
        self.assertIn("which warp comes first", cause(row(global_store_sectors=(8, 9, 8), code={"ATOMG": 1})))
        self.assertIn("left out", cause(row(global_store_requests=(8, 7, 8), code={"ATOMG": 1})))

    def test_spills(self):
        self.assertEqual(cause(row("O0", local_load_requests=(0, 5))), "ptxas spills registers and keeps a stack")


class Rows(unittest.TestCase):
    def test_equal_launches_are_one_row(self):
        key = lambda launch, counter="global_load_requests": ("k", launch, counter)
        compared = {key(0): (8, 8), key(1): (8, 8), key(2): (8, 7)}
        rows = launches.rows_of("p", "O0", compared, {}, {})
        self.assertEqual([r["launches"] for r in rows], [2, 1])

    def test_the_model_and_further_measurements(self):
        key = ("k", 0, "shared_load_wavefronts")
        rows = launches.rows_of("p", "O3", {key: (8, 4)}, {("k", 0, "shared_store_wavefronts"): (1, 0)}, {key: [4, 5]})
        self.assertEqual(rows[0]["counters"], [
            {"counter": "shared_load_wavefronts", "counted": 8, "measured": 4, "modelled": 0, "measured_between": [4, 5]},
            {"counter": "shared_store_wavefronts", "counted": 0, "measured": 0, "modelled": 1}])

    def test_nothing_in_common(self):
        self.assertIn("failed", launches.rows_of("p", "O3", {}, {}, {})[0])


class Lab(unittest.TestCase):
    def test_a_rung_is_all_launches_of_its_kernel(self):
        def launch(kernel, requests):
            return {"kernel": kernel, "counters": {"global_load_requests": requests}}

        export = {"launches": [launch("void (anonymous namespace)::shift<1>(float*)", 4), launch("void shift<2>(float*)", 8),
                               launch("sum<int>((anonymous namespace)::Box)", 1), launch("void own::sum<own::of<float> >(own::of<float>)", 2),
                               launch("helper(int)", 16)]}
        measured = launches.measured_in_run(export, ["shift<1>", "shift<2>", "sum"])
        self.assertEqual({k: v["global_load_requests"] for k, v in measured.items() if k},
                         {"shift<1>": 4, "shift<2>": 8, "sum": 3})
        counted = {"name": "shifts", "rungs": [{"name": "shift<1>", "launches": 1, "counters": {"global_load_requests": 5}},
                                               {"name": "absent", "launches": 1, "counters": {"global_load_requests": 5}}]}
        self.assertEqual(list(launches.rows_of_lab(counted, measured, "O0")), [
            {"program": "lab/shifts", "kernel": "shift<1>", "level": "O0", "launches": 1,
             "counters": [{"counter": "global_load_requests", "counted": 5, "measured": 4}]}])


# Stands for `coalesce`: an export is {kernel: sectors}. What the GPU measures of `restless` depends on how often it was
# asked; `slow` never ends by itself, but writes what it has when asked to.
STAND_IN = '''#!/usr/bin/env python3
import json, os, signal, sys, time
words = sys.argv[1:]
if words[0] == "compare":
    a, b = (json.loads(open(f).read()) for f in words[-2:])
    print(json.dumps({"counters": [{"kernel": k, "launch": 0, "counter": "global_load_sectors", "counted": a[k],
                                    "measured": b[k]} for k in a if k in b]}))
    sys.exit()
program, file = os.path.basename(words[-1]).rsplit(".")[0], words[words.index("--json") + 1]
gpu = "gpu" in words
with open(os.path.join(os.path.dirname(words[-1]), "log"), "a") as log:
    log.write(program + (" gpu\\n" if gpu else " machine\\n"))
with open(log.name) as log:
    runs = log.read().split("\\n").count(program + " gpu")
def export(figures):
    with open(file, "w") as out:
        json.dump(figures, out)
if program == "broken":
    sys.exit("error: it is broken")
if program == "slow" and not gpu:
    def end(*_):
        export({"first": 8})
        os._exit(130)
    signal.signal(signal.SIGTERM, end)
    time.sleep(60)
export({"first": 8, "second": 8 + gpu * {"other": 1, "restless": runs}.get(program, 0)})
'''


class Comparing(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.tool = os.path.join(self.folder.name, "coalesce")
        with open(self.tool, "w") as out:
            out.write(STAND_IN)
        os.chmod(self.tool, stat.S_IRWXU)

    def tearDown(self):
        self.folder.cleanup()

    def compare(self, *names, until=None):
        paths = [os.path.join(self.folder.name, name + ".O0") for name in names]
        programs = launches.Programs(self.tool, self.folder.name, 2, until or time.monotonic() + 60)
        return {os.path.basename(path)[:-3]: rows for path, rows, _ in programs.all(paths)}

    def runs_on_gpu(self, name):
        with open(os.path.join(self.folder.name, "log")) as log:
            return log.read().split("\n").count(name + " gpu")

    def test_programs(self):
        rows = self.compare("same", "other", "restless", "broken")
        self.assertTrue(all(agreement.agrees(c) for r in rows["same"] for c in r["counters"]))
        self.assertEqual(self.runs_on_gpu("same"), 1)
        # A program that differs is measured again, because hardware may differ from itself.
        self.assertEqual(self.runs_on_gpu("other"), 1 + launches.AGAIN)
        self.assertFalse(any(map(agreement.unsettled, rows["other"])))
        self.assertEqual([agreement.unsettled(r) for r in rows["restless"]], [False, True])
        self.assertEqual(rows["restless"][1]["counters"][0]["measured_between"], [9, 9 + launches.AGAIN])
        self.assertEqual(rows["broken"][0]["failed"], "gpu: error: it is broken")

    def test_what_a_run_had_when_it_was_stopped(self):
        seconds = launches.SECONDS
        launches.SECONDS = dict.fromkeys(seconds, 3)  # enough to start on a busy computer
        try:
            self.assertEqual([r["kernel"] for r in self.compare("slow")["slow"]], ["first"])
        finally:
            launches.SECONDS = seconds

    def test_too_late(self):
        self.assertIn("not begun", self.compare("same", until=time.monotonic() - 1)["same"][0]["failed"])


class Pages(unittest.TestCase):
    def test_the_pages_in_the_repository_are_what_their_figures_give(self):
        kept = os.path.join(ROOT, "docs", "results")
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(os.path.join(kept, "agreement.md"), folder)  # only its part between markers is generated
            with open(os.path.join(kept, "agreement.json")) as file:
                saved = json.load(file)
            agreement.write(saved["rows"], saved["failed"], saved["measured"], folder)
            with open(os.path.join(kept, "h200.json")) as file:
                saved = json.load(file)
            results.write_results(saved["lab"], saved["measured"], folder, "h200")
            made = os.listdir(folder)
            self.assertLessEqual({"agreement.md", "agreement.json", "agreement.svg", "h200.md", "h200.json"}, set(made))
            for name in made:
                with open(os.path.join(kept, name)) as expected, open(os.path.join(folder, name)) as file:
                    self.assertEqual(expected.read(), file.read(), f"{name}: `gpu/results.py --again` makes it anew")

    def test_sections(self):
        restless = row(kernel="tickets", global_store_sectors=(8, 9, 8))
        restless["counters"][0]["measured_between"] = [7, 9]
        printing = row(kernel="says", global_store_requests=(0, 100, 0))
        printing["prints"] = True
        rows = [row(kernel="tiled", shared_load_wavefronts=(8, 2, 4), code={"LDS.128": 1}), restless, printing]
        with tempfile.TemporaryDirectory() as folder:
            where = {"gpu": "G", "cuda": "13.0", "date": "2026-01-01", "command": "c"}
            agreement.write(rows, [{"program": "q", "level": "O3", "failed": "it\nfell"}], where, folder)
            with open(os.path.join(folder, "agreement.md")) as page:
                text = page.read()
        titles = [line for line in text.splitlines() if line.startswith("## ")]
        self.assertEqual(titles, ["## What differs, and why", "## Where `--model ptxas` is wrong", "## Not compared"])
        self.assertIn("0 of 1 (0.00 %)", text)
        self.assertIn("q at -O3: it fell.", text)
        self.assertIn("measurements: p `tickets`", text)
        self.assertIn("allocate:** p `says`", text)
        self.assertIn("| O3 | 1 | p `tiled` |", text)

    def test_claims_that_do_not_hold_are_listed(self):
        def claim(verdict, **more):
            return {"text": verdict, "document": "d", "figure": 2, "unit": "us", "value": 3, "measured": True, "verdict": verdict,
                    "reason": "", **more}

        experiment = {"name": "e", "rungs": [], "claims": [claim("holds"), claim("does not hold"), claim("cannot be judged here", reason="why", value=None)]}
        self.assertEqual(results.failing_claims([experiment]),
                         [["e", "does not hold", "2 us", "3 (measured)", "does not hold"],
                          ["e", "cannot be judged here", "2 us", "", "cannot be judged here: why"]])


class Markers(unittest.TestCase):
    def test_only_what_is_between_them_changes(self):
        with tempfile.NamedTemporaryFile("w+") as page:
            page.write("a\n<!-- begin: x -->\nold\n<!-- end -->\nb\n<!-- begin: y -->\nkept\n<!-- end -->\n")
            page.flush()
            pages.replace(page.name, "x", "new\n")
            self.assertEqual(page.seek(0) or page.read(), "a\n<!-- begin: x -->\nnew\n<!-- end -->\nb\n<!-- begin: y -->\nkept\n<!-- end -->\n")
            with self.assertRaises(SystemExit):
                pages.replace(page.name, "z", "new")


class Common(unittest.TestCase):
    def test_columns_that_nothing_is_in_are_left_out(self):
        self.assertEqual(pages.table(["a", "b", "c"], [["x", "", 1]]), "| a | c |\n|---|---:|\n| x | 1 |\n")

    def test_what_is_no_program(self):
        done = common.run([os.path.join(ROOT, "no such program")])
        self.assertEqual(done.returncode, 127)
        self.assertIn("no such program", done.stderr)


if __name__ == "__main__":
    unittest.main()
