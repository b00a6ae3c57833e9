#!/usr/bin/env python3
"""check_rigid.py STYLES MPIEXEC FLAG COMMAND PACKAGE GUIDE: fix carom/rigid, concave bodies inside LAMMPS.

STYLES is carom_lmp, COMMAND is carom, which makes meshes, PACKAGE is the folder of the Python package or NONE, GUIDE is docs/guide/lammps.md.
Contacts of every step and places after the last are equal for all numbers of processes, bricks and balanced tiles, periodic boxes, and after a
restart on another number; contacts are those of one world that the package holds. Bodies come to rest and stay, walls carry them, free ones keep
their energy; misuse says what is wrong; the block of the guide runs.

check_rigid.py STYLES MPIEXEC FLAG COMMAND NONE reach: 512 bodies, 600 steps, and all shares (docs/internals/mpi.md).
"""
import array
import math
import os
import shutil
import sys
import tempfile

from lammps_runs import call, check, dump, launcher, rows_of, skip_without_processes, write

styles, mpiexec, flag, command, package, guide = sys.argv[1:7]
styles, command, package, guide = (os.path.abspath(name) if os.path.exists(name) else name for name in (styles, command, package, guide))

SHAPES = (("L", 28, 1), ("torus", 96, 1), ("lumpy", 100, 0.8), ("lock", 96, 1))  # name, triangles, scale
QUIET = ["-log", "none"]
HEAD = """units si
atom_style sphere
atom_modify map array
boundary {sides} {sides} f
newton off
comm_modify vel yes cutoff 2.2
neighbor 0.2 bin
neigh_modify every 1 delay 0 check yes
"""
MAKE = """region box block 0 {x} 0 {y} -1 {top}
create_box 4 box
lattice sc 1.4 origin 0.5 0.5 0.75
region fill block 0 {x} 0 {y} 0.5 {full} units box
create_atoms 1 region fill
variable t atom (id-1)%4+1
set group all type v_t
set group all diameter 1.9
variable vx atom (id*7919)%11/2-2.5
variable vy atom (id*104729)%13/2-3
set group all vx v_vx vy v_vy vz -3
"""
MESHES = " ".join(f"mesh m{i} {name}.obj scale {scale} density 1000 type {i + 1} m{i}" for i, (name, _, scale) in enumerate(SHAPES))
LAW = "gran/hooke/history 1e6 NULL 100 NULL 0.5 1"
FIX = "fix gravity all gravity 9.81 vector 0 0 -1\nfix bodies all carom/rigid {law} {meshes} wall {wall} orient random 4711 {more}\ntimestep 5e-4\n"
TILES = "comm_style tiled\ncomm_modify vel yes cutoff 2.2\nfix balance all balance 50 1.02 rcb\n"
THERMO = """thermo 1
thermo_style custom step f_bodies[1] f_bodies[2] f_bodies[5] f_bodies[6] f_bodies[1][1] f_bodies[1][3] f_bodies[1][4]
thermo_modify lost error format float %.17g
"""
COLUMNS = "id type x y z vx vy vz omegax omegay omegaz f_bodies[1] f_bodies[2] f_bodies[3] f_bodies[4] f_bodies[5] f_bodies[6] f_bodies[7]"
DUMP = f"write_dump all custom out.dump {COLUMNS} modify sort id format float %.17g\n"


def box_faces(first):
    """Triangles of a box whose corner k has the bits of k for x, y, z."""
    corners = ((0, 2, 1), (1, 2, 3), (4, 5, 6), (5, 7, 6), (0, 1, 4), (1, 5, 4), (2, 6, 3), (3, 6, 7), (0, 4, 2), (2, 4, 6), (1, 3, 5), (3, 7, 5))
    return [[first + corner for corner in triangle] for triangle in corners]


def write_boxes(name, boxes):
    with open(name, "w", encoding="ascii") as file:
        for low, high in boxes:
            for k in range(8):
                file.write("v " + " ".join(str((low, high)[k >> axis & 1][axis]) for axis in range(3)) + "\n")
        for i in range(len(boxes)):
            for triangle in box_faces(8 * i + 1):
                file.write("f " + " ".join(map(str, triangle)) + "\n")


