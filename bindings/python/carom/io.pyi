from os import PathLike
from typing import Literal, NamedTuple, Union
from carom import Array, Context, Mesh, MeshBuild, MeshSides
from carom._carom import _ArrayLike, _Vec3

__all__ = ["MeshArrays", "find_command", "load_mesh", "read_mesh", "save_mesh"]

_Path = Union[str, PathLike[str]]

class MeshArrays(NamedTuple):
    vertices: Array[Array[float]]
    triangles: Array[Array[int]]
    materials: Array[int] | None
    material_names: list[str]
    sides: MeshSides
    baked: bytes | None

def find_command() -> str: ...
def load_mesh(
    path: _Path,
    *,
    context: Context | None = None,
    weld: bool = False,
    materials: _ArrayLike | None = ...,
    sides: MeshSides | int | str = ...,
    build: MeshBuild | int | str = ...,
    grid_resolution: int = ...,
    weld_distance: float = ...,
    centre: _Vec3 | Literal["auto"] | None = ...,
) -> Mesh: ...
def read_mesh(path: _Path, *, weld: bool = False) -> MeshArrays: ...
def save_mesh(path: _Path, vertices: _ArrayLike, triangles: _ArrayLike) -> None: ...
