/// @file sweep.h
/// Impacts between and within deforming triangle meshes during a step (continuous collision
/// detection): vertex against face, edge against edge.
///
/// Every vertex moves on a straight line from its place at the beginning of the step (time 0) to
/// that at its end (time 1). No impact is missed: one that is not reported has been proved, with
/// error bounds, not to happen (Wang et al. 2021). The pairs to look at come from one tree of all
/// triangles and a front through it that is kept from step to step (Tang, Manocha and Tong, MCCD,
/// 2010). The floating-point unit must be in its default mode (base.h).
#ifndef CAROM_SWEEP_H
#define CAROM_SWEEP_H

#include "carom/mesh.h"
#include "carom/vulkan.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How candidate pairs of triangles are found. All find the same impacts.
typedef enum carom_sweep_method {
	CAROM_SWEEP_AUTO,  ///< the front, or from the root while the front exceeds its budget
	CAROM_SWEEP_FRONT, ///< the front of the last step is followed (MCCD, Algorithm 1)
	CAROM_SWEEP_BVH,   ///< the tree is walked from its root in every step
	/// Breadth first in one thread until there is work for all (MCCD, section 3.3). For comparison;
	/// needs the laboratory (carom_sweep_def.lab).
	CAROM_SWEEP_PHC,
	/// Sweep and prune: boxes of triangles sorted along an axis (Belgrod et al. 2023). For
	/// comparison; needs the laboratory.
	CAROM_SWEEP_SORT,
} carom_sweep_method;

/// Boxes of the tree.
typedef enum carom_sweep_volume {
	CAROM_SWEEP_DOP18, ///< 18-DOP: x, y, z, x+-y, x+-z, y+-z
	CAROM_SWEEP_AABB,
} carom_sweep_volume;

/// How the tree is built. It is built once, from the places at the beginning of the first step.
typedef enum carom_sweep_build {
	CAROM_SWEEP_MEDIAN, ///< spatial median of the longest axis (MCCD)
	CAROM_SWEEP_SAH,    ///< surface area heuristic
} carom_sweep_build;

/// The test of one pair of features.
typedef enum carom_sweep_test {
	CAROM_SWEEP_CERTIFIED, ///< misses nothing; false impacts within the tolerance
	/// Inclusion-based bisection alone (Wang et al. 2021): certified, slower.
	CAROM_SWEEP_INCLUSION,
	/// Roots of the cubic in floating point, as MCCD. It misses impacts. For comparison; needs the
	/// laboratory.
	CAROM_SWEEP_CUBIC,
} carom_sweep_test;

/// How to make a swept scene. Start from carom_default_sweep_def.
typedef struct carom_sweep_def {
	int cookie; ///< set by carom_default_sweep_def; do not touch
	carom_sweep_method method;
	carom_sweep_volume volume;
	carom_sweep_build build;
	carom_sweep_test test;
	/// Above 0, metres: features that come this near without touching may be reported too.
	double tolerance;
	/// Metres, 0 or more: features that come this near have an impact. Half of it belongs to each
	/// of the two; carom_sweep_mesh_def.thickness adds to it for one mesh. Features that begin
	/// nearer have one at time 0, also if they part: relative_separation spares them that.
	/// - 0: a time of impact may be as near to the touch as a double can tell. Places that are
	///   computed from it are rounded and may lie beyond, which later searches do not tell. Who
	///   stops at impacts sets more than that rounding: 1e-6 of the largest coordinate is enough.
	/// - Less than the shortest edge: else a mesh has impacts with itself at rest, and each has a
	///   record.
	double min_separation;
	/// 0, or up to 1: a separation that shrinks with the first distance. Features that are d apart
	/// at time 0 have an impact when they come as near as the lesser of their separation and this
	/// part of d; they are reported within (1 - this) / 2 of d at most, if that is less than the
	/// tolerance. So features that begin nearer than their separation have no impact while they
	/// keep this part of their distance, and those that begin apart never touch. d is that of
	/// carom_proximity_of_pair, up to rounding. 0: none. Worlds refuse it. (IPC, Li et al. 2020,
	/// takes 0.2.)
	double relative_separation;
	/// 0 or more: a search for all impacts that finds more fails with CAROM_OVER_BUDGET, and its
	/// text says how many there are; none is left out in silence. 0: no bound. A search needs some
	/// hundred bytes for each impact, so the bound is one of memory too, for each worker. Worlds
	/// have none: they refuse it.
	int64_t max_hits;
	/// Leave pairs of adjacent triangles to orphan sets (MCCD, section 4). False: they are tested
	/// like others.
	bool orphan_sets;
	/// Shrink the front where boxes have parted (Wang et al. 2018), when a sample shows that it is
	/// due, and rebuild it where most have parted. False: it is only rebuilt (MCCD).
	bool prune_front;
	/// The front is rebuilt when this part of it has sprouted (MCCD: Q1, 0.3). This and the next
	/// field count without prune_front, and in searches for the earliest impact alone, which never
	/// prune.
	double rebuild_sprouted;
	/// The front is rebuilt when this part of it has been replaced (MCCD: Q2, 0.45).
	double rebuild_replaced;
	/// Most bytes of the front. Beyond it the tree is walked from the root; a front is kept again
	/// once it would take less than three quarters of them. 0: no bound.
	size_t front_budget;
	/// NULL, or the laboratory (carom_lab_sweep, carom/lab.h). CAROM_SWEEP_PHC, CAROM_SWEEP_SORT
	/// and CAROM_SWEEP_CUBIC are refused without it. In a world, carom_world_def.lab brings it
	/// along.
	const struct cr_sweep_lab *lab;
	/// NULL, or a device of the same context, which must outlive the scene. The device finds the
	/// pairs of features whose boxes meet and filters them; the processor tests those that are
	/// left, and finds equal impacts. There is no front then; method, volume and build matter only
	/// for a fallback. A method or test of the laboratory is refused. Device memory is not counted
	/// in carom_sweep_stats. Where the device fails, the search fails (carom_create_device lists
	/// the errors), and may be made again.
	carom_device *device;
	/// Where the device fails, or has no room, the processor does that search alone, with equal
	/// impacts. carom_sweep_stats.device_fallbacks counts it.
	bool device_fallback;
} carom_sweep_def;

