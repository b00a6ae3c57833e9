/// A proximity scene as the files of this folder share it.
#ifndef CR_PROXIMITY_PROXIMITY_STATE_H
#define CR_PROXIMITY_PROXIMITY_STATE_H

#include "carom/proximity.h"
#include "geom/convex.h"
#include "geom/feature_distance.h"
#include "sweep/sweep_state.h"

typedef struct cr_near_shape {
	carom_shape shape; // a hull's mesh is retained
	carom_pose pose;
	cr_sweep_filter filter;
} cr_near_shape;

/// A triangle of each of two meshes that cross; mesh_a is the lower one.
typedef struct cr_near_cut {
	int32_t mesh_a, mesh_b;
	int32_t triangle_a, triangle_b; // numbers within their meshes
} cr_near_cut;

typedef CR_ARRAY(cr_near_cut) cr_near_cuts;

/// Pairs that a worker found, by numbers that run through all meshes.
typedef struct cr_near_worker {
	CR_ARRAY(carom_proximity_pair) found[2]; // by carom_sweep_kind
	int64_t total;                           // as many there are, kept or not
	cr_near_cuts cuts;                       // in no order
	int32_t asked_a, asked_b;                // the meshes that were asked about last; -1: none
	bool asked;                              // the answer
} cr_near_worker;

/// Decides whether a pair of meshes is kept: it is complete, but for its numbers: vertices run
/// through all meshes, and those of mesh_a, mesh_b and triangle are not set. From any worker.
typedef bool cr_near_keep_fn(const void *user, const carom_proximity_pair *pair);

/// Are triangles of two meshes, a < b, that cross to be listed? From any worker, perhaps more than
/// once.
typedef bool cr_near_cut_fn(const void *user, int32_t mesh_a, int32_t mesh_b);

struct carom_proximity {
	carom_context *context; // of the user
	int64_t max_pairs;      // 0: no bound
	carom_sweep *sweep;     // at rest: its meshes begin and end where they are
	CR_ARRAY(cr_near_shape) shapes;
	double distance;         // of the last search; 0: none since something changed
	double reach;            // of the search that runs
	cr_near_keep_fn *keep;   // NULL: all pairs are
	cr_near_cut_fn *cuts;    // NULL: none are
	const void *keep_user;   // of both
	float least_overlap;     // of the boxes of leaves that cross
	cr_near_cuts crossing;   // of the last search, by meshes, then triangles
	cr_near_worker *workers; // [thread_count]; NULL before the first search
	// the pairs of all workers
	CR_ARRAY(const carom_proximity_pair *) listed;
	CR_ARRAY(cr_key) pair_keys, scratch; // their order
	CR_ARRAY(carom_proximity_pair) pairs;
	CR_ARRAY(carom_proximity_shape_pair) shape_pairs;
	CR_ARRAY(cr_key) keys; // of the features of one shape, and room to sort them
	CR_ARRAY(carom_proximity_shape_pair) sorted;
	CR_ARRAY(int32_t) triangles; // near a shape, by the numbers of the sweep's triangles
	// [vertices of all meshes] gap of the nearest triangle from a shape, of the last search with
	// shapes; else empty
	CR_ARRAY(double) shape_gaps;
	// [vertices of all meshes] safe displacements; empty: not asked for since the search
	CR_ARRAY(double) safe;
};

/// Pairs of meshes (proximity_pairs.c): forget those of the workers, which are made if there are
/// none (false when out of memory); a cr_sweep_take_fn that measures candidates within reach; how
/// many were found; and put them in order, in pairs and the stats of the sweep (false when out of
/// memory).
bool cr_start_near_workers(void *proximity);
bool cr_take_near_pairs(void *user, int worker, const cr_swept_queries *queries, const int32_t *triangles, int32_t count);
int64_t cr_count_near_pairs(const carom_proximity *proximity);
bool cr_sort_near_pairs(carom_proximity *proximity);
void cr_free_near_workers(carom_proximity *proximity);
/// Fill a pair, whose kind is set, but for its numbers. origin: its first vertex.
void cr_fill_near_pair(const cr_near *near, v3d origin, carom_proximity_pair *pair);

/// Before a search: least_overlap. A cr_sweep_leaves_fn that lists crossing triangles in the
/// worker, and their order, in crossing; both false when out of memory (proximity_cuts.c). Devices
/// find none.
void cr_bound_near_cuts(carom_proximity *proximity);
bool cr_take_near_leaves(void *user, int worker, const cr_leaf_pair *leaves, int32_t count);
bool cr_sort_near_cuts(carom_proximity *proximity);

/// Find what is near the shapes: shape_pairs and shape_gaps. The sweep has searched. False when out
/// of memory (proximity_shapes.c).
bool cr_find_near_shapes(carom_proximity *proximity, double distance);
/// List the triangles whose boxes meet a box, by the numbers of the sweep: triangles. Those of a
/// group (cr_group_of_mesh) are left out, if it is 0 or more. Boxes are those of the last search.
/// False when out of memory.
bool cr_list_near_triangles(carom_proximity *proximity, const double lower[3], const double upper[3], int32_t group);
/// Add a shape that was checked; false when out of memory. And take out all.
bool cr_append_near_shape(carom_proximity *proximity, const carom_shape *shape, const carom_pose *pose, cr_sweep_filter filter);
void cr_clear_near_shapes(carom_proximity *proximity);
/// Give up the references of the shapes.
void cr_free_near_shapes(carom_proximity *proximity);

/// What features near one shape are put in order by: vertices, edges and triangles, each by their
/// numbers. vertices and triangle as in carom_proximity_shape_pair.
static inline uint64_t cr_feature_key(const int32_t vertices[3], int32_t triangle)
{
	const uint64_t first = (uint64_t)(uint32_t)vertices[0], second = (uint64_t)(uint32_t)vertices[1];
	if (vertices[1] < 0)
		return first;
	return triangle < 0 ? (uint64_t)1 << 62 | first << 31 | second : (uint64_t)2 << 62 | (uint64_t)(uint32_t)triangle;
}

/// A triangle that was measured against a shape.
typedef struct cr_measured_triangle {
	v3d place[3];      // of its corners, from an origin near them
	int32_t corner[3]; // their numbers
	double reach;      // size of the shape and how far it is from the origin
} cr_measured_triangle;

/// Name the vertex, the edge (lower vertex first) or the face of a triangle that its point nearest
/// to a shape lies on. vertices, weight: of the feature; -1 and 0 beyond its vertices. *point: its
/// nearest point, from the same origin. Returns how many vertices it has. A point within a
/// tolerance of a corner or an edge lies there: the search knows the point up to roundings, and the
/// two triangles at an edge are to give its place one name.
int cr_name_feature(const cr_measured_triangle *t, v3d nearest, int32_t vertices[3], double weight[3], v3d *point);

/// Where a vertex is, by its number among those of all meshes.
v3d cr_near_vertex(const carom_proximity *proximity, int32_t vertex);

#endif
