#!/usr/bin/env python3
"""What a GPU computes for every spelling of an instruction, on special and random operands.

    spellings.py ptx LIST FOLDER      writes the kernels in parts: FOLDER/part*.ptx, to be assembled as part*.cubin
    spellings.py run LIST FOLDER OUT  needs a GPU and CuPy: a digest for each spelling -> OUT
"""
import json, sys, os, glob
M = (1 << 64) - 1
THREADS, PER_PART, WORDS = 256, 300, 6
SPECIAL = [0, 1, 2, M, M - 1, 1 << 31, (1 << 31) - 1, 1 << 32, (1 << 32) - 1, 1 << 63, (1 << 63) - 1, 0xffffffff00000000,
           0x7f80_0000_7f80_0000, 0x3f80_0000_bf80_0000, 0x7fc0_0001_7f80_0001, 0x0080_0000_0000_0001, 0x3c00_bc00_7c00_fc00,
           0x7c01_7e00_0001_0400, 0x8080_7f7f_ff00_00ff, 0x7fff_8000_8001_0001, 0x7ff0_0000_0000_0000, 0x3ff0_0000_0000_0000,
           0x4330_0000_4b00_0000, 0x0010_0000_0000_0000, 31, 32, 33, 64, 0x1f20]

def mix(x):
    x = (x + 0x9e3779b97f4a7c15) & M
    x = ((x ^ (x >> 30)) * 0xbf58476d1ce4e5b9) & M
    x = ((x ^ (x >> 27)) * 0x94d049bb133111eb) & M
    return x ^ (x >> 31)

def operand(thread, k):
    h = mix(thread * 64 + k)
    return SPECIAL[(h >> 8) % len(SPECIAL)] if h % 2 else mix(h)

def kernel(n, line):
    t = f".visible .entry s{n}(.param .u64 in, .param .u64 out)\n{{\n.reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<16>, %t;\n.reg .b64 %rd<8>, %in, %out;\n.reg .b128 %q<4>;\n"
    t += "ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\nmov.u32 %t, %tid.x;\nmad.wide.u32 %in, %t, 48, %in;\nmad.wide.u32 %out, %t, 48, %out;\n"
    for k in range(1, 5):
        t += f"ld.global.u64 %rd{k}, [%in+{8 * k}];\ncvt.u32.u64 %r{k}, %rd{k};\ncvt.u16.u64 %h{k}, %rd{k};\n"
    t += "mov.b128 %q1, {%rd1, %rd2};\nmov.b128 %q2, {%rd2, %rd3};\nld.global.u32 %t, [%in];\n"
    for k in (1, 2, 3):
        t += f"and.b32 %r8, %t, {1 << k};\nsetp.ne.u32 %p{k}, %r8, 0;\n"
    t += line + ";\n"
    t += "cvt.u64.u32 %rd4, %r1;\nst.global.u64 [%out], %rd4;\ncvt.u64.u16 %rd4, %h1;\nst.global.u64 [%out+8], %rd4;\nst.global.u64 [%out+16], %rd1;\nmov.b128 {%rd4, %rd5}, %q1;\nst.global.u64 [%out+24], %rd4;\nst.global.u64 [%out+32], %rd5;\n"
    t += "selp.u64 %rd4, 1, 0, %p1;\nselp.u64 %rd5, 2, 0, %p2;\nadd.u64 %rd4, %rd4, %rd5;\nst.global.u64 [%out+40], %rd4;\nret;\n}\n"
    return t

def digest(values):
    h = 0
    for v in values: h = mix(h ^ v)
    return h

