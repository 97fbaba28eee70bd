#!/usr/bin/env python3
"""Measures everything on the GPU of this computer and writes what docs/results/ says about it (./dev gpu).

  results.py [--coalesce PROGRAM] [--docs FOLDER] [--programs FOLDER] [--experiments A,B,...] [--name h200]

Writes NAME.md, NAME.json and NAME-*.svg: every experiment of the lab, counted and measured; agreement.md and
agreement.json: the counters of memory on both sides, of the experiments (ptxas as it is, and with -Xptxas -O0) and of the
programs in the folder. Those are built beforehand with `nvcc -cudart shared -gencode
arch=compute_90,code=[sm_90,compute_90]`, each as NAME.O3 and NAME.O0 (the latter with -Xptxas -O0); a file NAME.args may
hold arguments. Nothing but Python is needed; cuobjdump, where there is one, tells what ptxas made of a kernel.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import datetime
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import threading

MEMORY = re.compile(r"^(global|local|shared)_")
LEVELS = {"O3": [], "O0": ["-X", "-Xptxas=-O0"]}


def run(words, seconds=120, environment=None, **more):
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=seconds,
                              env={**os.environ, **(environment or {})}, errors="replace", **more)
    except subprocess.TimeoutExpired:
        return None


def first_line(words):
    try:
        done = subprocess.run(words, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip().splitlines()[0] if done.stdout.strip() else ""


def provenance():
    gpu = first_line(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"])
    version = run(["nvcc", "--version"])
    release = re.search(r"release ([\d.]+)", version.stdout if version else "")
    return {"gpu": gpu, "cuda": release[1] if release else "", "date": datetime.date.today().isoformat(),
            "host": f"{os.cpu_count()} cores, {platform.machine()}", "command": "./dev gpu"}


def compile_ahead(coalesce, experiments):
    """All programs into the command's cache, as many at a time as there are cores; one run compiles them in turn."""
    listed = run([coalesce, "lab"]).stdout
    names = [line.split()[0] for line in listed.splitlines() if line and not line.startswith(" ")]
    wanted = names if experiments == ["all"] else experiments
    jobs = [(name, level) for level in LEVELS for name in wanted]

    def small(job):
        words = [coalesce, "lab", job[0], "--on", "gpu", *LEVELS[job[1]]]
        done = run([*words, "--n", "1"], 200)
        return run(words, 200) if done is not None and done.returncode == 2 else done  # it takes no --n

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (name, level), done in zip(jobs, pool.map(small, jobs)):
            if done is None or done.returncode:
                sys.stderr.write(f"{name} at -{level}: {done.stderr if done else 'took too long'}\n")


def lab(coalesce, experiments, level, folder):
    path = os.path.join(folder, f"lab.{level}.json")
    done = run([coalesce, "lab", *experiments, "--on", "both", "--color", "never", "--json", path, *LEVELS[level]], 400)
    if done is None or not os.path.exists(path):
        sys.exit(f"coalesce lab: {done.stderr if done else 'took too long'}")
    sys.stderr.write(done.stderr)
    return json.load(open(path))


# ---- The experiments' page ------------------------------------------------------------------------------------------


def us(seconds):
    return f"{seconds * 1e6:.2f}" if seconds < 1e-4 else f"{seconds * 1e6:.1f}"


