"""How steep a heap of boxes gets, and when it rests: the scene is a dict, and is run for each friction until nothing moves any more."""

import carom
import carom.sim


def scene(friction):
    return {
        "name": "heap",
        "bodies": {
            "solver": {"friction": friction},
            "planes": [{"name": "ground"}],
            "grids": [{"shape": "box", "half_extents": [0.25, 0.1, 0.15], "count": [3, 4, 3], "position": [-0.6, 0.3, -0.4],
                       "spacing": [0.6, 0.35, 0.4], "jitter": {"degrees": 40, "seed": 5}, "density": 600}],
        },
    }


for friction in (0.05, 0.8):
    with carom.sim.open(scene(friction)) as run:
        moving = [i for i, body in enumerate(run.bodies) if body.kind == carom.BodyKind.DYNAMIC]
        while run.frame < 300:
            run.step(10)
            if run.stats["bodies"]["kinetic_energy"] < 0.5:
                break
        poses = [tuple(row) for row in run.bodies.poses]
        height = max(poses[i][1] for i in moving)
        width = max((poses[i][0] ** 2 + poses[i][2] ** 2) ** 0.5 for i in moving)
        print(f"friction {friction}: after {run.time:.1f} s {len(moving)} boxes lie {height:.1f} m high and {width:.1f} m wide, "
              f"{len(run.contacts)} contacts, hash {run.hash():016x}")
