"""Meshes from files and to files: OBJ, PLY, STL, OFF and baked meshes by the module itself; what assimp reads by the command ``carom``.

The readers are those of the command (docs/command.md, "Mesh files"), compiled into the module. So a file gives the mesh that the command
sees, to the bit.
"""

import collections
import os

import carom
from carom import _carom

__all__ = ["MeshArrays", "find_command", "load_mesh", "read_mesh", "save_mesh"]


# Modules that few calls need are imported there: typing, pathlib, tempfile and subprocess take longer than carom itself (test_imports.py).
MeshArrays = collections.namedtuple("MeshArrays", ("vertices", "triangles", "materials", "material_names", "sides", "baked"))
MeshArrays.__doc__ = "What a mesh file holds. Vertices and triangles keep the order and the numbers of the file."
MeshArrays.vertices.__doc__ = "(n, 3): floats, or doubles where a float does not hold one of the numbers."
MeshArrays.triangles.__doc__ = "(m, 3) of int32."
MeshArrays.materials.__doc__ = "(m) of uint32: material 1, 2, ... of names, 0: none; or None. Of OBJ files and baked ones."
MeshArrays.material_names.__doc__ = "Names of materials 1, 2, ..."
MeshArrays.sides.__doc__ = "carom.MeshSides."
MeshArrays.baked.__doc__ = "Of a baked mesh: all of the file, for carom.Mesh.load; else None."


def find_command():
    """The path of the command: the environment variable CAROM, or ``carom`` on PATH. FileNotFoundError where there is none."""
    import shutil

    path = os.environ.get("CAROM") or shutil.which("carom")
    if not path or not os.path.exists(path):
        raise FileNotFoundError(
            "the command carom is not on PATH, and CAROM does not name it: it reads mesh files of other formats than OBJ, PLY, STL and OFF")
    return path


def _read_foreign(path, weld):
    """The arrays of a file of another format, by the command and assimp."""
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory(prefix="carom") as folder:
        baked = os.path.join(folder, "mesh.cmesh")
        done = subprocess.run([find_command(), "bake", path, "-o", baked], capture_output=True, text=True)
        if done.returncode != 0:
            raise carom.InvalidMesh(done.stderr.strip())
        return _carom.read_mesh_file(baked, weld=weld)


def read_mesh(path, *, weld=False):
    """The arrays of a mesh file. With weld, vertices at equal positions become one, as the triangles of a soup need it.

    Polygons, concave ones too, become triangles that lie within them. The corners of an STL file, which has no vertex numbers, are
    always welded. InvalidMesh names the file and its line or byte at fault: a number that is not finite, a corner that names no vertex.
    """
    os.stat(path)  # FileNotFoundError as of any other file
    found = _carom.read_mesh_file(path, weld=weld)
    if found is not None:
        return MeshArrays(*found)
    return MeshArrays(*_read_foreign(path, weld))._replace(baked=None)


def load_mesh(path, *, context=None, weld=False, **settings):
    """The mesh of a file. Settings are those of carom.Mesh: materials, sides, build, grid_resolution, weld_distance, centre.

    A baked mesh is loaded as it is where there are none. InvalidMesh says what is wrong with the file or its mesh.
    """
    arrays = read_mesh(path, weld=weld)
    if arrays.baked is not None and not weld and not settings:
        return carom.Mesh.load(arrays.baked, context)
    settings.setdefault("materials", arrays.materials)
    settings.setdefault("sides", arrays.sides)
    return carom.Mesh(arrays.vertices, arrays.triangles, context=context, **settings)


def save_mesh(path, vertices, triangles):
    """Write .obj (with all digits), .ply (doubles where a float does not hold a number) or .stl (floats). The file appears whole or not at all.

    InvalidMesh names a vertex that is not finite, or a triangle that names none. A carom.Mesh is saved by ``save_mesh(path, mesh.vertices, mesh.triangles)``, and with its trees by ``mesh.save()``.
    """
    _carom.write_mesh_file(path, vertices, triangles)
