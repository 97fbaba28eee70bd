#!/usr/bin/env python3
"""Small mistakes, one at a time: do the quick tests notice? `./dev mutate` runs this in a copy of the tree.

  mutate.py [--count 300] [--seed 1,2] [--again RESULTS] [--seconds N] [--only ID,ID] [--jobs N] [--built]

All mutants are compiled into one set of test programs; COALESCE_MUTANT selects one (mutants.py). A first run of every
test notes which mutants it reaches. Each mutant is then tried with the tests that reach it until one fails; the tests
that have found most for their time come first. Results are added to build/mutants/results.jsonl, so an interrupted run
goes on where it stopped. --again takes the mutants of an earlier run, too. --built takes the test programs as they are, which may have come from another machine: it
needs no compiler. Exit code: 0 at least 95 % of the mutants are killed, 1 fewer, 2 wrong usage, 3 no build.
"""
import argparse
import collections
import concurrent.futures
import glob
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
import mutants

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PLACE = os.path.join(ROOT, "build", "mutants")
TESTS = ("analyse_tests", "machine_tests", "isa_tests", "execute_tests", "cudart_tests", "native_tests")
WANTED = 95  # %
TOGETHER = 0.3  # seconds: shorter tests run in one process


def fail(code, what):
    print("error: " + what, file=sys.stderr)
    sys.exit(code)


def pristine():
    """{path: text} of the sources without mutants; kept aside at the first call."""
    kept, texts = os.path.join(PLACE, "pristine"), {}
    if not os.path.exists(kept):
        for folder in mutants.FOLDERS:
            shutil.copytree(os.path.join(ROOT, folder), os.path.join(kept, folder), dirs_exist_ok=True)
    for folder in mutants.FOLDERS:
        for path in glob.glob(os.path.join(kept, folder, "*.cpp")):
            with open(path) as file:
                texts[os.path.relpath(path, kept)] = file.read()
    return texts


def write(path, text):
    """Leaves a file with that text alone, so that it is not compiled again."""
    full = os.path.join(ROOT, path)
    if os.path.exists(full) and open(full).read() == text:
        return
    with open(full, "w") as file:
        file.write(text)


def build(sources, chosen):
    """Compiles the mutants; those that are no C++ are left out. Returns the others."""
    write("tests/mutation/support.h", mutants.SUPPORT)
    for _ in range(12):
        mine = collections.defaultdict(list)
        for m in chosen:
            mine[m.path].append(m)
        for path, text in sources.items():
            write(path, mutants.mutated(text, mine[path]) if mine[path] else text)
        done = subprocess.run(["ninja", "-C", "build", "-k", "0", *TESTS, *generator()], cwd=ROOT, capture_output=True, text=True,
                              env={**os.environ, "CCC_OVERRIDE_OPTIONS": "+-w +-Wno-c++11-narrowing"})
        if done.returncode == 0:
            return chosen
        where = set(re.findall(r"((?:machine|native)/[\w/]+\.cpp):(\d+):\d+: (?:error|note)", done.stdout))
        left = [m for m in chosen if (m.path, str(m.line + 1)) not in where]
        if len(left) == len(chosen):
            fail(3, "the mutants do not compile\n" + done.stdout[-4000:])
        print(f"{len(chosen) - len(left)} mutants are no C++", flush=True)
        chosen = left
    fail(3, "the mutants do not compile")


def generator():
    with open(os.path.join(ROOT, "build", "build.ninja")) as file:
        return ["coalesce-codegen"] if "coalesce-codegen" in file.read() else []


def run(program, names, mutant, seconds, reached=""):
    """Runs tests of one program. Returns whether all pass, and the seconds of a core that they took; a process that uses
    up `seconds` of a core does not pass."""
    limit = int(seconds) + 1
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "COALESCE_MUTANT": str(mutant), "XDG_CACHE_HOME": cache, "HOME": cache, "TMPDIR": cache, "COALESCE_MUTANT_REACHED": reached}
        child = subprocess.Popen([os.path.join(ROOT, "build", "bin", program), "--gtest_brief=1", "--gtest_fail_fast", "--gtest_filter=" + ":".join(names)],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, start_new_session=True,
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)))
        watch = threading.Timer(20 * limit, child.kill)  # one that waits for what never comes
        watch.start()
        _, status, used = os.wait4(child.pid, 0)
        watch.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode == 0, used.ru_utime + used.ru_stime


def tests_of(program):
    listed = subprocess.run([os.path.join(ROOT, "build", "bin", program), "--gtest_list_tests", "--gtest_filter=-*Nightly*"], capture_output=True, text=True)
    suite = ""
    for line in listed.stdout.splitlines():
        if line.startswith("  "):
            yield suite + line.split("#")[0].strip()
        elif line.endswith(".") or ".  #" in line:
            suite = line.split("#")[0].strip()


