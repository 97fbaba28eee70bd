"""The counters of memory on both sides, kernel by kernel: how many agree, and why the others do not (results.py)."""
import collections
import concurrent.futures
import json
import os
import re

import common  # finds docs/pages.py
from common import run
from launches import bare
from pages import bars, replace, table

MARKER = "gpu/agreement.py"
COLUMNS = {"O0": "-Xptxas -O0", "O3": "-O3", "model": "-O3, `--model ptxas`"}


def agrees(counter, whose="counted"):
    return counter[whose] == counter["measured"]


def unsettled(row):
    """Hardware gave another figure when it ran the launch again: there is no one right figure to agree with."""
    return any("measured_between" in c for c in row["counters"])


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


def prints(path):
    """Mangled names of the kernels that print or allocate, from the PTX within the program; needs cuobjdump."""
    done = run(["cuobjdump", "-ptx", path]) if os.path.exists(path) else None
    functions, now = {}, None
    for line in done.stdout.splitlines() if done else []:
        if found := re.search(r"\.(entry|func)\b(?:\s*\([^)]*\))?\s*([A-Za-z_$][\w$]*)", line):
            now = functions.setdefault(found[2], [found[1], ""])
        elif now is not None and ("call" in line or re.match(r"\s*[A-Za-z_$][\w$]*,?\s*$", line)):
            now[1] += line  # or the callee's name, which stands on a line of its own
    own = {"vprintf", "malloc", "free", "__assertfail"}
    guilty = set(own)
    for _ in functions:
        more = {n for n, (_, text) in functions.items() if n not in guilty and any(re.search(rf"\b{re.escape(g)}\b", text) for g in guilty)}
        if not more:
            break
        guilty |= more
    return {n for n in guilty if functions.get(n, [""])[0] == "entry"}


def cause_of(row, same_at_o0, code):
    """Why a launch's counters differ, from how they differ and what is in the machine code."""
    wrong = {c["counter"]: (c["counted"], c["measured"]) for c in row["counters"] if not agrees(c)}
    parts = []
    for space, letters in (("load", "LDS"), ("store", "STS")):
        if f"shared_{space}_wavefronts" not in wrong:
            continue
        counted, measured = wrong[f"shared_{space}_wavefronts"]
        wide = code and any(code[f"{letters}.{w}"] for w in ("64", "128"))
        parts.append(f"ptxas merged neighbouring shared {space}s into wider ones" if wide else
                     "ptxas writes loops around compare-and-swap for atomics that the chip lacks" if code and code["ATOMS"] else
                     f"ptxas merged or left out shared {space}s" if measured < counted else
                     f"more shared {space}s than in the PTX")
    if any(k.startswith("shared_atomic") for k in wrong):
        parts.append("the memory counts the lanes of an addition of 1 (ATOMS.POPC.INC)" if code and code["ATOMS.POPC.INC"]
                     else "ptxas chose another form of a shared atomic")
    if any(k.startswith("local") for k in wrong):
        counted = sum(c for k, (c, _) in wrong.items() if k.startswith("local"))
        measured = sum(m for k, (_, m) in wrong.items() if k.startswith("local"))
        parts.append("ptxas spills registers and keeps a stack" if not counted else
                     "ptxas kept a local array in registers" if not measured else
                     "ptxas widened accesses to local arrays, or spilled")
    if atomics := [v for k, v in wrong.items() if k.startswith(("global_atomic", "global_reduction"))]:
        parts.append("ptxas gathers a warp's updates of one address into one" if sum(m for _, m in atomics) < sum(c for c, _ in atomics)
                     else "a scattered atomic takes a pass more now and then; the cause is unknown")
    if any(k.startswith("global_load") for k in wrong):
        counted, measured = wrong.get("global_load_requests", (0, 0))
        parts.append("ptxas left out or merged global loads" if measured < counted else
                     "as many global loads touch other sectors" if measured == counted else
                     "ptxas executes a global load that the PTX branches around" if "global_load_sectors" in wrong else
                     "ptxas unrolled a loop: lanes that leave it in different turns execute different copies of its load")
    if any(k.startswith("global_store") for k in wrong):
        tickets = code and code["ATOMG"] and "global_store_requests" not in wrong
        parts.append("atomics give warps the places they store to: the places depend on which warp comes first" if tickets else
                     "ptxas left out or merged global stores")
    notes = ["equal at -O0"] if same_at_o0 else []
    if foreseen(row) and all(agrees(c, "modelled") for c in row["counters"]):
        notes.append("as `--model ptxas` counts")
    return "; ".join(parts) + (f" ({', '.join(notes)})" if notes else "")


