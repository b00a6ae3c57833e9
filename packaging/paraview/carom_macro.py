"""Show the folder of a `carom run --out` in ParaView: spheres as balls, bodies, deforming bodies, colours by speed, contacts as arrows.

    pvpython carom_macro.py FOLDER [-o picture.png]     # or pvbatch
    python3 carom_macro.py FOLDER --convert             # without ParaView: only make bodies.pvd and contacts.pvd (needs h5py and NumPy)

In the window of ParaView: Macros, Import new macro; open a file of the folder, and press the macro. The folder is that of the file, or else
the environment variable CAROM_RUN. docs/guide/paraview.md says what is shown.

recording.h5 is no file of VTK, so bodies and contacts are written as .vtp files first, into FOLDER/paraview. ParaView's own Python may lack
h5py: then convert outside before.
"""

import argparse
import os
import re
import sys
from pathlib import Path

MOST_BALLS = 20000  # spheres drawn as meshes of balls; more are drawn as shaded points, each as large as its sphere
MOST_BYTES = 500 << 20  # of the .vtp files of bodies; frames are left out evenly beyond it
SPHERE, BOX, CAPSULE, PLANE, MESH, HULL, CYLINDER, CONE, ELLIPSOID = range(9)


class Fault(Exception):
    """What the user should read."""


# ---- What is in the folder ----


def find(folder):
    """(spheres.pvd, frames in their order, recording) of a run's folder; None, [] and None where there is none."""
    folder = Path(folder)
    if not folder.is_dir():
        raise Fault(f"{folder}: is no folder: the one of carom run --out is wanted")
    spheres = folder / "spheres.pvd"
    frames = sorted([*(folder / "frames").glob("frame_*.ply"), *(folder / "frames").glob("frame_*.obj")])
    recording = next((path for path in (folder / "recording.h5", folder / "recording.h5.part") if path.exists()), None)
    if recording is not None and recording.suffix == ".part":
        raise Fault(f"{recording}: the run goes on or was cut off: let it end, or open the folder without this file")
    if not spheres.exists() and not frames and not recording:
        raise Fault(f"{folder}: holds no spheres.pvd (carom run --snapshots N), no frames and no recording.h5")
    return spheres if spheres.exists() else None, frames, recording


def count_spheres(pvd):
    """Spheres of the first file that a .pvd names."""
    found = re.search(r'file="([^"]+)"', pvd.read_text())
    if not found:
        raise Fault(f"{pvd}: names no file")
    with open(pvd.parent / found[1], "rb") as file:
        number = re.search(rb'NumberOfPoints="(\d+)"', file.read(4096))
    if not number:
        raise Fault(f"{pvd.parent / found[1]}: is no PolyData file of VTK")
    return int(number[1])


# ---- Bodies and contacts as files of VTK ----


def ball(numpy, half_length=0.0, slices=16, rings=12):
    """Vertices and triangles of a unit sphere about z, its halves drawn apart by a half length (in radii)."""
    halves = [(numpy.pi * i / rings, side) for side in (-1, 1) for i in range(rings // 2 + 1)]
    angles = [(a - numpy.pi / 2 if side < 0 else a, side * half_length) for a, side in halves]  # the equator twice: a side between
    vertices = [(numpy.cos(a) * numpy.cos(b), numpy.cos(a) * numpy.sin(b), numpy.sin(a) + lift)
                for a, lift in angles for b in numpy.arange(slices) * 2 * numpy.pi / slices]
    quads = [(i * slices + k, i * slices + (k + 1) % slices, (i + 1) * slices + (k + 1) % slices, (i + 1) * slices + k)
             for i in range(len(angles) - 1) for k in range(slices)]
    return numpy.array(vertices), numpy.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])


def prism(numpy, top, slices=24):
    """A cylinder of radius and half length 1 about z, or with top 0 a cone."""
    around = numpy.arange(slices) * 2 * numpy.pi / slices
    rim = numpy.stack([numpy.cos(around), numpy.sin(around)], 1)
    vertices = [*((x, y, -1) for x, y in rim), *((top * x, top * y, 1) for x, y in rim), (0, 0, -1), (0, 0, 1)]
    triangles = []
    for k in range(slices):
        n = (k + 1) % slices
        triangles += [(k, n, slices + n), (k, slices + n, slices + k), (2 * slices, n, k), (2 * slices + 1, slices + k, slices + n)]
    return numpy.array(vertices, float), numpy.array(triangles)


