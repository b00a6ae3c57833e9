"""What the checks of forces inside LAMMPS share: processes, scripts, dumps."""
import hashlib
import os
import subprocess
import sys

environment = dict(
    os.environ,
    OMPI_MCA_rmaps_base_oversubscribe="1",
    OMPI_MCA_mpi_yield_when_idle="1",  # there may be more processes than processors
    OMPI_ALLOW_RUN_AS_ROOT="1",
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    OMP_NUM_THREADS="1",
)


def write(name, text):
    with open(name, "w", encoding="ascii") as file:
        file.write(text)


def call(words, wanted=0):
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    # On a busy machine Open MPI may lose sight of a process that ends. An abort, an exit code and a signal read otherwise.
    if done.returncode and "with PID 0" in done.stderr and "exiting improperly" in done.stderr:
        print(f"tried again, for MPI lost sight of a process: {words}")
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    if (done.returncode == 0) != (wanted == 0):
        sys.exit(f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def launcher(mpiexec, flag, processes):
    """What starts so many processes of a program. One alone needs no launcher, which costs as much as LAMMPS' own start."""
    return [mpiexec, flag, str(processes)] if processes > 1 else []


def check(fact, text):
    if not fact:
        sys.exit(f"failed: {text}")


def rows_of(text):
    """Each snapshot of a dump, as rows of numbers."""
    parts = text.split("ITEM: TIMESTEP\n")[1:]
    return [[[float(word) for word in line.split()] for line in part.splitlines()[8:]] for part in parts]


def dump(name="out.dump"):
    """The rows of a dump of one step, and its hash. The file is removed."""
    with open(name, "rb") as file:
        content = file.read()
    os.remove(name)
    return rows_of(content.decode())[0], hashlib.md5(content).hexdigest()


def skip_without_processes(mpiexec, flag):
    if subprocess.run([mpiexec, flag, "2", "true"], env=environment, check=False).returncode != 0:
        print("skipped: MPI starts no two processes here")
        sys.exit(77)
