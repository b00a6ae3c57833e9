"""carom.sim: a run is that of the command, its views follow the rules of the package, and what is wrong is named."""

import doctest
import gc
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import carom
from support import SOURCE, needs_numpy, numpy

try:
    import carom.sim as sim
except ImportError as reason:
    sim = None
    why_not = str(reason)

SCENES = SOURCE / "scenes"
BALL = {"name": "ball", "shape": "sphere", "radius": 0.5, "position": [0, 2, 0]}
GROUND = {"shape": "plane", "kind": "static", "rotation": {"axis": [1, 0, 0], "degrees": -90}}
BALLS = {"bodies": {"list": [BALL, GROUND]}}
CLOTH = {"time_step": 1 / 120,
         "deforming": {"list": [{"form": "sheet", "divisions": [6, 6], "size": [1, 1]}]}}
GRAINS = {"time_step": 1e-4, "spheres": {"box": {"lower": [0, 0, 0], "upper": [1, 1, 1]},
          "list": [{"random": 60, "radius": [0.04, 0.06], "seed": 3, "apart": True}]}}
MIXED = {"time_step": 0.002, "meshes": {"lump": {"shape": "lumpy", "triangles": 100, "fit": [0.2, 0.2, 0.2], "centre": True}},
         "bodies": {"list": [{"name": "ball", "shape": "mesh", "mesh": "lump", "position": [0.5, 0.7, 0.5], "mass": 2}]},
         "deforming": {"obstacles": ["ball"], "two_way": True,
                       "list": [{"form": "sheet", "size": [0.6, 0.6], "divisions": [4, 4], "position": [0.5, 0.59, 0.5]}]},
         "spheres": {"substeps": 20, "box": {"lower": [0, 0, 0], "upper": [1, 1, 1]}, "obstacles": ["ball"], "two_way": True,
                     "list": [{"random": 40, "radius": [0.02, 0.03], "seed": 7}]}}


def command_hash(scene, steps):
    """The hash that the command prints; the case is skipped without it."""
    command = os.environ.get("CAROM")
    if not command:
        raise unittest.SkipTest("CAROM does not name the command")
    done = subprocess.run([command, "run", str(scene), "--steps", str(steps), "--json"], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)["hash"]


class Absent(unittest.TestCase):
    def test_import_says_why(self):
        program = "import sys; sys.modules['carom._sim'] = None\ntry: import carom.sim\nexcept ImportError as e: print(e)"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        self.assertIn("carom.sim runs scenes by ODE and HDF5", done.stdout)
        self.assertIn("CAROM_BUILD_TOOLS", done.stdout)

    def test_package_without_it(self):
        program = "import carom, sys; carom.World().step(); print('carom._sim' in sys.modules, 'carom.sim' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.split(), ["False", "False"])


@unittest.skipUnless(sim, "carom.sim is not built")
class Same(unittest.TestCase):
    """Hashes of the command, after the same steps, whatever is looked at in between."""

    def check(self, name, steps, **settings):
        with sim.open(SCENES / name, **settings) as run:
            for _ in range(steps):
                run.step()
                run.hash(), run.stats, run.spheres, run.deforming, run.contacts, run.sorted_spheres()
            self.assertEqual(run.frame, steps)
            self.assertAlmostEqual(run.time, steps * run.time_step)
            self.assertEqual(f"{run.hash():016x}", command_hash(SCENES / name, steps))
            return run.hash()

    def test_bodies(self):
        self.assertEqual(self.check("pile27.json", 20, thread_count=1), self.check("pile27.json", 20, thread_count=3))

    def test_sources(self):
        self.check("fountain.json", 12)

    def test_all_sections(self):
        self.assertEqual(self.check("together.json", 2, thread_count=1), self.check("together.json", 2, thread_count=2))

    def test_spheres_that_meet_bodies(self):
        self.check("belt.json", 2)

    def test_a_dict_is_its_file(self):
        with tempfile.TemporaryDirectory() as folder:
            for number, scene in enumerate((BALLS, CLOTH, GRAINS)):
                path = Path(folder, f"{number}.json")
                path.write_text(json.dumps(scene))
                with sim.open(scene) as run, sim.open(path) as other:
                    run.step(5)
                    other.step(5)
                    self.assertEqual(run.hash(), other.hash())
                    self.assertEqual(f"{run.hash():016x}", command_hash(path, 5))


