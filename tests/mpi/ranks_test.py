#!/usr/bin/env python3
"""Several ranks of one job: `coalesce run` makes one table, `coalesce reduce` one answer, with mpirun or with what a launcher
tells its ranks by the environment: ranks_test.py COALESCE [CLANG_RUNTIME_FOLDER]."""
import json
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

COALESCE = os.path.abspath(sys.argv[1])
NIGHTLY = "COALESCE_NIGHTLY" in os.environ  # what launchers tell by the environment is tested in every change
MPIRUN = NIGHTLY and shutil.which("mpirun")
NVCC = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <signal.h>
__global__ void fill(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = i;
}
int main(int, char** words) {
  const int rank = std::atoi(std::getenv("OMPI_COMM_WORLD_RANK"));
  int* data = nullptr;
  const int n = 256 << rank;  // rank r fills 2^r times as much as rank 0
  if (cudaMalloc(&data, n * sizeof(int)) != cudaSuccess) return 9;
  fill<<<n / 256, 256>>>(data, n);
  if (cudaDeviceSynchronize() != cudaSuccess) return 8;
  // Once a rank has died, mpirun lets the others a second: rank 0 has to be collecting by then, which is what the test is about.
  if (words[1] != nullptr && std::atoi(words[1]) == rank) sleep(3), kill(getppid(), SIGKILL), kill(getpid(), SIGKILL);
  return 0;
}
"""

MPI_PROGRAM = r"""
#include <mpi.h>
#include <cstdio>
#define CHECK(c) if (!(c)) std::printf("line %d: %s\n", __LINE__, #c), MPI_Abort(MPI_COMM_WORLD, 1)
__global__ void fill(int* data, int value) { data[threadIdx.x] = value + threadIdx.x; }
int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank = 0, size = 0, host[64], sum[64];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int *mine = nullptr, *other = nullptr;
  CHECK(cudaMalloc(&mine, sizeof host) == cudaSuccess && cudaMalloc(&other, sizeof host) == cudaSuccess);
  fill<<<1, 64>>>(mine, 1000 * rank);
  CHECK(cudaMemcpy(host, mine, sizeof host, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(MPI_Allreduce(host, sum, 64, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);  // through the host
  for (int i = 0; i < 64; ++i) CHECK(sum[i] == 1000 * size * (size - 1) / 2 + size * i);
  // A device pointer, which MPI can tell by its attributes and send from where it lies.
  cudaPointerAttributes what;
  CHECK(cudaPointerGetAttributes(&what, mine) == cudaSuccess && what.type == cudaMemoryTypeDevice && what.device == 0);
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  CHECK(MPI_Sendrecv(mine, 64, MPI_INT, next, 0, other, 64, MPI_INT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
        MPI_SUCCESS);
  fill<<<1, 64>>>(mine, 0);
  CHECK(cudaMemcpy(host, other, sizeof host, cudaMemcpyDeviceToHost) == cudaSuccess);
  for (int i = 0; i < 64; ++i) CHECK(host[i] == 1000 * before + i);
  MPI_Finalize();
}
"""


class Job:
    """Ranks that a launcher could have started: each with its words."""

    def __init__(self, folder, words, extra=None, full=None):  # full: a rank that finds no room for files
        name = f"job{time.monotonic_ns()}"
        self.ranks = []
        for rank, line in enumerate(words):
            environment = os.environ | {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": str(len(words)),
                                        "OMPI_COMM_WORLD_LOCAL_SIZE": str(len(words)), "PMIX_NAMESPACE": name,
                                        "TMPDIR": folder, "COALESCE_RANKS_TIMEOUT": "5"} | (extra or {})
            if line is not None:
                # With SIGXFSZ ignored, as Python has it, writing beyond the limit is an error, as on a full disk.
                full_disk = {"restore_signals": False, "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))}
                self.ranks.append(subprocess.Popen([COALESCE, *map(str, line)], env=environment, cwd=folder, text=True,
                                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                                   **(full_disk if rank == full else {})))

    def ended(self):
        """[(exit code, standard output, standard error)]"""
        return [(p.wait(timeout=100), *texts) for p in self.ranks for texts in [p.communicate(timeout=100)]]


def npy(path, values):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % len(values)
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                   struct.pack("<%df" % len(values), *values))
    return path


class Ranks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        with open(os.path.join(cls.folder, "fill.cu"), "w") as file:
            file.write(PROGRAM)
        # Values of very different sizes: an inexact sum would depend on the split.
        cls.values = [(-1.0) ** i * 1.37 ** (i % 60) for i in range(5000)]
        cls.file = npy(os.path.join(cls.folder, "x.npy"), cls.values)
        cls.alone = subprocess.run([COALESCE, "reduce", "--json", "-", cls.file], capture_output=True, text=True,
                                   check=True).stdout

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def left_behind(self):
        """Files of meetings but the marks of ranks that have taken part."""
        return [name for folder, _, names in os.walk(self.folder) for name in names
                if "coalesce-ranks" in folder and not name.startswith("rank.")]

    def test_run_makes_one_table(self):
        for count in (1, 3):
            counted = os.path.join(self.folder, "counted.json")
            if os.path.exists(counted):
                os.remove(counted)
            line = ["run", "--compiler", "clang", "--json", counted, "fill.cu"]
            ended = Job(self.folder, [line] * count).ended()
            self.assertEqual([code for code, _, _ in ended], [0] * count, ended)
            self.assertTrue(all(err == "" for _, _, err in ended[1:]), "only rank 0 prints")
            with open(counted) as file:
                run = json.load(file)
            if count == 1:
                self.assertNotIn("ranks", run)
                continue
            self.assertEqual((run["ranks"], run["complete"]), (3, True))
            self.assertEqual([p["rank"] for p in run["processes"]], [0, 1, 2])
            self.assertEqual([(one["process"], one["grid"][0]) for one in run["launches"]], [(0, 1), (1, 2), (2, 4)])
            self.assertIn("3 of 3 ranks, 1 launch each", ended[0][2])
            self.assertIn("worst rank", ended[0][2])
            row = next(text for text in ended[0][2].splitlines() if text.startswith("fill "))
            self.assertIn("7.2 kB", row)  # 256 x 4 bytes x (1 + 2 + 4)
            self.assertTrue(row.endswith(" 2 4.1 kB"), row)  # the worst: rank 2
        self.assertEqual(self.left_behind(), [])

    def test_a_killed_rank_is_named(self):
        for victim in (1, 2) if NIGHTLY else (2,):  # each waits for seconds
            counted = os.path.join(self.folder, "killed.json")
            line = ["run", "--compiler", "clang", "--json", counted, "fill.cu", victim]
            ended = Job(self.folder, [line] * 3).ended()
            self.assertEqual([code for code, _, _ in ended], [3 if r == 0 else -9 if r == victim else 0 for r in range(3)])
            self.assertIn(f"rank {victim} ended before its work was done", ended[0][2])
            with open(counted) as file:
                run = json.load(file)
            self.assertFalse(run["complete"])
            self.assertEqual(len(run["launches"]), 3, "its launch had been counted")

    def test_a_rank_that_never_starts_is_waited_for_so_long(self):
        ended = Job(self.folder, [["reduce", self.file], ["reduce", self.file], None],
                    {"COALESCE_RANKS_TIMEOUT": "1"}).ended()
        for code, _, err in ended:
            self.assertEqual(code, 3)
            self.assertIn("rank 2 did not start this command within 1 s (COALESCE_RANKS_TIMEOUT)", err)

    def test_many_that_never_start_are_waited_for_once(self):
        start = time.monotonic()
        ended = Job(self.folder, [["reduce", self.file], None, None, None], {"COALESCE_RANKS_TIMEOUT": "3"}).ended()
        self.assertLess(time.monotonic() - start, 2 * 3)
        self.assertIn("rank 1 did not start this command within 3 s", ended[0][2])

    def test_a_meeting_in_no_folder_is_told(self):
        ended = Job(self.folder, [["reduce", self.file]] * 2, {"COALESCE_RANKS_FOLDER": "/dev/full"}).ended()
        for code, _, err in ended:
            self.assertEqual(code, 3)
            self.assertIn("cannot make the folder '/dev/full', where ranks meet: it is no folder", err)

    def test_reduce_has_the_bits_of_one_process(self):
        for count in (2, 3, 7):
            ended = Job(self.folder, [["reduce", "--json", "-", self.file]] * count).ended()
            self.assertEqual([code for code, _, _ in ended], [0] * count, ended)
            self.assertEqual([out for _, out, _ in ended], [self.alone] + [""] * (count - 1))
        self.assertEqual(self.left_behind(), [])

    def test_more_ranks_than_elements(self):
        file = npy(os.path.join(self.folder, "two.npy"), [1.5, 2.5])
        ended = Job(self.folder, [["reduce", "--op", "exact_sum,argmax", "--json", "-", file]] * 5).ended()
        self.assertEqual(json.loads(ended[0][1])["results"], {"exact_sum": 4.0, "argmax": 1})

    def test_what_is_wrong_on_one_rank_ends_all(self):
        wrong = [(["reduce", "--op", "min", self.file], ["reduce", "--op", "exact_sum", self.file], 2, "the ranks disagree"),
                 (["reduce", self.file], ["reduce", "missing.npy"], 3, "rank 1: cannot"),
                 (["reduce", "missing.npy"], ["reduce", self.file], 3, "rank 0: cannot"),
                 (["reduce", self.file], ["reduce", npy(os.path.join(self.folder, "y.npy"), [1.0])], 2, "different files")]
        for first, second, code, text in wrong:
            for returned, out, err in Job(self.folder, [first, second, first]).ended():
                self.assertEqual((returned, out), (code, ""), err)
                self.assertIn(text, err)

    def test_a_truncated_file_ends_all(self):
        file = os.path.join(self.folder, "cut.npy")
        with open(self.file, "rb") as whole, open(file, "wb") as cut:
            cut.write(whole.read()[:-100])
        for code, _, err in Job(self.folder, [["reduce", file]] * 2).ended():
            self.assertEqual(code, 2)
            self.assertIn("cut.npy", err)

    def test_nan_in_one_shard(self):
        file = npy(os.path.join(self.folder, "nan.npy"), self.values[:50] + [float("nan")] + self.values[:50])
        line = ["reduce", "--op", "exact_sum,max,argmax", "--json", "-", file]
        alone = subprocess.run([COALESCE, *line], capture_output=True, text=True, check=True).stdout
        self.assertEqual(Job(self.folder, [line] * 4).ended()[0][1], alone)
        self.assertIn("nan", alone.lower())

    def test_a_corrupt_checkpoint_of_one_rank_ends_all(self):
        line = ["reduce", "--checkpoint", "state", "--resume", self.file]
        self.assertEqual([code for code, _, _ in Job(self.folder, [line] * 2).ended()], [0, 0])
        with open(os.path.join(self.folder, "state.2-of-2"), "r+b") as file:
            file.seek(30)
            file.write(b"x")
        for code, _, err in Job(self.folder, [line] * 2).ended():
            self.assertEqual(code, 2)
            self.assertIn("rank 1: 'state.2-of-2'", err)

    def test_a_full_disk_on_one_rank_ends_all_and_loses_nothing(self):
        line = ["reduce", "--checkpoint", "kept", self.file]
        self.assertEqual([code for code, _, _ in Job(self.folder, [line] * 2).ended()], [0, 0])
        with open(os.path.join(self.folder, "kept.2-of-2"), "rb") as file:
            before = file.read()
        for code, out, err in Job(self.folder, [line] * 2, full=1).ended():
            self.assertEqual((code, out), (3, ""), err)
            self.assertIn("kept.2-of-2.new': File too large", err)
        with open(os.path.join(self.folder, "kept.2-of-2"), "rb") as file:
            self.assertEqual(file.read(), before)

    def test_a_rank_killed_in_the_middle_ends_all_and_the_rest_is_resumed(self):
        large = os.path.join(self.folder, "large.f32")
        with open(large, "wb") as file:
            file.truncate(64 << 20)
            file.write(struct.pack("<3f", 1.5, 2.5, 3.5))
        line = ["reduce", "--op", "exact_sum", "--type", "float32", "--checkpoint", "part", "--resume", large]
        job = Job(self.folder, [line] * 3)
        os.kill(job.ranks[1].pid, signal.SIGSTOP)  # it cannot end before it is killed
        time.sleep(0.5)
        job.ranks[1].kill()
        ended = job.ended()
        self.assertEqual(ended[1][0], -signal.SIGKILL)
        for code, out, err in (ended[0], ended[2]):
            self.assertEqual((code, out), (3, ""), err)
            self.assertRegex(err, "rank 1 (ended before its work was done|did not start this command within 5 s)")
        ended = Job(self.folder, [line[:-1] + ["--json", "-", large]] * 3).ended()
        self.assertEqual(json.loads(ended[0][1])["results"], {"exact_sum": 7.5}, ended)

    def test_a_killed_rank_is_named_by_ranks_that_its_launcher_ends(self):
        endless = os.path.join(self.folder, "endless.f32")
        with open(endless, "wb") as file:
            file.truncate(1 << 36)
        job = Job(self.folder, [["reduce", "--threads", "1", "--type", "float32", endless]] * 3)
        time.sleep(1.5)  # all are reading
        for rank, sent in ((2, signal.SIGKILL), (0, signal.SIGTERM), (1, signal.SIGTERM)):
            job.ranks[rank].send_signal(sent)
            if sent == signal.SIGKILL:
                os.waitid(os.P_PID, job.ranks[rank].pid, os.WEXITED | os.WNOWAIT)
        ended = job.ended()
        for code, out, err in ended[:2]:
            self.assertEqual((code, out), (3, ""), err)
            self.assertIn("rank 2 ended before its work was done", err)
        os.remove(endless)

    def test_ranks_of_other_hosts_need_a_folder(self):
        environment = {"OMPI_COMM_WORLD_LOCAL_SIZE": "1"}
        for code, _, err in Job(self.folder, [["reduce", self.file]] * 2, environment).ended():
            self.assertEqual(code, 2)
            self.assertIn("COALESCE_RANKS_FOLDER", err)
        shared = {"COALESCE_RANKS_FOLDER": os.path.join(self.folder, "shared")} | environment
        ended = Job(self.folder, [["reduce", "--json", "-", self.file]] * 2, shared).ended()
        self.assertEqual(ended[0][1], self.alone)

    @unittest.skipUnless(MPIRUN, "no mpirun")
    def test_with_mpirun(self):
        def call(*line, code=0):
            done = subprocess.run([str(word) for word in line], capture_output=True, text=True, timeout=100,
                                  env=os.environ | ROOT, cwd=self.folder)
            self.assertIn(done.returncode, code if isinstance(code, tuple) else (code,), done.stderr)
            return done
        mpirun = [MPIRUN, "--oversubscribe", "-np", 4]
        self.assertEqual(call(*mpirun, COALESCE, "reduce", "--json", "-", self.file).stdout, self.alone)
        lines = [[*mpirun, COALESCE, "run", "--compiler", "clang", "--json", "mpi.json", "fill.cu"]]
        if NVCC:  # the other way round, with a program that is built already
            call(NVCC, "-arch=sm_90", "fill.cu", "-o", "fill")
            lines.append([COALESCE, "run", "--json", "mpi.json", *mpirun, "./fill"])
        for line in lines:
            call(*line)
            with open(os.path.join(self.folder, "mpi.json")) as file:
                run = json.load(file)
            self.assertEqual([(p["rank"], p["launches"]) for p in run["processes"]], [(r, 1) for r in range(4)])
            self.assertEqual([one["grid"][0] for one in run["launches"]], [1, 2, 4, 8])
        # mpirun's code is that of the rank that it sees fail first: the killed one, or rank 0, which misses it.
        err = call(*mpirun, COALESCE, "run", "--compiler", "clang", "fill.cu", 2, code=(137, 3)).stderr
        self.assertIn("rank 2 ended before its work was done", err)

    @unittest.skipUnless(MPIRUN and shutil.which("mpicxx"), "no MPI")
    def test_a_program_that_uses_mpi(self):
        with open(os.path.join(self.folder, "ring.cu"), "w") as file:
            file.write(MPI_PROGRAM)
        def show(what):
            return subprocess.run(["mpicxx", "--showme:" + what], capture_output=True, text=True, check=True).stdout.split()
        flags = [word for folder in show("incdirs") for word in ("-X", "-I" + folder)] + ["-X", "-DOMPI_SKIP_MPICXX"]
        flags += [word for folder in show("libdirs") for word in ("-X", "-L" + folder)] + ["-X", "-lmpi"]
        done = subprocess.run([MPIRUN, "--oversubscribe", "-np", "3", COALESCE, "run", "--compiler", "clang", *flags,
                               "--json", "ring.json", "ring.cu"], capture_output=True, text=True, timeout=100,
                              env=os.environ | ROOT, cwd=self.folder)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        with open(os.path.join(self.folder, "ring.json")) as file:
            self.assertEqual([p["launches"] for p in json.load(file)["processes"]], [2, 2, 2])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
