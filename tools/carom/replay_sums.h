/// @file replay_sums.h
/// The measurements of `carom replay`: sums over the measured steps, printed as means.
#ifndef CAROM_TOOL_REPLAY_SUMS_H
#define CAROM_TOOL_REPLAY_SUMS_H

#include "carom/lab.h"
#include "report.h"

/// Start from all zero and totals with an element for each step to be measured.
typedef struct replay_sums {
	int64_t steps;
	double box_pairs, narrow_pairs, colliding_pairs, contacts, contacts_found, vertices_tested, vertices_watched;
	double rays_full, rays_iterative, rays_predictive, rays_lost, rays_recast, rays_missed, rays_on_device, walks_on_device,
		rays_returned, tests_on_device, tests_returned, near_on_device, near_returned, walk_steps, backtracks;
	double pairs_full, pairs_iterative, pairs_apart, pairs_completed, pairs_crossing, triangle_tests;
	double total, trees, pair, vertex, ray, complete, merge;
	struct {
		double pairs, new_pairs, rays;
	} groups[CAROM_MAX_WORKER_GROUPS];
	int group_count;
	double *totals; ///< milliseconds of each step
	double deepest;
	uint64_t hash;
	size_t memory_peak;
} replay_sums;

/// Add the last step of a world.
void replay_sums_add(replay_sums *sums, const carom_world *world);

/// Add the means to an object, which has the fields that come before them. Sorts the milliseconds.
void replay_sums_print_json(replay_sums *sums, cJSON *json);

/// Print them as a table on stdout. Sorts the milliseconds.
void replay_sums_print_text(replay_sums *sums);

#endif
