#!/usr/bin/env python3
"""Several devices (devices.cu), and what is recorded of them: devices_test.py COALESCE."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

COALESCE = os.path.abspath(sys.argv[1])
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "devices.cu")


class Devices(unittest.TestCase):
    def run_program(self, *line, code=0, out="ok\n", visible=None):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.json")
            done = subprocess.run([COALESCE, "run", "--compiler", "clang", "--json", path, *line], capture_output=True,
                                  text=True, timeout=200, env=os.environ | ({} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}))
            self.assertEqual((done.returncode, done.stdout), (code, out), done.stderr)
            with open(path) as file:
                return json.load(file), done.stderr

    def test_counters_of_each(self):
        run, table = self.run_program("--device", "h200x3", PROGRAM)
        self.assertEqual(run["devices"], 3)
        launches = [(one["kernel"].split("(")[0], one["device"], one["peer_bytes"]) for one in run["launches"]]
        first = [(name, d, 0) for d in range(3) for name in ["fill"] + ["raise"] * (d + 1)]
        self.assertEqual(launches, first + [("copy", 0, 1024), ("fill", 2, 0), ("fill", 0, 1024)])
        self.assertEqual(run["copies"]["p2p"], {"calls": 2, "bytes": 2048})
        self.assertIn("device 0 of 3: 4 launches", table)
        self.assertIn("copies between devices: 2, 2.0 kB", table)

    def test_no_access_is_a_fault_of_one_device(self):
        for engine in ("interpreter", "plain"):
            run, errors = self.run_program("--devices", "3", "--engine", engine, PROGRAM, "fault", code=4)
            self.assertEqual([one.get("fault") for one in run["launches"]][-2:], ["illegal_address", None])
            self.assertIn("memory of device 1, to which this device has no peer access", errors)

    def test_a_cooperative_launch_on_each(self):
        run, _ = self.run_program("--devices", "3", os.path.join(os.path.dirname(PROGRAM), "cooperative.cu"))
        self.assertEqual([(one["kernel"].split("(")[0], one["device"]) for one in run["launches"]], [("sums", d) for d in range(3)])

    def test_calls_of_cuda_13(self):
        self.run_program("--devices", "2", os.path.join(os.path.dirname(PROGRAM), "cuda13.cu"))

    def test_one_device_says_nothing_of_several(self):
        run, _ = self.run_program(PROGRAM, code=1, out="line 28: devices == 3\n")
        self.assertNotIn("devices", run)
        self.assertNotIn("p2p", run["copies"])

    def test_a_program_sees_the_visible_ones(self):
        for devices, visible in (("5", "2,0,4,x"), ("5", "4,3,2,5,1"), ("3", ""), ("3", "-1")):
            self.run_program("--devices", devices, PROGRAM, visible=visible)
        for visible in ("0,0,1,2", "1"):
            self.run_program("--devices", "3", PROGRAM, code=1, out="line 28: devices == 3\n", visible=visible)

    def test_counts_that_are_refused(self):
        for line in (["--devices", "0"], ["--devices", "65"], ["--device", "h200x0"], ["--device", "x4"]):
            done = subprocess.run([COALESCE, "run", *line, PROGRAM], capture_output=True, text=True, timeout=100)
            self.assertEqual(done.returncode, 2, done.stderr)

    def test_two_processes_share_memory(self):
        for engine in ("interpreter", "native"):
            run, _ = self.run_program("--engine", engine, os.path.join(os.path.dirname(PROGRAM), "ipc.cu"), out="two processes shared memory\n")
            self.assertEqual([one["kernel"].split("(")[0] for one in run["launches"]], 4 * ["add"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
