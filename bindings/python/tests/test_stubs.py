"""The type stubs say what the package holds: mypy's stubtest finds no difference."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import carom
from support import has_sim


here = Path(__file__).parent
needs_mypy = unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed")
environment = {**os.environ, "MYPYPATH": str(Path(carom.__file__).parent.parent), "PYTHONMALLOC": "default", "PYTHONWARNINGS": "default"}


def mypy(program):
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--no-error-summary", str(here / program)]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


@needs_mypy
class Stubs(unittest.TestCase):
    def test_stubs_are_those_of_the_package(self):
        command = [sys.executable, "-m", "mypy.stubtest", "carom", "--concise"]
        with tempfile.NamedTemporaryFile("w") as absent:
            if not has_sim:  # its stub is there, and it cannot be imported
                absent.write("carom.sim\n")
                absent.flush()
                command += ["--allowlist", absent.name]
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_program_of_a_user_is_typed(self):
        done = mypy("typed_program.py")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_mistakes_are_found(self):
        done = mypy("mistyped_program.py")
        found = {int(line.split(":")[1]) for line in done.stdout.splitlines() if "mistyped_program.py" in line and ": error:" in line}
        lines = (here / "mistyped_program.py").read_text().splitlines()
        self.assertEqual(found, {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}, done.stdout)


class Runs(unittest.TestCase):
    def test_the_typed_program_runs(self):
        subprocess.run([sys.executable, here / "typed_program.py"], check=True, capture_output=True)
