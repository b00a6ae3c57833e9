"""Meshes from files, through the command."""

import os
import tempfile
import unittest
from pathlib import Path

import carom
import carom.io
from support import CUBE, CUBE_TRIANGLES, cube


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name) / "cube.obj"
        lines = [f"v {x} {y} {z}" for x, y, z in CUBE] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in CUBE_TRIANGLES]
        self.path.write_text("\n".join(lines) + "\n")

    def test_a_baked_file_needs_no_command(self):
        baked = self.path.with_suffix(".cmesh")
        baked.write_bytes(cube().save())
        self.assertEqual(carom.io.load_mesh(baked).save(), cube().save())

    def test_files_that_are_not_there(self):
        with self.assertRaises(FileNotFoundError):
            carom.io.load_mesh(self.path.with_name("other.obj"))
        kept = {name: os.environ.pop(name, None) for name in ("CAROM", "PATH")}
        os.environ["PATH"] = ""
        try:
            with self.assertRaisesRegex(FileNotFoundError, "the command carom is not on PATH"):
                carom.io.load_mesh(self.path)
        finally:
            os.environ.update({name: value for name, value in kept.items() if value is not None})

    @unittest.skipUnless("CAROM" in os.environ, "the command was not built")
    def test_an_obj_file(self):
        self.assertEqual(carom.io.load_mesh(self.path).save(), cube().save())
        self.assertEqual(carom.io.load_mesh(self.path, options=("--build", "lbvh")).report, cube().report)
        self.path.write_text("v 0 0 0\nf 1 2\n")
        with self.assertRaises(carom.InvalidMesh):
            carom.io.load_mesh(self.path)