/// AUTO, 18-DOP, median, certified, tolerance 1e-6, no separation, no bound on hits, orphan sets,
/// pruning, 0.3, 0.45, 256 MiB, no laboratory, no device. Thread-safe.
CAROM_API carom_sweep_def carom_default_sweep_def(void);

/// A mesh of the scene: open or closed, manifold or not. Start from carom_default_sweep_mesh_def.
/// Triangles with a repeated corner are left out. Vertices that no triangle uses take no part.
typedef struct carom_sweep_mesh_def {
	int cookie; ///< set by carom_default_sweep_mesh_def; do not touch
	int32_t vertex_count;
	const int32_t *triangles; ///< [3*triangle_count]
	int32_t triangle_count;
	carom_strided vertices; ///< places at the beginning of the first step, world frame
	bool self;              ///< report impacts within the mesh (pairs that share no vertex)
	/// It moves as a whole or not at all: there are no impacts within it, nor with other rigid
	/// meshes.
	bool is_rigid;
	/// Two meshes are tested against each other when each one's category has a bit in common with
	/// the other's mask ...
	uint64_t category;
	uint64_t mask;
	/// ... unless they share a group other than 0: negative groups never collide, positive ones
	/// always do. (Two rigid ones never do.)
	int32_t group;
	/// Metres, 0 or more: half of it is added to min_separation for each feature of the mesh. So
	/// two features keep min_separation and half of each mesh's thickness apart; two of one mesh
	/// keep its thickness. A proximity scene takes no notice of it.
	double thickness;
} carom_sweep_mesh_def;

/// No vertices, no triangles, self-collision on, not rigid, category 1, all bits of the mask, no
/// group, no thickness. Thread-safe.
CAROM_API carom_sweep_mesh_def carom_default_sweep_mesh_def(void);

/// A swept scene. Calls on one scene are for one thread at a time; searches run on the workers of
/// the context. Results do not depend on their number, on the instruction set, or on method, volume
/// and build. (CAROM_SWEEP_CUBIC, which filters nothing, may find more with CAROM_SWEEP_AABB.)
///
/// A step consists of motions (carom_sweep_move_mesh) and then searches, one or several. Motions
/// without a search between them belong to one step, and the last one of a mesh counts. The first
/// motion after a search begins the next step, in which everything starts from where the last one
/// ended.
typedef struct carom_sweep carom_sweep;

/// Make a scene without meshes. def may be NULL for the defaults. CAROM_INVALID_ARGUMENT names the
/// field; on failure *sweep is NULL. The context must outlive the scene. Thread-safe: scenes of one
/// context may be made, used and destroyed in different threads at once.
CAROM_API carom_result carom_create_sweep(
	carom_context *context, const carom_sweep_def *def, carom_sweep **sweep);
