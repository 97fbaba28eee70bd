"""How good estimates of time are: pure functions of measured launches (tests/truth/times.json) and estimates (`coalesce run
--time --json`), for time_page.py and the tests."""
import itertools
import math

LONG_US = 5  # shorter launches are mostly the launch itself
SAME = {"launch": "latency", "atomics": "latency"}  # Nsight's section Speed of Light has no words for these


def factor(a, b):
    """How many times the larger is the smaller; infinite where one is not positive."""
    return max(a, b) / min(a, b) if min(a, b) > 0 else math.inf


def is_long(measured):
    return measured["us"] >= LONG_US


def quantile(ordered, share):
    """The least value that at least this share does not exceed; `ordered` rises."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else math.nan


def ranks(values):
    """1 for the smallest; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    out = [0.0] * len(values)
    for _, group in itertools.groupby(enumerate(order), key=lambda pair: values[pair[1]]):
        group = list(group)
        mean = sum(place for place, _ in group) / len(group) + 1
        for _, index in group:
            out[index] = mean
    return out


def spearman(a, b):
    """Rank correlation; NaN for fewer than two launches or where all are equal."""
    x, y = ranks(a), ranks(b)
    n = len(x)
    if n < 2:
        return math.nan
    mx, my = sum(x) / n, sum(y) / n
    xy, xx, yy = (sum(p * q for p, q in pairs) for pairs in (
        [(p - mx, q - my) for p, q in zip(x, y)], [(p - mx, p - mx) for p in x], [(q - my, q - my) for q in y]))
    return xy / math.sqrt(xx * yy) if xx and yy else math.nan


def share(truths):
    truths = list(truths)
    return sum(truths) / len(truths) if truths else math.nan


def percent(truths):
    value = share(truths)
    return "" if math.isnan(value) else f"{100 * value:.0f} %"


def dram_off(measured, estimate):
    """By which part of the measured bytes read and written the estimate is off; None where one side has none."""
    both = [(r.get("dram_read_bytes"), r.get("dram_write_bytes")) for r in (measured, estimate)]
    if any(v is None for pair in both for v in pair) or not sum(both[0]):
        return None
    return round(abs(sum(both[1]) - sum(both[0])) / sum(both[0]), 3)


def same_bound(measured, estimate):
    """Whether both name the same bound; None where the measurement has no shares."""
    if not measured.get("bound_by") or not estimate.get("bound_by"):
        return None
    return SAME.get(estimate["bound_by"], estimate["bound_by"]) == measured["bound_by"]


def ladders(rows):
    """(right, all): pairs of rungs of one experiment and size whose measured times differ by more than 20 %."""
    runs = {}
    for m, e in rows:
        if m["program"].startswith("lab/"):
            runs.setdefault((m["program"], *m["arguments"]), {}).setdefault(m["kernel"], (m["us"], e["us"]))
    pairs = [(a, b) for rungs in runs.values() for a, b in itertools.combinations(rungs.values(), 2) if factor(a[0], b[0]) > 1.2]
    return sum((a[0] < b[0]) == (a[1] < b[1]) for a, b in pairs), len(pairs)


AIMS = {"median": 1.15, "within 1.5": 0.9, "within 2.5": 0.98, "rank": 0.97, "ladders": 1.0, "dram": 0.9, "bound": 0.85}


def judged(rows):
    """(what, aim, obtained, met) on the reported set; rows: (measured launch, estimate)."""
    report = [r for r in rows if r[0]["set"] == "report" and is_long(r[0])]
    factors = sorted(factor(e["us"], m["us"]) for m, e in report)
    bounds = [v for v in (same_bound(m, e) for m, e in report) if v is not None]
    bytes_ = [(v, m) for v, m in ((dram_off(m, e), m) for m, e in report) if v is not None]
    moved = [v for v, m in bytes_ if m["dram_read_bytes"] + m["dram_write_bytes"] >= 1 << 20]
    median, rank = quantile(factors, .5), spearman([m["us"] for m, _ in report], [e["us"] for _, e in report])
    right, pairs = ladders(rows)

    def at_least(what, key, value):
        return (what, f"{100 * AIMS[key]:.0f} %", "" if math.isnan(value) else f"{100 * value:.0f} %", value >= AIMS[key])

    return [("median factor", f"at most {AIMS['median']}", f"{median:.2f}", median <= AIMS["median"]),
            at_least("within a factor of 1.5", "within 1.5", share(f <= 1.5 for f in factors)),
            at_least("within a factor of 2.5", "within 2.5", share(f <= 2.5 for f in factors)),
            ("Spearman's rank", f"at least {AIMS['rank']}", f"{rank:.3f}", rank >= AIMS["rank"]),
            at_least("the lab's rungs in order", "ladders", right / pairs if pairs else math.nan),
            at_least("DRAM bytes within 10 %", "dram", share(v <= .1 for v, _ in bytes_)),
            at_least("the same, of 1 MiB and more", "dram", share(v <= .1 for v in moved)),
            at_least("bound by the same", "bound", share(bounds))]


def same_launch(measured, counted):
    """Whether a launch of a record is the one that was measured, of the same machine code as far as its registers tell; Nsight
    Compute says 16 where there are fewer."""
    time = counted.get("time") or {}
    if any(counted.get(k, measured.get(k)) != measured.get(k) for k in ("grid", "block")):
        return False
    registers = measured.get("registers"), time.get("registers")
    return time.get("registers_from") != "ptxas" or not all(registers) or max(16, registers[0]) == max(16, registers[1])


WAITS = {"code": "code", "arithmetic": "arithmetic", "constant": "constants", "shared": "shared memory", "l1": "L1", "l2": "L2",
         "dram": "DRAM", "host": "the host's memory", "atomic": "atomics", "barrier": "barriers", "unit": "busy units"}


def waiting(estimate):
    """What its warps wait for most of their time, as the model has it; empty where it does not say."""
    waits = estimate.get("waits")
    most = max(waits, key=waits.get) if waits else None
    return f": {WAITS[most]}" if most and waits[most] >= .1 else ""


def cause(measured, estimate):
    """Why an estimate is far off, as far as measured and estimated figures tell."""
    slow = estimate["us"] > measured["us"]
    off = dram_off(measured, estimate)
    if off is not None and off > .25 and max(measured["dram_read_bytes"] + measured["dram_write_bytes"],
                                             estimate["dram_read_bytes"] + estimate["dram_write_bytes"]) > 1 << 20:
        return "caches: other DRAM bytes than measured"
    if measured.get("registers") and estimate.get("registers") and measured.get("occupancy") and estimate.get("occupancy"):
        if factor(measured["occupancy"], max(estimate["occupancy"], .001)) > 1.5 and factor(measured["registers"], estimate["registers"]) > 1.25:
            return "occupancy: other registers than ptxas gave"
    if same_bound(measured, estimate) is False:
        return f"bound by {measured['bound_by']}, taken for {estimate['bound_by']}" + waiting(estimate)
    return f"{estimate.get('bound_by', 'time')} {'over' if slow else 'under'}estimated" + waiting(estimate)
