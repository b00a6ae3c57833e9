/// Wide kernels of the stages: one table for each instruction set, all with the same bits.
#ifndef CR_DETECT_DETECT_KERNELS_H
#define CR_DETECT_DETECT_KERNELS_H

#include "bvh/bvh_kernels.h"

/// Rays made from samples, in the target's frame. Rows of equal length.
typedef struct cr_sample_rays {
	float *origin[3];
	float *direction[3];
	float *t_max;
	int32_t *sample;  // 8 * block + lane in the source's samples
	uint8_t *certain; // 1: the grid says that the origin is inside
} cr_sample_rays;

typedef struct cr_detect_kernels {
	/// Rays from the samples of source that lie in the box of target grown by margin and are not certainly farther than margin outside its
	/// surface. Walks the source's sample tree. exit_limit: t_max is the sample's exit distance, else infinite. Writes from
	/// position first on; room for all samples of source must be there. Adds the samples reached to *tested. Returns the number of rays.
	int32_t (*collect)(const cr_collider *source, const cr_collider *target, const cr_transform *to_target,
		const cr_transform *to_source, float margin, bool exit_limit, const cr_sample_rays *rays, int32_t first,
		int64_t *tested);
	/// Box around a turned collider (not moved: the position is added in double), from its outline, rounded outward.
	void (*bounds)(const cr_collider *collider, const cr_transform *rotation, float lower[3], float upper[3]);
} cr_detect_kernels;

/// The table for an instruction set that was built in.
const cr_detect_kernels *cr_get_detect_kernels(carom_simd simd);

#endif
