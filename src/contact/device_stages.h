/// Shared by the files of the back end on a device (device_stages.c): its state, the meshes that
/// are there, and its stages.
///
/// The trees and triangles of meshes stay on the device, in one buffer, as long as they are those
/// that were copied there (cr_collider.revision). A stage sends its work in the order of the pairs,
/// and puts the results where the processor's own stage would. The processor does the work that the
/// device leaves open, and that of meshes that it cannot hold.
///
/// A world may have several devices. Each is a part of the state, with its own meshes. Rays of a
/// pair stay with the part that has cast them before (cr_pair_memory.group); a new pair goes to the
/// one with the fewest rays, the first of them. Work that a failing part leaves goes to the others.
/// The near stage and the crossings are done by the first part that works.
#ifndef CR_CONTACT_DEVICE_STAGES_H
#define CR_CONTACT_DEVICE_STAGES_H

#include "contact/contact.h"
#include "vulkan/gpu_casts.h"
#include "vulkan/gpu_near.h"
#include "vulkan/gpu_sweep.h"
#include "vulkan/vk_device.h"

/// A mesh on the device, or one that cannot be there.
typedef struct cr_held_mesh {
	uint64_t revision;           // of the collider; no two are the same
	const cr_collider *collider; // in the step of `run`
	uint64_t run;                // of the pipeline, when it was wanted last
	int64_t place;               // in the buffer; negative: not there yet
	uint64_t bytes;
	bool no_room; // it is too deep, too large or too odd
	// of the tiers of rays, where the part has them
	cr_gpu_mesh_rays rays;
	uint64_t structure_bytes, scratch_bytes;
	// [rank_count] of a block: when a walk of the tree takes it (device_near.c)
	int32_t *rank;
	int32_t rank_count;
} cr_held_mesh;

/// Rays side by side in a list of the frame that have one target.
typedef struct cr_ray_group {
	cr_span rays;
	int32_t work; // pair; of walks CR_OF_RUN: several
	bool is_walk;
	int32_t target; // body
	float reach;    // of casts: how far they are followed backward
	int32_t part;   // device that does them
	int32_t job;    // of the batch; CR_NO_JOB: the processor does them
	uint32_t first; // ray of the batch
} cr_ray_group;
enum { CR_NO_JOB = -1, CR_OF_RUN = -1 };

/// A pair of which a device tests meetings.
typedef struct cr_couple_group {
	int32_t work;
	uint32_t first; // of its meetings on the device
} cr_couple_group;

/// A pair whose trees are walked.
typedef struct cr_near_item {
	cr_near_walk walk; // the next one
	int32_t work;
	int32_t job;   // the first of the walks under way; CR_NO_JOB: the processor walks
	int32_t last;  // the last one so far, while jobs are dealt
	int32_t walks; // under way: those after the first follow where it finds nothing
	bool done;
	bool waits; // no walk is made where a ray of the pair hits in the same submission
} cr_near_item;

/// Pairs whose trees are walked in one submission, and the finds by jobs.
typedef struct cr_near_batch {
	CR_ARRAY(cr_near_item) items;
	CR_ARRAY(cr_gpu_near_job) jobs;
	CR_ARRAY(int32_t) next;  // [jobs] the job that follows each; CR_NO_JOB: none
	CR_ARRAY(int64_t) first; // [jobs + 1] of order
	CR_ARRAY(uint32_t) order;
	cr_gpu_near_list list;
} cr_near_batch;

/// The trial of a device whose tier is AUTO: batches of many casts take turns among the tiers that
/// it has, two each, and the fastest one stays.
typedef struct cr_tier_trial {
	int32_t batches[CAROM_TIER_PIPELINE + 1];
	double ms[CAROM_TIER_PIPELINE + 1]; // least, of a cast
} cr_tier_trial;

