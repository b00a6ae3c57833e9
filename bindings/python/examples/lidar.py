"""A turning lidar scans a yard: all rays of a turn in one call. Needs NumPy."""

import numpy as np

import carom
from shapes import box, torus

yard = carom.World()
names = {yard.add_body(shape=carom.Shape(type="plane"), kind="static"): "ground"}
for i in range(12):
    a = 2 * np.pi * i / 12
    pose = ((8 * np.cos(a), 8 * np.sin(a), 1.0), (0, 0, np.sin(a / 2), np.cos(a / 2)))
    names[yard.add_body(shape=carom.Mesh(*box(1, 1, 2)), kind="static", pose=pose)] = "crate"
names[yard.add_body(shape=carom.Mesh(*torus(2, 0.4)), kind="static", pose=((4, 0, 0.4), None))] = "tyre"

azimuth = np.linspace(0, 2 * np.pi, 1800, endpoint=False)
elevation = np.radians(np.linspace(-25, 5, 16))
flat = np.cos(elevation)[:, None]
directions = np.stack([flat * np.cos(azimuth), flat * np.sin(azimuth), np.sin(elevation)[:, None] + 0 * azimuth], axis=-1).reshape(-1, 3)
rays = np.hstack([np.tile([0, 0, 1.5], (len(directions), 1)), directions, np.zeros((len(directions), 1)), np.full((len(directions), 1), 30.0)])

hits = np.asarray(yard.cast_rays(rays))
seen, counts = np.unique(hits["body"], return_counts=True)
total = {}
for body, count in zip(seen, counts):
    kind = names.get(int(body), "nothing")
    total[kind] = total.get(kind, 0) + int(count)
print(f"{len(rays)} rays:", ", ".join(f"{count} {kind}" for kind, count in sorted(total.items())))
print(f"nearest return {hits['t'][hits['body'] != 0].min():.2f} m")
