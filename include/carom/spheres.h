/// @file spheres.h
/// All touching pairs of one set of many spheres: up to 50 million, of any radii, discrete (at one
/// instant).
///
/// Two spheres touch when |c_i - c_j|^2 <= (r_i + r_j)^2, evaluated in double from the centres and
/// radii as given. Every such pair is found, each exactly once, by every method, for any number of
/// threads. Along a periodic axis centres are first brought into the period and cut to a multiple
/// of the period's last place (2e-16 of it), and the nearest image counts.
///
/// The floating-point unit must be in its default mode (base.h). The unit of length is the
/// caller's. Spheres are named by their index in the caller's arrays.
#ifndef CAROM_SPHERES_H
#define CAROM_SPHERES_H

#include "carom/mesh.h"
#include "carom/vulkan.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Most spheres of one detector, and of one world.
#define CAROM_MAX_SPHERES 50000000

/// How the pairs are found. All find the same pairs; the choice changes time and memory only.
typedef enum carom_sphere_method {
	/// Chosen for each build: the method among grid, levels and tree that is expected to cost least
	/// on these spheres, corrected by the times of earlier builds.
	CAROM_SPHERES_AUTO,
	/// One grid of cells as wide as the largest diameter, with the spheres sorted by cell: fastest
	/// for spheres of similar sizes.
	CAROM_SPHERES_GRID,
	/// A grid for each class of sizes, each class twice as wide as the next (Eitz and Gu,
	/// Hierarchical Spatial Hashing for Real-Time Collision Detection, 2007): for wide ranges of
	/// sizes.
	CAROM_SPHERES_LEVELS,
	/// A tree over the boxes of the spheres (Karras 2012) in which each pair of boxes is visited
	/// once. It assumes nothing about sizes or places, and can be refitted.
	CAROM_SPHERES_TREE,
	/// A ray of no length from each centre through a tree of boxes of twice the radius (Mochi,
	/// Algorithm 1), as ray-tracing hardware does it. The reference for that, and slower here.
	CAROM_SPHERES_RAYS,
	/// A tree as that of TREE, with two children to a node, which is built, refitted and searched
	/// on a graphics device (carom_spheres_def.device). AUTO never chooses it.
	CAROM_SPHERES_DEVICE,
} carom_sphere_method;

/// For the methods with a tree (TREE, RAYS and DEVICE): whether it is refitted or rebuilt when the
/// spheres have moved.
typedef enum carom_tree_upkeep {
	/// Refit until queries have become slower by as much time as a rebuild takes.
	CAROM_UPKEEP_AUTO,
	CAROM_UPKEEP_REBUILD,  ///< rebuild it each time
	CAROM_UPKEEP_REFIT,    ///< keep its shape, only make its boxes fit
	CAROM_UPKEEP_INTERVAL, ///< refit, and rebuild every rebuild_interval-th time
	/// Refit until the cost of the tree (surface area heuristic) has grown by the factor
	/// max_cost_growth.
	CAROM_UPKEEP_QUALITY,
} carom_tree_upkeep;

/// How to make a detector. Start from carom_default_spheres_def.
typedef struct carom_spheres_def {
	int cookie; ///< set by carom_default_spheres_def; do not touch
	carom_sphere_method method;
	/// A length that is added to every sum of radii while a list of neighbours is made. The list
	/// then holds until two spheres may have come closer by that length (Verlet 1967). 0: no list
	/// is kept; below 0: the library chooses it from measured motion and costs.
	double skin;
	carom_tree_upkeep upkeep;
	int32_t rebuild_interval; ///< at least 1, for CAROM_UPKEEP_INTERVAL
	double max_cost_growth;   ///< above 1, for CAROM_UPKEEP_QUALITY
	/// The axes along which space repeats; period[k] is its length along axis k. Centres may lie
	/// anywhere. A period must be more than 2 * (2 * largest radius + skin), so that two spheres
	/// touch in one place at most.
	bool periodic[3];
	double period[3];
	/// Most bytes that the detector may hold, pairs and lists included; 0: no limit. A call that
	/// needs more fails with CAROM_OVER_BUDGET, as soon as the limit is reached, and leaves things
	/// as on CAROM_OUT_OF_MEMORY. Visiting pairs takes least memory: a list of pairs grows with the
	/// square of the number of spheres at one place. Device memory is not counted
	/// (carom_device_def.memory_budget).
	size_t memory_budget;
	/// For method DEVICE: the device that does the work, of the same context. It must outlive the
	/// detector. Other methods do not read it.
	carom_device *device;
	/// Where the device fails, or has no room, the processor's tree does that update or search,
	/// with equal pairs; carom_sphere_stats.device_fallbacks counts it. False: the call fails. It
	/// also fails, in either case, where a device fails after some pairs were handed on.
	bool device_fallback;
} carom_spheres_def;

