"""Spheres, sweeps, proximity, and the elementary tests."""

import math
import pickle
import unittest

import carom
from support import CUBE, CUBE_TRIANGLES, cube, needs_numpy, numpy

# A square of two triangles, and points around it.
SQUARE = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]
SQUARE_TRIANGLES = [(0, 1, 2), (0, 2, 3)]


def touching(centres, radii):
    """All touching pairs, the dull way."""
    return [(i, j) for i in range(len(centres)) for j in range(i + 1, len(centres))
            if sum((a - b) ** 2 for a, b in zip(centres[i], centres[j])) <= (radii[i] + radii[j]) ** 2]


class Spheres(unittest.TestCase):
    def setUp(self):
        self.centres = [((i * 37 % 101) / 20, (i * 53 % 97) / 20, (i * 71 % 89) / 20) for i in range(300)]
        self.radii = [0.1 + (i * 13 % 7) / 20 for i in range(300)]
        self.expected = touching(self.centres, self.radii)

    def test_every_method_finds_all_pairs(self):
        self.assertGreater(len(self.expected), 100)
        for method in ("auto", "grid", "levels", "tree", "rays"):
            spheres = carom.Spheres(method=method)
            spheres.update(self.centres, self.radii)
            self.assertEqual([(pair.a, pair.b) for pair in spheres.find_pairs()], self.expected)
            if method != "auto":
                self.assertEqual(spheres.stats.method.name.lower(), method)
        seen = []
        spheres.visit_pairs(lambda pairs: seen.extend((pair.a, pair.b) for pair in pairs))
        self.assertEqual(sorted(seen), self.expected)

    def test_neighbours_forces_and_order(self):
        spheres = carom.Spheres(skin=0.01)
        spheres.update(self.centres, self.radii)
        forces, torques = spheres.sum_forces(lambda a, b, direction, overlap: [overlap * part for part in direction])
        first, other, build = spheres.neighbours()
        rows = {(i, other[k]) for i in range(300) for k in range(first[i], first[i + 1])}
        self.assertTrue({(a, b) for a, b in self.expected} | {(b, a) for a, b in self.expected} <= rows)
        total = [sum(row[k] for row in forces) for k in range(3)]
        for part in total:
            self.assertAlmostEqual(part, 0, 9)
        self.assertEqual(sorted(spheres.order()), list(range(300)))
        self.assertEqual(torques.shape, (300, 3))
        spheres.update(self.centres, self.radii, moved=0.0)
        self.assertEqual(spheres.neighbours()[2], build)

    def test_ghosts(self):
        spheres = carom.Spheres()
        names = [(1 << 63) + i for i in range(300)]
        spheres.update(self.centres, self.radii, owned=100, ids64=names)
        self.assertEqual(
            [(pair.a, pair.b) for pair in spheres.find_pairs()], [pair for pair in self.expected if pair[0] < 100]
        )
        forces, torques = spheres.sum_forces(lambda a, b, direction, overlap: [overlap * part for part in direction])
        self.assertEqual((len(forces), len(torques), len(spheres.neighbours()[0])), (100, 100, 101))
        self.assertEqual(spheres.stats.ghosts, 200)
        with self.assertRaisesRegex(carom.InvalidArgument, "owned is 301"):
            spheres.update(self.centres, self.radii, owned=301)

    def test_callbacks_that_raise_are_heard(self):
        spheres = carom.Spheres()
        spheres.update(self.centres, self.radii)
        with self.assertRaises(ZeroDivisionError):
            spheres.sum_forces(lambda a, b, direction, overlap: 1 / 0)
        with self.assertRaisesRegex(TypeError, "force"):
            spheres.sum_forces(lambda a, b, direction, overlap: "pull")
        with self.assertRaises(KeyError):
            spheres.visit_pairs(lambda pairs: {}[0])
        seen = []
        spheres.visit_pairs(lambda pairs: seen.append(len(pairs)) or False)
        self.assertGreater(len(seen), 0)

    def test_views_and_misuse(self):
        spheres = carom.Spheres()
        spheres.update(self.centres, self.radii)
        pairs = spheres.find_pairs()
        view = memoryview(pairs)
        with self.assertRaisesRegex(BufferError, "lists of the spheres"):
            spheres.update(self.centres, self.radii)
        view.release()
        spheres.update(self.centres, self.radii)
        with self.assertRaises(BufferError):
            pairs[0]
        for call, error, text in [
            (lambda: spheres.update(self.centres, self.radii[1:]), ValueError, "radii has 299 rows; it must have 300"),
            (lambda: spheres.update(self.centres, [-1] * 300), carom.InvalidArgument, "radii"),
            (lambda: carom.Spheres(periodic=(True, False, False), period=(-1, 0, 0)), carom.InvalidArgument, "period"),
            (lambda: carom.Spheres(colour=0), TypeError, "SpheresDef has no colour"),
            (lambda: spheres.visit_pairs(3), TypeError, "callable"),
        ]:
            with self.assertRaisesRegex(error, text):
                call()
        small = carom.Spheres(memory_budget=1 << 14)
        with self.assertRaises(carom.OverBudget):
            small.update(self.centres, self.radii)

    def test_space_that_repeats(self):
        spheres = carom.Spheres(carom.SpheresDef(periodic=(True, False, False), period=(10, 0, 0)))
        spheres.update([(0.1, 0, 0), (9.9, 0, 0)], [0.2, 0.2])
        self.assertEqual(len(spheres.find_pairs()), 1)


