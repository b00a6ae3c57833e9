/// @file spheres.h
/// All touching pairs of one body of many spheres: up to 50 million, of any radii, discrete (at one
/// instant).
///
/// Two spheres touch when |c_i - c_j|^2 <= (r_i + r_j)^2, evaluated in double from the centres and
/// radii as given. Every such pair is found, each exactly once, by every method, for any number of
/// threads. Along a periodic axis centres are first brought into the period and cut to a multiple
/// of the period's last place (2e-16 of it), and the nearest image counts.
///
/// The floating-point unit must be in its default mode (carom.h). The unit of length is the
/// caller's. Spheres are named by their index in the caller's arrays.
#ifndef CAROM_SPHERES_H
#define CAROM_SPHERES_H

#include "carom/mesh.h"
#include "carom/vulkan.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The most spheres of one body.
#define CAROM_MAX_SPHERES 50000000

/// How the pairs are found. All find the same pairs; the choice changes time and memory only.
typedef enum carom_sphere_method {
	/// Chosen for each build by the expected costs of grid, levels and tree on these spheres,
	/// corrected by the times of earlier builds.
	CAROM_SPHERES_AUTO,
	/// One grid of cells as wide as the largest diameter, spheres sorted by cell: the fastest for
	/// sizes alike.
	CAROM_SPHERES_GRID,
	/// A grid for each class of sizes (each class twice as wide as the next; Eitz and Gu,
	/// Hierarchical Spatial Hashing for Real-Time Collision Detection, 2007): wide ranges of sizes.
	CAROM_SPHERES_LEVELS,
	/// A tree over the spheres' boxes (Karras 2012), each pair of boxes visited once: no assumption
	/// on sizes or places; can be refitted.
	CAROM_SPHERES_TREE,
	/// A ray of no length from each centre through a tree of boxes of twice the radius (Mochi,
	/// Algorithm 1), as ray-tracing hardware does it. The reference for it, and slower here.
	CAROM_SPHERES_RAYS,
	/// A tree as TREE has it, two children to a node, built, refitted and searched on a graphics
	/// device (carom_spheres_def.device). Never chosen by AUTO.
	CAROM_SPHERES_DEVICE,
} carom_sphere_method;

/// Whether a tree (methods TREE, RAYS and DEVICE) is kept, refitted or rebuilt when the spheres
/// have moved.
typedef enum carom_tree_upkeep {
	/// Refit until the growth of the query's time has cost as much as a rebuild (see
	/// rebuild_interval).
	CAROM_UPKEEP_AUTO,
	CAROM_UPKEEP_REBUILD,  ///< rebuild it each time
	CAROM_UPKEEP_REFIT,    ///< keep its shape, only make its boxes fit
	CAROM_UPKEEP_INTERVAL, ///< refit, and rebuild every rebuild_interval-th time
	/// Refit until the tree's cost (surface area heuristic) has grown by max_cost_growth.
	CAROM_UPKEEP_QUALITY,
} carom_tree_upkeep;

/// Start from carom_default_spheres_def.
typedef struct carom_spheres_def {
	int cookie; ///< set by carom_default_spheres_def; do not touch
	carom_sphere_method method;
	/// Added to every sum of radii while a list of neighbours is made, so that the list holds until
	/// two spheres can have come closer by as much (Verlet 1967). Length; 0: no list is kept; below
	/// 0: chosen from the measured motion and costs.
	double skin;
	carom_tree_upkeep upkeep;
	int32_t rebuild_interval; ///< at least 1, for CAROM_UPKEEP_INTERVAL
	double max_cost_growth;   ///< above 1, for CAROM_UPKEEP_QUALITY
	/// Along which axes space repeats; period[k] is its length there. Centres may lie anywhere.
	/// Must be more than 2 * (2 * largest radius + skin), so that two spheres touch in one place at
	/// most.
	bool periodic[3];
	double period[3];
	/// Most bytes that the detector may hold, pairs and lists included; 0: no limit. A call that
	/// needs more fails with CAROM_OVER_BUDGET as it does with CAROM_OUT_OF_MEMORY, as soon as the
	/// limit is reached. To visit pairs takes the least: a list of all that touch grows with the
	/// square of how many share a place.
	/// Device memory is not counted here (carom_device_def.memory_budget).
	size_t memory_budget;
	/// For method DEVICE: where the work is done. It must be of the same context, and outlive the
	/// detector. Other methods do not read it.
	carom_device *device;
	/// Where the device fails, or has no room, the tree of the processor takes over for that update
	/// or search, with the same pairs; carom_sphere_stats.device_fallbacks counts it. False: the
	/// call fails, as it does in any case where a device fails after some pairs were handed on.
	bool device_fallback;
} carom_spheres_def;

/// Method AUTO, no skin, upkeep AUTO, interval 8, growth 1.5, not periodic, no budget, no device.
/// Thread-safe.
CAROM_API carom_spheres_def carom_default_spheres_def(void);