/// Method AUTO, no skin, upkeep AUTO, interval 8, growth 1.5, not periodic, no budget, no device.
/// Thread-safe.
CAROM_API carom_spheres_def carom_default_spheres_def(void);

/// Where the spheres are, for one update. Start from carom_default_sphere_input. Any other input is
/// refused, since one of zeros would promise that nothing has moved. The library copies the arrays
/// that it keeps: the memory is the caller's again when the call returns.
typedef struct carom_sphere_input {
	int cookie;            ///< set by carom_default_sphere_input; do not touch
	int64_t count;         ///< 0 to CAROM_MAX_SPHERES
	carom_strided centres; ///< x, y, z of each; finite, at most CAROM_MAX_COORDINATE
	/// One value each (stride 0: packed); finite, not negative, at most CAROM_MAX_COORDINATE.
	carom_strided radii;
	/// For programs that share spheres out to processes: the first `owned` spheres are this
	/// process's. Those behind them are ghosts: copies of other processes' spheres that are near
	/// enough to touch. 0 to count; below 0: all are owned.
	/// - Pairs of two ghosts are not handed on, nor tested (except by method DEVICE).
	/// - Ghosts have no rows of neighbours and no sums of forces.
	/// - A pair of an owned sphere and a ghost is found by both processes, each on its own.
	int64_t owned;
	/// [count] names of the spheres, all different, that stay with them when the caller re-orders
	/// arrays; NULL: the index is the name. Ghosts may bear names of other spheres, of which they
	/// are periodic images made by another process; such namesakes are neighbours in the order of
	/// their centres (x, then y, then z).
	///
	/// Names that occur twice are refused where the largest name is below 32 * count. Beyond that
	/// nobody looks: neighbours of one name then stand in no fixed order, so the last bits of sums
	/// may differ from run to run, and two that coincide push each other the same way.
	const uint32_t *ids;
	/// [count] names of 64 bits, used in place of ids; NULL: ids are used. Names that occur twice
	/// among owned spheres are always found. They take twelve bytes a sphere, 32 while they are
	/// sorted.
	const uint64_t *ids64;
	/// A promise of the caller: since the last update, no distance of two spheres and no sum of two
	/// radii, taken together, has changed by more than twice this. Below 0: unknown, the library
	/// measures; it must be below 0 after spheres were re-ordered. INFINITY: the list is rebuilt,
	/// whether it still holds or not. Read only where a list is kept.
	double moved;
	/// While the list of neighbours holds, the caller wants nothing but the list. With moved not
	/// below 0 the update then reads no sphere and costs nothing. Searches and sums return
	/// CAROM_INVALID_ARGUMENT until an update that reads spheres.
	bool neighbours_only;
} carom_sphere_input;

/// No spheres, moved unknown, everything wanted. Thread-safe.
CAROM_API carom_sphere_input carom_default_sphere_input(void);

/// A touching pair, a < b (indices).
typedef struct carom_sphere_pair {
	uint32_t a, b;
} carom_sphere_pair;

/// Touching pairs, sorted by a, then b. Valid until the next call on the detector.
typedef struct carom_sphere_pairs {
	const carom_sphere_pair *pairs; ///< [count]
	int64_t count;
} carom_sphere_pairs;

