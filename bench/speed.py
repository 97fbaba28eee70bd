#!/usr/bin/env python3
"""docs/results/speed.md's generated part and speed.svg from what bench_machine measured (./dev speed).

    speed.py FILE.json --machine TEXT [--lab NAME=SECONDS]... [--docs FOLDER]
"""
import argparse
import json
import os
import statistics
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
sys.path.append(os.path.join(ROOT, "docs"))
import pages

MARKER = "./dev speed"
LAB_TARGETS = {"reduce": 1.5, "all": 20}  # seconds
FIRST_LAUNCH = 0.02  # seconds that a first launch by `auto` may take longer than an interpreted one


def rate(row, key):
    return row[key]["median"] if key in row else None


def number(value):
    return "" if value is None else f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def of_plain(row):
    """Native code's speed as a share of the plain loop's."""
    if "plain_seconds" not in row or "native" not in row:
        return None
    return statistics.median(row["plain_seconds"]) / statistics.median(row["native"]["seconds"])


def later(row, key):
    """By how many seconds first launches of that kind end later than interpreted ones: the median of pairs."""
    return statistics.median(b - a for a, b in zip(row["first_launch"]["interpreter"], row["first_launch"][key]))


def targets(data, lab):
    """(what, at least or at most, the target, measured, unit)"""
    found = []
    for row in data["rows"]:
        if "native" not in row:
            continue
        kernel, in_memory = row["kernel"], row["bound_by_memory"]
        if row["target"] > 0:
            found.append((kernel, "at least", row["target"], row["native"]["median"], "M/s"))
            if "avx2" in row:
                found.append((f"{kernel}, AVX2", "at least", round(row["target"] / 3), row["avx2"]["median"], "M/s"))
        if row["faster_target"] > 0:
            found.append((f"{kernel}, native / interpreter", "at least", row["faster_target"], row["faster"], ""))
        if in_memory:
            found.append((f"{kernel}, native / plain loop", "at least", 0.9, of_plain(row), ""))
        if "native_ratio" in row and not in_memory and row["times"] == 1:
            found.append((f"{kernel}, two threads / one", "at least", 1.9, row["native_ratio"], ""))
    first = [(later(row, "cold"), row["kernel"]) for row in data["rows"] if "first_launch" in row]
    if first:
        found.append((f"first launch by `auto` against interpreted, at worst ({max(first)[1]})", "at most", FIRST_LAUNCH * 1e3, max(first)[0] * 1e3, "ms"))
    if "median" in data.get("start_up", {}):
        found.append(("`coalesce run` of an empty kernel", "at most", 100, data["start_up"]["median"] * 1e3, "ms"))
    if "resident_bytes" in data.get("memory", {}):
        over = data["memory"]["resident_bytes"] / data["memory"]["allocated_bytes"] - 1
        found.append((f"memory beyond the kernel's arrays ({data['memory']['kernel']})", "at most", 25, over * 100, "%"))
    return found + [(f"`coalesce lab {name}`", "at most", LAB_TARGETS[name], seconds, "s") for name, seconds in lab.items()]


def met(target):
    _, bound, limit, measured, _ = target
    return measured >= limit if bound == "at least" else measured <= limit


def page(data, machine, lab):
    rows = data["rows"]
    native = [r for r in rows if "native" in r]
    all_targets = targets(data, lab)
    missed = [t for t in all_targets if not met(t)]
    claim = ""
    if native:
        rates, faster = [r["native"]["median"] for r in native], [r["faster"] for r in native]
        claim = (f"One thread of native code executes {number(min(rates))} to {number(max(rates))} million warp instructions a second, "
                 f"{number(min(faster))} to {number(max(faster))} times the interpreter.\n\n")
    undisturbed = min((r["one_thread"].get("share_of_cores", 1) for r in rows), default=1)
    if undisturbed < 0.95:
        claim += f"**Disturbed:** other programs ran; one thread had down to {100 * undisturbed:.0f} % of a core.\n\n"
    text = (claim + f"- **Measured** on {machine}.\n- **Repeat**: `./dev speed`; it takes 8 minutes, and nothing else should run.\n\n"
            "![Speed by kernel and executor](speed.svg)\n\nMillions of warp instructions a second:\n\n"
            + pages.table(["kernel", "n", "interpreter", "native", "two threads", "native / interpreter", "native / plain loop", "POCL", "Oclgrind"],
                          [[r["kernel"], r["n"] if r["times"] == 1 else f"{r['n']} x {r['times']}", number(rate(r, "one_thread")), number(rate(r, "native")),
                            number(rate(r, "native_two")), number(r.get("faster")), number(of_plain(r)), number(rate(r, "pocl")),
                            number(rate(r, "oclgrind"))] for r in rows])
            + f"\nOf {len(all_targets)} targets {len(all_targets) - len(missed)} are met.\n\n## Whole commands\n\n"
            + pages.table(["what", "target", "measured"], [[what, f"{bound} {limit:g} {unit}", f"{number(measured)} {unit}"]
                                                           for what, bound, limit, measured, unit in all_targets if unit in ("ms", "s", "%")]))
    if missed:
        text += "\n## Targets that are missed\n\n" + pages.table(
            ["what", "target", "measured"], [[what, f"{bound} {limit:g} {unit}".strip(), f"{number(measured)} {unit}".strip()] for what, bound, limit, measured, unit in missed])
    return text


def plot(rows):
    series = {name: [rate(r, key) for r in rows] for name, key in
              (("native", "native"), ("interpreter", "one_thread"), ("POCL", "pocl"), ("Oclgrind", "oclgrind"))}
    return pages.groups("Millions of warp instructions a second, one thread", [r["kernel"] for r in rows],
                        {name: line for name, line in series.items() if any(line)}, "M/s")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("file")
    options.add_argument("--machine", required=True, help="date and computer")
    options.add_argument("--lab", action="append", default=[], metavar="NAME=SECONDS")
    options.add_argument("--docs", default=os.path.join(ROOT, "docs/results"))
    chosen = options.parse_args()
    with open(chosen.file) as file:
        data = json.load(file)
    lab = {name: float(seconds) for name, seconds in (each.split("=") for each in chosen.lab)}
    with open(os.path.join(chosen.docs, "speed.svg"), "w") as out:
        out.write(plot(data["rows"]))
    pages.replace(os.path.join(chosen.docs, "speed.md"), MARKER, page(data, chosen.machine, lab))


if __name__ == "__main__":
    main()