/// Boxes of bodies on a device, and the lists of a search.
typedef struct cr_device_boxes {
	cr_gpu_sweep gpu;
	int64_t loaded;                         // boxes that it has numbers of
	uint64_t found;                         // candidates of the last step
	CR_ARRAY(int32_t) bodies;               // [boxes]
	CR_ARRAY(int32_t) endless;              // bodies without bounds
	CR_ARRAY(float) corners;                // [6*boxes] all lower ones, then all upper ones
	CR_ARRAY(int32_t) links;                // [3*boxes] edges, then groups
	CR_ARRAY(cr_gpu_sweep_pair) candidates; // of a window
	CR_ARRAY(int64_t) first;                // [body_count + 1]
	CR_ARRAY(cr_body_pair) sorted;
} cr_device_boxes;

/// A device of the world, and the meshes and lists there.
typedef struct cr_device_part {
	carom_device *device;
	uint64_t failed; // run of the pipeline in which it failed last
	cr_device_boxes boxes;
	cr_gpu_casts casts;
	cr_gpu_near near, ahead;       // of the near stage, and of walks that go up with the first rays
	CR_ARRAY(cr_held_mesh) meshes; // sorted by revision
	uint64_t used, structured;     // bytes of the buffers of meshes and of structures
	cr_tier_trial trial;
	// of the ray stage: its groups, and those of the batch that is under way
	int64_t first, last;
	int64_t begin, end;
	int64_t load; // rays
	cr_gpu_cast_batch batch;
	double begun; // cr_time_ms
	cr_gpu_ray *ray_items;
	cr_gpu_cast_job *ray_jobs;
	const cr_gpu_hit *hits;
	const cr_gpu_walked *walked;
} cr_device_part;

typedef struct cr_device_state {
	int32_t part_count;
	cr_device_part parts[CAROM_MAX_DEVICES];
	// No more than these are the processor's: full rays, tests of triangles, first walks of pairs,
	// and walks that were not foreseen.
	int64_t few_rays, few_tests, few_first, few_walks;
	int64_t few_bodies;                // likewise: pairs of no more are found by the processor
	bool paired;                       // the last pairs were found by a device
	CR_ARRAY(cr_ray_group) rays, left; // of the ray stage, by parts; those that wait to be dealt
	// of the crossings stage, which one part does
	CR_ARRAY(cr_couple_group) couples;
	cr_gpu_couple *couple_items;
	cr_gpu_couple_job *couple_jobs;
	cr_near_batch near; // of the near stage, which one part does
	// of the first submission of a step, for the rounds that follow (device_ahead.c)
	cr_near_batch ahead;
	CR_ARRAY(int32_t) ahead_of;  // [work] the item of ahead; CR_NO_JOB: none
	CR_ARRAY(uint8_t) rays_made; // [work] cr_rays_made of the pair
} cr_device_state;

/// The state of the back end; NULL: out of memory.
cr_device_state *cr_state_on_device(cr_pipeline *pipeline);
/// Lock and unlock all devices of the world. result: as that of cr_gpu_unlock.
void cr_lock_devices(const cr_pipeline *pipeline);
carom_result cr_unlock_devices(const cr_pipeline *pipeline, carom_result result);
/// Is there a tier of rays that a part uses, or may yet use?
bool cr_traces_rays(const cr_device_part *part);
/// The tier in which a part makes its next batch of so many casts.
carom_device_tier cr_tier_of_batch(const cr_device_part *part, uint32_t casts);
/// The batch of a part, of no failure, took so many milliseconds.
void cr_note_batch(cr_device_part *part, double ms);
/// Can a part work in this step?
static inline bool cr_is_working(const cr_pipeline *p, const cr_device_part *part)
{
	return part->failed != p->run && !part->device->stats.lost;
}
/// The first part that works; NULL: none does.
cr_device_part *cr_working_part(const cr_pipeline *pipeline);
/// A device has failed with an error text: it is left out in this step. Others, if there are any,
/// do its work.
void cr_drop_part(cr_pipeline *pipeline, cr_device_part *part);
/// The failure of a step in which no part works from the beginning.
carom_result cr_fail_devices(const cr_pipeline *pipeline);
/// All have failed, and the processor takes over where that is wanted. Returns whether it is.
bool cr_falls_back(cr_pipeline *pipeline);

// ---- Meshes (device_meshes.c) ----

typedef struct cr_mesh_addresses {
	uint64_t nodes, blocks, across, head;
	uint64_t structure, boxes; // of the tiers of rays; 0: none
} cr_mesh_addresses;

