"""Worlds: bodies of every kind, steps, results, callbacks, recordings, snapshots; and their misuse."""

import gc
import resource
import threading
import unittest
import weakref

import carom
from support import CUBE, ball_on_ground, cube, needs_numpy, numpy


class Bodies(unittest.TestCase):
    def test_ids_are_ints_and_0_is_none(self):
        world, ground, ball = ball_on_ground()
        self.assertEqual(list(world.body_ids()), [ground, ball])
        self.assertEqual(len(world), 2)
        self.assertTrue(ball in world and world.is_body(ball) and 0 not in world)
        world.remove_body(ball)
        self.assertNotIn(ball, world)
        with self.assertRaises(carom.InvalidBody) as caught:
            world.get_pose(ball)
        self.assertIs(caught.exception.result, carom.Result.INVALID_BODY)
        self.assertEqual(caught.exception.call, "carom_world_get_pose")
        self.assertIsInstance(caught.exception, LookupError)

    def test_poses_one_by_one_and_all_at_once(self):
        world, ground, ball = ball_on_ground()
        world.set_pose(ball, ((1, 2, 3), (0, 0, 1, 0)))
        self.assertEqual(world.get_pose(ball), carom.Pose((1, 2, 3), (0, 0, 1, 0)))
        world.set_poses([ground, ball], [(0, 0, 1, 0, 0, 0, 1), (0, 0, 5, 0, 0, 0, 1)])
        self.assertEqual(world.get_pose(ball).position, (0, 0, 5))
        self.assertEqual(world.get_poses([ball]).shape, (1, 7))
        with self.assertRaisesRegex(ValueError, "poses has 1 rows; it must have 2"):
            world.set_poses([ground, ball], [(0, 0, 1, 0, 0, 0, 1)])
        with self.assertRaisesRegex(carom.InvalidArgument, "position"):
            world.set_pose(ball, ((float("nan"), 0, 0), None))
        with self.assertRaisesRegex((TypeError, ValueError), r"pose\.position"):
            world.set_pose(ball, ((0, 0), None))
        with self.assertRaisesRegex(carom.InvalidArgument, "is the shape set"):
            world.add_body()
        with self.assertRaisesRegex(TypeError, r"triangles\[0\] holds a number that is no integer"):
            carom.Mesh([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2.5)])
        world.set_motions([ball], [(0, 0, 5, 0, 0, 0, 1, 0, 0, 4, 0, 0, 0, 1)])
        self.assertEqual(world.get_pose(ball).position, (0, 0, 4))

    def test_definitions_come_back(self):
        world = carom.World()
        given = carom.BodyDef(shape=carom.Shape(type="box", half_extents=(1, 2, 3)), kind="kinematic", category=4, mask=12, group=-3,
                              user_data=2**63, pose=((1, 2, 3), None), continuous=True)
        body = world.add_body(given)
        self.assertEqual(world.get_body(body), given)
        self.assertEqual(world.get_user_data(body), 2**63)
        world.set_user_data(body, 7)
        self.assertEqual(world.get_body(body), given.replace(user_data=7))
        self.assertEqual(world.get_filter(body), (4, 12, -3))
        world.set_filter(body, mask=1)
        self.assertEqual(world.get_filter(body), (4, 1, -3))
        world.set_traits(body, kind="kinematic", sensor=True)
        self.assertEqual(world.get_body(body), given.replace(user_data=7, mask=1, kind="kinematic", sensor=True))
        with self.assertRaisesRegex(carom.Error, "carom_world_set_traits: kind is BodyKind.CLOTH"):
            world.set_traits(body, kind="cloth", sensor=False, continuous=False)
        with self.assertRaisesRegex(TypeError, "set_traits"):
            world.set_traits(body, mask=1)
        world.set_traits(body, kind="dynamic")
        self.assertIsNone(world.set_asleep([body], True))
        self.assertEqual(list(world.get_asleep([body])), [True])
        world.set_asleep([body], False)
        self.assertEqual(list(world.get_asleep([body])), [False])
        with self.assertRaisesRegex(TypeError, "set_asleep takes ids and whether they sleep"):
            world.set_asleep([body])
        before = world.get_pose(body).position
        world.shift_origin((16, 0, -4))
        self.assertEqual(list(world.get_pose(body).position), [before[0] + 16, before[1], before[2] - 4])
        with self.assertRaisesRegex(carom.Error, r"carom_world_shift_origin: offset\[1\] is inf"):
            world.shift_origin((0, float("inf"), 0))
        world.shift_origin((-16, 0, 4))
        other = world.add_body(given, group=0)
        self.assertEqual(world.get_filter(other), (4, 12, 0))
        self.assertEqual(len(world.add_bodies([given, given])), 2)
        self.assertEqual(len(world), 4)
        with self.assertRaisesRegex(TypeError, r"bodies\[1\]"):
            world.add_bodies([given, 3])
        self.assertEqual(len(world), 4)

    def test_many_bodies_go_and_their_memory_too(self):
        world = carom.World()
        world.reserve(2000, 4000, 4000)
        ball = carom.BodyDef(shape=carom.Shape(type="sphere", radius=0.6))
        ids = world.add_bodies([ball.replace(pose=((i, 0, 0), None)) for i in range(2000)])
        world.step()
        full = world.stats.memory
        with self.assertRaisesRegex(carom.Error, r"ids\[2\] names the body of ids\[0\] again"):
            world.remove_bodies([ids[5], ids[6], ids[5]])
        self.assertEqual(len(world), 2000)
        contacts = world.contacts
        world.remove_bodies(ids[2:])
        self.assertEqual(len(world), 2)
        world.trim()
        with self.assertRaisesRegex(BufferError, "this view has ended"):
            contacts[0]
        self.assertLess(world.stats.memory, full / 10)
        self.assertTrue(ids[1] in world and ids[2] not in world)
        self.assertNotIn(world.add_body(ball), list(ids))
        world.step()

    def test_compounds(self):
        world, ground, _ = ball_on_ground()
        ball = carom.Shape(type="sphere", radius=0.5)
        body = world.add_body(parts=[(ball, ((5, 0, 0.4), None)), (ball, ((7, 0, 0.3), None))])
        world.step()
        self.assertEqual([contact.shape_b for contact in world.contacts if contact.body_b == body], [0, 1])
        world.set_parts(body, [carom.Part(ball, ((5, 0, 0.4), None))])
        world.step()
        self.assertEqual(len(world.get_body(body).parts), 1)
        self.assertEqual(world.get_part_data(body, 0), 0)
        with self.assertRaisesRegex(carom.InvalidArgument, "carom_world_set_parts: count is 0"):
            world.set_parts(body, [])
        # With room a body gets parts, which go on while others come and go.
        hand = world.add_body(parts=[(ball, ((20, 0, 0.4), None))], part_room=2)
        self.assertEqual(world.get_body(hand).part_room, 2)
        for parts in (1, 2, 1, 2):
            world.set_parts(hand, [(ball, ((20 + 2 * i, 0, 0.4), None)) for i in range(parts)])
            world.step()
            self.assertEqual([contact.shape_b for contact in world.contacts if contact.body_b == hand], list(range(parts)))
        with self.assertRaisesRegex(carom.InvalidArgument, "count is 3, but the body has room for 2 parts"):
            world.set_parts(hand, [(ball, None)] * 3)
        with self.assertRaisesRegex(carom.InvalidArgument, "part_room is 1, but part_count is 2"):
            world.add_body(parts=[(ball, None)] * 2, part_room=1)
        # A body without parts is told with an empty tuple, and can be added so.
        alone = world.get_body(world.add_body(shape=ball, pose=((50, 0, 0), None)))
        self.assertEqual(alone.parts, ())
        self.assertEqual(world.get_body(world.add_body(alone)).parts, ())
        world.set_shape(world.add_body(shape=ball), carom.Shape(type="sphere", radius=2))

    def test_a_field_is_dug_in_place(self):
        world = carom.World()
        field = carom.Mesh.height_field([[0, 0, 0], [0, 1, 0], [0, 0, 0]], (1, 1), 5)
        ground = world.add_body(shape=carom.Shape(type="mesh", mesh=field), kind="static")
        world.edit_field(ground, [[3.0]], 1, 1)
        self.assertEqual(field.report.upper[2], 1)  # a copy was changed
        self.assertEqual(world.get_body(ground).shape.mesh.report.upper[2], 3)
        with self.assertRaisesRegex(carom.InvalidArgument, "carom_world_edit_field: region.first_row is 3"):
            world.edit_field(ground, [[3.0]], 1, 3)
        with self.assertRaisesRegex(carom.InvalidArgument, "no height field"):
            world.edit_field(world.add_body(shape=carom.Shape(type="sphere", radius=2)), [[3.0]], 0, 0)

    def test_a_field_is_painted(self):
        world = carom.World()
        field = carom.Mesh.height_field([[0, 0, 0], [0, 0, 0], [0, 0, 0]], (1, 1), 5).painted(3)
        ground = world.add_body(shape=carom.Shape(type="mesh", mesh=field), kind="static")
        world.paint_field(ground, [[8, 9]], 1, 0)
        self.assertEqual([field.material(triangle) for triangle in range(8)], [3] * 8)  # a copy was changed
        painted = world.get_body(ground).shape.mesh
        self.assertEqual([painted.material(triangle) for triangle in range(8)], [3, 3, 8, 9, 3, 3, 3, 3])
        self.assertEqual([painted.painted(range(8)).material(5), painted.painted(None).material(5)], [5, 0])
        cube = carom.Mesh.hull([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)])
        self.assertEqual(cube.painted(range(12)).material(11), 11)
        with self.assertRaisesRegex(carom.InvalidArgument, "count is 7; it must be 1, or 8, two for each cell"):
            field.painted(range(7))
        with self.assertRaisesRegex(carom.InvalidArgument, "region.first_column is 2; the field has columns of cells 0 to 1"):
            world.paint_field(ground, [[8, 9]], 2, 0)
        with self.assertRaisesRegex(ValueError, "materials has 3 columns; it must have two for each cell"):
            world.paint_field(ground, [[8, 9, 1]], 0, 0)
        with self.assertRaises(OverflowError):
            field.painted(-1)

    def test_a_solid_inside_out_is_told(self):
        world = carom.World()
        corners = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
        solid = world.add_body(shape=carom.Mesh(corners, [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]), kind="deformable")
        self.assertEqual(world.get_enclosed(solid).inside_out, False)
        world.set_vertices(solid, [(x, y, -z) for x, y, z in corners])
        enclosed = world.get_enclosed(solid)
        self.assertAlmostEqual(enclosed.volume, -1 / 6)
        self.assertAlmostEqual(enclosed.rest_volume, 1 / 6)
        self.assertTrue(enclosed.inside_out)

    def test_crossings_and_velocity_rays(self):
        world = carom.World()
        sheet = carom.Mesh([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)], [(0, 1, 2), (0, 2, 3)])
        low = world.add_body(shape=sheet, kind="cloth")
        high = world.add_body(shape=sheet, kind="cloth", pose=(0.25, 0.1, 0.5, 0, 0, 0, 1))
        self.assertEqual(len(world.find_crossings()), 0)
        ways = [(0, 0, 0.6)] * 4
        hits = world.cast_velocity_rays(low, ways)
        self.assertEqual([(hit.vertex, hit.body, hit.behind) for hit in hits], [(2, high, False)])
        self.assertAlmostEqual(hits[0].distance, 0.5)
        self.assertEqual(len(world.cast_velocity_rays(low, ways, max_distance=0.4)), 0)
        self.assertEqual(len(world.cast_velocity_rays(low, ways, every=4)), 0)
        self.assertEqual(len(world.cast_velocity_rays(low, ways, filter=carom.QueryFilter(ignore=high))), 0)
        self.assertEqual(len(world.cast_velocity_rays(low)), 0)  # nothing moves in the coming step
        world.set_vertices(low, [(-1, -1, 0), (1, -1, 0), (1, 1, 1), (-1, 1, 0)])
        crossings = world.find_crossings(low)
        self.assertEqual({(c.body_a, c.body_b) for c in crossings}, {(low, high)})
        self.assertEqual(len(world.find_crossings()), len(crossings))
        with self.assertRaisesRegex(carom.InvalidArgument, "rays.max_distance is -1"):
            world.cast_velocity_rays(low, ways, max_distance=-1)
        with self.assertRaisesRegex(ValueError, "ways"):
            world.cast_velocity_rays(low, ways[:3])

    def test_cloth_and_granular_bodies(self):
        world, ground, ball = ball_on_ground()
        sheet = carom.Mesh([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)], [(0, 1, 2), (0, 2, 3)])
        cloth = world.add_body(shape=sheet, kind="cloth", pose=((0, 0, 2), None), thickness=0.1)
        grains = world.add_body(kind="granular", centres=[(5, 0, 0.05), (5.15, 0, 0.1)], radii=[0.1, 0.1])
        world.step()
        world.set_vertices(cloth, [(x, y, 0.9) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))])
        world.step()
        self.assertGreater(len(world.surface_shape_contacts), 0)
        pair = world.surface_shape_contacts[0].pair
        first = world.pairs[pair].first_surface_shape_contact
        count = world.pairs[pair].surface_shape_contact_count
        self.assertEqual([c.pair for c in list(world.surface_shape_contacts)[first:first + count]], [pair] * count)
        self.assertEqual((world.pairs[pair].body_a, world.pairs[pair].body_b), (ball, cloth))
        self.assertIs(next(e for e in world.events if e.pair == pair).kind, carom.EventKind.BEGIN)
        self.assertEqual(world.stats.surface_pairs, 1)
        self.assertEqual([row[2] for row in world.get_vertices(cloth)], [0.9] * 4)
        self.assertEqual(len(world.sphere_pairs), 1)
        self.assertEqual(world.sphere_groups[0].pair, next(i for i, p in enumerate(world.pairs) if p.sphere_group == 0))
        on_ground = next(p for p in world.pairs if (p.body_a, p.body_b) == (ground, grains))
        numbers = list(world.sphere_contacts_by_pair)[on_ground.first_sphere_contact:][:on_ground.sphere_contact_count]
        self.assertEqual([world.sphere_contacts[n].sphere for n in numbers], [0, 1][:len(numbers)])
        self.assertEqual([world.sphere_contacts[n].age for n in numbers], [1] * len(numbers))
        self.assertEqual((on_ground.age, world.stats.granular_pairs), (1, 2))
        for kind in ("surface_shape", "sphere"):
            contacts = getattr(world, f"{kind}_contacts")
            getattr(world, f"set_{kind}_impulses")([(0, 0, i + 1) for i in range(len(contacts))])
            getattr(world, f"set_{kind}_impulse")(0, (0, 7, 0))
        with self.assertRaisesRegex(carom.InvalidArgument, "there are 0 contacts"):
            world.set_surface_impulse(0, (0, 0, 1))
        world.step()
        for kind in ("surface_shape", "sphere"):
            self.assertEqual(getattr(world, f"{kind}_contacts")[0].impulse, (0, 7, 0))
        self.assertEqual([contact.sphere for contact in world.sphere_contacts], [0, 1][:len(world.sphere_contacts)])
        self.assertEqual(list(world.get_spheres(grains)[1]), [5.15, 0, 0.1, 0.1])
        world.set_spheres(grains, [(0, 0, 9)], [0.5])
        self.assertEqual(len(world.get_spheres(grains)), 1)
        self.assertEqual(list(world.get_body(grains).radii), [0.5])
        self.assertIsNone(world.get_sphere_ids(grains))
        with self.assertRaisesRegex(ValueError, "end has 3 rows; it must have 4"):
            world.set_vertices(cloth, [(0, 0, 0)] * 3)
        finer = carom.Mesh([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0), (0, 0, 0)], [(0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)])
        world.set_mesh(cloth, finer, origin=[0, 1, 2, 3, -1], places=[(0, 0, 0.9)] * 5)
        world.step()
        self.assertEqual(len(world.get_vertices(cloth)), 5)

    def test_contacts_go_with_the_ids_of_spheres(self):
        world = carom.World()
        world.add_body(shape=carom.Shape(type="plane"), kind="static")
        centres = [(i, 0, 0.45) for i in range(6)]
        grains = world.add_body(kind="granular", centres=centres, radii=[0.5] * 6)
        world.step()
        for k, contact in enumerate(world.sphere_contacts):
            world.set_sphere_impulse(k, (100 + contact.sphere, 0, 0))
        order = [5, 3, 1, 4]
        world.set_spheres_by_id(grains, [centres[i] for i in order], [0.5] * 4, order)
        world.step()
        ids = list(world.get_sphere_ids(grains))
        self.assertEqual(ids, order)
        self.assertEqual([(ids[c.sphere], c.age, c.impulse[0]) for c in world.sphere_contacts], [(i, 1, 100 + i) for i in order])
        with self.assertRaisesRegex(carom.InvalidArgument, "ids: those of spheres 0 and 2 are both 5"):
            world.set_spheres_by_id(grains, centres[:3], [0.5] * 3, [5, 1, 5])
        with self.assertRaisesRegex(ValueError, "ids has 2 rows"):
            world.set_spheres_by_id(grains, centres[:3], [0.5] * 3, [5, 1])

    @needs_numpy
    def test_too_many_spheres_are_refused_before_they_are_copied(self):
        world = carom.World()
        # One number, shown as 60 million rows of integers: a copy would take 1.4 GB.
        many = numpy.broadcast_to(numpy.zeros(1, numpy.int8), (60_000_000, 3))
        grains = world.add_body(kind="granular", centres=[(0, 0, 0)], radii=[1])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for call in (lambda: world.add_body(kind="granular", centres=many, radii=[1]), lambda: world.set_spheres(grains, many),
                     lambda: world.set_spheres_by_id(grains, many, [1], [1])):
            with self.assertRaisesRegex(ValueError, "centres has 60000000 rows; the spheres of a body are 50000000 at most"):
                call()
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 200_000)  # kB

    @needs_numpy
    def test_places_are_seen_through_a_view_and_keep_the_body(self):
        world = carom.World()
        cloth = world.add_body(shape=cube(), kind="deformable")
        places = numpy.asarray(world.get_vertices(cloth))
        world.set_vertices(cloth, places + 1)
        world.step()
        self.assertTrue((places == numpy.array(CUBE) + 1).all())
        for call in (lambda: world.remove_body(cloth), lambda: world.set_mesh(cloth, cube()), world.close):
            with self.assertRaisesRegex(BufferError, "places"):
                call()
        del places
        world.remove_body(cloth)


