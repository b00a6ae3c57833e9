/// A swept scene as the files of this folder share it.
#ifndef CR_SWEEP_SWEEP_STATE_H
#define CR_SWEEP_SWEEP_STATE_H

#include "base/radix.h"
#include "sweep/sweep_lab.h"
#include "sweep/sweep_worker.h"

typedef struct cr_sweep_mesh {
	int32_t first_vertex, vertex_count;
	bool self, is_rigid;
	double thickness;
	// its first vertex in the places of the sweep; -1: they are lent
	int32_t own_first;
	const double *lent_begin, *lent_end; // [3*vertex_count]
	double largest_begin, largest_end;   // largest coordinate
} cr_sweep_mesh;

struct carom_sweep {
	carom_context *parent; // of the user
	carom_context context; // counts the scene's memory
	carom_sweep_def def;
	// Meshes one after the other. Triangles with a repeated corner are left out.
	CR_ARRAY(cr_sweep_mesh) meshes;
	CR_ARRAY(cr_sweep_filter) filters; // [meshes]
	CR_ARRAY(cr_sweep_arc) arcs;       // [meshes] of the step
	CR_ARRAY(int32_t) mesh_vertices;   // [meshes+1] where the vertices of each mesh begin
	// [3*n]; empty once the order holds them. Searches of cr_search_near keep them
	CR_ARRAY(int32_t) triangles;
	CR_ARRAY(int32_t) triangle_numbers; // [n] within its mesh
	CR_ARRAY(double) begin;             // [3*n] of the vertices that are not lent
	CR_ARRAY(double) end;
	cr_sweep_verdict_fn *verdict; // NULL: none
	void *verdict_user;
	cr_sweep_taker taker;    // nobody: the swept tests
	bool searched;           // the step has been searched: the next motion begins a new one
	bool swept;              // ... for impacts
	double earliest;         // if so: the time of the earliest one; infinite: there is none
	CR_ARRAY(double) wanted; // [3*n] the ends that were given, while others are tried
	// Made by the first search after a mesh was added.
	bool built;
	bool bounded; // boxes are those of the step
	bool resting; // all is placed where the step ends
	cr_sweep_order order;
	cr_sweep_scene scene;
	cr_sweep_tree tree;
	double *scene_begin, *scene_end; // [3*vertices] begin and end, by the numbers of the scene
	// [vertices] of the meshes of the scene's vertices, where these differ much; else empty
	CR_ARRAY(float) sizes;
	// [vertices] half of the thickness of each vertex's mesh, where any has some; else empty
	CR_ARRAY(double) halves;
	// The search.
	cr_sweep_job job;
	int round;                 // of a search for the earliest impact
	cr_sweep_worker **workers; // [context.thread_count], NULL before the first search
	CR_ARRAY(cr_sweep_pair) tasks, next_tasks;
	cr_sweep_line *line;               // CAROM_SWEEP_SORT; NULL: not made
	struct cr_device_sweep *on_device; // device_sweep.h; NULL: nothing is there
	int64_t device_fallbacks;
	bool front_held;
	bool front_due;       // to be rebuilt: it has sprouted too much, or is mostly stale
	bool front_stale;     // to be pruned
	int64_t front_size;   // bytes of where the last traversal stopped
	bool front_over;      // those were too many
	int64_t sum_sprouted; // since it was rebuilt
	int64_t sum_replaced;
	int64_t steps;
	int64_t adjacent; // pairs of adjacent leaves met by the last traversal from the root
	cr_front front;
	// Results.
	CR_ARRAY(cr_key) keys, scratch;
	CR_ARRAY(const cr_sweep_impact *) found;
	CR_ARRAY(carom_sweep_hit) hits;
	CR_ARRAY(carom_sweep_crossing) crossings;
	CR_ARRAY(carom_sweep_way_apart) ways_apart;
	CR_ARRAY(carom_sweep_candidate) candidates;
	carom_sweep_stats stats;
};

/// Check that a mesh has this number; call names the function in the text.
carom_result cr_check_sweep_mesh_number(carom_sweep *sweep, const char *call, int32_t mesh);
/// Check the fields of a mesh, and its triangles.
carom_result cr_check_sweep_mesh(carom_context *context, const carom_sweep_mesh_def *def);

/// Make the tree, and put all where the step ends: nothing moves. Boxes are to be bounded after it,
/// and places again for another search of the step.
carom_result cr_place_at_rest(carom_sweep *sweep);
/// Hand all pairs of leaves whose boxes overlap, those that share a vertex too, to taker.leaves;
/// the front stays as it is. There are boxes. False when out of memory.
bool cr_walk_sweep_leaves(carom_sweep *sweep, cr_sweep_taker taker);
/// Boxes that hold the motion from time 0 to until.
void cr_bound_sweep(carom_sweep *sweep, double until);
/// Make boxes that hold the step, unless they do. For a search of the processor, and before others
/// walk down the tree: a device has boxes of its own.
void cr_fit_sweep_boxes(carom_sweep *sweep);
/// The largest bulge of the meshes that turn in this step; 0: none does.
double cr_sweep_bulge(const carom_sweep *sweep);
/// The largest thickness of a mesh.
double cr_sweep_thickness(const carom_sweep *sweep);
/// The largest coordinate of the step.
double cr_sweep_largest(const carom_sweep *sweep);
/// The group of a mesh's triangles, which never hit each other: that of a mesh without
/// self-collision, that of all rigid meshes together, or -1.
int32_t cr_group_of_mesh(const carom_sweep *sweep, int64_t mesh);
/// Search the step for its earliest impact. *best: in a list of the workers; NULL: there is none,
/// or a failure.
carom_result cr_find_earliest_impact(carom_sweep *sweep, const cr_sweep_impact **best);
/// Search the step for pairs that come nearer than distance: taker gets the candidates of boxes.
/// The separation of the scene stays.
carom_result cr_search_candidates(carom_sweep *sweep, double distance, cr_sweep_taker taker);
/// Find all impacts, or the earliest: in the lists of the workers. False when out of memory. Fills
/// stats.
bool cr_search_sweep(carom_sweep *sweep, bool earliest);
/// Are there more finds in the lists of the workers than max_hits? Their name and call stand in
/// the text.
carom_result cr_check_found(carom_sweep *sweep, const char *call, const char *name);
/// Search with the help of def.device. There are places of the step, and no boxes are needed. The
/// lists of the workers are of no use after a failure.
carom_result cr_search_sweep_on_device(carom_sweep *sweep, bool earliest);
/// Put the impacts of the workers in order: found[keys[i].value] is number i. False when out of
/// memory.
bool cr_sort_sweep_impacts(carom_sweep *sweep);
/// Put the impacts of the workers in order: hits. False when out of memory.
bool cr_sort_sweep_hits(carom_sweep *sweep);
/// How a definition wants pairs of features to be tested, and the public name of a verdict
/// (sweep_pair.c).
cr_swept_options cr_swept_options_of(const carom_sweep_def *def, carom_simd simd);
carom_sweep_status cr_sweep_status_of(uint8_t swept_status);
/// Writes the impact of a pair that was tested by itself.
void cr_fill_pair_hit(const cr_swept_impact *impact, carom_sweep_kind kind, carom_sweep_hit *hit);

/// An impact by the numbers of the caller.
carom_sweep_hit cr_make_sweep_hit(const carom_sweep *sweep, const cr_sweep_impact *impact);
/// Free the workers.
void cr_free_sweep_workers(carom_sweep *sweep);

#endif
