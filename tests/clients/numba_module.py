#!/usr/bin/env python3
"""Runs one module of Numba's tests for CUDA, each class in a process of its own, because CUDA's errors last until a process ends.

usage: numba_module.py MODULE OUT.json [SECONDS]: OUT gets {test: [outcome, last line of the error]}; a class has SECONDS.
"""
import importlib
import json
import os
import subprocess
import sys
import tempfile
import unittest


class Outcomes(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.of = {}

    def note(self, test, outcome, text=""):
        lines = [line for line in text.strip().splitlines() if line.strip()]
        self.of[test.id()] = [outcome, lines[-1][:200] if lines else ""]

    def addSuccess(self, test):
        self.note(test, "pass")

    def addFailure(self, test, err):
        self.note(test, "fail", self._exc_info_to_string(err, test))

    def addError(self, test, err):
        self.note(test, "fail", self._exc_info_to_string(err, test))

    def addSkip(self, test, reason):
        self.note(test, "skip", reason)

    def addExpectedFailure(self, test, err):
        self.note(test, "pass")

    def addUnexpectedSuccess(self, test):
        self.note(test, "fail", "passes, against its own expectation")

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.note(test, "fail", self._exc_info_to_string(err, test))


def classes(suite):
    """The tests of a suite by class, in order."""
    found = {}

    def walk(node):
        if isinstance(node, unittest.TestSuite):
            for child in node:
                walk(child)
        else:
            found.setdefault(type(node).__qualname__, []).append(node)

    walk(suite)
    return found


def run_class(module, name, tests, folder, seconds):
    """In a process of its own: many modules start CUDA when they are imported, so a fork would not do."""
    out = os.path.join(folder, "class.json")
    try:
        subprocess.run([sys.executable, __file__, module, out, "--class", name], stdin=subprocess.DEVNULL, timeout=seconds)
    except subprocess.TimeoutExpired:
        pass
    of = {}
    if os.path.exists(out):
        with open(out) as file:
            of = json.load(file)
        os.unlink(out)
    for test in tests:
        of.setdefault(test.id(), ["fail", "its process ended, or took too long"])
    return of


def main():
    module, out, *rest = sys.argv[1:]
    found = classes(unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(module)))
    if rest[:1] == ["--class"]:
        outcomes = Outcomes()
        unittest.TestSuite(found[rest[1]]).run(outcomes)
        write(out, outcomes.of)
        return
    seconds = float(rest[0]) if rest else 300
    all_of = {}
    write(out, all_of)  # a module may have no tests
    with tempfile.TemporaryDirectory() as folder:
        for name, tests in found.items():
            all_of.update(run_class(module, name, tests, folder, seconds))
            write(out, all_of)


def write(out, of):
    with open(out + ".new", "w") as file:
        json.dump(of, file)
    os.replace(out + ".new", out)


if __name__ == "__main__":
    main()
