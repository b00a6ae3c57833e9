"""Is a mesh fit for simulation? A report in words, and what mends the commonest faults.

    python3 mesh_report.py [FILE.obj]      without a file: a torus with faults
"""

import sys

import carom
from shapes import torus


def read_obj(path):
    """Vertices and triangles of an OBJ file; polygons become fans."""
    vertices, triangles = [], []
    with open(path, encoding="utf-8") as file:
        for row in map(str.split, file):
            if row[:1] == ["v"]:
                vertices.append(tuple(map(float, row[1:4])))
            elif row[:1] == ["f"]:
                corners = [int(corner.split("/")[0]) for corner in row[1:]]
                corners = [corner - 1 if corner > 0 else len(vertices) + corner for corner in corners]
                triangles += [(corners[0], corners[i], corners[i + 1]) for i in range(1, len(corners) - 1)]
    return vertices, triangles


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


vertices, triangles = read_obj(sys.argv[1]) if len(sys.argv) > 1 else faulty_torus()
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
