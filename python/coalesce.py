"""Runs CUDA programs without a GPU and reads what they move.

    import coalesce
    launches = coalesce.run(["transpose.cu"], device="a100")
    launches[0].kernel, launches[0].counters["global_load_sectors"], launches[0].lines[0].line
    launches.frame()            # a pandas.DataFrame: a row for each launch; line_frame(): a row for each line

In Jupyter, `%load_ext coalesce`; then a cell that begins with `%%coalesce` is a CUDA program.

Needs Python's library alone; `frame()` needs pandas.
"""
import collections
import concurrent.futures
import html
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import tempfile

__all__ = ["Error", "Launch", "Launches", "Line", "run"]

# file: its path; line: from 1; counters: name -> whole number, without those that are 0 (see `coalesce counters`).
Line = collections.namedtuple("Line", "file line ptx_line counters")

# kernel: its full name; grid, block: three numbers; counters: name -> whole number; lines: [Line];
# fault: why it stopped before its end, or "".
Launch = collections.namedtuple("Launch", "kernel grid block dynamic_shared_bytes counters lines fault")


class Error(Exception):
    """What went wrong. `exit_code`: the command's (README) or the program's; `stderr`: all that both said; `launches`:
    what was counted before."""

    def __init__(self, message, exit_code, launches):
        super().__init__(message)
        self.exit_code = exit_code
        self.launches = launches
        self.stderr = launches.stderr


class Launches(list):
    """A program's launches in their order, and what else came of its run: `stdout`, `stderr`, `table` (what `coalesce run`
    prints), `report` (HTML, where it was asked for), `device` (its key)."""

    def __init__(self, document, stdout="", stderr="", table="", report=""):
        super().__init__(_launch(row) for row in document.get("launches", []))
        self.device = document.get("device", {}).get("key", "")
        self.stdout, self.stderr, self.table, self.report = stdout, stderr, table, report

    def frame(self):
        """A pandas.DataFrame with a row for each launch and a column for each counter."""
        return _frame([{**_columns(launch), **launch.counters} for launch in self])

    def line_frame(self):
        """A pandas.DataFrame with a row for each launch and source line; counters that a line lacks are 0."""
        names = self[0].counters if self else ()
        return _frame([{"launch": number, "kernel": launch.kernel, "file": line.file, "line": line.line,
                        **{name: line.counters.get(name, 0) for name in names}}
                       for number, launch in enumerate(self) for line in launch.lines])


def _launch(row):
    lines = [Line(line["file"], line["line"], line["ptx_line"], line["counters"]) for line in row.get("lines", [])]
    fault = row.get("fault") or ("interrupted" if row.get("interrupted") else "")
    return Launch(row["kernel"], tuple(row["grid"]), tuple(row["block"]), row["dynamic_shared_bytes"], row["counters"],
                  lines, fault)


def _columns(launch):
    row = launch._asdict()
    del row["counters"], row["lines"]
    return row


def _frame(rows):
    import pandas  # here, because everything else works without
    return pandas.DataFrame(rows)


def _command():
    """$COALESCE_COMMAND; the command of this installation or of this source tree; the one on PATH."""
    here = pathlib.Path(__file__).resolve()
    places = [here.parents[3] / "bin/coalesce"] if len(here.parents) > 3 else []
    for place in [os.environ.get("COALESCE_COMMAND"), *places, here.parents[1] / "build/bin/coalesce", shutil.which("coalesce")]:
        if place and os.access(place, os.X_OK):
            return str(place)
    raise FileNotFoundError("there is no command 'coalesce'; set COALESCE_COMMAND to its path")


def _words(options):
    """device="a100" -> --device a100; X=["-O3", "-DN=4"] -> -X -O3 -X -DN=4; shadow=True -> --shadow."""
    words = []
    for name, value in options.items():
        option = "-" + name if len(name) == 1 else "--" + name.replace("_", "-")
        if value is True:
            words.append(option)
        elif value is not False and value is not None:
            for one in value if isinstance(value, (list, tuple)) else [value]:
                words += [option, str(one)]
    return words


