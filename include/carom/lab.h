/// @file lab.h
/// The laboratory: methods that exist only to repeat papers and to be compared with. Programs of
/// the source tree that link carom_lab have it (`carom bench`, the tests); the installed library
/// does not. Give carom_world_def.lab the settings of carom_default_lab, changed:
///
///     carom_lab lab = carom_default_lab();
///     lab.stages = CAROM_STAGES_NAIVE;
///     carom_world_def def = carom_default_world_def();
///     def.lab = &lab; // read by carom_create_world
#ifndef CAROM_LAB_H
#define CAROM_LAB_H

#include "carom/record.h"
#include "carom/world.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How rays are cast. The three watertight ones give the same hits, bit for bit.
typedef enum carom_ray_method {
	CAROM_RAYS_WIDE,   ///< 8-wide tree, SIMD, watertight: the library's own
	CAROM_RAYS_BINARY, ///< binary tree with skip pointers, no stack, watertight
	CAROM_RAYS_BASIC,  ///< every triangle, watertight
	/// Every triangle, by Moeller and Trumbore (1997): may leak at edges; for comparison.
	CAROM_RAYS_MOLLER_TRUMBORE,
	CAROM_RAYS_PLUGIN, ///< carom_lab.ray_plugin
} carom_ray_method;

/// A further ray algorithm: three functions; culling, depths and everything after the rays is the
/// library's. plugins/embree.c is one. The functions run inside calls on the world and must not
/// call that world.
typedef struct carom_ray_plugin {
	const char *name;
	/// Prepare a mesh with at least one triangle (a mesh that has none is not handed to a plug-in):
	/// vertices [3*vertex_count], triangles [3*triangle_count] (degenerate ones left out; number[i]
	/// is the number to report for triangle i). vertices stay valid until destroy, the two other
	/// arrays until build returns. Returns its state, or NULL on failure: the body is then not
	/// added, CAROM_OUT_OF_MEMORY. Called by carom_world_add_body on its thread.
	void *(*build)(const float *vertices, int32_t vertex_count, const int32_t *triangles,
		const int32_t *number, int32_t triangle_count, void *user);
	/// Find the nearest hit of each ray. Called from several threads at once.
	void (*cast)(void *state, const carom_ray_batch *rays, const carom_hit_batch *hits, void *user);
	/// Free a state: its last body left and no snapshot of the world holds one, or the world is
	/// being destroyed.
	void (*destroy)(void *state, void *user);
	void *user;
} carom_ray_plugin;

/// The treatment of a ray whose walk over the triangles finds nothing.
typedef enum carom_lost_rays {
	CAROM_LOST_RECAST, ///< cast with the full algorithm in the same step
	CAROM_LOST_DROP,   ///< no contact from it until the pair's next full step, as in the paper
} carom_lost_rays;

/// How the work on meshes is laid out; both give the same contacts.
typedef enum carom_stages {
	/// A dense list for each stage and each ray algorithm (Lehericey, Gouranton and Arnaldi, 2015).
	CAROM_STAGES_LISTS,
	/// One loop over pairs and all their vertices with a switch in it: the baseline that the paper
	/// compares with.
	CAROM_STAGES_NAIVE,
} carom_stages;

/// The behaviour when a list of rays needs more room than was predicted (Lehericey, Gouranton and
/// Arnaldi, 2015).
typedef enum carom_ray_buffers {
	CAROM_BUFFERS_EXACT, ///< lists grow as they need: nothing is predicted
	/// Rays beyond the predicted room are left out and counted (carom_stats.rays_missed).
	CAROM_BUFFERS_IGNORE,
	CAROM_BUFFERS_BACKTRACK, ///< they are counted, and the stage is done again with the right room
} carom_ray_buffers;

/// How the room for rays is predicted from the last step.
typedef enum carom_ray_predictor {
	/// Rays of the last step * pairs of meshes now / then * buffer_confidence (Eq. 1 of the 2015
	/// paper).
	CAROM_PREDICTOR_PAIRS,
	CAROM_PREDICTOR_LAST, ///< rays of the last step * buffer_confidence (its Eq. 2)
} carom_ray_predictor;

enum { CAROM_MAX_WORKER_GROUPS = 16 };

