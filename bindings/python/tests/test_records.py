"""Records and enumerations: values in and out, defaults, text, comparison, pickle."""

import pickle
import unittest

import carom
from support import cube


class Records(unittest.TestCase):
    def test_defaults_are_those_of_the_library(self):
        settings = carom.WorldDef()
        self.assertEqual(settings.max_contacts_per_pair, 8)
        self.assertEqual(settings.match_distance, 0.02)
        self.assertIs(settings.temporal, carom.Temporal.PREDICTIVE)
        self.assertEqual(settings.sweep.tolerance, 1e-6)
        self.assertEqual(carom.BodyDef().mask, 2**64 - 1)
        self.assertEqual(carom.Pose().orientation, (0, 0, 0, 1))
        self.assertEqual(carom.Ray().t_max, carom.inf)

    def test_repr_shows_what_differs(self):
        self.assertEqual(repr(carom.WorldDef()), "WorldDef()")
        self.assertEqual(repr(carom.Shape(type="sphere")), "Shape(type=<ShapeType.SPHERE: 0>)")
        self.assertEqual(repr(carom.WorldDef(match_distance=0.5)), "WorldDef(match_distance=0.5)")
        self.assertEqual(eval(repr(carom.Pose((1, 2, 3))), {"Pose": carom.Pose}), carom.Pose((1, 2, 3)))

    def test_records_cannot_change_but_be_replaced(self):
        pose = carom.Pose((1, 2, 3))
        with self.assertRaises(AttributeError):
            pose.position = (0, 0, 0)
        self.assertEqual(pose.replace(position=(4, 5, 6)), carom.Pose((4, 5, 6)))
        self.assertEqual(pose.position, (1, 2, 3))
        with self.assertRaises(TypeError):
            hash(pose)

    def test_enumerations_are_given_by_value_int_or_name(self):
        for temporal in (carom.Temporal.NONE, 0, "none", "NONE"):
            self.assertIs(carom.WorldDef(temporal=temporal).temporal, carom.Temporal.NONE)
        for wrong in (3, -1, "never", 2**70, 1.5, None):
            with self.assertRaisesRegex(ValueError, "WorldDef.temporal .* names no Temporal"):
                carom.WorldDef(temporal=wrong)

    def test_wrong_values_name_the_member(self):
        cases = [
            (lambda: carom.WorldDef(max_contacts_per_pair=1.5), TypeError, "WorldDef.max_contacts_per_pair"),
            (lambda: carom.WorldDef(max_contacts_per_pair=2**40), OverflowError, "WorldDef.max_contacts_per_pair"),
            (lambda: carom.WorldDef(memory_budget=-1), OverflowError, "WorldDef.memory_budget"),
            (lambda: carom.WorldDef(match_distance="far"), TypeError, "WorldDef.match_distance"),
            (lambda: carom.BodyDef(mask=-1), OverflowError, "BodyDef.mask"),
            (lambda: carom.BodyDef(shape=1), TypeError, "BodyDef.shape"),
            (lambda: carom.BodyDef(pose=(1, 2, 3)), TypeError, "BodyDef.pose"),
            (lambda: carom.Shape(half_extents=(1, 2)), TypeError, "Shape.half_extents"),
            (lambda: carom.Shape(mesh=3), TypeError, "Shape.mesh"),
            (lambda: carom.BodyDef(parts=[7]), TypeError, r"BodyDef.parts\[0\]"),
            (lambda: carom.WorldDef(sweep=3), TypeError, "WorldDef.sweep"),
            (lambda: carom.WorldDef(cookie=3), TypeError, "WorldDef has no cookie"),
            (lambda: carom.WorldDef(colour=3), TypeError, "WorldDef has no colour"),
            (lambda: carom.Pose((0, 0, 0), (0, 0, 0, 1), 3), TypeError, "Pose has 2 members"),
            (lambda: carom.MeshReport(first_finding="x"), TypeError, "cannot be set"),
        ]
        for call, error, text in cases:
            with self.assertRaisesRegex(error, text):
                call()

    def test_poses_are_given_in_five_ways(self):
        turned = carom.Pose((1, 2, 3), (0, 0, 1, 0))
        matrix = [[-1, 0, 0, 1], [0, -1, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]
        for pose in (turned, ((1, 2, 3), (0, 0, 1, 0)), (1, 2, 3, 0, 0, 1, 0), matrix):
            self.assertEqual(carom.BodyDef(pose=pose).pose, turned)
        self.assertEqual(carom.BodyDef(pose=None).pose, carom.Pose())
        self.assertEqual(carom.BodyDef(pose=((1, 2, 3), None)).pose, carom.Pose((1, 2, 3)))
        for wrong in ([[2, 0, 0, 1], [0, 1, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]],  # scales
                      [[-1, 0, 0, 1], [0, 1, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]],  # mirrors
                      [[1, 0, 0, 1], [0, 1, 0, 2], [0, 0, 1, 3], [0, 0, 1, 1]]):  # projects
            with self.assertRaisesRegex(ValueError, "turns and moves alone"):
                carom.BodyDef(pose=wrong)

    def test_help_speaks_python(self):
        for name in ("cast_ray", "closest_point", "cast_shape"):
            self.assertIn("None: there is none.", getattr(carom.World, name).__doc__)
        for owner in (carom, carom.World, carom.Mesh):
            for name in dir(owner):
                self.assertNotRegex(getattr(owner, name).__doc__ or "", r"\*found tells whether there is one|body is null|carom_default_", name)
        self.assertIn("QueryFilter()", carom.QueryFilter.__doc__)

    def test_a_pose_is_made_of_any_form(self):
        matrix = [[-1, 0, 0, 1], [0, -1, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]
        turned = carom.Pose((1, 2, 3), (0, 0, 1, 0))
        for value in (matrix, matrix[:3], sum(matrix, []), turned, ((1, 2, 3), (0, 0, 1, 0)), (1, 2, 3, 0, 0, 1, 0)):
            self.assertEqual(carom.Pose(value), turned)
        self.assertEqual(carom.Pose((1, 2, 3)).position, (1, 2, 3))
        with self.assertRaisesRegex(TypeError, "Pose.position"):
            carom.Pose((1, 2, 3, 4, 5))

    def test_matrices_of_every_kind_of_turn_become_quaternions(self):
        for q in [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), (0.5, 0.5, 0.5, 0.5), (0.1, -0.7, 0.1, 0.7),
                  (0.9, 0.1, 0.3, 0.3), (0.2, 0.2, -0.9, 0.3316624790355)]:
            length = sum(part * part for part in q) ** 0.5
            x, y, z, w = (part / length for part in q)
            matrix = [[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w), 0],
                      [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w), 0],
                      [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y), 0], [0, 0, 0, 1]]
            got = carom.BodyDef(pose=matrix).pose.orientation
            dot = sum(a * b for a, b in zip(got, (x, y, z, w)))
            self.assertAlmostEqual(abs(dot), 1, 12)

    def test_settings_and_bodies_are_pickled(self):
        for record in (carom.WorldDef(match_distance=0.5, temporal="none"), carom.SweepDef(tolerance=1e-3), carom.Pose((1, 2, 3)),
                       carom.BodyDef(shape=carom.Shape(type="box", half_extents=(1, 2, 3)), kind="static"),
                       carom.QueryFilter(mask=5), carom.SpheresDef(periodic=(True, False, True), period=(1, 2, 3))):
            self.assertEqual(pickle.loads(pickle.dumps(record)), record)
        compound = carom.BodyDef(parts=[(carom.Shape(type="sphere", radius=1), None), (cube(), ((1, 0, 0), None))])
        again = pickle.loads(pickle.dumps(compound))
        self.assertEqual(len(again.parts), 2)
        self.assertEqual(list(again.parts[1].shape.mesh.vertices[7]), [1, 1, 1])

    def test_a_shape_keeps_its_mesh(self):
        shape = carom.Shape(type="mesh", mesh=cube())
        world = carom.World()
        world.add_body(shape=shape)
        del shape
        self.assertEqual(world.get_body(world.body_ids()[0]).shape.mesh.report.triangle_count, 12)
        # A mesh stands for a shape of it.
        self.assertIs(carom.BodyDef(shape=cube()).shape.type, carom.ShapeType.MESH)
