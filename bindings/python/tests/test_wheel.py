"""Wheels: the package of the build folder, packed, installed by pip without an index, imported from there; the source archive is complete."""

import csv
import hashlib
import base64
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

import carom

SOURCE = Path(os.environ["CAROM_SOURCE"])


def load_backend():
    sys.dont_write_bytecode = True
    path = SOURCE / "bindings/python/build_backend/carom_build.py"
    spec = importlib.util.spec_from_file_location("carom_build", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PROGRAM = """
import carom, importlib.metadata
world = carom.World()
world.add_body(shape=carom.Shape(type="plane"), kind="static")
world.add_body(shape=carom.Shape(type="sphere", radius=0.5), pose=((0, 0, 0.45), None))
world.step()
print(carom.__file__, importlib.metadata.version("carom"), len(world.contacts))
"""


class Wheel(unittest.TestCase):
    def setUp(self):
        self.backend = load_backend()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name)
        self.package = Path(carom.__file__).parent

    def pack(self):
        return self.out / self.backend.pack_wheel(self.package, self.out)

    def test_members_and_record(self):
        path = self.pack()
        self.assertRegex(path.name, r"^carom-\d+\.\d+\.\d+-cp311-abi3-\w+\.whl$")
        with zipfile.ZipFile(path) as wheel:
            names = wheel.namelist()
            info = f"carom-{carom.__version__}.dist-info"
            rows = list(csv.reader(io.StringIO(wheel.read(f"{info}/RECORD").decode())))
            self.assertEqual([row[0] for row in rows], names)
            for name, digest, size in rows[:-1]:
                data = wheel.read(name)
                self.assertEqual(int(size), len(data), name)
                wanted = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                self.assertEqual(digest, f"sha256={wanted}", name)
            metadata = wheel.read(f"{info}/METADATA").decode()
            self.assertIn(f"\nVersion: {carom.__version__}\n", metadata)
            self.assertIn("\n\n# Carom\n", metadata)
            for name in ("carom/__init__.py", "carom/io.py", "carom/compat.py", "carom/py.typed", "carom/_carom.pyi", f"{info}/LICENSE"):
                self.assertIn(name, names)

    def test_the_wheel_of_pip_needs_no_package(self):
        """carom.sim links ODE: it is not asked for, and says so where it is missing (sim.Absent)."""
        self.assertEqual((self.backend.OPTIONS["CAROM_BUILD_TOOLS"], self.backend.OPTIONS["CAROM_BUILD_SIM"]), ("OFF", "OFF"))

    def test_same_files_same_bytes(self):
        first = self.pack().read_bytes()
        self.assertEqual(self.pack().read_bytes(), first)

    def test_pip_installs_it(self):
        target = self.out / "site"
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check", "--no-compile"]
        environment = {**os.environ, "PYTHONWARNINGS": "ignore", "PYTHONPATH": "", "PIP_ROOT_USER_ACTION": "ignore"}
        if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, env=environment).returncode:
            self.skipTest("there is no pip (Debian: python3-pip)")
        ran = subprocess.run([*pip, "--target", target, self.pack()], env=environment, capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        environment["PYTHONPATH"] = str(target)
        said = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, cwd=self.out, check=True)
        file, version, contacts = said.stdout.split()
        self.assertTrue(file.startswith(str(target)), file)
        self.assertEqual((version, contacts), (carom.__version__, "1"))

    def test_folder_without_a_module(self):
        with self.assertRaisesRegex(SystemExit, "holds 0 files _carom.abi3.so"):
            self.backend.pack_wheel(self.out, self.out)

    def test_source_archive(self):
        name = self.backend.build_sdist(self.out)
        stem = name.removesuffix(".tar.gz")
        with tarfile.open(self.out / name) as archive:
            names = {member.removeprefix(f"{stem}/") for member in archive.getnames()}
        self.assertIn("PKG-INFO", names)
        for folder in ("include", "src", "cmake", "plugins", "bindings/python/src", "bindings/python/carom"):
            files = {path.relative_to(SOURCE).as_posix() for path in (SOURCE / folder).rglob("*")
                     if path.is_file() and "__pycache__" not in path.parts}
            self.assertTrue(files and files <= names, files - names)
        self.assertFalse({name for name in names if name.startswith(("tests/", "docs/", "build/"))})

    def test_source_archive_alone_can_be_built(self):
        """CMake finds each source of the package in the unpacked archive, and each file that these include lies there too."""
        if not shutil.which("cmake") or not shutil.which("ninja"):
            self.skipTest("there is no cmake or no ninja")
        name = self.backend.build_sdist(self.out)
        with tarfile.open(self.out / name) as archive:
            archive.extractall(self.out)
        root = self.out / name.removesuffix(".tar.gz")
        options = [f"-D{option}={value}" for option, value in self.backend.OPTIONS.items()]
        command = ["cmake", "-S", root, "-B", self.out / "build", "-G", "Ninja", f"-DPython3_EXECUTABLE={sys.executable}", *options]
        ran = subprocess.run([*command, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        named = {}
        for path in root.rglob("*.[ch]"):
            named.setdefault(path.name, []).append(path.resolve())
        todo = {Path(entry["file"]).resolve() for entry in json.loads((self.out / "build/compile_commands.json").read_text())}
        seen = set()
        while todo:
            file = todo.pop()
            seen.add(file)
            for included in re.findall(r'^\s*#\s*include "([^"]+)"', file.read_text(), re.M):
                found = {path for path in named.get(Path(included).name, ()) if path.as_posix().endswith(f"/{included.removeprefix('../')}")}
                self.assertTrue(found or included.endswith(".spv.h") or included == "carom_tables.h", f"{file.relative_to(root.resolve())} includes {included}")
                todo |= found - seen
        self.assertGreater(len(seen), 300)


if __name__ == "__main__":
    unittest.main()