/// See the head of this file.
struct carom_lab {
	int cookie;                        ///< set by carom_default_lab; do not touch
	const struct cr_laboratory *tools; ///< set by carom_default_lab; do not touch
	/// All pairs of bodies instead of carom_world_def.broad_phase: the oracle of the others.
	bool brute_broad_phase;
	carom_ray_method ray_method;
	const carom_ray_plugin *ray_plugin; ///< used with CAROM_RAYS_PLUGIN; must outlive the world
	/// Complete: pairs of meshes in which no ray hit are tested triangle against triangle. Without
	/// it edges that cross edges are missed, as in the papers, and there are no patches.
	bool complete;
	/// Small hulls (convex closed meshes of at most 32 facets and corners) collide by their planes
	/// and edges, and planes of convex meshes tell which corners may be near beside a patch.
	/// Without it all of this goes triangle by triangle, as with other meshes: the oracle.
	bool hull_pairs;
	/// Drop rays that leave the source body before they reach the surface of the target (Hermann,
	/// Faure and Raffin, 2008). A pair whose rays are all dropped is still completed.
	bool exit_distance_test;
	/// A ray may run far inside the other body although its surface is near: along a wall, or down
	/// the length of a limb. Where a ray is longer than this many times the distance to the nearest
	/// surface point, that point gives depth, normal and triangle instead. Rays shorter than a
	/// fiftieth of the diagonal of the smaller body's box stay as they are. At least 1; 0: never,
	/// the rays as they are.
	double max_depth_ratio;
	carom_lost_rays lost_rays;
	/// Most triangles that a walk visits, 1 to 65536.
	int32_t max_walk;
	/// Metres that the two bodies of a pair may have moved against each other, anywhere they could
	/// touch, since their last full step before the next is due; 0: chosen for each pair from its
	/// speed and size. At most distance_extension if both are given and the world is predictive.
	double displacement_threshold;
	/// Metres that outward rays are followed; 0: chosen with the threshold.
	double distance_extension;
	carom_stages stages;
	carom_ray_buffers ray_buffers;
	carom_ray_predictor ray_predictor;
	double buffer_confidence; ///< factor of the prediction, 1 to 1e6
	/// Deal the pairs of meshes to this many groups, each served by one worker at a time, as by
	/// devices with their own memory: a pair stays with its group while its boxes overlap, a new
	/// one goes to the group with the least work (Lehericey 2013). 0: no groups, any worker takes
	/// any pair. The results are the same. At most CAROM_MAX_WORKER_GROUPS.
	int32_t worker_groups;
};

/// The settings of a world without a lab: wide rays, complete, no exit distance test,
/// max_depth_ratio 2, recast, max_walk 32 and thresholds chosen, lists, exact buffers, confidence
/// 1.02, no groups. Thread-safe.
carom_lab carom_default_lab(void);

/// carom_mesh_cast_rays by any method but CAROM_RAYS_PLUGIN; CAROM_INVALID_ARGUMENT for that one
/// and for one that there is not.
carom_result carom_lab_cast_rays(const carom_mesh *mesh, carom_ray_method method,
	const carom_ray_batch *rays, const carom_hit_batch *hits);

/// For carom_sweep_def.lab: what CAROM_SWEEP_PHC, CAROM_SWEEP_SORT and CAROM_SWEEP_CUBIC need.
/// Thread-safe; it lives as long as the program.
const struct cr_sweep_lab *carom_lab_sweep(void);

/// Counts and times of one worker group in the last step (carom_lab.worker_groups).
typedef struct carom_group_stats {
	int32_t pairs;     ///< of meshes
	int32_t new_pairs; ///< of these, dealt to the group in this step
	int64_t rays;      ///< full and iterative
} carom_group_stats;

/// Counts of group 0 <= group < worker_groups; zero before the first step and for other numbers.
carom_group_stats carom_lab_group_stats(const carom_world *world, int group);

/// carom_replay_recording by the methods that were recorded. Without the laboratory a recording is
/// replayed by the library's own, which give the contacts of all but CAROM_BUFFERS_IGNORE.
carom_result carom_lab_replay_recording(
	carom_context *context, carom_read_fn *read, void *user, carom_replay_result *result);
/// As carom_lab_replay_recording, and watch, which may be NULL, is called after each step
/// (carom_watch_recording).
carom_result carom_lab_watch_recording(carom_context *context, carom_read_fn *read, void *user,
	carom_watch_fn *watch, void *watch_user, carom_replay_result *result);

#ifdef __cplusplus
}
#endif
#endif
