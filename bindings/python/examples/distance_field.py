"""The signed distance field of a mesh on a grid, in one call, with its gradient from the normals. Needs NumPy."""

import numpy as np

import carom
from shapes import torus

mesh = carom.Mesh(*torus(1.0, 0.3))
axis = np.linspace(-1.5, 1.5, 48)
grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1)
closest = np.asarray(carom.shape_closest_points(mesh, grid.reshape(-1, 3)))

distance = closest["distance"].reshape(grid.shape[:3])
exact = np.hypot(np.hypot(grid[..., 0], grid[..., 1]) - 1.0, grid[..., 2]) - 0.3
print(f"{distance.size} points, {(distance < 0).sum()} inside: volume {(distance < 0).mean() * 27:.2f}, "
      f"of the mesh {mesh.mass.mass:.2f}, of the torus {2 * np.pi**2 * 0.09:.2f}")
print(f"largest difference from the torus by formula: {abs(distance - exact).max():.3f}")
