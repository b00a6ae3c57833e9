"""carom.io where memory is short: each allocation fails once, by preloaded_memory.c, which CTest loads before all else."""

import ctypes
import os
import tempfile
import unittest
from pathlib import Path

import carom.io
from carom._carom import read_mesh_file, write_mesh_file
from support import CUBE, CUBE_TRIANGLES, cube

try:
    import _testcapi
except ImportError:
    _testcapi = None

PRELOADED = os.environ.get("LD_PRELOAD")
OFF = "OFF\n8 12 0\n" + "".join("%g %g %g\n" % v for v in CUBE) + "".join("3 %d %d %d\n" % t for t in CUBE_TRIANGLES)
OBJ = "".join("v %g %g %g\n" % (x + 0.1, y, z) for x, y, z in CUBE) + "usemtl a\n" + "".join(
    "f %d %d %d\nusemtl b\n" % (a + 1, b + 1, c + 1) for a, b, c in CUBE_TRIANGLES)


def content(found):
    vertices, triangles, materials, names, sides, baked = found
    return [None if part is None else bytes(memoryview(part)) for part in (vertices, triangles, materials)] + [names, sides, baked]


class Memory(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name in ("a.ply", "a.stl"):
            carom.io.save_mesh(self.folder / name, CUBE, CUBE_TRIANGLES)
        (self.folder / "a.off").write_text(OFF)
        (self.folder / "a.obj").write_text(OBJ)
        (self.folder / "a.cmesh").write_bytes(cube().save())

    def each(self, call, check, begin, end):
        """Make each allocation of call fail once; check gets what it returns, or the MemoryError. Returns how many failed."""
        failed = 0
        for at in range(100000):
            result = error = None
            begin(at)
            try:
                result = call()
            except MemoryError as short:
                error = short
            is_last = end(at)
            failed += error is not None
            check(result, error)
            if is_last:
                self.assertIsNone(error)
                return failed
        self.fail("it has no end")

    def each_of_the_module(self, call, check):
        memory = ctypes.CDLL(PRELOADED)
        memory.failing_memory_end.restype = ctypes.c_longlong
        begin = lambda at: memory.failing_memory_begin(ctypes.c_longlong(at))
        return self.each(call, check, begin, lambda at: memory.failing_memory_end() <= at)

    def each_of_python(self, call, check):
        """Python's own allocations. It keeps no count, so calls that succeed ten times in a row are past the last one."""
        good = 0

        def end(at):
            nonlocal good
            _testcapi.remove_mem_hooks()
            return good > 10

        def count(result, error):
            nonlocal good
            good = 0 if error else good + 1
            check(result, error)
        return self.each(call, count, lambda at: _testcapi.set_nomemory(at, at + 1), end)

    def check_reading(self, each):
        for path in sorted(self.folder.iterdir()):
            name = os.fsencode(path)  # paths of other types are Python's to turn into bytes
            for weld in (False, True):
                wanted = content(read_mesh_file(name, weld))

                def check(result, error):
                    if error is None:
                        self.assertEqual(content(result), wanted, path)
                self.assertGreater(each(lambda: read_mesh_file(name, weld), check), 1, path)

    def check_writing(self, each):
        inexact = [(x + 0.1, y, z) for x, y, z in CUBE]
        for name in ("b.obj", "b.ply", "b.stl"):
            path, name = self.folder / name, os.fsencode(self.folder / name)
            carom.io.save_mesh(path, inexact, CUBE_TRIANGLES)
            wanted = path.read_bytes()
            path.unlink()

            def check(result, error):
                if error is None:
                    self.assertEqual(path.read_bytes(), wanted)
                    path.unlink()
                self.assertEqual([left for left in self.folder.iterdir() if left.name[0] == "b"], [])
            self.assertGreater(each(lambda: write_mesh_file(name, inexact, CUBE_TRIANGLES), check), 1, name)

    @unittest.skipUnless(PRELOADED, "nothing is preloaded")
    def test_reading(self):
        self.check_reading(self.each_of_the_module)

    @unittest.skipUnless(PRELOADED, "nothing is preloaded")
    def test_writing(self):
        self.check_writing(self.each_of_the_module)

    @unittest.skipUnless(_testcapi, "there is no _testcapi")
    def test_reading_without_memory_of_python(self):
        self.check_reading(self.each_of_python)


if __name__ == "__main__":
    unittest.main()
