#!/usr/bin/env python3
"""check_lammps.py PROGRAM STYLES LMP MPIEXEC FLAG: forces by Carom inside LAMMPS beside LAMMPS' own.

PROGRAM is carom_lammps (fix external), STYLES is carom_lmp (pair_style carom) or NONE, with caromplugin.so beside it. Equal to 1e-12 of the size for each law; one hash for all numbers of processes, for bricks and for tiles that are balanced, for
periodic boxes, and after a restart on another number of processes; misuse says what is wrong.
"""
import ctypes
import math
import os
import signal
import subprocess
import sys
import tempfile
import time

from lammps_runs import call, check, dump, environment, launcher, skip_without_processes, write

program, styles, lmp, mpiexec, flag = sys.argv[1:6]
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


def run_stock(script):
    write("in.stock", script)
    call([lmp, "-in", "in.stock", "-log", "none", "-screen", "none"])


def run(processes, law, setup, script, wanted=0):
    write("in.setup", setup)
    write("in.run", script)
    quiet = ["-log", "none", "-screen", "none"]
    return call([*launcher(mpiexec, flag, processes), program, law, "0.2", "in.setup", "in.run", *quiet], wanted)


def run_styles(processes, script, wanted=0):
    write("in.styles", script)
    quiet = ["-log", "none"] if wanted else ["-log", "none", "-screen", "none"]
    return call([*launcher(mpiexec, flag, processes), styles, "-in", "in.styles", *quiet], wanted)


class Plugin(ctypes.Structure):
    _fields_ = [(name, ctypes.c_char_p) for name in ("version", "style", "name", "info", "author")]
    _fields_ += [(name, ctypes.c_void_p) for name in ("creator", "handle")]


def check_plugin():
    """Every symbol of the plug-in is there, and it offers its styles as LAMMPS asks for them."""
    ctypes.CDLL("liblammps.so.0", ctypes.RTLD_GLOBAL)
    plugin = ctypes.CDLL(os.path.join(os.path.dirname(styles), "caromplugin.so"), os.RTLD_NOW)
    offered = []
    offer = ctypes.CFUNCTYPE(None, ctypes.POINTER(Plugin), ctypes.c_void_p)(
        lambda record, _: offered.append((record[0].style, record[0].name, bool(record[0].creator), record[0].version))
    )
    plugin.lammpsplugin_init(None, None, offer)
    check([o[:2] for o in offered] == [(b"pair", b"carom"), (b"fix", b"carom/springs"), (b"fix", b"carom/rigid")], f"styles of the plug-in: {offered}")
    check(all(o[2] and o[3] for o in offered), f"creators and versions of the plug-in: {offered}")


def check_law(law, runs):
    """runs: of door 1 and door 2, numbers of processes; below 0: of tiles that are balanced."""
    setup = HEAD.format(sides="f") + "read_data start.data\n" + FIXES + WALLS
    steps = "timestep 4e-4\nrun 300\nrun 700\n" + DUMP
    lists = "pair_coeff * *\nneighbor 0.2 bin\nneigh_modify every 1 delay 0 check yes\n"
    run_stock(setup + f"pair_style {law}\n{lists}" + steps)
    expected, _ = dump()
    size = max(abs(p) for row in expected for p in row[1:])
    furthest = []
    for door, counts in enumerate(runs):
        hashes = set()
        for processes in counts:
            more = BALANCE if processes < 0 else ""
            if door == 0:
                output = run(abs(processes), law, setup + more, steps)
            else:
                run_styles(abs(processes), setup + more + f"pair_style carom {law}\n{lists}" + steps)
            rows, digest = dump()
            hashes.add(digest)
            check(len(rows) == len(expected) > 400, "as many spheres")
        worst = max(abs(p - q) for a, b in zip(rows, expected) for p, q in zip(a, b))
        check(worst <= 1e-12 * size, f"{law}: {worst} from LAMMPS' own, in values up to {size}")
        check(len(hashes) == 1, f"{law}: one hash, not {hashes}")
        furthest.append(worst)
    return furthest, output


