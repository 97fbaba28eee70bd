#!/usr/bin/env python3
"""Runs clang-tidy over the C++ files of all rooms, each once for its content.

usage: tidy.py BUILD [--update | --since REVISION] [FILE...]

A file's key is the SHA-256 of the file, of the project's headers that it includes (directly or not), and of .clang-tidy. Keys of
files that have passed stand in $XDG_CACHE_HOME/coalesce/tidy; files with other keys are checked.
--since checks what differs from REVISION: .cpp files that changed, and for a header that changed the shortest file that includes it.
--update checks all and writes into .ci/tidy.clean the revision at which all rooms pass: .ci/run checks what has changed since.
BUILD holds compile_commands.json. Exit code: 0 all pass, 1 otherwise, 2 there is no such revision, or --update finds changes that
are not committed.
"""
import concurrent.futures
import hashlib
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CLEAN = os.path.join(ROOT, ".ci", "tidy.clean")
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "coalesce", "tidy")
INCLUDE = re.compile(rb'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)
contents, includes = {}, {}


def read(path):
    if path not in contents:
        with open(os.path.join(ROOT, path), "rb") as file:
            contents[path] = file.read()
    return contents[path]


def included(path):
    """The project's files that `path` includes directly: relative to the root, to include/ or to its own folder."""
    if path not in includes:
        found = []
        for name in INCLUDE.findall(read(path)):
            for base in ("", "include", os.path.dirname(path)):
                candidate = os.path.normpath(os.path.join(base, name.decode()))
                if not candidate.startswith("..") and os.path.isfile(os.path.join(ROOT, candidate)):
                    found.append(candidate)
                    break
        includes[path] = found
    return includes[path]


def reached(path):
    """`path` and the project's files that it includes, directly or not."""
    seen, waiting = set(), [path]
    while waiting:
        file = waiting.pop()
        if file not in seen:
            seen.add(file)
            waiting += included(file)
    return seen


def key(path):
    digest = hashlib.sha256(read(".clang-tidy"))
    for file in sorted(reached(path)):
        digest.update(file.encode() + b"\0" + hashlib.sha256(read(file)).digest())
    return digest.hexdigest()[:20]


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True)


def changed_since(revision, files):
    """Those of `files` that see each file that differs from `revision` at least once; None without such a revision."""
    done = git("diff", "--name-only", revision, "--")
    if done.returncode:
        return None
    changed = set(done.stdout.split())
    chosen = [f for f in files if f in changed]
    unseen = changed.difference(*map(reached, chosen))
    for path in sorted(set(files) - set(chosen), key=lambda f: (len(read(f)), f)):
        if new := unseen & reached(path):
            chosen.append(path)
            unseen -= new
    return sorted(chosen)


def check(build, path):
    done = subprocess.run(["clang-tidy-19", "-p", build, "--quiet", path], cwd=ROOT, capture_output=True, text=True)
    return path, done.returncode == 0, done.stdout + "".join(
        line + "\n" for line in done.stderr.splitlines() if "warnings generated" not in line and "warning generated" not in line)


def main(arguments):
    update = "--update" in arguments
    build, *files = [a for a in arguments if a != "--update"]
    if update and git("status", "--porcelain").stdout:
        print("error: there are changes that are not committed\nhint: git commit, then again", file=sys.stderr)
        return 2
    since = files[1] if files[:1] == ["--since"] and len(files) > 1 else None
    if since:
        files = files[2:]
    if not files:
        listed = git("ls-files", "--cached", "--others", "--exclude-standard", "--", "*.cpp").stdout.split()
        files = [f for f in listed if os.path.isfile(os.path.join(ROOT, f))]
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as database:
        commands = database.read()
    files = [f for f in files if f'{ROOT}/{f}"' in commands]  # what this machine's configuration compiles
    if since:
        files = changed_since(since, files)
        if files is None:
            print(f"error: there is no revision {since}\nhint: git fetch --unshallow", file=sys.stderr)
            return 2
    keys = {path: key(path) for path in files}
    os.makedirs(CACHE, exist_ok=True)
    passed = set(os.listdir(CACHE))
    todo = [path for path in files if keys[path] not in passed]
    print(f"tidy: {len(files) - len(todo)} files have passed with this content, {len(todo)} to check", flush=True)
    failed = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, good, text in pool.map(lambda p: check(build, p), todo):
            if good:
                open(os.path.join(CACHE, keys[path]), "w", encoding="utf-8").close()
            else:
                failed.append(path)
                print(text, flush=True)
    if update and not failed:
        with open(CLEAN, "w", encoding="utf-8") as out:
            out.write(git("rev-parse", "HEAD").stdout)
    if failed:
        print(f"tidy: {len(failed)} files fail: {' '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
