/// Wide kernels over colliders: one table for each instruction set, all with the same bits.
#ifndef CR_BVH_BVH_KERNELS_H
#define CR_BVH_BVH_KERNELS_H

#include "base/arena.h"
#include "bvh/collider.h"
#include "carom/plugin.h"
#include "math/transform.h"

/// Triangles of two colliders that may intersect.
typedef struct cr_candidate {
	int32_t a; // triangle numbers, file order
	int32_t b;
} cr_candidate;

typedef struct cr_candidates {
	cr_candidate *data;
	int32_t count;
	int32_t capacity;
	cr_arena *arena;
	bool failed; // out of memory: the list is incomplete
} cr_candidates;

/// Make room for more candidates (copies within the arena). Sets failed.
bool cr_candidates_grow(cr_candidates *candidates, int32_t more);

typedef struct cr_bvh_kernels {
	/// Nearest hit of rays begin..end-1 by the wide tree, watertight. Equal t: the lower triangle number.
	void (*cast)(
		const cr_collider *collider, const carom_ray_batch *rays, int32_t begin, int32_t end, const carom_hit_batch *hits);
	/// How often a closed surface winds around the origin of a ray: crossings from inside minus crossings from outside, points of
	/// edges given to one side by symbolic perturbation so that none counts twice. 0: outside.
	int (*winding)(const cr_collider *collider, const float origin[3], const float direction[3]);
	/// Candidate pairs of triangles of a and b, from boxes and planes with a margin for rounding. b_to_a is the transform of b's points to
	/// a's frame, a_to_b its inverse.
	void (*pairs)(const cr_collider *a, const cr_collider *b, const cr_transform *b_to_a, const cr_transform *a_to_b,
		cr_candidates *candidates);
	/// Triangles whose box overlaps a box (own frame), as blocks of the tree: up to capacity written, returns how many there are.
	int32_t (*blocks_in_box)(
		const cr_collider *collider, const float lower[3], const float upper[3], int32_t capacity, int32_t *blocks);
	/// Distance from a point to the nearest triangle within max_distance, and its number; infinite and -1 when there is none. Float: off by
	/// a few roundings of the coordinates. Equal distances: the lower number.
	float (*nearest)(const cr_collider *collider, const float point[3], float max_distance, int32_t *triangle);
} cr_bvh_kernels;

/// The table for an instruction set that was built in.
const cr_bvh_kernels *cr_get_bvh_kernels(carom_simd simd);

// The same rays by other methods, begin..end-1:
/// Binary tree with skip pointers, watertight.
void cr_cast_binary(
	const cr_collider *collider, const carom_ray_batch *rays, int32_t begin, int32_t end, const carom_hit_batch *hits);
/// Every triangle, watertight.
void cr_cast_basic(
	const cr_collider *collider, const carom_ray_batch *rays, int32_t begin, int32_t end, const carom_hit_batch *hits);
/// Every triangle by Moeller-Trumbore.
void cr_cast_moller_trumbore(
	const cr_collider *collider, const carom_ray_batch *rays, int32_t begin, int32_t end, const carom_hit_batch *hits);

#endif
