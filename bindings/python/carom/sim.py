"""Scenes that move: run a scene file of the command (docs/scenes.md), step by step, and look at all of it in between.

>>> import carom.sim
>>> ball = {"shape": "sphere", "radius": 0.5, "position": [0, 2, 0]}
>>> ground = {"shape": "plane", "kind": "static", "rotation": {"axis": [1, 0, 0], "degrees": -90}}
>>> with carom.sim.open({"bodies": {"list": [ball, ground]}}) as run:
...     run.step(120)
...     print(round(run.time, 6), round(run.bodies.poses[0][1], 1))
2.0 0.5

A run is the one of ``carom run``, to the bit, for any number of threads. Rigid bodies answer by ODE, so this module is there where the
package was built with the packages of the command, and raises ImportError where it was not; ``carom`` itself never needs them.
"""

import collections
import operator
import os

import carom
from carom import _carom

try:
    from carom import _sim
except ImportError as reason:
    raise ImportError(f"carom.sim runs scenes by ODE and HDF5, and this build of the package is without them, or does not find them ({reason}); "
                      "a build with CAROM_BUILD_TOOLS=ON has it (docs/guide/python.md)") from reason

__all__ = ["Bodies", "Body", "Deforming", "Run", "SceneError", "Spheres", "open"]

_WHERE = r'(?s)(?P<file>.+?)(?::(?P<line>\d+))?: (?:.*?field "(?P<field>[^"]*)"|(?P<setting>[\w.\[\]]+): )?'


class SceneError(carom.Error, ValueError):
    """A scene, its files or a step of it is at fault. file, line (of the scene file) and field say where; None where the text does not."""

    def __init__(self, text):
        import re

        super().__init__(text)
        found = re.match(_WHERE, text)
        self.result = carom.Result.INVALID_ARGUMENT
        self.call = None
        self.file = found and found["file"]
        self.line = int(found["line"]) if found and found["line"] else None
        self.field = found and (found["field"] or found["setting"])


Body = collections.namedtuple("Body", ("name", "kind", "shapes", "category", "mask", "group"))
Body.__doc__ = "What a rigid body is. It holds no view."
Body.name.__doc__ = "The scene's; \"\" where it names none."
Body.shapes.__doc__ = "Shape and pose in the body's frame of each part; a body of one shape has one, at the identity."


class Bodies:
    """The rigid bodies of a run, in the order of the scene; those of sources join when they appear. bodies[i] is a Body."""

    def __init__(self, run):
        self._run = run
        self._meshes = {}

    def __len__(self):
        return len(self._run.ids)

    def __getitem__(self, number):
        number = operator.index(number)
        if number < 0:
            number += len(self)
        name, kind, category, mask, group, shapes = self._run.describe_body(number)
        parts = tuple(self._part(number, k, shape) for k, shape in enumerate(shapes))
        return Body(name, carom.BodyKind(kind), parts, category, mask, group)

    def __repr__(self):
        return f"<carom.sim.Bodies: {len(self)}>"

    def _part(self, number, k, shape):
        kind, radius, half_length, half_extents, rounding, mesh, pose = shape
        made = carom.Shape(type=kind, radius=radius, half_length=half_length, half_extents=half_extents, rounding=rounding)
        if mesh >= 0:
            made = made.replace(mesh=self._mesh(number, k, (mesh, kind)))
        return carom.Part(shape=made) if pose is None else carom.Part(shape=made, pose=pose)

    def _mesh(self, number, k, key):
        if key not in self._meshes:
            self._meshes[key] = carom.Mesh.load(self._run.save_mesh(number, k))
        return self._meshes[key]

    @property
    def poses(self):
        """(n, 7) doubles: position and orientation (x, y, z, w) of each body's frame. A view."""
        return self._run.poses

    @property
    def ids(self):
        """(n) of uint64: the ids by which contacts name the bodies. A view."""
        return self._run.ids

    @property
    def velocities(self):
        """(n, 6) doubles: velocity of the centre of mass (m/s) and angular velocity (rad/s), in the world frame. A copy."""
        return self._run.motions


Spheres = collections.namedtuple("Spheres", ("centres", "radii", "velocities", "angular_velocities", "ids"))
Spheres.__doc__ = "The spheres of a run: views of the simulation's arrays. Row k is sphere ids[k] of the scene; the order changes from step to step."
Spheres.centres.__doc__ = "(n, 3) doubles."
Spheres.radii.__doc__ = "(n) doubles."
Spheres.velocities.__doc__ = "(n, 3) doubles, m/s."
Spheres.angular_velocities.__doc__ = "(n, 3) doubles, rad/s; None where nothing turns."
Spheres.ids.__doc__ = "(n) of uint32; None of Run.sorted_spheres(), whose row k is sphere k."


