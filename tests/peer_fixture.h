/// What the cases of other libraries' test suites share (test_peer_*.c): pairs measured both ways round in several frames, meshes of
/// a few triangles, questions in one line each. The numbers of those cases are theirs, the code is ours. A comment above each case
/// names the file that its numbers come from. Carom's normals point from B to A.
#ifndef TESTS_PEER_FIXTURE_H
#define TESTS_PEER_FIXTURE_H

#include "carom/carom.h"
#include "fixture.h"

#define PEER_TOLERANCE 1e-6 // of distances, normals and points, in the units of the case
#define ROOT_HALF 0.70710678118654752440

/// A pair of shapes and its separation.
typedef struct peer_case {
	const char *name;
	carom_shape a, b;
	carom_pose pose_a, pose_b;
	double distance;
	const double *normal;  // NULL: not unique
	const double *point_a; // NULL: not unique
	const double *point_b;
} peer_case;

#define V(...) \
	(const double[3]) { __VA_ARGS__ }
#define AT(x, y, z)                 \
	{                               \
		{ x, y, z }, { 0, 0, 0, 1 } \
	}

void peer_check_vector(carom_vec3 actual, carom_vec3 expected, double tolerance);
/// Measure each pair both ways round, in frames that turn and move both shapes.
void peer_check_cases(const peer_case *cases, size_t count);
#define CHECK_CASES(cases) peer_check_cases(cases, sizeof(cases) / sizeof(*(cases)))

/// A pose that takes z to the way from one point to another, in the middle between them: of a capsule between two points.
carom_pose peer_between(v3d from, v3d to);
/// A turn about an axis of any length, and a place.
carom_pose peer_turned(v3d axis, double angle, v3d place);

/// An open or closed mesh of a few triangles; materials may be NULL. A failure ends the case.
carom_mesh *peer_mesh(carom_context *context, const float *vertices, int32_t vertex_count, const int32_t *triangles,
	int32_t triangle_count, carom_mesh_sides sides, const uint32_t *materials);
/// One triangle, rounded to float.
carom_mesh *peer_triangle(carom_context *context, v3d a, v3d b, v3d c, carom_mesh_sides sides);
/// The hull of the corners of a box.
carom_mesh *peer_box_hull(carom_context *context, v3d low, v3d high);

carom_separation peer_distance(
	carom_context *context, const carom_shape *a, carom_pose pose_a, const carom_shape *b, carom_pose pose_b);
bool peer_overlap(carom_context *context, const carom_shape *a, carom_pose pose_a, const carom_shape *b, carom_pose pose_b);
/// The contacts of two shapes, at most 8. Returns how many.
int32_t peer_collide(carom_context *context, const carom_shape *a, carom_pose pose_a, const carom_shape *b, carom_pose pose_b,
	double margin, carom_contact contacts[8]);
/// The impact of a shape that goes a straight way against one at rest.
carom_toi peer_impact(carom_context *context, const carom_shape *a, carom_pose from, v3d way, const carom_shape *b,
	carom_pose pose_b, double tolerance);

/// A world of one static body.
carom_world *peer_world(carom_context *context, carom_shape shape, carom_pose pose);
carom_body_id peer_add_parts(carom_world *world, const carom_part *parts, int32_t count, carom_pose pose, carom_body_kind kind);
/// Where a ray from a point along a way, up to t = 1, meets a world; -1: nowhere.
double peer_cast_ray(const carom_world *world, v3d from, v3d way, carom_ray_hit *hit);
/// The first hit of a shape on a straight way. A miss ends the case.
carom_shape_hit peer_cast_shape(const carom_world *world, carom_shape shape, carom_pose from, v3d way, double tolerance);

#endif
