"""A shovel digs in a height field: each step edits a small part of the ground, and balls roll into the hole."""

import carom

SIZE = 40
ground = carom.Mesh.height_field([[0.0] * SIZE for _ in range(SIZE)], (0.1, 0.1), thickness=2.0)
world = carom.World()
field = world.add_body(shape=ground, kind="static")
probe = carom.Shape(type="sphere", radius=0.15)

depth = 0.0
for scoop in range(5):
    depth -= 0.1
    ground = ground.edited([[depth] * 8 for _ in range(8)], first_column=16, first_row=16)
    world.set_shape(field, ground)
    hit = world.cast_shape(probe, (((1.95, 1.95, 1), None), ((1.95, 1.95, -1), None)))
    print(f"scoop {scoop + 1}: the ball's lowest point is at {0.85 - 2 * hit.time:.2f} m")