class Steps(unittest.TestCase):
    def test_contacts_pairs_and_events(self):
        world, ground, ball = ball_on_ground()
        world.step()
        self.assertIs(world.events[0].kind, carom.EventKind.BEGIN)
        world.set_pair_data(0, 77)
        world.set_impulses([(0, 0, 5)])
        world.step()
        self.assertEqual(world.pairs[0].user_data, 77)
        self.assertEqual(world.contacts[0].impulse, (0, 0, 5))
        self.assertEqual(world.contacts[0].age, 1)
        world.set_pose(ball, ((0, 0, 3), None))
        world.step()
        self.assertIs(world.events[0].kind, carom.EventKind.END)
        self.assertEqual(world.events[0].pair_data, 77)
        self.assertEqual(world.stats.step, 3)
        with self.assertRaises(carom.InvalidArgument):
            world.set_impulse(9, (0, 0, 0))

    def test_numbers_of_parts(self):
        asked = []

        def is_kept(contact, a, b):
            number = world.get_part_data(contact.body_b, contact.shape_b)
            asked.append((contact.shape_b, number))
            return number != 2**64 - 1

        world = carom.World(contact_filter=is_kept)
        ground = world.add_body(shape=carom.Shape(type="plane"), kind="static")
        ball = carom.Shape(type="sphere", radius=0.5)
        parts = [carom.Part(ball, ((0, 0, 0.4), None), user_data=2**64 - 1), (ball, ((2, 0, 0.4), None), 8), (ball, ((4, 0, 0.4), None))]
        body = world.add_body(parts=parts)
        world.step()
        self.assertEqual(sorted(set(asked)), [(0, 2**64 - 1), (1, 8), (2, 0)])
        self.assertEqual([contact.shape_b for contact in world.contacts], [1, 2])
        self.assertEqual([part.user_data for part in world.get_body(body).parts], [2**64 - 1, 8, 0])
        world.set_part_data(body, 2, 9)
        self.assertEqual([world.get_part_data(body, i) for i in range(3)], [2**64 - 1, 8, 9])
        hit = world.cast_ray((4, 0, 5), (0, 0, -1))
        self.assertEqual(world.get_part_data(hit.body, hit.shape), 9)
        self.assertEqual(world.get_part_data(ground, 0), 0)
        with self.assertRaisesRegex(carom.InvalidArgument, "part is 3, but the body has 3 parts"):
            world.get_part_data(body, 3)
        with self.assertRaisesRegex(carom.InvalidArgument, "without parts"):
            world.set_part_data(ground, 0, 1)
        with self.assertRaises(OverflowError):
            world.set_part_data(body, 0, -1)
        with self.assertRaisesRegex(TypeError, "an id and a part"):
            world.get_part_data(body)

    def test_pairs_of_bodies(self):
        world = carom.World()
        world.set_body_pairs(max_contacts=5)
        with self.assertRaisesRegex(carom.InvalidArgument, "max_contacts is 257"):
            world.set_body_pairs(True, 257)
        ground = world.add_body(shape=carom.Shape(type="plane"), kind="static")
        leg = carom.Shape(type="box", half_extents=(0.1, 0.1, 0.5))
        poses = [((x, y, 0.499), None) for x in (-1, 1) for y in (-1, 1)]
        table = world.add_body(parts=[carom.Part(leg, pose) for pose in poses])
        world.step()
        self.assertEqual((len(world.pairs), len(world.body_pairs), len(world.body_events)), (4, 1, 1))
        pair = world.body_pairs[0]
        self.assertEqual((pair.body_a, pair.body_b, pair.first_pair, pair.pair_count), (ground, table, 0, 4))
        self.assertEqual((pair.contact_count, pair.found_count), (5, 16))
        self.assertEqual(len(world.contacts), 5)
        self.assertIs(world.body_events[0].kind, carom.EventKind.BEGIN)
        world.set_body_pair_data(0, 77)
        world.set_pose(table, ((0, 0, 3), None))
        world.step()
        self.assertIs(world.body_events[0].kind, carom.EventKind.END)
        self.assertEqual((world.body_events[0].pair_data, world.body_events[0].body_pair), (77, -1))
        with self.assertRaisesRegex(carom.InvalidArgument, "pair is 0"):
            world.set_body_pair_data(0, 1)

    def test_impacts_of_a_fast_body(self):
        world, ground, ball = ball_on_ground()
        bullet = world.add_body(shape=carom.Shape(type="sphere", radius=0.01), continuous=True, pose=((3, 0, 5), None))
        world.step()
        world.set_pose(bullet, ((3, 0, -5), None))
        world.step()
        impact = world.earliest_body_impact(bullet)
        self.assertAlmostEqual(impact.time, 0.499, 3)
        self.assertEqual(world.earliest_body_impact(), impact)
        self.assertIsNone(world.earliest_impact())
        self.assertIsNone(world.earliest_shape_impact())

    def test_the_hash_does_not_depend_on_threads_or_instruction_set(self):
        hashes = set()
        for settings in ({"thread_count": 1}, {"thread_count": 3}, {"simd": "scalar"}):
            world = carom.World(context=carom.Context(**settings))
            for i in range(20):
                world.add_body(shape=cube(context=world.context), pose=((0.3 * i, 0.1 * i, 0.2 * i), (0, 0, 0.6, 0.8)))
            world.step()
            self.assertGreater(len(world.contacts), 20)
            hashes.add(world.hash)
        self.assertEqual(len(hashes), 1)

    def test_snapshots_as_bytes(self):
        world, other = ball_on_ground()[0], ball_on_ground()[0]
        world.step()
        data = world.snapshot().save()
        loaded = other.load_snapshot(data)
        other.restore(loaded)
        self.assertEqual(other.hash, world.hash)
        world.step()
        other.step()
        self.assertEqual(other.hash, world.hash)
        for wrong in (b"", data[:-1], data[:100] + b"x" + data[101:]):
            with self.assertRaises(carom.InvalidArgument):
                other.load_snapshot(wrong)
        with self.assertRaises(carom.InvalidArgument):
            carom.World().load_snapshot(data)
        with self.assertRaises(TypeError):
            other.load_snapshot(3)
        world.close()
        with self.assertRaises(ValueError):
            world.load_snapshot(data)

    def test_snapshots_go_back(self):
        world, ground, ball = ball_on_ground()
        world.step()
        snapshot, hash_then = world.snapshot(), world.hash
        other = world.add_body(shape=cube(), pose=((0, 0, -0.5), None))
        world.step()
        self.assertNotEqual(world.hash, hash_then)
        difference = snapshot.difference(world.snapshot())
        self.assertEqual(difference.list, "bodies")
        world.restore(snapshot)
        self.assertEqual(world.hash, hash_then)
        self.assertNotIn(other, world)
        self.assertIsNone(snapshot.difference(world.snapshot()))
        self.assertEqual(snapshot.hash, world.snapshot().hash)
        world.save(snapshot)
        self.assertGreater(snapshot.memory, 0)
        with self.assertRaises(carom.InvalidArgument):
            carom.World().restore(snapshot)
        world.close()
        with self.assertRaises(TypeError):
            ball_on_ground()[0].restore(3)

    def test_recordings_replay(self):
        world, ground, ball = ball_on_ground()
        pieces = []
        world.record(pieces.append)
        world.step()
        world.set_pose(ball, ((0, 0, 0.3), None))
        world.step()
        world.record(None)
        recording = b"".join(pieces)
        result = carom.replay(recording)
        self.assertEqual((result.steps, result.first_difference, result.hash), (2, -1, world.hash))
        with self.assertRaises(carom.InvalidRecording):
            carom.replay(recording[:-3])
        with self.assertRaises(carom.InvalidRecording):
            carom.replay(b"nothing")
        with self.assertRaisesRegex(TypeError, "callable"):
            world.record(3)

    def test_a_writer_that_raises_is_heard(self):
        world, ground, ball = ball_on_ground()

        def write(data):
            raise OSError("the disk is full")

        with self.assertRaisesRegex(OSError, "the disk is full"):
            world.record(write)
        world.step()


