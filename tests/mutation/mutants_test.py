#!/usr/bin/env python3
"""Tests mutants.py: what is a mutant, and that a program with all of them does what it did until one is on.

  mutants_test.py [COMPILER]
"""
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
import mutants

COMPILER = ""
SOURCE = """#include <cstdio>
#include <cstdint>
// A comment with a == b && c < 3.
static_assert(sizeof(int) == 4);
enum class Kind { load, store };
struct Pair { unsigned width : 4; int x; };
int f(int a, unsigned b, Kind k, Pair& p, const int* q) {
  int r = 0;
  if (a < 4) r += 1;
  if (b == 3u && q != nullptr) r += 2;
  switch (k) {
    case Kind::load:
      r += 4;
      break;
    case Kind::store:
      break;
  }
  if (p.width >= 9 || q == nullptr) {
    r += 8;
  }
  p.x = r;
  const int shifted = a << 2;
  const char* text = "a == b";
  return r + 16 * p.x + shifted + (text[0] == 'a' ? 0 : 1000000);
}
int main() {
  Pair p{8, 0};
  const int q = 0;
  std::printf("%d\\n", f(4, 3, Kind::load, p, &q));
}
"""


class Mutants(unittest.TestCase):
    def kinds(self, line, before=""):
        return [m.what for m in mutants.of_line("x.cpp", 0, line, before)]

    def test_what_is_one(self):
        self.assertEqual(self.kinds("  const bool c = a <= b;"), ["`<=` becomes `<`"])
        self.assertEqual(self.kinds("  if (a) return;"), ["the condition is reversed"])
        self.assertEqual(self.kinds("    case Kind::load:"), ["the case is dropped"])
        self.assertEqual(self.kinds("  list.push_back(x);"), ["the statement is dropped"])
        self.assertEqual(self.kinds("  return x + 3;"), ["`3` becomes one more"])
        self.assertEqual(self.kinds("  return a && b;"), ["`&&` is always false"])

    def test_what_is_none(self):
        for line in ("#if A == 3", "// a == b", '  call("a == b", x',  "template <int n = 3 + 4>", "  static_assert(a == b);", "  std::vector<int> v;",
                     "  const int x = y;", "  auto&& r = x;", "  if (const auto x = y)"):
            self.assertEqual(self.kinds(line), [], line)
        self.assertEqual(self.kinds("      b);", "  call(a,"), [], "the end of a longer statement")

    def test_the_same_seed_draws_the_same(self):
        places = [[m.place() for m in mutants.drawn({"x.cpp": SOURCE}, 5)[0]] for _ in range(2)]
        self.assertEqual(places[0], places[1])
        self.assertEqual(len(places[0]), 5)

    def test_nothing_in_a_raw_string_or_in_what_the_compiler_evaluates(self):
        source = 'const char* text = R"(\n  if (a == b) c();\n)";\nconstexpr int f() {\n  return 1 + 2;\n}\nint g() {\n  return 1 + 3;\n}\n'
        self.assertEqual([m.place() for m in mutants.of_source("x.cpp", source)], ["x.cpp:8: `3` becomes one more"])

    def test_a_case_whose_function_would_end_without_a_result_is_none(self):
        source = "int f(Kind k) {\n  switch (k) {\n    case Kind::a:\n    case Kind::b:\n      return f();\n    default:\n      return 0;\n  }\n}\n"
        self.assertEqual([m.what for m in mutants.of_source("x.cpp", source)], [])
        later = source.replace("return f();", "if (a) return 1;\n      return 2;")
        self.assertEqual([m.what for m in mutants.of_source("x.cpp", later) if m.what == "the case is dropped"], [])
        nothing = source.replace("int f(", "void f(")
        self.assertEqual([m.what for m in mutants.of_source("x.cpp", nothing)], ["the case is dropped"] * 2)
        more = source.replace("  }\n}", "  }\n  return g();\n}")
        self.assertEqual([m.what for m in mutants.of_source("x.cpp", more)], ["the case is dropped"] * 2)

    def test_equivalents_are_mutants_of_the_sources(self):
        for path, what, text in mutants.equivalents():
            with open(os.path.join(HERE, "..", "..", path)) as file:
                lines = file.read()
            made = [m.what for m in mutants.of_source(path, lines) if lines.split("\n")[m.line].strip() == text]
            self.assertIn(what, made, path + ": " + text)

    def test_samples(self):
        earlier = [{"place": "x.cpp:99: `<` becomes `<=`", "text": "if (a < 4) r += 1;"}, {"place": "x.cpp:1: `<` becomes `<=`", "text": "gone"}]
        chosen, _ = mutants.drawn({"x.cpp": SOURCE}, 3, (1, 2), earlier)
        self.assertEqual(sorted(m.sample for m in chosen), ["1", "1", "1", "2", "2", "2", "earlier"])
        self.assertEqual(len({m.line for m in chosen}), 7)
        self.assertEqual([m.place() for m in chosen if m.sample == "earlier"], ["x.cpp:9: `<` becomes `<=`"])

    def test_each_makes_a_difference_when_it_is_on_only(self):
        if not COMPILER:
            self.skipTest("no compiler given")
        chosen, possible = mutants.drawn({"x.cpp": SOURCE}, 1000)
        self.assertGreater(possible, len(chosen), "one on a line")
        with tempfile.TemporaryDirectory() as place:
            os.makedirs(os.path.join(place, "tests/mutation"))
            for name, text in (("tests/mutation/support.h", mutants.SUPPORT), ("x.cpp", mutants.mutated(SOURCE, chosen))):
                with open(os.path.join(place, name), "w") as file:
                    file.write(text)
            program, notes = os.path.join(place, "x"), os.path.join(place, "reached")
            subprocess.run([COMPILER, "-std=c++20", "-w", "-I", place, os.path.join(place, "x.cpp"), "-o", program], check=True)

            def out(mutant):
                return subprocess.run([program], env={"COALESCE_MUTANT": str(mutant), "COALESCE_MUTANT_REACHED": notes}, capture_output=True, text=True).stdout

            right = out(0)
            self.assertEqual(right, out(-1))
            with open(notes) as file:
                reached = {int(line) for line in file}
            for m in chosen:
                alive = out(m.id) == right
                self.assertEqual(alive, m.id not in reached, m.place())
            unreached = [m.what for m in chosen if m.id not in reached]
            self.assertEqual(unreached, ["the case is dropped", "the statement is dropped"], "the other case, and the branch not taken")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        COMPILER = sys.argv.pop()
    unittest.main()
