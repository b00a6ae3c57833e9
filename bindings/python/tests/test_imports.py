"""What importing the package brings in. Times are in docs/measured/python.md; here is what they come of: modules of the standard library."""

import subprocess
import sys
import unittest
from pathlib import Path

import carom

# Each takes milliseconds, and is needed by few calls, which import it themselves.
SLOW = {"typing", "pathlib", "subprocess", "tempfile", "shutil", "re", "json", "inspect", "random", "socket", "numpy", "importlib.resources",
        "urllib", "zipfile", "ctypes", "logging", "asyncio", "dataclasses"}


def imported(statement):
    """Modules that a statement imports, in an interpreter without site."""
    program = f"import sys; sys.path.insert(0, {str(Path(carom.__file__).parent.parent)!r})\n{statement}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


class Imports(unittest.TestCase):
    def test_the_package_alone(self):
        self.assertEqual(imported("import carom") & (SLOW | {"carom.io", "carom.compat", "carom.sim", "carom._sim"}), set())

    def test_io_and_compat(self):
        for name in ("io", "compat"):
            self.assertEqual(imported(f"import carom.{name}") & SLOW, set(), name)

    def test_sim(self):
        found = imported("\ntry: import carom.sim\nexcept ImportError: pass\n")
        self.assertEqual(found & SLOW, set())


if __name__ == "__main__":
    unittest.main()
