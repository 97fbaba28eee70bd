"""What results.py and agreement.py share: running programs, tables."""
import os
import subprocess


def run(words, seconds=120, environment=None, **more):
    """The finished process; None where it took too long."""
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=seconds,
                              env={**os.environ, **(environment or {})}, errors="replace", **more)
    except (subprocess.TimeoutExpired, OSError):
        return None


def table(titles, rows, numbers=True):
    """A Markdown table; columns that no row has anything in are left out. Numbers: all columns but the first are."""
    keep = [c for c in range(len(titles)) if c == 0 or any(row[c] != "" for row in rows)]
    lines = ["| " + " | ".join(titles[c] for c in keep) + " |",
             "|" + "|".join("---:" if numbers and c else "---" for c in keep) + "|"]
    lines += ["| " + " | ".join(str(row[c]) for c in keep) + " |" for row in rows]
    return "\n".join(lines) + "\n"
