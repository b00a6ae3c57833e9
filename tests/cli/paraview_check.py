"""For paraview.sh: the macro's files are those of the recording, and its calls are ones that ParaView has, with arrays that the files have."""

import contextlib
import importlib.util
import io
import os
import re
import subprocess
import sys
import types
import unittest
from pathlib import Path

import h5py
import numpy

MACRO = Path(sys.argv.pop(1))
spec = importlib.util.spec_from_file_location("carom_macro", MACRO)
macro = importlib.util.module_from_spec(spec)
spec.loader.exec_module(macro)

# The properties of ParaView's proxies that the macro may set (ParaView's reference of paraview.simple, 5.10 and later).
PROXIES = {
    "PVDReader": {"FileName"}, "PLYReader": {"FileNames"}, "Calculator": {"Input", "ResultArrayName", "Function"},
    "Glyph": {"Input", "GlyphType", "OrientationArray", "ScaleArray", "ScaleFactor", "GlyphMode"},
    "Display": {"ShaderPreset", "GaussianRadius", "ScaleByArray", "SetScaleArray", "UseScaleFunction"},
}


class Proxy:
    def __init__(self, kind, log, **properties):
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "log", log)
        for name, value in properties.items():
            setattr(self, name, value)
        log.append(self)

    def __setattr__(self, name, value):
        if name not in PROXIES[self.kind]:
            raise AttributeError(f"{self.kind} has no property {name}")
        object.__setattr__(self, name, value)

    def SetRepresentationType(self, name):
        object.__setattr__(self, "representation", name)

    def RescaleTransferFunctionToDataRange(self, extend, force):
        pass

    def SetScalarBarVisibility(self, view, visible):
        pass


def stand_in(active=None):
    """A module paraview.simple that notes what is made and shown."""
    made, colours = [], []
    simple = types.ModuleType("paraview.simple")
    for kind in ("PVDReader", "PLYReader", "Calculator", "Glyph"):
        setattr(simple, kind, lambda kind=kind, **properties: Proxy(kind, made, **properties))

    def show(source, view):
        display = Proxy("Display", made)
        object.__setattr__(display, "source", source)
        return display

    simple.Show = show
    simple.ColorBy = lambda display, value: colours.append((display.source, value))
    simple.GetActiveViewOrCreate = lambda kind: kind
    simple.GetActiveSource = lambda: active
    simple.GetAnimationScene = lambda: types.SimpleNamespace(UpdateAnimationUsingDataTimeSteps=lambda: None)
    simple.ResetCamera = simple.Render = lambda view: None
    simple.SaveScreenshot = lambda path, view: Path(path).write_text("picture")
    package = types.ModuleType("paraview")
    package.simple = simple
    sys.modules.update({"paraview": package, "paraview.simple": simple})
    return made, colours


def read_vtp(path):
    """{name: values} of a file of VTK with appended raw arrays, by its own head; and the text of the head."""
    data = path.read_bytes()
    head, _, raw = data.partition(b'<AppendedData encoding="raw">\n_')
    arrays = {}
    for kind, name, columns, offset in re.findall(
            rb'<DataArray type="(\w+)" Name="(\w+)" NumberOfComponents="(\d+)" format="appended" offset="(\d+)"/>', head):
        place = int(offset)
        size = int.from_bytes(raw[place:place + 8], "little")
        values = numpy.frombuffer(raw[place + 8:place + 8 + size], {b"Float32": "<f4", b"Int32": "<i4", b"UInt32": "<u4"}[kind])
        arrays[name.decode()] = values.reshape(-1, int(columns)) if int(columns) > 1 else values
    return arrays, head.decode()


def matrix(q):
    """The rotation of a quaternion x y z w, written out."""
    x, y, z, w = q
    return numpy.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])


