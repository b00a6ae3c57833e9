/// One step of detection as stages over flat lists.
///
/// pairs; then, for one part of the pairs after the other, begin; near, crossings, vertices and
/// rays in rounds until no pair waits for one of them; finish and reduce. simple comes once. Each
/// pair of meshes says which stage it waits for; no stage calls another. Each stage takes the pairs
/// that wait for it, in order, and appends to per-worker lists: the result does not depend on the
/// threads. One file a stage; pipeline.c calls them and takes the times.
///
/// The way of a pair through the rounds:
/// - It did not touch in the last step, or its contacts are patches: near, crossings, and rays
///   where these leave the answer open; then crossings once more.
/// - Else: rays; where they hit nothing, or patches shall replace their contacts: near, crossings.
/// - An iterative pair that must touch and found nothing begins again: rays, near, crossings. So
///   there are at most three rounds.
#ifndef CR_FRAME_PIPELINE_H
#define CR_FRAME_PIPELINE_H

#include "base/arena.h"
#include "base/array.h"
#include "bvh/bvh_kernels.h"
#include "carom/vulkan.h"
#include "frame/body.h"
#include "frame/broad.h"
#include "frame/changes.h"
#include "frame/frame.h"
#include "frame/temporal.h"

/// Contacts of the pair in hand, in the arena of its worker.
typedef CR_ARRAY(cr_raw_contact) cr_raw_contacts;

/// Walks side by side in their list that have one target: as one batch of lanes.
typedef struct cr_ray_run {
	int32_t target; // body
	cr_span range;
} cr_ray_run;

/// A pair a < b that has passed all stages, with the contacts that are reported.
typedef struct cr_found_pair {
	int32_t a;
	int32_t b;
	cr_span contacts;    // of late ones only the count
	uint32_t found : 26; // contacts before reduction
	uint32_t simple : 1; // its contacts are in the list of simple pairs
	// in no list: they are made again when they are shown, which is cheaper than to keep them
	uint32_t late : 1;
	uint32_t rests : 1; // if the last step had the pair, they are the ones that it had
	uint32_t kept : 1;  // the next step may take them over (contact/resting.c)
	// Contacts of its two bodies were chosen among those of all their parts: it may have none left.
	// Or it is a simple pair of a sensor, which has none.
	uint32_t reduced : 1;
	// a reduced pair: one of its contacts was not ahead, or the sensor touches
	uint32_t touches : 1;
} cr_found_pair;

/// No more than this many are counted in found.
enum { CR_MOST_FOUND = (1 << 26) - 1 };

/// A simple pair a < b whose bodies stood still, and its contacts.
typedef struct cr_resting_pair {
	int32_t a;
	int32_t b;
	uint32_t generation[2];
	cr_span contacts; // of its list; reduced ones
	uint32_t found;   // before they were reduced
	bool touches;     // of a sensor
} cr_resting_pair;

/// Simple pairs of a step that the next one may take over (contact/resting.c).
typedef struct cr_resting {
	CR_ARRAY(cr_resting_pair) pairs; // in order
	CR_ARRAY(cr_raw_contact) contacts;
	uint64_t run; // the step that they are of (cr_pipeline.run); 0: there are none
} cr_resting;

/// The stage that a pair of meshes waits for. Rays: made by the vertex stage, cast by the ray
/// stage.
typedef enum cr_next { CR_NEXT_NONE, CR_NEXT_NEAR, CR_NEXT_CROSSINGS, CR_NEXT_RAYS } cr_next;

