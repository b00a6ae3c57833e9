"""Recorded motion: contacts have the hashes that the tests in C have, and the command."""

import gzip
import json
import os
import re
import struct
import subprocess
import unittest

import carom
from support import SOURCE, data


def load_obj(path):
    """Vertices and triangles of an OBJ file that has nothing else."""
    rows = [line.split() for line in path.read_text().splitlines()]
    vertices = [tuple(map(float, row[1:4])) for row in rows if row and row[0] == "v"]
    triangles = [tuple(int(corner.split("/")[0]) - 1 for corner in row[1:4]) for row in rows if row and row[0] == "f"]
    return vertices, triangles


class Trajectory:
    """A file RBTRAJ1 (docs/command.md)."""

    def __init__(self, path):
        self.bytes = gzip.open(path).read()
        self.bodies, self.frames = struct.unpack_from("<II", self.bytes, 16)
        self.ground = struct.unpack_from("<4f", self.bytes, 40)

    def poses(self, frame):
        poses = []
        for i in range(self.bodies):
            x, y, z, a, b, c, d = struct.unpack_from("<7f", self.bytes, 128 + 28 * (frame * self.bodies + i))
            length = (a * a + b * b + c * c + d * d) ** 0.5
            poses.append((x, y, z, a / length, b / length, c / length, d / length))
        return poses

    def ground_pose(self):
        x, y, z, d = self.ground
        length = (x * x + y * y + (1 + z) ** 2) ** 0.5
        return ((d * x, d * y, d * z), (-y / length, x / length, 0, (1 + z) / length))


class Avalanche(unittest.TestCase):
    def setUp(self):
        self.trajectory = Trajectory(data("trajectories/scene1.rbt.gz"))
        self.mesh_file = data("meshes/bullet-bunny-902.obj")

    def make_world(self, ground_first, **settings):
        world = carom.World(**settings)
        mesh = carom.Mesh(*load_obj(self.mesh_file), context=settings.get("context"))
        ground = carom.BodyDef(shape=carom.Shape(type="plane"), kind="static", pose=self.trajectory.ground_pose())
        if ground_first:
            world.add_body(ground)
        ids = world.add_bodies([carom.BodyDef(shape=mesh)] * self.trajectory.bodies)
        if not ground_first:
            world.add_body(ground)
        return world, ids

    def test_frames_have_the_hashes_of_the_tests_in_c(self):
        table = (SOURCE / "tests/determinism_fixture.c").read_text()
        for frame in (80, 420):
            world, ids = self.make_world(False, max_contacts_per_pair=0)
            world.set_poses(ids, self.trajectory.poses(frame))
            world.step()
            expected = int(re.search(rf'"scene1_step_{frame}", (0x\w+)', table)[1], 16)
            self.assertEqual(hex(world.hash), hex(expected))
            self.assertGreater(len(world.contacts), 20)

    def test_a_replay_has_the_hash_of_the_command(self):
        if "CAROM" not in os.environ:
            raise unittest.SkipTest("the command was not built")
        command = [os.environ["CAROM"], "replay", str(data("trajectories/scene1.rbt.gz")), "--mesh", str(self.mesh_file), "--ground",
                   "--steps", "60:72", "--warm-up", "0", "--max-contacts", "8", "--record", "calls.bin", "--json"]
        output = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        world, ids = self.make_world(True)
        for frame in range(60, 72):
            world.set_poses(ids, self.trajectory.poses(frame))
            world.step()
        with open("calls.bin", "rb") as file:
            replayed = carom.replay(file.read())
        os.remove("calls.bin")
        self.assertEqual(replayed.steps, 12)
        self.assertEqual(replayed.first_difference, -1)
        self.assertIn("hash", output)
        self.assertEqual(hex(replayed.hash), hex(world.hash))