/// Note that a mesh is wanted in this step. false: out of memory.
bool cr_want_mesh(const cr_pipeline *pipeline, cr_device_part *part, const cr_collider *collider);
/// Bring the wanted meshes to the device that are not there. The device is locked.
carom_result cr_put_meshes(const cr_pipeline *pipeline, cr_device_part *part);
/// Can a mesh that was wanted be there?
bool cr_is_on_device(const cr_device_part *part, const cr_collider *collider);
/// Where it is, once it was put there.
cr_mesh_addresses cr_addresses_of(const cr_device_part *part, const cr_collider *collider);
/// Of a mesh that was wanted, by block: when walks of cr_bvh_kernels.pairs take it.
const int32_t *cr_ranks_of(const cr_device_part *part, const cr_collider *collider);
/// The greatest absolute coordinate of a mesh.
float cr_size_of_mesh(const cr_collider *collider);
/// Forget all meshes. The device is locked.
void cr_free_meshes(carom_context *context, cr_device_part *part);
/// Is one of these floats neither 0 nor normal, or not below a power of two?
bool cr_has_odd_float(const float *x, size_t count, int exponent);

// ---- Rays and walks of the first round (device_ahead.c) ----

/// How far are the rays of a pair that waits for its ray stage?
typedef enum cr_rays_made { CR_RAYS_NOT_MADE, CR_RAYS_MADE, CR_RAYS_CAST } cr_rays_made;

/// The items of a batch from number first on, as a loop over some of them sees them.
typedef struct cr_near_task {
	cr_pipeline *pipeline;
	cr_near_batch *batch;
	cr_device_part *part; // NULL: none does them
	const cr_gpu_near *near;
	int64_t first;
} cr_near_task;

/// In the first round, where one device does a step: make the rays that are wanted already, and
/// send them with the walks of the pairs that wait for the near stage, and those of pairs of which
/// no ray may hit.
carom_result cr_send_ahead(cr_pipeline *pipeline, cr_device_state *state);
/// Of the near stage (device_near.c): note the meshes of items first..last-1, deal jobs to them and
/// write these, and put the finds in order. false: out of memory.
bool cr_want_near_meshes(const cr_near_task *task, int64_t last);
bool cr_deal_near_jobs(const cr_near_task *task, int64_t last);
void cr_pack_near_jobs(const cr_near_task *task, int64_t last);
bool cr_order_near_finds(const cr_near_task *task);
/// Append a pair whose trees may be walked. false: out of memory.
bool cr_add_near_item(const cr_pipeline *pipeline, cr_near_batch *batch, int32_t work, bool waits);
/// Of the ray stage (device_rays.c): list the taken rays, casts by pairs and walks likewise. false:
/// out of memory.
bool cr_list_first_rays(cr_pipeline *pipeline, cr_device_state *state);
/// Are there enough listed rays for a device to be asked?
bool cr_rays_are_worth_it(const cr_device_state *state);
/// Deal the listed rays to a part, and write those of its next batch; pairs: cr_gpu_cast_batch.
/// *fits false: one batch is not enough.
carom_result cr_pack_first_rays(cr_pipeline *pipeline, cr_device_state *state, cr_device_part *part, uint32_t pairs, bool *fits);
/// Put the results of the batch into the frame's lists.
carom_result cr_take_first_rays(cr_pipeline *pipeline, cr_device_state *state, cr_device_part *part);

/// Free the boxes of a part. The device is locked.
void cr_free_boxes(carom_context *context, carom_device *device, cr_device_boxes *boxes);
/// Let the broad phase of the processor begin again, if a device has found the last pairs.
void cr_wake_broad(cr_pipeline *pipeline);

// ---- Stages ----

carom_result cr_pairs_on_device(cr_pipeline *pipeline);    // device_boxes.c
carom_result cr_near_on_device(cr_pipeline *pipeline);     // device_near.c
carom_result cr_vertices_on_device(cr_pipeline *pipeline); // device_rays.c
carom_result cr_rays_on_device(cr_pipeline *pipeline);
carom_result cr_crossings_on_device(cr_pipeline *pipeline); // device_crossings.c

#endif