/// A pair of meshes on its way through the stages. Bodies a < b. Where keep is not set nothing
/// below slot is.
typedef struct cr_pair_work {
	int32_t a;
	int32_t b;
	int32_t slot;   // of the pair's memory; -1: none
	bool keep;      // boxes overlap as oriented boxes, and it is not known to be apart
	bool iterative; // continues from its memory
	bool looked;    // the near stage has listed the triangles that may meet
	bool cast;      // its rays were cast and judged
	bool again;     // begun once more in full
	bool cut;       // full, and rays were left out: nothing can be said of near samples
	bool touching;  // a ray hit: no completion needed
	bool beside;    // touching, but edges may cross elsewhere (contact/edges_beside.c)
	bool changed;   // this step has changed what the pair remembers of watched samples
	// its contacts follow from the poses and shapes alone, or from these and what it remembers,
	// which no step at these poses changes
	bool by_poses;
	bool rests;       // they are those of the last step
	bool dropped;     // a ray was inside but left its own body first (exit_distance_test)
	double allowed;   // full: displacement that the new memory shall bear; 0: remember nothing
	double gap;       // of surfaces that do not meet: how far apart they are now at least
	float extension;  // how far rays are followed outward
	cr_span meetings; // set where looked
	// where a device has tested them: the number of the first in pipeline->pierced, and 1; else 0
	uint32_t tested;
	// from the samples of a against b, and of b against a: walks of iterative pairs, else casts
	cr_span rays[2];
	cr_span contacts;
	int32_t found; // contacts before reduction
	// From here on not cleared for the pairs of a step.
	cr_reference now; // the relative pose
	cr_transform a_to_b;
	cr_transform b_to_a;
} cr_pair_work;

/// The memory and counters of a worker during a step.
typedef struct cr_worker {
	cr_arena arena;
	cr_arena walked; // of candidates alone, so that a list that does not fit can be let go
	cr_frame *frame; // the pipeline's
	cr_frame_tails tails;
	cr_kept *kept; // the pipeline's that is in use
	cr_kept_tails kept_tails;
	cr_casts staging; // for sources of more samples than are taken at once; always left empty
	int32_t staging_count;
	CR_ARRAY(cr_ray_run) runs; // in the arena
	cr_candidates candidates;
	cr_raw_contacts contacts; // of the pair in hand
	bool failed;              // out of memory
	// Counters of the step, summed at its end.
	int64_t vertices_tested;
	int64_t vertices_culled;
	int64_t vertices_watched;
	int64_t rays_full;
	int64_t rays_outward;
	int64_t rays_predictive;
	int64_t rays_iterative;
	int64_t rays_lost;
	int64_t rays_recast;
	int64_t rays_on_device;
	int64_t walks_on_device;
	int64_t rays_returned;
	int64_t tests_on_device;
	int64_t tests_returned;
	int64_t near_on_device;
	int64_t near_returned;
	int64_t walk_steps;
	int64_t triangle_tests;
	int32_t pairs_full;
	int32_t pairs_iterative;
	int32_t pairs_apart;
	int32_t pairs_completed;
	int32_t pairs_crossing;
	int32_t pairs_simple; // looked at closely
	char padding[CR_CACHE_LINE];
} cr_worker;

/// Is a contact of parts a < b kept? Any thread. contact->pair is its number among those of the
/// pair.
typedef bool cr_contact_verdict_fn(void *user, int32_t a, int32_t b, const carom_contact *contact);

/// Make the mesh of a box, which has none yet (world/shape.c). On failure the box still has none.
typedef carom_result cr_mesh_maker_fn(void *user, cr_body *body);

typedef struct cr_stages cr_stages;
typedef struct cr_pipeline cr_pipeline;

/// Cast rays begin..end-1 against the mesh of a body.
typedef void cr_cast_fn(const cr_pipeline *pipeline, const cr_body *target, const carom_ray_batch *rays, int32_t begin,
	int32_t end, const carom_hit_batch *hits);

/// In the place of parts of stages. NULL: the library's own. The laboratory sets them.
typedef struct cr_hooks {
	cr_cast_fn *cast;
	// the kept pairs, into pipeline->order, which has their count
	carom_result (*order)(cr_pipeline *pipeline);
	void (*for_pairs)(cr_pipeline *pipeline, carom_task_fn *task_fn, int64_t min_range);
} cr_hooks;

