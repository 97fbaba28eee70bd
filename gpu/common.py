"""What results.py, agreement.py and launches.py share: running programs, and the path to docs/pages.py."""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(ROOT, "docs"))

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

