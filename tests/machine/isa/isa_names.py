"""The names of all instructions and special registers of PTX, by section, from a page of NVIDIA's:

    git clone https://github.com/NVIDIA/cccl
    python3 tests/machine/isa/isa_names.py cccl/docs/libcudacxx/ptx/instructions.rst > tests/truth/isa_names.txt
"""

import re
import sys

NO_INSTRUCTIONS = {"{}", "@"}  # braces and guards


def names(lines):
    section = None
    for line in lines:
        if found := re.match(r"\.\. list-table:: `([^<]*) <", line):
            section = found.group(1)
        elif section and (found := re.match(r"   \* - (?::ref:)?`([^<`]*?) ?<", line)):
            for name in found.group(1).split(","):
                if name.strip() not in NO_INSTRUCTIONS:
                    yield section, name.strip()


def main():
    print("# By tests/machine/isa/isa_names.py from NVIDIA's list of the PTX ISA's sections (CCCL, docs/libcudacxx/ptx/instructions.rst).")
    last = None
    for section, name in names(open(sys.argv[1], encoding="utf-8")):
        if section != last:
            print("# " + section)
        last = section
        print(("%" if section == "Special registers" else "") + name)


main()
