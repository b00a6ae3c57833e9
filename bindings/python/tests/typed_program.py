"""A program of a user, for mypy --strict: what a column, a member and an answer are. test_stubs.py checks it, and runs it too."""

import array
from typing import TYPE_CHECKING, Tuple

import carom
import carom.compat
import carom.io
from carom import Array, BodyDef, Contact, ProximityPair, RayHit, Shape, SweepHit, World

if TYPE_CHECKING:
    from typing_extensions import assert_type
else:
    def assert_type(value, _):
        return value


def columns(world: World) -> float:
    world.step()
    contacts = world.contacts
    assert_type(contacts, Array[Contact])
    assert_type(contacts[0], Contact)
    assert_type(contacts[0].depth, float)
    assert_type(contacts[0].point, Tuple[float, ...])
    assert_type(contacts[:1], Array[Contact])
    assert_type(contacts["depth"], Array[float])
    assert_type(contacts["depth"][0], float)
    assert_type(contacts["normal"], Array[Array[float]])
    assert_type(contacts["body_a"], Array[int])
    assert_type(contacts["kind"], Array[int])
    assert_type(world.pairs["first_contact"], Array[int])
    assert_type(world.impacts["time"], Array[float])
    assert_type(world.shape_impacts["time"], Array[float])
    assert_type(world.sphere_contacts["depth"], Array[float])
    assert_type(world.events["body_a"], Array[int])
    return sum(contacts["depth"])


def questions(world: World) -> None:
    hit = world.cast_ray((0, 0, 5), (0, 0, -1))
    if hit is not None:
        assert_type(hit, RayHit)
        assert_type(hit.t, float)
    rays = array.array("d", [0, 0, 5, 0, 0, -1])
    hits = world.cast_rays(memoryview(rays).cast("b").cast("d", (1, 6)))
    assert_type(hits["t"], Array[float])
    first, bodies = world.overlap_aabbs([(-1, -1, -1, 1, 1, 1)])
    assert_type(bodies, Array[int])
    closest = world.closest_points([(0, 0, 3)], max_distance=10)
    assert_type(closest["point"], Array[Array[float]])
    toi = carom.time_of_impact(Shape(type="sphere", radius=1), Shape(type="box", half_extents=(1, 1, 1)),
                               (((0, 0, 5), None), ((0, 0, 0), None)))
    assert_type(toi.time, float)
    assert_type(toi.status, carom.ToiStatus)


def detectors() -> None:
    cloth = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)]
    near = carom.Proximity()
    near.add_mesh(cloth, [(0, 1, 2)])
    near.add_mesh([(x, y, z + 0.01) for x, y, z in cloth], [(0, 1, 2)])
    pairs, shapes = near.find(0.1)
    assert_type(pairs, Array[ProximityPair])
    assert_type(pairs["gap"], Array[float])
    assert_type(pairs["point_a"], Array[Array[float]])
    assert_type(shapes["normal"], Array[Array[float]])
    sweep = carom.Sweep()
    sweep.add_mesh(cloth, [(0, 1, 2)])
    hits = sweep.find()
    assert_type(hits, Array[SweepHit])
    assert_type(hits["time"], Array[float])
    spheres = carom.Spheres(skin=0.1)
    spheres.update([(0, 0, 0), (1, 0, 0)], [0.6, 0.6])
    assert_type(spheres.find_pairs()["a"], Array[int])


def other_names() -> None:
    manager = carom.compat.CollisionManager()
    manager.add_object("a", carom.Mesh([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)]))
    assert_type(manager.in_collision_internal(), bool)
    ball = carom.compat.CollisionObject(carom.compat.Sphere(1), carom.compat.Transform((0, 0, 1)))
    assert_type(carom.compat.collide(ball, ball), int)
    assert_type(carom.compat.distance(ball, ball), float)


def main() -> None:
    world = World(speculative_distance=0.01, contact_filter=lambda contact, a, b: contact.depth > 0)
    world.add_body(BodyDef(shape=Shape(type="plane"), kind="static"))
    world.add_body(shape=Shape(type="sphere", radius=0.5), pose=((0, 0, 0.45), None), kind=carom.BodyKind.DYNAMIC)
    columns(world)
    questions(world)
    detectors()
    other_names()
    try:
        carom.io.load_mesh("no such file.obj", weld=True, sides="both")
    except (FileNotFoundError, carom.InvalidMesh) as error:
        print(error)


main()
