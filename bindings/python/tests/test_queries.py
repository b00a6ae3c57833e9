"""Questions to worlds and meshes: single ones, batches, and two shapes without a world."""

import math
import array
import pickle
import unittest

import carom
from support import CUBE, ball_on_ground, cube, needs_numpy, numpy


class Single(unittest.TestCase):
    def setUp(self):
        self.world, self.ground, self.ball = ball_on_ground()

    def test_rays(self):
        hit = self.world.cast_ray((0, 0, 3), (0, 0, -2))
        self.assertEqual(hit.body, self.ball)
        self.assertAlmostEqual(hit.t, 1.025)
        self.assertEqual(hit.normal, (0, 0, 1))
        self.assertIsNone(self.world.cast_ray((0, 0, 3), (0, 0, 1)))
        self.assertIsNone(self.world.cast_ray((0, 0, 3), (0, 0, -2), t_max=1))
        self.assertTrue(self.world.cast_ray_any((0, 0, 3), (0, 0, -2)))
        self.assertEqual([hit.body for hit in self.world.cast_ray_all((0, 0, 3), (0, 0, -1))], [self.ball, self.ground, self.ball])
        for wrong, text in (((0, 0, 0), "direction"), ((0, 0, float("nan")), "direction")):
            with self.assertRaisesRegex(carom.InvalidArgument, text):
                self.world.cast_ray((0, 0, 3), wrong)
        with self.assertRaisesRegex(TypeError, "cast_ray needs the argument direction"):
            self.world.cast_ray((0, 0, 3))
        with self.assertRaisesRegex(TypeError, "no argument colour"):
            self.world.cast_ray((0, 0, 3), (0, 0, 1), colour=1)
        with self.assertRaisesRegex(TypeError, "twice"):
            self.world.cast_ray((0, 0, 3), (0, 0, 1), origin=(0, 0, 0))

    def test_filters(self):
        skip = carom.QueryFilter(ignore=self.ball)
        self.assertEqual(self.world.cast_ray((0, 0, 3), (0, 0, -1), filter=skip).body, self.ground)
        with self.assertRaisesRegex(TypeError, "QueryFilter"):
            self.world.cast_ray((0, 0, 3), (0, 0, -1), filter=self.ball)

    def test_functions_of_filters(self):
        asked = []

        def is_ground(body, shape, user_data):
            asked.append((body, shape, user_data))
            return body == self.ground

        self.world.set_user_data(self.ball, 2**63)
        seen = carom.QueryFilter(body_filter=is_ground)
        self.assertIs(seen.body_filter, is_ground)
        self.assertIsNone(carom.QueryFilter().body_filter)
        self.assertEqual(self.world.cast_ray((0, 0, 3), (0, 0, -1), filter=seen).body, self.ground)
        self.assertIn((self.ball, 0, 2**63), asked)
        self.assertTrue(self.world.cast_ray_any((0, 0, 3), (0, 0, -1), filter=seen))
        self.assertEqual({hit.body for hit in self.world.cast_ray_all((0, 0, 3), (0, 0, -1), filter=seen)}, {self.ground})
        self.assertEqual(self.world.closest_point((0, 0, 3), filter=seen).body, self.ground)
        self.assertEqual(list(self.world.overlap_aabb((-9, -9, -1), (9, 9, 2), filter=seen)), [self.ground])
        ball = carom.Shape(type="sphere", radius=1)
        self.assertEqual(self.world.closest_body(ball, ((0, 0, 5), None), filter=seen).body, self.ground)
        self.assertIsNone(self.world.closest_pair(filter_a=seen, filter_b=seen))
        self.assertEqual(self.world.cast_shape(ball, (((0, 0, 5), None), ((0, 0, 0), None)), filter=seen).body, self.ground)
        self.assertEqual(list(self.world.cast_rays([(0, 0, 3, 0, 0, -1)] * 500, filter=seen)["body"]), [self.ground] * 500)
        first, bodies = self.world.overlap_shapes(ball, [(0, 0, 0.5, 0, 0, 0, 1)] * 3, filter=seen)
        self.assertEqual((list(first), list(bodies)), ([0, 1, 2, 3], [self.ground] * 3))
        with self.assertRaisesRegex(TypeError, "QueryFilter.body_filter is 3; it must be callable or None"):
            carom.QueryFilter(body_filter=3)

    def test_what_a_filter_raises_comes_out_of_the_query(self):
        def fail(body, shape, user_data):
            raise KeyError(body)

        ball = carom.Shape(type="sphere", radius=1)
        wrong = carom.QueryFilter(body_filter=fail)
        calls = (
            lambda: self.world.cast_ray((0, 0, 3), (0, 0, -1), filter=wrong),
            lambda: self.world.cast_ray_any((0, 0, 3), (0, 0, -1), filter=wrong),
            lambda: self.world.cast_ray_all((0, 0, 3), (0, 0, -1), filter=wrong),
            lambda: self.world.closest_pair(filter_b=wrong),
            lambda: self.world.cast_shape_all(ball, (((0, 0, 5), None), ((0, 0, 0), None)), filter=wrong),
            lambda: self.world.cast_rays([(0, 0, 3, 0, 0, -1)] * 100, filter=wrong),
            lambda: self.world.overlap_shapes(ball, [(0, 0, 0.5, 0, 0, 0, 1)] * 3, filter=wrong),
        )
        for call in calls:
            with self.assertRaises(KeyError):
                call()
        self.assertEqual(self.world.cast_ray((0, 0, 3), (0, 0, -1)).body, self.ball)

    def test_a_filter_reads_the_world_and_cannot_change_it(self):
        places = []

        def look(body, shape, user_data):
            places.append(self.world.get_pose(body).position)
            return self.world.cast_ray_any((0, 0, 3), (0, 0, -1))

        self.assertTrue(self.world.cast_ray((0, 0, 3), (0, 0, -1), filter=carom.QueryFilter(body_filter=look)))
        self.assertTrue(places)
        for change in (lambda: self.world.step(), lambda: self.world.remove_body(self.ball), lambda: self.world.close()):
            wrong = carom.QueryFilter(body_filter=lambda body, shape, user_data: change())
            with self.assertRaisesRegex(RuntimeError, "another call is using this world"):
                self.world.cast_ray((0, 0, 3), (0, 0, -1), filter=wrong)
        self.world.step()

    def test_back_faces_and_all_hits_of_a_shape(self):
        fronts = carom.QueryFilter(skip_back_faces=True)
        inside = self.world.get_pose(self.ball).position
        self.assertTrue(self.world.cast_ray(inside, (0, 0, 1)).back_face)
        self.assertIsNone(self.world.cast_ray(inside, (0, 0, 1), filter=fronts))
        self.world.set_user_data(self.ground, 77)
        ball = carom.Shape(type="sphere", radius=0.1)
        way = (((0, 0, 5), None), ((0, 0, -3), None))
        hits = self.world.cast_shape_all(ball, way)
        self.assertEqual([hit.body for hit in hits], [self.ball, self.ground])
        self.assertEqual([hit.user_data for hit in hits][1], 77)
        self.assertEqual(hits[0], self.world.cast_shape(ball, way))
        first, both = self.world.cast_shapes_all(ball, [(0, 0, 5, 0, 0, 0, 1, 0, 0, -3, 0, 0, 0, 1)] * 2)
        self.assertEqual((list(first), list(both)), ([0, 2, 4], list(hits) * 2))

    def test_casts_of_parts(self):
        ball = carom.Shape(type="sphere", radius=0.1)
        way = (((0, 0, 5), None), ((0, 0, -3), None))
        parts = [(ball, ((9, 0, 1), None)), carom.Part(ball, None)]
        hits = self.world.cast_parts_all(parts, way)
        self.assertEqual([hit.body for hit in hits], [self.ball, self.ground])
        self.assertEqual(hits[0].own_shape, 1)
        first = self.world.cast_parts(parts, way)
        self.assertEqual(first, hits[0])
        self.assertEqual((first.time, first.body), (self.world.cast_shape(ball, way).time, self.ball))
        self.assertIsNone(self.world.cast_parts(parts, way, filter=carom.QueryFilter(mask=0)))
        for wrong, text in (([], "part_count is 0"), ([(carom.Shape(type="plane"), None)], r"parts\[0\]: shape.type is .*PLANE")):
            with self.assertRaisesRegex(carom.InvalidArgument, text):
                self.world.cast_parts(wrong, way)
        with self.assertRaises(TypeError):
            self.world.cast_parts([3], way)

    def test_nearest_overlaps_and_casts(self):
        box = carom.Shape(type="box", half_extents=(0.1, 0.1, 0.1))
        self.assertAlmostEqual(self.world.closest_point((0, 0, 2)).distance, 1.05)
        self.assertIsNone(self.world.closest_point((0, 0, 2), max_distance=1))
        self.assertEqual(list(self.world.overlap_aabb((-9, -9, 0.2), (9, 9, 0.5))), [self.ball])
        self.assertEqual(list(self.world.overlap_shape(box, ((0.5, 0, 0.5), None))), [self.ball])
        self.assertEqual(self.world.collide_shape(box, ((0.5, 0, 0.5), None))[0].body_b, self.ball)
        self.assertEqual(self.world.closest_body(box, ((0, 0, 5), None)).body, self.ball)
        self.assertEqual(self.world.closest_pair().body_b, self.ball)
        self.assertIsNone(self.world.closest_pair(filter_a=carom.QueryFilter(mask=0)))
        hit = self.world.cast_shape(box, (((0, 0, 5), None), ((0, 0, 0), None)))
        self.assertEqual(hit.body, self.ball)
        self.assertAlmostEqual(hit.time, (5 - 1.05) / 5, 3)
        self.assertEqual(self.world.cast_shape(box, carom.Motion(((0, 0, 5), None), ((0, 0, 0), None))), hit)
        away, past = (((0, 0, 1.0505), None), ((0, 0, 2), None)), carom.QueryFilter(skip_separating=True)
        self.assertTrue(self.world.cast_shape(box, away).touching)
        self.assertFalse(self.world.cast_shape(box, away).undecided)
        self.assertIsNone(self.world.cast_shape(box, away, filter=past))
        self.assertTrue(self.world.cast_shape(box, away[::-1], filter=past).time > 0.9)

    def test_more_answers_than_the_first_guess(self):
        for i in range(150):
            self.world.add_body(shape=carom.Shape(type="sphere", radius=0.1), pose=((0, 0, 2 + i), None))
        self.assertEqual(len(self.world.overlap_aabb((-1, -1, 1.5), (1, 1, 1000))), 150)
        self.assertEqual(len(self.world.cast_ray_all((0, 0, 1.5), (0, 0, 1))), 300)
        first, hits = self.world.cast_rays_all([(0, 0, 1.5, 0, 0, 1)])
        self.assertEqual((list(first), len(hits)), ([0, 300], 300))