class Filters(unittest.TestCase):
    def test_pairs_and_contacts_are_left_out(self):
        seen = []

        def pair_filter(a, b, user_data_a, user_data_b):
            seen.append((a, b, user_data_a, user_data_b))
            return keep[0]

        keep = [True]
        world, ground, ball = ball_on_ground(pair_filter=pair_filter)
        world.set_user_data(ball, 9)
        world.step()
        self.assertEqual(seen, [(ground, ball, 0, 9)])
        self.assertEqual(len(world.contacts), 1)
        keep[0] = False
        world.step()
        self.assertEqual(len(world.contacts), 0)
        world, ground, ball = ball_on_ground(contact_filter=lambda contact, a, b: contact.depth > 1)
        world.step()
        self.assertEqual(len(world.contacts), 0)

    def test_what_a_filter_raises_comes_out_of_the_step(self):
        def pair_filter(a, b, user_data_a, user_data_b):
            raise KeyError("lost")

        world, _, _ = ball_on_ground(pair_filter=pair_filter)
        with self.assertRaisesRegex(KeyError, "lost"):
            world.step()

    def test_a_filter_may_not_change_the_world(self):
        def pair_filter(a, b, user_data_a, user_data_b):
            world.remove_body(b)

        world, _, _ = ball_on_ground(pair_filter=pair_filter)
        with self.assertRaisesRegex(RuntimeError, "another call is using this world"):
            world.step()

    def test_a_world_that_its_filter_refers_to_is_collected(self):
        world = [None]
        world[0] = carom.World(pair_filter=lambda *ids: world[0] is not None)
        context = world[0].context
        self.assertEqual(context.memory_in_use > 0, True)
        before = context.memory_in_use
        world = None
        gc.collect()
        self.assertLess(context.memory_in_use, before)


