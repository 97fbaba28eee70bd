#!/usr/bin/env python3
"""On a GPU: runs Compute Sanitizer's tools on the programs of tests/hazards, each case in a process of its own.

usage: check_corpus.py FOLDER OUT.json [SECONDS [EARLIER.json]]    FOLDER has programs that nvcc made of tests/hazards/*.cu, with
-lineinfo. After SECONDS no further process begins; what EARLIER.json has is not run again.

OUT.json: {"tool": version, "gpu": name, "date": day, "runs": [{file, case, form, tool, code, lines, says}]}; code 9: the
tool has found something; 124: the case was ended after its time. Right forms of a file run in one process ("*")."""

import concurrent.futures
import datetime
import json
import os
import re
import subprocess
import sys
import time

TOOLS = {
    "memcheck": ["--leak-check", "full", "--destroy-on-device-error", "kernel", "--track-stream-ordered-races", "all"],
    "racecheck": ["--racecheck-report", "all"],
    "initcheck": [],
    "synccheck": [],
}
LIMIT = 25  # seconds a process; those of libcu++ take ten before they begin


def command(words):
    return subprocess.run(words, capture_output=True, text=True, errors="replace", check=False).stdout


def main():
    folder, out = sys.argv[1], sys.argv[2]
    earlier = []
    if len(sys.argv) > 4:
        with open(sys.argv[4], encoding="utf-8") as f:
            earlier = json.load(f)["runs"]
    done = {(r["file"], r["case"], r["form"], r["tool"]) for r in earlier}
    end = time.monotonic() + (float(sys.argv[3]) if len(sys.argv) > 3 else 1e9)
    helps = command(["compute-sanitizer", "--help"])
    if "initcheck-address-space" in helps:
        TOOLS["initcheck"] += ["--initcheck-address-space", "all"]
    print({t: " ".join(o) for t, o in TOOLS.items()}, flush=True)
    jobs, ends = [], set()
    for name in sorted(os.listdir(folder)):
        tools = ["memcheck", "initcheck"] if name.startswith("host_") else list(TOOLS)
        if name == "deadlocks":
            tools = ["racecheck", "synccheck"]
        jobs += [(name, "*", "right", t) for t in tools]
        ends |= {(name, case) for case in command([os.path.join(folder, name), "list"]).split()}
        for line in command([os.path.join(folder, name), "names"]).splitlines():
            case, *only = line.split()
            if not only:
                jobs += [(name, case, "wrong", t) for t in tools]

    jobs = sorted((job for job in jobs if job not in done), key=lambda job: job[:2] in ends)  # those may run into LIMIT

    def run(job):
        name, case, form, tool = job
        if time.monotonic() > end:
            return None
        words = ["compute-sanitizer", "--tool", tool, *TOOLS[tool], "--error-exitcode", "9", "--print-limit", "20"]
        words += [os.path.join(folder, name)] + ([case] if case != "*" else []) + [form]
        begin = time.monotonic()
        child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                 start_new_session=True)
        try:
            text, code = child.communicate(timeout=LIMIT)[0], child.returncode
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, 9)
            text, code = child.communicate()[0], 124
        says = [l.strip("= ") for l in text.splitlines() if re.match(r"========= [A-Z]", l)]
        says = [s for s in says if not s.startswith(("COMPUTE-SANITIZER", "ERROR SUMMARY", "RACECHECK SUMMARY", "LEAK SUMMARY"))]
        lines = {m for m in re.findall(r"in (\w+\.cu):(\d+)", text)}
        return {"file": name, "case": case, "form": form, "tool": tool, "code": code,
                "lines": sorted(int(n) for _, n in lines), "says": says[:3],
                "seconds": round(time.monotonic() - begin, 1)}

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        runs = list(pool.map(run, jobs))
    version = re.search(r"[Vv]ersion ([\d.]+)", command(["compute-sanitizer", "--version"]))
    gpu = command(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]).strip().splitlines()
    result = {"tool": version[1] if version else "", "gpu": gpu[0] if gpu else "",
              "date": str(datetime.date.today()), "left_out": runs.count(None), "runs": earlier + [r for r in runs if r]}
    with open(out, "w", encoding="utf-8") as f:
        json.dump(result, f, indent=0)
        f.write("\n")
    print(len(result["runs"]), "runs,", result["left_out"], "left out,", sum(r["code"] == 9 for r in result["runs"]), "found,",
          sum(r["code"] == 124 for r in result["runs"]), "timed out")


main()