def _message(code, stderr, table):
    said = [line for line in stderr.splitlines() if line.startswith(("error: ", "hint: "))]
    if said:
        return "\n".join(said).replace("error: ", "", 1)
    if code == 4 and "budget exceeded" in table:
        return table.rsplit("\n\n", 1)[-1].rstrip()
    return f"the program ended with {code}"


def _read(path):
    return path.read_text(errors="replace") if path.exists() else ""


def _execute(options, program, check, report, cwd=None):
    with tempfile.TemporaryDirectory(prefix="coalesce-") as folder:
        files = {name: pathlib.Path(folder, name) for name in ("json", "output", "html")}
        words = [_command(), "run", "--json", files["json"], "--output", files["output"], *options]
        if report:
            words += ["--html", files["html"]]
        started = []

        def start():
            started.append(subprocess.Popen([*words, "--", *program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                            stderr=subprocess.PIPE, text=True, errors="replace", cwd=cwd, start_new_session=True))

        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            # A group of its own: where this process is interrupted, the program ends, too. Another thread starts it, as an
            # interrupt may come before Popen returns, and only the main thread takes interrupts.
            try:
                pool.submit(start).result()
                [process] = started
                stdout, stderr = process.communicate()
            except BaseException:
                pool.shutdown()  # by then the program has started, or never will
                for process in started:
                    os.killpg(process.pid, signal.SIGTERM)
                    process.communicate()
                raise
        launches = Launches(json.loads(_read(files["json"]) or "{}"), stdout, stderr, _read(files["output"]), _read(files["html"]))
    if check and process.returncode != 0:
        raise Error(_message(process.returncode, stderr, launches.table), process.returncode, launches)
    return launches


def run(program, *, check=True, report=False, cwd=None, **options):
    """Runs a program (or compiles and runs a .cu file) and returns its Launches.

    program: a list: its name, then its arguments. check: raise Error unless the exit code is 0. report: make the HTML
    report, too. options: those of `coalesce run`, as device="a100", require=["store_excess == 1"], X="-O3", shadow=True.
    """
    if isinstance(program, (str, os.PathLike)):
        raise TypeError("program is a list of words: coalesce.run(['./app', '100'])")
    for name in ("json", "html", "output", "o", "lines", "csv", "metrics"):
        if name in options:
            raise TypeError(f"run() has no use for {name}: Launches has all of it")
    return _execute(["--lines", *_words(options)], [os.fspath(word) for word in program], check, report, cwd)


def _cell(line, cell, namespace):
    """%%coalesce [options of `coalesce run`] [-- arguments of the program]: runs the cell's CUDA program, shows its output,
    the table and the report, and leaves its Launches in `launches`."""
    from IPython import display
    words = shlex.split(line)
    split = words.index("--") if "--" in words else len(words)
    with tempfile.TemporaryDirectory(prefix="coalesce-cell-") as folder:
        source = pathlib.Path(folder, "cell.cu")
        source.write_text(cell)
        try:
            launches = _execute(words[:split], [str(source), *words[split + 1:]], True, True)
        except Error as error:
            print(error.launches.stdout + error.stderr, end="")
            raise
    namespace["launches"] = launches
    print(launches.stdout + launches.stderr + launches.table, end="")
    # A document of its own: its styles and scripts stay in the frame.
    frame = '<iframe sandbox="allow-scripts" style="width:100%;height:40em;border:0" srcdoc="{}"></iframe>'
    display.display(display.HTML(frame.format(html.escape(launches.report))))


def load_ipython_extension(ipython):
    """Called by `%load_ext coalesce`."""
    def magic(line, cell):
        _cell(line, cell, ipython.user_ns)
    magic.__doc__ = _cell.__doc__
    ipython.register_magic_function(magic, "cell", "coalesce")
