"""Is a mesh fit for simulation? A report in words, and what mends the commonest faults.

    python3 mesh_report.py [FILE]      without a file: a torus with faults
"""

import sys

import carom
import carom.io
from shapes import torus


def faulty_torus():
    """A torus with its own three vertices for each triangle, one triangle missing, one twice, one turned."""
    vertices, triangles = torus(1, 0.3)
    triangles = triangles[1:] + [triangles[5]]
    triangles[10] = triangles[10][::-1]
    soup = [vertices[corner] for triangle in triangles for corner in triangle]
    return soup, [(3 * i, 3 * i + 1, 3 * i + 2) for i in range(len(triangles))]


def weld(vertices, triangles):
    """Vertices at one place become one."""
    numbers, places = {}, []
    for place in vertices:
        if place not in numbers:
            numbers[place] = len(places)
            places.append(place)
    return places, [tuple(numbers[vertices[corner]] for corner in triangle) for triangle in triangles]


if len(sys.argv) > 1:
    vertices, triangles = ([tuple(row) for row in rows] for rows in carom.io.read_mesh(sys.argv[1])[:2])
else:
    vertices, triangles = faulty_torus()
report = carom.check_mesh(vertices, triangles)
print(f"{report.vertex_count} vertices, {report.triangle_count} triangles, {report.components} pieces, "
      f"{'closed' if report.closed else 'open'}{', inside out' if report.inverted else ''}")
for name in ("nonfinite_vertices", "out_of_range_triangles", "degenerate_triangles", "duplicate_triangles", "unreferenced_vertices",
             "duplicate_vertices", "border_edges", "nonmanifold_edges", "inconsistent_edges", "nonmanifold_vertices"):
    if getattr(report, name):
        print(f"  {getattr(report, name)} {name.replace('_', ' ')}")
if report.first_finding:
    print("  first:", report.first_finding)

vertices, triangles = weld(vertices, triangles)
seen = set()
triangles = [t for t in triangles if len(set(t)) == 3 and not (t in seen or seen.add(t))]
mended = carom.Mesh(vertices, triangles)
print(f"welded: {mended.report.vertex_count} vertices, {mended.report.triangle_count} triangles, "
      f"{mended.report.border_edges} border edges, {len(mended.self_intersections())} pairs of triangles that intersect")
