#!/usr/bin/env python3
"""Tests programs.py: with a script in place of `coalesce`, what counts as right; with `coalesce`, the folder sample/.

  programs_test.py [COALESCE]       without it, the script alone
"""
import json
import os
import stat
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
import page
import programs

COALESCE = ""

# Does what the program (a file of Python) says: `code`, `out`, `err`, `launches`, as functions of the executor and of how
# many runs there were before.
SCRIPT = """#!/usr/bin/env python3
import json, os, sys
words = sys.argv[1:]
engine, path = words[words.index("--engine") + 1], [w for w in words if w.endswith(".cu")][0]
assert "--allow-stopped" in words
before = len(open(path + ".runs").read()) if os.path.exists(path + ".runs") else 0
open(path + ".runs", "a").write("x")
told = {"code": 0, "out": "", "err": "", "launches": []}
exec(open(path).read().split("*/", 1)[1], {"engine": engine, "before": before, "told": told, "words": words})
with open(words[words.index("--json") + 1], "w") as file:
    json.dump({"launches": told["launches"]}, file)
sys.stdout.write(told["out"]), sys.stderr.write(told["err"])
sys.exit(told["code"])
"""


def launch(fault=None, **counters):
    made = {"kernel": "k", "counters": counters}
    return {**made, "fault": fault} if fault else made


