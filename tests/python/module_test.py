#!/usr/bin/env python3
"""python/coalesce.py with the real command, without pandas and without IPython.   module_test.py SOURCE BINARY"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import types
import unittest

SOURCE, BINARY = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
os.environ["COALESCE_COMMAND"] = str(BINARY / "bin/coalesce")
os.environ["XDG_CACHE_HOME"] = str(BINARY / "tests/cache")
# Compiled by clang, as by other tests.
os.environ["PATH"] = ":".join(p for p in os.environ["PATH"].split(":") if not os.path.exists(os.path.join(p, "nvcc")))
sys.path.insert(0, str(SOURCE / "python"))
sys.dont_write_bytecode = True
import coalesce  # noqa: E402

# 1024 threads store one int each, side by side: 1024 * 4 bytes / 32 = 128 sectors. Ends with 7.
FILL = SOURCE / "tests/install/fill.cu"
STORE = 1 + next(n for n, line in enumerate(FILL.read_text().splitlines()) if "out[i] =" in line)


class Module(unittest.TestCase):
    def test_launches_and_lines(self):
        launches = coalesce.run([FILL, "two words"], check=False, device="a100")
        self.assertEqual(launches.stdout, "filled 1024, told 'two words'\n")
        self.assertEqual(launches.device, "a100")
        [fill] = launches
        self.assertEqual((fill.kernel, fill.grid, fill.block, fill.fault), ("fill(int*)", (4, 1, 1), (256, 1, 1), ""))
        self.assertEqual(fill.counters["global_store_sectors"], 128)
        self.assertEqual(fill.counters["global_load_sectors"], 0)
        stores = [line for line in fill.lines if "global_store_sectors" in line.counters]
        self.assertEqual([(pathlib.Path(line.file).name, line.line, line.counters["global_store_sectors"]) for line in stores],
                         [("fill.cu", STORE, 128)])
        self.assertIn("\nfill ", launches.table)

    def test_the_programs_exit_code_is_an_error_that_keeps_what_was_counted(self):
        with self.assertRaises(coalesce.Error) as caught:
            coalesce.run([FILL])
        self.assertEqual(caught.exception.exit_code, 7)
        self.assertEqual(str(caught.exception), "the program ended with 7")
        self.assertEqual(caught.exception.launches[0].counters["global_store_sectors"], 128)

    def test_errors_of_the_command(self):
        with self.assertRaises(coalesce.Error) as caught:
            coalesce.run([FILL], device="a1000")
        self.assertEqual(caught.exception.exit_code, 2)
        self.assertRegex(str(caught.exception), "^unknown device 'a1000'\nhint: known devices: ")
        with self.assertRaises(coalesce.Error) as caught:
            coalesce.run(["no such program"])
        self.assertEqual(caught.exception.exit_code, 125)
        self.assertIn("no such program", str(caught.exception))
        with self.assertRaises(coalesce.Error) as caught:
            coalesce.run([SOURCE / "examples/saxpy.cu"], require=["store_excess == 1", "saxpy: shuffles > 0"])
        self.assertEqual(caught.exception.exit_code, 4)
        self.assertRegex(str(caught.exception), r"^kernel .*\nsaxpy +shuffles > 0 +0 +0\nbudget exceeded: 1 of 2 requirements$")

    def test_what_run_does_not_take(self):
        self.assertRaises(TypeError, coalesce.run, "./app 100")
        self.assertRaises(TypeError, coalesce.run, [FILL], json="counters.json")

    def test_frames(self):
        launches = coalesce.run([FILL], check=False)
        self.addCleanup(sys.modules.pop, "pandas", None)
        sys.modules["pandas"] = None
        self.assertRaises(ImportError, launches.frame)
        sys.modules["pandas"] = types.SimpleNamespace(DataFrame=lambda rows: rows)
        [row] = launches.frame()
        self.assertEqual((row["kernel"], row["grid"], row["global_store_sectors"]), ("fill(int*)", (4, 1, 1), 128))
        rows = launches.line_frame()
        self.assertEqual({row["line"]: row["global_store_sectors"] for row in rows}[STORE], 128)
        self.assertEqual({len(row) for row in rows}, {4 + len(launches[0].counters)})

    def test_what_the_quick_start_shows(self):
        [block] = re.findall(r"^```python\n(.*?)^```$", (SOURCE / "docs/quick-start.md").read_text(), re.M | re.S)
        self.addCleanup(sys.modules.pop, "pandas", None)
        sys.modules["pandas"] = types.SimpleNamespace(DataFrame=lambda rows: rows)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(SOURCE)
        names = {}
        exec(block, names)
        self.assertEqual([launch.kernel.split("(")[0] for launch in names["launches"]],
                         ["transpose_naive", "transpose_shared", "transpose_padded"])

    def test_without_the_command(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(SOURCE / "python/coalesce.py", folder)
            ended = subprocess.run([sys.executable, "-S", "-c", "import coalesce; coalesce.run(['app'])"], cwd=folder,
                                   env={"PATH": "/nonexistent"}, stderr=subprocess.PIPE, text=True)
            self.assertIn("FileNotFoundError: there is no command 'coalesce'", ended.stderr)

    def test_an_interrupt_ends_the_program(self):
        def interrupt(*_):
            raise KeyboardInterrupt
        with tempfile.TemporaryDirectory() as folder:
            command = pathlib.Path(folder, "command")
            command.write_text(f"#!/bin/sh\necho $$ >{folder}/pid\nsleep 60 &\necho $! >{folder}/child\nkill -ALRM {os.getpid()}\nwait\n")
            command.chmod(0o700)
            real, os.environ["COALESCE_COMMAND"] = os.environ["COALESCE_COMMAND"], str(command)
            self.addCleanup(os.environ.__setitem__, "COALESCE_COMMAND", real)
            self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, interrupt))
            self.assertRaises(KeyboardInterrupt, coalesce.run, ["app"])
            for name in ("pid", "child"):
                pid = pathlib.Path(folder, name).read_text().strip()
                state = pathlib.Path("/proc", pid, "stat")
                self.assertTrue(not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] == "Z", name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