/// The neighbours of every sphere. Row i is other[first[i]] to other[first[i+1]-1]: all j with |c_i
/// - c_j| <= r_i + r_j + skin when the list was made. So it holds every sphere that touches i now,
/// and some more. Where j is in the row of i, i is in that of j. Each row is sorted by ids, so sums
/// over rows depend neither on how the list was made nor on the order of the caller's arrays.
/// Ghosts stand in rows of owned spheres and have none.
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
	double skin;      ///< in use
	double ms_update; ///< milliseconds of the last update: check, copy, build or refit
	double ms_find;   ///< of the last search
	/// Of sorting the pairs found (not part of ms_find); 0 where the device has sorted them.
	double ms_sort;
	size_t bytes;       ///< held now, pairs and lists included
	size_t bytes_lists; ///< of these, pairs and lists of neighbours
	size_t bytes_peak;  ///< held at most since creation
	/// Method DEVICE: updates and searches since creation that the processor did in the device's
	/// place (carom_spheres_def.device_fallback). Sets of spheres so far apart that single
	/// precision cannot tell them apart are counted here, too: every method leaves them to the
	/// processor.
	int64_t device_fallbacks;
} carom_sphere_stats;

/// A detector of one set of spheres. Calls on one detector must not overlap; different ones share
/// nothing.
typedef struct carom_spheres carom_spheres;

/// Make a detector without spheres. def may be NULL for the defaults. CAROM_INVALID_ARGUMENT names
/// the field; on failure *spheres is NULL. The context must outlive the detector. Thread-safe:
/// detectors of one context may be made, used and destroyed in different threads at once.
CAROM_API carom_result carom_create_spheres(
	carom_context *context, const carom_spheres_def *def, carom_spheres **spheres);

/// Share the spheres of a detector of method DEVICE out to several devices [count], 1 to
/// CAROM_MAX_DEVICES, from its next update on; until then it has no spheres. Pairs do not depend on
/// their number or order, to the bit.
/// - The Morton curve through the spheres is cut into as many slabs of about equal numbers. A
///   device also gets the spheres of later slabs that may touch its own, and finds each pair once.
/// - Trees are built in every update (carom_spheres_def.upkeep is not read).
/// - Devices work at once where the context has as many threads. Each holds a part of the memory
///   that one alone would, and copies of spheres at the borders.
/// - Pairs that carom_spheres_find_device_pairs shows are on the first device, and brought there.
/// - A device that fails is a failure of the call (carom_spheres_def.device_fallback).
///
/// One card may have been opened several times. Devices must be of the detector's context and
/// outlive it. CAROM_INVALID_ARGUMENT names the argument, and changes nothing.
CAROM_API carom_result carom_spheres_set_devices(
	carom_spheres *spheres, carom_device *const *devices, int32_t count);

/// Destroy a detector. NULL does nothing.
CAROM_API void carom_destroy_spheres(carom_spheres *spheres);

/// Say where the spheres are now, and make the search structure fit: it is built, rebuilt or
/// refitted, or (with a skin) the list of neighbours is shown to hold still.
/// - CAROM_INVALID_ARGUMENT names the field and the first sphere at fault. The last spheres and
///   their list stay as they were.
/// - CAROM_OUT_OF_MEMORY and CAROM_OVER_BUDGET leave no spheres; their memory has been given back.
///   So do, with method DEVICE, CAROM_DEVICE_FAILED, and CAROM_UNSUPPORTED, which says that the
///   spheres need a larger buffer than the device has.
CAROM_API carom_result carom_spheres_update(
	carom_spheres *spheres, const carom_sphere_input *input);

/// Find all touching pairs, sorted. Where CAROM_OUT_OF_MEMORY or CAROM_OVER_BUDGET is returned,
/// here and for forces and neighbours, the memory of the lists has been given back; the spheres
/// stay, and their pairs can be visited. With method DEVICE also CAROM_DEVICE_FAILED; the spheres
/// stay.
CAROM_API carom_result carom_spheres_find_pairs(carom_spheres *spheres, carom_sphere_pairs *pairs);