class Batches(unittest.TestCase):
    def setUp(self):
        self.world = carom.World()
        for i in range(12):
            self.world.add_body(shape=cube(), pose=((1.5 * (i % 4), 1.5 * (i // 4), 0), (0, 0, 0.6, 0.8)))
        self.rays = [(0.37 * i - 1, 0.29 * i - 1, 3, 0.01 * i, -0.02 * i, -1) for i in range(40)]
        self.points = [ray[:3] for ray in self.rays]

    def test_batches_are_the_single_calls(self):
        world = self.world
        hits = world.cast_rays(self.rays)
        some = world.cast_rays_any(self.rays)
        first, all_hits = world.cast_rays_all(self.rays)
        closest = world.closest_points(self.points)
        for i, ray in enumerate(self.rays):
            single = world.cast_ray(ray[:3], ray[3:])
            self.assertEqual(hits[i].body, single.body if single else 0)
            if single:
                self.assertEqual(hits[i], single)
            self.assertEqual(some[i], single is not None)
            self.assertEqual(list(all_hits[first[i]:first[i + 1]]), list(world.cast_ray_all(ray[:3], ray[3:])))
            self.assertEqual(closest[i], world.closest_point(self.points[i]))

    @needs_numpy
    def test_rays_come_in_three_forms(self):
        rays = numpy.array(self.rays)
        expected = bytes(self.world.cast_rays(rays))
        eight = numpy.hstack([rays, numpy.zeros((40, 1)), numpy.full((40, 1), numpy.inf)])
        self.assertEqual(bytes(self.world.cast_rays(eight)), expected)
        self.assertEqual(bytes(self.world.cast_rays(rays[:, :3], rays[:, 3:])), expected)
        self.assertEqual(bytes(self.world.cast_rays(numpy.asfortranarray(eight))), expected)
        with self.assertRaisesRegex(ValueError, "rows of 7"):
            self.world.cast_rays(eight[:, :7])
        with self.assertRaisesRegex(ValueError, r"rays\[0\] has 5 numbers; rays must be \(n, 6\) or \(n, 8\)"):
            self.world.cast_rays([[0, 0, 1, 0, 0]])
        with self.assertRaisesRegex(ValueError, r"rays has the shape \(40, 9\); it must be \(n, 6\) or \(n, 8\)"):
            self.world.cast_rays(numpy.zeros((40, 9)))
        with self.assertRaisesRegex(ValueError, "directions has 39 rows"):
            self.world.cast_rays(rays[:, :3], rays[1:, 3:])

    @needs_numpy
    def test_a_wrong_query_fails_the_call_or_itself(self):
        rays = numpy.array(self.rays)
        rays[7, 3:] = 0
        with self.assertRaisesRegex(carom.InvalidArgument, r"rays\[7\]"):
            self.world.cast_rays(rays)
        results = numpy.empty(40, dtype=numpy.int32)
        hits = self.world.cast_rays(rays, results=results)
        self.assertEqual(list(numpy.nonzero(results)[0]), [7])
        self.assertEqual(hits[7].body, 0)
        for wrong in (numpy.empty(39, dtype=numpy.int32), numpy.empty(40, dtype=numpy.int64), numpy.empty(40)):
            with self.assertRaisesRegex(ValueError, "results must be a packed array of 40 int32"):
                self.world.cast_rays(rays, results=wrong)

    def test_a_miss_looks_like_no_hit(self):
        world, ball = self.world, carom.Shape(type="sphere", radius=0.1)
        away, rest = (99, 0, 0, 0, 0, 0, 1), (99, 5, 0, 0, 0, 0, 1)
        hit, shape_hit = world.cast_rays([(99, 0, 0, 0, 0, 1)])[0], world.cast_shapes(ball, [away + rest])[0]
        point, body = world.closest_points([(99, 0, 0)], max_distance=1)[0], world.closest_bodies(ball, [away], max_distance=1)[0]
        self.assertEqual([found.body for found in (hit, shape_hit, point, body)], [0] * 4)
        self.assertEqual((hit.t, point.distance, body.distance, shape_hit.distance), (carom.inf,) * 4)
        self.assertEqual((hit.triangle, point.triangle, shape_hit.triangle, shape_hit.own_triangle, shape_hit.time), (-1,) * 4 + (1,))
        alone = carom.shape_cast_rays(ball, [(99, 0, 0, 0, 0, 1)])[0]
        self.assertEqual((alone.t, alone.triangle), (carom.inf, -1))
        triangles, times, backs = cube().cast_rays([(99, 0, 0)], [(0, 0, 1)])
        self.assertEqual((triangles[0], times[0], backs[0]), (-1, carom.inf, False))

    def test_shapes(self):
        box = carom.Shape(type="box", half_extents=(0.4, 0.4, 0.4))
        poses = [(0.4 * i, 0.3 * i, 0.2, 0, 0, 0, 1) for i in range(20)]
        first, bodies = self.world.overlap_shapes(box, poses)
        first_contacts, contacts = self.world.collide_shapes([box] * 20, poses)
        closest = self.world.closest_bodies(box, poses)
        first_boxes, in_boxes = self.world.overlap_aabbs([(x - 0.4, y - 0.4, z - 0.4, x + 0.4, y + 0.4, z + 0.4) for x, y, z, *_ in poses])
        for i, pose in enumerate(poses):
            self.assertEqual(list(bodies[first[i]:first[i + 1]]), list(self.world.overlap_shape(box, pose)))
            self.assertEqual(list(in_boxes[first_boxes[i]:first_boxes[i + 1]]), list(self.world.overlap_shape(box, pose)))
            self.assertEqual(list(contacts[first_contacts[i]:first_contacts[i + 1]]), list(self.world.collide_shape(box, pose)))
            self.assertEqual(closest[i], self.world.closest_body(box, pose))
        motions = [pose[:2] + (5, 0, 0, 0, 1) + pose for pose in poses]
        casts = self.world.cast_shapes(box, motions)
        for i, motion in enumerate(motions):
            single = self.world.cast_shape(box, (motion[:7], motion[7:]))
            self.assertEqual(casts[i].body, single.body if single else 0)
        with self.assertRaisesRegex(ValueError, "shapes has 2 shapes for 20 queries"):
            self.world.overlap_shapes([box, box], poses)
        self.assertEqual(len(self.world.cast_rays([])), 0)

    @needs_numpy
    def test_poses_of_batches_come_in_every_form(self):
        world, ball = self.world, carom.Shape(type="sphere", radius=0.1)
        poses = [((0.3 * i, 0.2 * i, 1 + i), (0, 0, 0.6, 0.8)) for i in range(5)]
        rows = [place + turn for place, turn in poses]
        matrices = numpy.array([[[0.28, -0.96, 0, x], [0.96, 0.28, 0, y], [0, 0, 1, z], [0, 0, 0, 1]] for (x, y, z), _ in poses])
        expected = world.closest_bodies(ball, rows)["distance"].numpy()
        strided = numpy.asfortranarray(matrices)
        for given in (numpy.array(rows), poses, [carom.Pose(*pose) for pose in poses], matrices, list(matrices), strided,
                      matrices[:, :3], matrices.reshape(5, 16), matrices.astype(numpy.float32)):
            self.assertTrue(numpy.allclose(world.closest_bodies(ball, given)["distance"].numpy(), expected, atol=1e-6))
        self.assertEqual(carom.distances(ball, ball, matrices)[2].distance, carom.distance(ball, ball, matrices[2]).distance)
        ids = list(world.body_ids())[:5]
        world.set_poses(ids, matrices)
        self.assertTrue(numpy.allclose(world.get_poses(ids).numpy(), rows))
        matrices[3, 0, 0] = 2
        for wrong in (matrices, list(matrices)):
            with self.assertRaisesRegex(ValueError, r"poses\[3\] is no matrix that turns and moves alone"):
                world.closest_bodies(ball, wrong)
        for wrong in (numpy.zeros((2, 4)), numpy.zeros((2, 2, 7)), numpy.zeros(7)):
            with self.assertRaisesRegex(ValueError, r"poses has the shape .* must be \(n, 7\), \(n, 4, 4\)"):
                world.closest_bodies(ball, wrong)
        for wrong in (3, "far"):
            with self.assertRaisesRegex(TypeError, "must be an array or a sequence of poses"):
                world.closest_bodies(ball, wrong)
        self.assertEqual(len(world.closest_bodies(ball, [])), 0)

    @needs_numpy
    def test_motions_of_batches_come_in_every_form(self):
        world, ball = self.world, carom.Shape(type="sphere", radius=0.1)
        pairs = [(((0.5 * i, 0.4, 5), None), ((0.5 * i, 0.4, -5), None)) for i in range(4)]
        rows = numpy.array([[place + (0, 0, 0, 1) for place, _ in pair] for pair in pairs])
        matrices = numpy.tile(numpy.eye(4), (4, 2, 1, 1))
        matrices[..., :3, 3] = rows[..., :3]
        expected = list(world.cast_shapes(ball, rows.reshape(4, 14)))
        for given in (rows, pairs, [carom.Motion(*pair) for pair in pairs], list(rows), matrices, matrices[:, :, :3]):
            self.assertEqual(list(world.cast_shapes(ball, given)), expected)
        singles = [world.cast_shape(ball, row) for row in rows.reshape(4, 14)]
        self.assertEqual([hit.time if hit else 1 for hit in singles], [hit.time for hit in expected])
        self.assertTrue(any(singles))
        with self.assertRaisesRegex(TypeError, "a sequence of motions"):
            world.cast_shapes(ball, 1)

    @needs_numpy
    def test_a_picture_of_rays_has_a_picture_of_answers(self):
        rays = numpy.array(self.rays)
        picture, flat = rays.reshape(8, 5, 6), self.world.cast_rays(rays).numpy()
        self.assertEqual(bytes(self.world.cast_rays(picture)), flat.tobytes())
        hits = self.world.cast_rays(picture)
        self.assertEqual((hits.shape, hits["normal"].shape, self.world.cast_rays_any(picture).shape), ((8, 5), (8, 5, 3), (8, 5)))
        turned = self.world.cast_rays(picture.transpose(1, 0, 2))
        self.assertEqual(turned.shape, (5, 8))
        self.assertTrue((turned["t"].numpy() == hits["t"].numpy().T).all())
        self.assertEqual(carom.shape_cast_rays(cube(), picture).shape, (8, 5))
        with self.assertRaisesRegex(ValueError, r"rays has the shape \(8, 5, 5\)"):
            self.world.cast_rays(picture[..., :5])

    def test_a_manifold_has_the_points_that_it_counts(self):
        ball = carom.Shape(type="sphere", radius=0.5)
        touching = carom.collide_convex(ball, ball, None, ((0.9, 0, 0), None))
        self.assertEqual((touching.count, len(touching.points)), (1, 1))
        self.assertEqual(carom.collide_convex(ball, ball, None, ((2, 0, 0), None)).points, ())
        self.assertEqual(touching.replace(normal=touching.normal), touching)

    def test_each_query_ignores_a_body_of_its_own(self):
        ids = self.world.body_ids()
        ray = (0.1, 0.5, 3, 0, 0, -1)
        hit = self.world.cast_rays([ray])[0].body
        hits = self.world.cast_rays([ray, ray], ignore=[hit, 0])
        self.assertNotEqual(hits[0].body, hit)
        self.assertEqual(hits[1].body, hit)
        self.assertIn(hit, ids)


class Meshes(unittest.TestCase):
    def test_masses_of_shapes_and_parts(self):
        ball = carom.Shape(type="sphere", radius=1)
        one, two = carom.shape_mass(ball), carom.parts_mass([carom.Part(ball, ((5, 0, 0), None)), (ball, ((-5, 0, 0), None))])
        self.assertAlmostEqual(one.mass, 4.1887902, 6)
        self.assertAlmostEqual(two.inertia[1], 2 * one.inertia[1] + 50 * one.mass)
        uneven = carom.parts_mass([(ball, ((5, 0, 0), None)), (ball, ((-5, 0, 0), None))], array.array("d", [3, 1]))
        self.assertAlmostEqual(uneven.mass, 4 * one.mass)
        self.assertAlmostEqual(uneven.centre[0], 2.5)
        with self.assertRaisesRegex(carom.InvalidArgument, r"densities\[0\] is 0"):
            carom.parts_mass([(ball, None)], array.array("d", [0]))
        with self.assertRaisesRegex(ValueError, "densities"):
            carom.parts_mass([(ball, None)], array.array("d", [1, 2]))
        with self.assertRaisesRegex(carom.InvalidArgument, "PLANE"):
            carom.shape_mass(carom.Shape(type="plane"))
        with self.assertRaisesRegex(TypeError, r"parts\[0\]"):
            carom.parts_mass([3])

    def test_points_and_rays(self):
        mesh = cube()
        self.assertTrue(mesh.contains((0.5, 0.5, 0.5)))
        self.assertEqual(mesh.closest_point((0.5, 0.5, 3)).distance, 2)
        self.assertIsNone(mesh.closest_point((0.5, 0.5, 3), max_distance=1))
        triangles, t, back = mesh.cast_rays([(0.5, 0.5, 3), (9, 9, 9), (0.5, 0.25, 0.5)], [(0, 0, -1)] * 3)
        self.assertEqual(list(t)[0], 2)
        self.assertEqual(triangles[1], -1)
        self.assertEqual(list(back), [False, False, True])

    def test_two_meshes(self):
        mesh = cube()
        gap = mesh.distance(mesh, other_pose=((3, 0, 0), None))
        self.assertEqual(gap.distance, 2)
        self.assertIsNone(mesh.distance(mesh, other_pose=((3, 0, 0), None), max_distance=1))
        self.assertEqual(len(mesh.self_intersections()), 0)
        self.assertEqual(mesh.intersections(mesh).shape[1], 2)
        self.assertGreater(len(mesh.intersections(mesh, None, ((0.5, 0.5, 0.5), None))), 0)
        with self.assertRaises(TypeError):
            mesh.distance(3)

    def test_other_ways_to_a_mesh(self):
        mesh = cube()
        self.assertEqual(mesh.mass.mass, 1)
        self.assertEqual(mesh.scaled((2, 1, 1)).mass.mass, 2)
        self.assertEqual(carom.Mesh.hull(CUBE + [(0.5, 0.5, 0.5)]).report.vertex_count, 8)
        self.assertEqual(mesh.tree_info().epo, 0)
        self.assertGreater(mesh.tree_info(with_epo=True).sah_cost, 0)
        field = carom.Mesh.height_field([[0, 0, 0], [0, 1, 0], [0, 0, 0]], (1, 1), 5)
        self.assertEqual(field.edited([[3.0]], 1, 1).report.upper[2], 3)
        self.assertEqual(cube(materials=range(12)).material(7), 7)
        with self.assertRaises(carom.InvalidMesh):
            carom.Mesh.hull([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)])
        with self.assertRaises(carom.InvalidMesh):
            carom.Mesh.load(mesh.save()[:-64])
        self.assertEqual(carom.check_mesh(CUBE, [(0, 1, 2), (0, 1, 99)]).first_element, 1)
        cracked = ([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 0, 1e-5), (1, 1, 0), (0, 1, 1e-5)], [(0, 1, 2), (3, 4, 5)])
        self.assertEqual(carom.check_mesh(*cracked).border_edges, 6)
        self.assertEqual(carom.check_mesh(*cracked, weld_distance=1e-4).border_edges, 4)
        self.assertEqual(list(carom.Mesh(*cracked, weld_distance=1e-4).vertices[3]), [1, 0, 0])
        with self.assertRaisesRegex(ValueError, "weld_distance"):
            carom.Mesh(*cracked, weld_distance=-1)
        self.assertIsNone(mesh.doubles)
        self.assertEqual(carom.Mesh([(0.1, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)], sides="both").doubles[0][0], 0.1)

    def test_a_mesh_far_from_its_origin_keeps_its_digits(self):
        x, y = 92160.0, -51200.0
        far = [(x, y, 0.0), (x + 1.001, y, 0.0), (x, y + 1, 0.001)], [(0, 1, 2)]
        plain, centred = carom.Mesh(*far), carom.Mesh(*far, centre="auto")
        self.assertGreater(plain.report.rounding, 5e-4)
        self.assertLess(centred.report.rounding, 1e-7)
        self.assertEqual((plain.centre, centred.centre), ((0, 0, 0), (92160.5, -51199.5, 0)))
        self.assertEqual(pickle.loads(pickle.dumps(centred)).centre, centred.centre)
        self.assertEqual(carom.Mesh(*far, centre=(x, y, 0)).centre, (x, y, 0))
        self.assertLess(carom.check_mesh(*far, centre="auto").rounding, 1e-7)
        world = carom.World()
        world.add_body(parts=[(centred, carom.Pose(centred.centre))], kind="static")
        self.assertAlmostEqual(world.cast_ray((x + 0.25, y + 0.5, 1), (0, 0, -1)).t, 1 - 0.0005, places=9)
        for wrong in ("middle", (1, 2), (carom.inf, 0, 0)):
            with self.assertRaisesRegex((ValueError, TypeError), "centre"):
                carom.Mesh(*far, centre=wrong)


class Shapes(unittest.TestCase):
    def test_two_shapes(self):
        ball, box = carom.Shape(type="sphere", radius=1), carom.Shape(type="box", half_extents=(1, 1, 1))
        apart = ((4, 0, 0), None)
        self.assertEqual(carom.distance(ball, box, apart).distance, 2)
        self.assertFalse(carom.overlap(ball, box, apart))
        self.assertTrue(carom.overlap(ball, cube()))
        self.assertEqual(len(carom.collide(ball, box, ((1.9, 0, 0), None))), 1)
        self.assertEqual(carom.collide_convex(box, box, ((0, 0, 1.9), None)).count, 4)
        impact = carom.time_of_impact(ball, box, (apart, ((0, 0, 0), None)))
        self.assertAlmostEqual(impact.time, 0.5, 3)
        self.assertIs(impact.status, carom.ToiStatus.IMPACT)
        self.assertEqual(carom.motion_pose((apart, None), 0.5).position, (2, 0, 0))
        with self.assertRaises(carom.Unsupported):
            carom.overlap(carom.Shape(type="plane"), carom.Shape(type="plane"))
        with self.assertRaises(carom.Unsupported):
            carom.collide_convex(ball, cube())

    def test_time_of_impact_within_a_budget(self):
        ball, box = carom.Shape(type="sphere", radius=1), carom.Shape(type="box", half_extents=(1, 1, 1))
        way = (((5, 0, 0), None), ((0, 0, 0), None))
        impact, left = carom.time_of_impact_within(ball, box, 100000, way)
        self.assertEqual(impact, carom.time_of_impact(ball, box, way))
        self.assertTrue(0 < left < 100000)
        impact, left = carom.time_of_impact_within(ball, box, work=0, motion_a=way)
        self.assertEqual((impact.status, impact.time, left), (carom.ToiStatus.UNDECIDED, 0, 0))
        with self.assertRaisesRegex(OverflowError, "work"):
            carom.time_of_impact_within(ball, box, -1, way)

    def test_pairs_by_the_array(self):
        ball, mesh = carom.Shape(type="sphere", radius=0.5), cube()
        poses = [(0.2 * i, 0, 0, 0, 0, 0, 1) for i in range(15)]
        separations = carom.distances(ball, mesh, poses)
        overlaps = carom.overlaps([ball] * 15, mesh, poses_b=[pose[:3] + (0, 0, 0, 1) for pose in poses])
        for i, pose in enumerate(poses):
            self.assertEqual(separations[i], carom.distance(ball, mesh, pose))
            self.assertEqual(overlaps[i], carom.overlap(ball, mesh, None, pose))
        self.assertEqual(len(carom.manifolds(ball, ball, poses)), 15)
        first, contacts = carom.collide_pairs(ball, mesh, poses, margin=0.1)
        for i, pose in enumerate(poses):
            self.assertEqual(list(contacts[first[i]:first[i + 1]]), list(carom.collide(ball, mesh, pose, margin=0.1)))
        self.assertTrue(0 < first[15] == len(contacts))
        self.assertEqual([len(part) for part in carom.collide_pairs(ball, ball)], [2, 1])
        results = array.array("i", [7] * 3)
        with self.assertRaisesRegex(carom.InvalidArgument, r"carom_collide_pairs: pairs\[70\]: a: shape.radius is -1"):
            carom.collide_pairs([ball] * 70 + [carom.Shape(type="sphere", radius=-1)], mesh)
        first, contacts = carom.collide_pairs([ball, carom.Shape(type="sphere", radius=-1), ball], mesh, results=results)
        self.assertEqual((list(results), first[2] - first[1]), ([0, int(carom.Result.INVALID_ARGUMENT), 0], 0))
        motions = [pose + (0, 0, 0, 0, 0, 0, 1) for pose in poses]
        impacts = carom.times_of_impact(ball, mesh, motions)
        self.assertEqual(impacts[9], carom.time_of_impact(ball, mesh, (poses[9], None)))
        with self.assertRaisesRegex(ValueError, "poses_b has 3 rows; it must have 15"):
            carom.distances(ball, mesh, poses, poses[:3])
        self.assertEqual(len(carom.distances(ball, ball)), 1)