class Ends(unittest.TestCase):
    def test_a_closed_world_says_so(self):
        with carom.World() as world:
            ball = world.add_body(shape=carom.Shape(type="sphere", radius=1))
        calls = [world.step, lambda: world.contacts, lambda: world.add_body(shape=carom.Shape(type="sphere", radius=1)),
                 lambda: len(world), lambda: ball in world, lambda: world.get_pose(ball), lambda: world.set_pose(ball, None),
                 lambda: world.cast_ray((0, 0, 0), (0, 0, 1)), lambda: world.cast_rays([(0, 0, 0, 0, 0, 1)]), lambda: world.stats,
                 lambda: world.hash, world.snapshot, world.body_ids, lambda: world.record(None)]
        for call in calls:
            with self.assertRaisesRegex(ValueError, "the world is closed"):
                call()
        world.close()
        self.assertEqual(repr(world), "<carom.World: closed>")

    def test_a_context_outlives_what_is_made_from_it(self):
        context = carom.Context(thread_count=1)
        mesh = cube(context=context)
        with self.assertRaisesRegex(ValueError, "1 objects made from the context are still there"):
            context.close()
        del mesh
        context.close()
        with self.assertRaisesRegex(ValueError, "the context is closed"):
            cube(context=context)
        with self.assertRaisesRegex(ValueError, "the context is closed"):
            context.memory_in_use

    def test_wrong_settings(self):
        for call, error, text in [
            (lambda: carom.Context(thread_count=1000), carom.InvalidArgument, "thread_count is 1000, not in 0 to 256"),
            (lambda: carom.Context(thread_count="two"), TypeError, "thread_count"),
            (lambda: carom.Context(speed=1), TypeError, "Context has no speed"),
            (lambda: carom.Context(3), TypeError, "by their names"),
            (lambda: carom.World(match_distance=-1), carom.InvalidArgument, "match_distance"),
            (lambda: carom.World(colour=1), TypeError, "WorldDef has no colour"),
            (lambda: carom.World(3), TypeError, "WorldDef"),
            (lambda: carom.World(context=3), TypeError, "Context"),
            (lambda: carom.World(memory_budget=1), carom.OverBudget, ""),
            (lambda: carom.World().add_body(carom.BodyDef(), 3), TypeError, "add_body takes"),
            (lambda: carom.World().add_body(), carom.InvalidArgument, "shape"),
        ]:
            with self.assertRaisesRegex(error, text):
                call()

    def test_errors_carry_what_the_text_names(self):
        with self.assertRaises(carom.InvalidArgument) as caught:
            carom.World().add_body(shape=carom.Shape(type="sphere", radius=-1))
        error = caught.exception
        self.assertEqual(str(error), "carom_world_add_body: shape.radius is -1; it must be above 0 and at most 1e+12")
        self.assertEqual((error.call, error.field, error.result), ("carom_world_add_body", "shape.radius", 1))
        self.assertIsInstance(error, carom.Error)
        self.assertIsInstance(error, ValueError)
        with self.assertRaises(carom.InvalidMesh):
            carom.Mesh([(0, 0, 0)], [(0, 0, 5)])
        self.assertTrue(issubclass(carom.OverBudget, MemoryError) and issubclass(carom.Unsupported, NotImplementedError))


