"""Long calls end at Ctrl-C; pieces of a batch change no answer and no message."""

import array
import os
import signal
import sys
import threading
import time
import unittest

import carom
from support import cube, has_sim


def bytes_of(answers):
    return [memoryview(part).tobytes() for part in (answers if isinstance(answers, tuple) else (answers,))]


class Alarm:
    """SIGINT after a delay, as Ctrl-C gives it."""

    def __init__(self, delay):
        self.timer = threading.Timer(delay, lambda: os.kill(os.getpid(), signal.SIGINT))

    def __enter__(self):
        self.timer.start()
        self.start = time.monotonic()
        return self

    def __exit__(self, *_):
        self.timer.cancel()
        self.timer.join()

    @property
    def seconds(self):
        return time.monotonic() - self.start


def rows(row, count):
    """The row so many times, without a list of them."""
    return memoryview(array.array("d", row) * count).cast("b").cast("d", (count, len(row)))


def field(side):
    """A bumpy floor, which takes time to ask."""
    heights = [[((3 * x * x + 5 * x * y + 7 * y) % 11) / 11 for x in range(side)] for y in range(side)]
    return carom.Mesh.height_field(heights, (1.0, 1.0), 5.0)


@unittest.skipIf(sys.platform == "win32", "signals of POSIX")
class Interrupts(unittest.TestCase):
    def setUp(self):
        self.world = carom.World()
        self.world.add_body(shape=field(64), kind="static")
        self.body = self.world.add_body(shape=cube(), pose=((30, 30, 3), None))
        handler = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, handler)

    def interrupted(self, call):
        """The call, which would take many seconds, ends soon after the signal."""
        with Alarm(0.2) as alarm, self.assertRaises(KeyboardInterrupt):
            call()
        self.assertLess(alarm.seconds, 3)
        self.world.step()  # and the world goes on
        self.assertTrue(self.world.cast_ray((30.5, 30.5, 9), (0, 0, -1)))

    def test_queries_of_a_world(self):
        self.interrupted(lambda: self.world.cast_rays(rows((0.5, 0.5, 0.2, 1, 0.9, 0), 2_000_000)))
        self.interrupted(lambda: self.world.closest_points(rows((30, 30, 90), 500_000)))
        self.interrupted(lambda: self.world.collide_shapes(field(8), rows((30, 30, 3, 0, 0, 0, 1), 20_000)))

    def test_queries_without_a_world(self):
        mesh = field(64)
        self.interrupted(lambda: carom.distances(mesh, mesh, rows((3, 3, 1, 0, 0, 0, 1), 1500)))
        self.interrupted(lambda: carom.shape_closest_points(mesh, rows((30, 30, 90), 500_000)))

    def test_a_handler_may_raise_what_it_likes_and_may_not_change_the_world(self):
        seen = []

        def handler(*_):
            try:
                self.world.step()
            except RuntimeError as error:
                seen.append(str(error))
            raise TimeoutError("the user's own")

        signal.signal(signal.SIGINT, handler)
        with Alarm(0.3), self.assertRaises(TimeoutError):
            self.world.closest_points(rows((30, 30, 90), 500_000))
        self.assertRegex(seen[0], "another call is using this world")
        self.world.step()

    @unittest.skipUnless(has_sim, "carom.sim was not built")
    def test_runs_end_between_steps(self):
        import carom.sim

        ball = {"name": "ball", "shape": "sphere", "radius": 0.5, "position": [0, 2, 0]}
        with carom.sim.open({"bodies": {"list": [ball]}}) as run:
            with Alarm(0.2) as alarm, self.assertRaises(KeyboardInterrupt):
                run.step(100_000_000)
            self.assertLess(alarm.seconds, 3)
            done = run.frame
            run.step()
            self.assertEqual(run.frame, done + 1)