# The video instructions as the PTX manual defines them; None: another instruction.
def number(bits, n, signed): return bits - (1 << n) if signed and bits >> (n - 1) & 1 else bits
def video(line, ops, old):
    name, rest = line.split(" ", 1)
    s = name.split("."); op = s[0]
    if op[0] != "v": return None
    args = [a.strip() for a in rest.split(",")]
    def reg(a):
        minus = a.startswith("-"); a = a.lstrip("-")
        r, _, part = a.partition("."); return int(r[2:]), part, minus
    signed = lambda t: t == "s32"
    types = [x for x in s[1:] if x in ("u32", "s32")]
    second = next((x for x in s[1:] if x in ("add", "min", "max")), None)
    sat = "sat" in s[1:]
    cmp_ = next((x for x in s[1:] if x in ("eq", "ne", "lt", "le", "gt", "ge")), None)
    c32 = ops[4] & 0xffffffff
    def scalar(a, t):
        r, part, minus = reg(a); v = ops[r] & 0xffffffff
        if not part: return number(v, 32, signed(t)), minus
        n = 8 if part[0] == "b" else 16
        return number(v >> (n * int(part[1])) & ((1 << n) - 1), n, signed(t)), minus
    test = {"eq": lambda x, y: x == y, "ne": lambda x, y: x != y, "lt": lambda x, y: x < y, "le": lambda x, y: x <= y, "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y}.get(cmp_)
    f = {"vadd": lambda x, y: x + y, "vsub": lambda x, y: x - y, "vabsdiff": lambda x, y: abs(x - y), "vmin": min, "vmax": max, "vavrg": lambda x, y: (x + y + (1 if x + y >= 0 else 0)) >> 1, "vset": (lambda x, y: int(test(x, y))) if test else None}
    if op[-1] in "24" :
        lanes = int(op[-1]); n = 32 // lanes; base = op[:-1]
        if base == "vset": at, bt, dt = types[0], types[1], "u32"
        else: dt, at, bt = types
        d, mask, _ = reg(args[0])
        on = [int(x) for x in mask[1:]] if mask else list(range(lanes))
        def chosen(a, default):
            r, part, _ = reg(a); sel = part[1:] if part else default
            return [int(x) for x in reversed(sel)]
        both = (ops[reg(args[1])[0]] & 0xffffffff) | (ops[reg(args[2])[0]] & 0xffffffff) << 32
        asel = chosen(args[1], "10" if lanes == 2 else "3210"); bsel = chosen(args[2], "32" if lanes == 2 else "7654")
        total, out = 0, c32
        for l in range(lanes):
            x = number(both >> (n * asel[l]) & ((1 << n) - 1), n, signed(at)); y = number(both >> (n * bsel[l]) & ((1 << n) - 1), n, signed(bt))
            r = f[base](x, y)
            if sat:
                lo, hi = (-(1 << (n - 1)), (1 << (n - 1)) - 1) if signed(dt) else (0, (1 << n) - 1)
                r = max(lo, min(hi, r))
            if l in on:
                total += r
                out = out & ~(((1 << n) - 1) << (n * l)) | (r & ((1 << n) - 1)) << (n * l)
        return (c32 + total if second else out) & 0xffffffff
    d, dpart, _ = reg(args[0])
    if op == "vset": types = ["u32"] + types
    if op == "vmad":
        x, na = scalar(args[1], types[1]); y, nb = scalar(args[2], types[2]); nc = args[3].startswith("-")
        sf = signed(types[1]) or signed(types[2]) or (na != nb) or nc
        t, lsb, c = x * y, 0, number(c32, 32, sf)
        if "po" in s: lsb = 1
        elif na != nb: t, lsb = ~t, 1
        elif nc: c, lsb = number(~c32 & 0xffffffff, 32, sf), 1
        t = t + c + lsb
        t >>= 7 if "shr7" in s else 15 if "shr15" in s else 0
        if sat: t = max(-(1 << 31), min((1 << 31) - 1, t)) if sf else max(0, min((1 << 32) - 1, t))
        return t & 0xffffffff
    dt, at, bt = types
    x, _ = scalar(args[1], at); y, _ = scalar(args[2], bt)
    if op in ("vshl", "vshr"):
        y = y & 31 if "wrap" in s else min(y, 32)
        r = x << y if op == "vshl" else x >> y
    else: r = f[op](x, y)
    if sat:
        n = {"": 32, "b": 8, "h": 16}[dpart[:1]]
        lo, hi = (-(1 << (n - 1)), (1 << (n - 1)) - 1) if signed(dt) else (0, (1 << n) - 1)
        r = max(lo, min(hi, r))
    if second:
        c = number(c32, 32, signed(dt))
        r = {"add": r + c, "min": min(r, c), "max": max(r, c)}[second]
    if dpart:
        n = 8 if dpart[0] == "b" else 16; sh = n * int(dpart[1])
        return c32 & ~(((1 << n) - 1) << sh) | (r & ((1 << n) - 1)) << sh
    return r & 0xffffffff

def main():
    lines = [l.strip().split(" ;")[0] for l in open(sys.argv[2]) if l.strip() and l[0] != "#"]
    folder = sys.argv[3]
    if sys.argv[1] == "ptx":
        for p in range(0, len(lines), PER_PART):
            with open(f"{folder}/part{p // PER_PART:03}.ptx", "w") as f:
                f.write(".version 9.0\n.target sm_90\n.address_size 64\n" + "".join(kernel(p + k, l) for k, l in enumerate(lines[p:p + PER_PART])))
        print(len(lines), "spellings"); return
    import numpy as np, cupy as cp
    ops = [[operand(t, k) for k in range(6)] for t in range(THREADS)]
    dev = cp.asarray(np.array(ops, dtype=np.uint64))
    wrong = {}
    mods = {}
    with open(sys.argv[4], "w") as f:
        for n, line in enumerate(lines):
            p = n // PER_PART
            if p not in mods:
                mods.clear()
                try: mods[p] = cp.RawModule(path=f"{folder}/part{p:03}.cubin")
                except Exception as e: mods[p] = None; print("part", p, e)
            if not mods[p]: continue
            out = cp.zeros((THREADS, WORDS), dtype=cp.uint64)
            try:
                mods[p].get_function(f"s{n}")((1,), (THREADS,), (dev, out)); got = [[int(x) for x in row] for row in out.get()]
            except Exception as e: print("failed", line, e); continue
            f.write(f"{line} ; {digest(v for row in got for v in row) >> 32:08x}\n")
            if line[0] == "v":
                bad = [t for t in range(THREADS) if got[t][0] != video(line, ops[t], 0)]
                if bad:
                    k = line.split(".")[0]; wrong.setdefault(k, []).append(line)
                    if len(wrong[k]) <= 12:
                        for t in bad[:2]: print("DIFFERS", line, len(bad), "operands", [hex(x) for x in ops[t][1:5]], "gpu", hex(got[t][0]), "model", hex(video(line, ops[t], 0)))
            if "oob" in line or ".bf16" in line and line.startswith("cvt.") and ".rn" not in line or line.startswith("madc") and "16" in line or line.startswith("rcp") and "ftz.f64" in line:
                f.write("# " + " ".join(f"{got[t][0]:x}/{got[t][1]:x}/{got[t][2]:x}" for t in range(24)) + "\n")
    print({k: len(v) for k, v in wrong.items()}, "video spellings differ from the model")
if __name__ == "__main__": main()
