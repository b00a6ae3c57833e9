"""Interference check of an assembly: which parts overlap, how deep, and which have less play than they should?"""

import carom
from shapes import box, torus

CLEARANCE = 0.02
PARTS = {
    "base": (box(4, 4, 0.4), (0, 0, 0)),
    "pillar": (box(0.5, 0.5, 2), (0, 0, 1.21)),
    "ring": (torus(0.6, 0.2), (0, 0, 0.41)),
    "cap": (box(1, 1, 0.3), (0, 0, 2.3)),
    "rail": (box(0.2, 3, 0.2), (1.2, 0, 0.31)),
}

world = carom.World()
meshes = {name: carom.Mesh(*arrays) for name, (arrays, _) in PARTS.items()}
names = {world.add_body(shape=meshes[name], pose=(place, None)): name for name, (_, place) in PARTS.items()}
world.step()

depths = {}
for contact in world.contacts:
    pair = (names[contact.body_a], names[contact.body_b])
    depths[pair] = max(depths.get(pair, 0), contact.depth)
for (a, b), depth in sorted(depths.items(), key=lambda item: -item[1]):
    crossing = meshes[a].intersections(meshes[b], (PARTS[a][1], None), (PARTS[b][1], None))
    print(f"{a} and {b} overlap by {depth:.3f}; {len(crossing)} pairs of triangles intersect")

ids = list(names)
for i, a in enumerate(ids):
    for b in ids[i + 1:]:
        if (names[a], names[b]) in depths:
            continue
        gap = carom.distance(meshes[names[a]], meshes[names[b]], world.get_pose(a), world.get_pose(b)).distance
        if gap < CLEARANCE:
            print(f"{names[a]} and {names[b]} have a play of {gap:.3f}, less than {CLEARANCE}")
