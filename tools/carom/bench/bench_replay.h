/// @file bench_replay.h
/// Detection alone over a motion, with settings that take turns, run by run: other work of the
/// machine hits all alike.
#ifndef CAROM_TOOL_BENCH_REPLAY_H
#define CAROM_TOOL_BENCH_REPLAY_H

#include "bench_forms.h"
#include "bench_sheets.h"

#include "tools/carom/devices.h"

enum { BENCH_MAX_VARIANTS = 24, BENCH_MAX_DEVICES = 2 };

/// One way to detect.
typedef struct bench_variant {
	char name[BENCH_CELL_SIZE];
	carom_world_def def; ///< lab: NULL
	carom_lab lab;       ///< to go with def
	int threads;         ///< 0: those of the bench
	/// number of the variant that must find the same pairs; with devices one of the processor with
	/// the same settings, which must find the same contacts
	int reference;
	/// Meshes without the grid that tells inside from outside, so that every vertex within the
	/// other's box casts a ray, as in the papers.
	bool no_grid;
	bench_form form;        ///< of bodies that move; no_grid is for BENCH_RIGID alone
	carom_mesh_build build; ///< of meshes made again
	int pieces;             ///< of BENCH_PIECES
	/// A world as users have it: without lab. Solids are refitted there alone.
	bool no_lab;
	const bench_sheets *sheets; ///< that lie on the bodies, or NULL
	/// Rays on the device of the bench, which is opened so often: 0 to BENCH_MAX_DEVICES
	int devices;
} bench_variant;

/// Full and iterative rays by three methods: the papers' two, and Carom's defaults: 8-wide trees,
/// lost rays cast again, complete.
enum {
	BENCH_BASIC,
	BENCH_ITERATIVE_BASIC,
	BENCH_BVH,
	BENCH_ITERATIVE_BVH,
	BENCH_CAROM_FULL,
	BENCH_CAROM_DEFAULT,
	BENCH_DEVICE_FULL, ///< these two with --backend vulkan alone
	BENCH_DEVICE_DEFAULT,
	BENCH_RAY_VARIANTS
};

/// Fill variants [BENCH_RAY_VARIANTS]; returns how many there are.
int bench_make_ray_variants(const bench *b, bench_variant *variants);

/// Two following variants in words, full and iterative ones: "BVH".
const char *bench_ray_name(int variant);

/// The results and times of a variant, over the frames of a window.
typedef struct bench_result {
	int frame_count;
	/// [frame_count] of the repeat in which the frame took least; ms_trees and ms_pair are the
	/// least of all repeats. ms_trees and ms_total hold what making meshes took
	carom_stats *frames;
	int64_t pairs;         ///< colliding pairs of all frames
	int64_t missing_pairs; ///< those of the reference that this one did not find
	int64_t extra_pairs;   ///< those that the reference does not have
	/// [frame_count] of the pairs of bodies that move: how many have contacts, and the mean of the
	/// deepest contact of each (metres)
	int32_t *touching;
	double *depths;
	uint64_t hash;    ///< of the contacts of all frames: equal for equal contacts
	device_work work; ///< of the device in the frames of the last repeat
} bench_result;

/// Milliseconds of a step between broad phase and merge: culling, rays, completion. The papers time
/// this, who do the rest elsewhere.
double bench_narrow_ms(const carom_stats *stats);

/// Run the variants over a window, `repeats` times from scratch; ten frames before it run
/// unmeasured. results [count] are filled; free them with bench_free_results. EXIT_DONE, or
/// EXIT_FAILED after a message (nothing to free then): when devices find other contacts, for
/// instance.
int bench_replay(const bench *b, const bench_motion *motion, const bench_window *window, const bench_variant *variants,
	int count, int repeats, bench_result *results);

void bench_free_results(bench_result *results, int count);

/// Sums over all frames of a result: counts and milliseconds; the rest is of the last frame.
carom_stats bench_sum(const bench_result *result);

/// Mean over frames first to end - 1 of the narrow milliseconds; the peak of them all.
double bench_mean_ms(const bench_result *result, int first, int end);
double bench_peak_ms(const bench_result *result);

/// Say in the report whether a variant found the pairs of its reference.
void bench_note_pairs(
	bench_report *report, const char *where, const bench_variant *variants, const bench_result *results, int count);

#endif
