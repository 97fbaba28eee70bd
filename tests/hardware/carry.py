#!/usr/bin/env python3
"""Chains of carry instructions on special and random operands, for tests/truth/carry.txt.

    carry.py ptx FILE         writes the kernels (ptxas -arch=sm_90 FILE -o CUBIN)
    carry.py run CUBIN OUT    needs a GPU and CuPy: a digest for each chain -> OUT; prints where the GPU and `model` differ
"""
import itertools, json, sys
M = (1 << 64) - 1
TYPES = ["u32", "s32", "u64", "s64"]
SET = ["add.cc", "sub.cc", "mad.lo.cc", "mad.hi.cc"]
READ = ["addc", "subc", "madc.lo", "madc.hi"]
BOTH = ["addc.cc", "subc.cc", "madc.lo.cc", "madc.hi.cc"]
THREADS = 512

def sequences():
    s = []
    for t, u in itertools.product(TYPES, TYPES):
        for a in SET:
            for b in READ + BOTH:
                s.append((f"{a}.{t}", f"{b}.{u}"))
    for t in TYPES:
        for a, b, c in itertools.product(SET, SET + READ + BOTH, READ + BOTH):
            s.append((f"{a}.{t}", f"{b}.{t}", f"{c}.{t}"))
    for t, u, v in itertools.product(["u32", "u64"], repeat=3):
        if t == u == v: continue
        for a, b, c in itertools.product(["add.cc", "sub.cc"], ["addc", "subc", "addc.cc", "subc.cc"], ["addc", "subc"]):
            s.append((f"{a}.{t}", f"{b}.{u}", f"{c}.{v}"))
    return sorted(set(s))

def mix(x):
    x = (x + 0x9e3779b97f4a7c15) & M
    x = ((x ^ (x >> 30)) * 0xbf58476d1ce4e5b9) & M
    x = ((x ^ (x >> 27)) * 0x94d049bb133111eb) & M
    return x ^ (x >> 31)

SPECIAL = [0, 1, 2, M, M - 1, 1 << 31, (1 << 31) - 1, 1 << 32, (1 << 32) - 1, 1 << 63, (1 << 63) - 1, 0xffffffff00000000]
def operand(thread, k):
    h = mix(thread * 64 + k)
    return SPECIAL[(h >> 8) % len(SPECIAL)] if h % 2 else mix(h)

def bits(t): return 32 if t.endswith("32") else 64
def arity(name): return 3 if name.startswith("mad") else 2

def kernel(n, seq):
    text = f".visible .entry s{n}(.param .u64 in, .param .u64 out)\n{{\n.reg .b32 %r<40>;\n.reg .b64 %rd<40>;\n"
    text += "ld.param.u64 %rd0, [in];\nld.param.u64 %rd1, [out];\nmov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %ntid.x;\nmov.u32 %r2, %tid.x;\nmad.lo.u32 %r0, %r0, %r1, %r2;\n"
    text += f"mad.wide.u32 %rd0, %r0, {8 * 9}, %rd0;\nmad.wide.u32 %rd1, %r0, {8 * 4}, %rd1;\n"
    for i, op in enumerate(seq):
        for k in range(3):
            text += f"ld.global.u64 %rd{4 + 3 * i + k}, [%rd0+{8 * (3 * i + k)}];\ncvt.u32.u64 %r{4 + 3 * i + k}, %rd{4 + 3 * i + k};\n"
    for i, op in enumerate(seq):
        name, t = op.rsplit(".", 1)
        r = "%r" if bits(t) == 32 else "%rd"
        text += f"{op} {r}{20 + i}, " + ", ".join(f"{r}{4 + 3 * i + k}" for k in range(arity(name))) + ";\n"
    text += "addc.u64 %rd30, 0, 0;\n"
    for i, op in enumerate(seq):
        if bits(op.rsplit(".", 1)[1]) == 32: text += f"cvt.u64.u32 %rd{20 + i}, %r{20 + i};\n"
        text += f"st.global.u64 [%rd1+{8 * i}], %rd{20 + i};\n"
    return text + "st.global.u64 [%rd1+24], %rd30;\nret;\n}\n"

# One flag: what comes out of the top of a sum, and of a + ~b + 1 where something is taken away.
def model(seq, ops):
    flag, out = None, []
    for i, op in enumerate(seq):
        name, t = op.rsplit(".", 1)
        n = bits(t); m = (1 << n) - 1
        a, b, c = (ops[3 * i + k] & m for k in range(3))
        takes = name.split(".")[0].endswith("c") and name.split(".")[0] in ("addc", "subc", "madc")
        if name.startswith("mad"):
            x, y = (a, b) if t[0] == "u" else (a - ((a >> (n - 1)) << n), b - ((b >> (n - 1)) << n))
            p = x * y
            a, b = ((p >> n) & m if ".hi" in name else p & m), c
            total = a + b + (flag if takes else 0)
        elif name.startswith("add"):
            total = a + b + (flag if takes else 0)
        else:
            total = a + (b ^ m) + (flag if takes else 1)
        out.append(total & m)
        if name.endswith(".cc"): flag = total >> n
    return out + [0] * (3 - len(seq)) + [flag]

def digest(values):
    h = 0
    for v in values: h = mix(h ^ v)
    return h

def main():
    seqs = sequences()
    if sys.argv[1] == "ptx":
        with open(sys.argv[2], "w") as f:
            f.write(".version 8.0\n.target sm_90\n.address_size 64\n")
            for n, s in enumerate(seqs): f.write(kernel(n, s))
        print(len(seqs), "sequences")
        return
    import numpy as np, cupy as cp
    ops = [[operand(t, k) for k in range(9)] for t in range(THREADS)]
    dev = cp.asarray(np.array(ops, dtype=np.uint64))
    mod = cp.RawModule(path=sys.argv[2])
    wrong = 0
    with open(sys.argv[3], "w") as f:
        for n, s in enumerate(seqs):
            out = cp.zeros((THREADS, 4), dtype=cp.uint64)
            mod.get_function(f"s{n}")((THREADS // 256,), (256,), (dev, out))
            got = [[int(x) for x in row] for row in out.get()]
            f.write(json.dumps({"sequence": " ".join(s), "digest": f"{digest(v for row in got for v in row):016x}",
                                "first": [f"{x:x}" for x in got[0]]}) + "\n")
            bad = [t for t in range(THREADS) if got[t] != model(s, ops[t])]
            if bad:
                wrong += 1
                if wrong <= 40:
                    t = bad[0]
                    print("DIFFERS", " ".join(s), len(bad), "of", THREADS, "operands", [hex(x) for x in ops[t][:3 * len(s)]], "gpu", [hex(x) for x in got[t]], "model", [hex(x) for x in model(s, ops[t])])
    print("carry:", len(seqs), "sequences,", wrong, "differ from the model")
main()
