/// Features of triangle meshes that move on straight lines, on a device: pairs of a vertex and a
/// triangle, and of two edges, whose boxes meet, less those that filters rule out
/// (shaders/sweep_search.comp, sweep_filter.comp).
///
/// Trees (gpu_lbvh.h) are over triangles and over edges. Their shape stays from step to step, and
/// boxes are refitted, until the tree has become worse by CR_GPU_SWEEP_WORSE.
#ifndef CR_VULKAN_GPU_SWEEP_H
#define CR_VULKAN_GPU_SWEEP_H

#include "vulkan/gpu_lbvh.h"

#define CR_GPU_SWEEP_WORSE 1.3

typedef enum cr_gpu_sweep_kind { CR_GPU_SWEEP_FACES, CR_GPU_SWEEP_EDGES } cr_gpu_sweep_kind;

/// Meshes, by numbers of vertices, which do not change.
typedef struct cr_gpu_sweep_mesh {
	const int32_t *faces;   // [3*face_count], at least two
	const int32_t *edges;   // [2*edge_count]
	const uint32_t *groups; // [vertex_count] vertices of one group other than 0 never meet
	// vertices of all, and how many of them, the first ones, ask which triangles they meet
	uint32_t vertex_count, query_count, face_count, edge_count;
} cr_gpu_sweep_mesh;

/// The tree of the features of one kind.
typedef struct cr_gpu_sweep_tree {
	cr_gpu_lbvh lbvh;
	cr_gpu_buffer vertices; // of the features
	cr_gpu_buffer points, leaves;
	double built_cost, cost; // 0: it has no shape
} cr_gpu_sweep_tree;

/// A pair that stays: a vertex and a triangle, or two edges.
typedef struct cr_gpu_sweep_pair {
	uint32_t a, b;
} cr_gpu_sweep_pair;

typedef struct cr_gpu_sweep {
	uint32_t vertex_count, query_count;
	cr_gpu_sweep_tree trees[2]; // of triangles and of edges
	cr_gpu_buffer groups;
	cr_gpu_buffer places[2]; // [3*vertex_count] at the beginning and at the end
	bool rests;              // in the last step: places[1] holds both
	cr_gpu_buffer counters, candidates, pairs;
	uint64_t room; // candidates that fit, and pairs
	float margin;  // of boxes
} cr_gpu_sweep;

/// Where everything is in a step, scaled so that no coordinate is beyond 1.
typedef struct cr_gpu_sweep_step {
	const float *begin; // [3*vertex_count]; NULL: the end of the last step; end: nothing moves
	const float *end;
	float lower[3], upper[3]; // about all places
	float margin;             // pairs that come nearer than this along an axis stay, and more
	bool is_cubic;            // the cubic may rule out: the margin is 0
	bool unfiltered;          // candidates are asked for
} cr_gpu_sweep_step;

/// Counts of a search.
typedef struct cr_gpu_sweep_counts {
	uint64_t candidates; // whose boxes meet
	uint64_t pairs;      // that stay
	uint64_t visits;     // nodes looked at
	uint64_t tests;      // boxes of leaves compared
} cr_gpu_sweep_counts;

/// A search goes through windows of queries: as many as have room for their candidates at once.
typedef struct cr_gpu_sweep_window {
	cr_gpu_sweep_kind kind;
	uint32_t next, end; // queries that are left
	uint32_t range;     // of them at once
	uint64_t skip;      // candidates of the next query that former windows had
	bool full;          // there is no more room to be had
} cr_gpu_sweep_window;

/// Bring a mesh to the device, in the place of the last one.
carom_result cr_gpu_load_sweep(carom_device *device, cr_gpu_sweep *sweep, const cr_gpu_sweep_mesh *mesh);
/// Bring a step to the device, and make trees and boxes.
carom_result cr_gpu_move_sweep(carom_device *device, cr_gpu_sweep *sweep, const cr_gpu_sweep_step *step);
/// Begin a search. want: candidates to make room for.
carom_result cr_gpu_start_sweep(
	carom_device *device, cr_gpu_sweep *sweep, cr_gpu_sweep_kind kind, uint64_t want, cr_gpu_sweep_window *window);
/// The next window, while window->next is below window->end: count pairs are in sweep->pairs, in no
/// order; in sweep->candidates where the step is unfiltered. counts is added to.
carom_result cr_gpu_sweep_next(carom_device *device, cr_gpu_sweep *sweep, const cr_gpu_sweep_step *step,
	cr_gpu_sweep_window *window, uint64_t *count, cr_gpu_sweep_counts *counts);

/// Bytes of device memory.
uint64_t cr_gpu_sweep_bytes(const cr_gpu_sweep *sweep);
void cr_gpu_free_sweep(carom_device *device, cr_gpu_sweep *sweep);

#endif