@unittest.skipUnless(sim, "carom.sim is not built")
class Looking(unittest.TestCase):
    def test_bodies(self):
        with sim.open(SCENES / "pile27.json") as run:
            run.step(3)
            self.assertEqual(run.bodies.poses.shape, (len(run.bodies), 7))
            self.assertEqual(run.bodies.velocities.shape, (len(run.bodies), 6))
            self.assertLess(min(row[1] for row in run.bodies.velocities), -0.1)
            body = next(body for body in run.bodies if body.kind == carom.BodyKind.DYNAMIC)
            self.assertIsInstance(body.shapes[0].shape.mesh, carom.Mesh)
            self.assertIs(run.bodies[-1].shapes[0].shape.mesh, run.bodies[len(run.bodies) - 1].shapes[0].shape.mesh)
            self.assertIsNone(run.spheres)
            self.assertIsNone(run.sorted_spheres())
            self.assertIsNone(run.deforming)
            self.assertEqual(list(run.stats), ["bodies"])
            with self.assertRaises(IndexError):
                run.bodies[len(run.bodies)]

    def test_a_world_of_the_bodies_has_the_contacts(self):
        """Shapes, poses and filters are complete: a world that is made of them finds the pairs that the run finds in its next step."""
        scene = json.loads((SCENES / "pile27.json").read_text())
        scene["bodies"]["max_substeps"] = 1
        with sim.open(scene) as run:
            run.step(60)
            world = carom.World()
            ids = [world.add_body(shape=body.shapes[0].shape, kind=body.kind, pose=tuple(pose), category=body.category, mask=body.mask,
                                  group=body.group) for body, pose in zip(run.bodies, run.bodies.poses)]
            world.step()
            of_world = {frozenset((ids.index(c.body_a), ids.index(c.body_b))) for c in world.contacts}
            run.step()
            numbers = list(run.bodies.ids)
            of_run = {frozenset((numbers.index(c.body_a), numbers.index(c.body_b))) for c in run.contacts}
            self.assertGreater(len(of_run), 5)
            self.assertEqual(of_world, of_run)

    def test_parts_and_hulls(self):
        for name in ("furniture.json", "convex.json"):
            with sim.open(SCENES / name) as run:
                body = max(run.bodies, key=lambda body: len(body.shapes))
                types = {part.shape.type.name for body in run.bodies for part in body.shapes}
                if name == "furniture.json":
                    self.assertGreater(len(body.shapes), 1)
                    self.assertNotEqual(body.shapes[0].pose, body.shapes[1].pose)
                else:
                    self.assertIn("HULL", types)

    @needs_numpy
    def test_spheres(self):
        with sim.open(GRAINS) as run:
            run.step(20)
            found, ordered = run.spheres, run.sorted_spheres()
            self.assertEqual(found.centres.shape, (60, 3))
            self.assertIsNone(ordered.ids)
            ids = numpy.array(found.ids)
            for name in ("centres", "radii", "velocities"):
                self.assertTrue(numpy.array_equal(numpy.array(getattr(found, name)), numpy.array(getattr(ordered, name))[ids]), name)
            self.assertTrue((numpy.array(found.radii) >= 0.04).all())
            self.assertEqual(run.stats["spheres"]["contacts"], 0)
            del found

    @needs_numpy
    def test_cloth(self):
        with sim.open(CLOTH) as run:
            before = numpy.array(run.deforming.vertices)
            run.step(3)
            after = numpy.array(run.deforming.vertices)
            self.assertEqual(before.shape, (49, 3))
            self.assertTrue((after[:, 1] < before[:, 1]).all())
            triangles = run.deforming.triangles
            run.step()
            self.assertEqual(len(triangles), 72)  # it stays
            self.assertEqual(list(run.deforming.first_vertices), [0, 49])
            self.assertEqual(run.stats["deforming"]["searches"] > 0, True)


