"""The counters of memory on both sides, kernel by kernel: how many agree, and why the others do not (results.py)."""
import collections
import contextlib
import json
import os
import re
import tempfile
import threading

from common import run, table

# Shared requests are left out: gpu/counters.h says why.
MEMORY = re.compile(r"^(global|local)_(load|store|atomic|reduction)_(requests|sectors)$|^shared_.*_wavefronts$")


def rows_of_lab(data, level):
    for e in data["experiments"]:
        for r in e["rungs"]:
            measured = r.get("gpu", {}).get("counters")
            if measured is None:
                continue
            counters = [{"counter": k, "counted": r["counters"][k], "measured": v} for k, v in measured.items()
                        if MEMORY.match(k) and (r["counters"][k] or v)]
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
    if wrong.get("global_load_requests", (1, 0))[0] == 0 and wrong.get("local_load_requests", (1, 0))[0] == 0:
        return "printf or malloc on the device: on hardware they are code that moves data of its own"
    for space, letters in (("load", "LDS"), ("store", "STS")):
        if f"shared_{space}_wavefronts" not in wrong:
            continue
        counted, measured = wrong[f"shared_{space}_wavefronts"]
        wide = code and any(code[f"{letters}.{w}"] for w in ("64", "128"))
        parts.append(f"ptxas merged neighbouring shared {space}s into wider ones" if wide else
                     "loops around compare-and-swap for atomics that the chip lacks" if code and code["ATOMS"] else
                     f"ptxas merged or left out shared {space}s" if measured < counted else
                     f"more shared {space}s than in the PTX")
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
    tickets = code and code["ATOMG"] and all(k in ("global_load_sectors", "global_store_sectors") for k in wrong)
    if tickets:
        return "places that warps get by atomics: they depend on which comes first, and are not the same from run to run"
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
            ("local requests and sectors", re.compile(r"^local_"))]


def totals(rows):
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


def note_machine_code(rows, binaries):
    """Puts the machine code's memory instructions into rows that differ; needs cuobjdump."""
    code = {}
    for row in rows:
        path = binaries.get((row["program"], row["level"]))
        if not path or all(c["counted"] == c["measured"] for c in row["counters"]):
            continue
        if path not in code:
            code[path] = machine_code(path)
        bare = re.sub(r"<.*", "", short(row["kernel"])).split(" ")[-1].split("::")[-1]
        own = sum((v for k, v in code[path].items() if bare in k), collections.Counter())
        if own:
            row["machine_code"] = dict(own)


def explain(rows):
    """Puts the cause into rows that differ."""
    equal = {}
    for r in rows:
        if r["level"] == "O0":
            same = all(c["counted"] == c["measured"] for c in r["counters"])
            equal[r["program"], r["kernel"]] = equal.get((r["program"], r["kernel"]), True) and same
    for row in rows:
        row.pop("cause", None)
        if any(c["counted"] != c["measured"] for c in row["counters"]):
            same_at_o0 = row["level"] == "O3" and equal.get((row["program"], row["kernel"]), False)
            row["cause"] = cause_of(row, same_at_o0, collections.Counter(row.get("machine_code", {})))


def write(rows, failed, where, docs):
    explain(rows)
    counts = totals(rows)
    kernels = {(r["program"], r["kernel"]) for r in rows}
    public = {k for k in kernels if not k[0].startswith("lab/")}
    text = ("# The machine's counters and a GPU's\n\n"
            f"The same binaries, counted by the machine and by the hardware counters of {where['gpu']} (CUDA {where['cuda']}), "
            f"{where['date']}, by `{where['command']}` (`./dev gpu`): {len(kernels) - len(public)} rungs of the lab and {len(public)} kernels of "
            "unmodified public programs. `O3` is nvcc's usual; `O0` the same PTX assembled with `-Xptxas -O0`. Compared are the "
            "counters of memory that are not 0 on both sides, launch by launch: of each kernel of a program the first two launches. "
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
    text += table(["cause", "level", "launches"], [[c, l, n] for (l, c), n in by_cause.most_common()], False) + "\n"
    lines = []
    for r in differing:
        for c in r["counters"]:
            if c["counted"] != c["measured"]:
                lines.append([f"{r['program']}", f"`{short(r['kernel'])}`", r["level"], r["launches"], f"`{c['counter']}`",
                              f"{c['counted']:,}", f"{c['measured']:,}", r["cause"]])
    text += table(["program", "kernel", "level", "launches", "counter", "counted", "measured", "cause"], lines, False)
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
