/// A dull judge of two posed meshes, independent of the trees, rays and relative transforms of the library: world coordinates in
/// double, every triangle against every triangle whose boxes overlap, exact predicates; the inside by solid angles.
#ifndef TESTS_ORACLE_H
#define TESTS_ORACLE_H

#include "carom/carom.h"
#include "math/vec.h"

/// A mesh as files hold it; nothing is owned.
typedef struct oracle_shape {
	const float *vertices;
	int32_t vertex_count;
	const int32_t *triangles;
	int32_t triangle_count;
} oracle_shape;

/// A shape at a pose.
typedef struct oracle_body {
	const oracle_shape *shape;
	v3d *vertices; // world
	carom_aabb box;
} oracle_body;

/// Place a shape. The body owns its vertices; they are computed in double and rounded once for each operation. The quaternion
/// must be of unit length.
oracle_body oracle_place(const oracle_shape *shape, const carom_pose *pose);
void oracle_free(oracle_body *body);

bool oracle_boxes_overlap(const oracle_body *a, const oracle_body *b);

/// Do the surfaces intersect (touching counts)?
bool oracle_surfaces_intersect(const oracle_body *a, const oracle_body *b);

/// Number of pairs of triangles that intersect.
int64_t oracle_count_crossings(const oracle_body *a, const oracle_body *b);

/// Is a point inside a closed mesh? By the sum of the solid angles of its triangles (Van Oosterom, Strackee, The Solid Angle of a
/// Plane Triangle, 1983). Not for points within rounding of the surface.
bool oracle_point_inside(const oracle_body *body, v3d p);

/// Do two solids share a point: surfaces intersect, or one lies within the other? For meshes that are closed and in one piece.
bool oracle_solids_touch(const oracle_body *a, const oracle_body *b);

/// Smallest distance between the surfaces; brute force over all pairs of triangles.
double oracle_distance(const oracle_body *a, const oracle_body *b);

#ifdef CAROM_HAVE_CGAL
/// A second opinion on one pair of triangles, neither degenerate: CGAL's filtered exact predicates.
bool oracle_cgal_triangles_intersect(const v3d a[3], const v3d b[3]);

/// oracle_count_crossings by CGAL's predicates, and without its list of near triangles. No triangle may be degenerate.
int64_t oracle_cgal_count_crossings(const oracle_body *a, const oracle_body *b);
#endif

#endif