def check_styles_columns(law):
    """A plate so wide that Carom cuts it into columns: spheres at their borders, whose lists are made anew, are as LAMMPS has them."""
    place = "lattice sc 1.0 origin 0.5 0.5 0.5\nregion box block 0 70 0 70 0 2\ncreate_box 1 box\ncreate_atoms 1 box\nset group all density 2500\nset group all diameter 1.02\n"
    move = "displace_atoms all random 0.05 0.05 0.05 4711\nvelocity all create 1e23 87287 loop geom\nvelocity all scale 1e25\n"
    run_stock(HEAD.format(sides="p") + place + move + "pair_style zero 1.3\npair_coeff * *\nrun 0\nwrite_data plate.data nocoeff\n")
    start = HEAD.format(sides="p") + "read_data plate.data\n" + FIXES
    steps = "pair_coeff * *\nneighbor 0.05 bin\nneigh_modify every 1 delay 0 check yes\nrun 100\n" + DUMP
    run_stock(start + f"pair_style {law}\n" + steps)
    expected, _ = dump()
    size = max(abs(p) for row in expected for p in row[1:])
    hashes = set()
    for processes in (1, 3):
        run_styles(processes, start + f"pair_style carom {law}\n" + steps)
        rows, digest = dump()
        hashes.add(digest)
        worst = max(abs(p - q) for a, b in zip(rows, expected) for p, q in zip(a, b))
        check(len(rows) == len(expected) > 9000 and worst <= 1e-12 * size, f"a plate of columns: {worst} from LAMMPS' own, in values up to {size}")
    check(len(hashes) == 1, f"a plate of columns: one hash, not {hashes}")


LISTS = "neighbor 0.2 bin\nneigh_modify every 1 delay 0 check yes\n"
ROLLING = "hooke 2e5 50.0 damping mass_velocity tangential linear_history 57142.0 0.5 0.5 rolling sds 4e4 20.0 0.2"


def furthest_of(rows, expected):
    """The largest difference of the rows, and the largest value."""
    worst = max(abs(p - q) for a, b in zip(rows, expected) for p, q in zip(a, b))
    return worst, max(abs(p) for row in expected for p in row[1:])


def after_restart(begin, file, again, splits):
    """Hashes of runs that begin on so many processes and go on from their restart file on others."""
    hashes = set()
    for before, after in splits:
        run_styles(before, begin)
        run_styles(after, read_again(file) + again + DUMP)
        hashes.add(dump()[1])
    return hashes


def read_again(file):
    return f"newton off\nread_restart {file}\ncomm_modify vel yes\n" + FIXES + LISTS


