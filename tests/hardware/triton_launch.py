"""triton_launch.py FOLDER OUT TIMES [LIBCUDA]: launches what triton_compile.py has left by the driver; writes results, a line for each of digests and how far
they are from the definition. OUT -: nothing but the launches, for a profiler."""
import ctypes as C
import glob
import json
import math
import os
import re
import sys

import numpy as np

FOLDER, OUT, TIMES = sys.argv[1], sys.argv[2], int(sys.argv[3])
cuda = C.CDLL(sys.argv[4] if len(sys.argv) > 4 else "libcuda.so.1")
SIZE = {"f16": 2, "bf16": 2, "f32": 4, "i8": 1, "i32": 4, "e4m3": 1, "e5m2": 1}


def check(what, code):
    if code:
        text = C.c_char_p()
        cuda.cuGetErrorString(code, C.byref(text))
        raise RuntimeError(f"{what}: error {code} {text.value}")


def words(seed, n):
    """splitmix64 of seed * 2^32 + i."""
    with np.errstate(over="ignore"):
        z = (np.uint64(seed << 32) + np.arange(n, dtype=np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return (z ^ (z >> np.uint64(31))) >> np.uint64(40)


def filled(kind, n, seed):
    """Bytes; the numbers as double."""
    w = words(seed, n)
    if kind == "f16":
        x = ((w & np.uint64(0xFFF)).astype(np.int64) - 2048) / 1024.0
        return x.astype(np.float16).tobytes(), x
    if kind == "bf16":
        x = ((w & np.uint64(0x1FF)).astype(np.int64) - 256) / 128.0
        return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).tobytes(), x
    if kind == "f32":
        x = (w.astype(np.int64) - (1 << 23)) / float(1 << 22)
        return x.astype(np.float32).tobytes(), x
    b = (w & np.uint64(0xFF)).astype(np.uint8)
    if kind == "i8":
        return b.tobytes(), b.view(np.int8).astype(float)
    fraction = 3 if kind == "e4m3" else 2
    special = (b & 0x7F) == 0x7F if kind == "e4m3" else (b & 0x7C) == 0x7C
    b = np.where(special, b ^ 0x40, b).astype(np.uint8)
    e, f = ((b & 0x7F) >> fraction).astype(int), (b & ((1 << fraction) - 1)).astype(float) / (1 << fraction)
    bias = 7 if kind == "e4m3" else 15
    x = np.where(e == 0, f * 2.0 ** (1 - bias), (1 + f) * 2.0 ** (e - bias)) * np.where(b & 0x80, -1.0, 1.0)
    return b.tobytes(), x


def numbers(kind, data):
    if kind == "bf16":
        return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32).astype(float)
    return np.frombuffer(data, {"f16": np.float16, "f32": np.float32, "i32": np.int32}[kind]).astype(float)