class Folder(unittest.TestCase):
    def verdicts(self, coalesce=None, compiler="auto", **sources):
        """{program: (passes, why not)} of a folder with these sources, as the page says it."""
        with tempfile.TemporaryDirectory() as place:
            script = os.path.join(place, "coalesce")
            with open(script, "w") as file:
                file.write(SCRIPT)
            os.chmod(script, stat.S_IRWXU)
            folder, page = os.path.join(place, "folder"), os.path.join(place, "page.md")
            os.mkdir(folder)
            for name, text in sources.items():
                with open(os.path.join(folder, name + ".cu"), "w") as file:
                    file.write("/*\nint main() {}\n*/ " + text if "main" in text else "int main() {} /* */\n" + text)
            before = sorted(os.listdir(folder))
            self.code = programs.main([folder, "--coalesce", script, "--page", page, "--seconds", "20", "--plain-seconds", "3"])
            self.assertEqual(sorted(os.listdir(folder)), before, "works on a copy")
            with open(page) as file:
                self.text = file.read()
        return {cells[1]: (cells[2], cells[3]) for cells in ([c.strip() for c in line.split("|")] for line in self.text.splitlines()) if len(cells) == 5 and cells[1] not in ("program", "---")}

    def one(self, text):
        (verdict,) = self.verdicts(p=text).values()
        return verdict

    def test_equal_runs_pass(self):
        self.assertEqual(self.one(f"told['launches'] = [{launch(loads=3)}]"), ("yes", ""))
        self.assertEqual(self.code, 0)
        self.assertIn("1 of 1 pass", self.text)

    def test_its_own_exit_code_counts(self):
        passes, why = self.one("told['code'] = 3")
        self.assertEqual((passes, why), ("no", "exit code 3"))
        self.assertEqual(self.code, 1)

    def test_what_it_says_counts(self):
        self.assertEqual(self.one("told['out'] = 'Result = FAIL\\n'")[0], "no")
        self.assertEqual(self.one("told['out'] = 'no failures\\n'")[0], "yes")

    def test_its_own_assertions_are_its_affair_but_no_other_fault(self):
        self.assertEqual(self.one(f"told['launches'] = [{launch('assertion')}]")[0], "yes")
        self.assertEqual(self.one(f"told['launches'] = [{launch('trap')}]")[0], "yes")
        passes, why = self.one(f"told['launches'] = [{launch('illegal_address')}]; told['err'] = 'a.cu:1: error: load outside'")
        self.assertEqual((passes, why), ("no", "kernel k: illegal address: load outside"))

    def test_another_exit_code_output_counter_or_fault_of_the_plain_executor(self):
        self.assertIn("by the plain executor 1", self.one("told['code'] = engine == 'plain'")[1])
        self.assertIn("by the plain executor: 2", self.one("told['out'] = '2' if engine == 'plain' else '1'")[1])
        self.assertIn("prints more", self.one("told['out'] = '1\\n2' if engine == 'plain' else '1'")[1])
        self.assertIn("loads 3, by the plain executor 4", self.one(f"told['launches'] = [{launch(loads=3)}]; told['launches'][0]['counters']['loads'] += engine == 'plain'")[1])
        self.assertIn("assertion", self.one(f"told['launches'] = [{launch('assertion')} if engine == 'plain' else {launch()}]")[1])
        self.assertIn("other launches", self.one(f"told['launches'] = [{launch()}] * (1 + (engine == 'plain'))")[1])

    def test_what_differs_by_itself_is_not_compared(self):
        self.assertEqual(self.one("told['out'] = f'right\\n{before} ms\\n'")[0], "yes")
        self.assertIn("wrong", self.one("told['out'] = f'{\"wrong\" if engine == \"plain\" else \"right\"}\\n{before} ms\\n'")[1])

    def test_who_takes_too_long_by_the_plain_executor_only_is_not_compared(self):
        self.assertEqual(self.one("import time; time.sleep(60 if engine == 'plain' else 0)")[0], "yes")

    def test_a_folder_without_programs_is_an_error(self):
        with tempfile.TemporaryDirectory() as place:
            self.assertEqual(programs.main([place, "--coalesce", sys.executable]), 2)
            self.assertEqual(programs.main([place, "--coalesce", os.path.join(place, "none")]), 3)

    def test_the_table_of_collections(self):
        run = {"a": "", "b": "no end within 60 s", "c": "no end within 60 s", "d": "exit code 1"}
        row = page.row_of(run, "some", "abc", {"d": "two GPUs"}, "2026-01-02")
        self.assertEqual(row["fails"], {"no end within 60 s": ["b", "c"], "two GPUs": ["d"]})
        self.assertIn("| some (abc) | 2026-01-02 | 4 | 1 | 2: no end within 60 s; 1: two GPUs |", page.table([row]))
        self.assertIn("| other | 2026-01-02 | 9 | 5 | 4: no program |",
                      page.table([{"collection": "other", "date": "2026-01-02", "tried": 9, "fails": {"no program": 4}}]))
        self.assertRaises(SystemExit, page.row_of, run, "some", "abc", {"a": "it passes"}, "2026-01-02")

    def test_the_run_is_a_file_too(self):
        with tempfile.TemporaryDirectory() as place:
            script, out = os.path.join(place, "coalesce"), os.path.join(place, "run.json")
            with open(script, "w") as file:
                file.write(SCRIPT)
            os.chmod(script, stat.S_IRWXU)
            os.mkdir(os.path.join(place, "folder"))
            for name, code in (("right", 0), ("wrong", 3)):
                with open(os.path.join(place, "folder", name + ".cu"), "w") as file:
                    file.write(f"int main() {{}} /* */\ntold['code'] = {code}\n")
            programs.main([os.path.join(place, "folder"), "--coalesce", script, "--json", out])
            with open(out) as file:
                self.assertEqual(json.load(file), {"right.cu": "", "wrong.cu": "exit code 3"})

    def test_sample(self):
        if not COALESCE:
            self.skipTest("no coalesce given")
        with tempfile.TemporaryDirectory() as place:
            page = os.path.join(place, "page.md")
            self.assertEqual(programs.main([os.path.join(HERE, "sample"), "--coalesce", COALESCE, "--compiler", "clang", "--page", page]), 1)
            with open(page) as file:
                text = file.read()
        self.assertIn("2 of 4 pass", text)
        self.assertIn("| right.cu | yes |  |", text)
        self.assertIn("| expects_assertion.cu | yes |  |", text)
        self.assertIn("| outside.cu | no | kernel outside(int*): illegal address: store of 4 bytes", text)
        self.assertIn("| project/says.cu | no | prints: Test FAILED |", text)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        COALESCE = sys.argv.pop()
    unittest.main()