def surface(numpy, file, row, meshes):
    """Vertices and triangles of a row of /bodies in its own frame; None for a plane. A hull is drawn as the mesh that it is the hull of."""
    bodies = file["bodies"]
    kind, radius, half = int(bodies["shape"][row]), float(bodies["radius"][row]), float(bodies["half_length"][row])
    extents = bodies["half_extents"][row]
    if kind in (MESH, HULL):
        return meshes[int(bodies["mesh"][row])]
    if kind == PLANE:
        return None
    if kind == BOX:
        corners = numpy.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
        triangles = [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1), (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)]
        return corners * extents, numpy.array(triangles)
    if kind in (CYLINDER, CONE):
        vertices, triangles = prism(numpy, 1 if kind == CYLINDER else 0)
        return vertices * (radius, radius, half), triangles
    vertices, triangles = ball(numpy, half / radius if kind == CAPSULE else 0)
    return vertices * (extents if kind == ELLIPSOID else radius), triangles


def turn(numpy, pose, points):
    """Points of a body's frame at a pose (x y z, quaternion x y z w)."""
    axis, w = pose[3:6], pose[6]
    once = numpy.cross(axis, points)
    return points + 2 * (w * once + numpy.cross(axis, once)) + pose[:3]


def write_vtp(path, points, arrays, triangles=None):
    """A VTK XML PolyData file, raw binary. arrays: [(name, values)], a value or a row for each point."""
    import numpy

    count = len(points)
    cells = numpy.arange(count, dtype="i4") if triangles is None else triangles.astype("i4")
    ends = numpy.array([count], "i4") if triangles is None else numpy.arange(3, 3 * len(triangles) + 1, 3, dtype="i4")
    blocks, place = [], 0

    def form(name, values):
        nonlocal place
        kind = {"f": "Float32", "i": "Int32"}[values.dtype.kind]
        text = f'<DataArray type="{kind}" Name="{name}" NumberOfComponents="{values.shape[1] if values.ndim > 1 else 1}" format="appended" offset="{place}"/>\n'
        blocks.append(values.astype("<f4" if kind == "Float32" else "<i4").tobytes())
        place += 8 + len(blocks[-1])
        return text

    name, number = ("Verts", int(count > 0)) if triangles is None else ("Polys", len(triangles))
    if not number:
        ends = ends[:0]
    data = "".join(form(label, values) for label, values in arrays)
    head = ('<?xml version="1.0"?>\n<VTKFile type="PolyData" version="1.0" byte_order="LittleEndian" header_type="UInt64">\n<PolyData>\n'
            f'<Piece NumberOfPoints="{count}" NumberOf{name}="{number}">\n<PointData>\n{data}</PointData>\n'
            f'<Points>\n{form("points", points.astype("f4"))}</Points>\n<{name}>\n{form("connectivity", cells.reshape(-1))}{form("offsets", ends)}</{name}>\n'
            '</Piece>\n</PolyData>\n<AppendedData encoding="raw">\n_')
    with open(path, "wb") as file:
        file.write(head.encode())
        for block in blocks:
            file.write(len(block).to_bytes(8, "little") + block)
        file.write(b"\n</AppendedData>\n</VTKFile>\n")


def write_pvd(path, files):
    """files: [(time, name)]."""
    rows = "".join(f'<DataSet timestep="{time:.17g}" part="0" file="{name}"/>\n' for time, name in files)
    path.write_text(f'<?xml version="1.0"?>\n<VTKFile type="Collection" version="1.0">\n<Collection>\n{rows}</Collection>\n</VTKFile>\n')


