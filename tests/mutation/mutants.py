"""Where a C++ source can be changed by one small mistake, and the source with all of them in it, each behind a switch."""
import os
import random
import re

FOLDERS = ("machine/ptx", "machine/program", "machine/program/flatten", "machine/execute", "native/analyse", "native/emit")

# Included by every mutated file. COALESCE_MUTANT: the mutant that is on; -1: each notes once in COALESCE_MUTANT_REACHED
# that it was reached.
SUPPORT = r"""// Made by tests/mutation/mutants.py.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>
namespace mutant {
inline int read() { const char* v = std::getenv("COALESCE_MUTANT"); return v ? std::atoi(v) : 0; }
inline const int active = read();  // 0, none, while static objects are made
inline bool noted[100000];
inline void note(int id) {
  if (noted[id]) return;
  noted[id] = true;
  if (std::FILE* f = std::fopen(std::getenv("COALESCE_MUTANT_REACHED"), "a")) std::fprintf(f, "%d\n", id), std::fclose(f);
}
inline bool hit(int id) {
  if (__builtin_expect(active == 0, 1)) return false;
  if (active == -1) note(id);
  return active == id;
}
template <int id> constexpr bool on() { return std::is_constant_evaluated() ? false : hit(id); }
template <int id> constexpr bool off() { return !on<id>(); }
template <int id, class T> constexpr T number(T v) { return on<id>() ? static_cast<T>(v + 1) : v; }
// `a == Equal<7>{} == b`: two operators of the same rank in place of one.
#define MUTANT_COMPARISON(name, op, other)                                                              \
  template <int id> struct name {};                                                                     \
  template <int id, class L> struct name##Left { const L& l; };                                         \
  template <class L, int id> constexpr name##Left<id, L> operator op(const L& l, name<id>) { return {l}; } \
  template <int id, class L, class R> constexpr auto operator op(name##Left<id, L> a, const R& r) {     \
    return on<id>() ? a.l other r : a.l op r;                                                           \
  }
MUTANT_COMPARISON(Equal, ==, !=)
MUTANT_COMPARISON(Differs, !=, ==)
MUTANT_COMPARISON(Less, <, <=)
MUTANT_COMPARISON(LessEqual, <=, <)
MUTANT_COMPARISON(Greater, >, >=)
MUTANT_COMPARISON(GreaterEqual, >=, >)
#undef MUTANT_COMPARISON
}  // namespace mutant
"""
NAMES = {"==": "Equal", "!=": "Differs", "<": "Less", "<=": "LessEqual", ">": "Greater", ">=": "GreaterEqual"}
OTHER = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">"}

COMPARISON = re.compile(r" (==|!=|<=|>=|<|>) (?=\S)")
LOGIC = re.compile(r" (&&|\|\|) ")
NUMBER = re.compile(r"(?<= [-+*/%&|] )(?<!= [-+*/%&|] )\d+u?\b(?![.'xX])|(?<= (?:<<|>>) )\d+u?\b(?![.'xX])")
CASE = re.compile(r"^\s*case (?:\w+::)*\w+:(?!:)")
IF = re.compile(r"^(\s*(?:\} else |else )?if )\(")
STATEMENT = re.compile(r"^(\s+)((?:\+\+|--)?[\w.\[\]:*>-]+(?:\(.*\)| (?:=|\+=|-=|\|=|&=|\*=|<<=|>>=) .*|\+\+|--)?);$")
KEYWORD = re.compile(r"^\s*(return|break|continue|throw|using|const|static|auto|else|for|while|do|goto|delete|default|public|private)\b")
LEFT_ALONE = re.compile(r"^\s*#|static_assert|constexpr|template|requires|noexcept|operator|friend|enum |\bcase\b.*\?|\[&\]|\[=\]|\[this\]|\]\(")


class Mutant:
    """One change of one line: `text` at [start, end) becomes `switched`, which does what it did until the mutant is on."""

    def __init__(self, path, line, start, end, switch, what):
        self.path, self.line, self.start, self.end, self.switch, self.what = path, line, start, end, switch, what
        self.id, self.sample = 0, ""

    def place(self):
        return f"{self.path}:{self.line + 1}: {self.what}"


def blanked(line):
    """The line with the contents of its strings, characters and comment blanked."""
    line = re.sub(r'"(?:[^"\\]|\\.)*"', lambda m: '"' + "_" * (len(m[0]) - 2) + '"', line)
    line = re.sub(r"'(?:[^'\\]|\\.)'", lambda m: "'" + "_" * (len(m[0]) - 2) + "'", line)
    return re.sub(r"//.*", lambda m: " " * len(m[0]), line).rstrip()


def closing(line, at):
    """Where the parenthesis that opens at `at` closes; -1: on a later line."""
    depth = 0
    for k in range(at, len(line)):
        depth += (line[k] == "(") - (line[k] == ")")
        if depth == 0:
            return k
    return -1