/// Where the spheres are, for one call. Start from carom_default_sphere_input: an input that did
/// not is refused, because one of zeros would vouch that nothing has moved. The library copies the
/// arrays that it keeps; the memory is the caller's again when the call returns.
typedef struct carom_sphere_input {
	int cookie;            ///< set by carom_default_sphere_input; do not touch
	int64_t count;         ///< 0 to CAROM_MAX_SPHERES
	carom_strided centres; ///< x, y, z of each; finite, at most CAROM_MAX_COORDINATE
	/// One value each (stride 0: packed); finite, not negative, at most CAROM_MAX_COORDINATE.
	carom_strided radii;
	/// For programs that share spheres out to processes. Only the first `owned` spheres are this
	/// process's; those behind them are copies of others' (ghosts), near enough to touch. Pairs of
	/// two ghosts are neither tested (but by method DEVICE) nor handed on, and ghosts have no rows
	/// of neighbours and no sums of forces. Of a pair with a ghost, each of both processes finds
	/// its own copy. 0 to count; below 0: all are owned.
	int64_t owned;
	/// [count] names, all different, that stay with the spheres when the caller re-orders them;
	/// NULL: the index. Ghosts may bear names of others: periodic images that another process has
	/// made. Such namesakes are neighbours in the order of their centres (x, then y, then z). Names
	/// that occur twice are refused where the largest one is below 32 * count. Beyond that nobody
	/// looks: neighbours with one name then stand in no fixed order, so that sums may differ in
	/// their last bits from run to run, and two that coincide push each other the same way.
	const uint32_t *ids;
	/// [count] names as `ids`, of 64 bits, in its place; twins among owned spheres are always
	/// found. NULL: ids. Twelve bytes a sphere are held, 32 while they are put in order.
	const uint64_t *ids64;
	/// No two spheres' distance, nor a sum of their radii, has changed by more than twice this
	/// since the last update, taken together (the caller vouches for it; for spheres of another
	/// order it must be below 0). Below 0: unknown, the library measures. INFINITY: the list is
	/// rebuilt, whether it still holds or not. Only read when a list is kept.
	double moved;
	/// While the list of neighbours holds, nothing but it is wanted: with moved not below 0 the
	/// update then reads no sphere and costs nothing, and until one that does, searches and sums
	/// return CAROM_INVALID_ARGUMENT.
	bool neighbours_only;
} carom_sphere_input;

/// Nothing: no spheres, moved unknown, all wanted. Thread-safe.
CAROM_API carom_sphere_input carom_default_sphere_input(void);

/// A touching pair, a < b (indices).
typedef struct carom_sphere_pair {
	uint32_t a, b;
} carom_sphere_pair;

/// Touching pairs, sorted by a, then b. Valid until the next call on the same spheres.
typedef struct carom_sphere_pairs {
	const carom_sphere_pair *pairs; ///< [count]
	int64_t count;
} carom_sphere_pairs;

/// Every sphere's neighbours: row i is other[first[i]] .. other[first[i+1]-1], all j with |c_i -
/// c_j| <= r_i + r_j + skin, when the list was made; so every sphere that touches i now, and some
/// more. Symmetric: i is in j's row too. Each row is sorted by ids, so that sums over rows do not
/// depend on how the list was made, nor on the order of the caller's arrays. Ghosts stand in the
/// rows of others and have none.
typedef struct carom_sphere_neighbours {
	const int64_t *first;  ///< [count+1]
	const uint32_t *other; ///< [first[count]]
	int64_t count;         ///< of rows: owned spheres
	uint64_t build;        ///< number of the list: another one when it was rebuilt
} carom_sphere_neighbours;

/// Counts, times and memory of the last calls.
typedef struct carom_sphere_stats {
	int64_t count;  ///< spheres, ghosts included
	int64_t ghosts; ///< copies of other processes' spheres (carom_sphere_input.owned)
	int64_t images; ///< periodic images of spheres near the borders, made for the detection
	int64_t pairs;  ///< found by the last search
	int64_t tests;  ///< pairs whose distance was computed by the last search
	carom_sphere_method method;                ///< that was used (never AUTO)
	bool kept;                                 ///< the last update kept the list of neighbours
	bool refitted;                             ///< the last update refitted the tree
	int64_t updates, list_builds, tree_builds; ///< since creation
	/// Expected box and sphere tests of a random line that meets the tree's box (surface area
	/// heuristic), now; 0 without a tree.
	double tree_cost;
	double skin;        ///< in use
	double ms_update;   ///< milliseconds of the last update: check, copy, build or refit
	double ms_find;     ///< of the last search
	double ms_sort;     ///< of sorting the pairs found (not part of ms_find)
	size_t bytes;       ///< held now, pairs and lists included
	size_t bytes_lists; ///< of these, pairs and lists of neighbours
	size_t bytes_peak;  ///< held at most since creation
	/// Method DEVICE: updates and searches that the processor has done in the device's place since
	/// creation: see carom_spheres_def.device_fallback; and sets of sizes so far apart that single
	/// precision cannot tell the spheres apart, with which every method does so.
	int64_t device_fallbacks;
} carom_sphere_stats;