/// Touching pairs that stay on the device, for kernels of the caller's (method DEVICE): nothing is
/// copied down but their number. The library's work on the buffers is done when they are shown;
/// they are valid until the next call on the detector, and may be read, not written. A buffer may
/// be larger than its contents.
typedef struct carom_sphere_device_pairs {
	carom_device_buffer pairs; ///< carom_sphere_pair [count]: two words each, sorted by a, then b
	/// [spheres+1] numbers of 64 bits: the pairs whose a is sphere i are first[i] to first[i+1]-1
	carom_device_buffer first;
	int64_t count;
} carom_sphere_device_pairs;

/// Find all touching pairs, sorted, and leave them on carom_spheres_def.device: the pairs of
/// carom_spheres_find_pairs, bit for bit. With carom_device_def.vulkan they are buffers of the
/// caller's own VkDevice. All zero where there are no spheres.
///
/// They are brought there, once found, where the processor has found them: with a skin, with
/// carom_spheres_def.device_fallback, for sets that single precision cannot tell apart, and where
/// the device has no room to put them in order. Pairs that single precision leaves in doubt are
/// decided by the processor, 16 bytes each. carom_device_read copies a part.
///
/// CAROM_INVALID_ARGUMENT: the method is another one. CAROM_OUT_OF_MEMORY, CAROM_OVER_BUDGET and
/// CAROM_DEVICE_FAILED leave the spheres.
CAROM_API carom_result carom_spheres_find_device_pairs(
	carom_spheres *spheres, carom_sphere_device_pairs *pairs);

/// Receives touching pairs (a < b in each), some at a time, each pair exactly once, in no fixed
/// order. Called from the workers of the context (worker is below carom_context_threads), so it
/// must be thread-safe. Returning false ends the search; calls under way on other workers go on.
typedef bool carom_sphere_pairs_fn(
	const carom_sphere_pair *pairs, int64_t count, int worker, void *user);

/// Hand all touching pairs to fn as they are found: no list is stored (Mochi, Algorithm 1). One
/// exception: with a skin, or while there is a list of neighbours (carom_spheres_get_neighbours and
/// carom_spheres_sum_forces make one), pairs are read from that list, which is made first if need
/// be. CAROM_SUCCESS even when fn ended the search. CAROM_OUT_OF_MEMORY or CAROM_OVER_BUDGET: there
/// was no memory for the search or the list; fn may have seen some pairs.
CAROM_API carom_result carom_spheres_visit_pairs(
	carom_spheres *spheres, carom_sphere_pairs_fn *fn, void *user);

/// Adds the force of sphere b on sphere a, which touch, to force [3] and torque [3]. direction is
/// the unit vector from b's centre to a's ((1,0,0), or its opposite, where they coincide); overlap
/// = r_a + r_b - distance, not negative. Called for (a, b) and for (b, a), from the workers, so it
/// must be thread-safe.
typedef void carom_sphere_force_fn(uint32_t a, uint32_t b, const double direction[3],
	double overlap, double force[3], double torque[3], void *user);

/// Sum the forces on every sphere over the spheres that touch it, in the order of their ids. Sums
/// have equal bits for any method, skin, number of threads and order of the arrays, and however
/// spheres are shared out to processes. forces and torques are [3*owned] and overwritten; torques
/// may be NULL.
CAROM_API carom_result carom_spheres_sum_forces(
	carom_spheres *spheres, carom_sphere_force_fn *fn, void *user, double *forces, double *torques);

/// The list of neighbours of the last update; with a skin of 0, of the spheres that touch now.
/// Valid until the next call on the detector.
CAROM_API carom_result carom_spheres_get_neighbours(
	carom_spheres *spheres, carom_sphere_neighbours *neighbours);

/// The order of the spheres along a Morton curve through their box: order[k], [count], is the index
/// of the k-th. While a list is kept, it is the order when the list was made. Simulations that keep
/// their arrays in this order are faster, because neighbours in space are neighbours in memory.
/// Ghosts come after all others.
CAROM_API carom_result carom_spheres_get_order(carom_spheres *spheres, uint32_t *order);

/// Counts, times and memory of the last calls. Thread-safe while no call runs.
CAROM_API carom_sphere_stats carom_spheres_get_stats(const carom_spheres *spheres);

/// The name of a method ("grid"). Static text.
CAROM_API const char *carom_sphere_method_name(carom_sphere_method method);

#ifdef __cplusplus
}
#endif
#endif