@unittest.skipUnless(sim, "carom.sim is not built")
class Rules(unittest.TestCase):
    def test_a_view_stops_a_step(self):
        with sim.open(BALLS) as run:
            look = memoryview(run.bodies.poses)
            with self.assertRaisesRegex(BufferError, "1 arrays look at the state of the run"):
                run.step()
            with self.assertRaises(BufferError):
                run.close()
            self.assertEqual(run.frame, 0)
            look.release()
            old = run.bodies.poses
            run.step()
            with self.assertRaisesRegex(BufferError, "this view has ended"):
                old[0]

    def test_closed(self):
        run = sim.open(BALLS)
        poses, bodies = run.bodies.poses, run.bodies
        self.assertIn("step 0 of 600", repr(run))
        run.close()
        run.close()
        self.assertTrue(run.closed)
        self.assertIn("closed", repr(run))
        with self.assertRaises(BufferError):
            poses[0]
        for call in (run.step, run.hash, lambda: run.time, lambda: run.contacts, lambda: run.stats, lambda: run.bodies, lambda: len(bodies),
                     lambda: run.spheres, lambda: run.checkpoint("x")):
            with self.assertRaisesRegex(ValueError, "the run is closed"):
                call()

    def test_an_array_holds_the_run(self):
        poses = sim.open(BALLS).bodies.poses
        gc.collect()
        self.assertEqual(poses[0][1], 2.0)

    def test_two_calls_at_once_are_refused(self):
        with sim.open(SCENES / "pile27.json", thread_count=1) as run:
            stop, refused = threading.Event(), 0

            def work():
                while not stop.is_set():
                    run.step(5)

            worker = threading.Thread(target=work)
            worker.start()
            for _ in range(100000):
                try:
                    with memoryview(run.bodies.ids):
                        pass
                except RuntimeError as error:
                    refused += "another call is changing this run" in str(error)
                except BufferError:
                    pass
                if refused:
                    break
            stop.set()
            worker.join()
            self.assertEqual(refused, 1)

    def test_runs_in_threads_do_not_disturb_each_other(self):
        hashes = []

        def work():
            with sim.open(SCENES / "pile27.json", thread_count=1) as run:
                run.step(15)
                hashes.append(run.hash())

        workers = [threading.Thread(target=work) for _ in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(len(hashes), 3)
        self.assertEqual(len(set(hashes)), 1)


@unittest.skipUnless(sim, "carom.sim is not built")
class Misuse(unittest.TestCase):
    def check(self, scene, text, field=None, **settings):
        with self.assertRaises(sim.SceneError) as caught:
            sim.open(scene, **settings)
        self.assertIsInstance(caught.exception, (carom.Error, ValueError))
        self.assertIn(text, str(caught.exception))
        self.assertEqual(caught.exception.field, field)
        return caught.exception

    def test_fields(self):
        wrong = self.check({"bodies": {"list": [{**BALL, "radius": -1}]}}, "radius", "bodies.list[0].radius")
        self.assertEqual((wrong.file, wrong.line), ("scene", 1))
        self.check({"bodies": {"list": [{**BALL, "colour": 1}]}}, "colour", "bodies.list[0].colour")
        self.check({}, "the scene is empty")
        self.check({**GRAINS, "time_step": 0.9, "spheres": {**GRAINS["spheres"], "material": {"stiffness": 1e9}}}, "not below", "time_step")

    def test_files(self):
        with self.assertRaises(FileNotFoundError):
            sim.open("no such scene.json")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "scene.json")
            path.write_text('{"bodies": {\n"list": [1, }}')
            wrong = self.check(path, "scene.json:2: ")
            self.assertEqual((wrong.file, wrong.line), (str(path), 2))
            mesh = {"meshes": {"thing": {"file": "absent.obj"}}, "bodies": {"list": [{"mesh": "thing"}]}}
            self.assertEqual(self.check(mesh, "absent.obj: cannot be opened", "meshes.thing").file, "scene")
            with self.assertRaisesRegex(sim.SceneError, "checkpoint"):
                sim.open(GRAINS, restart=Path(folder, "checkpoint"))
            with self.assertRaisesRegex(sim.SceneError, "recording"):
                sim.open(BALLS, record=Path(folder, "none", "recording"))

    def test_wishes(self):
        self.check(BALLS, 'sphere_count is for scenes with "spheres"', sphere_count=3)
        self.check(BALLS, 'resolution is for scenes with "deforming"', resolution=2)
        self.check(GRAINS, 'record is for scenes with "bodies"', record="x")
        self.check(BALLS, "x: cannot be read, or is no checkpoint", restart="x")
        self.check(BALLS, "no mesh", "meshes", meshes={"none": "x.obj"})
        for wish in ({"thread_count": -1}, {"thread_count": 257}, {"resolution": -1.0}, {"sphere_count": -1}, {"resolution": float("nan")}):
            with self.assertRaisesRegex(carom.InvalidArgument, next(iter(wish))):
                sim.open(BALLS, **wish)
        with self.assertRaises(TypeError):
            sim.open(3.5)
        with self.assertRaises(ValueError):
            sim.open({"gravity": [0, float("nan"), 0], **BALLS})

    def test_steps(self):
        with sim.open(BALLS) as run:
            with self.assertRaisesRegex(ValueError, "count is -1"):
                run.step(-1)
            run.step(0)
            self.assertEqual(run.frame, 0)

    def test_a_step_that_fails(self):
        ball = {"form": "sphere", "radius": 0.5, "divisions": [12, 8]}
        press = {"time_step": 1 / 60, "deforming": {
            "thickness": 0.01, "list": [{"form": "sheet", "size": [1, 1], "divisions": [6, 6]}],
            "movers": [{**ball, "position": [0, -0.6, 0]}, {**ball, "position": [0, 0.6, 0], "motion": {"velocity": [0, -1, 0]}}]}}
        with sim.open(press) as run:
            with self.assertRaisesRegex(sim.SceneError, "scene: step .* is squeezed between") as caught:
                run.step(60)
            self.assertEqual(caught.exception.file, "scene")
            frame = run.frame
            with self.assertRaisesRegex(ValueError, "an earlier step of the run failed"):
                run.step()
            self.assertEqual((run.frame, len(run.deforming.first_vertices)), (frame, 4))
            with self.assertRaisesRegex(ValueError, "no state to go on from"):
                run.checkpoint("x")


