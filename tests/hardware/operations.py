#!/usr/bin/env python3
"""Runs the kernels of `operations emit DIR` on an NVIDIA GPU. From the sources' folder, all steps:

    cmake --build build --target operations && mkdir ops results && build/bin/operations emit ops
    tests/hardware/operations.py assemble ops sm_90
    tests/hardware/operations.py run ops results && tests/hardware/operations.py unpack results ops
    build/bin/operations compare ops | python3 docs/pages.py docs/results/agreement.md operations
    build/bin/operations sample ops 192    # the lines of tests/truth/operations.txt

    operations.py assemble DIR [TARGET]   needs ptxas: PTX -> DIR/parts/*.cubin; rows that are no PTX (or not for TARGET,
                                          default sm_90) are listed with ptxas's reason in DIR/refused.txt
    operations.py run DIR OUT             needs a GPU, nothing else: results -> OUT/theirs.*.xz, sweeps.bin, ...
    operations.py unpack OUT DIR          puts OUT/theirs.*.xz together as DIR/theirs.bin
"""
import concurrent.futures
import ctypes
import glob
import json
import lzma
import os
import re
import subprocess
import sys
import zlib

VECTORS, MANY = 4096, 65536  # as in operations.h
BYTES = {"pred": 1, "b16": 2, "b32": 4, "b64": 8, "b128": 16}
HEADER = ".version 8.8\n.target {target}\n.address_size 64\n"
PER_PART = 64


def kernels(folder):
    text = open(f"{folder}/kernels.txt").read()
    parts = re.split(r"(?=^\.visible \.entry )", text, flags=re.M)
    return {re.match(r"\.visible \.entry (\w+)", p)[1]: p for p in parts if p}


def assemble_part(folder, number, names, texts, target):
    """Assembles what it can; returns {kernel: reason} for what ptxas refuses."""
    refused, left = {}, list(names)
    while left:
        source = HEADER.format(target=target)
        owner = [None] * source.count("\n")
        for name in left:
            source += texts[name]
            owner += [name] * texts[name].count("\n")
        path = f"{folder}/parts/{number:03}"
        open(path + ".ptx", "w").write(source)
        done = subprocess.run(["ptxas", f"-arch={target}", path + ".ptx", "-o", path + ".cubin"], capture_output=True, text=True)
        if done.returncode == 0:
            return refused
        found = re.findall(r"line (\d+);\s*error\s*:\s*(.*)", done.stderr)
        bad = {owner[int(line) - 1]: why for line, why in found if owner[int(line) - 1]}
        if not bad:
            raise SystemExit("ptxas: " + done.stderr)
        refused |= bad
        left = [n for n in left if n not in bad]
    return refused


