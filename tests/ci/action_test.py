#!/usr/bin/env python3
"""Runs the steps of .github/actions/coalesce/action.yml as GitHub would: each with its environment, by bash.
   action_test.py SOURCE BINARY"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

SOURCE, BINARY = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
FOLDER = SOURCE / ".github/actions/coalesce"
ACTION = yaml.safe_load((FOLDER / "action.yml").read_text())


class Action(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("transpose.cu", "race.cu"):
            shutil.copy(SOURCE / "examples" / name, self.folder)

    def expand(self, text, inputs):
        def value(match):
            kind, _, name = match[1].partition(".")
            if (kind, name) == ("github", "action_path"):
                return str(FOLDER)
            self.assertEqual(kind, "inputs")
            declared = ACTION["inputs"][name]
            return inputs.get(name, declared["default"] if "default" in declared else inputs[name])
        return re.sub(r"\$\{\{ *([\w.]+) *\}\}", value, text)

    def act(self, **inputs):
        self.assertLessEqual(inputs.keys(), ACTION["inputs"].keys())
        said = ""
        for step in ACTION["runs"]["steps"]:
            self.assertEqual(step["shell"], "bash")
            environment = {name: self.expand(value, inputs) for name, value in step["env"].items()}
            ended = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", self.expand(step["run"], inputs)],
                                   cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   env={**os.environ, "PATH": f"{BINARY}/bin:{os.environ['PATH']}",
                                        "XDG_CACHE_HOME": str(BINARY / "tests/cache"), **environment})
            said += ended.stdout
            if ended.returncode:
                return ended.returncode, said
        return 0, said

    def test_every_input_is_used(self):
        self.assertEqual(ACTION["runs"]["using"], "composite")
        used = set(re.findall(r"\$\{\{ *inputs\.(\w+) *\}\}", (FOLDER / "action.yml").read_text()))
        self.assertEqual(used, set(ACTION["inputs"]))
        # An input in `run` would be executed.
        self.assertFalse([step for step in ACTION["runs"]["steps"] if "inputs." in step["run"]])
        read = set(re.findall(r"COALESCE_\w+", (FOLDER / "run.sh").read_text() + (FOLDER / "install.sh").read_text()))
        self.assertEqual(read, {name for step in ACTION["runs"]["steps"] for name in step["env"]})

    def test_a_requirement_fails_the_step_and_annotates_the_line(self):
        code, said = self.act(program="transpose.cu", require="transpose_padded: store_excess == 1\n\ntranspose_naive: store_excess == 1\n")
        self.assertEqual(code, 4, said)
        self.assertIn("::warning file=transpose.cu,line=9,title=", said)
        self.assertIn("::error title=A requirement is violated::transpose_naive: store_excess == 1", said)
        results = json.loads((self.folder / "coalesce.sarif").read_text())["runs"][0]["results"]
        self.assertIn("transpose.cu", [r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in results if "locations" in r])
        self.assertIn('failures="1"', (self.folder / "coalesce.xml").read_text())

    def test_a_budget_that_is_kept(self):
        code, said = self.act(program="transpose.cu", options="--write-budget 'a budget'")
        self.assertEqual(code, 0, said)
        code, said = self.act(program="transpose.cu", budget="a budget", options="-q --filter 'transpose_.*'")
        self.assertEqual(code, 0, said)

    def test_check(self):
        code, said = self.act(program="race.cu", command="check", sarif="hazards.sarif")
        self.assertEqual(code, 4, said)
        self.assertRegex(said, r"::error file=race\.cu,line=13,")
        self.assertTrue((self.folder / "hazards.sarif").exists())

    def test_nothing_in_an_input_is_executed(self):
        word = "$(touch executed) `touch executed`; touch executed"
        code, said = self.act(program="transpose.cu", arguments=word, options="-q", require="a: " + word)
        self.assertEqual(code, 2, said)
        self.assertFalse((self.folder / "executed").exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
