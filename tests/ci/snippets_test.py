#!/usr/bin/env python3
"""What docs/ci.md shows to be copied: the job for GitLab is run, the problem matcher of VS Code reads real output, the
workflow names the action and its inputs.   snippets_test.py SOURCE BINARY"""
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
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", (SOURCE / "docs/ci.md").read_text(), re.M | re.S)
YAML = [yaml.safe_load(text) for language, text in BLOCKS if language == "yaml"]
[TASKS] = [json.loads(text) for language, text in BLOCKS if language == "json"]


class Snippets(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("transpose.cu", "race.cu"):
            shutil.copy(SOURCE / "examples" / name, self.folder)

    def run_line(self, line):
        return subprocess.run(["bash", "-c", line], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env={**os.environ, "PATH": f"{BINARY}/bin:{os.environ['PATH']}", "XDG_CACHE_HOME": str(BINARY / "tests/cache")})

    def test_the_job_for_gitlab(self):
        [job] = [block["coalesce"] for block in YAML if isinstance(block, dict) and "coalesce" in block]
        self.assertEqual(job["image"], "debian:12")
        self.assertEqual(self.run_line("coalesce run -q --write-budget budget.txt transpose.cu").returncode, 0)
        for line in job["script"]:
            ended = self.run_line(line)
            self.assertEqual(ended.returncode, 0, ended.stdout)
        report = self.folder / job["artifacts"]["reports"]["junit"]
        self.assertIn('failures="0"', report.read_text())

    def test_the_steps_for_github(self):
        [steps] = [block for block in YAML if isinstance(block, list)]
        action = yaml.safe_load((SOURCE / ".github/actions/coalesce/action.yml").read_text())
        [used] = [step for step in steps if step["uses"].startswith("<REPOSITORY>/.github/actions/coalesce@")]
        self.assertLessEqual(used["with"].keys(), action["inputs"].keys())
        [upload] = [step for step in steps if "upload-sarif" in step["uses"]]
        self.assertEqual(upload["with"]["sarif_file"], action["inputs"]["sarif"]["default"])

    def test_the_problem_matcher_reads_what_the_task_prints(self):
        found = {}
        for task in TASKS["tasks"]:
            matcher = task["problemMatcher"]
            self.assertEqual(matcher["fileLocation"], ["autoDetect", "${workspaceFolder}"])
            pattern = matcher["pattern"]
            name = {"coalesce run": "transpose.cu", "coalesce check": "race.cu"}[task["label"]]
            for line in self.run_line(task["command"].replace("${relativeFile}", name)).stdout.splitlines():
                match = re.search(pattern["regexp"], line)
                if match:
                    place = (match[pattern["file"]], int(match[pattern["line"]]), match[pattern["severity"]])
                    self.assertTrue((self.folder / place[0]).exists(), line)
                    found[place] = match[pattern["message"]]
        self.assertEqual(sorted(found), [("race.cu", 13, "error"), ("transpose.cu", 9, "warning"), ("transpose.cu", 19, "warning")])
        self.assertRegex(found["transpose.cu", 9, "warning"], "^transpose_naive: Stores move 8.0 times")
        self.assertRegex(found["race.cu", 13, "error"], "race in shared memory")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
