"""Programs on both sides, the machine and the GPU: every launch's counters of memory (results.py)."""
import collections
import concurrent.futures
import contextlib
import json
import os
import re
import time

from common import run

# Shared requests are left out: gpu/counters.h says why.
MEMORY = re.compile(r"^(global|local)_(load|store|atomic|reduction)_(requests|sectors)$|^shared_.*_wavefronts$")
AGAIN = 2  # further measurements of a program whose counters differ and were not foreseen: does hardware agree with itself?
# A run that takes longer is stopped; the launches that it has counted stand. On the GPU this is waiting for others, too.
SECONDS = {"gpu": 40, "machine": 100}


class Failed(Exception):
    pass


def short(kernel):
    """A kernel's name without what it returns and takes."""
    return re.sub(r"\(anonymous namespace\)::", "", re.sub(r"\((?!anonymous).*", "", kernel)).replace("void ", "", 1)


def bare(kernel):
    """Without its template arguments and namespaces, too."""
    return re.sub(r"<.*", "", short(kernel)).split(" ")[-1].split("::")[-1]


def measured_in_lab(experiment):
    """{rung: counters} of one experiment's export."""
    return {r["name"]: r.get("gpu", {}).get("counters", {}) for r in experiment["rungs"]}


def measured_in_run(export, rungs):
    """The same of a run of its program: a rung is all launches of the kernel of that name."""
    sums = {}
    for launch in export["launches"]:
        rung = next((n for n in (short(launch["kernel"]), bare(launch["kernel"])) if n in rungs), None)
        sum_ = sums.setdefault(rung, collections.Counter())
        for counter, value in launch["counters"].items():
            sum_[counter] += value
    return sums


def rows_of_lab(counted, hardware, level):
    """Rows of one experiment's rungs: counted in its export, measured {rung: counters}."""
    for r in counted["rungs"]:
        counters = [{"counter": k, "counted": r["counters"][k], "measured": v} for k, v in hardware.get(r["name"], {}).items()
                    if MEMORY.match(k) and (r["counters"][k] or v)]
        if hardware.get(r["name"]):
            yield {"program": "lab/" + counted["name"], "kernel": r["name"], "level": level, "launches": r["launches"],
                   "counters": counters}


def add_model(rows, experiment, model):
    """Puts into an experiment's rows at -O3 what `--model ptxas` counted of the same; None: it failed."""
    modelled = {r["name"]: r["counters"] for r in model["rungs"]} if model else {}
    for row in rows:
        if row["program"] == "lab/" + experiment and row["level"] == "O3" and row["kernel"] in modelled:
            for c in row["counters"]:
                c["modelled"] = modelled[row["kernel"]][c["counter"]]


def name_and_level(path):
    return os.path.basename(path).rsplit(".", 1)


