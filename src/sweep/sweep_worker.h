/// The memory of a worker of a sweep: a traversal, the queries that it gathers, and the impacts
/// found.
///
/// Pairs of leaves become pairs of features, pairs of features become queries, and a few hundred
/// queries at a time go through the tests of geom/swept.h: nothing is kept but impacts.
#ifndef CR_SWEEP_SWEEP_WORKER_H
#define CR_SWEEP_SWEEP_WORKER_H

#include "geom/swept.h"
#include "sweep/front.h"
#include "sweep/sweep_arc.h"
#include "sweep/sweep_motion.h"
#include "sweep/sweep_order.h"

/// An impact, by the numbers that were given: of vertices and triangles of all meshes one after the
/// other.
typedef struct cr_sweep_impact {
	int32_t vertices[4];
	int32_t triangle; // vertex and face; else -1
	uint8_t kind;     // cr_swept_kind
	uint8_t status;   // cr_swept_status
	double time;
	double weight[4];
	double normal[3];
} cr_sweep_impact;

typedef CR_ARRAY(cr_sweep_impact) cr_sweep_impacts;

/// Which other meshes a mesh meets (carom_sweep_mesh_def).
typedef struct cr_sweep_filter {
	uint64_t category, mask;
	int32_t group;
} cr_sweep_filter;

/// The task that all workers of a step share.
typedef struct cr_sweep_job {
	carom_context *context;
	const cr_sweep_tree *tree;
	const cr_sweep_kernels *kernels;
	const cr_sweep_order *order;
	const double *begin, *end; // 3 for each vertex of the scene
	const double *halves;      // as cr_swept_queries has them
	double most_thickness;
	cr_swept_options options;
	cr_sweep_taker taker;         // nobody: the swept tests
	bool every;                   // no orphan sets
	bool earliest;                // look for the earliest impact alone
	int64_t most_found;           // of each worker; more are counted, and not kept
	const int32_t *mesh_vertices; // [mesh_count+1] where the vertices of each mesh begin
	int32_t mesh_count;
	const cr_sweep_filter *filters; // [mesh_count]; NULL: all meshes meet
	const cr_sweep_arc *arcs;       // [mesh_count]; NULL: no mesh turns
	double bulge;                   // the largest of the meshes
	cr_sweep_verdict_fn *verdict;   // NULL: none
	void *verdict_user;
	// earliest time found by any worker, as the bits of a double: times are not negative
	atomic_ullong earliest_bits;
	int64_t front_limit;      // bytes that the front may have
	atomic_llong front_bytes; // that it has so far
	atomic_bool front_lost;   // beyond the limit, or out of memory: not kept
} cr_sweep_job;

enum { CR_SWEEP_VERDICTS = 64 };

/// Whether two meshes, a < b, meet, as a worker remembers it during a step.
typedef struct cr_mesh_verdict {
	int32_t a, b; // a is -1: nothing remembered
	bool meet;
} cr_mesh_verdict;

typedef struct cr_sweep_worker {
	cr_sweep_walk walk; // first: its calls get the worker by its address
	cr_sweep_job *job;
	int number; // of the worker
	cr_sweep_queries queries;
	cr_swept_impact *impacts;
	cr_swept_options options; // those of the job, with boxes of the worker's own
	cr_swept_boxes *boxes;
	cr_sweep_impacts found[2]; // by cr_swept_kind; earliest: at most one in all
	int64_t total;             // all impacts, kept or not; not of the earliest
	cr_front_blocks blocks;    // front being made
	int32_t task, order;       // of the next block
	// of the two triangles of the pair of leaves looked at last: most often those of the next
	int32_t last_mesh[2];
	cr_mesh_verdict verdicts[CR_SWEEP_VERDICTS];
	int64_t leaf_pairs;
	cr_swept_stats tests[2]; // by cr_swept_kind
	double ms_tests;
	bool failed; // out of memory: impacts are missing
} cr_sweep_worker;

/// The order of impacts: by kind, meshes, vertices, triangle.
bool cr_impact_is_before(const cr_sweep_job *job, const cr_sweep_impact *a, const cr_sweep_impact *b);

/// The mesh of a vertex.
int32_t cr_mesh_of_vertex(const int32_t *mesh_vertices, int32_t mesh_count, int32_t vertex);

/// A worker with its lists and its number, from 0; NULL when out of memory.
cr_sweep_worker *cr_make_sweep_worker(carom_context *context, int number);
void cr_free_sweep_worker(carom_context *context, cr_sweep_worker *worker);
/// Prepare for a step: everything found is forgotten.
void cr_start_sweep_worker(cr_sweep_worker *worker, cr_sweep_job *job, bool keep_front);

/// Do the filters of meshes let a feature with one vertex of the scene meet one with the other?
bool cr_sweep_worker_admits(cr_sweep_worker *worker, int32_t vertex_a, int32_t vertex_b);
/// Keep impacts of queries, unless there are too many: then they are counted alone. False when out
/// of memory.
bool cr_sweep_worker_keep(
	cr_sweep_worker *worker, const cr_swept_queries *queries, const cr_swept_impact *impacts, int32_t count);
/// Test a pair of features that is not from the tree.
void cr_sweep_worker_add(cr_sweep_worker *worker, cr_swept_kind kind, const cr_feature_pair *pair);
/// Walk from a node of the BVTT. Nodes to be kept in the front go to the blocks, under the number
/// of this task.
void cr_sweep_worker_walk(cr_sweep_worker *worker, int32_t task, cr_sweep_pair from);
/// Follow a block of the front, which is taken: it is empty afterwards.
void cr_sweep_worker_follow(cr_sweep_worker *worker, int32_t task, cr_front_block *block);
/// Test the remaining pairs of leaves and the remaining queries.
void cr_sweep_worker_finish(cr_sweep_worker *worker);

#endif
