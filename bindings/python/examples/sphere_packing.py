"""Pack spheres into a box: grow them, and push those apart that touch, until they fill half of it. Needs NumPy."""

import numpy as np

import carom

COUNT, SIDE = 800, 1.0
rng = np.random.default_rng(1)
centres = rng.random((COUNT, 3)) * SIDE
share = 0.5 + rng.random(COUNT)  # sizes against each other
share *= (0.5 * SIDE**3 / (4 / 3 * np.pi * (share**3).sum())) ** (1 / 3)  # half of the box in the end
detector = carom.Spheres(periodic=(True, True, True), period=(SIDE, SIDE, SIDE))

rounds = 0
for scale in np.linspace(0.6, 1.0, 9):
    radii = share * scale
    for _ in range(400):
        rounds += 1
        detector.update(centres, radii)
        pairs = np.asarray(detector.find_pairs())
        a, b = pairs["a"].copy(), pairs["b"].copy()
        del pairs  # the detector may move on
        way = centres[a] - centres[b]
        way -= SIDE * np.round(way / SIDE)
        distance = np.linalg.norm(way, axis=1)
        overlap = radii[a] + radii[b] - distance
        if len(a) == 0 or overlap.max() < 1e-3 * radii.mean():
            break
        push = way * (0.5 * overlap / np.maximum(distance, 1e-12))[:, None]
        np.add.at(centres, a, push)
        np.add.at(centres, b, -push)
        centres %= SIDE

filled = (4 / 3 * np.pi * radii**3).sum() / SIDE**3
print(f"{COUNT} spheres fill {filled:.1%} of the box after {rounds} rounds; "
      f"deepest overlap {max(overlap.max(initial=0), 0) / radii.mean():.2%} of the mean radius")
