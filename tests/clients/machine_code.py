#!/usr/bin/python3
"""Which kernels of a library have machine code only, no PTX: machine_code.py LIBRARY... [--names]

Prints a line a library: its kernels, those with PTX and for which architectures, and the groups of the others, by the
first words of their names, with the count of each. Reads the file's fat binaries by itself.
"""
import argparse
import collections
import ctypes
import mmap
import os
import re
import struct
import subprocess

MAGIC = b"\x50\xed\x55\xba"
PTX, CODE = 1, 2
LZ4, ZSTD = 0x2000, 0x8000
ENTRY = re.compile(rb"\.entry\s+([\w$]+)")


def unpacked(payload, flags, packed, size, libraries={}):
    if not flags & (LZ4 | ZSTD):
        return bytes(payload)
    if not libraries:
        libraries["lz4"], libraries["zstd"] = ctypes.CDLL("liblz4.so.1"), ctypes.CDLL("libzstd.so.1")
        libraries["zstd"].ZSTD_decompress.restype = ctypes.c_size_t
        libraries["zstd"].ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    out = ctypes.create_string_buffer(size)
    payload = bytes(payload[:packed] if packed else payload)
    got = (libraries["lz4"].LZ4_decompress_safe(payload, out, len(payload), size) if flags & LZ4
           else libraries["zstd"].ZSTD_decompress(out, size, payload, len(payload)))
    if got != size:
        raise ValueError("an entry does not decompress")
    return out.raw


def kernels_of_code(elf):
    """Kernels have a constant bank of their parameters; device functions have none."""
    if elf[:4] != b"\x7fELF":
        return set()
    at, = struct.unpack_from("<Q", elf, 40)
    count, names = struct.unpack_from("<HH", elf, 60)
    headers = [struct.unpack_from("<IIQQQQ", elf, at + 64 * i) for i in range(count)]
    texts = headers[names][4]
    found = set()
    for header in headers:
        name = elf[texts + header[0]:elf.index(b"\0", texts + header[0])]
        if name.startswith(b".nv.constant0."):
            found.add(name[len(b".nv.constant0."):].decode())
    return found


def read(path):
    """{kernel: architectures of its machine code}, {kernel: architectures of its PTX}"""
    code, ptx = collections.defaultdict(set), collections.defaultdict(set)
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        start = data.find(MAGIC)
        while start >= 0:
            header, size = struct.unpack_from("<HQ", data, start + 6)
            at, end = start + header, start + header + size
            if header < 16 or end > len(data):
                start = data.find(MAGIC, start + 8)
                continue
            while at + 64 <= end:
                kind, _, head, payload, packed = struct.unpack_from("<HHIQI", data, at)
                architecture, = struct.unpack_from("<I", data, at + 28)
                flags, _, full = struct.unpack_from("<QQQ", data, at + 40)
                if head < 64 or at + head + payload > end:
                    break
                if kind in (PTX, CODE):
                    content = unpacked(data[at + head:at + head + payload], flags, packed, full)
                    names = kernels_of_code(content) if kind == CODE else {name.decode() for name in ENTRY.findall(content)}
                    for name in names:
                        (code if kind == CODE else ptx)[name].add(architecture)
                at += head + payload
            start = data.find(MAGIC, max(end, start + 8))
    return code, ptx


def group(name):
    """The first two words of a kernel's name, or of the type that it is made of: what a reader tells kernels apart by."""
    inner = re.search(r"cutlass::Kernel2?<(\w+)", name)
    plain = inner[1] if inner else re.sub(r"^(void|static)? *(\(anonymous namespace\)::)?", "", name)
    return "_".join(re.split(r"[<(]", plain, maxsplit=1)[0].split("_")[:2])


def summary(path):
    """How many kernels there are, how many of them with PTX, and the groups of the others, most first."""
    code, ptx = read(path)
    only = sorted(set(code) - set(ptx))
    names = subprocess.run(["c++filt"], input="\n".join(only), text=True, capture_output=True, check=True).stdout.splitlines()
    return {"kernels": len(set(code) | set(ptx)), "ptx": len(ptx), "for": sorted({a for of in ptx.values() for a in of}),
            "names": names, "groups": collections.Counter(map(group, names)).most_common()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", nargs="+")
    parser.add_argument("--names", action="store_true", help="each kernel of machine code only")
    given = parser.parse_args()
    for path in given.library:
        found = summary(path)
        print(f"{os.path.basename(path)}: {found['kernels']} kernels, {found['ptx']} with PTX (" +
              ", ".join(f"compute_{a}" for a in found["for"]) + f"), {len(found['names'])} with machine code only: " +
              ", ".join(f"{name} {count}" for name, count in found["groups"]))
        if given.names:
            print("\n".join("  " + name for name in found["names"]))


if __name__ == "__main__":
    main()