class Sweeps(unittest.TestCase):
    def test_a_vertex_meets_a_face(self):
        sweep = carom.Sweep()
        square = sweep.add_mesh(SQUARE, SQUARE_TRIANGLES, is_rigid=True)
        falling = [(0.6, 0.3, 1), (0.7, 0.3, 2), (0.6, 0.4, 2)]
        triangle = sweep.add_mesh(falling, [(0, 1, 2)])
        sweep.move_mesh(triangle, [(x, y, z - 2) for x, y, z in falling])
        hits = sweep.find()
        earliest = hits[0]
        self.assertEqual((earliest.kind.name, earliest.vertices[0], earliest.triangle), ("VERTEX_FACE", 0, 0))
        self.assertAlmostEqual(earliest.time, 0.5, 4)
        sweep.place_mesh(triangle, falling)
        sweep.move_mesh(triangle, [(x, y, z - 2) for x, y, z in falling])
        self.assertEqual(sweep.find_earliest(), earliest)
        self.assertEqual(sweep.stats.triangles, 3)
        sweep.set_filter(square, mask=0)
        sweep.place_mesh(triangle, falling)
        sweep.move_mesh(triangle, [(x, y, z - 2) for x, y, z in falling])
        self.assertIsNone(sweep.find_earliest())
        with self.assertRaisesRegex(ValueError, "vertices has 2 rows; it must have 3"):
            sweep.move_mesh(triangle, falling[1:])
        with self.assertRaises(carom.InvalidArgument):
            sweep.move_mesh(9, falling)
        with self.assertRaises(carom.InvalidMesh):
            sweep.add_mesh(SQUARE, [(0, 1, 9)])

    def test_a_step_ends_before_its_impact(self):
        sweep = carom.Sweep(relative_separation=0.2)
        sweep.add_mesh(SQUARE, SQUARE_TRIANGLES, is_rigid=True)
        falling = [(0.6, 0.3, 1), (0.7, 0.3, 2), (0.6, 0.4, 2)]
        triangle = sweep.add_mesh(falling, [(0, 1, 2)], thickness=0.02)
        with self.assertRaises(carom.InvalidArgument):
            sweep.advance(1)
        sweep.move_mesh(triangle, [(x, y, z - 2) for x, y, z in falling])
        candidates = [(one.kind.name, one.mesh_a, one.vertices[0]) for one in sweep.find_candidates(0.1)]
        self.assertIn(("VERTEX_FACE", triangle, 0), candidates)
        earliest = sweep.find_earliest()
        self.assertAlmostEqual(earliest.time, 0.495, 4)
        used = sweep.advance(0.9 * earliest.time)
        self.assertEqual(used, 0.9 * earliest.time)
        self.assertAlmostEqual(sweep.places(triangle)[0][2], 1 - 2 * used)
        self.assertEqual(len(sweep.find_crossings()), 0)
        sweep.place_mesh(triangle, [(x, y, z - 1.5) for x, y, z in falling])
        crossings = sweep.find_crossings()
        self.assertEqual([tuple(one.vertices) for one in crossings], [(0, 1), (0, 2)])
        ways = sweep.find_ways_apart()
        self.assertEqual([tuple(way.crossing.vertices) for way in ways], [(0, 1), (0, 2)])
        self.assertAlmostEqual(ways[0].along, 0.5)
        with self.assertRaises(carom.InvalidArgument):
            sweep.places(9)
        with self.assertRaises(carom.InvalidArgument):
            sweep.find_candidates(0)

    def test_a_pair_alone_and_in_a_batch(self):
        begin = [(0.6, 0.3, 1), (0, 0, 0), (1, 0, 0), (1, 1, 0)]
        end = [(0.6, 0.3, -1)] + begin[1:]
        hit = carom.sweep_test_pair("vertex_face", begin, end)
        self.assertAlmostEqual(hit.time, 0.5, 4)
        self.assertIsNone(carom.sweep_test_pair(carom.SweepKind.VERTEX_FACE, begin, begin))
        times, hits = carom.sweep_test_pairs("vertex_face", begin + begin, end + begin)
        self.assertEqual(hits[0], hit)
        self.assertEqual(list(times), [hit.time, math.inf])
        times, hits = carom.sweep_test_pairs("vertex_face", begin, end, [(0, 1, 2, 3)] * 5, carom.SweepDef(tolerance=1e-3))
        self.assertEqual(len(times), 5)
        with self.assertRaisesRegex(ValueError, "not a multiple of 4"):
            carom.sweep_test_pairs("vertex_face", begin[1:], end[1:])


