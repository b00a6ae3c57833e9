"""Graphics devices: the list, a device and what lives by it, spheres on it, and grains whose steps run there. Skipped without a device."""

import gc
import math
import os
import pickle
import tempfile
import unittest
from pathlib import Path

import carom

DEVICES = [info for info in carom.list_devices() if info.usable]
needs_device = unittest.skipUnless(DEVICES, "there is no graphics device (Debian: apt-get install mesa-vulkan-drivers)")


def first_device(**settings):
    """The first one that can be used, by its index: a driver on the processor is never chosen by itself."""
    index = [info.usable for info in carom.list_devices()].index(True)
    return carom.Device(choice=str(index), **settings)


class Absent(unittest.TestCase):
    def test_none_of_that_name(self):
        with self.assertRaises(carom.Unsupported):
            carom.Device(choice="no such device")

    def test_misuse(self):
        for wrong, words in (({"choice": 3}, "str"), ({"choice": "a\0b"}, "choice has a null character"), ({"tier": "fastest"}, "DeviceTier"),
                             ({"memory_budget": -1}, "memory_budget"), ({"vulkan": 1}, "DeviceDef has no vulkan"), ({"context": 1}, "Context")):
            with self.subTest(wrong), self.assertRaisesRegex((TypeError, ValueError, OverflowError), words):
                carom.Device(**wrong)
        with self.assertRaisesRegex(TypeError, "device is .*; it must be a Device"):
            carom.Spheres(device=1)
        with self.assertRaisesRegex(carom.InvalidArgument, "device"):
            carom.Grains(count=3, time_step=1e-3)

    def test_settings(self):
        settings = carom.DeviceDef(choice="auto", cache_path=Path("kernels"), timing=True)
        self.assertEqual((settings.choice, settings.cache_path), ("auto", "kernels"))
        self.assertEqual(pickle.loads(pickle.dumps(settings)), settings)
        self.assertEqual(settings.replace(choice=None).choice, None)
        self.assertIsNone(carom.DeviceDef().choice)
        self.assertIsNone(carom.SpheresDef(device=None).device)