class Programs:
    """Runs programs: on the GPU three at a time, of which two start or end while the third's counters are read (they are one
    process's at a time); on the machine several beside them, so that neither waits for the other."""

    def __init__(self, coalesce, folder, launches, until):
        self.coalesce, self.folder, self.launches, self.until = coalesce, folder, launches, until
        cores = os.cpu_count() or 4
        self.threads = min(4, cores)
        self.gpu = concurrent.futures.ThreadPoolExecutor(3)
        self.machine = concurrent.futures.ThreadPoolExecutor(max(1, cores // self.threads))

    def once(self, path, side, *more):
        """One run's export, and how many seconds it took."""
        if time.monotonic() > self.until:
            raise Failed("not begun within --seconds")
        begun = time.monotonic()
        words = []
        if os.path.exists(path[:-3] + ".args"):
            with open(path[:-3] + ".args") as given:
                words = given.read().split()
        file = os.path.join(self.folder, f"{os.path.basename(path)}.{side}.json")
        done = run([self.coalesce, "run", "-q", "--json", file, *more, path, *words],
                   SECONDS["gpu" if "gpu" in more else "machine"],
                   {"COALESCE_GPU_LAUNCHES": str(self.launches)}, cwd=os.path.dirname(path))
        if not os.path.exists(file) or not os.path.getsize(file):
            raise Failed(f"{side}: {'took too long' if done is None else done.stderr.strip()[:200]}")
        return file, time.monotonic() - begun

    def on_gpu(self, path, side="gpu"):
        return self.gpu.submit(self.once, path, side, "--on", "gpu")

    def on_machine(self, path, model="ptx"):
        return self.machine.submit(self.once, path, model, "--threads", str(self.threads), "--model", model)

    def compared(self, counted, measured):
        """{(kernel, launch, counter): (counted, measured)} of two exports."""
        done = run([self.coalesce, "compare", "--json", "-", counted, measured])
        try:
            return {(r["kernel"], r["launch"], r["counter"]): (r["counted"], r["measured"])
                    for r in json.loads(done.stdout)["counters"]}
        except (ValueError, AttributeError):
            raise Failed("compare: " + (done.stderr.strip()[:200] if done else "took too long"))

    def rows(self, path, gpu, counted, model):
        """Every launch's counters by the machine and by the GPU, from the futures of three runs, or why there are none."""
        name, level = name_and_level(path)
        spread, spent = {}, {}
        try:
            measured, spent["gpu"] = gpu.result()
            file, spent["machine"] = counted.result()
            both = self.compared(file, measured)
            foreseen = {}
            if model:
                with contextlib.suppress(Failed):
                    modelled, spent["model"] = model.result()
                    foreseen = self.compared(modelled, measured)
            if any(a != b and foreseen.get(key) != (b, b) for key, (a, b) in both.items()):
                for again in [self.on_gpu(path, f"again{k}") for k in range(AGAIN)]:
                    for key, (_, value) in self.compared(file, again.result()[0]).items():
                        spread.setdefault(key, []).append(value)
        except Failed as failed:
            return [{"program": name, "level": level, "failed": str(failed)}], spent
        return rows_of(name, level, both, foreseen, spread), spent

    def all(self, paths):
        """(path, its rows, seconds of each run), as they come. The machine's runs are of PTX, which is the same at both levels."""
        with concurrent.futures.ThreadPoolExecutor(16) as pool, self.gpu, self.machine:
            counted, runs = {}, []
            for path in paths:
                name, level = name_and_level(path)
                if name not in counted:
                    counted[name] = self.on_machine(path)
                runs.append((path, self.on_gpu(path), counted[name], self.on_machine(path, "ptxas") if level == "O3" else None))
            running = {pool.submit(self.rows, *each): each[0] for each in runs}
            for done in concurrent.futures.as_completed(running):
                yield running[done], *done.result()


def rows_of(name, level, compared, foreseen, spread):
    """compared, foreseen: {(kernel, launch, counter): (counted, measured)} by the machine as it is and by its model;
    spread: {the same key: what further runs measured}."""
    kernels = collections.OrderedDict()
    modelled = {key[:2] for key in foreseen}  # launches; a counter that is 0 on both sides is not among the keys
    for key in [*compared, *(key for key in foreseen if key not in compared)]:
        ours, measured = compared.get(key) or (0, foreseen[key][1])
        row = {"counter": key[2], "counted": ours, "measured": measured}
        if key[:2] in modelled:
            row["modelled"] = foreseen.get(key, (0, 0))[0]
        values = spread.get(key, []) + [measured]
        if min(values) != max(values):
            row["measured_between"] = [min(values), max(values)]
        kernels.setdefault(key[0], collections.OrderedDict()).setdefault(key[1], []).append(row)
    rows = []
    for kernel, numbered in kernels.items():
        # One entry a launch with figures of its own; equal launches are one entry.
        seen = collections.OrderedDict()
        for counters in numbered.values():
            seen.setdefault(json.dumps(counters), [0, counters])[0] += 1
        rows += [{"program": name, "kernel": kernel, "level": level, "launches": n, "counters": c} for n, c in seen.values()]
    return rows or [{"program": name, "level": level, "failed": "no launch on both sides"}]