@unittest.skipUnless(sim, "carom.sim is not built")
class Files(unittest.TestCase):
    def check_going_on(self, scene, folder):
        path = Path(folder, "half.h5")
        with sim.open(scene) as run:
            run.checkpoint(path)
            run.step(10)
            with sim.open(scene, restart=path) as other:
                self.assertEqual(other.frame, 0)
                other.step(10)
                self.assertEqual(other.hash(), run.hash())
            run.checkpoint(path)
            run.step(10)
            with sim.open(scene, restart=path, thread_count=1) as other:
                self.assertEqual(other.frame, 10)
                other.step(10)
                self.assertEqual(other.hash(), run.hash())
            with self.assertRaises(sim.SceneError):
                run.checkpoint(Path(folder, "none", "half.h5"))

    def test_checkpoint(self):
        for scene in (GRAINS, BALLS, CLOTH, MIXED):
            with self.subTest(scene), tempfile.TemporaryDirectory() as folder:
                self.check_going_on(scene, folder)

    def test_checkpoint_of_another_scene(self):
        with tempfile.TemporaryDirectory() as folder, sim.open(MIXED) as run:
            path = Path(folder, "half.h5")
            run.step(2)
            run.checkpoint(path)
            with self.assertRaisesRegex(sim.SceneError, 'scene: field "time_step": differs from that of the run which wrote .*half.h5'):
                sim.open({**MIXED, "time_step": 0.003}, restart=path)
            with self.assertRaisesRegex(sim.SceneError, "is no checkpoint of a granular simulation"):
                sim.open(GRAINS, restart=path)
            with sim.open({**MIXED, "steps": 7, "name": "other"}, restart=path) as other:
                self.assertEqual(other.frame, 2)
            path.write_bytes(path.read_bytes()[:-100])
            with self.assertRaisesRegex(sim.SceneError, "half.h5: is damaged"):
                sim.open(MIXED, restart=path)

    @unittest.skipUnless(os.environ.get("CAROM"), "the command is not built")
    def test_checkpoint_and_command(self):
        """Each goes on from what the other wrote."""
        command = os.environ["CAROM"]
        scene = {**MIXED, "steps": 6}
        with tempfile.TemporaryDirectory() as folder:
            file, half, out = Path(folder, "scene.json"), Path(folder, "half.h5"), Path(folder, "out")
            file.write_text(json.dumps(scene))
            with sim.open(file) as run:
                run.step(3)
                run.checkpoint(half)
                run.step(3)
                wanted = run.hash()
            done = subprocess.run([command, "run", file, "--restart", half, "--checkpoint", "0", "--no-picture", "--out", out], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads((out / "summary.json").read_text())["hash"], f"{wanted:016x}")
            with sim.open(file, restart=out / "checkpoint.h5") as run:
                self.assertEqual((run.frame, run.hash()), (6, wanted))

    def test_recording(self):
        command = os.environ.get("CAROM")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "recording.h5")
            with sim.open(BALLS, record=path) as run:
                run.step(40)
                self.assertFalse(path.exists())
            self.assertTrue(path.exists())
            if command:
                done = subprocess.run([command, "info", str(path)], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("40", done.stdout)

    def test_other_mesh(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "cube.obj")
            carom.io.save_mesh(path, [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)],
                               [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1), (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4),
                                (1, 5, 7), (1, 7, 3)])
            with sim.open(SCENES / "pile27.json") as run:
                name = next(iter(json.loads((SCENES / "pile27.json").read_text())["meshes"]))
                meshes = {part.shape.mesh for body in run.bodies for part in body.shapes if part.shape.mesh}
                self.assertTrue(all(len(mesh.triangles) > 12 for mesh in meshes))
            with sim.open(SCENES / "pile27.json", meshes={name: path}) as run:
                sizes = {len(part.shape.mesh.triangles) for body in run.bodies for part in body.shapes if part.shape.mesh}
                self.assertIn(12, sizes)

    def test_the_help_is_true(self):
        results = doctest.testmod(sim)
        self.assertGreater(results.attempted, 3)
        self.assertEqual(results.failed, 0)

    def test_counts(self):
        with sim.open(GRAINS, sphere_count=20) as run, sim.open(CLOTH, resolution=2) as cloth:
            self.assertEqual(len(run.spheres.radii), 20)
            self.assertGreater(len(cloth.deforming.vertices), 49)


if __name__ == "__main__":
    unittest.main()