@needs_device
class Lives(unittest.TestCase):
    def test_info(self):
        with first_device() as device:
            self.assertEqual(device.info.name, DEVICES[0].name)
            self.assertIn(DEVICES[0].name, repr(device))
            self.assertEqual(device.info.lacks, "")
        self.assertEqual(repr(device), "<carom.Device: closed>")
        for use in (lambda: device.info, lambda: device.stats, device.kernels, lambda: carom.Spheres(method="device", device=device)):
            with self.assertRaisesRegex(ValueError, "the device is closed"):
                use()
        device.close()

    def test_what_uses_it_holds_it(self):
        context = carom.Context(thread_count=1)
        device = first_device(context=context)
        settings = carom.SpheresDef(method="device", device=device)
        spheres = carom.Spheres(settings)
        with self.assertRaisesRegex(ValueError, "1 objects that use the device are still there"):
            device.close()
        with self.assertRaisesRegex(ValueError, "the device is of another context"):
            carom.Spheres(settings, context=carom.Context(thread_count=1))
        with self.assertRaisesRegex(TypeError, "pickle"):
            pickle.dumps(settings)
        other = device
        del device, settings
        spheres.update([(0, 0, 0), (0.5, 0, 0)], [0.5, 0.5])
        self.assertEqual([(pair.a, pair.b) for pair in spheres.find_pairs()], [(0, 1)])
        del spheres
        gc.collect()
        settings = carom.SpheresDef(method="device", device=other)
        other.close()
        with self.assertRaisesRegex(ValueError, "the device is closed"):
            carom.Spheres(settings)
        del other, settings
        gc.collect()
        context.close()

    def test_a_file_of_kernels(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "kernels")
            for used in (False, True):
                with first_device(cache_path=path) as device:
                    self.assertEqual(device.stats.cache_used, used)
                    spheres = carom.Spheres(method="device", device=device)
                    spheres.update([(0, 0, 0), (0.5, 0, 0)], [0.5, 0.5])
                    spheres.find_pairs()
                    del spheres
                self.assertTrue(path.exists())

    def test_no_memory(self):
        with first_device(memory_budget=100000) as device:
            spheres = carom.Spheres(method="device", device=device)
            with self.assertRaises(carom.OverBudget):
                spheres.update([(i, 0, 0) for i in range(1000)], [0.5] * 1000)
            del spheres

    def test_pairs_are_the_processors(self):
        centres = [((i * 37 % 101) / 20, (i * 53 % 97) / 20, (i * 71 % 89) / 20) for i in range(300)]
        radii = [0.1 + (i * 13 % 7) / 20 for i in range(300)]
        answers = []
        with first_device(timing=True) as device:
            for settings in ({"method": "tree"}, {"method": "device", "device": device}):
                spheres = carom.Spheres(**settings)
                spheres.update(centres, radii)
                answers.append(bytes(spheres.find_pairs()))
            self.assertEqual(spheres.stats.device_fallbacks, 0)
            self.assertTrue(any(kernel.calls > 0 and kernel.ms > 0 for kernel in device.kernels()))
            self.assertGreater(device.stats.dispatches, 0)
            del spheres
        self.assertEqual(*answers)


    def test_pairs_that_stay_there(self):
        centres = [((i * 37 % 101) / 20, (i * 53 % 97) / 20, (i * 71 % 89) / 20) for i in range(300)]
        with first_device() as device:
            spheres = carom.Spheres(method="device", device=device)
            spheres.update(centres, [0.2] * 300)
            there = spheres.find_device_pairs()
            copy = device.read(there.pairs, size=8 * there.count)
            first = memoryview(device.read(there.first, size=8 * 301)).cast("Q")
            self.assertEqual((first[0], first[300]), (0, there.count))
            self.assertNotEqual(there.pairs.address, 0)
            self.assertEqual(bytes(copy), bytes(spheres.find_pairs()))
            self.assertEqual(device.read(there.pairs, 8, 16), copy[8:24])
            with self.assertRaisesRegex(ValueError, "must lie within"):
                device.read(there.pairs, there.pairs.size, 1)
            with self.assertRaisesRegex(TypeError, "it must be a DeviceBuffer"):
                device.read(there)
            with self.assertRaisesRegex(carom.InvalidArgument, "not device"):
                carom.Spheres().find_device_pairs()
            del spheres

    def test_spheres_on_several(self):
        centres = [((i * 37 % 101) / 20, (i * 53 % 97) / 20, (i * 71 % 89) / 20) for i in range(300)]
        context = carom.Context(thread_count=1)
        devices = [first_device(context=context) for _ in range(3)]
        spheres = carom.Spheres(method="device", device=devices[0], context=context)
        answers = []
        for count in (1, 2, 3):
            spheres.set_devices(devices[:count])
            spheres.update(centres, [0.2] * 300)
            answers.append(bytes(spheres.find_pairs()))
        self.assertEqual(len(set(answers)), 1)
        with self.assertRaisesRegex(ValueError, "1 objects that use the device are still there"):
            devices[2].close()
        with self.assertRaisesRegex(carom.InvalidArgument, "count is 0"):
            spheres.set_devices([])
        with self.assertRaisesRegex(TypeError, "must be a Device"):
            spheres.set_devices([1])
        del spheres
        for device in devices:
            device.close()


@needs_device
class Features(unittest.TestCase):
    SQUARE = [(x, y, 0) for x in range(5) for y in range(5)]
    TRIANGLES = [t for x in range(4) for y in range(4) for i in [5 * x + y] for t in ((i, i + 5, i + 6), (i, i + 6, i + 1))]
    FALLING = [(0.9 * x + 0.21, 0.9 * y + 0.13, 0.2 + 0.05 * x) for x, y, _ in SQUARE]

    def find_twice(self, kind, find):
        """Search a scene of this kind on the processor and on a device, which it holds."""
        answers = []
        with first_device() as device:
            for settings in ({}, {"device": device}):
                scene = kind(**settings)
                scene.add_mesh(self.SQUARE, self.TRIANGLES)
                answers.append(bytes(find(scene, scene.add_mesh(self.FALLING, self.TRIANGLES))))
            self.assertGreater(scene.stats.device_left, 0)
            self.assertEqual(scene.stats.device_fallbacks, 0)
            with self.assertRaisesRegex(ValueError, "1 objects that use the device"):
                device.close()
            del scene
        self.assertGreater(len(answers[0]), 0)
        self.assertEqual(*answers)

    def test_impacts_are_the_processors(self):
        def find(sweep, moving):
            sweep.move_mesh(moving, [(x, y, z - 0.3) for x, y, z in self.FALLING])
            return sweep.find()
        self.find_twice(carom.Sweep, find)

    def test_near_pairs_are_the_processors(self):
        self.find_twice(carom.Proximity, lambda scene, _: scene.find(0.3)[0])


