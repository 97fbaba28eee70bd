"""The counters of memory on both sides, kernel by kernel: how many agree, and why the others do not (results.py)."""
import collections
import concurrent.futures
import json
import os
import re

from common import run, table
from launches import AGAIN, bare, short

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
                     "loops around compare-and-swap for atomics that the chip lacks" if code and code["ATOMS"] else
                     f"ptxas merged or left out shared {space}s" if measured < counted else
                     f"more shared {space}s than in the PTX")
    if any(k.startswith("shared_atomic") for k in wrong):
        parts.append("additions of 1 whose lanes the memory counts (ATOMS.POPC.INC)" if code and code["ATOMS.POPC.INC"]
                     else "shared atomics of another form than in the PTX")
    if any(k.startswith("local") for k in wrong):
        counted = sum(c for k, (c, _) in wrong.items() if k.startswith("local"))
        measured = sum(m for k, (_, m) in wrong.items() if k.startswith("local"))
        parts.append("spills and the stack of calls, which ptxas makes" if not counted else
                     "ptxas kept a local array in registers" if not measured else
                     "ptxas widened accesses to local arrays, or spilled")
    if atomics := [v for k, v in wrong.items() if k.startswith(("global_atomic", "global_reduction"))]:
        parts.append("ptxas gathers a warp's updates of one address into one" if sum(m for _, m in atomics) < sum(c for c, _ in atomics)
                     else "scattered words that several lanes want take a pass more now and then, why is not known")
    if any(k.startswith("global_load") for k in wrong):
        counted, measured = wrong.get("global_load_requests", (0, 0))
        parts.append("ptxas left out or merged global loads" if measured < counted else
                     "global loads of the same number touch other sectors" if measured == counted else
                     "ptxas executes a global load that the PTX branches around" if "global_load_sectors" in wrong else
                     "lanes that leave a loop at different turns execute different copies of its load: ptxas unrolled it")
    if any(k.startswith("global_store") for k in wrong):
        tickets = code and code["ATOMG"] and "global_store_requests" not in wrong
        parts.append("places that warps get by atomics: they depend on which comes first" if tickets else
                     "ptxas left out or merged global stores")
    notes = ["equal at -O0"] if same_at_o0 else []
    if foreseen(row) and all(agrees(c, "modelled") for c in row["counters"]):
        notes.append("as `--model ptxas` counts")
    return "; ".join(parts) + (f" ({', '.join(notes)})" if notes else "")


