/// @file bench_spheres.h
/// The common part of the benches of spheres: scenes of spheres simulated for some steps, and sets
/// of spheres whose pairs are found with settings that are compared.
#ifndef CAROM_TOOL_BENCH_SPHERES_H
#define CAROM_TOOL_BENCH_SPHERES_H

#include "bench.h"

#include "scene/granular_fill.h"
#include "io/sphere_file.h"

/// Where the spheres of a scene are when its measurement begins. The motions of the papers last
/// 10^5 steps; a bench begins near the end instead of simulating the way there.
typedef enum bench_packing {
	BENCH_AS_IN_SCENE,
	/// no two touch, 15 % of a bin filled, whose floor they cover in ten layers once they have
	/// settled
	BENCH_HEAP,
	/// no two touch, 15 % of the space filled, in a cube in the middle, each with a velocity of its
	/// own
	BENCH_CROWD,
} bench_packing;

typedef struct bench_sphere_case {
	const char *file;  ///< "freefall.json"
	const char *state; ///< in words, for tables
	int64_t count;     ///< of the random source; 0: the scene's
	bench_packing packing;
	/// m/s: all spheres', along gravity; with BENCH_CROWD at random up to so much along each axis
	double speed;
	/// BENCH_HEAP: steps under four times the gravity and without any bouncing, before all others
	int settle;
	/// degrees that gravity turns during the warm-up, at an even pace kept on after it; 0: as the
	/// scene says
	double turned;
	int warm_up;       ///< steps before those that are measured
	int steps;         ///< measured
	int64_t mesh_most; ///< spheres of a mesh, at most; 0: the scene's
} bench_sphere_case;

/// Means over the measured steps.
typedef struct bench_sphere_cost {
	int64_t count;
	double ms_build, ms_detection, ms_update, ms_total;
	double ms_least;            ///< of a step
	double contacts_per_sphere; ///< pairs that touch, twice, for each sphere
	double bytes_per_sphere;    ///< of all: state, detector and lists
	int list_builds;            ///< in the measured steps
	double skin;                ///< in mean radii
	/// With a device: ms_total of the processor. ms_build, ms_detection and ms_update are those of
	/// the kernels then, ms_total and ms_least those of the clock.
	double ms_processor;
	bool exact; ///< the device rounds as the processor does
} bench_sphere_cost;

/// Read a scene of spheres and change it as the case says. EXIT_DONE, or EXIT_FAILED after a
/// message; scene_destroy gives it back in both cases.
int bench_open_sphere_scene(const bench *b, const bench_sphere_case *which, scene_description *scene);

/// Let the spheres of a case come to rest, in far fewer steps than they would take by themselves:
/// on a device, or with NULL on the processor. EXIT_DONE, or EXIT_FAILED after a message.
int bench_settle_spheres(carom_context *context, carom_device *device, const scene_description *scene,
	const bench_sphere_case *which, scene_granular_filling *filling);

/// A hash of the state of a simulation. False when memory is short, or a device fails.
bool bench_hash_grains(sim_granular *granular, uint64_t *hash);

/// Simulate a case on the processor, or with --backend vulkan there first and then on the device.
/// EXIT_DONE, or EXIT_FAILED after a message: when the device ends in another state, though it
/// rounds as the processor does.
int bench_simulate_spheres(const bench *b, const bench_sphere_case *which, bench_sphere_cost *cost);

/// One way to find pairs.
typedef struct bench_finder {
	char name[BENCH_CELL_SIZE];
	carom_spheres_def def;
} bench_finder;

typedef struct bench_finding {
	double ms_build, ms_find, ms_sort; ///< of the repeat with the least build and find
	double ms_total;                   ///< build and find, without sorting
	double ms_median;
	int64_t pairs, tests;
	uint64_t hash;
	double bytes_per_sphere; ///< without the list of pairs
	carom_sphere_method method;
} bench_finding;

enum { BENCH_MAX_FINDERS = 8, BENCH_MAX_FIND_REPEATS = 32 };

/// Ways to find pairs, and the devices that they use.
typedef struct bench_finders {
	bench_finder of[BENCH_MAX_FINDERS];
	int count;
	carom_device *devices[BENCH_MAX_FINDERS]; ///< NULL: the processor's
} bench_finders;

/// Find the pairs of a set in each way, over and over in turns, from scratch each time. EXIT_DONE,
/// or EXIT_FAILED after a message: when two ways find other pairs, or not those that a snapshot
/// knows.
int bench_find_pairs(carom_context *context, const char *name, const io_sphere_set *set, const bench_finders *finders,
	int repeats, bench_finding *findings);

/// The four methods and the automatic choice, in this order, and with --backend vulkan the device:
/// in the tier of --tier, else in all that it has or (few) in tier c; trees rebuilt each time.
/// EXIT_DONE, or EXIT_FAILED after a message; close them in both cases.
enum { BENCH_METHODS = 5 };
int bench_open_finders(const bench *b, carom_context *context, bool few, bench_finders *finders);
void bench_close_finders(bench_finders *finders);

/// side for count spheres as dense as a million in a cube of this side.
double bench_side_for(int64_t count, double side_of_million);

int bench_spheres_table_1(bench *b, bench_report *report);
int bench_spheres_scale(bench *b, bench_report *report);
int bench_spheres_gravity(bench *b, bench_report *report);
int bench_spheres_radii(bench *b, bench_report *report);
int bench_spheres_grains(bench *b, bench_report *report);
int bench_spheres_interval(bench *b, bench_report *report);
int bench_spheres_validation(bench *b, bench_report *report);
int bench_spheres_methods(bench *b, bench_report *report);

#endif