@unittest.skipUnless(DEVICES and DEVICES[0].doubles, "there is no graphics device with doubles")
class Worlds(unittest.TestCase):
    def test_contacts_are_the_processors(self):
        n, m = 24, 12
        angles = [(2 * math.pi * i / n, 2 * math.pi * k / m) for i in range(n) for k in range(m)]
        places = [((1 + 0.4 * math.cos(b)) * math.cos(a), (1 + 0.4 * math.cos(b)) * math.sin(a), 0.4 * math.sin(b)) for a, b in angles]
        at = lambda i, k: i % n * m + k % m
        triangles = [t for i in range(n) for k in range(m) for t in
                     ((at(i, k), at(i + 1, k), at(i + 1, k + 1)), (at(i, k), at(i + 1, k + 1), at(i, k + 1)))]
        mesh = carom.Mesh(places, triangles)
        answers = []
        with first_device(always=True) as device:
            for on_device in (False, True):
                world = carom.World(temporal="none")
                if on_device:
                    world.set_device(device)
                for i in range(8):
                    world.add_body(shape=carom.Shape(type="mesh", mesh=mesh), pose=((2.5 * i, 0.03 * i, 0.02 * i), None))
                world.step()
                answers.append(bytes(world.contacts))
            self.assertGreater(world.stats.rays_on_device, 0)
            with self.assertRaisesRegex(ValueError, "1 objects that use the device"):
                device.close()
            world.set_device(None)
            with first_device(always=True) as second:
                for world in (carom.World(temporal="none") for _ in range(2)):
                    world.set_devices([second, device])
                    for i in range(8):
                        world.add_body(shape=carom.Shape(type="mesh", mesh=mesh), pose=((2.5 * i, 0.03 * i, 0.02 * i), None))
                    world.step()
                    answers.append(bytes(world.contacts))
                    self.assertGreater(world.stats.rays_on_device, 0)
                    with self.assertRaisesRegex(ValueError, "objects that use the device"):
                        second.close()
                    with self.assertRaisesRegex(carom.InvalidArgument, "devices"):
                        world.set_devices([device, device])
                    for wrong, error in (([3], TypeError), (3, TypeError), ([device] * 17, ValueError), (None, TypeError)):
                        with self.assertRaisesRegex(error, "devices"):
                            world.set_devices(wrong)
                    world.set_devices((), True)
            device.close()
            with self.assertRaisesRegex(ValueError, "the device is closed"):
                world.set_device(device)
            with self.assertRaisesRegex(TypeError, "it must be a Device"):
                world.set_device(3)
            world.step()
            self.assertEqual(world.stats.rays_on_device, 0)
        self.assertGreater(len(answers[0]), 0)
        self.assertEqual(set(answers), {answers[0]})
        self.assertEqual(len(answers), 4)


LAW = carom.GrainLaw(stiffness=1000)


