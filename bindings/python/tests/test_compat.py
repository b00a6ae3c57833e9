"""Names of trimesh, Open3D and python-fcl on top of Carom."""

import types
import unittest

import carom
from carom import compat
from support import CUBE, CUBE_TRIANGLES, cube, needs_numpy, numpy

# What trimesh hands over.
BOX = types.SimpleNamespace(vertices=CUBE, faces=CUBE_TRIANGLES)


def at(x, y=0, z=0):
    return [[1, 0, 0, x], [0, 1, 0, y], [0, 0, 1, z], [0, 0, 0, 1]]


class Trimesh(unittest.TestCase):
    def setUp(self):
        self.manager = compat.CollisionManager()
        self.manager.add_object("left", BOX)
        self.manager.add_object("right", cube(), at(3))

    def test_collisions(self):
        manager = self.manager
        self.assertFalse(manager.in_collision_internal())
        manager.set_transform("right", at(0.9, 0.3, 0.2))
        self.assertEqual(manager.in_collision_internal(return_names=True), (True, {("left", "right")}))
        found, names, data = manager.in_collision_internal(True, True)
        self.assertEqual(data[0].names, {"left", "right"})
        self.assertAlmostEqual(max(contact.depth for contact in data), 0.1, 5)
        self.assertIsInstance(data[0].index("left"), int)
        self.assertEqual(manager.in_collision_single(BOX, at(-0.5, 0.1, 0.1), return_names=True), (True, {"left"}))
        self.assertFalse(manager.in_collision_single(BOX, at(9)))
        other = compat.CollisionManager()
        other.add_object("third", BOX, at(1.5, 0.2, 0.1))
        self.assertEqual(manager.in_collision_other(other, True), (True, {("right", "third")}))
        manager.remove_object("right")
        self.assertFalse(manager.in_collision_other(other))
        with self.assertRaises(KeyError):
            manager.remove_object("right")

    def test_distances(self):
        manager = self.manager
        self.assertEqual(manager.min_distance_internal(), 2)
        distance, names, data = manager.min_distance_internal(True, True)
        self.assertEqual((names, data.point("left")[0], data.point("right")[0]), (("left", "right"), 1, 3))
        self.assertEqual(manager.min_distance_single(BOX, at(6), return_name=True), (2, "right"))
        other = compat.CollisionManager()
        other.add_object("third", BOX, at(4.5))
        self.assertEqual(manager.min_distance_other(other, True), (0.5, ("right", "third")))
        manager.add_object("right", BOX, at(0.9))
        self.assertAlmostEqual(manager.min_distance_internal(), -0.1, 5)


@needs_numpy
class Open3D(unittest.TestCase):
    def setUp(self):
        self.scene = compat.RaycastingScene(nthreads=1)
        self.first = self.scene.add_triangles(numpy.array(CUBE, dtype=numpy.float32), numpy.array(CUBE_TRIANGLES, dtype=numpy.uint32))
        self.second = self.scene.add_triangles(numpy.array(CUBE, dtype=float) + [5, 0, 0], numpy.array(CUBE_TRIANGLES))

    def test_rays(self):
        rays = numpy.zeros((2, 3, 6))
        rays[..., :3] = [0.3, 0.4, 4]
        rays[..., 5] = -1
        rays[0, 1, 0] = 5.3
        rays[1, 2, 0] = 100
        answer = self.scene.cast_rays(rays)
        self.assertEqual(answer["t_hit"].shape, (2, 3))
        self.assertEqual(list(answer["t_hit"].ravel()), [3, 3, 3, 3, 3, numpy.inf])
        self.assertEqual(list(answer["geometry_ids"].ravel()), [0, 1, 0, 0, 0, self.scene.INVALID_ID])
        self.assertEqual(answer["primitive_ids"][1, 2], self.scene.INVALID_ID)
        self.assertEqual(list(answer["primitive_normals"][0, 0]), [0, 0, 1])
        self.assertEqual(list(self.scene.count_intersections(rays).ravel()), [2, 2, 2, 2, 2, 0])
        self.assertEqual(list(self.scene.test_occlusions(rays, tfar=2.5).ravel()), [False] * 6)
        self.assertEqual(self.scene.test_occlusions(rays)[0, 0], True)
        with self.assertRaisesRegex(ValueError, "last dimension is 5"):
            self.scene.cast_rays(rays[..., :5])

    def test_points(self):
        """Signs of a cube, which Open3D gets wrong at some places (its issue 5105)."""
        side = numpy.linspace(-0.5, 1.5, 12)
        points = numpy.stack(numpy.meshgrid(side, side, side), axis=-1)
        inside = ((points > 0) & (points < 1)).all(axis=-1)
        signed = self.scene.compute_signed_distance(points)
        self.assertTrue(((signed < 0) == inside).all())
        self.assertTrue((self.scene.compute_occupancy(points) == inside).all())
        self.assertTrue((self.scene.compute_distance(points) == abs(signed)).all())
        closest = self.scene.compute_closest_points(points)
        self.assertTrue(numpy.allclose(numpy.linalg.norm(closest["points"] - points, axis=-1), abs(signed)))
        self.assertEqual(set(closest["geometry_ids"].ravel()), {0})


class Fcl(unittest.TestCase):
    def test_shapes(self):
        fcl = compat
        ball, box = fcl.CollisionObject(fcl.Sphere(1)), fcl.CollisionObject(fcl.Box(2, 2, 2), fcl.Transform((1.9, 0, 0)))
        request, result = fcl.CollisionRequest(num_max_contacts=4, enable_contact=True), fcl.CollisionResult()
        self.assertEqual(fcl.collide(ball, box, request, result), 1)
        self.assertTrue(result.is_collision)
        self.assertAlmostEqual(result.contacts[0].penetration_depth, 0.1, 6)
        self.assertAlmostEqual(result.contacts[0].normal[0], 1)
        box.setTranslation((5, 0, 0))
        self.assertEqual(fcl.collide(ball, box), 0)
        nearest = fcl.DistanceResult()
        self.assertEqual(fcl.distance(ball, box, fcl.DistanceRequest(), nearest), 3)
        self.assertEqual(nearest.nearest_points[1][0], 4)
        self.assertEqual(box.getTranslation(), (5, 0, 0))
        for geometry in (fcl.Capsule(1, 2), fcl.Cylinder(1, 2), fcl.Cone(1, 2), fcl.Ellipsoid(1, 1, 1), fcl.Halfspace()):
            self.assertEqual(fcl.collide(ball, fcl.CollisionObject(geometry)), 1)

    def test_models_and_transforms(self):
        fcl = compat
        model = fcl.BVHModel()
        model.beginModel(12, 8)
        model.addSubModel(CUBE, CUBE_TRIANGLES)
        model.endModel()
        a = fcl.CollisionObject(model)
        b = fcl.CollisionObject(model, fcl.Transform([[0, -1, 0], [1, 0, 0], [0, 0, 1]], (3, 0, 0)))
        self.assertEqual(fcl.distance(a, b), 1)
        b.setTransform(fcl.Transform((0, 0, 0, 1), (3, 0, 0)))
        self.assertEqual(fcl.distance(a, b), 1)
        b.setTransform(fcl.Transform((0.5, 0.5, 0.5)))
        self.assertEqual(fcl.distance(a, b), 0)
        self.assertLess(fcl.distance(a, b, fcl.DistanceRequest(enable_signed_distance=True)), 0)
        with self.assertRaises(ValueError):
            fcl.BVHModel().endModel()