def digest(data):
    h = 0xCBF29CE484222325
    for b in data:
        h = ((h ^ b) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return "%016x" % h


class Dim(C.Structure):
    _fields_ = [("x", C.c_uint), ("y", C.c_uint), ("z", C.c_uint)]


class Attribute(C.Structure):
    _fields_ = [("id", C.c_int), ("pad", C.c_char * 4), ("value", C.c_uint * 16)]


class Config(C.Structure):
    _fields_ = [("grid", Dim), ("block", Dim), ("shared", C.c_uint), ("stream", C.c_void_p), ("attributes", C.POINTER(Attribute)), ("count", C.c_uint)]


def described(address, kind, shape, box, swizzle):
    raw = C.create_string_buffer(256)
    at = (C.addressof(raw) + 127) // 128 * 128
    code = {"f16": 6, "f32": 7, "bf16": 9}[kind]
    n = len(shape)
    dims = (C.c_uint64 * n)(*reversed(shape))
    strides = (C.c_uint64 * n)(*[shape[-1] * SIZE[kind]] * n)
    boxes = (C.c_uint32 * n)(*reversed(box))
    ones = (C.c_uint32 * n)(*[1] * n)
    check("cuTensorMapEncodeTiled", cuda.cuTensorMapEncodeTiled(C.c_void_p(at), code, n, C.c_void_p(address), dims, strides, boxes, ones, 0, swizzle, 2, 0))
    return raw, at


def expected(c, x):
    """By definition, in double precision: {argument: numbers}."""
    a, s = c["arguments"], {n: v for n, v in x.items()}
    if c["kernel"] == "softmax":
        r = s["x"].reshape(-1, a["n"])
        p = np.exp(r - r.max(1, keepdims=True))
        return {"y": (p / p.sum(1, keepdims=True)).ravel()}
    if c["kernel"] == "attention":
        n, w = a["n"], c["constants"]["WIDTH"]
        q, k, v = (s[i].reshape(-1, n, w) for i in "qkv")
        t = np.einsum("hiw,hjw->hij", q, k) * a["scale"]
        if c["constants"]["CAUSAL"]:
            t = np.where(np.tril(np.ones((n, n), bool)), t, -np.inf)
        m = t.max(2, keepdims=True)
        p = np.exp2(t - m)
        return {"o": (p @ v / p.sum(2, keepdims=True)).ravel(), "most": (m + np.log2(p.sum(2, keepdims=True))).ravel()}
    k = a["K"]
    left = s["a"].reshape(-1, k)
    right = s["b"].reshape(-1, k).T if c["kernel"] == "matmul_transposed" else s["b"].reshape(k, -1)
    return {"c": (left @ right).ravel()}


def expanded(c, text):
    """The parameters one after the other, as tests/triton/cases.h reads them; of results their names."""
    m, found, names, maps = c["metadata"], [], [], 0
    left = re.findall(r"\.param\s+([^,\n]*)", re.search(r"\.entry\s+\w+\s*\((.*?)\)", text, re.S)[1])
    for name, a in c["arguments"].items():
        parameter = left.pop(0)
        if isinstance(a, int):
            found.append(f"={a}:4")
            continue
        if isinstance(a, float):
            found.append(f"={np.array([a], np.float32).view(np.uint32)[0]}:4")
            continue
        kind, n, seed = a[:3]
        memory = f"{kind}:{n}:{seed or 0}"
        if seed is None:
            names.append(name)
        if "[128]" not in parameter:
            found.append(memory)
            continue
        meta = (m.get("tensordesc_meta") or [{}] * 9)[maps] or {}
        maps += 1
        box = meta.get("block_size") or a[4]
        found.append(f"{memory}:{a[3][0]}x{a[3][1]}:{box[0]}x{box[1]}:{meta['swizzle']}")
        dims, strides = list(a[3]), [a[3][1], 1]
        while dims and left and re.search(r"[bu]32\b", left[0]):
            left.pop(0)
            found.append(f"={dims.pop(0)}:4")
        while not dims and strides and left and re.search(r"[bu]64\b", left[0]):
            left.pop(0)
            found.append(f"={strides.pop(0)}:8")
    scratch = (m.get("global_scratch_size") or 0) * math.prod(c["grid"]) * (m.get("num_ctas") or 1)
    for _ in left:
        found.append(f"scratch:{scratch}" if scratch else "=0:8")
        scratch = 0
    return found, names


def threads_of(c, text):
    need = re.search(r"\.reqntid\s+(\d+)", text)
    return int(need[1]) if need else 32 * c["metadata"]["num_warps"]


def run(path):
    c = json.load(open(path))
    ptx = open(path[:-4] + "ptx", "rb").read()
    text, m, module, function = ptx.decode(), c["metadata"], C.c_void_p(), C.c_void_p()
    check("cuModuleLoadData", cuda.cuModuleLoadData(C.byref(module), C.c_char_p(ptx)))
    entry = re.search(r"\.entry\s+(\w+)", text)[1]
    check("cuModuleGetFunction", cuda.cuModuleGetFunction(C.byref(function), module, entry.encode()))
    shared, clusters = m.get("shared") or 0, m.get("num_ctas") or 1
    if shared > 48 * 1024:
        check("cuFuncSetAttribute", cuda.cuFuncSetAttribute(function, 8, shared))
    kept, values, outputs = [], [], []

    def allocated(size):
        p = C.c_uint64()
        check("cuMemAlloc", cuda.cuMemAlloc_v2(C.byref(p), C.c_size_t(size)))
        return p.value

    def add(value):
        kept.append(value)
        values.append(C.addressof(value))

    arguments, names = expanded(c, text)
    for a in arguments:
        parts = a.split(":")
        if a[0] == "=":
            add((C.c_uint64 if parts[1] == "8" else C.c_uint32)(int(parts[0][1:])))
        elif parts[0] == "scratch":
            add(C.c_uint64(allocated(int(parts[1]) + 256)))
        else:
            kind, n, seed = parts[0], int(parts[1]), int(parts[2])
            at = allocated(n * SIZE[kind])
            if seed:
                data = filled(kind, n, seed)[0]
                check("cuMemcpyHtoD", cuda.cuMemcpyHtoD_v2(C.c_uint64(at), data, C.c_size_t(len(data))))
            else:
                check("cuMemsetD8", cuda.cuMemsetD8_v2(C.c_uint64(at), 0xEE, C.c_size_t(n * SIZE[kind])))
                outputs.append((kind, n, at))
            if len(parts) == 3:
                add(C.c_uint64(at))
                continue
            shape, box = ([int(x) for x in parts[k].split("x")] for k in (3, 4))
            raw, place = described(at, kind, shape, box, int(parts[5]))
            kept.append(raw)
            values.append(place)
    pointers = (C.c_void_p * len(values))(*values)
    found = {}
    for _ in range(TIMES):
        attribute = (Attribute * 1)()
        attribute[0].id = 4
        attribute[0].value[0], attribute[0].value[1], attribute[0].value[2] = clusters, 1, 1
        grid = Dim(c["grid"][0] * clusters, c["grid"][1], c["grid"][2])
        config = Config(grid, Dim(threads_of(c, text), 1, 1), shared, None, attribute, int(clusters > 1))
        check("cuLaunchKernelEx", cuda.cuLaunchKernelEx(C.byref(config), function, pointers, None))
        check("cuCtxSynchronize", cuda.cuCtxSynchronize())
        for name, (kind, n, at) in zip(names, outputs):
            data = C.create_string_buffer(n * SIZE[kind])
            check("cuMemcpyDtoH", cuda.cuMemcpyDtoH_v2(data, C.c_uint64(at), C.c_size_t(n * SIZE[kind])))
            found.setdefault(name, []).append(data.raw)
    if OUT == "-":
        return
    want = expected(c, {n: filled(*a[:3])[1] for n, a in c["arguments"].items() if isinstance(a, list) and a[2]})
    worst = []
    for (kind, _, _), (name, each) in zip(outputs, found.items()):
        off = np.abs(numbers(kind, each[0]) - want[name])
        worst.append(f"{name} off by at most {off.max():.3g} of {np.abs(want[name]).max():.3g}")
        open(f"{OUT}/{c['name']}.{name}.bin", "wb").write(each[0])
    same = all(len(set(each)) == 1 for each in found.values())
    print(c["name"], "grid=%d,%d,%d" % tuple(c["grid"]), f"threads={threads_of(c, text)}", f"shared={shared}", f"cluster={clusters}",
          *["arg=" + a for a in arguments], *["digest=" + digest(each[0]) for each in found.values()], "#", "; ".join(worst), "" if same else "DIFFERS", flush=True)


device, context = C.c_int(), C.c_void_p()
check("cuInit", cuda.cuInit(0))
check("cuDeviceGet", cuda.cuDeviceGet(C.byref(device), 0))
check("cuDevicePrimaryCtxRetain", cuda.cuDevicePrimaryCtxRetain(C.byref(context), device))
check("cuCtxSetCurrent", cuda.cuCtxSetCurrent(context))
if OUT != "-":
    os.makedirs(OUT, exist_ok=True)
only = os.environ.get("ONLY")
for path in sorted(glob.glob(FOLDER + "/*.json")):
    if only and not re.search(only, path):
        continue
    try:
        run(path)
    except BaseException as e:
        print(os.path.basename(path), "fails:", repr(e), flush=True)
        if "error 7" in repr(e):  # the context is lost: what remains runs in processes of its own
            break