def of_line(path, number, raw, before):
    """The mutants of one line; `before` is the line before it."""
    line = blanked(raw)
    if LEFT_ALONE.search(line):
        return
    for m in COMPARISON.finditer(line):
        op = m[1]
        yield Mutant(path, number, m.start(1), m.end(1), lambda i, op=op: f"{op} ::mutant::{NAMES[op]}<{i}>{{}} {op}", f"`{op}` becomes `{OTHER[op]}`")
    for m in LOGIC.finditer(line):
        op, state = m[1], "off" if m[1] == "&&" else "on"
        yield Mutant(path, number, m.start(1), m.end(1), lambda i, op=op, s=state: f"{op} ::mutant::{s}<{i}>() {op}", f"`{op}` is always {'false' if op == '&&' else 'true'}")
    for m in NUMBER.finditer(line):
        yield Mutant(path, number, m.start(), m.end(), lambda i, n=m[0]: f"::mutant::number<{i}>({n})", f"`{m[0]}` becomes one more")
    if m := CASE.match(line):
        yield Mutant(path, number, m.end(), m.end(), lambda i: f" if (::mutant::on<{i}>()) break;", "the case is dropped")
    if m := IF.match(line):
        end = closing(line, m.end() - 1)
        condition = line[m.end():end]
        if end > 0 and " = " not in condition and ";" not in condition:
            yield Mutant(path, number, m.end(), end, lambda i, c=raw[m.end():end]: f"static_cast<bool>({c}) != ::mutant::on<{i}>()", "the condition is reversed")
    follows = re.search(r"([;{}:]|\belse)$", before) or before == "" or re.match(r"^\s*(if|for|while|\} else if|else if) \(.*\)$", before)
    if (m := STATEMENT.match(line)) and follows and not KEYWORD.match(line) and line.count("(") == line.count(")") and "{" not in line:
        yield Mutant(path, number, m.start(2), m.end(2) + 1, lambda i, s=raw[m.start(2):m.end(2)]: f"::mutant::on<{i}>() ? void() : void({s});", "the statement is dropped")


def ends_in_nothing(lines, number):
    """Whether a case that is dropped comes to the end of a function that returns something: no program then, so that a
    compiler takes it for what never happens."""
    def indent(k):
        return len(lines[k]) - len(lines[k].lstrip())

    inner = indent(number)
    arm = next(k for k in range(number + 1, len(lines)) if not CASE.match(lines[k]))
    over = next((k for k in range(arm, len(lines)) if lines[k].strip() and indent(k) <= inner), len(lines))
    after = next((k for k in range(number, len(lines)) if lines[k].startswith(" " * (inner - 2) + "}")), len(lines))
    head = next((lines[k] for k in range(number, -1, -1) if re.match(r"[\w:]", lines[k]) and "(" in lines[k]), "")
    returns = any(re.search(r"\breturn [^;]", line) for line in lines[arm:over])
    return returns and not head.startswith("void ") and after + 1 < len(lines) and lines[after + 1].strip() in ("}", "};")


def of_source(path, text):
    before, until = "", None
    lines = text.split("\n")
    for number, raw in enumerate(lines):
        if until:  # in a raw string, or in a function that the compiler evaluates
            until = None if until(raw) else until
        elif 'R"(' in raw and ')"' not in raw:
            until = lambda line: ')"' in line
        elif raw.startswith("constexpr ") and raw.endswith(") {"):
            until = lambda line: line == "}"
        else:
            for m in of_line(path, number, raw, before):
                if m.what != "the case is dropped" or not ends_in_nothing(lines, number):
                    yield m
        before = blanked(raw)


def drawn(sources, count, seeds=(1,), earlier=()):
    """Mutants of {path: text}, numbered from 1; on a line at most one. First those of `earlier` results that the sources
    still have, then `count` for each seed. A mutant's `sample` is "earlier" or the seed."""
    everything = [m for path in sorted(sources) for m in of_source(path, sources[path])]
    texts = {path: text.split("\n") for path, text in sources.items()}
    chosen, lines = [], set()

    def take(m, sample):
        if (m.path, m.line) in lines:
            return False
        lines.add((m.path, m.line))
        m.sample = sample
        chosen.append(m)
        return True

    for result in earlier:
        path, line, what = result["place"].split(":", 2)
        same = [m for m in everything if m.path == path and m.what == what.strip() and texts[path][m.line].strip() == result["text"]]
        for m in sorted(same, key=lambda m: abs(m.line + 1 - int(line)))[:1]:
            take(m, "earlier")
    for seed in seeds:
        order, number = list(everything), 0
        random.Random(seed).shuffle(order)
        for m in order:
            number += number < count and take(m, str(seed))
    chosen.sort(key=lambda m: (m.path, m.line))
    for number, m in enumerate(chosen):
        m.id = number + 1
    return chosen, len(everything)


def equivalents():
    """{(path, change, line's text): why}: mutants that compute the same for every input, or change only speed."""
    found = {}
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "equivalent.txt")) as file:
        for line in file:
            if not line.startswith("#"):
                path, what, rest = line.rstrip("\n").split(" | ", 2)
                text, why = rest.rsplit(" | ", 1)
                found[path, what, text] = why
    return found


def key(result):
    """What equivalents() knows a result by."""
    path, _, what = result["place"].split(":", 2)
    return path, what.strip(), result["text"]


def mutated(text, mutants):
    lines = text.split("\n")
    for m in mutants:
        lines[m.line] = lines[m.line][:m.start] + m.switch(m.id) + lines[m.line][m.end:]
    return '#include "tests/mutation/support.h"\n#line 1\n' + "\n".join(lines)
