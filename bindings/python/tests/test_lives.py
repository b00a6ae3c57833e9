"""Leaks, threads, and what a step costs in memory."""

import gc
import resource
import sys
import threading
import unittest

import carom
from support import ball_on_ground, cube, needs_numpy, numpy


def resident():
    """Bytes of this process that are in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


class Leaks(unittest.TestCase):
    def use(self, world, ball, rounds):
        for i in range(rounds):
            world.set_pose(ball, (0, 0, 0.45 - 0.0001 * (i % 10), 0, 0, 0, 1))
            world.step()
            contact = world.contacts[0]
            world.set_impulse(0, contact.normal)
            view = memoryview(world.contacts)
            view.release()
            if world.cast_ray((0, 0, 3), (0, 0, -1), filter=carom.QueryFilter()) is None:
                raise AssertionError
            try:
                world.set_pose(0, None)
            except carom.InvalidBody:
                pass

    def test_steps_leak_nothing(self):
        world, ground, ball = ball_on_ground(context=carom.Context(thread_count=1))
        self.use(world, ball, 2000)
        gc.collect()
        before, memory, library = sys.getallocatedblocks(), resident(), world.context.memory_in_use
        self.use(world, ball, 5000)
        gc.collect()
        self.assertLess(sys.getallocatedblocks() - before, 500)  # a leak in each round: 5000
        self.assertEqual(world.context.memory_in_use, library)
        self.use(world, ball, 20000)
        self.assertLess(resident() - memory, 4 << 20)

    def test_objects_leak_nothing(self):
        def make():
            context = carom.Context(thread_count=1)
            world, ground, ball = ball_on_ground(context=context)
            mesh = cube(context=context)
            world.add_body(shape=mesh)
            world.add_body(parts=[(mesh, None)])
            world.get_body(world.body_ids()[2])
            world.step()
            world.snapshot()
            carom.Mesh.load(mesh.save(), context=context)
            mesh.vertices[1:3].copy()
            repr(world.get_body(ball))
            try:
                carom.Mesh([(0, 0, 0)], [(0, 1, 2)], context=context)
            except carom.InvalidMesh:
                pass

        gc.collect()
        before, memory = sys.getallocatedblocks(), resident()
        for _ in range(200):
            make()
        gc.collect()
        self.assertLess(sys.getallocatedblocks() - before, 150)  # a leak in each round: 200
        self.assertLess(resident() - memory, 8 << 20)


class Closing:
    """Stands for a number or a sequence; whoever converts it closes the world first."""

    def __init__(self, world):
        self.world = world

    def __float__(self):
        self.world.close()
        return 1.0

    def __index__(self):
        self.world.close()
        return 0

    def __len__(self):
        return 8

    def __getitem__(self, index):
        self.world.close()
        raise IndexError

    def __iter__(self):
        self.world.close()
        return iter([])


class Conversions(unittest.TestCase):
    """A call converts its arguments first and then looks at the world, which they may have closed, or refuses to let it be closed."""

    calls = {
        "in": lambda w, i, m, e: e in w,
        "cast_ray": lambda w, i, m, e: w.cast_ray((e, 0, 0), (1, 0, 0)),
        "closest_point": lambda w, i, m, e: w.closest_point((e, 0, 0)),
        "collide_shape": lambda w, i, m, e: w.collide_shape(m, ((e, 0, 0), (0, 0, 0, 1))),
        "earliest_body_impact": lambda w, i, m, e: w.earliest_body_impact(e),
        "get_pose": lambda w, i, m, e: w.get_pose(e),
        "is_body": lambda w, i, m, e: w.is_body(e),
        "overlap_aabb": lambda w, i, m, e: w.overlap_aabb((e, 0, 0), (1, 1, 1)),
        "remove_body": lambda w, i, m, e: w.remove_body(e),
        "reserve": lambda w, i, m, e: w.reserve(e, e, e),
        "set_body_pair_data": lambda w, i, m, e: w.set_body_pair_data(0, e),
        "set_body_pair_data number": lambda w, i, m, e: w.set_body_pair_data(e, 1),
        "set_filter": lambda w, i, m, e: w.set_filter(i, e, e, e),
        "set_impulse": lambda w, i, m, e: w.set_impulse(0, (e, 0, 0)),
        "set_impulse number": lambda w, i, m, e: w.set_impulse(e, (0, 0, 0)),
        "set_pair_data": lambda w, i, m, e: w.set_pair_data(0, e),
        "set_pair_data number": lambda w, i, m, e: w.set_pair_data(e, 1),
        "set_part_data": lambda w, i, m, e: w.set_part_data(i, 0, e),
        "set_pose": lambda w, i, m, e: w.set_pose(i, ((e, 0, 0), (0, 0, 0, 1))),
        "set_sphere_impulse": lambda w, i, m, e: w.set_sphere_impulse(0, (e, 0, 0)),
        "set_spheres": lambda w, i, m, e: w.set_spheres(e, [[0, 0, 0]]),
        "set_surface_impulse": lambda w, i, m, e: w.set_surface_impulse(0, (e, 0, 0)),
        "set_surface_shape_impulse": lambda w, i, m, e: w.set_surface_shape_impulse(0, (e, 0, 0)),
        "set_traits": lambda w, i, m, e: w.set_traits(i, thickness=e),
        "set_user_data": lambda w, i, m, e: w.set_user_data(i, e),
        "shift_origin": lambda w, i, m, e: w.shift_origin((e, 0, 0)),
    }

    def test_a_number_may_close_the_world(self):
        for name, call in self.calls.items():
            with self.subTest(call=name):
                context = carom.Context(thread_count=1)
                world = carom.World(context=context)
                mesh = cube(context=context)
                body = world.add_body(shape=mesh)
                world.add_body(shape=mesh, pose=((0.5, 0, 0), (0, 0, 0, 1)))
                world.step()
                with self.assertRaisesRegex((ValueError, RuntimeError), "the world is closed|another call is using this world"):
                    call(world, body, mesh, Closing(world))


class Threads(unittest.TestCase):
    def test_two_worlds_in_two_threads_have_the_hashes_of_one(self):
        def run(hashes):
            world = carom.World()
            bodies = [world.add_body(shape=cube(), pose=((0.4 * i, 0.2 * i, 0), (0, 0, 0.6, 0.8))) for i in range(15)]
            for step in range(20):
                for i, body in enumerate(bodies):
                    world.set_pose(body, ((0.4 * i, 0.2 * i, 0.01 * step * (i % 3)), (0, 0, 0.6, 0.8)))
                world.step()
                hashes.append(world.hash)

        alone, together = [], [[], [], []]
        run(alone)
        threads = [threading.Thread(target=run, args=(hashes,)) for hashes in together]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for hashes in together:
            self.assertEqual(hashes, alone)

    def test_one_world_in_two_threads_is_refused_and_stays_whole(self):
        """A call that overlaps with another one on the same world raises; each step is done or refused."""
        world = carom.World()
        for i in range(40):
            world.add_body(shape=cube(), pose=((0.4 * (i % 7), 0.4 * (i // 7), 0.1 * i), (0, 0, 0.6, 0.8)))
        done, refused, stop = [0, 0], [0, 0], []

        def step(k):
            for _ in range(60):
                try:
                    world.step()
                    done[k] += 1
                except RuntimeError as error:
                    stop.append(str(error))
                    refused[k] += 1

        threads = [threading.Thread(target=step, args=(k,)) for k in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sum(done) + sum(refused), 120)
        self.assertEqual(world.stats.step, sum(done))
        self.assertTrue(all("another call is" in text for text in stop))

    def test_queries_of_one_world_in_many_threads(self):
        world, ground, ball = ball_on_ground()
        rays = [(0.01 * i, 0, 3, 0, 0, -1) for i in range(200)]
        expected, failures = bytes(world.cast_rays(rays)), []

        def ask():
            for _ in range(400):  # free lists of the interpreter fill
                if bytes(world.cast_rays(rays)) != expected:
                    failures.append("differs")

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_the_interpreter_goes_on_while_the_library_works(self):
        """The GIL is let go: another thread counts while one thread is in the library the whole time."""
        mesh = cube()
        world = carom.World()
        for i in range(60):
            world.add_body(shape=mesh, pose=((0.3 * (i % 8), 0.3 * (i // 8), 0), None))
        counted, stop = [0], threading.Event()

        def count():
            while not stop.is_set():
                counted[0] += 1

        thread = threading.Thread(target=count)
        thread.start()
        while counted[0] == 0:
            pass
        started = counted[0]
        while counted[0] < started + 1000:
            world.step()
        stop.set()
        thread.join()
        self.assertGreaterEqual(counted[0], started + 1000)
