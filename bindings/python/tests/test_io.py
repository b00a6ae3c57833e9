"""Meshes from files and to files: by the module, beside what the command makes of them."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import carom
import carom.io
from support import CUBE, CUBE_TRIANGLES, cube, needs_numpy, numpy

needs_command = unittest.skipUnless("CAROM" in os.environ, "the command was not built")


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "cube.obj"
        lines = [f"v {x} {y} {z}" for x, y, z in CUBE] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in CUBE_TRIANGLES]
        self.path.write_text("\n".join(lines) + "\n")

    def bake(self, path, *options):
        baked = self.folder / "by_command.cmesh"
        subprocess.run([os.environ["CAROM"], "bake", path, "-o", baked, *options], check=True, capture_output=True)
        return baked.read_bytes()

    def test_arrays(self):
        found = carom.io.read_mesh(self.path)
        self.assertEqual([tuple(row) for row in memoryview(found.vertices).tolist()], CUBE)
        self.assertEqual([tuple(row) for row in memoryview(found.triangles).tolist()], CUBE_TRIANGLES)
        self.assertEqual((found.materials, found.material_names, found.baked), (None, [], None))

    def test_a_baked_file_is_loaded_as_it_is(self):
        baked = self.path.with_suffix(".cmesh")
        baked.write_bytes(cube().save())
        self.assertEqual(carom.io.load_mesh(baked).save(), cube().save())
        self.assertEqual(carom.io.load_mesh(baked, build="lbvh").save(), cube(build="lbvh").save())
        baked.rename(self.folder / "named.obj")  # told by its first bytes
        self.assertEqual(carom.io.load_mesh(self.folder / "named.obj").save(), cube().save())

    def test_saved_and_loaded(self):
        inexact = [(x + 0.1, y, z) for x, y, z in CUBE]
        for name, vertices in (("a.obj", CUBE), ("a.ply", CUBE), ("b.obj", inexact), ("b.ply", inexact), ("a.stl", CUBE)):
            carom.io.save_mesh(self.folder / name, vertices, CUBE_TRIANGLES)
            found = carom.io.read_mesh(str(self.folder / name))
            if name != "a.stl":  # which numbers vertices anew
                self.assertEqual([tuple(row) for row in memoryview(found.vertices).tolist()], vertices, name)
            self.assertEqual(len(found.triangles), len(CUBE_TRIANGLES))
            self.assertTrue(carom.io.load_mesh(self.folder / name).report.closed)

    def test_weld(self):
        corners = [CUBE[i] for triangle in CUBE_TRIANGLES for i in triangle]
        path = self.folder / "soup.ply"
        carom.io.save_mesh(path, corners, [(i, i + 1, i + 2) for i in range(0, len(corners), 3)])
        for weld, wanted in ((False, 36), (True, 8)):
            triangles = memoryview(carom.io.read_mesh(path, weld=weld).triangles).tolist()
            self.assertEqual(len({corner for triangle in triangles for corner in triangle}), wanted)
        self.assertTrue(carom.io.load_mesh(path, weld=True).report.closed)

    def test_errors_name_file_and_line(self):
        cases = (
            ("nan.obj", "v 0 0 0\nv 1 0 nan\nv 0 1 0\nf 1 2 3\n", "line 2: vertex 1: z is NaN"),
            ("index.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n", "line 4: this face names vertex 4; the file has 3"),
            ("corners.obj", "v 0 0 0\nv 1 0 0\nf 1 2\n", "line 3: a face needs three corners"),
            ("index.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 7\n", "line 6: face 0 names vertex 7; vertices go from 0 to 2"),
        )
        for name, text, wanted in cases:
            path = self.folder / name
            path.write_text(text)
            with self.assertRaises(carom.InvalidMesh) as caught:
                carom.io.load_mesh(path)
            self.assertEqual(str(caught.exception), f"{path}: {wanted}")

    def test_numbers_that_are_not_finite_are_not_saved(self):
        for name in ("a.obj", "a.ply", "a.stl"):
            for value, word in ((float("nan"), "NaN"), (float("-inf"), "infinite")):
                vertices = [*CUBE[:5], (0.0, value, 0.0), *CUBE[6:]]
                with self.assertRaisesRegex(carom.InvalidMesh, f"{name}: vertex 5: y is {word}$"):
                    carom.io.save_mesh(self.folder / name, vertices, CUBE_TRIANGLES)
                self.assertFalse((self.folder / name).exists())

    def test_concave_polygons(self):
        outline = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]
        lines = [f"v {x} {y} {z}" for z in (0, 1) for x, y in outline] + ["f 4 3 2 1 6 5", "f 8 9 10 11 12 7"]
        lines += [f"f {i + 1} {(i + 1) % 6 + 1} {(i + 1) % 6 + 7} {i + 7}" for i in range(6)]
        self.path.write_text("\n".join(lines) + "\n")
        mesh = carom.io.load_mesh(self.path)
        self.assertTrue(mesh.report.closed)
        self.assertAlmostEqual(mesh.mass.mass, 3)
        self.assertFalse(mesh.contains((1.5, 1.5, 0.5)))
        self.assertTrue(mesh.contains((0.5, 1.5, 0.5)))
        self.assertEqual(len(mesh.self_intersections()), 0)

    def test_materials(self):
        lines = self.path.read_text().replace("f 1 2 4", "usemtl ice\nf 1 2 4", 1).split("\n")
        self.path.write_text("\n".join(lines))
        found = carom.io.read_mesh(self.path)
        self.assertEqual(found.material_names, ["ice"])
        self.assertEqual(carom.io.load_mesh(self.path).material(0), list(found.materials)[0])

    @needs_numpy
    def test_arrays_are_copies(self):
        found = carom.io.read_mesh(self.path)
        vertices = numpy.asarray(found.vertices)
        self.path.unlink()
        self.assertEqual(vertices.dtype, numpy.float32)
        self.assertEqual(vertices.shape, (8, 3))

    def test_mistakes(self):
        with self.assertRaises(FileNotFoundError):
            carom.io.load_mesh(self.folder / "other.obj")
        with self.assertRaisesRegex(OSError, "cannot be "):
            carom.io.save_mesh(self.folder / "no" / "cube.obj", CUBE, CUBE_TRIANGLES)
        with self.assertRaisesRegex(carom.InvalidMesh, "no mesh format has this extension"):
            carom.io.save_mesh(self.folder / "cube.fbx", CUBE, CUBE_TRIANGLES)
        with self.assertRaisesRegex(carom.InvalidMesh, "triangle 0 names vertex 99"):
            carom.io.save_mesh(self.folder / "cube.stl", CUBE, [(0, 1, 99)])
        with self.assertRaisesRegex(TypeError, "wold"):
            carom.io.load_mesh(self.path, wold=True)
        with self.assertRaises(TypeError):
            carom._carom.read_mesh_file(7)
        for text in ("v 0 0 0\nf 1 2\n", "v 0 0 0\nv 1 0 0\nv 0 x 0\nf 1 2 3\n", ""):
            self.path.write_text(text)
            with self.assertRaisesRegex(carom.InvalidMesh, "cube.obj: "):
                carom.io.load_mesh(self.path)
        self.assertEqual(list(self.folder.glob("*.part")), [])

    def test_other_formats_need_the_command(self):
        other = self.folder / "cube.dae"
        other.write_text("<COLLADA/>")
        kept = {name: os.environ.pop(name, None) for name in ("CAROM", "PATH")}
        os.environ["PATH"] = ""
        try:
            with self.assertRaisesRegex(FileNotFoundError, "the command carom is not on PATH"):
                carom.io.load_mesh(other)
        finally:
            os.environ.update({name: value for name, value in kept.items() if value is not None})

    @needs_command
    def test_the_mesh_of_the_command(self):
        """To the byte, for each format; a glTF file by way of the command."""
        for suffix in (".obj", ".ply", ".stl"):
            path = self.folder / f"knot{suffix}"
            subprocess.run([os.environ["CAROM"], "make", "knot", "--triangles", "360", "-o", path], check=True, capture_output=True)
            self.assertEqual(carom.io.load_mesh(path).save(), self.bake(path), suffix)
            self.assertEqual(carom.io.load_mesh(path, build="lbvh").save(), self.bake(path, "--build", "lbvh"), suffix)
        off = self.folder / "cube.off"
        off.write_text("OFF\n8 12 0\n" + "".join(f"{x} {y} {z}\n" for x, y, z in CUBE) + "".join(f"3 {a} {b} {c}\n" for a, b, c in CUBE_TRIANGLES))
        self.assertEqual(carom.io.load_mesh(off).save(), self.bake(off))
        off.write_text(off.read_text().replace("\n1 1 1\n", "\n1.1 1 1\n"))  # a number that a float does not hold
        self.assertEqual(carom.io.load_mesh(off).save(), self.bake(off))


if __name__ == "__main__":
    unittest.main()
