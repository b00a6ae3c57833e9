/// Rays against meshes on a device (shaders/mesh_cast.comp): their trees and triangles stay there,
/// rays go up, hits come down.
///
/// A mesh is the bytes of its wide tree and of its blocks, as they lie in host memory
/// (bvh/collider.h). All lie in one buffer, at places that the caller deals out.
#ifndef CR_VULKAN_GPU_CASTS_H
#define CR_VULKAN_GPU_CASTS_H

#include "base/array.h"
#include "vulkan/vk_memory.h"

enum {
	CR_GPU_TREE_DEPTH = 32,     // levels that a tree may have: mesh_cast.comp
	CR_GPU_SURFACE_ALIGN = 256, // of a place
	// The greatest absolute coordinate of a mesh is 2 to this power, and none but 0 is below the
	// least normal float.
	CR_GPU_MESH_EXPONENT = 40,
	CR_GPU_MOST_CASTS = 1 << 20, // rays at once
};

typedef struct cr_gpu_ray {
	float origin[3];
	float t_max; // finite
	float direction[3];
	uint32_t job;
} cr_gpu_ray;

/// Common to rays of one kind: their mesh, and how far they are followed backward (0: not
/// at all).
typedef struct cr_gpu_cast_job {
	uint64_t nodes, blocks; // addresses: cr_gpu_surface_address
	float reach;
	uint32_t unused[3];
} cr_gpu_cast_job;

/// The nearest hits. CR_GPU_NO_HIT: none, its t is 0; else the number of the triangle, with
/// CR_GPU_BACK for a back face. Both CR_GPU_DOUBTFUL: the processor must cast the ray.
typedef struct cr_gpu_hit {
	uint32_t triangle;
	float t;
	uint32_t behind;
	float behind_t;
} cr_gpu_hit;
#define CR_GPU_BACK (1u << 31)
#define CR_GPU_NO_HIT 0x7fffffffu
#define CR_GPU_DOUBTFUL 0xffffffffu

typedef struct cr_gpu_casts {
	cr_gpu_buffer surfaces, rays, jobs, hits;
	// In the place of those that the processor does not reach.
	CR_ARRAY(cr_gpu_ray) ray_copy;
	CR_ARRAY(cr_gpu_cast_job) job_copy;
	CR_ARRAY(cr_gpu_hit) hit_copy;
} cr_gpu_casts;

// The device is locked in all of these (vk_commands.h).

/// Make room for bytes of meshes. *lost: those that were there are gone.
carom_result cr_gpu_reserve_surfaces(carom_device *device, cr_gpu_casts *casts, uint64_t bytes, bool *lost);
static inline uint64_t cr_gpu_surface_address(const cr_gpu_casts *casts, uint64_t place)
{
	return casts->surfaces.address + place;
}

/// Room for rays and jobs of the next cast: *rays [ray_count] and *jobs [job_count] are to be
/// written.
carom_result cr_gpu_open_casts(carom_device *device, cr_gpu_casts *casts, uint32_t ray_count, uint32_t job_count,
	cr_gpu_ray **rays, cr_gpu_cast_job **jobs);
/// Cast them. *hits [ray_count] hold until the next cast.
carom_result cr_gpu_cast(
	carom_device *device, cr_gpu_casts *casts, uint32_t ray_count, uint32_t job_count, const cr_gpu_hit **hits);

void cr_gpu_free_casts(carom_device *device, cr_gpu_casts *casts);

#endif
