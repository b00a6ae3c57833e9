#!/usr/bin/env python3
"""check_lammps.py PROGRAM LMP MPIEXEC FLAG: forces by Carom inside LAMMPS beside LAMMPS' own.

Equal to 1e-12 of the size for each law; one hash for all numbers of processes, for bricks and for tiles that are balanced, for
periodic boxes, and after a restart on another number of processes; misuse says what is wrong.
"""
import hashlib
import os
import subprocess
import sys
import tempfile

program, lmp, mpiexec, flag = sys.argv[1:5]
environment = dict(
    os.environ,
    OMPI_MCA_rmaps_base_oversubscribe="1",
    OMPI_ALLOW_RUN_AS_ROOT="1",
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    OMP_NUM_THREADS="1",
)

HEAD = """units si
atom_style sphere
boundary {sides} {sides} f
newton off
comm_modify vel yes
"""
MAKE = (
    HEAD
    + """lattice sc 1.0
region box block 0 10 0 8 0 12
create_box 1 box
region fill block 0.5 9.5 0.5 7.5 1 8
create_atoms 1 region fill
group small type 1
create_atoms 1 single 5 4 10.4 units box
group big subtract all small
set group all density 2500
variable d atom "0.4+0.6*((id*7919)%97)/96.0"
set group all diameter v_d
set group big diameter 3
displace_atoms all random 0.2 0.2 0.2 4711
velocity all create 1e23 87287 loop geom
velocity all scale 1e23
velocity big set 0 0 -20
pair_style zero 1.3
pair_coeff * *
run 0
write_data start.data nocoeff
"""
)
FIXES = """fix gravity all gravity 9.81 vector 0 0 -1
fix integrate all nve/sphere
fix bottom all wall/gran hooke/history 2e5 NULL 50.0 NULL 0.5 1 zplane 0 12
timestep 1e-3
thermo 1000
"""
WALLS = """fix left all wall/gran hooke/history 2e5 NULL 50.0 NULL 0.5 1 xplane 0 10
fix front all wall/gran hooke/history 2e5 NULL 50.0 NULL 0.5 1 yplane 0 8
"""
BALANCE = "comm_style tiled\ncomm_modify vel yes\nfix balance all balance 50 1.05 rcb\n"
DUMP = "write_dump all custom out.dump id x y z vx vy vz omegax omegay omegaz modify sort id format float %.17g\n"
LAWS = (
    "gran/hooke 2e5 NULL 50.0 NULL 0.5 1",
    "gran/hooke/history 2e5 NULL 50.0 NULL 0.5 1",
    "gran/hertz/history 1e6 NULL 50.0 NULL 0.5 0",
)


def write(name, text):
    with open(name, "w", encoding="ascii") as file:
        file.write(text)


def call(words, wanted=0):
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    if (done.returncode == 0) != (wanted == 0):
        sys.exit(f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def run_stock(script):
    write("in.stock", script)
    call([lmp, "-in", "in.stock", "-log", "none", "-screen", "none"])


def run(processes, law, setup, script, wanted=0):
    write("in.setup", setup)
    write("in.run", script)
    quiet = ["-log", "none", "-screen", "none"]
    return call([mpiexec, flag, str(processes), program, law, "0.2", "in.setup", "in.run", *quiet], wanted)


def dump():
    with open("out.dump", "rb") as file:
        content = file.read()
    os.remove("out.dump")
    rows = [[float(word) for word in line.split()] for line in content.decode().splitlines()[9:]]
    return rows, hashlib.md5(content).hexdigest()


def check(fact, text):
    if not fact:
        sys.exit(f"failed: {text}")


def check_law(law):
    setup = HEAD.format(sides="f") + "read_data start.data\n" + FIXES + WALLS
    steps = "run 200\nrun 200\n" + DUMP
    run_stock(setup + f"pair_style {law}\npair_coeff * *\nneighbor 0.2 bin\nneigh_modify every 1 delay 0 check yes\n" + steps)
    expected, _ = dump()
    hashes = set()
    for processes, more in ((1, ""), (2, ""), (4, ""), (3, BALANCE)):
        output = run(processes, law, setup + more, steps)
        rows, digest = dump()
        hashes.add(digest)
        check(len(rows) == len(expected) > 400, "as many spheres")
    worst = max(abs(p - q) for a, b in zip(rows, expected) for p, q in zip(a, b))
    size = max(abs(p) for row in expected for p in row[1:])
    check(worst <= 1e-12 * size, f"{law}: {worst} from LAMMPS' own, in values up to {size}")
    check(len(hashes) == 1, f"{law}: one hash, not {hashes}")
    return worst, output


def check_restart(law):
    start = HEAD.format(sides="p") + "read_data start.data\n" + FIXES
    hashes = set()
    for processes in (1, 3):
        run(processes, law, start, "run 150\nrun 150\n" + DUMP)
        hashes.add(dump()[1])
    for before, after in ((1, 4), (4, 2)):
        run(before, law, start, "run 150\nwrite_restart half.restart\n")
        again = "newton off\nread_restart half.restart\ncomm_modify vel yes\n" + FIXES
        run(after, law, again, "run 150\n" + DUMP)
        hashes.add(dump()[1])
    check(len(hashes) == 1, f"periodic, and after a restart: one hash, not {hashes}")


def check_misuse():
    setup = HEAD.format(sides="f") + "read_data start.data\n" + FIXES
    steps = "run 1\n"
    for law, text in (
        ("gran/hook 1 1 1 1 1 1", 'the style of the law is "gran/hook"'),
        ("gran/hooke 1 1 1 1 1", "has not seven words"),
        ("gran/hooke NULL 1 1 1 1 1", 'Kn of the law is "NULL"'),
        ("gran/hooke 1 1 -1 1 1 1", 'gamma_n of the law is "-1"'),
    ):
        check(text in run(1, law, setup, steps, 1), text)
    check("no box yet" in run(1, LAWS[0], "units si\n", steps, 1), "no box")
    points = "region b block 0 1 0 1 0 1\ncreate_box 1 b\nmass 1 1\n"
    check("use atom_style sphere" in run(1, LAWS[0], points, steps, 1), "no radii")
    check("in.nothing" in call([program, LAWS[0], "0.2", "in.nothing", "in.run"], 1), "a script that is not there")
    crowd = "".join(f"create_atoms 1 single {5 + i / 1000} 4 6\n" for i in range(30))
    many = HEAD.format(sides="f") + "region b block 0 10 0 8 0 12\ncreate_box 1 b\n" + crowd + FIXES
    check("touches more than 14 others" in run(1, LAWS[1], many, steps, 1), "more contacts than slots")


if subprocess.run([mpiexec, flag, "2", "true"], env=environment, check=False).returncode != 0:
    print("skipped: MPI starts no two processes here")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    run_stock(MAKE.format(sides="f"))
    for law in LAWS:
        worst, output = check_law(law)
        print(f"{law}: at most {worst:.2e} from LAMMPS' own; one hash")
    print(output)
    check_restart(LAWS[1])
    check_misuse()
print("forces inside LAMMPS are right")