/// Destroy a scene. NULL does nothing.
CAROM_API void carom_destroy_sweep(carom_sweep *sweep);

/// Add a mesh, which is copied; *mesh is its number, from 0. Between steps only. The next search
/// rebuilds the tree. CAROM_INVALID_MESH names the triangle or vertex at fault. On failure the
/// scene stays as it was.
CAROM_API carom_result carom_sweep_add_mesh(
	carom_sweep *sweep, const carom_sweep_mesh_def *def, int32_t *mesh);

/// Say where the vertices of a mesh are at the end of the step (world frame, one place for each
/// vertex); at its beginning they are where the last step ended. A mesh that is not moved rests.
/// Places are finite, at most CAROM_MAX_COORDINATE. CAROM_INVALID_ARGUMENT names the argument and
/// the vertex at fault, and nothing has changed. The caller must see to it that a rigid mesh keeps
/// its form.
CAROM_API carom_result carom_sweep_move_mesh(
	carom_sweep *sweep, int32_t mesh, const carom_strided *end);
/// Put a mesh somewhere without sweeping it: vertices are its places at the beginning and at the
/// end of the step. A motion after it starts from there. Values and errors as for
/// carom_sweep_move_mesh.
CAROM_API carom_result carom_sweep_place_mesh(
	carom_sweep *sweep, int32_t mesh, const carom_strided *vertices);
/// Change which other meshes a mesh is tested against (carom_sweep_mesh_def), from the next search
/// on.
CAROM_API carom_result carom_sweep_set_filter(
	carom_sweep *sweep, int32_t mesh, uint64_t category, uint64_t mask, int32_t group);
/// Which two features meet: a vertex and a triangle, or two edges.
typedef enum carom_sweep_kind { CAROM_SWEEP_VERTEX_FACE, CAROM_SWEEP_EDGE_EDGE } carom_sweep_kind;
/// How sure an impact is.
typedef enum carom_sweep_status {
	/// Converged: clear before time, and within tolerance of an impact at time.
	CAROM_SWEEP_IMPACT,
	/// Within tolerance of an impact at time 0.
	CAROM_SWEEP_TOUCHING,
	/// Out of iterations: clear before time, unknown beyond; treat it as an impact.
	CAROM_SWEEP_UNDECIDED,
} carom_sweep_status;

/// An impact. Vertex against face: vertices[0] of mesh_a hits triangle number triangle of mesh_b,
/// with corners vertices[1..3]. Edge against edge: vertices[0..1] of mesh_a, the lower one first,
/// and vertices[2..3] of mesh_b, the lower one first; A has the lower (mesh, edge).
typedef struct carom_sweep_hit {
	carom_sweep_kind kind;
	carom_sweep_status status;
	int32_t mesh_a, mesh_b;
	int32_t vertices[4]; ///< numbers within their meshes, in file order
	int32_t triangle;    ///< of mesh_b, vertex against face; else -1
	double time;         ///< in [0, 1], never later than the true impact
	/// Of the vertices in the nearest points at time: those of each feature sum to 1.
	double weight[4];
	/// Unit, from the second feature to the first. Along z where the features give no direction:
	/// they touch, and lie on one line or in one point.
	double normal[3];
} carom_sweep_hit;

/// Impacts, sorted by kind, mesh_a, mesh_b, vertices. Valid until the next call on the scene.
typedef struct carom_sweep_hits {
	const carom_sweep_hit *data; ///< [count]
	int64_t count;
} carom_sweep_hits;

/// Find all impacts of the step, each pair of features once. CAROM_OUT_OF_MEMORY, and
/// CAROM_OVER_BUDGET (there are more than max_hits; the text says how many): nothing has changed,
/// and the call, or another search of the step, may be made.
CAROM_API carom_result carom_sweep_find(carom_sweep *sweep, carom_sweep_hits *hits);

/// Find the earliest impact of the step (at equal times the first in the order of
/// carom_sweep_hits); *found tells whether there is one. It stops early, so it is faster than all
/// impacts.
CAROM_API carom_result carom_sweep_find_earliest(
	carom_sweep *sweep, carom_sweep_hit *hit, bool *found);