# What `--model ptxas` does not foresee, as it stands in the machine code (cuobjdump -sass, CUDA 13.0, sm_90).
READ_IN_MACHINE_CODE = {
    ("mergeSort", "mergeElementaryIntervalsKernel"):
        "ptxas turns `if` into predicates: `LDS [0x808]` and `LDS [0x800]` stand one after the other, ahead of the comparison that "
        "in the PTX decides whether the second is read; so warps execute it that do not need it, and are a wavefront more. "
        "The stores behind it are predicated in their place, which costs nothing",
    ("histogram", "mergeHistogram64Kernel"):
        "ptxas unrolls the loop by four, with two copies for a remainder and one for the first turn: 8 `LDG` in place of one. "
        "Lanes of a warp that leave at different turns execute different copies, each a request of its own; sectors are the same",
    ("cg_task2", "DeviceSelectSweepKernel"):
        "the warps' totals are read by seven loads, three of them of four words of which the compiler says which are used "
        "(`used_bytes_mask`). ptxas merges the last three into one `LDS.128` and leaves the first four as they are, though these "
        "overlap in the same way; so five",
    ("lab/reduce", "reduce_whole"):
        "64 registers a thread, as two blocks of 512 threads fit then: ptxas puts three words of the last fold on the stack and "
        "loads two of them (`-Xptxas -v`: 12 and 8 bytes), in one warp of the launch",
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


def figure(counter):
    least, most = counter.get("measured_between", [counter["measured"]] * 2)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def lines_of(rows, wanted):
    """Table rows of the counters that are wanted."""
    return [[r["program"], f"`{short(r['kernel'])}`", r["level"], r["launches"], f"`{c['counter']}`", f"{c['counted']:,}",
             f"{c['modelled']:,}" if "modelled" in c else "", figure(c), r.get("cause", "")]
            for r in rows for c in r["counters"] if wanted(c)]


TITLES = ["program", "kernel", "level", "launches", "counter", "counted", "`--model ptxas`", "measured", "cause"]


def write(rows, failed, where, docs):
    explain(rows)
    counts = totals(rows)
    kernels = {(r["program"], r["kernel"]) for r in rows}
    public = {k for k in kernels if not k[0].startswith("lab/")}
    text = ("# The machine's counters and a GPU's\n\n"
            f"The same binaries, counted by the machine and by the hardware counters of {where['gpu']} (CUDA {where['cuda']}), "
            f"{where['date']}{tree(where)}, by `{where['command']}` (`./dev gpu`): {len(kernels) - len(public)} rungs of the lab and {len(public)} kernels of "
            "unmodified public programs. `O3` is nvcc's usual; `O0` the same PTX assembled with `-Xptxas -O0`; `--model ptxas` counts "
            "the first as if the machine had merged what ptxas merges ([counters.md](../counters.md)). Compared are the "
            "counters of memory that are not 0 on both sides, launch by launch: of each kernel of a program the first two launches. "
            "[agreement.json](agreement.json) has every figure."
            + (f" The programs are from {where['sources']}." if where.get("sources") else "") + "\n\n")
    rows_ = []
    for name, _ in FAMILIES:
        line = [name]
        for column in ("O0", "O3", "model"):
            equal, total = counts.get(column, {}).get(name, [0, 0])
            line.append(f"{equal} of {total} ({100 * equal / total:.2f} %)" if total else "")
        rows_.append(line)
    text += table(["launches that agree in", "-Xptxas -O0", "-O3", "-O3, `--model ptxas`"], rows_)
    late = sorted({r["program"] for r in rows if r["level"] == "O3" and not foreseen(r)})
    if late:
        text += f"\nThe model's column has fewer launches: there is no run of it that ended, of {', '.join(late)}.\n"
    compared_ = [r for r in rows if not without_answer(r)]
    differing = [r for r in compared_ if r.get("cause")]
    text += "\n## What differs, and why\n\n"
    by_cause = collections.Counter()
    for r in differing:
        by_cause[r["level"], r["cause"]] += r["launches"]
    text += table(["cause", "level", "launches"], [[c, l, n] for (l, c), n in by_cause.most_common()], False) + "\n"
    text += table(TITLES, lines_of(differing, lambda c: not agrees(c)), False)
    missed = [r for r in compared_ if foreseen(r) and not all(agrees(c, "modelled") for c in r["counters"])]
    if missed:
        text += ("\n## Where `--model ptxas` is wrong\n\nIt reads PTX, and cannot know what ptxas decides afterwards:\n\n"
                 + "".join(f"- {r['program']}, `{bare(r['kernel'])}`: {read_in_machine_code(r)}.\n"
                           for r in {(r["program"], bare(r["kernel"])): r for r in missed}.values()) + "\n"
                 + table(TITLES[:8], [l[:8] for l in lines_of(missed, lambda c: not agrees(c, "modelled"))], False))
    restless = [r for r in rows if unsettled(r) and not r.get("prints")]
    if restless:
        text += (f"\n## Where hardware differs from itself\n\nA program with a launch that differs, and that `--model ptxas` does not foresee, was measured again, {AGAIN} times at least. "
                 "Launches of which these measurements differ among themselves are not compared, as there is no one right figure: places "
                 "that warps get by atomics depend on which warp comes first, and a warp that waits asks as often as the other "
                 "takes long; the machine knows no time.\n\n"
                 + table(TITLES[:8], [l[:8] for l in lines_of(restless, lambda c: not agrees(c) or "measured_between" in c)], False))
    printing = [r for r in rows if r.get("prints")]
    if printing:
        text += ("\n## Kernels that print or allocate\n\nThey are not compared: on hardware `printf`, `malloc` and failing assertions "
                 "are code of NVIDIA's that moves data of its own, through buffers whose layout is not public; on the machine they "
                 "are not memory traffic at all. What both counted all the same:\n\n"
                 + table(TITLES[:8], [l[:8] for l in lines_of(printing, lambda c: True)], False))
    text += "\n## All kernels\n\n"
    all_rows = collections.OrderedDict()
    for r in compared_:
        entry = all_rows.setdefault((r["program"], short(r["kernel"])), {"O0": [0, 0], "O3": [0, 0], "model": [0, 0]})
        for column, whose in [(r["level"], "counted")] + [("model", "modelled")] * foreseen(r):
            entry[column][0] += r["launches"] * all(agrees(c, whose) for c in r["counters"])
            entry[column][1] += r["launches"]
    text += table(["program", "kernel", "-O0: launches equal", "-O3: launches equal", "`--model ptxas`"],
                  [[p, f"`{k}`"] + [f"{e[l][0]} of {e[l][1]}" if e[l][1] else "" for l in ("O0", "O3", "model")]
                   for (p, k), e in all_rows.items()])
    if failed:
        text += "\n## Not compared\n\n" + table(["program", "level", "why"], [[f["program"], f["level"], f["failed"].replace("\n", " ").replace("|", "/")] for f in failed])
    with open(os.path.join(docs, "agreement.md"), "w") as out:
        out.write(text)
    with open(os.path.join(docs, "agreement.json"), "w") as out:
        json.dump({"schema": "coalesce.agreement/2", "measured": where, "summary": counts, "rows": rows, "failed": failed}, out,
                  separators=(",", ":"))
        out.write("\n")
