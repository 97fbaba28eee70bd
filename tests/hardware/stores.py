#!/usr/bin/env python3
"""Which lane's store stays where lanes of one warp store to one place, and in which order atomics of one warp go.

    stores.py ptx FILE         writes the kernels (ptxas -arch=sm_90 FILE -o CUBIN)
    stores.py run CUBIN OUT    needs a GPU and CuPy: a line of JSON for each kernel and pattern -> OUT

Every pattern runs 384 times. tests/truth/stores.jsonl is the part that tests read: where all forms of one size agree, in
both spaces, a line for each pattern.
"""
import json, random, sys
# name of the type in PTX, registers, bytes a lane
FORMS = [("u8", 1), ("u16", 2), ("u32", 4), ("u64", 8), ("b128", 16), ("v2.u8", 2), ("v4.u8", 4), ("v2.u16", 4), ("v4.u16", 8),
         ("v2.u32", 8), ("v4.u32", 16), ("v2.u64", 16)]
SPACES = ["global", "shared", "generic_global", "generic_shared"]
ATOMICS = ["exch.b32", "exch.b64", "add.u32", "add.u64", "max.u32", "cas.b32", "cas.b64", "add.f32", "xor.b32", "inc.u32"]
REGION = 1024  # bytes of a warp

def patterns():
    r = random.Random(25)
    p = []
    def add(name, places, mask=0xffffffff): p.append((name, places, mask))
    lanes = range(32)
    add("all", [0] * 32)
    add("all at 5", [5] * 32)
    for k in (2, 4, 8, 16): add(f"groups of {k}", [l // k for l in lanes])
    for k in (2, 4, 8, 16): add(f"modulo {k}", [l % k for l in lanes])
    add("mirrored", [min(l, 31 - l) for l in lanes])
    add("mirrored down", [31 - min(l, 31 - l) for l in lanes])
    add("groups of 2 down", [31 - l // 2 for l in lanes])
    add("apart 8", [(l % 8) * 8 % 32 + (l % 8) * 8 // 32 for l in lanes])
    add("first two", [0, 0] + list(range(2, 32)))
    add("last two", list(range(31)) + [30])
    add("first and last", list(range(31)) + [0])
    for mask in (0x00000003, 0x80000001, 0xffff0000, 0x0000ffff, 0x55555555, 0xaaaaaaaa, 0xfffffffe, 0x7fffffff, 0x00ff00f0):
        add(f"all, {mask:08x}", [3] * 32, mask)
        add(f"modulo 4, {mask:08x}", [l % 4 for l in lanes], mask)
    for k in range(30): add(f"random {k}", [r.randrange(32) for _ in lanes])
    for k in range(30): add(f"few {k}", [r.randrange(4) * 8 + r.randrange(2) for _ in lanes])
    for k in range(20): add(f"masked {k}", [r.randrange(16) for _ in lanes], r.getrandbits(32) | 1)
    for k in range(20): add(f"far {k}", [r.randrange(64) for _ in lanes])
    return p

HEAD = ".version 8.4\n.target sm_90\n.address_size 64\n"
def prologue(name):
    return (f".visible .entry {name}(.param .u64 places, .param .u64 masks, .param .u64 out, .param .u32 patterns, .param .u32 divergent)\n{{\n"
            ".reg .b16 %h<8>;\n.reg .b32 %r<40>;\n.reg .b64 %rd<40>;\n.reg .b128 %q<4>;\n.reg .f32 %f<4>;\n.reg .pred %p<8>;\n"
            f".shared .align 16 .b8 S[{4 * REGION}];\n"
            "ld.param.u64 %rd0, [places];\nld.param.u64 %rd1, [masks];\nld.param.u64 %rd2, [out];\nld.param.u32 %r0, [patterns];\nld.param.u32 %r30, [divergent];\n"
            "mov.u32 %r1, %tid.x;\nshr.u32 %r2, %r1, 5;\nand.b32 %r3, %r1, 31;\nmov.u32 %r4, %ctaid.x;\nmad.lo.u32 %r4, %r4, 4, %r2;\n"  # r4: warp
            "rem.u32 %r5, %r4, %r0;\nmad.lo.u32 %r6, %r5, 32, %r3;\nmad.wide.u32 %rd3, %r6, 4, %rd0;\nld.global.u32 %r7, [%rd3];\n"    # r7: place
            "mad.wide.u32 %rd4, %r5, 4, %rd1;\nld.global.u32 %r8, [%rd4];\nshr.u32 %r9, %r8, %r3;\nand.b32 %r9, %r9, 1;\nsetp.ne.u32 %p1, %r9, 0;\n"
            f"mad.wide.u32 %rd5, %r4, {REGION}, %rd2;\nmov.u32 %r10, S;\nmad.lo.u32 %r10, %r2, {REGION}, %r10;\n"  # own regions
            "cvt.u64.u32 %rd6, %r10;\ncvta.shared.u64 %rd6, %rd6;\n")

def wipe(value):  # of the shared region
    return (f"mov.u32 %r20, {value};\nmad.lo.u32 %r21, %r3, 32, %r10;\n" + "".join(f"st.shared.u32 [%r21+{4 * k}], %r20;\n" for k in range(8)) + "bar.warp.sync 0xffffffff;\n")

def copy_out():
    return "bar.warp.sync 0xffffffff;\nmad.wide.u32 %rd20, %r3, 32, %rd5;\n" + "".join(f"ld.shared.u32 %r22, [%r21+{4 * k}];\nst.global.u32 [%rd20+{4 * k}], %r22;\n" for k in range(8))

def store_kernel(n, space, form, size):
    t = prologue(f"s{n}")
    shared = "shared" in space
    if shared: t += wipe("0xeeeeeeee")
    t += "add.u32 %r11, %r3, 1;\nmul.lo.u32 %r12, %r11, 0x01010101;\ncvt.u16.u32 %h1, %r12;\nmov.b64 %rd10, {%r12, %r12};\nmov.b128 %q1, {%rd10, %rd10};\n"
    t += f"mul.lo.u32 %r13, %r7, {size};\ncvt.u64.u32 %rd11, %r13;\n"
    parts = form.split(".")
    n_, ty = (int(parts[0][1]), parts[1]) if len(parts) == 2 else (1, parts[0])
    reg = {"u8": "%h1", "u16": "%h1", "u32": "%r12", "u64": "%rd10", "b128": "%q1"}[ty]
    value = reg if n_ == 1 else "{" + ", ".join([reg] * n_) + "}"
    if space == "global": t += "add.s64 %rd12, %rd5, %rd11;\n"; st, at = "st.global", "[%rd12]"
    elif space == "shared": t += "add.u32 %r14, %r10, %r13;\n"; st, at = "st.shared", "[%r14]"
    elif space == "generic_global": t += "add.s64 %rd12, %rd5, %rd11;\n"; st, at = "st", "[%rd12]"
    else: t += "add.s64 %rd12, %rd6, %rd11;\n"; st, at = "st", "[%rd12]"
    store = f"{st}.{form} {at}, {value};\n"
    t += f"setp.ne.u32 %p2, %r30, 0;\n@%p2 bra D;\n@%p1 {store}bra E;\nD:\n@!%p1 bra E;\n{store}E:\nbar.warp.sync 0xffffffff;\n"
    if shared: t += copy_out()
    return t + "ret;\n}\n"

# Lane's operand: lane + 1 (shifted for the low bit), result stored at out + lane * 8 behind the words.
def atomic_kernel(n, space, op):
    t = prologue(f"s{n}")
    shared = "shared" in space
    if shared: t += wipe("0")
    wide = op.endswith("64")
    size = 8 if wide else 4
    t += f"add.u32 %r11, %r3, 1;\nmov.u32 %r12, 1;\nshl.b32 %r12, %r12, %r3;\ncvt.u64.u32 %rd10, %r11;\ncvt.u64.u32 %rd13, %r12;\nmul.lo.u32 %r13, %r7, {size};\ncvt.u64.u32 %rd11, %r13;\nmov.u32 %r16, 0xffffffff;\nmov.u64 %rd16, -1;\ncvt.rn.f32.u32 %f1, %r12;\nmov.u64 %rd17, 0;\n"
    if space == "global": t += "add.s64 %rd12, %rd5, %rd11;\n"; sp, at = ".global", "[%rd12]"
    else: t += "add.u32 %r14, %r10, %r13;\n"; sp, at = ".shared", "[%r14]"
    kind = op.split(".")[0]
    if op == "add.f32":
        t += f"mov.f32 %f2, 0fbf800000;\n@%p1 atom{sp}.add.f32 %f2, {at}, %f1;\nmov.b32 %r16, %f2;\ncvt.u64.u32 %rd16, %r16;\n"
    else:
        operand = {"exch": ("%r11", "%rd10"), "add": ("%r12", "%rd13"), "max": ("%r11", "%rd10"), "xor": ("%r12", "%rd13"), "inc": ("1000", "")}.get(kind, None)
        o = ("0, %rd10" if wide else "0, %r11") if kind == "cas" else operand[1 if wide else 0]
        if op == "inc.u32": t += "mov.u32 %r17, 1000;\n"; o = "%r17"
        t += f"@%p1 atom{sp}.{op} {'%rd16' if wide else '%r16'}, {at}, {o};\n"
        if not wide: t += "cvt.u64.u32 %rd16, %r16;\n"
    t += "bar.warp.sync 0xffffffff;\n"
    if shared: t += copy_out()
    t += "mad.wide.u32 %rd21, %r3, 8, %rd5;\nst.global.u64 [%rd21+512], %rd16;\n"
    return t + "ret;\n}\n"

def jobs():
    out = [("store", s, f, b) for s in SPACES for f, b in FORMS]
    return out + [("atomic", s, op, 8 if op.endswith("64") else 4) for s in ("global", "shared") for op in ATOMICS]

def main():
    js = jobs()
    if sys.argv[1] == "ptx":
        with open(sys.argv[2], "w") as f:
            f.write(HEAD)
            for n, (k, s, form, b) in enumerate(js): f.write(store_kernel(n, s, form, b) if k == "store" else atomic_kernel(n, s, form))
        print(len(js), "kernels"); return
    import numpy as np, cupy as cp
    ps = patterns()
    places = cp.asarray(np.array([p for _, p, _ in ps], dtype=np.uint32))
    masks = cp.asarray(np.array([m for _, _, m in ps], dtype=np.uint32))
    mod = cp.RawModule(path=sys.argv[2])
    copies = 64
    warps = (len(ps) * copies + 3) // 4 * 4
    out = cp.empty(warps * REGION, dtype=cp.uint8)
    with open(sys.argv[3], "w") as f:
        for n, (kind, space, form, size) in enumerate(js):
            if kind == "store" and size * 64 > REGION: pass
            k = mod.get_function(f"s{n}")
            steady = low = high = other = unsteady = 0
            for divergent in ((0, 1) if kind == "store" else (0,)):
                seen = [dict() for _ in ps]
                for rep in range(6):
                    out.fill(0xee if kind == "store" else 0)
                    k((warps // 4,), (128,), (places, masks, out, np.uint32(len(ps)), np.uint32(divergent)))
                    h = out.get().reshape(warps, REGION)
                    for w in range(len(ps) * copies):
                        b = h[w].tobytes()
                        seen[w % len(ps)][b] = seen[w % len(ps)].get(b, 0) + 1
                for (name, place, mask), s in zip(ps, seen):
                    most = max(s, key=s.get)
                    rec = {"kind": kind, "space": space, "form": form, "pattern": name, "divergent": divergent, "variants": len(s), "share": round(s[most] / sum(s.values()), 3)}
                    by_place = {}
                    for l in range(32):
                        if mask >> l & 1: by_place.setdefault(place[l], []).append(l)
                    if kind == "store":
                        won = {}
                        for pl, lanes in by_place.items():
                            who = sorted({x - 1 for x in most[pl * size:(pl + 1) * size]})
                            won[pl] = who
                            if len(lanes) > 1:
                                if who == [min(lanes)]: low += 1
                                elif who == [max(lanes)]: high += 1
                                else: other += 1
                        rec["won"] = {str(p): v for p, v in sorted(won.items()) if len(by_place[p]) > 1}
                    else:
                        old = [int.from_bytes(most[512 + 8 * l:520 + 8 * l], "little") for l in range(32)]
                        rec["old"] = [x if mask >> l & 1 else None for l, x in enumerate(old)]
                        rec["words"] = {str(p): int.from_bytes(most[p * size:(p + 1) * size], "little") for p in sorted(by_place) if (p + 1) * size <= 512}
                    if len(s) > 1: unsteady += 1
                    f.write(json.dumps(rec) + "\n")
            print(kind, space, form, "places with collisions won by lowest", low, "highest", high, "other", other, "; patterns that vary", unsteady)
main()