/// The detector of one body of spheres. Functions on one of them may not run at the same time;
/// different ones share nothing.
typedef struct carom_spheres carom_spheres;

/// Make a detector without spheres. CAROM_INVALID_ARGUMENT names the field. The context must
/// outlive it. def may be NULL for the defaults. Thread-safe: detectors of one context may be made,
/// used and destroyed in different threads at once.
CAROM_API carom_result carom_create_spheres(
	carom_context *context, const carom_spheres_def *def, carom_spheres **spheres);

/// Destroy it. NULL does nothing.
CAROM_API void carom_destroy_spheres(carom_spheres *spheres);

/// Tell where the spheres are now, and make the search structure fit: build, rebuild or refit, or
/// (with a skin) show that the list of neighbours still holds. CAROM_INVALID_ARGUMENT names the
/// field and the first sphere at fault; the last spheres and their list then stay as they were. On
/// CAROM_OUT_OF_MEMORY and CAROM_OVER_BUDGET there are no spheres afterwards, and their memory
/// has been given back. So it is with method DEVICE on CAROM_DEVICE_FAILED, and on
/// CAROM_UNSUPPORTED, where the spheres need a larger buffer than the device has.
CAROM_API carom_result carom_spheres_update(
	carom_spheres *spheres, const carom_sphere_input *input);

/// All touching pairs, sorted. On CAROM_OUT_OF_MEMORY and CAROM_OVER_BUDGET the memory of the lists
/// is given back; the spheres stay, and their pairs can be visited. So with forces and neighbours.
/// With method DEVICE also CAROM_DEVICE_FAILED; the spheres stay.
CAROM_API carom_result carom_spheres_find_pairs(carom_spheres *spheres, carom_sphere_pairs *pairs);

/// Called for touching pairs (a < b in each), some at a time, from the workers of the context
/// (worker below carom_context_threads), each pair exactly once, in no fixed order. Must be
/// thread-safe. False ends the search; calls that are under way on other workers go on.
typedef bool carom_sphere_pairs_fn(
	const carom_sphere_pair *pairs, int64_t count, int worker, void *user);

/// All touching pairs, handed on as they are found: no list is stored (Mochi, Algorithm 1). With a
/// skin, or while there is a list of neighbours (carom_spheres_get_neighbours and
/// carom_spheres_sum_forces make one), the list is made if it is not there, and read. CAROM_SUCCESS
/// even when fn ended it. CAROM_OUT_OF_MEMORY or CAROM_OVER_BUDGET when there is none for the
/// search or the list; fn may have seen some pairs.
CAROM_API carom_result carom_spheres_visit_pairs(
	carom_spheres *spheres, carom_sphere_pairs_fn *fn, void *user);

/// Force of sphere b on sphere a, which touch: direction is the unit vector from b's centre to a's
/// ((1,0,0), or its opposite, where they coincide), overlap = r_a + r_b - distance, not negative.
/// Adds to force and torque [3]. Called for (a, b) and for (b, a), from the workers; must be
/// thread-safe.
typedef void carom_sphere_force_fn(uint32_t a, uint32_t b, const double direction[3],
	double overlap, double force[3], double torque[3], void *user);

/// Sum the forces on every sphere over the spheres that touch it, in the order of their ids: the
/// same bits for any method, skin, number of threads and order of the arrays, and for any way to
/// share the spheres out to processes. forces and torques: [3*owned], overwritten; torques may be
/// NULL.
CAROM_API carom_result carom_spheres_sum_forces(
	carom_spheres *spheres, carom_sphere_force_fn *fn, void *user, double *forces, double *torques);

/// The list of neighbours of the last update (def.skin 0: of the spheres that touch now). Valid
/// until the next call on the same spheres.
CAROM_API carom_result carom_spheres_get_neighbours(
	carom_spheres *spheres, carom_sphere_neighbours *neighbours);

/// The order of the spheres along a Morton curve through their box, as it was when the list was
/// made while one is kept: order[k] is the index of the k-th. Simulations that keep their arrays in
/// this order are faster, because neighbours in space are neighbours in memory. Ghosts come after
/// all others. order: [count].
CAROM_API carom_result carom_spheres_get_order(carom_spheres *spheres, uint32_t *order);

/// Counts, times and memory of the last calls. Thread-safe while no call runs.
CAROM_API carom_sphere_stats carom_spheres_get_stats(const carom_spheres *spheres);

/// The name of a method ("grid"). Static text.
CAROM_API const char *carom_sphere_method_name(carom_sphere_method method);

#ifdef __cplusplus
}
#endif
#endif
