"""Meshes from files, read by the command ``carom`` (docs/command.md): OBJ, PLY, STL, OFF, and what assimp reads.

The command bakes the file, and the library loads the bytes, trees and all. So a file gives the mesh that the command sees, to the bit,
and its readers are not written twice. The package itself needs no command.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import carom

__all__ = ["find_command", "load_mesh"]


def find_command():
    """The path of the command: the environment variable CAROM, or ``carom`` on PATH. FileNotFoundError where there is none."""
    path = os.environ.get("CAROM") or shutil.which("carom")
    if not path or not Path(path).exists():
        raise FileNotFoundError("the command carom is not on PATH, and CAROM does not name it: it reads mesh files (docs/command.md)")
    return path


def load_mesh(path, *, context=None, options=()):
    """The mesh of a file. options are further ones of ``carom bake``, as ("--build", "lbvh").

    A baked mesh (.cmesh) is loaded without the command. InvalidMesh carries what the command says of a file that it cannot use.
    """
    path = Path(path)
    if path.suffix == ".cmesh" and not options:
        return carom.Mesh.load(path.read_bytes(), context)
    path.stat()  # FileNotFoundError as of any other file
    with tempfile.TemporaryDirectory(prefix="carom") as folder:
        baked = Path(folder) / "mesh.cmesh"
        done = subprocess.run([find_command(), "bake", str(path), "-o", str(baked), *options], capture_output=True, text=True)
        if done.returncode != 0:
            raise carom.InvalidMesh(done.stderr.strip())
        return carom.Mesh.load(baked.read_bytes(), context)
