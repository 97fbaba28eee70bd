#!/usr/bin/env python3
"""Runs every CUDA program in a folder on the machine and says which are right. Fetches nothing, and works on a copy.

  programs.py FOLDER [--coalesce PATH] [--page FILE] [--json FILE] [--seconds N] [--plain-seconds N] [--compiler NAME] [-X FLAG]

What is a program, in this order:
- what `make` builds in a folder with a Makefile, and executables that are there already, if they hold code for a GPU;
- where there is no Makefile, or `make` fails: each .cu file with a main function, which `coalesce run` compiles.
NAME.args beside a program or its source holds its arguments.

A program passes if
- its own check does: it ends with exit code 0 and prints no line that says FAIL or FAILED. Kernels that its own
  assertions or traps stop are its own affair; any other fault is not;
- the plain executor gives the same output, exit code, faults and, for launches without a fault, counters. Lines that
  differ between two runs of one executor, such as times, are not compared.

Exit code: 0 all pass, 1 some do not, 2 wrong usage, 3 there is no `coalesce`.
"""
import argparse
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
OWN_AFFAIR = ("assertion", "trap")
SAYS_FAILED = re.compile(r"\bFAIL(ED|URE)?\b")
MAIN = re.compile(r"^\s*(?:int|void|auto)\s+main\s*\(", re.M)
FOR_A_GPU = (b".nv_fatbin", b".hip_fatbin")


class Run:
    """One run: exit code, output, launches; `late` if it had to be stopped."""

    def __init__(self, code, out, err, launches, late=False):
        self.code, self.out, self.err, self.launches, self.late = code, out, err, launches, late


def started(words, folder, seconds):
    """(exit code, output, errors) of a process in a session of its own; None: it took too long, and ended with all it started."""
    child = subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, errors="replace", start_new_session=True)
    try:
        out, err = child.communicate(timeout=seconds)
        return child.returncode, out, err
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        return None


def is_program(path):
    if not (os.path.isfile(path) and os.access(path, os.X_OK)) or os.path.islink(path):
        return False
    with open(path, "rb") as file:
        text = file.read()
    return text[:4] == b"\x7fELF" and b"__cudaRegisterFatBinary" in text and any(s in text for s in FOR_A_GPU)


def has_main(path):
    with open(path, errors="replace") as file:
        return bool(MAIN.search(re.sub(r"/\*.*?\*/|//[^\n]*", "", file.read(), flags=re.S)))


def found_in(folder, options):
    """(paths of all programs below `folder`, which is a copy; [(folder, why it has none)])"""
    programs, failed = [], []
    for place, folders, files in os.walk(folder):
        folders.sort()
        why = ""
        made = any(f in files for f in ("Makefile", "makefile", "GNUmakefile"))
        if made:
            done = started(["make", "-j2"], place, options.make_seconds)
            if done is None or done[0] != 0:
                why = "`make` takes too long" if done is None else "`make` fails: " + last_line(done[2] or done[1])
        mine = [os.path.join(place, f) for f in sorted(os.listdir(place)) if is_program(os.path.join(place, f))]
        if not made or why:
            sources = [os.path.join(place, f) for f in sorted(files) if f.endswith(".cu")]
            mine += [s for s in sources if s[:-3] not in mine and has_main(s)]
        programs += mine
        if why and not mine:
            failed.append((place, why))
    return programs, failed


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:120] if lines else "without a word"


def run(path, engine, options, seconds):
    """Runs a program by one executor, in its own folder."""
    arguments = []
    given = re.sub(r"\.cu$", "", path) + ".args"
    if os.path.exists(given):
        with open(given) as file:
            arguments = shlex.split(file.read())
    with tempfile.TemporaryDirectory() as scratch:
        json_file = os.path.join(scratch, "run.json")
        words = [options.coalesce, "run", "-q", "--allow-stopped", "--engine", engine, "--json", json_file]
        words += ["--compiler", options.compiler] if path.endswith(".cu") else []
        words += [w for flag in options.flags for w in ("-X", flag)] if path.endswith(".cu") else []
        done = started([*words, path, *arguments], os.path.dirname(path), seconds)
        if done is None:
            return Run(0, "", "", [], True)
        launches = []
        if os.path.exists(json_file) and os.path.getsize(json_file):
            with open(json_file) as file:
                launches = json.load(file).get("launches", [])
        return Run(*done, launches)


def own_check(r, seconds):
    """Why the program is wrong by its own check; "": it is not."""
    if r.late:
        return f"no end within {seconds} s"
    for launch in r.launches:
        if launch.get("fault") not in (None, "none", *OWN_AFFAIR):
            return f"kernel {launch['kernel']}: {launch['fault'].replace('_', ' ')}: {first_error(r.err)}"
    if r.code == 125:
        return first_error(r.err) or "does not start"
    if r.code != 0:
        return f"exit code {r.code}" + (f": {first_error(r.err)}" if first_error(r.err) else "")
    for line in (r.out + "\n" + r.err).splitlines():
        if SAYS_FAILED.search(line):
            return "prints: " + line.strip()[:120]
    return ""


def first_error(text):
    for line in text.splitlines():
        if "error: " in line:
            return line.split("error: ", 1)[1].strip()[:120]
    return ""


