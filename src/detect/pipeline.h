/// One step of detection as stages over flat lists: pair, vertex, ray, complete, merge.
///
/// Each stage reads a dense list and appends to per-worker lists, which are drained in the order of the pairs: the result does not
/// depend on the threads. One file a stage; pipeline.c calls them in order and takes the times.
#ifndef CR_DETECT_PIPELINE_H
#define CR_DETECT_PIPELINE_H

#include "base/arena.h"
#include "base/array.h"
#include "bvh/bvh_kernels.h"
#include "detect/body.h"
#include "detect/broad.h"
#include "detect/detect_kernels.h"

/// How a pair of shape types is tested: the selection table is in pair.c.
typedef enum cr_algorithm {
	CR_ALGORITHM_NONE,
	CR_ALGORITHM_VOLUMES, // two basic volumes: closed forms
	CR_ALGORITHM_PLANE,   // plane and mesh: vertices below the plane
	CR_ALGORITHM_ROUND,   // sphere or capsule and mesh: closest points
	CR_ALGORITHM_RAYS,    // two meshes (a box counts as one): rays, then triangles
} cr_algorithm;

/// A contact before it is sorted and reduced. See carom_contact.
typedef struct cr_raw_contact {
	double point[3];
	float normal[3];
	float depth;
	int32_t feature_a;
	int32_t feature_b;
	int32_t kind; // carom_contact_kind
} cr_raw_contact;

typedef CR_ARRAY(cr_raw_contact) cr_raw_contacts; // data in an arena

/// Rays of one worker: rows of equal capacity, filled by the vertex stage, cast by the ray stage.
typedef struct cr_ray_chunk {
	cr_sample_rays rays;
	int32_t *triangle; // hits
	float *t;
	uint8_t *back;
	int32_t count;
	int32_t capacity;
} cr_ray_chunk;

/// The rays of one ordered pair.
typedef struct cr_ray_range {
	cr_ray_chunk *chunk;
	int32_t first;
	int32_t count;
} cr_ray_range;

/// A pair on its way through the stages. Bodies a < b.
typedef struct cr_pair_work {
	int32_t a;
	int32_t b;
	uint8_t algorithm;
	bool keep;     // boxes overlap as oriented boxes and the user's filter lets it pass
	bool touching; // a ray hit or a contact of another algorithm: no completion needed
	cr_transform a_to_b;
	cr_transform b_to_a;
	cr_ray_range rays[2]; // from the samples of a against b, and of b against a
	cr_raw_contacts contacts;
	int32_t found; // contacts before reduction
} cr_pair_work;

/// What a worker owns during a step.
typedef struct cr_worker {
	cr_arena arena;
	cr_ray_chunk *chunk;   // the one being filled
	cr_ray_chunk *staging; // for sources of more samples than a chunk holds; always left empty
	cr_candidates candidates;
	bool failed; // out of memory
	// Counters of the step, summed at its end.
	int64_t vertices_tested;
	int64_t vertices_culled;
	int64_t rays_full;
	int64_t rays_outward;
	int64_t triangle_tests;
	int32_t pairs_completed;
	int32_t pairs_crossing;
	char padding[CR_CACHE_LINE];
} cr_worker;

/// Decides for one pair of box-overlapping bodies; the world supplies it (user filter and its recording). May be NULL.
typedef bool cr_pair_verdict_fn(void *user, int32_t a, int32_t b);

typedef struct cr_pipeline {
	carom_context *context;
	const cr_bvh_kernels *bvh;
	const cr_detect_kernels *detect;
	carom_world_def settings;
	cr_broad *broad;
	cr_worker *workers; // [context->thread_count]
	cr_body *bodies;    // the world's, for the step
	int32_t body_count;
	cr_pair_list pairs;          // of the broad phase
	CR_ARRAY(cr_pair_work) work; // one for each broad pair; dense list of those kept:
	CR_ARRAY(int32_t) kept;
	cr_pair_verdict_fn *verdict;
	void *verdict_user;
} cr_pipeline;

/// Make and free the state between steps.
carom_result cr_pipeline_init(cr_pipeline *pipeline, carom_context *context, const carom_world_def *settings);
void cr_pipeline_free(cr_pipeline *pipeline);
/// Run all stages up to the raw contacts of each kept pair (valid until the next run). Adds to stats. On failure the pipeline can be
/// run again.
carom_result cr_pipeline_run(cr_pipeline *pipeline, cr_body *bodies, int32_t body_count, carom_stats *stats);

// ---- The stages ----

/// Update the world boxes of the bodies that moved, each side farther out by margin (body.c).
void cr_bodies_update(carom_context *context, cr_body *bodies, int32_t count, double margin);
/// Tight world box of a body at its present pose.
void cr_body_bounds(const cr_body *body, carom_simd simd, double lower[3], double upper[3]);
/// Transform of points of b to the frame of a, in double; and both directions in float.
void cr_relative_transform(const cr_body *a, const cr_body *b, m3d *rotation, v3d *translation);

carom_result cr_stage_pairs(cr_pipeline *pipeline);    // pair.c
carom_result cr_stage_vertices(cr_pipeline *pipeline); // vertex.c
carom_result cr_stage_rays(cr_pipeline *pipeline);     // ray.c
carom_result cr_stage_complete(cr_pipeline *pipeline); // complete.c; other algorithms: volume_pair.c
/// Sort the contacts of each pair by kind and features and reduce them to the number of the settings.
carom_result cr_stage_reduce(cr_pipeline *pipeline); // reduce.c

/// Tests by pair that the complete stage calls (volume_pair.c).
void cr_collide_volumes(cr_pipeline *pipeline, cr_worker *worker, cr_pair_work *work);
void cr_collide_plane(cr_pipeline *pipeline, cr_worker *worker, cr_pair_work *work);
void cr_collide_round(cr_pipeline *pipeline, cr_worker *worker, cr_pair_work *work);

/// Append a contact in the worker's arena. Sets worker->failed when out of memory.
void cr_add_contact(cr_worker *worker, cr_pair_work *work, const cr_raw_contact *contact);

/// A way out of a body: how far along a direction, and through which triangle. Float, in the target's frame.
typedef struct cr_way_out {
	float depth;
	float direction[3]; // unit
	int32_t triangle;
} cr_way_out;

/// Apply carom_world_def.max_depth_ratio to what a ray from origin found.
void cr_limit_depth(
	const cr_pipeline *pipeline, const cr_collider *source, const cr_collider *target, const float origin[3], cr_way_out *way);

/// Cast rays begin..end-1 by a built-in method (all but CAROM_RAYS_PLUGIN).
void cr_cast_collider(const cr_bvh_kernels *kernels, carom_ray_method method, const cr_collider *collider,
	const carom_ray_batch *rays, int32_t begin, int32_t end, const carom_hit_batch *hits);
/// Cast rays begin..end-1 against the target by the method of the settings.
void cr_cast(const cr_pipeline *pipeline, const cr_body *target, const carom_ray_batch *rays, int32_t begin, int32_t end,
	const carom_hit_batch *hits);

#endif