@unittest.skipUnless(DEVICES and DEVICES[0].doubles, "there is no graphics device with doubles")
class Grains(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.device = first_device(always=True)

    @classmethod
    def tearDownClass(cls):
        gc.collect()
        cls.device.close()

    def grains(self, **settings):
        return carom.Grains(carom.GrainsDef(**{"device": self.device, "time_step": 1e-3, "spheres": LAW, "walls": LAW, **settings}))

    def test_two_meet_and_part(self):
        """Equal masses exchange their velocities."""
        grains = self.grains(count=2)
        grains.set_state([(0, 0, 0, 0.5), (1.001, 0, 0, 0.5)], [(1, 0, 0, 1), (0, 0, 0, 1)])
        steps = grains.advance(130)
        self.assertEqual((steps[0].contacts, steps[0].list_built), (0, True))
        self.assertTrue(any(step.contacts == 1 and step.max_overlap > 0.01 for step in steps))
        self.assertEqual(steps[-1].contacts, 0)
        first, second = grains.state()["motions"]
        self.assertAlmostEqual(first[0], 0, 2)
        self.assertAlmostEqual(second[0], 1, 2)

    def test_a_wall_bounces(self):
        grains = self.grains(count=1)
        floor = carom.GrainWall(normal=(0, 1, 0))
        grains.set_state([(0, 0.6, 0, 0.5)], [(0, 0, 0, 1)])
        steps = grains.advance(count=340, gravity=(0, -9.81, 0), walls=[floor])
        self.assertEqual(max(step.wall_contacts for step in steps), 1)
        self.assertGreater(grains.state()["places"][0][1], 0.4)
        # Steps with moments of their own: here all are alike.
        again = self.grains(count=1)
        again.set_state([(0, 0.6, 0, 0.5)], [(0, 0, 0, 1)])
        again.advance_moments([((0, -9.81, 0), [floor])] * 340)
        self.assertEqual(bytes(again.state()["places"]), bytes(grains.state()["places"]))
        # A wall that goes away is not reached.
        away = self.grains(count=1)
        away.set_state([(0, 0.6, 0, 0.5)], [(0, 0, 0, 1)])
        steps = away.advance_moments([((0, 0, 0), [floor.replace(offset=-0.01 * i)]) for i in range(20)])
        self.assertEqual(sum(step.wall_contacts for step in steps), 0)

    def test_a_state_goes_on_bit_for_bit(self):
        law = LAW.replace(tangential=True, tangential_stiffness=300.0, damping=2.0, friction=0.5, rolling=True, rolling_friction=0.1)
        settings = {"count": 27, "turns": True, "spheres": law, "walls": law, "wall_springs": 1, "skin": 0.02}
        floor = carom.GrainWall(normal=(0, 1, 0), offset=0.0)
        places = [(0.9 * (i % 3) + 0.01 * (i % 5), 0.45 + 0.9 * (i // 9), 0.9 * (i // 3 % 3), 0.5) for i in range(27)]
        start = {"places": places, "motions": [(0.1, 0, 0, 1)] * 27, "spins": [(0, 0, 0.2, 10)] * 27}
        whole, half, rest = (self.grains(**settings) for _ in range(3))
        whole.set_state(**start)
        whole.advance(40, (0, -9.81, 0), [floor])
        half.set_state(**start)
        half.advance(20, (0, -9.81, 0), [floor])
        state = half.state()
        self.assertGreater(len(state["other"]), 20)
        self.assertEqual(state["first"][27], len(state["springs"]))
        rest.set_state(**state)
        rest.advance(20, (0, -9.81, 0), [floor])
        for name, array in whole.state().items():
            self.assertEqual(bytes(rest.state()[name]), bytes(array), name)
        self.assertEqual(rest.stats.steps, 20)
        self.assertGreater(rest.stats.step_down, 0)
        buffers = rest.buffers()
        self.assertGreaterEqual(buffers.places.size, 27 * 4 * 8)
        self.assertNotEqual(buffers.places.address, 0)
        rest.set_moved()
        self.assertTrue(rest.advance(1, walls=[floor])[0].list_built)

    def test_wrong_states(self):
        grains = self.grains(count=2)
        places, motions = [(0, 0, 0, 0.5), (2, 0, 0, 0.5)], [(0, 0, 0, 1)] * 2
        for wrong, words in (({"places": places[:1]}, "places"), ({"motions": [(0, 0, 0)] * 2}, "motions"), ({"first": [0, 0, 0]}, "given together"),
                             ({"first": [0, 1, 2], "other": [1], "springs": [(0, 0, 0)]}, "other"),
                             ({"places": [(0, 0, 0, 0.5), (math.nan, 0, 0, 0.5)]}, "sphere 1: its numbers must be finite"), ({"places": [(0, 0, 0, 0.5), (2, 0, 0, 0)]}, "sphere 1: .* radius")):
            with self.subTest(wrong), self.assertRaisesRegex((ValueError, TypeError, OverflowError), words):
                grains.set_state(**{"places": places, "motions": motions, **wrong})
        grains.set_state(places, motions)
        for wrong, words in (((-1,), "count"), ((1, (0, 0)), "gravity"), ((1, (0, 0, 0), [1]), r"walls\[0\] is 1"), ((1, (0, 0, 0), 1), "walls must be")):
            with self.subTest(wrong), self.assertRaisesRegex((ValueError, TypeError, OverflowError), words):
                grains.advance(*wrong)
        for wrong, words in ((1, "moments must be"), ([1], r"moments\[0\]"), ([((0, 0, 0), [], 1)], r"moments\[0\]"), ([((0, 0), [])], "gravity")):
            with self.subTest(wrong), self.assertRaisesRegex((ValueError, TypeError, OverflowError), words):
                grains.advance_moments(wrong)
        self.assertEqual(len(grains.advance(0)), 0)
        self.assertEqual(len(grains.advance_moments([])), 0)
        with self.assertRaises(TypeError):
            carom.Grains(carom.SpheresDef())


if __name__ == "__main__":
    unittest.main()
