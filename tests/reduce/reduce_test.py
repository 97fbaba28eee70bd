#!/usr/bin/env python3
"""`coalesce reduce` against definitions in rational numbers: reduce_test.py COALESCE."""
import itertools
import json
import math
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from fractions import Fraction

COALESCE = sys.argv[1]
FORMATS = {"int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I",
           "uint64": "Q", "float16": "e", "float32": "f", "float64": "d"}
NPY = {"int8": "i1", "int16": "i2", "int32": "i4", "int64": "i8", "uint8": "u1", "uint16": "u2", "uint32": "u4",
       "uint64": "u8", "float16": "f2", "float32": "f4", "float64": "f8"}
ALL = "count,exact_sum,exact_mean,sum_of_squares,norm2,min,argmin,max,argmax,variance,stddev"


def packed(kind, values, order="<"):
    return struct.pack(order + str(len(values)) + FORMATS[kind], *values)


def npy(path, kind, values, shape=None, order="<", fortran=False, version=1):
    """`values` are in the order of memory."""
    shape = (len(values),) if shape is None else shape
    header = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (order + NPY[kind], fortran, tuple(shape))
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY" + bytes([version, 0]) + length + header.encode() + packed(kind, values, order))
    return path


def coalesce(*arguments, code=0):
    done = subprocess.run([COALESCE, "reduce", *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout if code == 0 else done.stderr


def results(*arguments):
    return json.loads(coalesce("--json", "-", *arguments))["results"]


def nearest_root(value):
    """The square root of a rational, rounded once: bisection over neighbouring doubles."""
    if value == 0:
        return 0.0
    guess = math.sqrt(float(value)) if float(value) != 0 else 2.0 ** -600
    for _ in range(100):
        low, high = math.nextafter(guess, 0), math.nextafter(guess, math.inf)
        if ((Fraction(low) + Fraction(guess)) / 2) ** 2 > value:
            guess = low
        elif ((Fraction(guess) + Fraction(high)) / 2) ** 2 < value:
            guess = high
        else:
            return guess
    raise AssertionError("no root")


def expected(values, whole):
    n = len(values)
    ratios = [v.as_integer_ratio() for v in values]
    unit = max((low for _, low in ratios), default=1)  # denominators are powers of two: all divide the largest
    multiples = [high * (unit // low) for high, low in ratios]
    total, squares = Fraction(sum(multiples), unit), Fraction(sum(m * m for m in multiples), unit * unit)
    answer = {"count": n, "exact_sum": total, "sum_of_squares": squares, "norm2": nearest_root(squares)}
    if n:
        variance = (n * squares - total * total) / (n * n)
        low, high = min(values), max(values)
        answer |= {"exact_mean": float(total / n), "variance": float(variance), "stddev": nearest_root(variance),
                   "min": low, "argmin": values.index(low), "max": high, "argmax": values.index(high)}
    for name in ("exact_sum", "sum_of_squares"):
        answer[name] = int(answer[name]) if whole else float(answer[name])
    return answer


def numbers(kind, count, rng):
    if kind.startswith("float"):
        top = {"float16": 4, "float32": 30, "float64": 300}[kind]
        values = [math.ldexp(rng.uniform(-1, 1), rng.randint(-top, top)) for _ in range(count)]
        return list(struct.unpack("<%d%s" % (count, FORMATS[kind]), packed(kind, values)))
    bits = 8 * struct.calcsize(FORMATS[kind])
    low = 0 if kind.startswith("u") else -(1 << bits - 1)
    edges = [low, low + (1 << bits) - 1, 0, 1]
    return [rng.choice(edges) if rng.random() < 0.2 else low + rng.getrandbits(bits) for _ in range(count)]


class Reduce(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.rng = random.Random(int.from_bytes(self.id().encode(), "little"))

    def tearDown(self):
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def read(self, path):
        with open(path, "rb") as file:
            return file.read()

    def check(self, found, wanted):
        for name, value in wanted.items():
            one = found[name]
            self.assertEqual(int(one) if isinstance(one, str) else one, value, name)

    def test_every_type_and_operation(self):
        for kind in FORMATS:
            for count in (1, 2, 5001):
                values = numbers(kind, count, self.rng)
                wanted = expected(values, not kind.startswith("float"))
                for order in "<>":
                    path = npy(self.path("a.npy"), kind, values, order=order, version=self.rng.choice((1, 2, 3)))
                    self.check(results("--op", ALL, path), wanted)

    def test_nothing(self):
        path = npy(self.path("none.npy"), "float32", [])
        found = results("--op", ALL, path)
        self.assertEqual((found["count"], found["exact_sum"], found["min"], found["argmax"]), (0, 0.0, None, None))
        self.assertEqual((found["exact_mean"], found["variance"]), ("nan", "nan"))
        path = npy(self.path("many.npy"), "float32", [], (0, 10 ** 12))
        self.assertIn("has no elements", coalesce("--axis", "0", path, code=2))

    def test_special_values(self):
        nan, inf = math.nan, math.inf
        for values, wanted in (([1.0, nan, 2.0, nan], {"exact_sum": "nan", "min": "nan", "argmin": 1, "argmax": 1}),
                               ([1.0, inf, -2.0], {"exact_sum": "inf", "max": "inf", "argmax": 1, "argmin": 2}),
                               ([inf, -inf], {"exact_sum": "nan", "variance": "nan", "argmin": 1, "argmax": 0}),
                               ([-0.0, -0.0], {"exact_sum": -0.0, "argmin": 0, "argmax": 0}),
                               ([inf, inf], {"min": "inf", "argmin": 0, "argmax": 0})):
            found = results("--op", ALL, npy(self.path("s.npy"), "float64", values))
            for name, value in wanted.items():
                self.assertEqual(str(found[name]), str(value), (values, name))

    def test_cancellation_that_plain_sums_lose(self):
        values = [1e308, 1.0, -1e308, 1e-300] * 5000
        self.assertEqual(results(npy(self.path("c.npy"), "float64", values))["exact_sum"], 5000.0)

    def test_axes(self):
        shape = (3, 4, 50)
        for kind, fortran in itertools.product(("float32", "int64", "float16"), (False, True)):
            count = math.prod(shape)
            memory = numbers(kind, count, self.rng)
            memory[7] = memory[3]
            def at(index):
                axes = range(3) if fortran else reversed(range(3))
                offset, stride = 0, 1
                for axis in axes:
                    offset += index[axis] * stride
                    stride *= shape[axis]
                return memory[offset]
            path = npy(self.path("x.npy"), kind, memory, shape, fortran=fortran)
            logical = [at(i) for i in itertools.product(*map(range, shape))]
            self.check(results("--op", ALL, path), expected(logical, kind == "int64"))
            for axes in ((0,), (1,), (-1,), (0, 1), (0, 2), (1, 2), (0, 1, 2)):
                reduced = [a % 3 for a in axes]
                kept = [a for a in range(3) if a not in reduced]
                found = results("--op", ALL, "--axis=" + ",".join(map(str, axes)), path)
                for place, outer in enumerate(itertools.product(*(range(shape[a]) for a in kept))):
                    values = []
                    for inner in itertools.product(*(range(shape[a]) for a in sorted(reduced))):
                        index = dict(zip(kept, outer)) | dict(zip(sorted(reduced), inner))
                        values.append(at([index[a] for a in range(3)]))
                    self.check({name: found[name][place] for name in found}, expected(values, kind == "int64"))

    def test_output_is_an_array(self):
        path, out = npy(self.path("m.npy"), "float32", [1, 2, 3, 4, 5, 6], (2, 3)), self.path("out.npy")
        coalesce("--axis", "0", "--op", "exact_mean", "--output", out, path)
        with open(out, "rb") as file:
            content = file.read()
        self.assertEqual(struct.unpack("<3d", content[-24:]), (2.5, 3.5, 4.5))
        self.check(results(out), {"count": 3, "exact_sum": 10.5})

    def test_files_threads_and_parts_give_the_same_bytes(self):
        values = numbers("float32", 300001, self.rng)
        cuts = [0, 17, 100000, 100000, 300001]
        files = [npy(self.path("%d.npy" % i), "float32", values[a:b]) for i, (a, b) in enumerate(zip(cuts, cuts[1:]))]
        whole = results("--op", ALL, npy(self.path("all.npy"), "float32", values))
        self.check(whole, expected(values, False))
        for threads in (1, 2, 5):
            self.assertEqual(results("--op", ALL, "--threads", threads, *files), whole)
        for parts in (1, 3, 16):
            states = [self.path("part%d" % i) for i in range(1, parts + 1)]
            for i, state in enumerate(states, 1):
                coalesce("--op", ALL, "--part", "%d/%d" % (i, parts), "--checkpoint", state, *files)
            self.rng.shuffle(states)
            self.assertEqual(results("--op", ALL, "--merge", *states), whole)
            if parts > 1:
                self.assertIn("missing", coalesce("--merge", "--op", ALL, *states[1:], code=2))
                self.assertIn("twice", coalesce("--merge", "--op", ALL, states[0], *states, code=2))

    def test_raw_and_skipped_bytes(self):
        path = self.path("raw.bin")
        with open(path, "wb") as file:
            file.write(b"x" * 3 + packed("int16", [5, -7, 9]))
        self.check(results("--type", "int16", "--skip", "3", "--op", ALL, path), expected([5, -7, 9], True))
        self.assertIn("no whole number of int16", coalesce("--type", "int16", path, code=2))
        with open(path, "wb") as file:
            file.write(struct.pack("<3H", 0x3f80, 0x4000, 0xc040))  # bfloat16 1, 2, -3
        self.check(results("--type", "bfloat16", "--op", ALL, path), expected([1.0, 2.0, -3.0], False))

    def test_large_files_are_copied_and_read_in_place(self):
        # From 64 MiB on each thread tries both. Bytes ahead move the elements off the pages' beginnings, or off their own.
        piece = numbers("int32", 5003, self.rng)
        times = (80 << 20) // (4 * len(piece))
        largest = max(piece)
        wanted = {"count": times * len(piece), "exact_sum": times * sum(piece), "argmax": piece.index(largest), "min": min(piece)}
        path = self.path("large.bin")
        content = packed("int32", piece) * times
        for skip in (0, 4, 1):
            with open(path, "wb") as file:
                file.write(b"x" * skip + content)
            for threads in (1, 2):
                self.check(results("--type", "int32", "--skip", skip, "--threads", threads, "--op", ",".join(wanted), path), wanted)

    def test_csv(self):
        path = self.path("t.csv")
        with open(path, "w") as file:
            file.write('name,price,n\r\n"a, ""b""",1.5,1\r\nc,-2e-3,2\r\n\r\n"d\ne",+7,3\r\n')
        self.check(results("--column", "price", "--op", ALL, path), expected([1.5, -2e-3, 7.0], False))
        self.check(results("--column", "3", "--op", ALL, path), expected([1.0, 2.0, 3.0], False))
        self.assertIn("its first line is: name, price, n", coalesce("--column", "prize", path, code=2))
        self.assertIn("t.csv:2: 'a, \"b\"' in column name is not a number", coalesce("--column", "name", path, code=2))
        with open(path, "w") as file:
            file.write("x;y\n1;2\n3;\n5;6")
        self.assertIn("t.csv:3: column y is empty", coalesce("--column", "y", "--separator", ";", path, code=2))
        self.check(results("--column", "y", "--separator", ";", "--missing", "skip", "--op", ALL, path),
                   expected([2.0, 6.0], False))
        with open(path, "w") as file:
            file.write("4\n5\n")
        self.check(results("--column", "1", path), {"count": 2, "exact_sum": 9.0})

    def test_bad_input_is_refused(self):
        good = self.read(npy(self.path("g.npy"), "float32", [1, 2, 3, 4]))
        for size in range(0, len(good), 5):  # cut anywhere
            with open(self.path("cut.npy"), "wb") as file:
                file.write(good[:size])
            reason = "it does not begin with" if size < 6 else "it ends within its header" if size < len(good) - 16 else "it is cut"
            self.assertIn(f"error: cannot read '{self.path('cut.npy')}' as .npy: {reason}", coalesce(self.path("cut.npy"), code=2))
        for before, after in ((b"<f4", b"<c8"), (b"False", b"Maybe"), (b"(4,)", b"(4 4"), (b"'shape'", b"'shopt'"),
                              (b"\x93NUMPY\x01", b"\x93NUMPY\x09")):
            with open(self.path("bad.npy"), "wb") as file:
                file.write(good.replace(before, after))
            self.assertIn("error: cannot read", coalesce(self.path("bad.npy"), code=2))
        self.assertIn("No such file", coalesce(self.path("absent.npy"), code=3))
        self.assertIn("not a regular file", coalesce("--type", "int8", self.folder.name, code=2))
        self.assertIn("--type", coalesce(self.path("what.dat"), code=2))
        self.assertIn("--op knows no 'median'", coalesce("--op", "median", self.path("g.npy"), code=2))
        self.assertIn("counted from 0", coalesce("--axis", "1", self.path("g.npy"), code=2))
        self.assertIn("twice", coalesce("--axis", "0,-1", self.path("g.npy"), code=2))
        self.assertIn("--part takes I/N", coalesce("--part", "3/2", "--checkpoint", "c", self.path("g.npy"), code=2))
        self.assertIn("cannot write", coalesce("--json", "/nowhere/x", self.path("g.npy"), code=3))

    def test_a_damaged_or_foreign_checkpoint_is_refused(self):
        path, state = npy(self.path("g.npy"), "float32", [1, 2, 3, 4]), self.path("state")
        coalesce("--checkpoint", state, path)
        content = self.read(state)
        for at in range(0, len(content) - 1, 61):
            with open(state, "wb") as file:
                file.write(content[:at] + bytes([content[at] ^ 1]) + content[at + 1:])
            coalesce("--checkpoint", state, "--resume", path, code=2)
        with open(state, "wb") as file:
            file.write(content[: len(content) // 2])
        self.assertIn("damaged", coalesce("--checkpoint", state, "--resume", path, code=2))
        with open(state, "wb") as file:
            file.write(content)
        coalesce("--op", "min", "--checkpoint", self.path("least"), path)
        self.assertIn("operations were others",
                      coalesce("--op", "norm2", "--checkpoint", self.path("least"), "--resume", path, code=2))
        npy(path, "float32", [1, 2, 3, 5])
        self.assertIn("has been written since", coalesce("--checkpoint", state, "--resume", path, code=2))

    def test_an_interrupted_run_goes_on(self):
        path, state = self.path("sparse.bin"), self.path("state")
        with open(path, "wb") as file:
            file.truncate(1 << 28)
            for at in range(0, 1 << 28, 1 << 25):
                file.seek(at)
                file.write(packed("float32", [at / 7 + 1]))
        wanted = results("--type", "float32", "--op", ALL, path)
        command = [COALESCE, "reduce", "--type", "float32", "--op", ALL, "--threads", "1", "--checkpoint", state, path]
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(0.15)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
        if running.returncode == 130:  # else it was faster than the signal
            self.assertIn("--resume", errors)
            kept = json.loads(self.read(state))
            self.assertLess(kept["done"], kept["end"])
            self.assertIn("not finished", coalesce("--op", ALL, "--merge", state, code=2))
        self.assertEqual(results("--type", "float32", "--op", ALL, "--checkpoint", state, "--resume", path), wanted)

    def test_a_file_that_is_cut_while_it_is_read(self):
        path = self.path("sparse.bin")
        with open(path, "wb") as file:
            file.truncate(1 << 34)  # takes seconds to read
        running = subprocess.Popen([COALESCE, "reduce", "--type", "float32", "--threads", "1", path],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        # Until it knows the length: it has mapped the file, or read more than its own libraries' beginnings.
        while running.poll() is None:
            has_read = int(self.read(f"/proc/{running.pid}/io").split()[1])
            if has_read > 1 << 24 or path.encode() in self.read(f"/proc/{running.pid}/maps"):
                break
            time.sleep(0.005)
        os.truncate(path, 4096)
        out, errors = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 3, (out, errors))
        self.assertIn("error:", errors)
        self.assertEqual(out, "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