# Cases that `--model ptxas` does not foresee, as the machine code shows them (cuobjdump -sass, CUDA 13.0, sm_90).
READ_IN_MACHINE_CODE = {
    ("mergeSort", "mergeElementaryIntervalsKernel"):
        "ptxas turns `if` into predicates and executes a shared load ahead of the comparison that guards it, also in warps that do not need the value",
    ("histogram", "mergeHistogram64Kernel"):
        "ptxas unrolls the loop into eight copies of one `LDG`; lanes that leave in different turns execute different copies, with the same sectors in all",
    ("cg_task2", "DeviceSelectSweepKernel"):
        "ptxas merges three of seven shared loads whose used bytes the compiler marks (`used_bytes_mask`), and leaves the other four",
    ("lab/reduce", "reduce_whole"):
        "with 64 registers a thread, ptxas spills three words of the last fold in one warp",
}


def read_in_machine_code(row):
    kernel = bare(row["kernel"])
    return READ_IN_MACHINE_CODE.get((row["program"], kernel), "not looked into yet")


def without_answer(row):
    return row.get("prints") or unsettled(row)


FAMILIES = [("global requests and sectors", re.compile(r"^global_")), ("shared wavefronts", re.compile(r"^shared_.*wavefronts")),
            ("local requests and sectors", re.compile(r"^local_"))]


def foreseen(row):
    return row["level"] == "O3" and all("modelled" in c for c in row["counters"])


def totals(rows):
    """{level: {family: [launches that agree, launches that have any]}}; "model": -O3 as `--model ptxas` counts."""
    counts = {}
    columns = [(r["level"], "counted", r) for r in rows] + [("model", "modelled", r) for r in rows if foreseen(r)]
    for column, whose, row in columns:
        if without_answer(row):
            continue
        for name, pattern in FAMILIES:
            mine = [c for c in row["counters"] if pattern.match(c["counter"])]
            if not mine:
                continue
            entry = counts.setdefault(column, {}).setdefault(name, [0, 0])
            entry[1] += row["launches"]
            entry[0] += row["launches"] * all(agrees(c, whose) for c in mine)
    return counts


def note_machine_code(rows, binaries):
    """Marks rows of kernels that print; puts the machine code's memory instructions into rows that differ. Needs cuobjdump."""
    code = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        printing = dict(zip(binaries.values(), pool.map(prints, binaries.values())))
    for row in rows:
        path = binaries.get((row["program"], row["level"]))
        if not path:
            continue
        name = bare(row["kernel"])
        row["prints"] = any(name in k for k in printing[path])
        if all(agrees(c) for c in row["counters"]):
            continue
        if path not in code:
            code[path] = machine_code(path)
        own = sum((v for k, v in code[path].items() if name in k), collections.Counter())
        if own:
            row["machine_code"] = dict(own)


def explain(rows):
    """Puts the cause into rows that differ."""
    equal = {}
    for r in rows:
        if r["level"] == "O0":
            equal[r["program"], r["kernel"]] = equal.get((r["program"], r["kernel"]), True) and all(map(agrees, r["counters"]))
    for row in rows:
        row.pop("cause", None)
        if not all(map(agrees, row["counters"])):
            same_at_o0 = row["level"] == "O3" and equal.get((row["program"], row["kernel"]), False)
            row["cause"] = cause_of(row, same_at_o0, collections.Counter(row.get("machine_code", {})))


def tree(where):
    return f", tree {where['commit']}" if where.get("commit") else ""


def ways(rows):
    """`program kernel` of the rows, each once; template arguments are cut."""
    return ", ".join(dict.fromkeys(f"{r['program']} `{bare(r['kernel'])}`" for r in rows))


def summary(counts):
    lines = []
    for name, _ in FAMILIES:
        line = [name]
        for column in COLUMNS:
            equal, total = counts.get(column, {}).get(name, [0, 0])
            line.append(f"{equal} of {total} ({100 * equal / total:.2f} %)" if total else "")
        lines.append(line)
    return table(["launches that agree in", *COLUMNS.values()], lines)


def plot(counts):
    return bars("Launches whose counters all agree, %",
                [(f"{name.split()[0]}, {title.replace('`', '')}", 100 * counts[column][name][0] / counts[column][name][1])
                 for name, _ in FAMILIES for column, title in COLUMNS.items() if counts.get(column, {}).get(name)], "%", 100)