struct cr_pipeline {
	carom_context *context;
	const cr_stages *stages;
	const cr_bvh_kernels *bvh;
	const cr_contact_kernels *kernels;
	cr_settings settings;
	cr_broad *broad;
	cr_worker *workers;   // [worker_count]
	int32_t worker_count; // at least as many as threads
	cr_body *bodies;      // the world's, for the step
	int32_t body_count;
	const cr_changes *changes; // which bodies may have changed since the last step; NULL: all
	bool untimed;              // nobody reads the milliseconds of its stages
	bool near;                 // all pairs are known to be near each other (cr_pair_is_near)
	bool has_solids;           // some body is a solid that deforms
	bool has_parts;            // some body has had several: found pairs get in the order of bodies
	// [body_count] of copies: the parts that they are copies of, which stand beside all others of
	// their body; NULL: there are none. NULL: the bodies are no copies.
	const cr_body *const *originals;
	// contacts that other parts of a body cover stay: for comparisons
	bool keeps_covered;
	cr_frame frame;
	// of the broad phase; from the pair stage on those of meshes alone
	cr_pair_list pairs;
	cr_pair_list simple; // those in which a basic volume or a plane takes part
	// the simple pairs with contacts; merged, all pairs that the views list; in order
	CR_ARRAY(cr_found_pair) found;
	// The pairs of meshes pass the stages in parts, so that their records take no more memory than
	// those of a part. The pairs of the part in hand are pairs[first] and those behind it.
	int64_t first;
	int64_t most;                // of a part, unless all are to be one
	CR_ARRAY(cr_pair_work) work; // one for each pair of the part; the kept ones in a dense list:
	CR_ARRAY(int32_t) kept;
	CR_ARRAY(cr_found_pair) met; // the kept pairs of the parts before, and at last of all, in order
	size_t part_peak;            // most bytes that the lists of a part before took
	int round;                   // of near, crossings, vertices and rays in this step, from 0
	CR_ARRAY(uint8_t) next;      // [work] cr_next of each pair of the part
	CR_ARRAY(int32_t) order;     // the kept pairs as the stages take them
	CR_ARRAY(int32_t) taken;     // those that the running stage takes, in that order
	cr_hooks hooks;
	carom_device *devices[CAROM_MAX_DEVICES]; // of a back end that runs stages there
	int32_t device_count;
	void *on_device;      // its state; NULL: none yet
	bool device_fallback; // where all fail, the processor does their work
	int32_t fallbacks;    // of the step: times that somebody did the work of a device that failed
	// its findings about the meetings of the pairs that are taken (vulkan/gpu_pierced.h)
	const struct cr_gpu_pierced *pierced;
	void *lab;           // state of the laboratory; NULL: none
	bool leaves_rays;    // the laboratory may leave rays out
	int64_t rays_missed; // of the step: left out, or without room at first
	int32_t backtracks;  // of the step
	cr_temporal temporal;
	cr_resting resting[2];               // those of step run are in resting[run % 2]
	cr_contact_verdict_fn *keep_contact; // NULL: all contacts stay
	void *keep_contact_user;
	cr_mesh_maker_fn *make_mesh; // asked by the stepping thread, in the order of pairs
	// With solids: makes the meshes of all that need a form, on all threads.
	carom_result (*make_forms)(void *user);
	// Then: makes the facets of those that need them, where their forms have put them off.
	carom_result (*make_facets)(void *user);
	void *make_mesh_user; // of these
	cr_kept memories[2];  // the memory of pairs: one in use, the other for when that is tidied
	int keeping;          // the one in use
	uint64_t run;         // which step this is, from 1
	size_t live_kept;     // bytes of its entries after it was tidied last
};

/// Make and free the state between steps.
carom_result cr_pipeline_init(
	cr_pipeline *pipeline, carom_context *context, const cr_settings *settings, const cr_stages *stages);
