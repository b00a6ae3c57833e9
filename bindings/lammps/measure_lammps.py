#!/usr/bin/env python3
"""measure_lammps.py STYLES LMP [CASE...]: whole steps of pair_style carom beside LAMMPS' own, on one process.

STYLES is carom_lmp, LMP is LAMMPS. Each case is spheres that fly into each other in a periodic cube, gran/hooke/history. A table of user seconds
of all steps: those of the program less those of the same program without steps, the least and the median of alternating runs. CASE is
NAME:SIDE:STEPS:RUNS, with NAME equal (a diameter of 1.02 at a distance of 1), 20 (four spheres of so many times the radius of the others, which
fill the cube around them) or 100 (one such sphere with a shell of others, three thick). SIDE is that of the cube, a small diameter being 1.
:bin behind a case takes `neighbor bin` for LAMMPS instead of `multi`. A run is stopped after ten minutes.
"""
import os
import resource
import statistics
import subprocess
import sys
import tempfile

from lammps_runs import environment, write

HEAD = """units si
atom_style sphere
boundary p p p
newton off
comm_modify vel yes
region box block 0 {side} 0 {side} 0 {side}
create_box 2 box
lattice sc 1.0 origin 0.5 0.5 0.5
{fill}
set group all density 2500
velocity all create 1e23 87287 loop geom
velocity all scale 1e23
{list}
neigh_modify every 1 delay 0 check yes one 100000 page 1000000
fix integrate all nve/sphere
timestep 2e-4
thermo 1000
"""
LAW = "gran/hooke/history 2e7 NULL 50.0 NULL 0.5 1"


def fill(name, side):
    if name == "equal":
        return "create_atoms 1 box\nset group all diameter 1.02"
    radius = int(name) / 2
    quarter = side / 4
    places = ((1, 1, 1), (3, 3, 1), (1, 3, 3), (3, 1, 3)) if name == "20" else ((2, 2, 2),)
    centres = [" ".join(str(quarter * value) for value in at) for at in places]
    regions = [f"region h{k} sphere {centre} {radius + 0.5} side out units box" for k, centre in enumerate(centres)]
    if name == "100":
        regions.append(f"region h1 sphere {centres[0]} {radius + 3.5} units box")
    names = " ".join(f"h{k}" for k in range(len(regions)))
    regions.append(f"region around intersect {len(regions)} {names}")
    giants = [f"create_atoms 2 single {centre} units box" for centre in centres]
    return "\n".join([*regions, "create_atoms 1 region around", *giants, "set type 1 diameter 1", f"set type 2 diameter {2 * radius}"])


def script(name, side, steps, pair, multi):
    neighbours = "neighbor 0.2 bin"
    if name != "equal" and multi:
        neighbours = "neighbor 0.2 multi\ncomm_modify mode multi vel yes"
    return HEAD.format(side=side, fill=fill(name, side), list=neighbours) + f"pair_style {pair}\npair_coeff * *\nrun {steps}\n"


def seconds(program, text):
    """User seconds of a run; None where it takes ten minutes."""
    write("in.measure", text)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    try:
        words = [program, "-in", "in.measure", "-log", "log.measure", "-screen", "none"]
        done = subprocess.run(words, env=environment, timeout=600, check=False)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        sys.exit(f"{program} fails:\n{text}")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def lists_of():
    """Spheres of the last run, and how often it made a list."""
    with open("log.measure", encoding="ascii") as file:
        lines = file.readlines()
    spheres = [line.split()[-2] for line in lines if line.startswith("Loop time")]
    return spheres[-1], [line.split()[-1] for line in lines if line.startswith("Neighbor list builds")][-1]


def measure(styles, lmp, name, side, steps, runs, multi):
    programs = ((lmp, LAW), (styles, "carom " + LAW))
    texts = [[script(name, side, count, pair, multi or k > 0) for count in (0, steps)] for k, (_, pair) in enumerate(programs)]
    times, lists, spheres = ([], []), ["", ""], ""
    for _ in range(runs):
        for k, (program, _) in enumerate(programs):
            empty, whole = (seconds(program, text) for text in texts[k])
            stopped = empty is None or whole is None
            times[k].append(float("inf") if stopped else whole - empty)
            if not stopped:
                spheres, lists[k] = lists_of()
    least, middle = [min(t) for t in times], [statistics.median(t) for t in times]
    columns = [f"{least[k]:.2f} ({middle[k]:.2f})" for k in (0, 1)] + [f"{least[0] / least[1]:.2f} ({middle[0] / middle[1]:.2f})"]
    print(" | ".join([f"| {name}{'' if multi else ' bin'}", spheres, f"{steps} ({', '.join(lists)})", *columns]) + " |", flush=True)


styles_path, lmp_path = (os.path.abspath(path) if os.path.exists(path) else path for path in sys.argv[1:3])
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    print("| radii | spheres | steps (lists: LAMMPS, Carom) | LAMMPS, s: least (median) | Carom | LAMMPS / Carom |\n|---|---|---|---|---|---|")
    for case in sys.argv[3:] or ["equal:60:40:5", "20:50:40:5", "100:112:20:3"]:
        words_of_case = case.split(":")
        measure(styles_path, lmp_path, words_of_case[0], *map(int, words_of_case[1:4]), "bin" not in words_of_case)