class Memory(unittest.TestCase):
    def test_every_failing_allocation_raises_and_loses_nothing(self):
        with carom.Context(thread_count=1) as context:
            world, ground, ball = ball_on_ground(context=context)
            mesh = cube(context=context)
            world.add_body(shape=mesh, pose=((0, 0, 0.7), None))
            other = world.add_body(shape=mesh, pose=((0.5, 0.5, 1.2), None))
            failures = 0
            for room in range(0, 400_000, 64 if failures < 10 else 4096):
                context.memory_limit = context.memory_in_use + room
                try:
                    world.step()
                    break
                except carom.OutOfMemory as error:
                    self.assertIsInstance(error, MemoryError)
                    failures += 1
            self.assertGreater(failures, 3)
            self.assertEqual(world.stats.step, 1)
            context.memory_limit = context.memory_in_use
            for call in (lambda: cube(context=context), lambda: carom.World(context=context), world.snapshot,
                         lambda: carom.Mesh.load(mesh.save(), context=context), lambda: mesh.scaled((2, 2, 2))):
                with self.assertRaises(carom.OutOfMemory):
                    call()
            context.memory_limit = 0
            world.remove_body(other)
            world.step()
            world.close()
            del world, mesh
            gc.collect()

    def test_the_log_hears_what_is_left_over(self):
        heard = []
        context = carom.Context(log=lambda level, text: heard.append((level, text)))
        world, _, _ = ball_on_ground(context=context)
        world.record(lambda data: None)
        world.step()
        world.close()
        del world
        context.close()
        self.assertTrue(all(isinstance(text, str) for _, text in heard))
