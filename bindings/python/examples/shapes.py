"""Meshes by formula, for the examples beside this file."""

import math


def box(size_x, size_y, size_z):
    """Vertices and triangles of a box about the origin."""
    x, y, z = size_x / 2, size_y / 2, size_z / 2
    vertices = [(a, b, c) for a in (-x, x) for b in (-y, y) for c in (-z, z)]
    triangles = [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1),
                 (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)]
    return vertices, triangles


def torus(radius, tube, around=48, across=20):
    """Vertices and triangles of a closed torus about z."""
    vertices = []
    for i in range(around):
        a = 2 * math.pi * i / around
        for j in range(across):
            b = 2 * math.pi * j / across
            r = radius + tube * math.cos(b)
            vertices.append((r * math.cos(a), r * math.sin(a), tube * math.sin(b)))
    triangles = []
    for i in range(around):
        for j in range(across):
            p, q = i * across + j, (i + 1) % around * across + j
            r, s = (i + 1) % around * across + (j + 1) % across, i * across + (j + 1) % across
            triangles += [(p, q, r), (p, r, s)]
    return vertices, triangles


def sheet(size, parts):
    """Vertices and triangles of a square in the plane z = 0, about the origin."""
    row = parts + 1
    vertices = [(size * (i / parts - 0.5), size * (j / parts - 0.5), 0.0) for i in range(row) for j in range(row)]
    triangles = []
    for i in range(parts):
        for j in range(parts):
            p = i * row + j
            triangles += [(p, p + row, p + row + 1), (p, p + row + 1, p + 1)]
    return vertices, triangles