/// End the step early, where nothing has met: at most at time (0 to 1), and before its earliest
/// impact. Each vertex then ends on its line from begin to end at a time which *used tells, rounded
/// to doubles; carom_sweep_get_places hands these places out, and the next step begins there.
///
/// Proved: while all vertices move on straight lines from where they began to these rounded places,
/// no features meet; with a separation, none come as near as that. So a solver that keeps exactly
/// these places never crosses anything. The motion that ends there is searched like the step. Where
/// that finds an impact, the time is made less, and it is searched again; after 12 times it is 0.
/// Features that have an impact at time 0 (CAROM_SWEEP_TOUCHING) allow no motion at all: *used is
/// 0, and each vertex ends where it began. No search is made where there is no impact and time
/// is 1, or at time 0.
///
/// To be called after carom_sweep_find or carom_sweep_find_earliest, before the next motion; hits
/// of these are no longer valid. Stats are those of the last search made. A rigid mesh moves on
/// straight lines too, so one that turns changes its form on the way. CAROM_INVALID_ARGUMENT names
/// the argument, or says that the step was not searched, or that its test is CAROM_SWEEP_CUBIC,
/// which proves nothing. On CAROM_OUT_OF_MEMORY, or where a device fails, the step is as it was
/// before its search.
CAROM_API carom_result carom_sweep_advance(carom_sweep *sweep, double time, double *used);

/// Write where the vertices of a mesh are at the end of the step, which is where the next one
/// begins: places [3*vertex_count], world frame, metres. CAROM_INVALID_ARGUMENT names the argument.
CAROM_API carom_result carom_sweep_get_places(carom_sweep *sweep, int32_t mesh, double *places);

/// An edge that meets a triangle which has none of its ends.
typedef struct carom_sweep_crossing {
	int32_t mesh_a;      ///< of the edge
	int32_t mesh_b;      ///< of the triangle
	int32_t vertices[2]; ///< ends of the edge, numbers within mesh_a, the lower one first
	int32_t triangle;    ///< number within mesh_b
} carom_sweep_crossing;

/// Crossings, sorted by mesh_a, mesh_b, vertices, triangle. Valid until the next call on the scene.
typedef struct carom_sweep_crossings {
	const carom_sweep_crossing *data; ///< [count]
	int64_t count;
} carom_sweep_crossings;

/// Is the state free of intersections? Find all pairs of an edge and a triangle that share a point
/// at the end of the step, which is where the next one begins: each pair once. Touching counts, and
/// so does lying in one plane; an edge and a triangle that share a vertex are no pair. Decided
/// exactly, for the doubles as they are. Surfaces that cross have such a pair, so a state with none
/// crosses nowhere. (A triangle that is folded flat on a neighbour has none with it.) Meshes meet
/// each other and themselves as in a search for impacts: filters hold, and a rigid mesh does not
/// meet itself.
///
/// May be called at any time; the step, its front and the stats stay as they are. The processor
/// searches, from the root of the tree. CAROM_OVER_BUDGET: there are more crossings than max_hits,
/// and the text says how many. CAROM_OUT_OF_MEMORY. Then none are told.
CAROM_API carom_result carom_sweep_find_crossings(
	carom_sweep *sweep, carom_sweep_crossings *crossings);

/// A crossing, and how it moves to make the line shorter along which the surfaces cross. Metres,
/// world frame.
typedef struct carom_sweep_way_apart {
	carom_sweep_crossing crossing;
	double point[3]; ///< where the edge crosses the triangle
	double along;    ///< of the edge: point is (1 - along) * vertices[0] + along * vertices[1]
	/// of the triangle's corners: sum 1. Corners are those of the mesh, in its order
	double weights[3];
	/// for each metre that the point of the edge moves along a direction, the line gets shorter by
	/// the product of the two
	double edge_way[3];
	double triangle_way[3]; ///< likewise of the point of the triangle
} carom_sweep_way_apart;

/// Ways apart, in the order of crossings. Valid until the next call on the scene.
typedef struct carom_sweep_ways_apart {
	const carom_sweep_way_apart *data; ///< [count]
	int64_t count;
} carom_sweep_ways_apart;

/// Find the crossings of a state, as carom_sweep_find_crossings does, with ways that lead surfaces
/// apart which cross already. Surfaces cross along lines. The ways are the gradient of the length
/// of all these lines, turned round: a vertex of an edge has its part (1 - along, or along) of the
/// edge's way, and a corner of a triangle its weight of the triangle's. Who moves vertices along
/// the sums shortens the lines, until none is left (Volino and Magnenat-Thalmann, Resolving Surface
/// Collisions through Intersection Contour Minimization, 2006). That needs no side, and so works
/// where cloth crosses beside its border. Ways are 0 where an edge lies in the plane of its
/// triangle, and where a flat surface is crossed far from its border: no small motion makes the
/// line shorter there. They grow without bound as an edge turns into the plane, so limit them.
///
/// Results and failures are those of carom_sweep_find_crossings.
CAROM_API carom_result carom_sweep_find_ways_apart(
	carom_sweep *sweep, carom_sweep_ways_apart *ways);

