/// The state that the laboratory keeps for a pipeline, and the doors between its files.
#ifndef CR_LAB_STATE_H
#define CR_LAB_STATE_H

#include "contact/contact.h"
#include "frame/laboratory.h"

/// Lists of rays by algorithm.
enum { CR_LIST_FULL, CR_LIST_ITERATIVE, CR_LIST_COUNT };

/// Prediction of the lengths of the lists of rays.
typedef struct cr_ray_rooms {
	int64_t last_pairs; // of meshes, of the broad phase, in the last step; 0: none yet
	int64_t last_rays[CR_LIST_COUNT];
	int64_t room[CR_LIST_COUNT]; // of this step
} cr_ray_rooms;

/// A mesh prepared by the ray plugin, shared by its bodies.
typedef struct cr_plugin_mesh {
	const cr_collider *collider;
	void *state;
	int32_t bodies;
} cr_plugin_mesh;

/// The part that snapshots copy.
typedef struct cr_lab_plain {
	carom_group_stats groups[CAROM_MAX_WORKER_GROUPS]; // of the step
	cr_ray_rooms rooms;
} cr_lab_plain;

typedef struct cr_lab_state {
	cr_lab_plain plain;
	unsigned char unused[CR_LAB_BYTES - sizeof(cr_lab_plain)];
	CR_ARRAY(cr_plugin_mesh) plugin_meshes;
	CR_ARRAY(uint8_t) group_of; // [work] of each pair of meshes that is kept
} cr_lab_state;

static inline cr_lab_state *cr_lab_of(const cr_pipeline *p) { return p->lab; }

/// Vertices and rays in one naive loop, or with predicted room.
extern const cr_stages cr_naive_stages;
extern const cr_stages cr_predicting_stages;

/// hooks.order and hooks.for_pairs of worker groups (groups.c), and their counts at the end of a
/// step.
carom_result cr_order_by_group(cr_pipeline *pipeline);
void cr_for_groups(cr_pipeline *pipeline, carom_task_fn *task_fn, int64_t min_range);
void cr_count_groups(cr_pipeline *pipeline);

/// Brute force over all pairs of bodies, O(n^2): the oracle of the broad phases.
carom_result cr_broad_create_brute(carom_context *context, cr_broad **broad);

/// Cast rays begin..end-1 against a collider by a method other than CAROM_RAYS_PLUGIN
/// (slow_rays.c).
void cr_cast_by(carom_ray_method method, carom_simd simd, const cr_collider *collider, const carom_ray_batch *rays,
	int32_t begin, int32_t end, const carom_hit_batch *hits);
/// hooks.cast by these, and by the plugin (ray_plugin.c).
cr_cast_fn cr_cast_slowly;
cr_cast_fn cr_cast_by_plugin;
/// cr_laboratory.attach, hold and drop: the plugin's data for meshes.
carom_result cr_attach_plugin(cr_pipeline *pipeline, cr_shape *shape, const char *function);
void cr_hold_plugin_mesh(cr_pipeline *pipeline, const cr_shape *shape);
void cr_drop_plugin_mesh(cr_pipeline *pipeline, const cr_shape *shape);
/// Give all of it back.
void cr_free_plugin_meshes(cr_pipeline *pipeline);

#endif
