"""Rollback of a game over a network: two worlds guess, go back, and agree again, bit for bit."""

import carom


def make():
    world = carom.World()
    world.add_body(shape=carom.Shape(type="plane"), kind="static")
    players = [world.add_body(shape=carom.Shape(type="box", half_extents=(0.5, 0.5, 0.5)), pose=((2 * i, 0, 0.49), None)) for i in range(2)]
    return world, players


def advance(world, players, inputs):
    for player, (dx, dy) in zip(players, inputs):
        x, y, z = world.get_pose(player).position
        world.set_pose(player, ((x + dx, y + dy, z), None))
    world.step()


here, players = make()
there, others = make()
inputs = [[(0.1, 0.0), (-0.05 if frame < 3 else -0.1, 0.0)] for frame in range(8)]  # as both sides know them in the end

snapshots = []
for frame in range(8):
    snapshots.append(here.snapshot())
    advance(here, players, [inputs[frame][0], (-0.05, 0.0)])  # the other one's input is not here yet: guess
here.restore(snapshots[3])  # it came, and differs from the guess from frame 3 on
for frame in range(3, 8):
    advance(here, players, inputs[frame])

for frame in range(8):
    advance(there, others, inputs[frame])

print("the two worlds agree:", here.snapshot().hash == there.snapshot().hash, f"({here.hash:016x})")
print("first difference of the guess:", snapshots[7].difference(here.snapshot()).field)
