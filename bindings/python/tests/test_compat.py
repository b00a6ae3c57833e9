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


# A box at the coordinates of a site, where floats are a 128th apart, of sides that they do not hold.
SITE = (92160.0, -51200.0, 0.0)
FAR_BOX = types.SimpleNamespace(
    vertices=[tuple(place + 1.001 * part for place, part in zip(SITE, corner)) for corner in CUBE], faces=CUBE_TRIANGLES)


class FarFromTheOrigin(unittest.TestCase):
    def test_collision_manager(self):
        manager, other = compat.CollisionManager(), compat.CollisionManager()
        manager.add_object("first", FAR_BOX)
        manager.add_object("second", FAR_BOX, at(1.003, 0.1, 0.1))
        self.assertFalse(manager.in_collision_internal())
        distance, _, data = manager.min_distance_internal(True, True)
        self.assertAlmostEqual(distance, 0.002, 7)
        self.assertAlmostEqual(data.point("first")[0], SITE[0] + 1.001, 7)
        self.assertIn(data.index("second"), range(12))
        self.assertAlmostEqual(manager.min_distance_single(FAR_BOX, at(-0.2, 1.004)), 0.003, 7)
        self.assertTrue(manager.in_collision_single(FAR_BOX, at(0, 1.0005)))
        other.add_object("third", FAR_BOX, at(0, 0, 1.0005))
        self.assertEqual(manager.in_collision_other(other, True)[1], {("first", "third")})
        other.set_transform("third", at(0, 0, 1.1025))
        self.assertAlmostEqual(manager.min_distance_other(other), 0.0025, 7)

    def test_fcl(self):
        made = compat.BVHModel()
        made.beginModel()
        made.addSubModel(FAR_BOX.vertices, FAR_BOX.faces)
        made.endModel()
        first, second = compat.CollisionObject(made), compat.CollisionObject(made, compat.Transform([1.004, 0.1, 0]))
        self.assertAlmostEqual(compat.distance(first, second), 0.003, 7)
        second.setTranslation([1.0, 0.1, 0])
        self.assertEqual(compat.collide(first, second), 1)

    @needs_numpy
    def test_raycasting_scene(self):
        scene = compat.RaycastingScene()
        scene.add_triangles(numpy.array(FAR_BOX.vertices), numpy.array(FAR_BOX.faces))
        hits = scene.cast_rays([[SITE[0] + 0.3, SITE[1] + 0.4, 3, 0, 0, -1]])
        self.assertAlmostEqual(hits["t_hit"][0], 3 - 1.001, 6)
        point = [[SITE[0] + 0.3, SITE[1] + 0.4, 1.0007]]
        self.assertAlmostEqual(scene.compute_signed_distance(point)[0], -0.0003, 6)
        self.assertEqual(scene.compute_occupancy(point)[0], 1)


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


    def test_nothing_to_be_near_to(self):
        empty, one = compat.CollisionManager(), compat.CollisionManager()
        one.add_object("one", BOX)
        for distance in (empty.min_distance_internal(), one.min_distance_internal(), empty.min_distance_single(BOX),
                         empty.min_distance_other(one), one.min_distance_other(empty)):
            self.assertEqual(distance, carom.inf)
        self.assertEqual(one.min_distance_internal(True, True), (carom.inf, None, None))
        self.assertEqual(empty.min_distance_single(BOX, None, True, True), (carom.inf, None, None))
        self.assertFalse(empty.in_collision_single(BOX))

    def test_names_of_two_types(self):
        manager = compat.CollisionManager()
        manager.add_object("a", BOX)
        manager.add_object(1, BOX, at(0.9, 0.1, 0.2))
        self.assertEqual(manager.in_collision_internal(return_names=True), (True, {(1, "a")}))
        manager.set_transform(1, at(2))
        self.assertEqual(manager.min_distance_internal(return_names=True), (1, (1, "a")))

    @needs_numpy
    def test_answers_are_arrays(self):
        manager = self.manager
        data = manager.min_distance_single(BOX, at(6), return_data=True)[1]
        self.assertTrue((2 * data.point("right") == [8, *(2 * data.point("right"))[1:]]).all())
        for name, x in (("right", 4), ("__external", 6)):
            corners = [CUBE[corner][0] for corner in CUBE_TRIANGLES[data.index(name)]]
            self.assertEqual(corners, [1] * 3 if name == "right" else [0] * 3)
            self.assertEqual(data.point(name)[0], x)
        manager.set_transform("right", at(0.9, 0.3, 0.2))
        contact = manager.in_collision_internal(return_data=True)[1][0]
        self.assertTrue((abs(2 * contact.normal) == [2, 0, 0]).all())


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
        u, v = numpy.moveaxis(closest["primitive_uvs"], -1, 0)
        corners = numpy.array(CUBE)[numpy.array(CUBE_TRIANGLES)[closest["primitive_ids"]]]
        weights = numpy.stack([1 - u - v, u, v], axis=-1)
        self.assertTrue((weights > -1e-9).all())
        self.assertTrue(numpy.allclose((weights[..., None] * corners).sum(axis=-2), closest["points"]))
        other = self.scene.compute_closest_points([[5.25, 0.5, 2]])
        self.assertEqual((other["geometry_ids"][0], other["primitive_uvs"].shape), (self.second, (1, 2)))


    def test_an_empty_scene(self):
        scene = compat.RaycastingScene()
        answer = scene.cast_rays([[0, 0, 0, 0, 0, 1]])
        self.assertEqual((answer["t_hit"][0], answer["geometry_ids"][0], answer["primitive_ids"][0]), (numpy.inf,) + (scene.INVALID_ID,) * 2)
        self.assertEqual(scene.compute_distance([[0, 0, 0]])[0], numpy.inf)
        self.assertEqual(scene.compute_signed_distance([[0, 0, 0]])[0], numpy.inf)
        self.assertEqual(scene.compute_occupancy([[0, 0, 0]])[0], 0)

    def test_a_camera(self):
        rays = compat.RaycastingScene.create_rays_pinhole(90, center=[0.5, 0.5, 0], eye=[0.5, 0.5, 3], up=[0, 1, 0], width_px=8, height_px=4)
        self.assertEqual(rays.shape, (4, 8, 6))
        self.assertTrue((rays[..., :3] == [0.5, 0.5, 3]).all())
        self.assertTrue(numpy.allclose(rays[3, 0, 3:], [7 / 8, 3 / 8, -1]))  # the first column looks to +x, the last row to +y
        self.assertTrue(numpy.allclose(rays[0, 7, 3:], [-7 / 8, -3 / 8, -1]))
        hits = self.scene.cast_rays(rays)["t_hit"]
        self.assertTrue(numpy.allclose(hits[1:3, 3:5], 2))
        self.assertTrue(numpy.isinf(hits[:, [0, 7]]).all())

    def test_a_mesh_in_a_mesh_is_a_hole(self):
        scene = compat.RaycastingScene()
        for scale in (4, 2, 1):
            scene.add_triangles((numpy.array(CUBE) - 0.5) * scale, numpy.array(CUBE_TRIANGLES))
        points = numpy.array([[0, 0, 0], [0, 0, 0.75], [0, 0, 1.5], [0, 0, 2.5]])
        self.assertEqual(list(scene.compute_occupancy(points, nsamples=3)), [1, 0, 1, 0])
        self.assertTrue(numpy.allclose(scene.compute_signed_distance(points), [-0.5, 0.25, -0.5, 0.5]))
        self.assertTrue(numpy.allclose(scene.compute_distance(points), [0.5, 0.25, 0.5, 0.5]))

    def test_all_hits_of_a_ray(self):
        rays = numpy.array([[0.3, 0.4, 4, 0, 0, -1], [100, 0, 4, 0, 0, -1], [-1, 0.3, 0.4, 1, 0, 0]])
        hits = self.scene.list_intersections(rays)
        self.assertEqual(list(hits["ray_splits"]), [0, 2, 2, 6])
        self.assertEqual(list(hits["ray_ids"]), [0, 0, 2, 2, 2, 2])
        self.assertTrue(numpy.allclose(hits["t_hit"], [3, 4, 1, 2, 6, 7]))
        self.assertEqual(list(hits["geometry_ids"]), [0, 0, 0, 0, 1, 1])
        self.assertEqual(hits["primitive_uvs"].shape, (6, 2))
        self.assertEqual(list(numpy.diff(hits["ray_splits"])), list(self.scene.count_intersections(rays)))


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
        self.assertEqual(tuple(box.getTranslation()), (5, 0, 0))
        for geometry in (fcl.Capsule(1, 2), fcl.Cylinder(1, 2), fcl.Cone(1, 2), fcl.Ellipsoid(1, 1, 1), fcl.Halfspace()):
            self.assertEqual(fcl.collide(ball, fcl.CollisionObject(geometry)), 1)

    def test_the_place_of_a_contact_lies_on_the_first_object(self):
        fcl = compat
        model, big = fcl.BVHModel(), fcl.BVHModel()
        for made, scale in ((model, 1), (big, 4)):
            made.beginModel()
            made.addSubModel([tuple(scale * (part - 0.5) for part in corner) for corner in CUBE], CUBE_TRIANGLES)
            made.endModel()
        kinds = set()
        for first, second, place in ((model, big, (2.4, 0.1, 0.2)), (big, model, (-2.4, 0.1, 0.2)), (big, model, (0.1, -0.2, 2.4))):
            a = fcl.CollisionObject(first, fcl.Transform((0.9, 0.3, 0.3, 0.1), place))
            result = fcl.CollisionResult()
            fcl.collide(a, fcl.CollisionObject(second), fcl.CollisionRequest(8, True), result)
            kinds |= {contact.kind for contact in carom.collide(first.shape, second.shape, a.transform.pose)}
            self.assertTrue(result.contacts)
            for contact in result.contacts:
                found = carom.shape_closest_point(first.shape, tuple(contact.pos), a.transform.pose)
                self.assertLess(abs(found.distance), 1e-5)
        self.assertTrue(kinds & {carom.ContactKind.VERTEX_B, carom.ContactKind.EDGE_B})

    def test_transforms_are_read_and_changed(self):
        fcl = compat
        turn = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
        start = fcl.Transform(turn, (1, 2, 3))
        copy = fcl.Transform(start)
        copy.setTranslation((4, 5, 6))
        self.assertEqual((tuple(start.getTranslation()), tuple(copy.getTranslation())), ((1, 2, 3), (4, 5, 6)))
        for row, given in zip(copy.getRotation(), turn):
            for part, expected in zip(row, given):
                self.assertAlmostEqual(part, expected)
        copy.setQuatRotation((1, 0, 0, 0))
        self.assertEqual(tuple(copy.getQuatRotation()), (1, 0, 0, 0))
        thing = fcl.CollisionObject(fcl.Sphere(2), start)
        thing.setRotation([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
        thing.setTranslation((7, 8, 9))
        self.assertEqual(tuple(thing.getTransform().getQuatRotation()), (1, 0, 0, 0))
        self.assertEqual((tuple(start.getTranslation()), tuple(thing.getTranslation())), ((1, 2, 3), (7, 8, 9)))
        self.assertEqual((fcl.Sphere(2).radius, tuple(fcl.Box(1, 2, 3).side), fcl.Cone(1, 4).lz), (2, (1, 2, 3), 4))
        self.assertFalse(fcl.CollisionRequest(num_max_cost_sources=3).enable_cost)
        with self.assertRaises(NotImplementedError):
            fcl.CollisionRequest(enable_cost=True)

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

    def test_half_spaces_and_planes(self):
        """n * x <= d, and n * x = d: with any normal, also one that is no unit vector, and in a frame that is turned."""
        fcl = compat
        ball = fcl.CollisionObject(fcl.Sphere(1))
        for normal in ((0, 0, 1), (0, 0, -1), (3, 0, 0), (1, -2, 2), (-1e-9, 0, -2)):
            length = sum(part * part for part in normal) ** 0.5
            unit = [part / length for part in normal]
            for turn in ((1, 0, 0, 0), (0.5, 0.5, 0.5, 0.5)):  # the second one: x to y to z to x
                turned = unit if turn[1] == 0 else [unit[2], unit[0], unit[1]]
                for place in (-4.0, -0.25, 0.25, 4.0):  # signed distance of the ball's middle from the plane
                    frame = fcl.Transform(turn, (7, 8, 9))
                    half, plane = (fcl.CollisionObject(kind(normal, 2 * length), frame) for kind in (fcl.Halfspace, fcl.Plane))
                    ball.setTranslation([part + (2 + place) * along for part, along in zip((7, 8, 9), turned)])
                    signed = fcl.DistanceRequest(enable_signed_distance=True)
                    self.assertAlmostEqual(fcl.distance(ball, half, signed), place - 1)
                    self.assertAlmostEqual(fcl.distance(ball, plane, signed), abs(place) - 1)
                    self.assertEqual(fcl.collide(ball, half), int(place < 1))
                    self.assertEqual(fcl.collide(ball, plane), int(abs(place) < 1))
                    if abs(place) < 1:
                        result = fcl.CollisionResult()
                        fcl.collide(ball, plane, fcl.CollisionRequest(4, True), result)
                        self.assertAlmostEqual(result.contacts[0].penetration_depth, 1 - abs(place))
                        for part, along in zip(result.contacts[0].normal, turned):  # from the ball to the sheet
                            self.assertAlmostEqual(part, -along if place > 0 else along)
        with self.assertRaisesRegex(ValueError, "must not be zero"):
            fcl.Plane((0, 0, 0), 1)

    def test_convex(self):
        fcl = compat
        faces = [part for triangle in CUBE_TRIANGLES for part in (3, *triangle)]
        a = fcl.CollisionObject(fcl.Convex(CUBE, 12, faces))
        b = fcl.CollisionObject(fcl.Convex(CUBE, 12, faces), fcl.Transform((3, 0.2, 0.1)))
        self.assertEqual(fcl.distance(a, b), 2)
        b.setTranslation((0.75, 0.2, 0.1))
        self.assertEqual(fcl.collide(a, b), 1)

    def test_continuous(self):
        fcl = compat
        ball, box = fcl.CollisionObject(fcl.Sphere(1), fcl.Transform((-5, 0, 0))), fcl.CollisionObject(fcl.Box(2, 2, 2))
        result = fcl.ContinuousCollisionResult()
        time = fcl.continuousCollide(ball, fcl.Transform((5, 0, 0)), box, fcl.Transform(), fcl.ContinuousCollisionRequest(toc_err=1e-5), result)
        self.assertTrue(result.is_collide)
        self.assertAlmostEqual(time, 0.3, 4)
        self.assertLessEqual(time, 0.3)
        self.assertEqual(result.time_of_contact, time)
        past = fcl.continuousCollide(ball, fcl.Transform((-5, 0, 9)), box, fcl.Transform(), None, result)
        self.assertEqual((past, result.is_collide), (1.0, False))
        for normal, d in (((1, 0, 0), 2), ((-1, 0, 0), -2)):  # through a sheet, from either side of it
            sheet = fcl.CollisionObject(fcl.Plane(normal, d))
            self.assertAlmostEqual(fcl.continuousCollide(ball, fcl.Transform((5, 0, 0)), sheet, fcl.Transform()), 0.6, 3)

    def balls(self, places):
        return [compat.CollisionObject(compat.Sphere(0.5), compat.Transform(place)) for place in places]

    def test_manager_finds_the_pairs_that_all_pairs_find(self):
        fcl = compat
        places = [((7 * i) % 11 * 0.4, (5 * i) % 13 * 0.4, (3 * i) % 7 * 0.4) for i in range(40)]
        own, others = self.balls(places), self.balls([(x + 0.3, y, z + 0.2) for x, y, z in places[:15]])
        floor = fcl.CollisionObject(fcl.Halfspace((0, 0, 1), 0))
        manager, second = fcl.DynamicAABBTreeCollisionManager(), fcl.DynamicAABBTreeCollisionManager()
        manager.registerObjects([*own, floor])
        second.registerObjects(others)
        manager.setup()
        second.setup()

        def hits(*other):
            found = set()

            def callback(o1, o2, cdata):
                self.assertEqual(cdata, "data")
                if fcl.collide(o1, o2):
                    pair = frozenset((id(o1), id(o2)))
                    self.assertNotIn(pair, found)
                    found.add(pair)
                return False

            manager.collide(*other, "data", callback)
            return found

        def expected(pairs):
            return {frozenset((id(a), id(b))) for a, b in pairs if fcl.collide(a, b)}

        everything = [*own, floor]
        self.assertEqual(hits(), expected((a, b) for i, a in enumerate(everything) for b in everything[:i]))
        self.assertEqual(hits(second), expected((a, b) for a in everything for b in others))
        self.assertEqual(hits(others[3]), expected((a, others[3]) for a in everything))
        self.assertTrue(hits(second) and hits(others[3]))
        own[0].setTranslation(places[20])
        own[1].setTranslation((99, 0, 9))
        manager.update(own[0])
        manager.update([own[1]])
        self.assertEqual(hits(), expected((a, b) for i, a in enumerate(everything) for b in everything[:i]))
        manager.unregisterObject(floor)
        self.assertEqual((manager.size(), manager.empty(), floor in manager.getObjects()), (40, False, False))
        manager.registerObject(own[0])  # is there already
        self.assertEqual(manager.size(), 40)
        manager.clear()
        self.assertTrue(manager.empty())
        with self.assertRaises(KeyError):
            manager.unregisterObject(floor)

    def test_callbacks(self):
        fcl = compat
        manager = fcl.DynamicAABBTreeCollisionManager()
        row = self.balls([(0.9 * i, 0, 0) for i in range(10)])
        manager.registerObjects(row)
        manager.setup()
        data = fcl.CollisionData(fcl.CollisionRequest(num_max_contacts=100, enable_contact=True))
        manager.collide(data, fcl.defaultCollisionCallback)
        self.assertEqual((data.result.is_collision, len(data.result.contacts), data.done), (True, 9, False))
        self.assertAlmostEqual(data.result.contacts[0].penetration_depth, 0.1, 6)
        few = fcl.CollisionData(fcl.CollisionRequest(num_max_contacts=3, enable_contact=True))
        manager.collide(few, fcl.defaultCollisionCallback)
        self.assertEqual((len(few.result.contacts), few.done), (3, True))
        any_at_all = fcl.CollisionData()
        manager.collide(fcl.CollisionObject(fcl.Sphere(0.1), fcl.Transform((4.5, 0, 0))), any_at_all, fcl.defaultCollisionCallback)
        self.assertTrue(any_at_all.result.is_collision)

    def test_least_distances(self):
        fcl = compat
        places = [(3.0 * i, (i * i) % 5 * 0.3, 0) for i in range(12)]
        own = self.balls(places)
        manager, second = fcl.DynamicAABBTreeCollisionManager(), fcl.DynamicAABBTreeCollisionManager()
        manager.registerObjects(own)
        others = self.balls([(x, 40, 1) for x, _, _ in places])
        second.registerObjects(others)
        calls = []

        def counted(o1, o2, data):
            calls.append((o1, o2))
            return fcl.defaultDistanceCallback(o1, o2, data)

        def least(*other):
            data = fcl.DistanceData()
            manager.distance(*other, data, counted)
            return data.result.min_distance

        self.assertEqual(least(), min(fcl.distance(a, b) for i, a in enumerate(own) for b in own[:i]))
        self.assertLess(len(calls), 66)  # of all pairs
        self.assertEqual(least(second), min(fcl.distance(a, b) for a in own for b in others))
        self.assertEqual(least(others[5]), min(fcl.distance(a, others[5]) for a in own))
        second.registerObject(fcl.CollisionObject(fcl.Plane((0, 1, 0), 30)))
        self.assertAlmostEqual(least(second), 30 - 1.2 - 0.5, 6)
        own[3].setTranslation(places[4])
        manager.update()
        self.assertEqual(least(), 0)
        self.assertEqual(fcl.DistanceData(fcl.DistanceRequest(True, True)).request.enable_signed_distance, True)