def claim(counts):
    parts = [f"in {'all' if equal == total else equal} {'' if equal == total else 'of '}{total} launches that use {what} memory"
             for what, name in (("global", FAMILIES[0][0]), ("shared", FAMILIES[1][0]))
             for equal, total in [counts.get("O0", {}).get(name, [0, 0])] if total]
    return f"With `-Xptxas -O0` the counters agree {' and '.join(parts)}." if parts else "No launch was compared."


def by_cause(rows):
    causes = collections.OrderedDict()
    for r in rows:
        causes.setdefault((r["cause"], r["level"]), []).append(r)
    ordered = sorted(causes.items(), key=lambda entry: -sum(r["launches"] for r in entry[1]))
    return table(["cause", "level", "launches", "where"],
                 [[cause, level, sum(r["launches"] for r in mine), ways(mine)] for (cause, level), mine in ordered], False)


def page(rows, failed, where):
    """The generated part of agreement.md."""
    counts = totals(rows)
    kernels = {(r["program"], r["kernel"]) for r in rows}
    public = {k for k in kernels if not k[0].startswith("lab/")}
    text = (f"{claim(counts)}\n\n{summary(counts)}\n![Share of the launches that agree](agreement.svg)\n\n"
            f"- **Measured** on {where['gpu']} (CUDA {where['cuda']}), {where['date']}{tree(where)}.\n"
            f"- **Compared:** {len(kernels) - len(public)} rungs of the lab and {len(public)} kernels of unmodified public programs, two launches of each.\n"
            + (f"- **Programs** from {where['sources']}.\n" if where.get("sources") else "") +
            "- **Levels:** `-O3` is nvcc's default; `-Xptxas -O0` assembles the same PTX without optimisation; "
            "`--model ptxas` merges requests as ptxas does ([counters.md](../counters.md)).\n"
            "- **Agreement** is equality of every memory counter of the launch. [agreement.json](agreement.json) has every figure.\n"
            "- **Repeat:** `./dev gpu --programs FOLDER`; `gpu/results.py --again` writes this part from agreement.json.\n")
    late = sorted({r["program"] for r in rows if r["level"] == "O3" and not foreseen(r)})
    if late:
        text += f"\n`--model ptxas` has no finished run of {', '.join(late)}, so its column has fewer launches.\n"
    compared_ = [r for r in rows if not without_answer(r)]
    differing = [r for r in compared_ if r.get("cause")]
    if differing:
        text += "\n## What differs, and why\n\n" + by_cause(differing)
    missed = [r for r in compared_ if foreseen(r) and not all(agrees(c, "modelled") for c in r["counters"])]
    if missed:
        text += ("\n## Where `--model ptxas` is wrong\n\nThe model reads PTX; ptxas decides more than PTX says:\n\n"
                 + "".join(f"- {r['program']}, `{bare(r['kernel'])}`: {read_in_machine_code(r)}.\n"
                           for r in {(r["program"], bare(r["kernel"])): r for r in missed}.values()))
    restless = [r for r in rows if unsettled(r) and not r.get("prints")]
    printing = [r for r in rows if r.get("prints")]
    if restless or printing or failed:
        text += "\n## Not compared\n\n"
    if restless:
        text += (f"- **Hardware differs from itself** in repeated measurements: {ways(restless)}. Warps get places by atomics there, or poll, "
                 "so the counts depend on timing.\n")
    if printing:
        text += f"- **Kernels that print or allocate:** {ways(printing)}. `printf` and `malloc` are NVIDIA's code there and cost no traffic here.\n"
    for f in failed:
        why = f["failed"].replace("\n", " ").replace("|", "/")
        text += f"- **No figures:** {f['program']} at -{f['level']}: {why}.\n"
    return text


def write(rows, failed, where, docs):
    """agreement.json, agreement.svg and, between its markers, agreement.md."""
    explain(rows)
    counts = totals(rows)
    path = os.path.join(docs, "agreement.md")
    if not os.path.exists(path):
        with open(path, "w") as out:
            out.write(f"# Do the counters agree with a GPU's?\n\n<!-- begin: {MARKER} -->\n<!-- end -->\n")
    replace(path, MARKER, page(rows, failed, where))
    with open(os.path.join(docs, "agreement.svg"), "w") as out:
        out.write(plot(counts) if counts else "")
    with open(os.path.join(docs, "agreement.json"), "w") as out:
        json.dump({"schema": "coalesce.agreement/2", "measured": where, "summary": counts, "rows": rows, "failed": failed}, out,
                  separators=(",", ":"))
        out.write("\n")
