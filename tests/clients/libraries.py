"""The toolkit's libraries as they are, by programs beside this file, which hold the calls and the oracles."""
import glob
import os
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def run(coalesce, home, library, seconds):
    """{check: [pass, fail or skip, why]} of `library`: cublas or curand. `home`: of the toolkit."""
    folders = [os.path.dirname(path) for path in glob.glob(os.path.join(home, "lib*", f"lib{library}.so"))]
    if not folders:
        return {library: ["skip", f"the toolkit has no lib{library}.so"]}
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, library)
        built = subprocess.run(["g++", "-std=c++17", "-O1", f'-DTRUTH="{HERE}/curand_h100.txt"', "-isystem", os.path.join(home, "include"), os.path.join(HERE, f"{library}.cpp"), "-o",
                                program, f"-L{folders[0]}", f"-l{library}", "-lcudart", f"-Wl,-rpath,{folders[0]}", f"-Wl,-rpath-link,{folders[0]}"],
                               capture_output=True, text=True)
        if built.returncode:
            return {library: ["fail", f"does not compile: {(built.stderr.strip().splitlines() or [''])[0][:200]}"]}

        def lines(*names):
            done = subprocess.run([coalesce, "run", "-q", program, *names], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds)
            return [line.split("\t", 1) for line in done.stdout.splitlines() if "\t" in line], done

        found, done = lines()
        if not found:
            return {library: ["fail", ((done.stderr or done.stdout).strip().splitlines() or ["no word"])[-1][:200]]}
        outcomes = {}
        for name, says in found:
            if says != "right":  # alone, for the warning that belongs to it
                says += "".join("; " + line for line in lines(name)[1].stderr.splitlines() if "warning" in line or "error" in line)
            outcomes[name] = ["pass", ""] if says == "right" else ["fail", says[:300]]
        return outcomes
