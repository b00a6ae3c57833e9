/// What the tests of worlds share: meshes of known form, worlds and bodies in one line each, a counting allocator, and a dull ray.
#ifndef TESTS_FIXTURE_H
#define TESTS_FIXTURE_H

#include "bvh/bvh_kernels.h"
#include "carom/carom.h"
#include "failing_calls.h"
#include "labs.h"
#include "math/transform.h"
#include "test.h"
#include <stdatomic.h>

#define FIXTURE_PI 3.14159265358979323846

enum { FIXTURE_MAX_VERTICES = 4096, FIXTURE_MAX_TRIANGLES = 8192 };

/// A mesh as it is put together. Large: static or on the heap.
typedef struct fixture_soup {
	float vertices[3 * FIXTURE_MAX_VERTICES];
	int32_t triangles[3 * FIXTURE_MAX_TRIANGLES];
	int32_t vertex_count;
	int32_t triangle_count;
} fixture_soup;

/// Append a vertex. Returns its number.
int32_t fixture_soup_vertex(fixture_soup *soup, double x, double y, double z);
void fixture_soup_triangle(fixture_soup *soup, int32_t a, int32_t b, int32_t c);
void fixture_soup_quad(fixture_soup *soup, int32_t a, int32_t b, int32_t c, int32_t d);
/// Append a closed box with a vertex at each corner, centre at c.
void fixture_soup_box(fixture_soup *soup, v3d centre, double hx, double hy, double hz);
/// Append a closed sphere of the given number of stripes; poles on z.
void fixture_soup_sphere(fixture_soup *soup, v3d centre, double radius, int stripes);
/// Append a closed torus around z of major radius 1, its tube lumpy by a share of the minor radius.
void fixture_soup_torus(fixture_soup *soup, int around, int across, double minor, double lump);
/// Append an open sheet of cells x cells squares in z = 0, size wide, its normal up, its diagonals alternating.
void fixture_soup_sheet(fixture_soup *soup, int cells, double size);

// The same as finished meshes. A failure ends the case.
carom_mesh *fixture_mesh(carom_context *context, const fixture_soup *soup);
carom_mesh *fixture_box_mesh(carom_context *context, double hx, double hy, double hz);
carom_mesh *fixture_sphere_mesh(carom_context *context, double radius, int stripes);
carom_mesh *fixture_torus_mesh(carom_context *context, int around, int across, double minor, double lump);
carom_mesh *fixture_sheet_mesh(carom_context *context, int cells, double size);

/// A context; threads as in carom_context_def.
carom_context *fixture_context(int threads);

enum { FIXTURE_SIMD_COUNT = 5 };
/// Every instruction set that there are kernels for, on whatever machine; scalar first.
extern const carom_simd fixture_all_simd[FIXTURE_SIMD_COUNT];
/// Tree kernels of an instruction set; NULL where the build or the machine lacks it.
const cr_bvh_kernels *fixture_kernels(carom_simd simd);

carom_world *fixture_world(carom_context *context, const carom_world_def *def);

static inline carom_shape fixture_of_mesh(const carom_mesh *mesh) { return (carom_shape){ .type = CAROM_MESH, .mesh = mesh }; }
static inline carom_shape fixture_sphere(double radius) { return (carom_shape){ .type = CAROM_SPHERE, .radius = radius }; }
static inline carom_shape fixture_box(double x, double y, double z)
{
	return (carom_shape){ .type = CAROM_BOX, .half_extents = { x, y, z } };
}
static inline carom_shape fixture_capsule(double radius, double half_length)
{
	return (carom_shape){ .type = CAROM_CAPSULE, .radius = radius, .half_length = half_length };
}
static inline carom_shape fixture_cylinder(double radius, double half_length)
{
	return (carom_shape){ .type = CAROM_CYLINDER, .radius = radius, .half_length = half_length };
}
static inline carom_shape fixture_cone(double radius, double half_length)
{
	return (carom_shape){ .type = CAROM_CONE, .radius = radius, .half_length = half_length };
}
static inline carom_shape fixture_ellipsoid(double x, double y, double z)
{
	return (carom_shape){ .type = CAROM_ELLIPSOID, .half_extents = { x, y, z } };
}
static inline carom_shape fixture_hull(const carom_mesh *mesh) { return (carom_shape){ .type = CAROM_HULL, .mesh = mesh }; }
/// The hull of points [3*count].
carom_mesh *fixture_hull_mesh(carom_context *context, const float *points, int32_t count);
static inline carom_pose fixture_at(double x, double y, double z) { return (carom_pose){ { x, y, z }, { 0, 0, 0, 1 } }; }

/// Centres and radii of spheres [4*n]: x, y, z, radius.
static inline carom_strided fixture_centres(const double *spheres)
{
	return (carom_strided){ spheres, 4 * sizeof(double), CAROM_FLOAT64 };
}
static inline carom_strided fixture_radii(const double *spheres) { return fixture_centres(spheres + 3); }