def make_files(x, y):
    for name, triangles, _ in SHAPES:
        call([command, "make", name, "--triangles", str(triangles), "-o", f"{name}.obj"])
    call([command, "make", "box", "--triangles", "12", "-o", "box.obj"])
    write_boxes("floor.obj", [((-2, -2, -1), (x + 2, y + 2, 0))])
    write_boxes("plate.obj", [((-7, -7, -1), (7, 7, 0))])
    write_boxes("lid.obj", [((-7, -7, 7), (7, 7, 7.5))])
    sides = [((-1, -1, 0), (0, y + 1, 30)), ((x, -1, 0), (x + 1, y + 1, 30)), ((0, -1, 0), (x, 0, 30)), ((0, y, 0), (x, y + 1, 30))]
    write_boxes("tray.obj", [((-1, -1, -1), (x + 1, y + 1, 0)), *sides])
    write("open.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")


def run(processes, script, wanted=0):
    """The output: of the log where the run is to succeed."""
    write("in.rigid", script)
    return call([*launcher(mpiexec, flag, processes), styles, "-in", "in.rigid", *QUIET], wanted)


def steps_of(output):
    """The rows of thermodynamic output: of each step its contacts, the deepest, the hash, and what the first wall carries."""
    lines = [line.split() for line in output[output.index("\nStep") :].splitlines()]
    return [words for words in lines if len(words) == 8 and words[0].isdigit()]


def check_shares(setup, shares, steps):
    """Contacts of every step, and places after the last, for each number of processes; below 0: of balanced tiles."""
    histories, places = set(), set()
    for share in shares:
        output = run(abs(share), setup + (TILES if share < 0 else "") + THERMO + f"run {steps}\n" + DUMP)
        history = steps_of(output)
        check(len(history) == steps + 1, f"{share}: a row for each of {steps} steps, not {len(history)}")
        histories.add(tuple(map(tuple, history)))
        places.add(dump()[1])
    check(len(histories) == 1 and len(places) == 1, f"{shares}: one history of contacts and one end, not {len(histories)} and {len(places)}")
    touching = [int(words[1]) for words in history]
    check(touching[-1] > 0, "bodies touch")
    return touching


def check_restart(setup, again, before, after, steps):
    """A run that is stopped in its middle and goes on elsewhere ends as one that is not."""
    run(1, setup + f"run {steps}\nrun {steps}\n" + DUMP)
    _, expected = dump()
    for first, second in zip(before, after):
        run(first, setup + f"restart {steps} half.restart\nrun {steps}\n")
        run(second, f"newton off\nread_restart half.restart.{steps}\ncomm_modify vel yes cutoff 2.2\nneighbor 0.2 bin\n" + again + f"run {steps}\n" + DUMP)
        check(dump()[1] == expected, f"restart of {first} on {second} processes")


def centred(carom, path, scale):
    """The mesh of a file about its centre of mass, as the fix has it."""
    arrays = carom.io.read_mesh(path)
    values = [[scale * value for value in row] for row in arrays.vertices]
    triangles = memory("i", arrays.triangles)
    centre = carom.Mesh(memory("d", values), triangles).mass.centre
    return carom.Mesh(memory("d", [[value - shift for value, shift in zip(row, centre)] for row in values]), triangles)


def memory(kind, rows):
    """Rows of three numbers as the package takes them."""
    return memoryview(array.array(kind, [value for row in rows for value in row])).cast("B").cast(kind, [len(rows), 3])