def check_styles_rolling():
    """Rolling friction beside LAMMPS' pair_style granular: one hash, springs of rolling go with their spheres and into restart files."""
    start = HEAD.format(sides="p") + "read_data start.data\n" + FIXES
    steps = "timestep 4e-4\nrun 500\nrun 500\n" + DUMP
    # LAMMPS of 2022 turns springs of rolling around where it sorts atoms, as it begins a run: its own does not sort here.
    still = start.replace("read_data", "atom_modify sort 0 0.0\nread_data")
    run_stock(still + f"pair_style granular\npair_coeff * * {ROLLING}\n{LISTS}" + steps)
    expected, _ = dump()
    run_stock(still + f"pair_style granular\npair_coeff * * {ROLLING.partition(' rolling')[0]}\n{LISTS}" + steps)
    sliding, _ = dump()
    pair = f"pair_style carom granular {ROLLING}\npair_coeff * *\n"
    hashes = set()
    for processes in (1, -3):  # 2, 3 and 4 go on from restart files below
        run_styles(abs(processes), start + (BALANCE if processes < 0 else "") + pair + LISTS + steps)
        rows, digest = dump()
        hashes.add(digest)
        worst, size = furthest_of(rows, expected)
        check(len(rows) == len(expected) > 400 and worst <= 1e-12 * size, f"rolling friction: {worst} from LAMMPS' own, in values up to {size}")
    check(furthest_of(rows, sliding)[0] > 1e-3, "rolling friction changes the motion")
    begin = start + pair + LISTS + "timestep 4e-4\nrun 500\nwrite_restart roll.restart\n"
    hashes |= after_restart(begin, "roll.restart", "timestep 4e-4\nrun 500\n", ((1, 3), (4, 2)))
    check(len(hashes) == 1, f"rolling friction, and after a restart: one hash, not {hashes}")
    other = read_again("roll.restart") + f"pair_style carom {LAWS[1]}\npair_coeff * *\nrun 1\n"
    check("are those of another law" in run_styles(1, other, 1), "springs of another law")
    run_styles(1, start + f"pair_style carom granular {ROLLING.partition(' rolling')[0]}\npair_coeff * *\n{LISTS}" + steps)
    unrolled, size = furthest_of(dump()[0], sliding)
    check(unrolled <= 1e-12 * size, f"the law granular without rolling: {unrolled} from LAMMPS' own, in values up to {size}")
    print(f"granular {ROLLING}: at most {worst} from LAMMPS' own; one hash")


def check_styles_restart(law):
    """Springs and the law go into restart files; a run in parts is the run."""
    start = HEAD.format(sides="p") + "read_data start.data\n" + FIXES
    pair = f"pair_style carom {law}\npair_coeff * *\n"
    hashes = set()
    for processes in (1, 6):
        run_styles(processes, start + pair + LISTS + "run 150\nrun 150\n" + DUMP)
        rows, digest = dump()
        hashes.add(digest)
    hashes |= after_restart(start + pair + LISTS + "restart 150 half.restart\nrun 150\n", "half.restart.150", "run 150\n", ((1, 4), (4, 3)))
    check(len(hashes) == 1, f"styles, periodic, and after a restart: one hash, not {hashes}")
    # A file that is written while a list holds leaves the springs as they are. It makes lists earlier, and so rounds places.
    run_styles(2, start + pair + LISTS + "restart 37 part.restart\nrun 150\nrun 150\n" + DUMP)
    worst = max(abs(p - q) for a, b in zip(dump()[0], rows) for p, q in zip(a[4:], b[4:]))
    check(worst < 1e-11 * max(abs(p) for row in rows for p in row[4:]), f"with restart files on the way: {worst} from the run")


def check_styles_virials(law):
    """A frozen group, pressure, stress of each sphere and ghosts by type: values are LAMMPS' own, on each number of processes."""
    start = HEAD.format(sides="p") + "read_data start.data extra/atom/types 1\n" + FIXES
    asked = """group fixed id 1:60
set atom 505 type 2
neighbor 0.2 multi
comm_modify mode multi vel yes
fix still fixed freeze
compute p all pressure NULL pair
compute s all stress/atom NULL pair
fix p all ave/time 1 1 50 c_p c_p[1] c_p[2] c_p[3] c_p[4] c_p[5] c_p[6] file pressure.txt format " %.17g"
dump d all custom 100 all.dump.* id x y z vx vy vz c_s[1] c_s[2] c_s[3] c_s[4] c_s[5] c_s[6]
dump_modify d sort id format float %.17g
run 100
"""

    def results():
        with open("pressure.txt", encoding="ascii") as file:
            os.rename("all.dump.100", "out.dump")
            return [[float(word) for word in line.split()] for line in file if line[0] != "#"], dump()[0]

    def furthest(values, others):
        size = max(abs(p) for row in others for p in row[1:])
        return max(abs(p - q) for a, b in zip(values, others) for p, q in zip(a, b)) / size

    run_stock(start + f"pair_style {law}\npair_coeff * *\n" + asked)
    pressures, rows = results()
    check(len(pressures) == 3 and max(abs(row[7]) for row in rows) > 0, "pressures and stresses that are not 0")
    for processes in (1, 4):
        run_styles(processes, start + f"pair_style carom {law}\npair_coeff * *\n" + asked)
        found, theirs = results()
        for name, worst in (("pressure", furthest(found, pressures)), ("places and stress", furthest(theirs, rows))):
            check(worst < 1e-11, f"{name} with a frozen group on {processes} processes: {worst} from LAMMPS' own")


