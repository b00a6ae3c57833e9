"""A cloth falls on a ball: a solver of 40 lines in NumPy, with contacts that know their side.

Position based dynamics: vertices move on, edges pull, and surface contacts push to the thickness. The world tells which vertices are
too near to what.
"""

import numpy as np

import carom
from shapes import sheet

PARTS, THICKNESS, STEP = 16, 0.03, 1 / 120
vertices, triangles = (np.array(part) for part in sheet(1.6, PARTS))
x = vertices + [0.05, 0.02, 0.75]
v = np.zeros_like(x)
edges = np.unique(np.sort(np.vstack([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1), axis=0)
rest = np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1)

world = carom.World()
cloth = world.add_body(shape=carom.Mesh(vertices, triangles), kind="cloth", pose=((0.05, 0.02, 0.75), None), thickness=THICKNESS)
world.add_body(shape=carom.Shape(type="sphere", radius=0.5), kind="static")
world.add_body(shape=carom.Shape(type="plane"), kind="static", pose=((0, 0, -0.5), None))


def pull(x):
    """Edges go to their length."""
    for _ in range(12):
        a, b = edges.T
        way = x[a] - x[b]
        length = np.linalg.norm(way, axis=1)
        push = way * (0.5 * (rest - length) / length)[:, None] * 0.5
        np.add.at(x, a, push)
        np.add.at(x, b, -push)


def part(x, contacts):
    """Vertices that are too near to a shape go away from it, along the contact's normal."""
    for corner in range(3):
        named = contacts["vertices"][:, corner] >= 0
        where = contacts["vertices"][named, corner]
        missing = contacts["thickness"][named] - contacts["distance"][named]
        np.add.at(x, where, contacts["normal"][named] * (missing * contacts["weight"][named, corner])[:, None])


deepest = 0.0
for frame in range(150):
    v[:, 2] -= 9.81 * STEP
    v *= 0.995
    begin = x.copy()
    x = x + v * STEP
    pull(x)
    for _ in range(3):  # what the pushes bring about is looked at again
        world.set_vertices(cloth, x)
        world.step()
        contacts = np.array(world.surface_shape_contacts)
        if len(contacts) == 0:
            break
        part(x, contacts)
    v = (x - begin) / STEP
    deepest = min(deepest, contacts["distance"].min(initial=0.0))

print(f"the cloth hangs from {x[:, 2].max():.2f} down to {x[:, 2].min():.2f} m, on {len(contacts)} contacts")
print(f"no vertex in the ball: {bool((np.linalg.norm(x, axis=1) > 0.5 - 1e-3).all())}")
