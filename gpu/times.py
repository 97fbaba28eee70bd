#!/usr/bin/env python3
"""Measured times of launches, as a file that tests and docs/results/time.md read: tests/truth/times.json.

  times.py --measured FOLDER --counted FOLDER --programs LIST --reported PROGRAM ... --seed TEXT --gpu NAME [--driver D] [--date D]
      >tests/truth/times.json

LIST has lines "name|program arguments"; a name that begins with "lab-" is an experiment of the lab. FOLDER has NAME.csv of
each (`ncu --clock-control none --cache-control all --csv --page raw --print-units base --metrics ...`, METRICS below) and
NAME.json (`coalesce run --json` of the same program and arguments), which numbers the launches: ncu measures the first few
launches of each kernel, so the n-th measured launch of one kernel, grid and block is the machine's n-th.
"""
import argparse
import csv
import hashlib
import io
import json
import os
import re
import sys

sys.dont_write_bytecode = True
from launches import short

SCHEMA = "coalesce.times/1"
PERCENT = ".avg.pct_of_peak_sustained_elapsed"
# Ours: (Nsight Compute's, by which it is divided).
METRICS = {"us": ("gpu__time_duration.sum", 1e3), "registers": ("launch__registers_per_thread", 1),
           "dram_read_bytes": ("dram__bytes_read.sum", 1), "dram_write_bytes": ("dram__bytes_write.sum", 1),
           "l2_sectors": ("lts__t_sectors.sum", 1), "l2_hit_sectors": ("lts__t_sectors_lookup_hit.sum", 1),
           "l1_hit_sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum", 1)}
COMPUTE, MEMORY = "sm__throughput" + PERCENT, "gpu__compute_memory_throughput" + PERCENT
# The units whose share memory's can be; it is L1's where it is neither of these.
SHARES = {"dram": "gpu__dram_throughput" + PERCENT, "l2": "lts__throughput" + PERCENT}
BUSY = 60  # percent; Nsight's section "Speed of Light" says "latency" where neither computing nor memory reaches it
ALIKE = 1  # percent: between shares that are one, but measured in two passes


def number(text):
    return float(text.replace(",", "")) if text else None


def plain(kernel):
    """One spelling for what ncu and the machine call the same kernel: no namespaces, casts, suffixes, or names of booleans."""
    name = short(re.sub(r"\((bool|char|short|int|long|unsigned \w+)\)(?=-?\d)", "", kernel))
    name = re.sub(r"\w+::|\s+|(?<=\d)[ul]+\b", "", name)
    return re.sub(r"\bfalse\b", "0", re.sub(r"\btrue\b", "1", name))


def dimensions(text):
    return [int(v) for v in re.findall(r"\d+", text)]


def measured_rows(text):
    """The launches of one CSV of ncu, in order, as dictionaries of text."""
    begin = text.find('"ID"')
    rows = list(csv.DictReader(io.StringIO(text[begin:]))) if begin >= 0 else []
    return [row for row in rows if row["ID"] and number(row.get(METRICS["us"][0]))]


def bound(row):
    """What Nsight's section "Speed of Light" names: latency where neither computing nor memory is busy, else the busier of the
    two, and of memory the unit whose share memory's is: a unit's own share also counts what memory's does not (L2's, the
    traffic between its halves). None: not measured."""
    if not all(row.get(metric) for metric in (COMPUTE, MEMORY, *SHARES.values())):
        return None
    compute, memory = number(row[COMPUTE]), number(row[MEMORY])
    if max(compute, memory) < BUSY:
        return "latency"
    if compute >= memory:
        return "issue"
    apart = {unit: abs(number(row[metric]) - memory) for unit, metric in SHARES.items()}
    unit = min(apart, key=apart.get)
    return unit if apart[unit] <= ALIKE else "shared"


def joined(rows, counted):
    """(measured row, index of the machine's launch) of each measured launch that the machine has, too."""
    places = {}
    for index, launch in enumerate(counted):
        places.setdefault((plain(launch["kernel"]), *launch["grid"], *launch["block"]), []).append(index)
    for row in rows:
        key = (plain(row["Kernel Name"]), *dimensions(row["Grid Size"]), *dimensions(row["Block Size"]))
        if places.get(key):
            yield row, places[key].pop(0)


def launches_of(name, arguments, rows, counted):
    program = "lab/" + name[4:].split(".")[0] if name.startswith("lab-") else name.replace("-", "/", 1)
    for row, index in joined(rows, counted):
        launch = counted[index]
        out = {"program": program, "arguments": arguments, "launch": index, "kernel": short(launch["kernel"]), "grid": launch["grid"],
               "block": launch["block"], "shared": int(number(row["launch__shared_mem_per_block_static"]) + number(row["launch__shared_mem_per_block_dynamic"]))}
        for ours, (theirs, scale) in METRICS.items():
            value = number(row.get(theirs))
            out[ours] = None if value is None else round(value / scale, 3) if scale != 1 else int(value)
        active = number(row.get("sm__warps_active.avg.pct_of_peak_sustained_active"))
        out["occupancy"] = None if active is None else round(active / 100, 3)
        out["bound_by"] = bound(row)
        yield out


def chosen_by(seed, programs):
    """Programs in the order in which a hash of the seed and the name chooses those to report, so that nobody does."""
    return sorted(programs, key=lambda program: hashlib.sha256(f"{seed}:{program.split('/')[-1]}".encode()).hexdigest())


def set_of(program, reported):
    """What a program's launches are for: to report, or to fit on, which all are that somebody has looked at."""
    return "report" if program in reported else "fit"


def write(data, out):
    """One launch a line."""
    head = {k: v for k, v in data.items() if k != "launches"}
    out.write(json.dumps(head, separators=(",", ":"))[:-1] + ',\n"launches":[\n')
    out.write(",\n".join(json.dumps(launch, separators=(",", ":")) for launch in data["launches"]) + "\n]}\n")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("measured", "counted", "programs"):
        options.add_argument("--" + name, required=True, action="append")
    options.add_argument("--seed", required=True)
    options.add_argument("--reported", action="append", default=[])
    for name in ("gpu", "driver", "date", "commit", "sources"):
        options.add_argument("--" + name, default="")
    chosen = options.parse_args()
    rows, without = [], []
    for listed in chosen.programs:
        for line in filter(None, map(str.strip, open(listed))):
            name, words = line.split("|")
            csvs = [p for p in (os.path.join(f, name + ".csv") for f in chosen.measured) if os.path.exists(p)]
            jsons = [p for p in (os.path.join(f, name + ".json") for f in chosen.counted) if os.path.exists(p) and os.path.getsize(p)]
            found = []
            if csvs and jsons:
                with open(csvs[0], errors="replace") as text, open(jsons[0]) as counted:
                    found = list(launches_of(name, words.split()[1:], measured_rows(text.read()), json.load(counted)["launches"]))
            rows += found
            if not found:
                without.append(name)
    for row in rows:
        row["set"] = set_of(row["program"], chosen.reported)
    sys.stderr.write(f"{len(rows)} launches of {len({row['program'] for row in rows})} programs; none of {', '.join(without)}\n")
    write({"schema": SCHEMA, "device": chosen.gpu, "driver": chosen.driver, "date": chosen.date, "commit": chosen.commit, "seed": chosen.seed,
           "reported": chosen_by(chosen.seed, chosen.reported),
           "how": "ncu --clock-control none --cache-control all", "sources": chosen.sources, "launches": rows}, sys.stdout)


if __name__ == "__main__":
    main()