/// Add a body of a kind; a failure ends the case.
carom_body_id fixture_add(carom_world *world, carom_shape shape, carom_pose pose, carom_body_kind kind);
void fixture_step(carom_world *world);
/// A turn about an axis (any length) by an angle in radians.
carom_quat fixture_turn(v3d axis, double angle);
/// Any orientation, position within span of the origin along each axis.
carom_pose fixture_random_pose(uint64_t *seed, double span);
/// A pose turned by 0.1 about z at a place, off it by up to tremble in each number.
carom_pose fixture_trembling_pose(uint64_t *seed, double tremble, carom_vec3 at);
cr_transform fixture_transform(carom_pose pose);
/// First b, then a: rotate(a.q, b.p) + a.p.
carom_pose fixture_compose(carom_pose a, carom_pose b);

/// Bit for bit.
bool fixture_same_vector(carom_vec3 a, carom_vec3 b);
/// A call has failed as expected, with a text that holds this one.
void fixture_expect_error(const carom_context *context, carom_result result, carom_result expected, const char *text);
/// A call has refused an argument (CAROM_INVALID_ARGUMENT), likewise.
void fixture_expect_wrong(const carom_context *context, carom_result result, const char *text);

static inline v3d fixture_normal(const carom_contact *c) { return (v3d){ c->normal[0], c->normal[1], c->normal[2] }; }
static inline v3d fixture_point(const carom_contact *c) { return (v3d){ c->point[0], c->point[1], c->point[2] }; }
static inline v3d fixture_vector(carom_vec3 v) { return (v3d){ v.x, v.y, v.z }; }
static inline bool fixture_same_id(carom_body_id a, carom_body_id b)
{
	return a.index1 == b.index1 && a.generation == b.generation;
}

/// Check what holds for every step: views sorted, pairs and contacts refer to each other, normals unit, events complete, stats in
/// order.
void fixture_check_views(const carom_world *world);
/// How many surface contacts are through.
int fixture_count_through(const carom_world *world);

/// A ray in the mesh's frame against every triangle, in double.
typedef struct fixture_hit {
	int32_t triangle; // -1: none
	double t;
	bool back;
	double t_second;  // of the next triangle: tells how clear the answer is
	double edge;      // smallest barycentric weight of the hit: near 0 on an edge
	double incidence; // |cosine| between ray and triangle normal
} fixture_hit;
fixture_hit fixture_cast(const carom_mesh *mesh, v3d origin, v3d direction);

/// Run fn on two threads at once, with users[0] and users[1]. fn must use no check macros: they are for one thread.
void fixture_run_two(void *(*fn)(void *), void *users[2]);

/// Memory that counts, and fails when told. Thread-safe.
typedef struct fixture_heap {
	atomic_llong calls;  // allocations asked for
	atomic_llong blocks; // allocations held
	atomic_llong bytes;
	atomic_llong fail_at;   // the call with this number (from 0) fails; -1: none
	atomic_bool fail_on;    // and all after it
	failing_calls *failing; // NULL, or says which call fails (fixture_begin_failing)
} fixture_heap;
/// A context whose memory comes from the heap, which is reset.
carom_context *fixture_heap_context(fixture_heap *heap, int threads);
/// A run of work begins: at most one allocation of it fails, the one that calls says.
void fixture_begin_failing(fixture_heap *heap, failing_calls *calls);
/// No allocation fails any more. Returns whether one has failed; if none has, all runs are done.
bool fixture_end_failing(fixture_heap *heap);
/// The settings of a world whose ray plugin prepares nothing and hits nothing. Each mesh of it takes allocations while the body is made.
carom_world_def fixture_plugin_world_def(void);
/// One step of a world that fill fills, over and over, where one allocation after the other fails (failing_calls_of_preset): it ends
/// with CAROM_OUT_OF_MEMORY, the step after it succeeds, and so many pairs are found. The runs end with the first step that succeeds.
/// Returns how many allocations that one makes.
int fixture_fail_each_allocation(fixture_heap *heap, carom_context *context, const carom_world_def *def,
	void (*fill)(carom_world *world, void *user), void *user, int pairs);

/// A recording in memory: bytes are malloc's, free them. Zero is empty.
typedef struct fixture_tape {
	uint8_t *bytes;
	size_t count;
	size_t capacity;
	size_t at;    // of the reader
	size_t limit; // the writer gives up beyond; 0: never
} fixture_tape;
/// For carom_world_record and carom_replay_recording; user is a fixture_tape.
bool fixture_write_tape(const void *bytes, size_t count, void *user);
bool fixture_read_tape(void *bytes, size_t count, void *user);
/// Make the check sums of a recording right again, as far as the sizes of its records lead.
void fixture_repair_tape(fixture_tape *tape);

#endif