def check_one_world(setup, steps, every):
    """Contacts on four processes are those of one world that the package holds, bit for bit."""
    sys.path.insert(0, package)
    import carom  # pylint: disable=import-outside-toplevel
    import carom.io  # pylint: disable=import-outside-toplevel

    rows = [f"f_bodies[{column}]" for column in range(1, 13)]
    dumps = f"dump a all custom {every} places.dump id type x y z f_bodies[2] f_bodies[3] f_bodies[4] f_bodies[1]\n"
    dumps += "dump_modify a sort id format float %.17g\n" + f"dump c all local {every} contacts.dump {' '.join(rows)}\ndump_modify c format float %.17g\n"
    run(4, setup + dumps + f"run {steps}\n")
    with open("places.dump", encoding="ascii") as file:
        places = rows_of(file.read())
    with open("contacts.dump", encoding="ascii") as file:
        contacts = rows_of(file.read())
    meshes = [centred(carom, f"{name}.obj", scale) for name, _, scale in SHAPES]
    tray = carom.io.load_mesh("tray.obj")
    world = carom.World(temporal="none")
    bodies = [world.add_body(shape=carom.Shape(type="mesh", mesh=meshes[int(row[1]) - 1])) for row in places[0]]
    world.add_body(shape=carom.Shape(type="mesh", mesh=tray), kind="static")
    names = [int(row[0]) for row in places[0]]
    compared = 0
    for snapshot, found in zip(places, contacts):
        for body, row in zip(bodies, snapshot):
            world.set_pose(body, (tuple(row[2:5]), tuple(row[5:9])))
        world.step()
        expected = [row_of(contact, names) for contact in world.contacts]
        check(sorted(expected) == sorted(found), f"contacts of one world: {len(expected)}, not {len(found)}")
        compared += len(expected)
    check(len(places) == steps // every + 1 and compared > 100, f"{compared} contacts in {len(places)} steps")
    return compared


def row_of(contact, names):
    """A contact of the package as a row of the fix."""
    ids = [int(body) & 0xFFFFFFFF for body in (contact.body_a, contact.body_b)]
    named = [float(names[i - 1]) if i <= len(names) else -1.0 for i in ids]
    features = [float(contact.kind), float(contact.feature_a), float(contact.feature_b)]
    return [*named, *features, *map(float, contact.point), *map(float, contact.normal), float(contact.depth)]


STAND = """region box block -8 8 -8 8 -2 8
create_box 2 box
create_atoms 1 single -3 0 {box} units box
create_atoms 1 single 0 3 {box} units box
create_atoms 2 single 3 0 {l} units box
set group all diameter 1.9
"""
STANDING = "mesh box box.obj density 1000 mesh L L.obj density 1000 type 1 box type 2 L "


def stand(gravity, wall, more=""):
    pull = f"fix gravity all gravity 9.81 vector {gravity}\n"
    fix = f"fix bodies all carom/rigid gran/hooke/history 1e6 NULL 30 NULL 0.5 1 {STANDING} wall {wall}\ntimestep 5e-4\n"
    return HEAD.format(sides="f") + STAND.format(box=0.52, l=0.45) + pull + more + fix


def check_rest():
    """Bodies that fall a little stand still: on a floor, and on a slope that friction holds."""
    for slope in (0, 20):
        angle = math.radians(slope)
        setup = stand(f"{math.sin(angle)} 0 {-math.cos(angle)}", "plate.obj")
        run(1, setup + "run 2500\n" + DUMP.replace("out", "first") + "run 500\n" + DUMP)
        first, _ = dump("first.dump")
        last, _ = dump()
        moved = max(abs(p - q) for a, b in zip(first, last) for p, q in zip(a[2:5], b[2:5]))
        speed = max(abs(value) for row in last for value in row[5:11])
        check(moved < 1e-5 and speed < 1e-4, f"slope of {slope} degrees: bodies moved by {moved} in the last 500 steps, at {speed}")
        check(all(0.4 < row[4] < 0.51 for row in last), f"bodies stand on the floor: {last}")


def check_walls():
    """Walls carry what stands on them; a run that goes on after a restart is the run."""
    ramp = "variable up equal 0\nvariable along equal 0.5*(step*dt)^2\n"
    setup = stand("0 0 -1", "plate.obj move v_along v_up v_up", ramp)
    run(1, setup + "run 2000\n" + DUMP)
    rows, _ = dump()
    check(all(abs(row[5] - 1) < 0.05 and abs(row[2] - x) < 0.6 for row, x in zip(rows, (-2.5, 0.5, 3.5))), f"a wall that speeds up: {rows}")
    again = ramp + setup[setup.index("fix gravity") :].replace(ramp, "")
    check_restart(setup, again, (1,), (2,), 150)
    run(1, stand("0 0 -1", "plate.obj velocity 0 0.5 0") + "run 1500\n" + DUMP)
    rows, _ = dump()
    check(all(abs(row[6] - 0.5) < 0.01 for row in rows), f"a wall of constant speed: {rows}")
    run(2, stand("0 0 -1", "plate.obj rotate 0 0 0 0 0 1 40") + "run 1500\n" + DUMP)
    rows, _ = dump()
    rate = 2 * math.pi / 40
    check(all(abs(row[10] - rate) < 0.02 * rate and abs(math.hypot(row[5], row[6]) - 3 * rate) < 0.05 for row in rows), f"a wall that turns: {rows}")


def loads_of(name, walls):
    """Force and torque of each wall, from the rows of contacts of a dump's last step, summed as the Python does."""
    with open(name, encoding="ascii") as file:
        rows = rows_of(file.read())[-1]
    loads = [[0.0] * 6 for _ in range(walls)]
    for _, wall, *values in rows:
        if wall >= 0:
            continue
        point, normal, depth, force = values[3:6], values[6:9], values[9], [-value for value in values[10:13]]
        arm = [p + 0.5 * depth * n for p, n in zip(point, normal)]
        torque = [arm[1] * force[2] - arm[2] * force[1], arm[2] * force[0] - arm[0] * force[2], arm[0] * force[1] - arm[1] * force[0]]
        load = loads[-1 - int(wall)]
        load[:] = [value + more for value, more in zip(load, force + torque)]
    return loads


def check_loads():
    """What walls carry: the weight of what stands on them, the sums of their contacts, in the same bits on any number of processes."""
    columns = " ".join(f"f_bodies[{column}]" for column in range(1, 16))
    asked = "".join(f"variable l{w}{k} equal f_bodies[{w}][{k}]\n" for w in (1, 2) for k in range(1, 7))
    names = " ".join(f"v_l{w}{k}" for w in (1, 2) for k in range(1, 7))
    found = set()
    for processes in (1, 2, 4):
        contacts = f"dump c all local 1500 contacts.dump {columns}\ndump_modify c format float %.17g\n"
        setup = stand("0 0 -1", "plate.obj wall lid.obj velocity 0 0 -0.0001") + asked + contacts
        run(processes, setup + f'run 1500\nprint "{names.replace("v_", "$(v_").replace(" ", ":%.17g) ")}:%.17g)" file loads.txt\n')
        with open("loads.txt", encoding="ascii") as file:
            found.add(file.read())
    check(len(found) == 1, f"loads of walls in the same bits on 1, 2 and 4 processes: {found}")
    values = [float(word) for word in found.pop().split()]
    loads = [values[:6], values[6:]]
    for load, other in zip(loads, loads_of("contacts.dump", 2)):
        size = max(map(abs, other)) + 1
        check(max(abs(p - q) for p, q in zip(load, other)) < 1e-12 * size, f"loads of walls: {load}, not {other}")
    weight = 9.81 * 1000 * (2 + 0.375)  # two boxes of volume 1, an L
    check(abs(loads[0][2] / -weight - 1) < 1e-3 and max(map(abs, loads[0][:2])) < 1e-3 * weight, f"the floor carries {loads[0]}, not {weight}")
    check(loads[1] == [0] * 6, f"a lid that nothing touches carries {loads[1]}")
    run(1, stand("0 0 -1", "plate.obj rotate 3 0 0 0 0 1 1e9") + asked.replace("variable l2", "#") + 'run 1500\nprint "$(v_l15:%.17g)" file loads.txt\n')
    with open("loads.txt", encoding="ascii") as file:
        turn = float(file.read())
    wanted = 9.81 * 1000 * (-6 - 3)  # two boxes, seen from the axis, on which the L stands
    check(abs(turn / wanted - 1) < 1e-3, f"torque on the floor about an axis: {turn}, not {wanted}")


def check_free():
    """Without contacts energy stays, and momentum turns nothing but the body."""
    setup = HEAD.format(sides="f") + STAND.format(box=3, l=3) + "set group all omega 1 2 3\n"
    setup += f"fix bodies all carom/rigid {LAW} {STANDING}\ntimestep 1e-3\nthermo_style custom step f_bodies[3] f_bodies[1]\nthermo 2000\n"
    output = run(2, setup + "thermo_modify format float %.15g\nrun 2000\n" + DUMP)
    energies = [float(line.split()[1]) for line in output.splitlines() if len(line.split()) == 3 and line.split()[0] in ("0", "2000")]
    check(len(energies) == 2 and abs(energies[1] / energies[0] - 1) < 1e-5, f"energy of rotation: {energies}")
    rows, _ = dump()
    spins = [row[8:11] for row in rows]
    check(max(abs(p - q) for p, q in zip(spins[0], (1, 2, 3))) < 1e-9, f"a cube goes on turning as it does: {spins[0]}")
    check(max(abs(p - q) for p, q in zip(spins[2], (1, 2, 3))) > 0.1, f"an L tumbles: {spins[2]}")


def check_misuse():
    start = HEAD.format(sides="f") + STAND.format(box=0.52, l=0.45)
    fix = f"fix bodies all carom/rigid {LAW} "
    one = fix + STANDING
    for script, text in (
        (start + "fix bodies all carom/rigid gran/hook 1 1 1 1 1 1\n", 'the style of the law is "gran/hook"'),
        (start + one.replace("hooke/history", "hertz/history") + "\n", "is a law of spheres"),
        (start + fix + "mash a box.obj\n", '"mash" is none of mesh, type, wall, orient, contacts'),
        (start + fix + "mesh a nothing.obj type * a\n", "nothing.obj: "),
        (start + fix + "mesh a open.obj type * a\n", "open.obj: is not closed, so it has no mass: 3 edges"),
        (start + fix + "mesh a box.obj scale -1 type * a\n", 'scale is "-1", which is not above 0'),
        (start + fix + "mesh a box.obj mesh a L.obj\n", 'two meshes have the name "a"'),
        (start + fix + "mesh a box.obj type 1 b\n", 'no mesh before it has the name "b"'),
        (start + fix + "mesh a\n", '"mesh" wants 2 more words'),
        (start + one + "wall nothing.stl\n", "nothing.stl: "),
        (start + one + "wall floor.obj move 1 2 3\n", '"1" is no variable'),
        (start + one + "wall floor.obj rotate 0 0 0 0 0 0 1\n", "rotate wants an axis"),
        (start + one + "orient v_q v_q v_q v_q\n", '"v_q" is no variable'),
        (start + one + "contacts 300\n", "contacts is 300"),
        (start + fix + "mesh a box.obj density 1 type 1 a\nrun 1\n", "is of type 2, which has no mesh"),
        (start + "set type 1 diameter 1.5\n" + one + "\nrun 1\n", "the radius of atom 1 is 0.75, and its mesh reaches 0.866025"),
        (start + "comm_modify vel yes cutoff 1.5\n" + one + "\nrun 1\n", "ghosts are told up to 1.5, and bodies reach 2.1"),
        (start + "comm_modify vel no\n" + one + "\nrun 1\n", "comm_modify vel yes"),
        (start + "pair_style carom gran/hooke 1 1 1 1 1 1\npair_coeff * *\n" + one + "\nrun 1\n", "would take bodies for spheres"),
        (start.replace("atom_modify map array", "atom_modify id no map yes").replace("map yes", "") + one + "\n", "have no ids"),
        (start.replace("sphere", "atomic").replace("set group all diameter 1.9", "mass * 1") + one + "\n", "use atom_style sphere"),
        (start.replace("boundary f f", "boundary p p").replace("-8 8 -8 8", "-1 2 -8 8") + one + "\nrun 1\n", "a periodic side is 3 long"),
    ):
        check(text in run(1, script, 1), text)


def check_newcomers():
    """Bodies that come between two runs, or while one lasts, take part; a restart file fits the fix that reads it."""
    setup = stand("0 0 -1", "plate.obj").replace("L.obj", "L.obj scale 0.5")  # atoms that fix deposit makes have a radius of 0.5
    pour = "region above block -1 1 -1 1 3 5\nregion all block -7 7 -7 7 -1 7\n"
    pour += "fix pour all deposit 2 2 100 4711 region above near 2 vz -1 -1\n"
    parts = setup.split("fix bodies")
    ends = set()
    for processes in (1, 3):
        run(processes, parts[0] + pour + "fix bodies" + parts[1] + "run 500\ncreate_atoms 2 single -3 -3 0.6 units box\n" +
            "set atom 6 diameter 1.9\nrun 1500\nwrite_restart end.restart\n" + DUMP)
        rows, end = dump()
        ends.add(end)
        check(len(rows) == 6 and all(0.1 < row[4] < 3 for row in rows), f"six bodies on the floor: {rows}")
    check(len(ends) == 1, f"newcomers: one end, not {ends}")
    again = "newton off\nread_restart end.restart\ncomm_modify vel yes cutoff 2.2\nfix bodies" + parts[1].replace("wall plate.obj", "")
    check("the restart file has 1 walls, and the fix has 0" in run(1, again + "run 1\n", 1), "walls of a restart file")


def check_guide():
    """The block of the guide runs in a folder with the files that it names."""
    with open(guide, encoding="utf-8") as file:
        blocks = [part.split("```")[0] for part in file.read().split("```lammps\n")[1:]]
    blocks = [block for block in blocks if "carom/rigid" in block]
    check(len(blocks) == 1, "one block of the guide has the fix")
    shutil.copy("L.obj", "grain.obj")
    write_boxes("drum.obj", [((-4, -4, -1), (4, 4, 0))])
    output = run(2, " ".join(blocks[0].split(" ")[:-1]) + " 200\n")
    check("Loop time" in output, output)


def reach():
    """512 bodies in a tray, 600 steps: what docs/internals/mpi.md tells."""
    make_files(11.2, 11.2)
    setup = HEAD.format(sides="f") + MAKE.format(x=11.2, y=11.2, top=29, full=11.5)
    setup += FIX.format(law=LAW, meshes=MESHES, wall="tray.obj", more="")
    touching = check_shares(setup, (1, 2, 4, -3, -4), 600)
    print(f"512 bodies, 600 steps on 1, 2, 4 processes and 3 and 4 tiles: one history; {min(touching)} to {max(touching)} contacts, {sum(touching)} in all")


skip_without_processes(mpiexec, flag)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    if guide == "reach":
        reach()
        sys.exit(0)
    make_files(4.2, 4.2)
    closed = HEAD.format(sides="f") + MAKE.format(x=4.2, y=4.2, top=29, full=6)
    fixes = FIX.format(law=LAW, meshes=MESHES, wall="tray.obj", more="")
    counts = check_shares(closed + fixes, (1, -3, 4), 240)
    print(f"one history of {sum(counts)} contacts in 240 steps, {counts[-1]} in the last")
    check_restart(closed + fixes, fixes, (4,), (3,), 120)
    ring = HEAD.format(sides="p") + MAKE.format(x=4.2, y=4.2, top=29, full=6)
    check_shares(ring + FIX.format(law=LAW, meshes=MESHES, wall="floor.obj", more="contacts 4"), (1, 4), 120)
    check_shares(closed + FIX.format(law=LAW.replace("/history", ""), meshes=MESHES, wall="tray.obj", more="contacts 0"), (1, 2), 60)
    if os.path.exists(os.path.join(package, "carom", "__init__.py")):
        print(f"{check_one_world(closed + fixes, 240, 20)} contacts are those of one world")
    check_rest()
    check_walls()
    check_loads()
    check_free()
    check_misuse()
    check_newcomers()
    check_guide()
print("concave bodies inside LAMMPS are right")
