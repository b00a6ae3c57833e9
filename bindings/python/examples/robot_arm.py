"""A planar robot arm of three links moves between two postures in a scene: is the way free, and how near does it come to anything?

The way is looked at in two forms: by samples with their clearance, and link by link as a motion, which misses nothing between samples.

A motion takes the shape's origin along a straight line, and turns the shape about it the shorter way, by less than 180 degrees. So it is
the true way of a part whose origin lies in a joint that stays. The origin of a capsule is its middle, which goes along an arc in truth:
between two samples that lie apart by an angle a, the middle of the first link is off by at most length / 2 * (1 - cos(a / 2)). Here that is
below a millimetre. A gripper that is a mesh can have its origin in the joint; and no sample may turn a link by 180 degrees or more.
"""

import math

import carom
from shapes import torus

LINKS = [1.0, 0.8, 0.5]
LINK = [carom.Shape(type="capsule", radius=0.06, half_length=length / 2) for length in LINKS]


def poses(angles):
    """The pose of each link: its middle, and the turn of its axis z into the plane."""
    x = z = heading = 0.0
    found = []
    for length, angle in zip(LINKS, angles):
        heading += angle
        dx, dz = math.sin(heading), math.cos(heading)
        found.append(((x + dx * length / 2, 0, z + dz * length / 2), (0, math.sin(heading / 2), 0, math.cos(heading / 2))))
        x, z = x + dx * length, z + dz * length
    return found


scene = carom.World()
table = scene.add_body(shape=carom.Shape(type="box", half_extents=(1.0, 0.6, 0.05)), kind="static", pose=((1.4, 0, 0.2), None))
ring = scene.add_body(shape=carom.Mesh(*torus(0.35, 0.05)), kind="static", pose=((1.3, 0, 0.95), (math.sqrt(0.5), 0, 0, math.sqrt(0.5))))
names = {table: "table", ring: "ring"}

start, goal = (0.2, 0.2, 0.2), (0.9, 0.7, 0.4)
steps, worst = 20, (carom.inf, "", 0)
previous = poses(start)
blocked = None
for k in range(1, steps + 1):
    t = k / steps
    now = poses([a + t * (b - a) for a, b in zip(start, goal)])
    for link, (shape, before, after) in enumerate(zip(LINK, previous, now)):
        near = scene.closest_body(shape, after)
        worst = min(worst, (near.distance, names[near.body], link))
        hit = scene.cast_shape(shape, (before, after), tolerance=1e-4)
        if hit and blocked is None:
            blocked = f"link {link} meets the {names[hit.body]} after {(k - 1 + hit.time) / steps:.1%} of the way"
    previous = now

print(f"least clearance {worst[0]:.3f} m: link {worst[2]} to the {worst[1]}")
print(blocked or "the way is free")
