"""triton_compile.py OUT NAME, with PYTHONPATH=tests/triton: compiles a case by Triton to OUT/ptx/NAME.ptx and NAME.json (what a launch needs)."""
import json
import os
import re
import sys
import traceback

import cases
import kernels
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

OUT = sys.argv[1]
os.makedirs(f"{OUT}/ptx", exist_ok=True)
os.makedirs(f"{OUT}/more", exist_ok=True)


def compiled(c, hints):
    signature, attributes, constants = {}, {}, dict(c["constants"])
    names = getattr(kernels, c["kernel"]).arg_names
    for i, name in enumerate(names):
        if name in constants:
            signature[name] = "constexpr"
            continue
        a = c["arguments"][name]
        if isinstance(a, int):
            signature[name] = "i32"
            if a % 16 == 0:
                attributes[(i,)] = [["tt.divisibility", 16]]
        elif isinstance(a, float):
            signature[name] = "fp32"
        elif len(a) > 3:
            signature[name] = "tensordesc<%s[%s]>" % (cases.P[a[0]][1:], ", ".join(map(str, a[4])))
        else:
            signature[name] = cases.P[a[0]]
            attributes[(i,)] = [["tt.divisibility", 16]]
    target, options = GPUTarget("cuda", c["arch"], 32), {"num_warps": c["warps"], "num_stages": c["stages"], **c.get("options", {})}
    source = ASTSource(fn=getattr(kernels, c["kernel"]), signature=signature, constexprs=constants, **({"attrs": attributes} if hints else {}))
    return triton.compile(source, target=target, options=options)


def plain(x):
    if isinstance(x, dict):
        return {str(k): plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    return x if isinstance(x, (int, float, str, bool, type(None))) else str(x)


for c in cases.cases():
    if c["name"] != sys.argv[2]:
        continue
    for hints in (True, False):
        try:
            k = compiled(c, hints)
            break
        except BaseException:
            k = None
            print(f"{c['name']} hints={hints}:", traceback.format_exc()[-1500:], flush=True)
    if k is None:
        continue
    ptx = k.asm["ptx"]
    m = k.metadata
    d = dict(c, metadata={f: plain(getattr(m, f)) for f in getattr(m, "_fields", dir(m)) if not f.startswith("_") and not callable(getattr(m, f))})
    d["constants"] = plain(d["constants"])
    with open(f"{OUT}/ptx/{c['name']}.ptx", "w") as f:
        f.write(ptx)
    for form in ("ttgir", "llir"):
        if form in k.asm:
            with open(f"{OUT}/more/{c['name']}.{form}", "w") as f:
                f.write(k.asm[form])
    if "cubin" in k.asm:
        with open(f"{OUT}/more/{c['name']}.cubin", "wb") as f:
            f.write(k.asm["cubin"])
    with open(f"{OUT}/ptx/{c['name']}.json", "w") as f:
        json.dump(d, f)
    ops = sorted({w for w in re.findall(r"\b(wgmma\.mma_async[.\w]*|mma\.sync[.\w]*|cp\.async[.\w:]*|ldmatrix[.\w]*|mbarrier[.\w:]*|tensormap[.\w:]*|setmaxnreg[.\w]*|stmatrix[.\w]*)", ptx)})
    print(c["name"], "shared", d["metadata"].get("shared"), "scratch", d["metadata"].get("global_scratch_size"), len(ptx), *ops, flush=True)
print("triton", triton.__version__)