def assemble(folder, target):
    os.makedirs(f"{folder}/parts", exist_ok=True)
    for old in glob.glob(f"{folder}/parts/*"):
        os.remove(old)
    texts, refused = kernels(folder), {}
    names = list(texts)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(assemble_part, folder, k, names[k * PER_PART:(k + 1) * PER_PART], texts, target)
                for k in range((len(names) + PER_PART - 1) // PER_PART)]
        for job in jobs:
            refused |= job.result()
    rows = {r.split()[0]: r.split() for r in open(f"{folder}/rows.txt")}
    with open(f"{folder}/refused.txt", "w") as out:
        for name, why in refused.items():
            print(rows[name][1], "--", why, file=out)
    print(len(names) - len(refused), "kernels,", len(refused), "rows refused by ptxas")


class Card:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.name = ctypes.create_string_buffer(100)
        self.call("cuDeviceGetName", self.name, 100, device)

    def call(self, name, *arguments):
        status = getattr(self.cuda, name)(*arguments)
        if status:
            raise RuntimeError(f"{name}: CUDA error {status}")

    def allocate(self, size):
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer.value

    def upload(self, data):
        pointer = self.allocate(len(data))
        self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(pointer), data, ctypes.c_size_t(len(data)))
        return pointer

    def download(self, pointer, size):
        data = ctypes.create_string_buffer(size)
        self.call("cuMemcpyDtoH_v2", data, ctypes.c_uint64(pointer), ctypes.c_size_t(size))
        return data.raw

    def module(self, path):
        module = ctypes.c_void_p()
        self.call("cuModuleLoad", ctypes.byref(module), path.encode())
        return module

    def launch(self, module, kernel, pointers, threads):
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), module, kernel.encode())
        values = [ctypes.c_uint64(p) for p in pointers]
        array = (ctypes.c_void_p * len(values))(*[ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values])
        self.call("cuLaunchKernel", function, threads // 256, 1, 1, 256, 1, 1, 0, None, array, None)
        self.call("cuCtxSynchronize")


def run(folder, out):
    card = Card()
    read = lambda name: open(f"{folder}/{name}", "rb").read()
    inputs = {(e, k): card.upload(read(f"in_{e}_{k}")) for e in BYTES for k in range(4)}
    sweep = card.upload(b"".join(i.to_bytes(2, "little") for i in range(65536)))
    results = [card.allocate(MANY * 16) for _ in range(2)]
    rows = {r.split()[0]: r.split() for r in open(f"{folder}/rows.txt")}
    theirs, sweeps, ran = bytearray(), bytearray(), []
    for part in sorted(glob.glob(f"{folder}/parts/*.cubin")):
        names = re.findall(r"\.visible \.entry (\w+)", open(part.replace(".cubin", ".ptx")).read())
        module = card.module(part)
        for name in names:
            _, mnemonic, mode, sources, count, *elements = rows[name]
            sources, count = int(sources), int(count)
            immediate = [e.split("=")[1] for e in elements if "=" in e]
            outputs = elements[-count:]
            pointers = [inputs[(elements[k], k)] if k < sources else 0 for k in range(4)] + results
            threads = MANY if mode == "many" else VECTORS
            card.launch(module, name, pointers, threads)
            for k in range(count):
                theirs += card.download(results[k], threads * BYTES[outputs[k]])
            if elements[:sources] == ["b16"]:
                pointers[0] = sweep
                card.launch(module, name, pointers, 65536)
                width = BYTES[outputs[0]]
                data = card.download(results[0], 65536 * width)
                for at in range(0, len(data), 256 * width):
                    sweeps += zlib.crc32(data[at:at + 256 * width]).to_bytes(4, "little")
            ran.append(f"{mnemonic}={immediate[0] if immediate else -1}")
        card.call("cuModuleUnload", module)
    open(f"{out}/sweeps.bin", "wb").write(sweeps)
    open(f"{out}/ran.txt", "w").write("\n".join(ran) + "\n")
    driver = open("/proc/driver/nvidia/version").readline().strip() if os.path.exists("/proc/driver/nvidia/version") else ""
    json.dump({"card": card.name.value.decode(), "driver": driver, "rows": len(ran)}, open(f"{out}/card.json", "w"))
    size = (len(theirs) + 4) // 5
    with concurrent.futures.ProcessPoolExecutor(5) as pool:
        parts = pool.map(squeeze, [bytes(theirs[k * size:(k + 1) * size]) for k in range(5)])
        for k, data in enumerate(parts):
            open(f"{out}/theirs.{k}.xz", "wb").write(data)
            print("part", k, len(data), "bytes")
    print(len(ran), "rows ran,", len(theirs), "bytes of results")


def squeeze(data):
    return lzma.compress(data, preset=1)


def unpack(out, folder):
    with open(f"{folder}/theirs.bin", "wb") as joined:
        for path in sorted(glob.glob(f"{out}/theirs.*.xz")):
            joined.write(lzma.decompress(open(path, "rb").read()))
    for name in ("sweeps.bin", "ran.txt", "card.json"):
        open(f"{folder}/{name}", "wb").write(open(f"{out}/{name}", "rb").read())


if __name__ == "__main__":
    verb, *rest = sys.argv[1:] or ["help"]
    if verb == "assemble" and rest:
        assemble(rest[0], rest[1] if len(rest) > 1 else "sm_90")
    elif verb == "run" and len(rest) == 2:
        run(*rest)
    elif verb == "unpack" and len(rest) == 2:
        unpack(*rest)
    else:
        sys.exit(__doc__)
