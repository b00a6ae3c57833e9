/// @file tool_oracle.h
/// The dull answers with which --oracle compares: every pair of boxes that overlap, found by
/// sorting along x alone, and one exact test for each. There is no tree, no front, and nothing is
/// kept, so these answers depend on nothing that makes the library fast; they are slow.
#ifndef CAROM_TOOL_ORACLE_H
#define CAROM_TOOL_ORACLE_H

#include "carom/carom.h"
#include "carom/spheres.h"
#include "sim/shapes/shapes.h"
#include "io/sphere_file.h"

#include <cjson/cJSON.h>

/// Pairs of numbers.
typedef struct oracle_pairs {
	int32_t (*data)[2]; ///< [count] sorted
	int64_t count, capacity;
} oracle_pairs;

/// How a fast answer differs from the dull one.
typedef struct oracle_difference {
	int64_t count;    ///< of the dull answer
	int64_t missed;   ///< in the dull answer only
	int64_t invented; ///< in the fast answer only
	int64_t other;    ///< impacts in both, at another time
	char first[160];  ///< the first one in words, "" where there is none
} oracle_difference;

/// Find all pairs of triangles of one mesh that intersect and share no vertex. Those that have no
/// area or repeat an earlier one are in none. False when out of memory. Free with
/// oracle_free_pairs.
bool oracle_find_self_pairs(const sim_mesh *mesh, oracle_pairs *found);

/// Find all pairs of a triangle of one mesh and one of another that intersect, both meshes in one
/// frame. Else as above.
bool oracle_find_mesh_pairs(const sim_mesh *a, const sim_mesh *b, oracle_pairs *found);

/// Find all pairs of spheres that touch. False when out of memory, or of more than can be counted.
bool oracle_find_sphere_pairs(const io_sphere_set *spheres, oracle_pairs *found);

void oracle_free_pairs(oracle_pairs *pairs);

/// Compare a fast list, sorted, with the dull one. name: "triangles" or "spheres".
void oracle_compare_pairs(
	const char *name, const int32_t (*fast)[2], int64_t count, const oracle_pairs *dull, oracle_difference *difference);

/// Does some piece of inner lie in the closed mesh outer: does outer wind around a vertex of the
/// piece? By signed crossings of a segment to a point outside, with exact signs; for meshes whose
/// surfaces do not intersect. Returns false when out of memory.
bool oracle_lies_inside(const sim_mesh *inner, const sim_mesh *outer, bool *inside);

/// Compare the impacts of a step from begin to end, the same faces, with the elementary test of
/// every vertex and face and every two edges whose swept boxes overlap (carom_sweep_test_pair).
/// Differences are added. earliest: fast holds the earliest impact alone. False after
/// CAROM_OUT_OF_MEMORY.
bool oracle_compare_impacts(carom_context *context, const carom_sweep_def *def, const sim_mesh *begin, const sim_mesh *end,
	const carom_sweep_hits *fast, bool earliest, oracle_difference *difference);

/// Add { pairs or impacts, missed, invented, other } as the object "oracle".
void oracle_add_json(cJSON *json, const oracle_difference *difference);

/// Tell on stderr the differences in a file, or in a step of it (-1: it has none). EXIT_DONE when
/// nothing does, else EXIT_FAILED.
int oracle_report(const char *file, int64_t step, const oracle_difference *difference);

#endif
