/// Edges, welding, and the check of a mesh. Everything here is plain arrays; the trees are made
/// elsewhere.
#ifndef CR_MESH_TOPOLOGY_H
#define CR_MESH_TOPOLOGY_H

#include "carom/mesh.h"
#include "base/context.h"
#include "math/vec.h"

/// The part of a mesh that triangles and rays need, all from one carom_mesh_def.
typedef struct cr_topology {
	int32_t vertex_count;
	int32_t triangle_count;
	float *vertices; // [3*vertex_count] file order, float
	// [3*triangle_count] file order; an inverted closed mesh is turned round (second and third
	// corner exchanged)
	int32_t *triangles;
	int32_t *weld; // [vertex_count] first vertex at the same position
	uint8_t *used; // [triangle_count] 1: takes part (neither degenerate nor a duplicate)
	// [3*triangle_count] across edge (corner k, corner k+1) of a used triangle; -1 at a border, and
	// where more than two triangles meet; -1 for triangles left out
	int32_t *neighbours;
	// [3*vertex_count] unit outward, angle weighted over the welded fan (Thuermer, Wuethrich 1998);
	// zero where unreferenced or undefined
	float *normals;
	// [3*3*triangle_count] unit, sum of the faces' unit normals at edge k; zero where undefined.
	// NULL unless an edge has more than two triangles: cr_edge_normal works them out then
	float *edge_normals;
} cr_topology;

/// A sum of signed volumes this small, relative to the sum of their sizes, is rounding: the solid
/// is flat.
#define CR_VOLUME_NOISE 1e-12

enum { CR_WHY_OPEN = 96 };
/// Say why the mesh of a report is not closed, whatever else was found first. Slow: for errors.
void cr_say_why_open(const cr_topology *topology, const carom_mesh_report *report, char text[CR_WHY_OPEN]);

/// Check a definition (see carom_check_mesh); and, when topology is not NULL and the report says
/// usable, fill the topology. CAROM_SUCCESS with report->usable false is not an error here. On
/// failure the topology is empty.
carom_result cr_topology_build(
	carom_context *context, const carom_mesh_def *def, carom_mesh_report *report, cr_topology *topology);
/// Fill the topology of the triangles of before with other places: they stay as they are turned,
/// whatever volume they enclose, and vertices are welded only where they were before, so that parts
/// which come to lie on each other stay two.
carom_result cr_topology_build_moved(carom_context *context, const carom_mesh_def *def, const cr_topology *before,
	carom_mesh_report *report, cr_topology *topology);
void cr_topology_free(carom_context *context, cr_topology *topology);
size_t cr_topology_bytes(const cr_topology *topology);

/// The unit normal of a triangle.
v3d cr_face_normal(const cr_topology *topology, int32_t triangle);
/// The unit normal of a triangle and the angles at its corners, which weigh it in the normals of
/// its vertices.
void cr_triangle_angles(const cr_topology *topology, int32_t triangle, v3d *normal, double angles[3]);
/// The unit normal of a triangle and the cosine of the angle at one of its corners, with the bits
/// of cr_triangle_angles.
void cr_corner_cosine(const cr_topology *topology, int32_t triangle, int corner, v3d *normal, double *cosine);
/// The normal of an edge, of the triangle half_edge / 3 from its corner half_edge % 3 to the next:
/// the unit sum of the unit normals of the triangles in use that meet there, in floats; zero where
/// undefined.
v3d cr_edge_normal(const cr_topology *topology, int32_t half_edge);
/// That of an edge with two faces at most, from their normals, with the bits of cr_edge_normal.
v3d cr_edge_normal_of(bool border, v3d own, v3d across);
/// Sum up the normals of triangles at their corners, weighted by the angles there. face_normals
/// [triangle_count]: those of the triangles are put there. sums [vertex_count]: zeroed; the first
/// vertex at a position gathers for all there.
void cr_sum_corner_normals(const cr_topology *topology, v3d *face_normals, v3d *sums);
/// Store the unit vector of a sum of weighted unit vectors; zero where the sum is no more than the
/// rounding of its terms.
void cr_store_normal(v3d sum, float normal[3]);

/// Turn about a corner of a triangle to the next triangle of its fan, forward or back; false at a
/// border.
bool cr_next_in_fan(const cr_topology *topology, bool forward, int32_t *triangle, int *corner);

/// Which triangles take part when the vertices are exact [3*vertex_count], as they were given,
/// instead of rounded to float: those that have an area, and repeat no earlier one. Fills used
/// [triangle_count]; false when out of memory.
bool cr_mesh_judge_exact(carom_context *context, const cr_topology *topology, const double *exact, uint8_t *used);

/// A vertex of the caller's in double, whatever its type and alignment.
void cr_read_vertex(const carom_strided *view, int64_t vertex, double point[3]);

/// Does a closed mesh enclose something? One whose triangles all have a back does not. Such a sheet
/// has no inside: bodies leave it to the side that they are on, as they leave an open mesh that
/// pushes to both sides.
bool cr_is_solid(const carom_mesh_report *report);

/// Volume, centre and inertia at density 1 of the used triangles (closed).
void cr_topology_mass(const cr_topology *topology, carom_mass *mass);

#endif