class Pieces(unittest.TestCase):
    """Batches that are asked in several pieces have the answers of the parts, and errors name the query in the whole batch."""

    def setUp(self):
        self.world = carom.World()
        self.world.add_body(shape=field(8), kind="static")
        self.world.add_body(shape=cube(), pose=((3, 3, 1), None))

    def same(self, ask, queries, size=100):
        whole = bytes_of(ask(queries))
        parts = [bytes_of(ask(queries[i:i + size])) for i in range(0, len(queries), size)]
        self.assertEqual(whole[-1], b"".join(part[-1] for part in parts))

    def test_lists_and_shapes(self):
        ball = carom.Shape(type="sphere", radius=1.5)
        poses = [((0.003 * i, 3, 1 + 0.001 * i), None) for i in range(2000)]  # four pieces and more
        self.same(lambda some: self.world.collide_shapes(ball, some), poses)
        self.same(lambda some: self.world.overlap_shapes(ball, some), poses)
        self.same(lambda some: self.world.closest_bodies(ball, some), poses)
        self.same(lambda some: carom.distances(ball, cube(), some), poses)
        self.same(lambda some: carom.overlaps(ball, cube(), some), poses)
        self.same(lambda some: carom.collide_pairs(ball, cube(), some, margin=0.2), poses)
        self.same(lambda some: carom.manifolds(ball, carom.Shape(type="box", half_extents=(1, 1, 1)), some), poses)
        motions = [(pose, ((3, 3, 0), None)) for pose in poses]
        self.same(lambda some: self.world.cast_shapes(ball, some), motions)
        self.same(lambda some: carom.times_of_impact(ball, cube(), some), motions)
        first, contacts = self.world.collide_shapes(ball, poses)
        counts = [first[i + 1] - first[i] for i in range(len(poses))]
        self.assertEqual(counts[::97], [len(self.world.collide_shape(ball, pose)) for pose in poses[::97]])
        self.assertEqual(sum(counts), len(contacts))

    def test_lists_that_outgrow_their_room(self):
        rays = [(3.2 + 1e-6 * i, 3.3, 9, 0, 0, -1) for i in range(70_000)]
        first, hits = self.world.cast_rays_all(rays)
        self.assertEqual(first[len(rays)], len(hits))
        self.assertEqual(list(first)[:3], [0, *(first[0] + i * (first[1] - first[0]) for i in (1, 2))])
        for at in (0, 40_000, 69_999):
            self.assertEqual(list(hits[first[at]:first[at + 1]]), list(self.world.cast_ray_all(rays[at][:3], rays[at][3:])))
        boxes = [(-1e3, -1e3, -1e3, 1e3, 1e3, 1e3 + i) for i in range(20_000)]
        first, bodies = self.world.overlap_aabbs(boxes)
        self.assertEqual((first[20_000], len(bodies)), (40_000, 40_000))
        many = carom.World()
        ids = [many.add_body(shape=carom.Shape(type="sphere", radius=1), pose=((i, 0, 0), None)) for i in range(20)]
        first, bodies = many.overlap_aabbs(boxes)  # ten times the room that there is at first
        self.assertEqual(sorted(bodies[first[17_000]:first[17_001]]), sorted(ids))

    def test_elements(self):
        positions = [(0.2, 0.2, 1), (0, 0, 0), (1, 0, 0), (0, 1, 0)] * 210_000
        end = [(0.2, 0.2, -1), (0, 0, 0), (1, 0, 0), (0, 1, 0)] * 210_000
        times, hits = carom.sweep_test_pairs("vertex_face", positions, end)
        at = 205_000
        one_time, one_hit = carom.sweep_test_pairs("vertex_face", positions[4 * at:4 * at + 4], end[4 * at:4 * at + 4])
        self.assertEqual(times[at], one_time[0])
        found = [i for i in range(150_000, 210_000, 1000) if times[i] < carom.inf]
        for i in found:
            self.assertEqual(tuple(hits[i].vertices), tuple(range(4 * i, 4 * i + 4)))
        self.assertTrue(found)
        distances, points = carom.point_triangle_distances(positions)
        self.assertEqual(distances[at], carom.point_triangle_distance(positions[4 * at], positions[4 * at + 1:4 * at + 4])[0])
        with self.assertRaisesRegex(carom.InvalidArgument, "vertex 1 of record 209999 is 9"):
            carom.orientations(positions[:8], [(0, 1, 2, 3)] * 209_999 + [(0, 9, 2, 3)])

    def test_errors_name_the_query_in_the_batch(self):
        ball = carom.Shape(type="sphere", radius=1)
        poses = [((0, 0, 3), None)] * 3000
        poses[2999] = ((0, 0, float("nan")), None)
        for ask in (self.world.collide_shapes, self.world.closest_bodies):
            with self.assertRaisesRegex(carom.InvalidArgument, r"shapes\[2999\]: ") as caught:
                ask(ball, poses)
            self.assertIn("[2999]", caught.exception.field or "")
        results = memoryview(bytearray(4 * 3000)).cast("i")
        self.world.closest_bodies(ball, poses, results=results)
        self.assertEqual([i for i, result in enumerate(results) if result], [2999])
        rays = [(0, 0, 9, 0, 0, -1)] * 70_000
        rays[69_000] = (0, 0, 9, 0, 0, float("inf"))
        with self.assertRaisesRegex(carom.InvalidArgument, r"rays\[69000\]: "):
            self.world.cast_rays(rays)
        with self.assertRaisesRegex(carom.InvalidArgument, r"max_distance"):
            self.world.closest_points([(0, 0, 0)] * 20_000, max_distance=-1)