def steady(one, other):
    """The lines of `one` in the places where `other` has the same; the rest as None."""
    a, b = one.splitlines(), other.splitlines()
    return [line if k < len(b) and b[k] == line else None for k, line in enumerate(a)] if len(a) == len(b) else None


def difference(r, again, plain):
    """What the plain executor gives otherwise; "": nothing. `again` is a second run of the first executor."""
    if r.code != plain.code:
        return f"exit code {r.code}, by the plain executor {plain.code}"
    if [x["kernel"] for x in r.launches] != [x["kernel"] for x in plain.launches]:
        same = [x["kernel"] for x in r.launches] == [x["kernel"] for x in again.launches]
        return "other launches by the plain executor" if same else ""
    for k, (mine, other) in enumerate(zip(r.launches, plain.launches)):
        name = f"launch {k + 1}, {mine['kernel']}"
        if mine.get("fault") != other.get("fault"):
            return f"{name}: {mine.get('fault')}, by the plain executor {other.get('fault')}"
        if mine.get("fault") not in (None, "none"):
            continue
        for counter, value in mine["counters"].items():
            unsteady = again.launches[k]["counters"].get(counter) != value if k < len(again.launches) else True
            if other["counters"].get(counter) != value and not unsteady:
                return f"{name}: {counter} {value}, by the plain executor {other['counters'].get(counter)}"
    kept, lines = steady(r.out, again.out), plain.out.splitlines()
    if kept is None:
        return ""
    for k, line in enumerate(kept):
        if line is not None and (k >= len(lines) or lines[k] != line):
            return f"prints: {line.strip()[:60]}, by the plain executor: {lines[k].strip()[:60] if k < len(lines) else 'nothing'}"
    return "" if len(lines) == len(kept) else "the plain executor prints more"


def judged(path, options):
    """(passes, why not or what is left to say)."""
    r = run(path, options.engine, options, options.seconds)
    wrong = own_check(r, options.seconds)
    if wrong:
        return False, wrong
    if options.plain_seconds == 0:
        return True, "not compared"
    plain = run(path, "plain", options, options.plain_seconds)
    if plain.late:
        return True, f"the plain executor has no end within {options.plain_seconds} s"
    again = r if plain.out == r.out and plain.launches == r.launches else run(path, options.engine, options, options.seconds)
    wrong = difference(r, again, plain)
    return (False, wrong) if wrong else (True, "")


def page(rows, folder):
    """The table as Markdown."""
    passing = sum(1 for _, passes, _ in rows if passes)
    text = f"# CUDA programs in {os.path.basename(folder)}\n\n{passing} of {len(rows)} pass.\n\n| program | passes | why not |\n|---|---|---|\n"
    for name, passes, why in rows:
        safe = why.replace("|", "\\|").replace("\n", " ")
        text += f"| {name} | {'yes' if passes else 'no'} | {safe} |\n"
    return text


def main(words):
    parser = argparse.ArgumentParser(prog="./dev programs", description="Runs every CUDA program in a folder and says which are right.",
                                     epilog="example: ./dev programs ~/cuda-samples --page samples.md")
    parser.add_argument("folder", help="where the programs are; it is copied, not changed")
    parser.add_argument("--coalesce", default=os.path.join(ROOT, "build", "bin", "coalesce"), help="the command to run them with")
    parser.add_argument("--page", default="", help="write the table there, too, as Markdown")
    parser.add_argument("--json", default="", help="write there which program fails, and why: for page.py")
    parser.add_argument("--engine", default="auto", help="the executor beside the plain one (auto)")
    parser.add_argument("--seconds", type=float, default=120, help="for one run (120)")
    parser.add_argument("--plain-seconds", type=float, default=600, help="for one run of the plain executor (600); 0: no comparison")
    parser.add_argument("--make-seconds", type=float, default=600, help="for one `make` (600)")
    parser.add_argument("--compiler", default="auto", help="what compiles .cu files: auto, nvcc, clang")
    parser.add_argument("-X", dest="flags", action="append", default=[], metavar="FLAG", help="give the compiler this flag too")
    options = parser.parse_args(words)
    options.coalesce = os.path.abspath(options.coalesce)
    if not os.path.isdir(options.folder):
        parser.error(f"there is no folder '{options.folder}'")
    if not os.access(options.coalesce, os.X_OK):
        print(f"error: there is no program '{options.coalesce}'\nhint: ./dev build", file=sys.stderr)
        return 3
    folder = os.path.abspath(options.folder)
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        copy = os.path.join(scratch, os.path.basename(folder))
        shutil.copytree(folder, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        programs, failed = found_in(copy, options)
        rows += [(os.path.relpath(place, copy), False, why) for place, why in failed]
        for path in programs:
            rows.append((os.path.relpath(path, copy), *judged(path, options)))
            print(f"{'pass' if rows[-1][1] else 'FAIL'}  {rows[-1][0]}" + (f": {rows[-1][2]}" if rows[-1][2] else ""), flush=True)
    if not rows:
        print(f"error: no CUDA program in '{options.folder}'", file=sys.stderr)
        return 2
    if options.page:
        with open(options.page, "w") as out:
            out.write(page(rows, folder))
    if options.json:
        with open(options.json, "w") as out:
            json.dump({name: "" if passes else why for name, passes, why in rows}, out, indent=1)
    print(f"{sum(1 for r in rows if r[1])} of {len(rows)} pass")
    return 0 if all(r[1] for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
