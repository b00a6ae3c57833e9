/// Calls for the world beyond carom/sweep.h: they write places without copies and checks, ask the
/// world about pairs of meshes, and check input.
#ifndef CR_SWEEP_SWEEP_MOTION_H
#define CR_SWEEP_SWEEP_MOTION_H

#include "base/context.h"
#include "carom/sweep.h"
#include "geom/swept.h"
#include "geom/time_of_impact.h"

/// Where the vertices of a mesh are written: at both ends of the step, [3*count] each, and the
/// largest coordinate of each.
typedef struct cr_sweep_places {
	double *begin, *end;
	double *largest_begin, *largest_end;
	int32_t count;
} cr_sweep_places;

/// Begin a step as a motion does: everything rests where the last one ended. To be called whether
/// or not anything moves.
void cr_begin_sweep_step(carom_sweep *sweep);
/// After it, and before the search: places written there count. Different meshes may be written at
/// the same time. The mesh is not a lent one.
cr_sweep_places cr_get_sweep_places(carom_sweep *sweep, int32_t mesh);

/// A mesh as carom_sweep_add_mesh adds it, whose places stay with their owner: def->vertices is not
/// read.
carom_result cr_add_lent_mesh(carom_sweep *sweep, const carom_sweep_mesh_def *def, int32_t *mesh);
/// Say where the places of a lent mesh are, [3*vertex_count] each, and the largest coordinate of
/// each. To be called before each search, which reads them; the owner may move them after it.
/// Different meshes may be lent at the same time.
void cr_lend_sweep_places(
	carom_sweep *sweep, int32_t mesh, const double *begin, const double *end, double largest_begin, double largest_end);

/// Say that a rigid mesh turns in this step: its vertices move on the arcs of motion, from where
/// they were written to begin, to where they end. vertices [3*count], in its own frame, are read
/// until the next step begins; no vertex lies farther than reach from the origin of that frame.
/// After its places are written, in each step in which it turns. Different meshes may turn at the
/// same time. carom_sweep_find looks at arcs, the search for the earliest impact does not.
void cr_turn_sweep_mesh(carom_sweep *sweep, int32_t mesh, const cr_motion *motion, const float *vertices, double reach);

/// Decides for two meshes, a < b, whose filters let each other pass; from any worker, perhaps more
/// than once.
typedef bool cr_sweep_verdict_fn(void *user, int32_t a, int32_t b);
/// NULL: none, as at first.
void cr_set_sweep_verdict(carom_sweep *sweep, cr_sweep_verdict_fn *verdict, void *user);

/// Takes candidate pairs of features in place of the swept tests: the queries 0 .. count - 1, and
/// the triangles of those of vertex and face, by the numbers of the scene. Different workers call
/// it at the same time. Returns false when out of memory.
typedef bool cr_sweep_take_fn(void *user, int worker, const cr_swept_queries *queries, const int32_t *triangles, int32_t count);
/// Takes the pairs of leaves whose boxes overlap, each once, before their features: likewise.
struct cr_leaf_pair;
typedef bool cr_sweep_leaves_fn(void *user, int worker, const struct cr_leaf_pair *leaves, int32_t count);
/// Who takes them. start forgets all that was taken: it is called before a search, and again where
/// the processor begins again in the place of a device. False when out of memory.
typedef struct cr_sweep_taker {
	bool (*start)(void *user);
	cr_sweep_take_fn *take;     // NULL: nobody; with leaves, features are not made
	cr_sweep_leaves_fn *leaves; // NULL: nobody takes leaves; a search on a device has none
	void *user;
	bool moves; // take gets queries that move; else they rest
} cr_sweep_taker;
/// Search a scene at rest: every pair of features that may be nearer than a separation goes to
/// taker, once, and there are no impacts. Stats are those of a search. From then on the sweep
/// serves this alone.
carom_result cr_search_near(carom_sweep *sweep, double separation, cr_sweep_taker taker);

/// carom_sweep_place_mesh and carom_sweep_set_filter for another call, which texts name.
carom_result cr_place_sweep_mesh(carom_sweep *sweep, const char *call, int32_t mesh, const carom_strided *vertices);
carom_result cr_set_sweep_filter(
	carom_sweep *sweep, const char *call, int32_t mesh, uint64_t category, uint64_t mask, int32_t group);

/// Read the vertices of a mesh, after cr_check_sweep_vertices. places [3*count]; returns the
/// largest coordinate.
double cr_read_sweep_vertices(const carom_strided *view, int32_t count, double *places);
/// Check a view of vertices and all of them: field names the view in the text, fault is the result
/// for a bad vertex.
carom_result cr_check_sweep_vertices(
	carom_context *context, const char *field, const carom_strided *view, int32_t count, carom_result fault);
/// Check that a device, which field names in the text, goes with a context. NULL does.
carom_result cr_check_sweep_device(carom_context *context, const char *field, const carom_device *device);
/// Check the fields of a definition.
carom_result cr_check_sweep_def(carom_context *context, const carom_sweep_def *def);

#endif