def table(titles, rows, right=()):
    """A Markdown table; columns that no row has anything in are left out."""
    keep = [c for c in range(len(titles)) if c == 0 or any(row[c] != "" for row in rows)]
    lines = ["| " + " | ".join(titles[c] for c in keep) + " |",
             "|" + "|".join("---:" if titles[c] in right or c else "---" for c in keep) + "|"]
    lines += ["| " + " | ".join(str(row[c]) for c in keep) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def bars(title, rows, unit):
    """A bar chart as SVG; rows: (name, value)."""
    height, width, left = 22, 720, 190
    most = max(value for _, value in rows)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height * len(rows) + 34}" '
           'font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="#ffffff"/>',
           f'<text x="8" y="18" font-weight="bold">{title}</text>']
    for i, (name, value) in enumerate(rows):
        y, length = 30 + i * height, (width - left - 110) * value / most
        out.append(f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{name.replace("<", "&lt;")}</text>')
        out.append(f'<rect x="{left}" y="{y + 2}" width="{length:.1f}" height="{height - 8}" fill="#2f6f8f"/>')
        out.append(f'<text x="{left + length + 6:.1f}" y="{y + 13}">{value:.4g} {unit}</text>')
    return "\n".join(out) + "\n</svg>\n"


def experiment_part(e, docs, name):
    gpu, rungs = e["gpu"], [r for r in e["rungs"] if "gpu" in r]
    part = f"## {e['name']}\n\n{e['title']} (`coalesce lab {' '.join([e['name'], *e['sizes']])} --on both`)\n\n"
    copies = any("span_seconds" in r["gpu"] for r in rungs)
    if copies:
        rows = []
        for r in rungs:
            g, row = r["gpu"], [f"`{r['name']}`", us(r["gpu"].get("span_seconds", 0))]
            for way in ("h2d", "d2h"):
                seconds, moved = g.get(way + "_seconds", 0), r.get("copies", {}).get(way, {}).get("bytes", 0)
                row += [us(seconds) if seconds else "", f"{moved / seconds * 1e-9:.1f}" if seconds else ""]
            rows.append(row)
        part += table(["rung", "the whole, us", "to device, us", "GB/s", "to host, us", "GB/s"], rows)
        plotted = [(r["name"], r["gpu"]["span_seconds"] * 1e6) for r in rungs if r["gpu"].get("span_seconds")]
    else:
        rows = []
        for r in rungs:
            g = r["gpu"]
            cold, warm, rate = g.get("cold_seconds"), g.get("warm_seconds"), g.get("effective_bytes_per_second", 0)
            rows.append([f"`{r['name']}`", us(cold["median"]) if cold else "", us(cold["spread"]) if cold else "",
                         us(warm["median"]) if warm else "", us(warm["spread"]) if warm else "",
                         f"{rate * 1e-9:.1f}" if rate else "",
                         f"{100 * rate / gpu['read_bytes_per_second']:.1f} %" if rate else "",
                         f"{100 * rate / gpu['copy_bytes_per_second']:.1f} %" if rate else "",
                         f"{g['cycles']:.1f}" if g.get("cycles") else ""])
        part += table(["rung", "cold, us", "±", "warm, us", "±", "GB/s", "of read", "of copy", "cycles a step"], rows)
        plotted = [(r["name"], r["gpu"]["cold_seconds"]["median"] * 1e6) for r in rungs if "cold_seconds" in r["gpu"]]
    if plotted:
        file = f"{name}-{e['name']}.svg"
        with open(os.path.join(docs, file), "w") as out:
            out.write(bars(f"{e['name']}: microseconds" + ("" if copies else ", cold L2"), plotted, "us"))
        part += f"\n![{e['name']}: time of each rung]({file})\n"
    if e["claims"]:
        rows = []
        for c in e["claims"]:
            unit = " " + c["unit"] if c["unit"] else ""
            value = "" if c["value"] is None else f"{c['value']:.4g} ({'measured' if c.get('measured') else 'counted'})"
            rows.append([c["text"], c["document"], "" if c["figure"] is None else f"{c['figure']:g}{unit}", value,
                         c["verdict"] + (": " + c["reason"] if c["reason"] else "")])
        part += "\n" + table(["claim", "document", "it says", "here", "verdict"], rows)
    return part + "\n"


def write_results(data, where, docs, name):
    experiments = data["experiments"]
    limits = experiments[0]["gpu"]
    verdicts = collections.Counter(c["verdict"] for e in experiments for c in e["claims"])
    text = (f"# The lab on an {limits['name']}\n\n"
            f"Every experiment of the lab, run natively on {where['gpu']} (CUDA {where['cuda']}, {where['host']}), "
            f"{where['date']}; `{where['command']}` makes this page, its plots and [{name}.json]({name}.json) anew.\n\n"
            "Times are CUDA events around one launch, ten repetitions after one that is not counted; shown is the median, "
            "± half the distance of the quartiles. *Cold*: a buffer of twice the L2 cache was read before each. *Warm*: the "
            "program's own arrays were. Before each repetition device memory is put back as it was, so kernels that work in "
            "place do the same work each time. Clocks were left alone. *GB/s* is effective bandwidth: the bytes that an "
            "infinite cache would still have to move (`compulsory_bytes`, read and written), over the cold time; *of read* and "
            "*of copy* its share of what our own kernels reached in the same run (gpu/limits.cu):\n\n"
            + table(["limit", "measured"],
                    [["read, 1 GiB", f"{limits['read_bytes_per_second'] * 1e-9:.0f} GB/s"],
                     ["copy, 1 GiB, read and written", f"{limits['copy_bytes_per_second'] * 1e-9:.0f} GB/s"],
                     ["an empty launch after another", f"{limits['launch_following_seconds'] * 1e6:.2f} us"],
                     ["an empty launch, waited for", f"{limits['launch_waited_seconds'] * 1e6:.2f} us"]])
            + f"\nClaims: {verdicts['holds']} hold, {verdicts['does not hold']} do not hold, "
            f"{verdicts['cannot be judged here']} cannot be judged here. A share above 100 % is an array that a cache holds "
            "in spite of the flush, as it was written by the kernel itself.\n\n")
    for e in experiments:
        text += experiment_part(e, docs, name)
    with open(os.path.join(docs, name + ".md"), "w") as out:
        out.write(text.rstrip() + "\n")
    with open(os.path.join(docs, name + ".json"), "w") as out:
        json.dump({"measured": where, "lab": data}, out, separators=(",", ":"))
        out.write("\n")


# ---- Agreement ------------------------------------------------------------------------------------------------------


def rows_of_lab(data, level):
    for e in data["experiments"]:
        for r in e["rungs"]:
            measured = r.get("gpu", {}).get("counters")
            if measured is None:
                continue
            counters = [{"counter": k, "counted": r["counters"][k], "measured": v} for k, v in measured.items()
                        if MEMORY.match(k) and not k.endswith("_lines") and (r["counters"][k] or v)]
            yield {"program": "lab/" + e["name"], "kernel": r["name"], "level": level, "launches": r["launches"],
                   "counters": counters}


GPU = threading.Lock()  # one program at a time may read its counters


def rows_of_program(coalesce, path, launches):
    """Every launch's counters by the machine and by the GPU, or why there are none."""
    name, level = os.path.basename(path).rsplit(".", 1)
    words = open(path[:-3] + ".args").read().split() if os.path.exists(path[:-3] + ".args") else []
    with tempfile.TemporaryDirectory() as folder:
        sides = {}
        for side, more in (("machine", ["--threads", "4"]), ("gpu", ["--on", "gpu"])):
            file = os.path.join(folder, side + ".json")
            with GPU if side == "gpu" else contextlib.nullcontext():
                done = run([coalesce, "run", "-q", "--json", file, *more, path, *words], 60,
                           {"COALESCE_GPU_LAUNCHES": str(launches)}, cwd=os.path.dirname(path))
            if done is None or not os.path.exists(file) or not os.path.getsize(file):
                return [{"program": name, "level": level,
                         "failed": f"{side}: {'took too long' if done is None else done.stderr.strip()[:200]}"}]
            sides[side] = file
        done = run([coalesce, "compare", "--json", "-", sides["machine"], sides["gpu"]])
        try:
            compared = json.loads(done.stdout)
        except (ValueError, AttributeError):
            return [{"program": name, "level": level, "failed": "compare: " + (done.stderr if done else "took too long")}]
    kernels = collections.OrderedDict()
    for row in compared["counters"]:
        kernel = kernels.setdefault(row["kernel"], collections.OrderedDict())
        kernel.setdefault(row["launch"], []).append({k: row[k] for k in ("counter", "counted", "measured")})
    rows = []
    for kernel, numbered in kernels.items():
        # One entry a launch with figures of its own; equal launches are one entry.
        seen = collections.OrderedDict()
        for counters in numbered.values():
            seen.setdefault(json.dumps(counters), [0, counters])[0] += 1
        rows += [{"program": name, "kernel": kernel, "level": level, "launches": n, "counters": c} for n, c in seen.values()]
    return rows or [{"program": name, "level": level, "failed": "no launch on both sides"}]


OPCODES = re.compile(r"\b(LDG|STG|LDS|STS|LDL|STL|ATOMS|ATOMG|ATOM|RED|REDG|REDUX|LDSM|LDGSTS)((?:\.[A-Z0-9_]+)*)")


def machine_code(path):
    """{kernel's mangled name: Counter of memory instructions in machine code, by name and width}."""
    done = run(["cuobjdump", "-sass", path]) if os.path.exists(path) else None
    kernels, now = {}, None
    for line in done.stdout.splitlines() if done else []:
        if "Function :" in line:
            now = kernels.setdefault(line.split(":")[1].strip(), collections.Counter())
        elif now is not None and (found := OPCODES.search(line)):
            width = next((w for w in ("128", "64") if "." + w in found[2]), "32")
            popc = ".POPC.INC" if "POPC" in found[2] else ""
            now[found[1] + popc + ("" if width == "32" else "." + width)] += 1
    return kernels


def cause_of(row, same_at_o0, code):
    """Why a launch's counters differ, from how they differ and what is in the machine code."""
    wrong = {c["counter"]: (c["counted"], c["measured"]) for c in row["counters"] if c["counted"] != c["measured"]}
    parts = []
    wide = code and any(code[f"LDS.{w}"] for w in ("64", "128"))
    if "shared_load_requests" in wrong:
        counted, measured = wrong["shared_load_requests"]
        parts.append("ptxas merged neighbouring shared loads into wider ones" if measured < counted and wide else
                     "ptxas left out shared loads" if measured < counted else
                     "loops around compare-and-swap for atomics that the chip lacks" if code and code["ATOMS"] else
                     "ptxas predicated or hoisted shared loads")
    elif "shared_load_wavefronts" in wrong:
        parts.append("shared loads of another width than in the PTX")
    if "shared_store_requests" in wrong:
        counted, measured = wrong["shared_store_requests"]
        parts.append("ptxas merged or left out shared stores" if measured < counted else "more shared stores than in the PTX")
    elif "shared_store_wavefronts" in wrong:
        parts.append("shared stores of another width than in the PTX")
    if any(k.startswith("shared_atomic") for k in wrong):
        parts.append("additions of a constant counted by one lane (ATOMS.POPC.INC)" if code and code["ATOMS.POPC.INC"]
                     else "shared atomics of another form than in the PTX")
    if any(k.startswith("local") for k in wrong):
        counted = sum(c for k, (c, _) in wrong.items() if k.startswith("local"))
        measured = sum(m for k, (_, m) in wrong.items() if k.startswith("local"))
        parts.append("spills and the stack of calls, which ptxas makes" if not counted else
                     "ptxas kept a local array in registers" if not measured else
                     "ptxas widened accesses to local arrays, or spilled")
    if any(k.startswith(("global_atomic", "global_reduction")) for k in wrong):
        parts.append("ptxas gathers a warp's updates of one address into one")
    if any(k.startswith("global_load") for k in wrong):
        counted, measured = wrong.get("global_load_requests", (0, 0))
        parts.append("ptxas left out or merged global loads" if measured < counted else
                     "ptxas executes a global load that the PTX branches around" if measured > counted else
                     "global loads of the same number touch other sectors")
    if any(k.startswith("global_store") for k in wrong):
        parts.append("ptxas left out or merged global stores")
    text = "; ".join(parts)
    return text + (" (equal at -O0)" if same_at_o0 else "")


FAMILIES = [("global requests and sectors", re.compile(r"^global_")), ("shared wavefronts", re.compile(r"^shared_.*wavefronts")),
            ("shared requests", re.compile(r"^shared_.*requests")), ("local requests and sectors", re.compile(r"^local_"))]


def agreement(rows):
    """{level: {family: [launches that agree, launches that have any]}}"""
    counts = {}
    for row in rows:
        for name, pattern in FAMILIES:
            mine = [c for c in row["counters"] if pattern.match(c["counter"])]
            if not mine:
                continue
            entry = counts.setdefault(row["level"], {}).setdefault(name, [0, 0])
            entry[1] += row["launches"]
            entry[0] += row["launches"] * all(c["counted"] == c["measured"] for c in mine)
    return counts


def explain(rows, binaries):
    equal = {(r["program"], r["kernel"]): True for r in rows if r["level"] == "O0"}
    for r in rows:
        if r["level"] == "O0" and any(c["counted"] != c["measured"] for c in r["counters"]):
            equal[r["program"], r["kernel"]] = False
    code = {}
    for row in rows:
        if all(c["counted"] == c["measured"] for c in row["counters"]):
            continue
        path = binaries.get((row["program"], row["level"]))
        if path and path not in code:
            code[path] = machine_code(path)
        bare = re.sub(r"<.*", "", re.sub(r"\(.*", "", row["kernel"])).split(" ")[-1].split("::")[-1]
        own = sum((v for k, v in code.get(path, {}).items() if bare in k), collections.Counter())
        if own:
            row["machine_code"] = dict(own)
        row["cause"] = cause_of(row, row["level"] == "O3" and equal.get((row["program"], row["kernel"]), False), own)


def write_agreement(rows, failed, where, docs):
    counts = agreement(rows)
    kernels = {(r["program"], r["kernel"]) for r in rows}
    public = {k for k in kernels if not k[0].startswith("lab/")}
    text = ("# The machine's counters and a GPU's\n\n"
            f"The same binaries, counted by the machine and by the hardware counters of {where['gpu']} (CUDA {where['cuda']}), "
            f"{where['date']}, by `{where['command']}`: {len(kernels) - len(public)} rungs of the lab and {len(public)} kernels of "
            "unmodified public programs. `O3` is nvcc's usual; `O0` the same PTX assembled with `-Xptxas -O0`. Compared are the "
            "counters of memory that are not 0 on both sides, launch by launch. "
            "[agreement.json](agreement.json) has every figure.\n\n")
    rows_ = []
    for name, _ in FAMILIES:
        line = [name]
        for level in ("O0", "O3"):
            equal, total = counts.get(level, {}).get(name, [0, 0])
            line.append(f"{equal} of {total} ({100 * equal / total:.2f} %)" if total else "")
        rows_.append(line)
    text += table(["launches that agree in", "-Xptxas -O0", "-O3"], rows_)
    differing = [r for r in rows if r.get("cause")]
    text += "\n## What differs, and why\n\n"
    by_cause = collections.Counter()
    for r in differing:
        by_cause[r["level"], r["cause"]] += r["launches"]
    text += table(["cause", "level", "launches"], [[c, l, n] for (l, c), n in by_cause.most_common()]) + "\n"
    lines = []
    for r in differing:
        for c in r["counters"]:
            if c["counted"] != c["measured"]:
                lines.append([f"{r['program']}", f"`{short(r['kernel'])}`", r["level"], r["launches"], f"`{c['counter']}`",
                              f"{c['counted']:,}", f"{c['measured']:,}", r["cause"]])
    text += table(["program", "kernel", "level", "launches", "counter", "counted", "measured", "cause"], lines)
    text += "\n## All kernels\n\n"
    all_rows = collections.OrderedDict()
    for r in rows:
        entry = all_rows.setdefault((r["program"], short(r["kernel"])), {"O0": [0, 0], "O3": [0, 0]})[r["level"]]
        entry[0] += r["launches"] * all(c["counted"] == c["measured"] for c in r["counters"])
        entry[1] += r["launches"]
    text += table(["program", "kernel", "-O0: launches equal", "-O3: launches equal"],
                  [[p, f"`{k}`"] + [f"{e[l][0]} of {e[l][1]}" if e[l][1] else "" for l in ("O0", "O3")]
                   for (p, k), e in all_rows.items()])
    if failed:
        text += "\n## Not compared\n\n" + table(["program", "level", "why"], [[f["program"], f["level"], f["failed"].replace("\n", " ").replace("|", "/")] for f in failed])
    with open(os.path.join(docs, "agreement.md"), "w") as out:
        out.write(text)
    with open(os.path.join(docs, "agreement.json"), "w") as out:
        json.dump({"schema": "coalesce.agreement/1", "measured": where, "summary": counts, "rows": rows, "failed": failed}, out,
                  separators=(",", ":"))
        out.write("\n")


def short(kernel):
    return re.sub(r"\(anonymous namespace\)::", "", re.sub(r"\((?!anonymous).*", "", kernel)).replace("void ", "", 1)


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--coalesce", default=os.path.join(root, "build/bin/coalesce"))
    options.add_argument("--docs", default=os.path.join(root, "docs/results"))
    options.add_argument("--programs", default="")
    options.add_argument("--experiments", default="all")
    options.add_argument("--name", default="h200")
    options.add_argument("--launches", type=int, default=4, help="of each kernel of a program")
    chosen = options.parse_args()
    where = provenance()
    os.makedirs(chosen.docs, exist_ok=True)
    rows, failed, binaries = [], [], {}
    compile_ahead(chosen.coalesce, chosen.experiments.split(","))
    with tempfile.TemporaryDirectory() as folder:
        for level in LEVELS:
            data = lab(chosen.coalesce, chosen.experiments.split(","), level, folder)
            if level == "O3":
                write_results(data, where, chosen.docs, chosen.name)
            rows += rows_of_lab(data, level)
    paths = []
    if chosen.programs:
        folder = os.path.abspath(chosen.programs)
        paths = sorted(os.path.join(folder, f) for f in os.listdir(folder) if f.endswith((".O0", ".O3")))
    # The GPU is one: programs take turns there; the machine counts several at a time.
    with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 4) // 4)) as pool:
        for path, found in zip(paths, pool.map(lambda p: rows_of_program(chosen.coalesce, p, chosen.launches), paths)):
            name, level = os.path.basename(path).rsplit(".", 1)
            binaries[name, level] = path
            for row in found:
                (failed if "failed" in row else rows).append(row)
    explain(rows, binaries)
    write_agreement(rows, failed, where, chosen.docs)


if __name__ == "__main__":
    main()