void cr_pipeline_free(cr_pipeline *pipeline);
/// Let the next runs have other settings, with the laboratory, the broad phase and the memory of
/// pairs (temporal) that there are.
void cr_pipeline_set(cr_pipeline *pipeline, const cr_settings *settings);
/// Let the next runs be those of another back end, on its device if it is one. The memory of
/// pairs stays.
void cr_pipeline_move(cr_pipeline *pipeline, const cr_stages *stages, carom_device *const *devices, int32_t count);
/// Run all stages up to the raw contacts of each kept pair (valid until the next run). Adds to
/// stats. On failure the pipeline can be run again.
carom_result cr_pipeline_run(cr_pipeline *pipeline, cr_body *bodies, int32_t body_count, carom_stats *stats);

/// Make room for all that depends on the numbers of bodies, of pairs and of contacts alone. false:
/// out of memory.
bool cr_pipeline_reserve(cr_pipeline *pipeline, int64_t bodies, int64_t pairs, int64_t contacts);
/// Give back all memory that is of use within a step alone, the pairs at rest that the next one
/// would take over, and all that the broad phase keeps. The memory of pairs of meshes stays.
void cr_pipeline_trim(cr_pipeline *pipeline);
/// Empty the memory of all pairs: the next step is a full one.
void cr_pipeline_forget(cr_pipeline *pipeline);
/// The next step takes over no contacts of pairs at rest: it finds them, and chooses among them.
void cr_pipeline_forget_rests(cr_pipeline *pipeline);

// ---- The stages ----

/// Update the world boxes of the bodies that moved, which are among the changed ones, each side
/// farther out by margin (body.c).
void cr_bodies_update(carom_context *context, cr_body *bodies, const cr_changes *changes, int32_t count, double margin);
/// Tight world box of a body at its present pose.
void cr_body_bounds(const cr_body *body, carom_simd simd, double lower[3], double upper[3]);
/// Transform of points of b to the frame of a, in double; and both directions in float.
void cr_relative_transform(const cr_body *a, const cr_body *b, m3d *rotation, v3d *translation);

/// A back end: the functions of the stages, in the order of these members. All from begin on run
/// for each part of the pairs, but simple, which runs for the last; near to rays run in rounds.
struct cr_stages {
	const char *name;
	// makes the broad phase that the settings ask for, and chooses kernels
	carom_result (*open)(cr_pipeline *);
	carom_result (*pairs)(cr_pipeline *);
	carom_result (*begin)(cr_pipeline *);
	carom_result (*near)(cr_pipeline *);
	carom_result (*crossings)(cr_pipeline *);
	carom_result (*vertices)(cr_pipeline *); // NULL: rays does it
	carom_result (*rays)(cr_pipeline *);
	carom_result (*finish)(cr_pipeline *);
	carom_result (*simple)(cr_pipeline *);
	carom_result (*reduce)(cr_pipeline *); // mostly cr_stage_reduce
	void (*close)(cr_pipeline *);          // frees on_device; NULL: nothing
};

/// List the kept pairs that wait for a stage in pipeline->taken, in order. Returns how many there
/// are.
int64_t cr_take(cr_pipeline *pipeline, cr_next next);
/// Run task_fn over the taken pairs in pieces of at least min_range: it gets a range of
/// pipeline->taken. Any worker.
void cr_for_pairs(cr_pipeline *pipeline, carom_task_fn *task_fn, int64_t min_range);
/// Out of memory in any worker? what names the thing that was being made.
carom_result cr_check_workers(const cr_pipeline *pipeline, const char *what);

// Side 0 of a pair: samples of a against b; side 1: of b against a.
static inline const cr_body *cr_source_of(const cr_pipeline *p, const cr_pair_work *w, int side)
{
	return &p->bodies[side == 0 ? w->a : w->b];
}
static inline const cr_body *cr_target_of(const cr_pipeline *p, const cr_pair_work *w, int side)
{
	return cr_source_of(p, w, 1 - side);
}
/// Transform of points of the side's source to its target's frame.
static inline const cr_transform *cr_to_target(const cr_pair_work *w, int side) { return side == 0 ? &w->a_to_b : &w->b_to_a; }

