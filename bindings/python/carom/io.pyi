from os import PathLike
from typing import Any, NamedTuple, Union
import carom
from carom import Array, Context, Mesh, MeshSides

__all__ = ["MeshArrays", "find_command", "load_mesh", "read_mesh", "save_mesh"]

_Path = Union[str, PathLike[str]]

class MeshArrays(NamedTuple):
    vertices: Array[Any]
    triangles: Array[Any]
    materials: Array[int] | None
    material_names: list[str]
    sides: MeshSides
    baked: bytes | None

def find_command() -> str: ...
def load_mesh(path: _Path, *, context: Context | None = None, weld: bool = False, **settings: Any) -> Mesh: ...
def read_mesh(path: _Path, *, weld: bool = False) -> MeshArrays: ...
def save_mesh(path: _Path, vertices: Any, triangles: Any) -> None: ...