def check_styles_walls():
    """LAMMPS' own walls tell what they carry beside pair_style carom, as the guide says: the weight of all spheres that lie on the floor."""
    law = "hooke/history 2e5 NULL 50.0 NULL 0.5 1"
    script = HEAD.format(sides="f") + "region b block -5 5 -5 5 -1 10\ncreate_box 1 b\n"
    script += "".join(f"create_atoms 1 single {x} 0 0.5 units box\n" for x in (0, 2, 2.9)) + "set group all density 2500\nset group all diameter 1\n"
    script += f"pair_style carom gran/{law}\npair_coeff * *\nneighbor 0.2 bin\nfix gravity all gravity 9.81 vector 0 0 -1\nfix move all nve/sphere\n"
    script += f"fix floor all wall/gran {law} zplane 0 NULL contacts\ncompute load all reduce sum f_floor[2] f_floor[3] f_floor[4]\n"
    run_styles(2, script + 'timestep 1e-3\nthermo_style custom step c_load[3]\nrun 3000\nprint "$(c_load[3]:%.17g)" file load.txt\n')
    with open("load.txt", encoding="ascii") as file:
        load = float(file.read())
    weight = 3 * 9.81 * 2500 * math.pi / 6
    check(abs(load / weight - 1) < 1e-3, f"the floor carries {load}, not {weight}")


def processes_below(parent):
    with open(f"/proc/{parent}/task/{parent}/children", encoding="ascii") as file:
        below = [int(word) for word in file.read().split()]
    return below + [p for child in below for p in processes_below(child)]


def is_styles(process):
    with open(f"/proc/{process}/comm", encoding="ascii") as file:
        return file.read().strip() == os.path.basename(styles)


def check_styles_death(law):
    """A process that dies ends the run with an error, and the restart file before is whole; so it is where the disk is full."""
    start = HEAD.format(sides="p") + "read_data start.data\n" + FIXES + f"pair_style carom {law}\npair_coeff * *\n"
    run_styles(2, start + LISTS + "restart 50 whole.restart\nrun 50\nrun 50\n" + DUMP)
    expected = dump()[1]
    write("in.styles", start + LISTS + "restart 50 dead.restart\nrun 100000000\n")
    words = [mpiexec, flag, "3", styles, "-in", "in.styles", "-log", "none", "-screen", "none"]
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as run_of_three:
        while not os.path.exists("dead.restart.100"):
            check(run_of_three.poll() is None, "the run that is to be killed goes on")
            time.sleep(0.05)
        os.kill([p for p in processes_below(run_of_three.pid) if is_styles(p)][1], signal.SIGKILL)
        output = run_of_three.communicate()[0]
        check(run_of_three.returncode != 0 and "signal 9" in output, f"death of a process: {run_of_three.returncode}, {output}")
    again = read_again("dead.restart.50")
    run_styles(1, again + "restart 50 again.restart\nrun 50\n" + DUMP)
    check(dump()[1] == expected, "a run goes on from the restart file before a process died, bit for bit")
    check("I/O error while writing restart" in run_styles(1, again + "write_restart /dev/full\n", 1), "a full disk")
    with open("dead.restart.50", "rb") as file:
        part = file.read(1800)
    with open("cut.restart", "wb") as file:
        file.write(part)
    check("cut.restart" in run_styles(1, "read_restart cut.restart\n", 1), "a restart file that was cut")