Deforming = collections.namedtuple("Deforming", ("vertices", "velocities", "triangles", "first_vertices", "first_triangles"))
Deforming.__doc__ = "Deforming bodies in a run, and its movers and obstacles, as one mesh. Views; triangles and the two lists stay until the end, but where cloth tears: there they stay until the next step."
Deforming.vertices.__doc__ = "(n, 3) doubles."
Deforming.velocities.__doc__ = "(n, 3) doubles, m/s."
Deforming.triangles.__doc__ = "(m, 3) of int32."
Deforming.first_vertices.__doc__ = "(bodies + 1) of int32: the vertices of body i are first_vertices[i] to first_vertices[i + 1]. Bodies are in the order of the file: movers, deforming bodies, obstacles."
Deforming.first_triangles.__doc__ = "(bodies + 1) of int32."


class Run:
    """A scene in motion; made by open(). Its arrays are views as those of a world: a step raises BufferError while one of NumPy, or
    another memoryview, looks at them, and views that were taken before it end. A section that the scene does not have is None."""

    def __init__(self, run):
        self._run = run
        self._bodies = Bodies(run) if run.ids is not None else None
        self._name, self._file, self._time_step, self._steps, self._gravity = run.settings

    @property
    def name(self):
        """The scene's name."""
        return self._name

    @property
    def file(self):
        """The scene file, or "scene" of one that was given as a dict."""
        return self._file

    @property
    def time_step(self):
        """Seconds of a step."""
        return self._time_step

    @property
    def steps(self):
        """How many steps the scene asks for. step() may do more."""
        return self._steps

    @property
    def gravity(self):
        """(x, y, z), m/s2, at the start."""
        return self._gravity

    @property
    def frame(self):
        """Steps done, those before a checkpoint included."""
        return self._run.frame

    @property
    def time(self):
        """Seconds done."""
        return self._run.frame * self._time_step

    @property
    def bodies(self):
        """The rigid bodies."""
        self._run.frame  # ValueError where it is closed
        return self._bodies

    @property
    def contacts(self):
        """Contact records of the last detection of the rigid bodies: those that the last substep answered to, at the poses before it."""
        return self._run.contacts

    @property
    def spheres(self):
        """The spheres as they lie in memory: views."""
        found = self._run.spheres
        return None if found is None else Spheres(*found)

    def sorted_spheres(self):
        """The spheres in the order of the scene: copies."""
        found = self._run.sphere_state()
        return None if found is None else Spheres(*found, None)

    @property
    def deforming(self):
        """Cloth and soft bodies."""
        found = self._run.deforming
        return None if found is None else Deforming(*found)

    @property
    def stats(self):
        """Counts and times of the last step: a dict for each section, with the names of the table of ``carom run`` (docs/scenes.md); those of
        the detection of rigid bodies are a carom.Stats, "detection"."""
        return self._run.stats

    def step(self, count=1):
        """Do steps. SceneError says why one failed; the run can then only be looked at and closed. Ctrl-C ends it after the present step."""
        self._run.step(count)

    def hash(self):
        """The hash of all steps and of the present state: after the same steps that of ``carom run``, which prints it as f"{hash:016x}"."""
        return self._run.hash()

    def checkpoint(self, path):
        """Write a file from which open(restart=path), or ``carom run --restart``, goes on, bit for bit."""
        self._run.checkpoint(os.fsencode(path))

    def close(self):
        """Free everything; a recording appears at its path. BufferError while arrays look at the run. Calls raise ValueError afterwards."""
        self._run.close()

    @property
    def closed(self):
        """Was it closed?"""
        return self._run.closed

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()

    def __repr__(self):
        return f"<carom.sim.Run: {self._name}, {'closed' if self.closed else f'step {self.frame} of {self._steps}'}>"


def open(scene, *, thread_count=0, meshes=None, sphere_count=0, resolution=0.0, record=None, restart=None):
    """Run a scene: the path of a scene file, or a dict of its fields, whose mesh files count from the working folder.

    thread_count: workers (0: one for each core); results do not depend on it. meshes: {name: path} of files that take the place of meshes
    of the scene. sphere_count: how many random spheres (0: the scene's). resolution: factor of the divisions of deforming bodies (0: the
    scene's). record: path of a recording of the rigid bodies with their contacts (an HDF5 file, for ``carom render`` and ``carom export``), which
    appears when the run is closed. restart: a checkpoint of the scene to go on from; "name", "steps", "output", "picture" and "camera" may differ.

    SceneError names file, line and field.
    """
    if hasattr(scene, "keys"):
        import json

        text = json.dumps(dict(scene), allow_nan=False, default=lambda value: value.tolist()).encode()
        path = b"scene"
    else:
        text, path = None, os.fsencode(scene)
        os.stat(path)  # FileNotFoundError as of any other file
    for name, value, most in (("thread_count", thread_count, 256), ("sphere_count", sphere_count, carom.MAX_SPHERES), ("resolution", resolution, 1e3)):
        if not 0 <= value <= most:
            raise carom.InvalidArgument(f"{name} is {value}; it must be from 0 to {most}")
    assignments = tuple(os.fsencode(name) + b"=" + os.fsencode(file) for name, file in (meshes or {}).items())
    return Run(_sim.Run(_carom, SceneError, text, path, assignments, *(file if file is None else os.fsencode(file) for file in (record, restart)),
                        thread_count, resolution, sphere_count))