class Files(unittest.TestCase):
    def test_bodies_and_contacts(self):
        bodies, contacts = macro.convert(Path("bodies/recording.h5"))
        with h5py.File("bodies/recording.h5") as file:
            meshes = {group.attrs["index"]: group for group in file["meshes"].values()}
            frames = len(file["time"])
            for k in (0, frames - 1):
                arrays, head = read_vtp(bodies.parent / f"bodies_{k:06d}.vtp")
                rows = [row for row in range(len(file["bodies/kind"])) if file["bodies/shape"][row] == macro.MESH]
                self.assertGreater(len(rows), 20)
                wanted = [meshes[file["bodies/mesh"][row]]["vertices"][()] @ matrix(file["poses"][k, row, 3:]).T + file["poses"][k, row, :3] for row in rows]
                self.assertLess(numpy.abs(arrays["points"] - numpy.concatenate(wanted)).max(), 1e-5)
                self.assertEqual(list(numpy.unique(arrays["body"])), rows)
                triangles = arrays["connectivity"].reshape(-1, 3)
                self.assertIn(f'NumberOfPoints="{len(arrays["points"])}" NumberOfPolys="{len(triangles)}"', head)
                self.assertEqual(triangles.max(), len(arrays["points"]) - 1)
                self.assertEqual(list(arrays["offsets"][-2:]), [3 * len(triangles) - 3, 3 * len(triangles)])
            speed = arrays["speed"].max()
            self.assertTrue(1 < speed < 20, speed)  # some fall still
            first = file["contacts/first"][()]
            self.assertGreater(first[-1], 10)
            for k in range(frames):
                arrays, head = read_vtp(contacts.parent / f"contacts_{k:06d}.vtp")
                self.assertEqual(len(arrays["points"]), first[k + 1] - first[k])
                self.assertTrue(numpy.array_equal(arrays["normal"].reshape(-1, 3), file["contacts/normal"][first[k]:first[k + 1]]))
        self.assertEqual(bodies.read_text().count("<DataSet"), frames)
        self.assertEqual(contacts.read_text().count("<DataSet"), frames)
        before = bodies.stat().st_mtime_ns
        macro.convert(Path("bodies/recording.h5"))
        self.assertEqual(bodies.stat().st_mtime_ns, before)  # made once

    def test_frames_are_left_out(self):
        macro.convert(Path("bodies/recording.h5"))
        os.utime("bodies/paraview/bodies.pvd", (0, 0))
        with contextlib.redirect_stderr(io.StringIO()) as said:
            bodies, _ = macro.convert(Path("bodies/recording.h5"), 4 << 20)
        self.assertIn("one frame of", said.getvalue())
        self.assertLess(sum(path.stat().st_size for path in bodies.parent.glob("bodies*.vtp")), 4 << 20)
        os.utime(bodies, (0, 0))

    def test_shapes(self):
        """Surfaces of shapes are closed, wound outward, and have their size: the volume of each, a little below."""
        pi = numpy.pi
        shapes = {macro.SPHERE: 4 / 3 * pi * 8, macro.BOX: 8 * 1 * 2 * 3, macro.CAPSULE: 4 / 3 * pi * 8 + 4 * pi * 6, macro.CYLINDER: 4 * pi * 6,
                  macro.CONE: 4 * pi * 6 / 3, macro.ELLIPSOID: 4 / 3 * pi * 6}
        for kind, volume in shapes.items():
            file = {"bodies": {"shape": [kind], "radius": [2.0], "half_length": [3.0], "half_extents": numpy.array([[1.0, 2.0, 3.0]])}}
            vertices, triangles = macro.surface(numpy, file, 0, {})
            a, b, c = (vertices[triangles[:, i]] for i in range(3))
            found = numpy.einsum("ij,ij->i", a, numpy.cross(b, c)).sum() / 6
            if kind == macro.CAPSULE:  # its side is straight
                self.assertEqual(numpy.unique(numpy.abs(vertices[numpy.hypot(*vertices[:, :2].T) > 2 - 1e-9][:, 2]).round(9)).tolist(), [3.0])
            self.assertTrue(0.9 * volume < found <= volume * (1 + 1e-9), (kind, found, volume))
        self.assertIsNone(macro.surface(numpy, {"bodies": {**file["bodies"], "shape": [macro.PLANE]}}, 0, {}))


class Calls(unittest.TestCase):
    def test_bodies(self):
        made, colours = stand_in()
        macro.show("bodies", "bodies/picture.png")
        self.assertTrue(Path("bodies/picture.png").exists())
        arrows = next(proxy for proxy in made if proxy.kind == "Glyph")
        arrays, _ = read_vtp(next(Path("bodies/paraview").glob("contacts_*.vtp")))
        self.assertIn(arrows.OrientationArray[1], arrays)
        for source, (where, name) in colours:
            reader = getattr(source, "Input", source)
            arrays, _ = read_vtp(next(Path("bodies/paraview").glob(Path(reader.FileName).stem + "_*.vtp")))
            self.assertIn(name, arrays)

    def test_spheres(self):
        arrays, _ = read_vtp(next(Path("grains").glob("spheres_*.vtp")))
        for most, kind in ((1000, "Glyph"), (10, "Point Gaussian")):
            made, colours = stand_in()
            macro.MOST_BALLS = most
            macro.show("grains")
            balls = [proxy for proxy in made if proxy.kind == "Glyph"] or [proxy for proxy in made if proxy.kind == "Display"]
            self.assertEqual(getattr(balls[0], "representation", "Glyph"), kind)
            array = balls[0].ScaleArray if kind == "Glyph" else balls[0].SetScaleArray
            self.assertIn(array[1], arrays)
            self.assertIn("velocity", arrays)
            self.assertEqual(colours[0][1], ("POINTS", "speed"))

    def test_cloth_and_window(self):
        made, _ = stand_in(types.SimpleNamespace(FileNames=["cloth/frames/frame_000000.ply"]))
        macro.main([])
        self.assertEqual([Path(name).name for name in made[0].FileNames], ["frame_000000.ply", "frame_000001.ply", "frame_000002.ply"])
        stand_in()
        os.environ["CAROM_RUN"] = "cloth"
        self.assertEqual(macro.folder_of_window(), "cloth")
        del os.environ["CAROM_RUN"]
        with self.assertRaisesRegex(SystemExit, "open a file of the run's folder first"):
            macro.main([])

    def test_faults(self):
        stand_in()
        Path("empty").mkdir(exist_ok=True)
        Path("wrong").mkdir(exist_ok=True)
        Path("wrong/recording.h5").write_text("no recording")
        Path("late").mkdir(exist_ok=True)
        Path("late/recording.h5.part").write_text("")
        for folder, text in (("none", "none: is no folder"), ("empty", "holds no spheres.pvd"), ("wrong", "wrong/recording.h5: cannot be read"),
                             ("late", "the run goes on or was cut off")):
            with self.assertRaisesRegex(SystemExit, text):
                macro.main([folder])
        with self.assertRaisesRegex(SystemExit, "holds no recording.h5"):
            macro.main(["cloth", "--convert"])

    def test_without_paraview(self):
        done = subprocess.run([sys.executable, MACRO, "bodies", "--convert"], capture_output=True, text=True)
        self.assertEqual(done.stdout.split(), ["bodies/paraview/bodies.pvd", "bodies/paraview/contacts.pvd"], done.stderr)


if __name__ == "__main__":
    unittest.main()