/// Two features that may come near each other: named as in carom_sweep_hit.
typedef struct carom_sweep_candidate {
	carom_sweep_kind kind;
	int32_t mesh_a, mesh_b;
	int32_t vertices[4]; ///< numbers within their meshes
	int32_t triangle;    ///< of mesh_b, vertex against face; else -1
} carom_sweep_candidate;

/// Candidates, sorted by kind, mesh_a, mesh_b, vertices. Valid until the next call on the scene.
typedef struct carom_sweep_candidates {
	const carom_sweep_candidate *data; ///< [count]
	int64_t count;
} carom_sweep_candidates;

/// Find all pairs of features that may come nearer than distance (above 0, at most
/// CAROM_MAX_COORDINATE; metres) at any time of the step, each once: those that a barrier and the
/// line search along it need. Proved: a pair that is not listed stays at least so far apart, its
/// vertices on straight lines. Filters along the axes of the 18-DOP decide, so some of the pairs
/// listed stay farther apart. Separations of the scene do not count.
///
/// It is a search of the step like the others, along one front with them. carom_sweep_advance may
/// follow it where one for impacts came before. CAROM_INVALID_ARGUMENT names the argument.
/// CAROM_OVER_BUDGET: there are more candidates than max_hits, and the text says how many.
/// CAROM_OUT_OF_MEMORY. Then none are told, and the call may be made again.
CAROM_API carom_result carom_sweep_find_candidates(
	carom_sweep *sweep, double distance, carom_sweep_candidates *candidates);

/// Test one pair of features by itself: do they meet while their vertices move on straight lines
/// from begin to end? The four vertices are a vertex and the three corners of a face, or both ends
/// of one edge and both of another. def (NULL: the defaults) gives tolerance, min_separation and
/// test. The verdict and its bits are those of carom_sweep_find for this pair; no tree is made.
/// *found tells whether there is an impact; hit is written only then, with meshes 0, the vertices 0
/// to 3, and triangle 0 or -1.
///
/// CAROM_INVALID_ARGUMENT names the argument that is NULL, not finite, or beyond
/// CAROM_MAX_COORDINATE. Holds less than 64 KiB of memory while it runs; CAROM_OUT_OF_MEMORY.
/// Thread-safe.
CAROM_API carom_result carom_sweep_test_pair(carom_context *context, const carom_sweep_def *def,
	carom_sweep_kind kind, const double begin[4][3], const double end[4][3], bool *found,
	carom_sweep_hit *hit);
/// Counts, times in milliseconds and bytes of the last search.
typedef struct carom_sweep_stats {
	int64_t vertices, edges, triangles, nodes;
	int64_t volume_tests;                             ///< overlap tests of boxes
	int64_t front;                                    ///< nodes of the front at the end of the step
	int64_t front_kept, front_sprouted, front_pruned; ///< nodes that stayed, came, went
	bool front_rebuilt, front_over_budget;
	/// Pairs of triangles whose boxes overlap, that share no vertex, and that filters let pass.
	int64_t leaf_pairs;
	/// Pairs of triangles that share a vertex, when the tree was last walked from its root; with
	/// orphan sets they are not tested.
	int64_t adjacent_pairs;
	int64_t orphans_vf, orphans_ee; ///< size of the orphan sets
	int64_t tests_vf, tests_ee;     ///< elementary tests
	int64_t filtered;               ///< of these, ruled out by the filters
	/// Of the tests, those that a device left to the processor; 0 without one.
	int64_t device_left;
	int64_t device_fallbacks; ///< searches of the processor in the device's place since creation
	int64_t hits_vf, hits_ee, undecided;
	/// In all; building and refitting; traversal; tests; orphans, with their tests; sorting. Where
	/// several workers traverse and test, the time of both is divided by the time that the workers
	/// spent on each. With a device, its work counts as traversal.
	double ms_total, ms_trees, ms_front, ms_tests, ms_orphans, ms_sort;
	/// Memory of the scene; of this, that of the front; the most that the scene ever held.
	size_t bytes, bytes_front, bytes_peak;
} carom_sweep_stats;

/// Counts and times of the last search. Zero before the first one.
CAROM_API carom_sweep_stats carom_sweep_get_stats(const carom_sweep *sweep);

#ifdef __cplusplus
}
#endif
#endif
