#!/usr/bin/env python3
"""%%coalesce and the frames in a notebook that nbconvert executes, with Debian's pandas.   notebook_test.py SOURCE BINARY"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import ipykernel  # noqa: F401
    import nbconvert  # noqa: F401
    import pandas  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

SOURCE, BINARY = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
CELLS = [
    "%load_ext coalesce",
    "%%coalesce --device a100 -- one 'two words'\n" + (SOURCE / "tests/install/fill.cu").read_text().replace("? 7 : 13", "? 0 : 13"),
    "print(launches.device, launches[0].counters['global_store_sectors'])",
    f"import coalesce\nframe = coalesce.run([{str(SOURCE / 'examples/transpose.cu')!r}]).frame()\n"
    "print(frame.set_index('kernel').global_store_sectors.to_dict())",
    f"frame = coalesce.run([{str(SOURCE / 'examples/transpose.cu')!r}]).line_frame()\n"
    "print(frame.groupby('line').global_store_sectors.sum()[[9, 19]].to_dict())",
    "%%coalesce\nint main() { return nothing; }",
]


def execute(folder, cells, *options):
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": cell} for cell in cells]
    name = pathlib.Path(folder, "in.ipynb")
    name.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}))
    environment = {**os.environ, "PYTHONPATH": str(SOURCE / "python"), "COALESCE_COMMAND": str(BINARY / "bin/coalesce"),
                   "XDG_CACHE_HOME": str(BINARY / "tests/cache"), "HOME": folder, "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--output", "out", *options, str(name)],
                   check=True, env=environment, stderr=subprocess.DEVNULL)
    return [cell["outputs"] for cell in json.loads(pathlib.Path(folder, "out.ipynb").read_text())["cells"]]


def text_of(outputs):
    return "".join("".join(o["text"]) for o in outputs if o["output_type"] == "stream")


with tempfile.TemporaryDirectory() as folder:
    loaded, magic, left, frame, lines, wrong = execute(folder, CELLS, "--allow-errors")
    assert not loaded, loaded
    said = text_of(magic)
    assert "filled 1024, told 'one'\n" in said, said  # the first argument
    assert re.search(r"^fill +0 B|^fill ", said, re.M), said
    [page] = ["".join(o["data"]["text/html"]) for o in magic if o["output_type"] == "display_data"]
    assert page.startswith("<iframe ") and "&lt;/html&gt;" in page and "fill" in page, page[:300]
    assert text_of(left) == "a100 128\n", left
    # 32768 requests; the stores of 32 lanes touch 32 sectors each, or 4.
    assert eval(text_of(frame)) == {f"transpose_{name}(float const*, float*)": 32768 * sectors
                                    for name, sectors in {"naive": 32, "shared": 4, "padded": 4}.items()}, frame
    assert eval(text_of(lines)) == {9: 32768 * 32, 19: 2 * 32768 * 4}, lines
    assert "/cell.cu" in text_of(wrong) and "'nothing'" in text_of(wrong).replace('"', "'") and wrong[-1]["ename"] == "Error", wrong
    print("the notebook shows table, report and frames")
