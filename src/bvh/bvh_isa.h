/// @file bvh_isa.h
/// Functions that the kernel files of this folder call in each other, for the instruction set that
/// they are compiled for. They alone include this.
#ifndef CR_BVH_ISA_H
#define CR_BVH_ISA_H

#include "bvh/bvh_kernels.h"
#include "math/simd.h"

extern const cr_bvh_kernels CR_ISA_NAME(cr_bvh_kernels);

// walk_kernels.c
void CR_ISA_NAME(cr_walk)(
	const cr_collider *c, const cr_walk_lines *lines, int32_t begin, int32_t end, int32_t max_walk, int64_t *visited);
// pair_kernels.c
void CR_ISA_NAME(cr_find_pairs)(const cr_collider *a, const cr_collider *b, const cr_transform *b_to_a,
	const cr_transform *a_to_b, float reach, cr_candidates *out);
// closest_kernels.c
bool CR_ISA_NAME(cr_closest)(const cr_collider *c, v3d point, double max_distance, bool expected, cr_near_point *nearest);
int32_t CR_ISA_NAME(cr_triangles_around)(const cr_collider *c, v3d point, double reach, int32_t capacity, int32_t *triangles);
// gap_kernels.c
bool CR_ISA_NAME(cr_gap)(
	const cr_collider *a, const cr_collider *b, const m3d *b_to_a, v3d b_in_a, double max_distance, cr_collider_gap *gap);
// refit_kernels.c
bool CR_ISA_NAME(cr_refit)(cr_collider *c, float pad, int32_t *lengths);
void CR_ISA_NAME(cr_refit_samples)(cr_collider *c);
// slide_kernels.c
uint32_t CR_ISA_NAME(cr_slide_parts)(const cr_slide_axes *axes, const cr_collider *c, int side, uint32_t child,
	const cr_slide_span *other, double enter[CR_WIDTH], double leave[CR_WIDTH]);
// ray_box_kernels.c
uint32_t CR_ISA_NAME(cr_ray_boxes)(const cr_query_ray *ray, const cr_boxes8 *boxes, double enter[CR_WIDTH]);

#endif
