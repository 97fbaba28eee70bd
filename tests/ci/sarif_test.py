#!/usr/bin/env python3
"""SARIF of `run` and `check` against the standard's schema, by a validator that is not ours.   sarif_test.py SOURCE BINARY
The schema comes from npm (@microsoft/jest-sarif carries it); needs the network and Debian's python3-jsonschema."""
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

try:
    import jsonschema
except ImportError:
    print("skipped: no python3-jsonschema")
    sys.exit(77)

SOURCE, BINARY = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
PACKAGE = "@microsoft/jest-sarif@1.0.0-beta.0"
ENVIRONMENT = {**os.environ, "XDG_CACHE_HOME": str(BINARY / "tests/cache")}


def output(*words, code=0, **options):
    ended = subprocess.run([str(BINARY / "bin/coalesce"), *words], stdout=subprocess.PIPE, env=ENVIRONMENT, cwd=SOURCE, **options)
    assert ended.returncode == code, (words, ended.returncode)
    return json.loads(ended.stdout)


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        [archive] = pathlib.Path(folder).glob("*.tgz")
        with tarfile.open(archive) as files:
            [name] = [n for n in files.getnames() if "/schemas/sarif-2.1.0" in n]
            schema = json.load(files.extractfile(name))
    validator = jsonschema.validators.validator_for(schema)(schema, format_checker=jsonschema.FormatChecker())
    logs = {
        "waste": output("run", "-q", "--sarif", "-", "--require", "store_excess == 1", "examples/transpose.cu", code=4),
        "hazards": output("check", "-q", "--sarif", "-", "examples/race.cu", code=4),
        "nothing": output("run", "-q", "--sarif", "-", "examples/saxpy.cu"),
    }
    failures = 0
    for name, log in logs.items():
        errors = [f"{'/'.join(map(str, e.path))}: {e.message[:200]}" for e in validator.iter_errors(log)]
        print(f"{name}: {len(log['runs'][0]['results'])} results, {len(errors)} errors", *errors, sep="\n  ")
        failures += len(errors)
    # The validator has to see what is wrong.
    for spoil in (lambda r: r.update(level="fatal"), lambda r: r.pop("message"),
                  lambda r: r["locations"][0]["physicalLocation"]["region"].update(startLine=0)):
        log = json.loads(json.dumps(logs["hazards"]))
        spoil(log["runs"][0]["results"][0])
        failures += validator.is_valid(log)
    return failures != 0


sys.exit(main())
