"""Figures of docs/measured/python.md: what calls cost, importing, the share of Python in a replay, batches beside Open3D.

Times are of the processor, of the one thread that works, so that other programs disturb them less.

    python3 bindings/python/tests/measure.py        with PYTHONPATH, CAROM_SOURCE and CAROM_DATA set, and NumPy
"""

import os
import statistics
import subprocess
import sys
import time
import timeit
from pathlib import Path

import numpy

import carom

def nanoseconds(name, call, number=100000):
    """Least and median of 15 runs."""
    runs = [time_ / number * 1e9 for time_ in timeit.repeat(call, number=number, repeat=15, timer=time.thread_time)]
    print(f"{name:46s} {min(runs):8.0f} {statistics.median(runs):8.0f}")

def calls():
    world = carom.World(context=carom.Context(thread_count=1))
    ground = world.add_body(shape=carom.Shape(type="plane"), kind="static")
    ball = world.add_body(shape=carom.Shape(type="sphere", radius=0.5), pose=((0, 0, 0.45), None))
    world.step()
    ids = numpy.array([ground, ball], dtype=numpy.uint64)
    poses = numpy.asarray(world.get_poses(ids)).copy()
    points, one = numpy.random.default_rng(1).random((1, 3)) + 2, (2.0, 2.0, 2.0)
    pose, quad = world.get_pose(ball), numpy.eye(4, 3)
    print(f"{'nanoseconds of a call':46s} {'least':>8s} {'median':>8s}")
    nanoseconds("(nothing: a lambda that calls len)", lambda: len(ids))
    nanoseconds("len(world)", lambda: len(world))
    nanoseconds("world.is_body(id)", lambda: world.is_body(ball))
    nanoseconds("world.get_user_data(id)", lambda: world.get_user_data(ball))
    nanoseconds("world.set_user_data(id, n)", lambda: world.set_user_data(ball, 7))
    nanoseconds("world.get_pose(id)", lambda: world.get_pose(ball))
    nanoseconds("world.set_pose(id, Pose)", lambda: world.set_pose(ball, pose))
    nanoseconds("world.get_poses(array of 2)", lambda: world.get_poses(ids))
    nanoseconds("world.set_poses(array of 2, array of 2)", lambda: world.set_poses(ids, poses))
    nanoseconds("carom.orientations(array of 4 points)", lambda: carom.orientations(quad), 20000)
    nanoseconds("world.contacts", lambda: world.contacts)
    nanoseconds("world.contacts.numpy()", lambda: world.contacts.numpy())
    nanoseconds("numpy.asarray(world.contacts)", lambda: numpy.asarray(world.contacts), 1000)
    nanoseconds("world.contacts[0].depth", lambda: world.contacts[0].depth)
    nanoseconds("world.cast_ray(origin, direction)", lambda: world.cast_ray((0, 0, 3), (0, 0, -1)))
    nanoseconds("world.closest_point(point)", lambda: world.closest_point(one))
    nanoseconds("world.closest_points(array of 1)", lambda: world.closest_points(points))
    nanoseconds("world.step(), two bodies that touch", world.step, 20000)

def importing():
    code = "import time; t = time.process_time(); import carom; print((time.process_time() - t) * 1e3)"
    runs = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout) for _ in range(21)]
    print(f"import carom: {min(runs):.1f} ms least, {statistics.median(runs):.1f} ms median of 21")
    library = Path(carom._carom.__file__)
    print(f"{library.name}: {library.stat().st_size} bytes")

def replay():
    """The recorded avalanche: time in world.step, and in all the rest of the loop."""
    import test_data

    case = test_data.Avalanche()
    case.setUp()
    poses = [numpy.array(case.trajectory.poses(frame)) for frame in range(60, 180)]
    world, ids = case.make_world(True, context=carom.Context(thread_count=1))
    inside = total = 0.0
    contacts = 0
    for frame, row in enumerate(poses):
        begin = time.thread_time()
        world.set_poses(ids, row)
        before = time.thread_time()
        world.step()
        after = time.thread_time()
        contacts += int((world.contacts.numpy()["depth"] > 0).sum())
        end = time.thread_time()
        if frame >= 10:
            inside += after - before
            total += end - begin
    print(f"avalanche, {len(poses) - 10} steps, one thread: {total / (len(poses) - 10) * 1e3:.2f} ms a step, "
          f"{(total - inside) / total:.2%} of it outside world.step(); {contacts} contacts")

def batches():
    """200,000 rays and points against the bunny, in double, beside Open3D in float where it is installed; one thread each."""
    import test_data
    from support import data

    vertices, triangles = test_data.load_obj(data("meshes/bullet-bunny-902.obj"))
    vertices, triangles = numpy.array(vertices), numpy.array(triangles)
    rng = numpy.random.default_rng(3)
    size = numpy.abs(vertices).max() * 2
    origins = (rng.random((200000, 3)) - 0.5) * 2 * size
    rays = numpy.hstack([origins, (rng.random((200000, 3)) - 0.5) * size - origins])
    world = carom.World(context=carom.Context(thread_count=1))
    world.add_body(shape=carom.Mesh(vertices, triangles, context=world.context), kind="static")
    contenders = {"carom": (lambda: world.cast_rays(rays), lambda: world.closest_points(origins))}
    try:
        import open3d
    except ImportError:
        print("Open3D is not installed")
    else:
        scene = open3d.t.geometry.RaycastingScene()
        scene.add_triangles(open3d.core.Tensor(vertices.astype(numpy.float32)), open3d.core.Tensor(triangles.astype(numpy.uint32)))
        rays32, points32 = open3d.core.Tensor(rays.astype(numpy.float32)), open3d.core.Tensor(origins.astype(numpy.float32))
        contenders["open3d"] = (lambda: scene.cast_rays(rays32, nthreads=1), lambda: scene.compute_closest_points(points32, nthreads=1))
    for question, name in enumerate(("200,000 rays", "200,000 nearest points")):
        times = {contender: [] for contender in contenders}
        for _ in range(7):
            for contender, calls_ in contenders.items():
                begin = time.thread_time()
                calls_[question]()
                times[contender].append(time.thread_time() - begin)
        for contender, runs in times.items():
            print(f"{name}, {contender}: {min(runs) * 5e3:.0f} ns least, {statistics.median(runs) * 5e3:.0f} ns median each")

if __name__ == "__main__":
    print("Python", sys.version.split()[0], "NumPy", numpy.__version__, "cores", os.cpu_count())
    importing()
    calls()
    if os.environ.get("CAROM_DATA"):
        replay()
        batches()