def check_styles_misuse():
    setup = HEAD.format(sides="f") + "read_data start.data\n" + FIXES
    pair = "pair_style carom gran/hooke 2e5 NULL 50.0 NULL 0.5 1\n"
    every = "pair_coeff * *\n"
    points = "units si\nregion b block 0 1 0 1 0 1\ncreate_box 1 b\nmass 1 1\n"
    for script, text in (
        (setup + "pair_style carom gran/hook 1 1 1 1 1 1\n", 'the style of the law is "gran/hook"'),
        (setup + "pair_style carom\n", "has not seven words"),
        (setup + "pair_style carom granular hertz 1 1\n", 'word 2 of the law is "hertz", not "hooke"'),
        (setup + f"pair_style carom granular {ROLLING} 1\n", 'the law has "1" behind its end'),
        (setup + f"pair_style carom granular {ROLLING[:-4]}\n", "is not granular hooke Kn gamma_n"),
        (setup + f"pair_style carom granular {ROLLING[:-3]}-1\n", 'mu_roll of the law is "-1", not a number'),
        (setup + pair + "pair_coeff 1 1\n", "one law for all types"),
        (setup + pair + every + "comm_modify vel no\nrun 1\n", "comm_modify vel yes"),
        (setup + pair + every + "neigh_modify exclude type 1 1\nrun 1\n", "excluded pairs"),
        (setup + pair + every + "fix r all rigid/small molecule\nrun 1\n", "ERROR"),
        (points + pair + every + "run 1\n", "atom_style sphere"),
        (setup + "fix s all carom/springs 1\n", "takes no words"),
        ("read_restart none.restart\n", "Cannot open restart file none.restart"),
        (setup + "fix n all carom/nothing\n", "Unrecognized fix style 'carom/nothing'"),
    ):
        check(text in run_styles(1, script, 1), text)


def check_restart(law):
    start = HEAD.format(sides="p") + "read_data start.data\n" + FIXES
    run(1, law, start, "run 150\nrun 150\n" + DUMP)
    hashes = {dump()[1]}
    for before, after in ((1, 4), (3, 2)):
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
        (f"granular {ROLLING}", "rolling friction is known to pair_style carom alone"),
    ):
        check(text in run(1, law, setup, steps, 1), text)
    check("no box yet" in run(1, LAWS[0], "units si\n", steps, 1), "no box")
    points = "region b block 0 1 0 1 0 1\ncreate_box 1 b\nmass 1 1\n"
    check("use atom_style sphere" in run(1, LAWS[0], points, steps, 1), "no radii")
    check("in.nothing" in call([program, LAWS[0], "0.2", "in.nothing", "in.run"], 1), "a script that is not there")
    crowd = "".join(f"create_atoms 1 single {5 + i / 1000} 4 6\n" for i in range(30))
    many = HEAD.format(sides="f") + "region b block 0 10 0 8 0 12\ncreate_box 1 b\n" + crowd + FIXES
    check("touches more than 14 others" in run(1, LAWS[1], many, steps, 1), "more contacts than slots")


skip_without_processes(mpiexec, flag)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    run_stock(MAKE.format(sides="f"))
    all_runs = {
        LAWS[0]: ((1, 4), (1, 4)),
        LAWS[1]: ((1, -3), (1, 2, -3, 8)),
        LAWS[2]: ((4,), (1, -4)),
    }
    for law in LAWS:
        worst, output = check_law(law, all_runs[law] if styles != "NONE" else all_runs[law][:1])
        print(f"{law}: at most {worst} from LAMMPS' own, by fix external and by pair_style carom; one hash")
    print(output)
    check_restart(LAWS[1])
    if styles != "NONE":
        check_styles_columns(LAWS[1])
        check_styles_rolling()
        check_styles_restart(LAWS[1])
        check_styles_virials(LAWS[1])
        check_styles_walls()
        check_styles_death(LAWS[1])
        check_styles_misuse()
        check_plugin()
    check_misuse()
print("forces inside LAMMPS are right")
