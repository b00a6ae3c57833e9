"""What tests share: meshes, and reasons to skip."""

import os
import unittest
from pathlib import Path

import carom

try:
    import numpy
except ImportError:
    numpy = None

try:
    import carom.sim
except ImportError:  # a build without the packages of the command: see test_sim.py
    has_sim = False
else:
    has_sim = True

SOURCE = Path(os.environ["CAROM_SOURCE"])
needs_numpy = unittest.skipUnless(numpy, "NumPy is not installed")

CUBE = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
CUBE_TRIANGLES = [
    (0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1),
    (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3),
]


def cube(**settings):
    return carom.Mesh(CUBE, CUBE_TRIANGLES, **settings)


def ball_on_ground(**settings):
    """A world with a ball that has sunk into a plane by 5 cm, and their ids."""
    world = carom.World(**settings)
    ground = world.add_body(shape=carom.Shape(type="plane"), kind="static")
    ball = world.add_body(shape=carom.Shape(type="sphere", radius=0.5), pose=((0, 0, 0.45), None))
    return world, ground, ball


def data(name):
    """A file of CAROM_DATA; the case is skipped without it."""
    folder = os.environ.get("CAROM_DATA")
    if not folder:
        raise unittest.SkipTest("CAROM_DATA is not set")
    path = Path(folder) / name
    if not path.exists():
        raise unittest.SkipTest(f"CAROM_DATA has no {name}")
    return path
