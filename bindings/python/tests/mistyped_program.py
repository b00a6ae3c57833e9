"""Lines that mypy must refuse, each with the comment `wrong`: what a typo or a wrong type would do. test_stubs.py checks it."""

import carom

world = carom.World(gravity=9.81)  # wrong
world.add_body(shape=carom.Shape(type="sphere", radious=0.5))  # wrong
world.add_body(shape=carom.Shape(type="sphere", radius="0.5"))  # wrong
world.add_body(colour=3)  # wrong
world.step(0.01)  # wrong
text: str = world.contacts["depth"][0]  # wrong
bodies: carom.Array[float] = world.contacts["normal"]  # wrong
print(world.contacts[0].deepth)  # wrong
print(carom.Wrold())  # wrong
print(world.cast_ray((0, 0, 0), (0, 0, 1)).t)  # wrong
carom.Proximity(thikness=1)  # wrong