def write_bodies(numpy, file, folder, most_bytes):
    """bodies.pvd: the surfaces of all bodies in each frame, with "body" (the row in the recording), "kind" and "speed" (of the body's origin)."""
    by_number = {int(group.attrs["index"]): (group["vertices"][()].astype(float), group["triangles"][()]) for group in file["meshes"].values()} \
        if "meshes" in file else {}
    rows = len(file["bodies"]["shape"])
    surfaces = [surface(numpy, file, row, by_number) for row in range(rows)]
    places = file["bodies"]["place"][()] if "place" in file["bodies"] else None
    for row in range(rows):
        if surfaces[row] is not None and places is not None and file["bodies"]["part"][row] > 0:
            surfaces[row] = turn(numpy, places[row], surfaces[row][0]), surfaces[row][1]
    times, poses, kinds = file["time"][()], file["poses"], file["bodies"]["kind"][()]
    frame_bytes = sum(24 * len(s[0]) + 16 * len(s[1]) for s in surfaces if s is not None) + 1
    every = max(1, -(-len(times) * frame_bytes // most_bytes))
    files = []
    for k in range(0, len(times), every):
        now, before = poses[k], poses[k - 1] if k else poses[min(1, len(times) - 1)]
        apart = abs(times[k] - times[k - 1 if k else min(1, len(times) - 1)]) or 1
        speeds = numpy.linalg.norm(now[:, :3] - before[:, :3], axis=1) / apart
        points, triangles, numbers, first = [numpy.zeros((0, 3))], [numpy.zeros((0, 3), int)], [], 0
        for row, s in enumerate(surfaces):
            if s is None or not numpy.isfinite(now[row, 0]):
                continue
            points.append(turn(numpy, now[row], s[0]))
            triangles.append(s[1] + first)
            numbers += [row] * len(s[0])
            first += len(s[0])
        numbers = numpy.array(numbers, "i4")
        name = f"bodies_{k:06d}.vtp"
        write_vtp(folder / name, numpy.concatenate(points), [("body", numbers), ("kind", kinds[numbers].astype("i4")),
                  ("speed", numpy.nan_to_num(speeds[numbers]).astype("f4"))], numpy.concatenate(triangles))
        files.append((times[k], name))
    write_pvd(folder / "bodies.pvd", files)
    return every


def write_contacts(numpy, file, folder):
    """contacts.pvd: the contacts of each frame as points, with "normal", "depth", "body_a" and "body_b"."""
    contacts, files = file["contacts"], []
    first = contacts["first"][()]
    for k, time in enumerate(file["time"][()]):
        part = slice(first[k], first[k + 1])
        name = f"contacts_{k:06d}.vtp"
        write_vtp(folder / name, contacts["point"][part].reshape(-1, 3),
                  [(label, contacts[label][part].astype("i4" if label.startswith("body") else "f4")) for label in ("normal", "depth", "body_a", "body_b")])
        files.append((time, name))
    write_pvd(folder / "contacts.pvd", files)


def convert(recording, most_bytes=MOST_BYTES):
    """Write FOLDER/paraview/bodies.pvd and contacts.pvd of a recording, unless they are there and younger. Returns their paths, None for none."""
    folder = recording.parent / "paraview"
    bodies, contacts = folder / "bodies.pvd", folder / "contacts.pvd"
    if not bodies.exists() or bodies.stat().st_mtime < recording.stat().st_mtime:
        try:
            import h5py
            import numpy
        except ImportError as reason:
            raise Fault(f"{recording}: is read by h5py, which this Python lacks ({reason}): run `python3 {Path(__file__).name} {recording.parent} "
                        "--convert` with one that has it, and then this again") from reason
        folder.mkdir(exist_ok=True)
        for old in (*folder.glob("bodies*"), *folder.glob("contacts*")):
            old.unlink()
        try:
            with h5py.File(recording, "r") as file:
                if "contacts" in file:
                    write_contacts(numpy, file, folder)
                every = write_bodies(numpy, file, folder, most_bytes)  # last: its .pvd says that all is there
        except (OSError, KeyError) as reason:
            raise Fault(f"{recording}: cannot be read: {reason}") from reason
        if every > 1:
            print(f"{bodies}: has one frame of {every}, to stay below {most_bytes >> 20} MiB", file=sys.stderr)
    return bodies, contacts if contacts.exists() else None


# ---- In ParaView ----


def color_by(simple, display, view, name):
    simple.ColorBy(display, ("POINTS", name))
    display.RescaleTransferFunctionToDataRange(True, False)
    display.SetScalarBarVisibility(view, True)


def show_spheres(simple, view, pvd):
    reader = simple.PVDReader(FileName=str(pvd))
    speed = simple.Calculator(Input=reader, ResultArrayName="speed", Function="mag(velocity)")
    if count_spheres(pvd) <= MOST_BALLS:
        glyph = simple.Glyph(Input=speed, GlyphType="Sphere")
        glyph.OrientationArray = ["POINTS", "No orientation array"]
        glyph.ScaleArray = ["POINTS", "radius"]
        glyph.ScaleFactor = 2.0  # VTK's sphere has radius 0.5
        glyph.GlyphMode = "All Points"
        display = simple.Show(glyph, view)
    else:
        display = simple.Show(speed, view)
        display.SetRepresentationType("Point Gaussian")
        display.ShaderPreset = "Sphere"
        display.GaussianRadius = 1.0
        display.ScaleByArray = 1
        display.SetScaleArray = ["POINTS", "radius"]
        display.UseScaleFunction = 0
    color_by(simple, display, view, "speed")


def show_frames(simple, view, frames):
    if frames[0].suffix == ".obj":
        raise Fault(f"{frames[0]}: ParaView plays series of .ply, not of .obj: run the scene with \"frames\" as ply")
    simple.Show(simple.PLYReader(FileNames=[str(path) for path in frames]), view)


def show_recording(simple, view, recording):
    bodies, contacts = convert(recording)
    color_by(simple, simple.Show(simple.PVDReader(FileName=str(bodies)), view), view, "speed")
    if contacts:
        arrows = simple.Glyph(Input=simple.PVDReader(FileName=str(contacts)), GlyphType="Arrow")
        arrows.OrientationArray = ["POINTS", "normal"]
        arrows.ScaleArray = ["POINTS", "No scale array"]
        arrows.ScaleFactor = 0.2
        arrows.GlyphMode = "All Points"
        color_by(simple, simple.Show(arrows, view), view, "depth")


def show(folder, picture=None):
    """Show all that a run's folder holds, in the active view."""
    from paraview import simple

    spheres, frames, recording = find(folder)
    view = simple.GetActiveViewOrCreate("RenderView")
    if spheres:
        show_spheres(simple, view, spheres)
    if frames:
        show_frames(simple, view, frames)
    if recording:
        show_recording(simple, view, recording)
    simple.GetAnimationScene().UpdateAnimationUsingDataTimeSteps()
    simple.ResetCamera(view)
    simple.Render(view)
    if picture:
        simple.SaveScreenshot(str(picture), view)


def folder_of_window():
    """The folder of the source that is chosen in ParaView's window, or CAROM_RUN."""
    from paraview import simple

    source = simple.GetActiveSource()
    name = getattr(source, "FileName", None) or (getattr(source, "FileNames", None) or [None])[0]
    folder = os.path.dirname(name) if name else os.environ.get("CAROM_RUN")
    if not folder:
        raise Fault("open a file of the run's folder first, or set CAROM_RUN to the folder")
    return os.path.dirname(folder) if os.path.basename(folder) in ("frames", "paraview") else folder


def main(arguments):
    parser = argparse.ArgumentParser(prog="carom_macro.py", description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", help="the folder of carom run --out; without it, that of the chosen source, or CAROM_RUN")
    parser.add_argument("-o", "--output", help="save a picture there")
    parser.add_argument("--convert", action="store_true", help="only write bodies.pvd and contacts.pvd; needs no ParaView")
    options = parser.parse_args(arguments)
    try:
        if options.convert:
            recording = find(options.folder or os.environ.get("CAROM_RUN") or ".")[2]
            if not recording:
                raise Fault("--convert: the folder holds no recording.h5")
            print(*(path for path in convert(recording) if path))
        else:
            show(options.folder or folder_of_window(), options.output)
    except Fault as fault:
        sys.exit(f"carom_macro.py: {fault}")


if __name__ == "__main__":
    main(sys.argv[1:])