class Proximities(unittest.TestCase):
    def test_what_is_near(self):
        scene = carom.Proximity()
        square = scene.add_mesh(SQUARE, SQUARE_TRIANGLES)
        falling = [(0.6, 0.3, 0.1), (0.7, 0.3, 2), (0.6, 0.4, 2)]
        triangle = scene.add_mesh(falling, [(0, 1, 2)])
        ball = scene.add_shape(shape=carom.Shape(type="sphere", radius=0.5), pose=((0, 0, 0.55), None))
        pairs, shape_pairs = scene.find(0.2)
        self.assertEqual([(pair.kind.name, pair.vertices[0]) for pair in pairs], [("VERTEX_FACE", 0)])
        self.assertAlmostEqual(pairs[0].gap, 0.1)
        self.assertGreater(len(shape_pairs), 0)
        safe = scene.safe_displacements(triangle)
        self.assertAlmostEqual(safe[0], 0.05, 6)
        self.assertEqual(len(scene.safe_displacements(square)), 4)
        scene.place_shape(ball, ((0, 0, 9), None))
        scene.place_mesh(triangle, [(x, y, z + 5) for x, y, z in falling])
        pairs, shape_pairs = scene.find(0.2)
        self.assertEqual((len(pairs), len(shape_pairs)), (0, 0))
        scene.set_filter(square, category=4)
        self.assertGreater(scene.stats.triangles, 0)
        with self.assertRaises(carom.InvalidArgument):
            scene.find(-1)
        with self.assertRaises(carom.InvalidArgument):
            carom.Proximity().safe_displacements(0)
        crowded = carom.Proximity(max_pairs=1)
        crowded.add_mesh(CUBE, CUBE_TRIANGLES)
        with self.assertRaises(carom.OverBudget):
            crowded.find(2)

    def test_a_pair_alone(self):
        pair = carom.proximity_of_pair("vertex_face", [(0.6, 0.3, 0.1), (0, 0, 0), (1, 0, 0), (1, 1, 0)])
        self.assertAlmostEqual(pair.gap, 0.1)


class Elements(unittest.TestCase):
    def setUp(self):
        numbers = [((i * 37 % 101) / 50 - 1) for i in range(3 * 60)]
        self.points = [tuple(numbers[3 * i:3 * i + 3]) for i in range(60)]

    def test_batches_are_the_single_tests(self):
        p = self.points
        distances, on = carom.point_triangle_distances(p)
        for i in range(15):
            self.assertEqual((distances[i], on[i]), carom.point_triangle_distance(p[4 * i], p[4 * i + 1:4 * i + 4]))
        distances, on_a, on_b = carom.edge_edge_distances(p)
        for i in range(15):
            self.assertEqual((distances[i], on_a[i], on_b[i]), carom.edge_edge_distance(p[4 * i:4 * i + 2], p[4 * i + 2:4 * i + 4]))
        distances, on_a, on_b = carom.triangle_triangle_distances(p)
        crossing = carom.triangle_pairs_intersect(p)
        for i in range(10):
            a, b = p[6 * i:6 * i + 3], p[6 * i + 3:6 * i + 6]
            self.assertEqual((distances[i], on_a[i], on_b[i]), carom.triangle_triangle_distance(a, b))
            self.assertEqual(crossing[i], carom.triangles_intersect(a, b))
        self.assertEqual(list(carom.orientations(p)), [carom.orientation(*p[4 * i:4 * i + 4]) for i in range(15)])
        self.assertEqual(list(carom.orientations(p, [(0, 1, 2, 3), (1, 0, 2, 3)])), [1, -1][::carom.orientation(*p[:4])])

    def test_misuse(self):
        for call, error, text in [
            (lambda: carom.orientations(self.points[:3]), ValueError, "positions has 3 rows, not a multiple of 4"),
            (lambda: carom.orientations(self.points, [(0, 1, 2, 99)]), carom.InvalidArgument, "99"),
            (lambda: carom.orientation((0, 0, 0)), TypeError, "four points"),
            (lambda: carom.triangles_intersect(SQUARE, SQUARE), ValueError, "a has 4 rows; it must have 3"),
            (lambda: carom.point_triangle_distance((0, 0, 0), 3), TypeError, "triangle"),
        ]:
            with self.assertRaisesRegex(error, text):
                call()


class OneShape(unittest.TestCase):
    def test_rays_and_nearest_points(self):
        mesh = cube()
        pose = ((2, 0, 0), None)
        rays = [(0.1 * i, 0.5, 3, 0.05, 0.01, -1) for i in range(40)]
        hits = carom.shape_cast_rays(mesh, rays, pose=pose)
        closest = carom.shape_closest_points(mesh, [ray[:3] for ray in rays], pose)
        for i, ray in enumerate(rays):
            single = carom.shape_cast_ray(mesh, ray[:3], ray[3:], pose)
            self.assertEqual(hits[i].t, single.t if single else math.inf)
            self.assertEqual(closest[i], carom.shape_closest_point(mesh, ray[:3], pose))
        self.assertIsNone(carom.shape_closest_point(mesh, (0, 0, 9), max_distance=1))
        with self.assertRaises(carom.InvalidArgument):
            carom.shape_cast_ray(mesh, (0, 0, 0), (0, 0, 0))
