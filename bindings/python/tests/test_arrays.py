"""Arrays in and out: types, strides, views and their ends, DLPack, misuse."""

import array
import unittest

import carom
from support import CUBE, CUBE_TRIANGLES, ball_on_ground, cube, needs_numpy, numpy


class ArraysIn(unittest.TestCase):
    @needs_numpy
    def test_types_and_strides_give_one_mesh(self):
        wide = numpy.zeros((8, 5))
        wide[:, 1:4] = CUBE
        backwards = numpy.array(CUBE[::-1], dtype=numpy.float32)[::-1]
        by_columns = numpy.asfortranarray(numpy.array(CUBE, dtype=float))
        triangles = numpy.array(CUBE_TRIANGLES)
        expected = bytes(cube().save())
        for vertices in (numpy.array(CUBE, dtype=numpy.float32), wide[:, 1:4], backwards, by_columns, numpy.array(CUBE, dtype=int)):
            for numbers in (triangles.astype(numpy.int32), triangles, triangles.astype(numpy.uint16), triangles[::-1][::-1],
                            numpy.asfortranarray(triangles)):
                self.assertEqual(carom.Mesh(vertices, numbers).save(), expected)

    def test_buffers_of_the_standard_library(self):
        flat = array.array("d", [number for vertex in CUBE for number in vertex])
        vertices = memoryview(flat).cast("B").cast("d", (8, 3))
        self.assertEqual(carom.Mesh(vertices, CUBE_TRIANGLES).save(), cube().save())

    def test_wrong_arrays_are_named(self):
        cases = [
            (([1, 2, 3], CUBE_TRIANGLES), TypeError, "vertices"),
            (("text", CUBE_TRIANGLES), TypeError, "vertices"),
            ((CUBE, [(0, 1)]), TypeError, "triangles"),
            ((CUBE, [(0, 1, 2.5)]), TypeError, "triangles"),
            ((CUBE, [(0, 1, 2**40)]), OverflowError, "triangles"),
            ((array.array("d", [1, 2, 3]), CUBE_TRIANGLES), ValueError, "vertices has 1 dimensions"),
            ((None, CUBE_TRIANGLES), TypeError, "vertices"),
            ((CUBE, CUBE_TRIANGLES, [1, 2]), ValueError, "materials has 2 rows; it must have 12"),
        ]
        for args, error, text in cases:
            with self.assertRaisesRegex(error, text):
                carom.Mesh(*args)

    @needs_numpy
    def test_wrong_numpy_arrays_are_named(self):
        vertices, triangles = numpy.array(CUBE, dtype=float), numpy.array(CUBE_TRIANGLES)
        cases = [
            ((vertices[:, :2], triangles), ValueError, r"vertices has the shape \(8, 2\)"),
            ((vertices.reshape(2, 4, 3), triangles), ValueError, "vertices has 3 dimensions"),
            ((vertices.astype(">f8"), triangles), TypeError, "vertices must hold"),
            ((vertices.astype(complex), triangles), TypeError, "vertices must hold"),
            ((vertices.astype(bool), triangles), TypeError, "vertices must hold numbers"),
            ((vertices, triangles.astype(float)), TypeError, "triangles must hold integers"),
            ((vertices, triangles + 2**40), OverflowError, "triangles"),
        ]
        for args, error, text in cases:
            with self.assertRaisesRegex(error, text):
                carom.Mesh(*args)

    @needs_numpy
    def test_dlpack_without_a_buffer(self):
        class Tensor:
            """What a library without the buffer protocol gives."""

            def __init__(self, values):
                self.values = values

            def __dlpack__(self, stream=None):
                return self.values.__dlpack__()

            def __dlpack_device__(self):
                return (1, 0)

        vertices, triangles = numpy.array(CUBE, dtype=numpy.float32), numpy.array(CUBE_TRIANGLES)
        self.assertEqual(carom.Mesh(Tensor(vertices), Tensor(triangles)).save(), cube().save())
        with self.assertRaisesRegex(ValueError, "dimensions"):
            carom.Mesh(Tensor(vertices.reshape(-1)), Tensor(triangles))

    def test_ids_keep_their_64_bits_in_lists(self):
        world, ground, ball = ball_on_ground()
        self.assertGreater(ball, 2**32)
        self.assertEqual([row for row in world.get_poses([ground, ball])[1]], [0, 0, 0.45, 0, 0, 0, 1])