def alone(program, name):
    """What a test takes and which mutants it reaches; None: it fails without mutants."""
    with tempfile.TemporaryDirectory() as folder:
        notes = os.path.join(folder, "reached")
        passes, seconds = run(program, [name], -1, 600, notes)
        if not passes:
            print(f"left out, it fails without mutants: {program} {name}", flush=True)
            return None
        reached = sorted({int(line) for line in open(notes)}) if os.path.exists(notes) else []
    return {"program": program, "name": name, "seconds": seconds, "reached": reached}


def baseline(jobs):
    """alone() of every test. Kept, because it is half of the time."""
    path = os.path.join(PLACE, "baseline.json")
    if os.path.exists(path):
        return json.load(open(path))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        tests = [t for t in pool.map(lambda one: alone(*one), [(p, n) for p in TESTS for n in tests_of(p)]) if t]
    with open(path, "w") as file:
        json.dump(tests, file)
    return tests


def judge(mutant, tests, found):
    """The test that notices the mutant; "": none; None: none reaches it. `found` counts what each has noticed."""
    mine = [t for t in tests if mutant.id in t["reached"]]
    if not mine:
        return None
    short = [t for t in mine if t["seconds"] < TOGETHER]
    for program in TESTS:
        names = [t["name"] for t in short if t["program"] == program]
        if names and not run(program, names, mutant.id, 10 + 5 * sum(t["seconds"] for t in short if t["program"] == program))[0]:
            return program
    long = sorted((t for t in mine if t["seconds"] >= TOGETHER), key=lambda t: t["seconds"] / (1 + found[t["name"]]))
    for t in long:
        if not run(t["program"], [t["name"]], mutant.id, 10 + 5 * t["seconds"])[0]:
            found[t["name"]] += 1
            return t["name"]
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", default="1", help="a sample of --count mutants for each")
    parser.add_argument("--again", default="")
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=1, help="tests at once")
    parser.add_argument("--built", action="store_true")
    options = parser.parse_args()
    if not os.path.exists(os.path.join(ROOT, ".mutants")):
        fail(2, "this would put mistakes into your sources; `./dev mutate` makes a copy of them first")
    until = time.monotonic() + options.seconds
    os.makedirs(PLACE, exist_ok=True)
    sources = pristine()
    earlier = [json.loads(line) for line in open(options.again)] if options.again else []
    chosen, all_ = mutants.drawn(sources, options.count, [int(s) for s in options.seed.split(",") if s], earlier)
    kept = os.path.join(PLACE, "mutants.json")
    if options.built:
        ids = set(json.load(open(kept)))
        chosen = [m for m in chosen if m.id in ids]
    else:
        chosen = build(sources, chosen)
        with open(kept, "w") as file:
            json.dump([m.id for m in chosen], file)
    print(f"{len(chosen)} mutants of {all_} possible ones", flush=True)
    tests = baseline(options.jobs)
    print(f"{len(tests)} tests, {sum(t['seconds'] for t in tests):.0f} seconds of a core", flush=True)
    path = os.path.join(PLACE, "results.jsonl")
    results = {r["id"]: r for r in map(json.loads, open(path))} if os.path.exists(path) else {}
    found = collections.Counter(r["by"] for r in results.values() if r["by"])
    only = {int(i) for i in options.only.split(",") if i}
    order = sorted((m for m in chosen if (m.id in only if only else m.id not in results)),
                   key=lambda m: m.id * 7919 % 1009)  # an interrupted run has mutants of all rooms

    def one(m):
        return (m, judge(m, tests, found)) if time.monotonic() < until else None

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(one, m) for m in order]):
            if not done.result():
                continue
            m, by = done.result()
            text = sources[m.path].split("\n")[m.line].strip()
            results[m.id] = {"id": m.id, "sample": m.sample, "place": m.place(), "text": text, "by": by}
            with open(path, "a") as file:
                file.write(json.dumps(results[m.id]) + "\n")
            print(f"{m.id}: {m.place()}: {'killed by ' + by if by else 'not reached' if by is None else 'SURVIVES'}" + ("" if by else f": {text}"), flush=True)
    equivalents = mutants.equivalents()
    real = [r for r in results.values() if r["by"] or mutants.key(r) not in equivalents]
    killed = sum(1 for r in real if r["by"])
    share = 100 * killed / max(1, len(real))
    print(f"{killed} of {len(real)} mutants killed ({share:.1f} %); {sum(1 for r in real if r['by'] is None)} reached by no test; {len(results) - len(real)} are equivalent")
    return 0 if share >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