static inline cr_pair_memory *cr_memory_of(const cr_pipeline *p, const cr_pair_work *w)
{
	return w->slot < 0 ? NULL : &p->temporal.slots.data[w->slot];
}
/// The samples that one side of a pair watches.
static inline cr_watch *cr_watched(const cr_pipeline *p, const cr_pair_memory *m, int side)
{
	return cr_watches_at(&p->memories[p->keeping], m->watched[side].first);
}
/// Ask for these.
static inline void cr_prefetch_watched(const cr_pipeline *p, const cr_pair_memory *m, int side)
{
	cr_prefetch(cr_watched(p, m, side), (size_t)m->watched[side].count * sizeof(cr_watch));
}
/// Does the part of a memory hold that has the pose of a role?
static inline bool cr_holds(const cr_pair_memory *m, cr_role role)
{
	return role == CR_ROLE_APART ? m->apart : role == CR_ROLE_FULL ? m->valid : m->near.holds;
}
/// Does a role that holds have one of the kept poses? except: a role that is not asked; CR_ROLES:
/// all are.
static inline bool cr_needs_pose(const cr_pair_memory *m, int kept, cr_role except)
{
	for (int role = 0; role < CR_ROLES; role++) {
		if (role != (int)except && m->poses.of[role] == kept && cr_holds(m, (cr_role)role))
			return true;
	}
	return false;
}
/// One of the kept poses of a memory, which there is.
static inline cr_reference *cr_kept_pose(const cr_kept *kept, const cr_pair_memory *m, int number)
{
	return cr_list_at(&kept->poses, 0, m->poses.kept[number] - 1);
}
/// The pose that a memory has for a role that holds.
static inline const cr_reference *cr_pose_for(const cr_pipeline *p, const cr_pair_memory *m, cr_role role)
{
	return cr_kept_pose(&p->memories[p->keeping], m, m->poses.of[role]);
}
/// Forget the lists and poses of a memory that no longer hold.
static inline void cr_trim_memory(cr_pair_memory *m)
{
	m->near.pairs.count = m->near.holds ? m->near.pairs.count : 0;
	if (!m->valid)
		m->watched[0].count = m->watched[1].count = 0;
	for (int k = 0; k < CR_ROLES; k++)
		m->poses.kept[k] = cr_needs_pose(m, k, CR_ROLES) ? m->poses.kept[k] : 0;
}
/// Copy the lists of a memory, which keep in from, to to, and let it name them there. false: out of
/// memory.
bool cr_move_memory(cr_pair_memory *memory, const cr_kept *from, cr_kept *to, cr_kept_tails *tails);
/// Let the lists of found and met pairs change places.
static inline void cr_swap_found(cr_pipeline *pipeline)
{
	cr_found_pair *const data = pipeline->found.data;
	const int64_t count = pipeline->found.count, capacity = pipeline->found.capacity;
	pipeline->found.data = pipeline->met.data;
	pipeline->found.count = pipeline->met.count;
	pipeline->found.capacity = pipeline->met.capacity;
	pipeline->met.data = data;
	pipeline->met.count = count;
	pipeline->met.capacity = capacity;
}
/// Let the other of the kept lists be in use, with the room that one tail has taken of it.
void cr_change_kept(cr_pipeline *pipeline, cr_kept_tails tails);
/// The contact that users see of a raw one, of a pair whose bodies and parts are known. The rest is
/// 0.
static inline carom_contact cr_contact_of(const carom_pair *pair, const cr_raw_contact *raw)
{
	return (carom_contact){
		.body_a = pair->body_a,
		.body_b = pair->body_b,
		.point = { raw->point[0], raw->point[1], raw->point[2] },
		.normal = { raw->normal[0], raw->normal[1], raw->normal[2] },
		.depth = raw->depth,
		.feature_a = raw->feature_a,
		.feature_b = raw->feature_b,
		.kind = (carom_contact_kind)raw->kind,
		.shape_a = pair->shape_a,
		.shape_b = pair->shape_b,
	};
}

#endif