class ArraysOut(unittest.TestCase):
    @needs_numpy
    def test_views_are_structured_and_make_no_copy(self):
        world, ground, ball = ball_on_ground()
        world.step()
        contacts = numpy.asarray(world.contacts)
        self.assertEqual(contacts.dtype.names, world.contacts.names)
        self.assertEqual(contacts["body_b"][0], ball)
        self.assertEqual(contacts["point"].shape, (1, 3))
        self.assertEqual(contacts.ctypes.data, numpy.asarray(world.contacts).ctypes.data)
        self.assertFalse(contacts.flags.writeable)
        world.set_impulse(0, (1, 2, 3))
        self.assertEqual(list(contacts["impulse"][0]), [1, 2, 3])

    @needs_numpy
    def test_numpy_of_an_array_is_asarray_of_it(self):
        world, _, _ = ball_on_ground()
        self.assertEqual(len(world.contacts.numpy()), 0)
        for _ in range(3):
            world.step()
            contacts = world.contacts.numpy()
            self.assertEqual(contacts.dtype, numpy.asarray(world.contacts).dtype)
            self.assertEqual(contacts.ctypes.data, numpy.asarray(world.contacts).ctypes.data)
            self.assertFalse(contacts.flags.writeable)
            with self.assertRaises(BufferError):
                world.step()
            self.assertEqual(world.contacts[0:0].numpy().shape, (0,))
            self.assertTrue((world.contacts["point"].numpy() == contacts["point"]).all())
            del contacts
        self.assertEqual(cube().vertices.numpy().shape, (8, 3))

    @needs_numpy
    def test_every_list_of_results_has_the_layout_of_its_struct(self):
        from carom import _carom
        sizes = {name: (size, members) for name, _, size, members in _carom._tables()}
        world, _, _ = ball_on_ground()
        for name in ("contacts", "pairs", "events", "impacts", "shape_impacts", "surface_contacts", "surface_shape_contacts",
                     "sphere_contacts", "body_impacts", "sphere_pairs", "sphere_groups"):
            dtype = numpy.asarray(getattr(world, name)).dtype
            record = repr(getattr(world, name)).split()[-1].rstrip(">")
            size, members = sizes[record]
            self.assertEqual(dtype.itemsize, size, name)
            for member, offset, _, _ in members:
                self.assertEqual(dtype.fields[member][1], offset, f"{record}.{member}")

    def test_a_step_is_refused_while_a_view_is_exported(self):
        world, _, _ = ball_on_ground()
        world.step()
        view = memoryview(world.contacts)
        for call in (world.step, world.close, lambda: world.restore(snapshot)):
            snapshot = world.snapshot()
            with self.assertRaisesRegex(BufferError, "1 arrays look at the results"):
                call()
        self.assertEqual(world.stats.step, 1)
        view.release()
        world.step()

    def test_a_view_of_an_earlier_step_ends(self):
        world, _, _ = ball_on_ground()
        world.step()
        old, kept = world.contacts, world.contacts.copy()
        world.step()
        for call in (lambda: old[0], lambda: memoryview(old), lambda: old["depth"], lambda: old[0:1], old.copy):
            with self.assertRaisesRegex(BufferError, "this view has ended"):
                call()
        self.assertAlmostEqual(kept[0].depth, 0.05)
        part = world.contacts[0:1]
        world.close()
        with self.assertRaises(BufferError):
            part[0]

    def test_elements_columns_and_parts(self):
        world, ground, ball = ball_on_ground()
        world.step()
        contacts = world.contacts
        self.assertEqual(len(contacts), 1)
        self.assertEqual(contacts[-1], contacts[0])
        self.assertEqual([contact.body_b for contact in contacts], [ball])
        self.assertEqual(list(contacts["body_a"]), [ground])
        self.assertEqual(contacts["point"].shape, (1, 3))
        self.assertEqual(list(contacts["point"][0]), [0, 0, 0])
        self.assertEqual(len(contacts[1:]), 0)
        for wrong in (1, -2):
            with self.assertRaises(IndexError):
                contacts[wrong]
        with self.assertRaisesRegex(KeyError, "no column"):
            contacts["colour"]
        with self.assertRaises(TypeError):
            type(contacts)()

    def test_buffers_without_numpy(self):
        vertices = memoryview(cube().vertices)
        self.assertEqual((vertices.format, vertices.shape, vertices.strides, vertices.readonly), ("f", (8, 3), (12, 4), True))
        self.assertEqual(vertices.tolist()[7], [1, 1, 1])
        every_other = memoryview(cube().vertices[::2])
        self.assertEqual(every_other.strides, (24, 4))
        self.assertEqual(len(bytes(every_other)), 4 * 12)

    @needs_numpy
    def test_dlpack_gives_copies_of_what_is_read_only(self):
        mesh = cube()
        taken = numpy.from_dlpack(mesh.vertices)
        self.assertTrue((taken == numpy.array(CUBE)).all())
        self.assertNotEqual(taken.ctypes.data, numpy.asarray(mesh.vertices).ctypes.data)
        world, _, _ = ball_on_ground()
        poses = world.get_poses(world.body_ids())
        self.assertEqual(numpy.from_dlpack(poses).ctypes.data, numpy.asarray(poses).ctypes.data)
        world.step()
        with self.assertRaisesRegex(BufferError, "take a column"):
            world.contacts.__dlpack__()
        self.assertAlmostEqual(float(numpy.from_dlpack(world.contacts["depth"])[0]), 0.05)

    @needs_numpy
    def test_meshes_live_as_long_as_their_arrays(self):
        vertices = numpy.asarray(cube().vertices)
        self.assertEqual(vertices.sum(), 12)
