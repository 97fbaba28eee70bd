"""What results.py and agreement.py share: running programs, tables."""
import os
import subprocess

GRACE = 5  # seconds from being asked to end to being killed


def run(words, seconds=120, environment=None, **more):
    """The finished process, of code 127 if there is no such program; None where it took too long: it was asked to end
    then, so what it had is written."""
    try:
        child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                                 env={**os.environ, **(environment or {})}, **more)
    except OSError as error:
        return subprocess.CompletedProcess(words, 127, "", str(error))
    try:
        out, errors = child.communicate(timeout=seconds)
        return subprocess.CompletedProcess(words, child.returncode, out, errors)
    except subprocess.TimeoutExpired:
        child.terminate()
    try:
        child.communicate(timeout=GRACE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
    return None


def table(titles, rows, numbers=True):
    """A Markdown table; columns that no row has anything in are left out. Numbers: all columns but the first are."""
    keep = [c for c in range(len(titles)) if c == 0 or any(row[c] != "" for row in rows)]
    lines = ["| " + " | ".join(titles[c] for c in keep) + " |",
             "|" + "|".join("---:" if numbers and c else "---" for c in keep) + "|"]
    lines += ["| " + " | ".join(str(row[c]) for c in keep) + " |" for row in rows]
    return "\n".join(lines) + "\n"
