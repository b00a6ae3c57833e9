"""Carom finds collisions between concave meshes, deforming meshes and millions of spheres.

>>> import carom
>>> world = carom.World()
>>> ground = world.add_body(shape=carom.Shape(type="plane"), kind="static")
>>> ball = world.add_body(shape=carom.Shape(type="sphere", radius=0.5), pose=((0, 0, 0.45), None))
>>> world.step()
>>> [round(contact.depth, 3) for contact in world.contacts]
[0.05]

The guide is docs/guide/python.md; comments of functions and members are those of the C headers.
Body ids are ints; 0 is none. Vectors are (x, y, z), quaternions (x, y, z, w).
"""

from carom import _carom
from carom._carom import *  # noqa: F401,F403
from carom._carom import __version__  # noqa: F401

__all__ = [name for name in dir(_carom) if not name.startswith("_")]


def __getattr__(name):
    """io, compat and sim are imported when they are first asked for."""
    if name in ("io", "compat", "sim"):
        import importlib

        return importlib.import_module(f"carom.{name}")
    raise AttributeError(f"module 'carom' has no attribute {name!r}")
