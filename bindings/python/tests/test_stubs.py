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


class Stubs(unittest.TestCase):
    def test_stubs_are_those_of_the_package(self):
        if not importlib.util.find_spec("mypy"):
            self.skipTest("mypy is not installed")
        folder = Path(carom.__file__).parent.parent
        environment = {**os.environ, "MYPYPATH": str(folder), "PYTHONMALLOC": "default", "PYTHONWARNINGS": "default"}
        command = [sys.executable, "-m", "mypy.stubtest", "carom", "--concise"]
        with tempfile.NamedTemporaryFile("w") as absent:
            if not has_sim:  # its stub is there, and it cannot be imported
                absent.write("carom.sim\n")
                absent.flush()
                command += ["--allowlist", absent.name]
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
