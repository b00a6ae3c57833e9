"""Rigid bodies on Carom's contacts: spheres drop into a bowl. A sequential-impulse solver with warm starts in plain Python."""

import carom
from shapes import torus

STEP, RADIUS, MASS = 1 / 120, 0.1, 1.0
world = carom.World(speculative_distance=0.01)
bowl = world.add_body(shape=carom.Mesh(*torus(0.5, 0.2)), kind="static")
ground = world.add_body(shape=carom.Shape(type="plane"), kind="static", pose=((0, 0, -0.2), None))
balls = [world.add_body(shape=carom.Shape(type="sphere", radius=RADIUS), pose=((0.04 * i, 0.03 * (i % 2), 0.4 + 0.25 * i), None))
         for i in range(8)]
place = {ball: list(world.get_pose(ball).position) for ball in balls}
speed = {ball: [0.0, 0.0, 0.0] for ball in balls}


def along(body, normal):
    return sum(a * b for a, b in zip(speed[body], normal)) if body in speed else 0.0


def push(body, normal, impulse):
    if body in speed:
        for k in range(3):
            speed[body][k] += impulse / MASS * normal[k]


for step in range(600):
    for ball in balls:
        speed[ball][2] -= 9.81 * STEP
    world.step()
    contacts = list(world.contacts)
    sums = [contact.impulse[2] for contact in contacts]  # found in the last step: where this one starts
    for contact, impulse in zip(contacts, sums):
        push(contact.body_a, contact.normal, impulse)
        push(contact.body_b, contact.normal, -impulse)
    for _ in range(15):
        for i, contact in enumerate(contacts):
            masses = (contact.body_a in speed) + (contact.body_b in speed)
            closing = along(contact.body_a, contact.normal) - along(contact.body_b, contact.normal)
            wanted = 0.2 * max(contact.depth - 0.002, 0) / STEP if contact.depth > 0 else contact.depth / STEP
            impulse = max(sums[i] + (wanted - closing) * MASS / masses, 0.0) - sums[i]
            sums[i] += impulse
            push(contact.body_a, contact.normal, impulse)
            push(contact.body_b, contact.normal, -impulse)
    if contacts:
        world.set_impulses([(0.0, 0.0, impulse) for impulse in sums])
    for ball in balls:
        for k in range(3):
            place[ball][k] += speed[ball][k] * STEP
    world.set_poses(balls, [(*place[ball], 0, 0, 0, 1) for ball in balls])

world.step()
print(f"{len(world.contacts)} contacts, the deepest {max(c.depth for c in world.contacts) * 1000:.1f} mm")
print(f"fastest ball {max(sum(part * part for part in speed[ball]) ** 0.5 for ball in balls):.2f} m/s")
